"""Can't Stop from its definition in plain Python: the readable twin of the compiled solver, for small games.

Components are walked from the start, so that only those are solved that can be reached; each is solved after all that
stopping can lead to. Squares are tuples of steps in each column. `won` are the columns each player has won.
"""

from functools import cache

from madn.games.cantstop.rules import CantStop
from madn.games.cantstop.turns import Markers, Squares, Turn, estimates, stop_leads_to


def solve(game: CantStop) -> dict[tuple[Squares, Squares, int, int], tuple[float, int]]:
    """For each component that can be reached, (own, other, won, won by the other): value for the mover, iterations."""
    solved: dict[tuple[Squares, Squares, int, int], tuple[float, int]] = {}

    def value(own: Squares, other: Squares, won: int, lost: int) -> float:
        if (own, other, won, lost) not in solved:
            turns = (turn(own, other, won, lost), turn(other, own, lost, won))
            history = estimates(*turns, "newton")
            solved[own, other, won, lost] = history[-1][0], len(history) - 1
            solved[other, own, lost, won] = history[-1][1], len(history) - 1
        return solved[own, other, won, lost][0]

    def turn(own: Squares, other: Squares, won: int, lost: int) -> Turn:
        @cache
        def stop(markers: Markers) -> float | None:
            after = stop_leads_to(game, own, other, markers)
            if after is None:
                return None
            mine, yours, gained = after
            return 1.0 if won + gained >= game.to_win else 1 - value(yours, mine, lost, won + gained)

        return Turn(game, tuple(length - x for length, x in zip(game.lengths, own, strict=True)), stop)

    start = (0,) * game.columns
    value(start, start, 0, 0)
    return solved
