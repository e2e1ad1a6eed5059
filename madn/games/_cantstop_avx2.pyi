from madn.games._cantstop import Stage as Stage
