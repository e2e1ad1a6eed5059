"""Pig, the dice race for two: solved exactly, and exact results of any strategy against any other.

In a turn a player rolls as often as it likes. The losing face ends the turn and its points are lost; holding adds them
to the player's score. `Pig` has the rules, `solve` finds the optimal play of both players, `duel` the exact result
of one `Strategy` against another, and `best_response` the best reply to a strategy. docs/pig.md explains the method.
"""

from madn.games.pig._wubbel import article_table
from madn.games.pig.rules import WUBBEL, Pig, Variant
from madn.games.pig.solver import Action, Answer, Duel, Solution, Turn, best_response, duel, fewest_turns, solve
from madn.games.pig.strategy import Strategy

__all__ = [
    "WUBBEL",
    "Action",
    "Answer",
    "Duel",
    "Pig",
    "Solution",
    "Strategy",
    "Turn",
    "Variant",
    "article_table",
    "best_response",
    "duel",
    "fewest_turns",
    "solve",
]
