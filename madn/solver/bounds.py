"""Proved bounds: for every position of a solved component a value that is not too large and one that is not too small.

Let T be one step of the game with lost rolls solved away: the mean, over the rolls, of the best successor. It is
monotone. If l <= T(l) everywhere, then l <= T(l) <= T(T(l)) <= ..., which tends to the solution because the game ends
with probability 1 whatever is played: l is a lower bound. Likewise u >= T(u) is an upper bound. The full argument is in
docs/proof.md.

Besides what it has written itself, a sweep reads only the values that captures lead to, as the sweep before left them.
So begin there with values l somewhat below the solved ones, and sweep, rounding down. If none of the values that the
sweep leaves there is smaller than it was, then its result l' satisfies l' <= T(l'), because it was computed from values
that are at most l'. Otherwise begin further below. From then on every sweep raises l, until l no longer changes. Then l
is T(l) rounded down, and no single bound can be moved by a step without the checker noticing.

**How far below.** A capture takes one piece off the main field. A margin that grows with the number of pieces there is
smaller after a capture than before it, so values rise even in a position where every roll captures again.

**Like sides.** If both sides are alike, the solver keeps one half of the matrices, and the other half is the same with
its sign changed. But a lower bound with its sign changed is an upper bound, so here the matrices are whole. Sweeping
downwards then gives the upper bounds too, with rows and columns exchanged; that takes as many values as sweeping one
half in both directions.

**Which way is down.** Matrices are in the row player's view, and they are rounded in that view (`solve_pair` in
lanes.h). The values that the column player's moves into other finish zones lead to are in the column player's view, so
a downward sweep reads their upper bounds.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from madn.board import Board
from madn.errors import PlanError
from madn.solver import kernels
from madn.solver.components import InMemory, Matrices, Solved, whole_exit
from madn.solver.graph import Pair, pair_text
from madn.solver.numbers import FLOAT64, STEPS48, Representation, Values
from madn.solver.plan import Plan
from madn.solver.sides import Side
from madn.solver.tables import SweepTables

GROWTH = 0.1  # of the margin, for each piece on the main field
FIRST_TRY = 12  # how many roundings the first margin allows for, besides half the tolerance
WIDER = 1.3  # the margin of the next try is this many times as large
TRIES = 60
BLOCK = 256  # rows that are compared at a time

# What is added to a quotient, or subtracted, before it is rounded to the nearest integer: that rounds it up, or down,
# exactly as exact arithmetic would.
#
# fixed32: sums of six values are exact in 32 bits. The two products with factors, at most 2**28 together, are off by a
# rounding of the factor and one of the product, each 2**-53 of 2**28; their sum, and the sum with this number, are
# rounded once each, by at most 2**-25. In total that is less than 2**-22. The exact quotient has a divisor of at most
# 31,031 (if both sides wait for a 6 in three rolls; 36 otherwise), so it is a whole number or at least 2**-15 away from
# one. So a result that is off by less than 2**-22 and shifted by 2**-17 less than one half is rounded to the right one
# of its two neighbours.
#
# Floats are whole numbers here, and the kernel divides integers, so only the sign matters.
ROUNDING = 0.5 - 2.0**-17


class Proof(NamedTuple):
    """What was found when the bounds of a component were proved."""

    component: str
    sweeps: int  # directed sweeps in both directions, those of failed tries included
    width: float  # the largest difference between an upper and a lower bound
    board: Board  # the position that has it


class Bounds:
    """Lower and upper values of the components that are proved, by the finish zones of rows and columns.

    They are whole matrices in the row player's view, like those of `Solved`. A pair that is missing is found with rows
    and columns exchanged, in the other layer: a lower bound for one side is an upper bound for the other.
    """

    def __init__(self, representation: Representation) -> None:
        self.steps = STEPS48 if representation == FLOAT64 else representation
        self.lower: dict[Pair, Matrices] = {}
        self.upper: dict[Pair, Matrices] = {}

    def prove(self, component: InMemory, plan: Plan) -> Proof:
        """Find bounds of a solved component."""
        rows, columns = component.rows, component.columns
        down = DirectedSweep(component, plan, self.steps, self.lower, self.upper, -1)
        lower, sweeps = down.run(), down.sweeps
        pair, exchanged = (rows.finish, columns.finish), (columns.finish, rows.finish)

        def other_view(matrices: Matrices) -> Matrices:
            return matrices.transposed(columns.size, self.steps, plan.threads)

        upper = None
        if component.mirrored:
            self.lower[pair] = lower
            if rows.finish:
                self.upper[pair] = other_view(lower)
        else:
            up = DirectedSweep(component, plan, self.steps, self.upper, self.lower, +1, down.tables)
            upper, sweeps = up.run(), sweeps + up.sweeps
            self.lower[exchanged], self.upper[exchanged] = other_view(upper), other_view(lower)
            if rows.finish:
                self.lower[pair], self.upper[pair] = lower, upper
        width, masks = widest(component, lower, upper)
        board = Board.from_masks(*masks, plan.rules)
        return Proof(pair_text(plan.rules, pair), sweeps, width / self.steps.unit, board)


@dataclass(frozen=True)
class SolvedComponent:
    """The values of a component, in whole matrices."""

    rows: Side
    columns: Side
    values: Matrices
    representation: Representation

    @property
    def strips(self) -> int:
        """How many classes its rows have."""
        return len(self.rows.class_start) - 1


class DirectedSweep:
    """Directed sweeps of one component in memory; `direction` is -1 for lower bounds and +1 for upper ones."""

    def __init__(
        self,
        component: InMemory | SolvedComponent,
        plan: Plan,
        steps: Representation,
        row_values: Solved,
        column_values: Solved,
        direction: int,
        tables: SweepTables | None = None,
    ) -> None:
        self.component, self.plan, self.steps, self.direction = component, plan, steps, direction
        self.sweeps = 0
        rows, columns = component.rows, component.columns
        size = max(rows.size, columns.size)
        row_exits = [whole_exit(f, columns.finish, size, steps, row_values) for f in rows.moves.exits]
        column_exits = [whole_exit(f, rows.finish, size, steps, column_values) for f in columns.moves.exits]
        self.values = Matrices.full(rows.size, columns.size, steps)
        starts = [(m.start, m.start) for m in (self.values, *row_exits)]
        self.tables = tables or SweepTables.of(
            rows, columns, starts[0], starts[1:], [m.start for m in column_exits], refill=False, whole=True
        )
        self.sweeper = kernels.SWEEPERS[kernels.build](
            self.tables,
            self.values.L,
            self.values.R,
            [(m.L, m.R) for m in row_exits],
            [(m.L, m.R) for m in column_exits],
        )

    def run(self, until: float = 0.0) -> Matrices:
        """Sweep until the values that captures lead to no longer move, or move by `until` at most.

        It begins with a margin so wide that the first sweep moves no bound outwards.
        """
        solved, least = after_capture(self.component, self.steps), first_margin(self.plan.tolerance, self.steps)
        state = self.sweeper.after_capture[: solved.size].reshape(solved.shape)
        for _ in range(TRIES):
            shares = margin_shares(self.component.rows, self.component.columns)
            for row, (values, share) in enumerate(zip(solved, shares, strict=True)):
                away = self.direction * np.ceil(least * share[:, None])
                state[row] = np.clip(values - away, -self.steps.half, self.steps.half)  # the column player's view
            begun = state.copy()
            change = self._sweep()
            if self._stays(begun, state):
                while change > until:
                    change = self._sweep()
                return self.values
            least *= WIDER
        raise PlanError(f"no bounds were found in {TRIES} tries, up to {least / self.steps.unit:g} from the values")

    def _sweep(self) -> float:
        """Sweep once; return the largest change of the values that captures lead to."""
        self.sweeps += 1
        strips, threads = self.component.strips, self.plan.threads
        change: float = self.sweeper.run(0, strips, threads, False, 0.0, self.direction * ROUNDING)[0]
        return change

    def _stays(self, begun: Values, ended: Values) -> bool:
        """Whether no bound of a position, in the column player's view, is further out than it was."""
        rows, columns = self.component.rows, self.component.columns
        for state, before, after in zip(rows.boxed, begun, ended, strict=True):
            outside = (after > before if self.direction < 0 else after < before).any(axis=1)
            if (outside & ((rows.facing[state] & columns.masks) == 0)).any():
                return False
        return True


