"""A turn in plain Python: where a roll can lead, and what rolling and stopping are worth. Slow and easy to read.

Markers are given by the steps left above each: a tuple with one entry for every column, None where there is no marker.
`left` are the steps from the player's squares to the top, 0 for a closed column.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from madn.games.cantstop.rules import MARKERS, CantStop, Pairing

Left = tuple[int, ...]
Squares = tuple[int, ...]  # the steps of a player in each column
Markers = tuple[int | None, ...]


class Step(NamedTuple):
    """One way to play a pair of sums: the columns moved in (a column twice for two steps) and the markers after it."""

    pairing: Pairing
    columns: tuple[int, ...]
    markers: Markers


def steps(left: Left, markers: Markers, pairing: Pairing) -> list[Step]:
    """Every way to play a pair of columns: none, one, or two if the player chooses where the last marker goes."""
    one, two = pairing
    used = sum(marker is not None for marker in markers)

    def room(column: int) -> int:
        marker = markers[column]
        return marker if marker is not None else left[column] if used < MARKERS else 0

    def after(*columns: int) -> Step:
        moved = list(markers)
        for column in columns:
            marker = moved[column]
            moved[column] = (left[column] if marker is None else marker) - 1
        return Step(pairing, columns, tuple(moved))

    if one == two:
        return [after(*[one] * min(2, room(one)))] if room(one) else []
    playable = [column for column in pairing if room(column)]
    if len(playable) == 2 and used == MARKERS - 1 and markers[one] is None and markers[two] is None:
        return [after(one), after(two)]
    return [after(*playable)] if playable else []


def stop_leads_to(
    game: CantStop, own: Squares, other: Squares, markers: Markers
) -> tuple[Squares, Squares, int] | None:
    """The squares after stopping and how many columns it won; None if a marker is on a square of the opponent.

    In a closed column both players have its length.
    """
    mine, yours, gained = list(own), list(other), 0
    for column, left in enumerate(markers):
        if left is None:
            continue
        mine[column] = game.lengths[column] - left
        if left == 0:
            yours[column], gained = mine[column], gained + 1
        elif mine[column] == other[column]:
            return None
    return tuple(mine), tuple(yours), gained


class State(NamedTuple):
    """A roll position: how many rolls lose the turn, and for the others (how many, the states they can lead to)."""

    markers: Markers
    lost: int
    groups: tuple[tuple[int, tuple[int, ...]], ...]


@lru_cache(maxsize=2048)
def states(game: CantStop, left: Left) -> tuple[State, ...]:
    """The roll positions of a turn, each listed after all that it can lead to; the last has no markers."""
    found: dict[Markers, int] = {}
    listed: list[State] = []

    def visit(markers: Markers) -> int:
        if markers not in found:
            lost, groups = 0, []
            for count, pairings in game.rolls:
                options = {visit(step.markers) for pairing in pairings for step in steps(left, markers, pairing)}
                if options:
                    groups.append((count, tuple(sorted(options))))
                else:
                    lost += count
            found[markers] = len(listed)
            listed.append(State(markers, lost, tuple(groups)))
        return found[markers]

    visit((None,) * game.columns)
    return tuple(listed)


@dataclass(frozen=True)
class Worth:
    """What the states of a turn are worth to the player, given the chance of winning after a lost turn."""

    roll: list[float]
    best: list[float]  # of rolling and stopping
    slopes: list[float]  # the derivative of `best` (of `roll` for the last state) with respect to that chance

    @property
    def anchor(self) -> float:
        """The value before the first roll."""
        return self.roll[-1]


class Turn:
    """A turn of one component. `stop(markers)` is the chance after stopping, None where that is forbidden."""

    def __init__(self, game: CantStop, left: Left, stop: Callable[[Markers], float | None]) -> None:
        self.game, self.states = game, states(game, left)
        self.stops = [stop(state.markers) for state in self.states[:-1]] + [None]
        self.number = {state.markers: k for k, state in enumerate(self.states)}

    def worth(self, fail: float) -> Worth:
        """The values of all states if losing the turn leaves the chance `fail`."""
        all_rolls = self.game.sides**4
        roll: list[float] = []
        best: list[float] = []
        slopes: list[float] = []
        for state, stop in zip(self.states, self.stops, strict=True):
            value, slope = state.lost * fail, float(state.lost)
            for count, options in state.groups:
                chosen = options[0] if len(options) == 1 else max(options, key=best.__getitem__)
                value += count * best[chosen]
                slope += count * slopes[chosen]
            value, slope = value / all_rolls, slope / all_rolls
            roll.append(value)
            stopping = stop is not None and stop >= value
            best.append(stop if stop is not None and stopping else value)
            slopes.append(0.0 if stopping else slope)
        return Worth(roll, best, slopes)


def newton(first: Worth, second: Worth, x: float, y: float) -> tuple[float, float]:
    """The next estimates of the two anchors, each for its player to move, from the active pieces at (x, y)."""
    a, c = first.slopes[-1], second.slopes[-1]
    b, d = first.anchor - a * (1 - y), second.anchor - c * (1 - x)
    return (b + a * (1 - c - d)) / (1 - a * c), (d + c * (1 - a - b)) / (1 - a * c)


def estimates(first: Turn, second: Turn, method: str, most: int = 100) -> list[tuple[float, float]]:
    """The estimates of the two anchors of a component from (1/2, 1/2) on, until only rounding changes them."""
    found = [(0.5, 0.5)]
    pieces: list[tuple[float, float]] = []
    for _ in range(most):
        x, y = found[-1]
        one, two = first.worth(1 - y), second.worth(1 - x)
        if method == "newton":
            found.append(newton(one, two, x, y))
            pieces.append((one.slopes[-1], two.slopes[-1]))
            if pieces[-1] in pieces[-3:-1]:  # unchanged, or a tie that rounding decides now one way, now the other
                break
        else:
            found.append((one.anchor, two.anchor))
            if found[-1] == found[-2]:
                break
    return found
