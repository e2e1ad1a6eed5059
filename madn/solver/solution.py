"""A solved game: its figures, and its values in the thesis' numbering."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from madn.board import Board
from madn.errors import MadnError
from madn.rules import DIE, Rules
from madn.solver import _reorder
from madn.solver.bounds import Bounds, Proof
from madn.solver.census import Census
from madn.solver.components import Solved
from madn.solver.numbers import Representation
from madn.solver.plan import Plan
from madn.solver.sides import Side
from madn.solver.zones import Run, Zones


class Extreme(NamedTuple):
    """A value in stored units and the pair of states that has it."""

    value: float
    row: int
    column: int
    column_moves: bool


class Found(NamedTuple):
    """What an examination found: six times the largest |V - T(V)|, the least and the largest value, minus one half."""

    residual: Extreme
    least: Extreme
    most: Extreme

    def merged(self, new: "Found") -> "Found":
        """The more extreme of both; the earlier one where they are equal."""
        return Found(
            new.residual if new.residual.value > self.residual.value else self.residual,
            new.least if new.least.value < self.least.value else self.least,
            new.most if new.most.value > self.most.value else self.most,
        )


@dataclass(frozen=True)
class Extremes:
    """The largest residual, the smallest and the largest value of a game, as probabilities, and where they are."""

    residual: float
    residual_board: Board
    min: float
    min_board: Board
    max: float
    max_board: Board

    @classmethod
    def of(cls, found: Found, unit: float, board_at: Callable[[Extreme], Board]) -> "Extremes":
        """Turn the extremes of a component into probabilities and boards."""
        residual, least, most = found
        return cls(
            *(residual.value / DIE / unit, board_at(residual)),
            *(0.5 + least.value / unit, board_at(least)),
            *(0.5 + most.value / unit, board_at(most)),
        )

    def extremes(self) -> dict[str, Any]:
        """The extremes in a form that JSON can represent."""
        values = {field.name: getattr(self, field.name) for field in fields(Extremes)}
        return {name: str(value) if isinstance(value, Board) else value for name, value in values.items()}

    @classmethod
    def from_json(cls, written: dict[str, Any], rules: Rules) -> "Extremes":
        """The inverse of `extremes`."""
        found: dict[str, Any] = {field.name: written[field.name] for field in fields(Extremes)}
        for name, value in found.items():
            found[name] = Board.parse(value, rules) if name.endswith("board") else float(value)
        return cls(**found)

    def merged(self, new: "Extremes") -> "Extremes":
        """The more extreme of both; the earlier one where they are equal."""
        r = new if new.residual > self.residual else self
        low = new if new.min < self.min else self
        high = new if new.max > self.max else self
        return Extremes(r.residual, r.residual_board, low.min, low.min_board, high.max, high.max_board)


@dataclass(frozen=True)
class Solution(Extremes):
    """A solved game. All probabilities are those of the side to move, before it rolls.

    `residual` is the largest |V - T(V)| over all positions, measured after the last sweep by a pass that only reads;
    T takes the mean over the rolls of the best successor. `sweeps` is the largest number any component needed.
    `win` is the value of the board that was asked for, by default the start; `start` is None if the start was not
    solved. A solve from disk has delivered its values and removed them, so `values` is None.
    """

    plan: Plan
    sweeps: int
    sweeps_per_component: list[tuple[str, int]]
    updates: int
    seconds: float
    win: float
    start: float | None
    values: "ListedValues | MatrixValues | MiddleValues | None" = None
    census: Census | None = None
    bounds: "BoundValues | ReportedBounds | None" = None
    proofs: tuple[Proof, ...] = ()

    @property
    def rules(self) -> Rules:
        """The rules of the game."""
        return self.plan.rules

    @property
    def representation(self) -> str:
        """How `read` gives values: 'fixed32' (0.5 + v / 2**29) or 'float64'; 'proved32', 'proved64' with bounds."""
        name = self.plan.representation.name
        return name if self.bounds is None else {"fixed32": "proved32", "float64": "proved64"}[name]

    def read(self, first: int, out: NDArray[Any]) -> None:
        """Fill `out` with the values of IDs first, first + 1, …: int32 for 'fixed32', probabilities for 'float64'.

        An array with the fields `value`, `lower` and `upper` gets the bounds too.
        """
        if self.values is None:
            raise MadnError("the values of a solve from disk are passed to its receiver and not kept")
        if self.bounds is None or out.dtype.names is None:
            self.values.read(first, out)
            return
        values = np.empty(len(out), self.plan.representation.dtype)
        self.values.read(first, values)
        out["value"] = values
        self.bounds.read(first, out)

    def ranges(self) -> list[tuple[int, int]]:
        """The IDs that were solved, as (first, count), ascending."""
        return Zones(self.rules).ranges(self.plan.pairs) if self.plan.board else [(0, self.rules.positions)]


class ListedValues:
    """Values kept by ID."""

    def __init__(self, values: NDArray[np.float64]) -> None:
        self.values = values

    def read(self, first: int, out: NDArray[Any]) -> None:
        """Fill `out` with the values of the IDs from `first` on."""
        out[:] = self.values[first : first + len(out)]


class MatrixValues:
    """Values kept as matrices, read in the thesis' numbering."""

    def __init__(
        self,
        rules: Rules,
        representation: Representation,
        sides: dict[int, Side],
        solved: Solved,
        exchanged: Solved | None = None,
    ) -> None:
        self.rules, self.representation, self.sides, self.solved = rules, representation, sides, solved
        self.exchanged = solved if exchanged is None else exchanged  # has the pairs that are missing, in the other view
        self.zones = Zones(rules)

    def read(self, first: int, out: NDArray[Any]) -> None:
        """Fill `out` with the values of the IDs from `first` on."""
        filled = 0
        while filled < len(out):
            run = self.zones.run(first + filled)
            skip = first + filled - run.first
            part = out[filled : filled + run.size - skip]
            self._read_run(run, skip, part)
            filled += len(part)

    def win(self, board: Board) -> float:
        """The winning probability of one position."""
        value = self.representation.zeros(1)
        self.read(self.zones.game.rank(*board.masks), value)
        return self.representation.probability(float(value[0]))

    def _read_run(self, run: Run, skip: int, out: NDArray[Any]) -> None:
        """Fill `out` with the values of a run's positions after the first `skip`."""
        done = (1 << self.rules.pieces) - 1
        if done in (run.own, run.other):
            out[:] = self.representation.won(1, run.own == done)
            return
        rows, columns = self.sides[run.own], self.sides[run.other]
        here = self.solved.get((run.own, run.other))
        there = self.exchanged[run.other, run.own] if here is None else here
        from_column = np.full(rows.size, columns.size, np.int32) if here is None else here.first
        _reorder.copy_rows(
            there.L,
            there.start,
            from_column,
            there.R,
            there.start,
            rows.facing,
            self.zones.order(rows, run.own_pieces),
            columns.masks,
            self.zones.order(columns, run.other_pieces),
            self.zones.width(run),
            skip,
            out,
            self.representation.shift,
        )


