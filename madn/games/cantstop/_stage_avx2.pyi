from madn.games.cantstop._stage import Stage as Stage
