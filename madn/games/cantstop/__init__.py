"""Two-player Can't Stop, solved exactly with the two-dimensional Newton's method of Glenn, Fang and Kruskal.

>>> from madn.games.cantstop import CantStop, solve
>>> round(solve(CantStop(sides=3, shortest=1)).first_player, 6)
0.760069
"""

from madn.games.cantstop.answers import Answer, MoveValue, TurnAnswers
from madn.games.cantstop.position import Move, Position, read_roll
from madn.games.cantstop.rules import CantStop
from madn.games.cantstop.solver import Solution, solve
from madn.games.cantstop.store import open_database, write_database

__all__ = [
    "Answer",
    "CantStop",
    "Move",
    "MoveValue",
    "Position",
    "Solution",
    "TurnAnswers",
    "open_database",
    "read_roll",
    "solve",
    "write_database",
]
