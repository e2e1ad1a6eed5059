"""Method `tiles`: component after component, most advanced first, each swept until it settles."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from madn.board import Board
from madn.solver.components import HALF, Component, Matrices, components, finish_zones
from madn.solver.plan import Plan, PlanError, component_positions
from madn.solver.sides import Side
from madn.solver.solution import Extremes, Found, MatrixValues, Place, Solution

EXPECTED_SWEEPS = {"fixed32": 12, "float64": 22}  # for the estimate of progress only
MOST_SWEEPS = 2000
SLICE = 10_000_000  # values between two looks at the clock and at Ctrl-C: well under a second


def solve(plan: Plan, progress: Callable[[float, str], None]) -> Solution:
    """Solve the game of a plan."""
    began = time.perf_counter()
    rules = plan.rules
    sides = {f: Side(rules, f) for f in finish_zones(rules)}
    pairs = components(rules)
    sizes = np.array([component_positions(rules, f, g) for f, g in pairs])
    ends = np.cumsum(sizes)
    solved: dict[tuple[int, int], Matrices] = {}
    sweeps: list[tuple[str, int]] = []
    all_extremes: list[Extremes] = []
    updates = 0
    for (f, g), size, end in zip(pairs, sizes, ends, strict=True):
        name = f"{zone_text(rules.pieces, f)}/{zone_text(rules.pieces, g)}"
        settler = Settler(Component(sides[f], sides[g], plan.representation, solved), plan)
        for fraction in settler.run():
            progress(float((end - size + fraction * size) / ends[-1]), name)
        sweeps.append((name, settler.sweeps))
        updates += settler.updates
        all_extremes.append(settler.extremes())
        solved.update(settler.component.results())
    extremes = all_extremes[0]
    for more in all_extremes[1:]:
        extremes = extremes.merged(more)
    values = MatrixValues(rules, plan.representation, sides, solved)
    return Solution(
        plan=plan,
        sweeps=max(count for _, count in sweeps),
        sweeps_per_component=sweeps,
        updates=updates,
        seconds=time.perf_counter() - began,
        start=values.win(Board.start(rules)),
        extremes=extremes,
        values=values,
    )


class Settler:
    """Brings the residual of one component within the tolerance."""

    def __init__(self, component: Component, plan: Plan) -> None:
        self.component, self.plan = component, plan
        self.unit = 2.0 * HALF[plan.representation]
        self.work = np.cumsum(component.strip_slots())
        self.sweeps = self.updates = 0
        self.found: Found | None = None

    def run(self) -> Iterator[float]:
        """Sweep until the residual is small enough; yields the part of the work that is done, by estimate.

        A sweep leaves a residual of at most its largest change plus what groups left alone may have missed: half the
        tolerance each. The residual itself is then measured by a pass that only reads.
        """
        tolerance = self.plan.tolerance * self.unit
        expected = EXPECTED_SWEEPS[self.plan.representation] + 1
        target = tolerance / 2
        while self.sweeps < MOST_SWEEPS:
            change = np.inf
            while change > target and self.sweeps < MOST_SWEEPS:
                change = 0.0
                for part, (moved, computed) in self._pass(False, target):
                    change = max(change, moved)
                    self.updates += computed
                    yield min(0.95, (self.sweeps + part) / expected)
                self.sweeps += 1
            self.found = None
            for part, places in self._pass(True, 0.0):
                found = Found(*(Place(*place) for place in places))
                self.found = self.found.merged(found) if self.found else found
                yield 0.95 + 0.05 * part
            if self.found and self.found.residual.value / 6 <= tolerance:
                return
            target /= 2
        raise PlanError(f"a residual of {self.plan.tolerance:g} was not reached in {MOST_SWEEPS} sweeps")

    def _pass(self, examine: bool, skip_below: float) -> Iterator[tuple[float, Any]]:
        """One pass in slices, so that Ctrl-C is heard; yields (part done, what the kernel found)."""
        component, first = self.component, 0
        while first < component.strips:
            before = self.work[first - 1] if first else 0
            end = max(first + 1, int(np.searchsorted(self.work, before + SLICE, side="right")))
            found = component.kernel.run(first, end, self.plan.threads, examine, skip_below)
            yield float(self.work[end - 1] / self.work[-1]), found
            first = end

    def extremes(self) -> Extremes:
        """What the last reading pass found, as probabilities and boards."""
        if self.found is None:
            raise RuntimeError("extremes are known after run()")
        return Extremes.of(self.found, self.unit, self._board)

    def _board(self, place: Place) -> Board:
        rows, columns = self.component.rows, self.component.columns
        squares = rows.rules.squares
        a = int(rows.masks[place.row]) | rows.finish << squares
        b = int(columns.masks[place.column]) | columns.finish << squares
        return Board.from_masks(b, a, rows.rules) if place.column_moves else Board.from_masks(a, b, rows.rules)


def zone_text(pieces: int, finish: int) -> str:
    """A finish zone as people draw it: `o` for a piece, `.` for a free square."""
    return "".join("o" if finish >> i & 1 else "." for i in range(pieces))