def first_margin(tolerance: float, steps: Representation) -> float:
    """How far from the solved values the first try begins, in steps: its least margin."""
    return tolerance * steps.unit / 2 + FIRST_TRY


def margin_shares(rows: Side, columns: Side, growth: float = GROWTH) -> Iterator[NDArray[Any]]:
    """For each state with a piece in the box, the margin against every column, as a multiple of the least one."""
    theirs = 1 + growth * np.bitwise_count(columns.masks)
    for mask in rows.masks[rows.boxed]:
        yield theirs + growth * int(mask).bit_count()


def widest(
    component: InMemory | SolvedComponent, lower: Matrices, upper: Matrices | None
) -> tuple[float, tuple[int, int]]:
    """The largest difference between the bounds of a position, in stored units, and the masks of that position.

    `upper` is None if both sides are alike: then it is `lower` with rows and columns exchanged.
    """
    rows, columns = component.rows, component.columns
    shape, size = (rows.size, columns.size), rows.size * columns.size
    found: tuple[float, tuple[int, int]] = (-1.0, (0, 0))
    for mover, other in (("L", "R"), ("R", "L")) if upper is not None else (("L", "R"),):
        below = getattr(lower, mover)[:size].reshape(shape)
        above = (getattr(lower, other) if upper is None else getattr(upper, mover))[:size].reshape(shape)
        for begin in range(0, rows.size, BLOCK):
            some = slice(begin, begin + BLOCK)
            width = (-above[:, some].T if upper is None else above[some]) - below[some]
            width[(rows.facing[some, None] & columns.masks) != 0] = -1
            at = int(width.argmax())
            if (most := float(width.flat[at])) > found[0]:
                row, column = int(rows.whole_masks[begin + at // columns.size]), at % columns.size
                masks = row, int(columns.whole_masks[column])
                found = most, masks if mover == "L" else masks[::-1]
    return found


def after_capture(component: InMemory | SolvedComponent, steps: Representation) -> Values:
    """The solved values that captures lead to, in the column player's view: [row with a boxed piece, column, (-R, -L)].

    They are rounded to whole steps.
    """
    rows, columns, values = component.rows, component.columns, component.values
    out = np.empty((len(rows.boxed), columns.size, 2), values.L.dtype)
    for number, row in enumerate(rows.boxed):
        first, start = int(values.first[row]), int(values.start[row])
        for side, (kept, exchanged) in enumerate(((values.R, values.L), (values.L, values.R))):
            out[number, first:, side] = -kept[start + first : start + columns.size]
            out[number, :first, side] = exchanged[values.start[:first] + row]
    if steps != component.representation:
        out *= steps.unit / component.representation.unit
        np.rint(out, out=out)
    return out
