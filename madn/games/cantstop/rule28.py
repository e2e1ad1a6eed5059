"""The rule of 28 for any board: a player counts points and stops once there are enough.

For the official board (Michael Keller): a step is worth 1 point in column 7, 2 points in columns 6 and 8, and so on up
to 6 points in columns 2 and 12; the first step in a column counts twice. With three markers 2 points are added if all
columns are odd and subtracted if all are even, and 4 are added if all are below 8 or all above 6. At 28 points the
player stops.

On a smaller board the middle column takes the place of 7, and the number of points is a parameter.
"""

from typing import TYPE_CHECKING

from madn.games.cantstop.rules import MARKERS, CantStop

if TYPE_CHECKING:
    from madn.games.cantstop.solver import Solution


def steps_worth(game: CantStop) -> list[int]:
    """The points of a step in each column, from the sum 2 on."""
    middle = game.sides - 1
    return [abs(c - middle) + 1 for c in range(game.columns)]


def bonus(game: CantStop, columns: int) -> int:
    """The points for the choice of columns (a mask; bit 0 is the sum 2)."""
    chosen = [c for c in range(game.columns) if columns >> c & 1]
    if len(chosen) < MARKERS:
        return 0
    middle = game.sides - 1
    even = sum((c + 2) % 2 == 0 for c in chosen)
    points = 2 if even == 0 else -2 if even == MARKERS else 0
    return points + 4 * (max(chosen) <= middle or min(chosen) >= middle)


def chances(ruled: "Solution") -> tuple[float, float]:
    """The probability that a player by the rule beats a player who plays optimally, moving first and second.

    `ruled` is a solution made with `rule`.
    """
    start = (0,) * ruled.game.columns
    first, best_first = ruled.values[:, ruled.numbering.index(start, start, 0)].tolist()
    return first, 1 - best_first