class BoundValues:
    """Proved bounds as matrices, read in the thesis' numbering: in steps of 2**-29, minus one half, or of 2**-48."""

    def __init__(self, plan: Plan, sides: dict[int, Side], bounds: Bounds) -> None:
        self.steps = bounds.steps
        self.lower = MatrixValues(plan.rules, self.steps, sides, bounds.lower, bounds.upper)
        self.upper = MatrixValues(plan.rules, self.steps, sides, bounds.upper, bounds.lower)
        self.shift = self.steps.half if plan.representation.shift else 0  # floats leave the solver as probabilities

    def read(self, first: int, out: NDArray[Any]) -> None:
        """Fill the fields `lower` and `upper` of `out` with the bounds of the IDs from `first` on."""
        values = np.empty(len(out), self.steps.dtype)
        for layer, name in ((self.lower, "lower"), (self.upper, "upper")):
            layer.read(first, values)
            out[name] = values + self.shift

    def interval(self, board: Board) -> tuple[float, float]:
        """The bounds of the winning probability of one position."""
        return self.lower.win(board), self.upper.win(board)


class ReportedBounds:
    """Proved bounds of the boards that are reported; those of other positions are not kept."""

    def __init__(self) -> None:
        self.known: dict[str, tuple[float, float]] = {}

    def interval(self, board: Board) -> tuple[float, float]:
        """The bounds of the winning probability of one position."""
        return self.known[str(board)]

    def read(self, first: int, out: NDArray[Any]) -> None:
        """There are none to read."""
        raise MadnError("bounds that are proved from disk are only reported, not kept")


class MiddleValues:
    """The middles of proved bounds, in whole steps."""

    def __init__(self, bounds: BoundValues) -> None:
        self.bounds = bounds

    def read(self, first: int, out: NDArray[Any]) -> None:
        """Fill `out` with the values of the IDs from `first` on."""
        both = np.empty(len(out), [("lower", out.dtype), ("upper", out.dtype)])
        self.bounds.read(first, both)
        out[:] = (both["lower"] + both["upper"]) >> 1

    def win(self, board: Board) -> float:
        """The winning probability of one position."""
        value = self.bounds.steps.zeros(1)
        self.read(self.bounds.lower.zones.game.rank(*board.masks), value)
        return self.bounds.steps.probability(float(value[0]))
