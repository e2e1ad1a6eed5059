"""The style of all pictures: as wide as a column of text on a page, with letters that can be read there."""

from typing import Any

WIDTH = 7.2  # inches: about 700 pixels on a page
SMALLEST = 8  # points, of any letter

STYLE: dict[Any, Any] = {  # Any, because the types of matplotlib list the names one by one
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.labelsize": 10,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "figure.titlesize": 12,
    "figure.constrained_layout.use": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "grid.alpha": 0.3,
}
BLUE, RED, GREEN, GREY = "#3b6ea5", "#c03b2b", "#2e8b57", "#777777"  # of curves; sides have those of madn.drawing
