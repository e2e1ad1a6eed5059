"""Sweeping one component until its residual is within the tolerance."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from madn.board import Board
from madn.errors import PlanError
from madn.rules import DIE
from madn.solver.components import Component
from madn.solver.footprint import can_stream
from madn.solver.plan import Plan
from madn.solver.solution import Extreme, Extremes, Found

MOST_SWEEPS = 2000
NEAR_THE_END = 16  # times the target: by then a sweep divides the change by four to six
PROGRESS = ("sweeps", "updates", "change", "target", "kept")  # what an interrupted run continues from


class Convergence:
    """Brings the residual of one component within the tolerance."""

    def __init__(self, component: Component, plan: Plan) -> None:
        self.component, self.plan = component, plan
        self.large = can_stream(plan.rules, component.rows.finish, component.columns.finish)
        self.unit = plan.representation.unit
        self.work = np.cumsum(component.strip_values())
        self.sweeps = self.updates = 0
        self.change = math.inf  # of the values that captures lead to, in the last sweep
        self.kept = False  # whether the values of the last sweep are available
        self.target = plan.tolerance * self.unit / 2
        self.found: Found | None = None
        earlier = component.begin()
        if earlier is not None:
            self.sweeps, self.updates, self.kept = (earlier[name] for name in ("sweeps", "updates", "kept"))
            self.kept = self.kept and component.keeps_values  # what was found in passing is not recorded
            self.change, self.target = float(earlier["change"]), float(earlier["target"])

    def run(self) -> Iterator[float]:
        """Sweep until the residual is small enough; yields an estimate of the fraction of the work that is done.

        After a sweep the residual is at most the largest change of the values that captures lead to, since only those
        were old when a value was computed, plus what groups left alone may have missed: half the tolerance each. A pass
        that only reads then measures the residual itself. Where values are not kept there is no such pass: each strip
        was examined in passing, with the values that captures led to before the sweep, and the largest change of those
        is added to the residual.
        """
        while self.sweeps < MOST_SWEEPS:
            while (not self.kept or self.change > self.target) and self.sweeps < MOST_SWEEPS:
                yield from self._sweep()
            if not self.large:
                self.component.settle()
            self.found = None
            if not self.component.keeps_values:
                self._found_in_passing()
            for end, extremes in self.component.passes(examine=True) if self.component.keeps_values else ():
                self._take(extremes)
                yield 0.95 + 0.05 * float(self.work[end - 1] / self.work[-1])
            if self.found and self.found.residual.value / DIE <= self.plan.tolerance * self.unit:
                return
            self.target /= 2
            self.kept = False
            self.component.note(self._progress())
        raise PlanError(f"a residual of {self.plan.tolerance:g} was not reached in {MOST_SWEEPS} sweeps")

    def _take(self, extremes: Any) -> None:
        """Merge what the kernel found in some strips."""
        found = Found(*(Extreme(*extreme) for extreme in extremes))
        self.found = self.found.merged(found) if self.found else found

    def _found_in_passing(self) -> None:
        """Take what was found in passing in the last sweep, with an upper bound of the residual."""
        for extremes in self.component.examined:
            self._take(extremes)
        if self.found:
            residual = self.found.residual
            self.found = self.found._replace(residual=residual._replace(value=residual.value + DIE * self.change))

    def _sweep(self) -> Iterator[float]:
        """Sweep once.

        In a component that may be streamed, values are kept only near the end and no group is left alone, even if the
        component is in memory, so that the bits are the same either way. Values that are kept are rounded as they are
        stored, and so are those that captures lead to, because the work may have to continue from what was stored.
        """
        expected = self.plan.representation.sweeps + 1
        keep = not self.large or self.change <= NEAR_THE_END * self.target
        change, updates = 0.0, self.updates
        skip_below = 0.0 if self.large else self.target
        for end, (moved, computed) in self.component.passes(False, skip_below, keep):
            change = max(change, moved)
            updates += computed
            yield min(0.95, (self.sweeps + float(self.work[end - 1] / self.work[-1])) / expected)
        self.sweeps, self.updates, self.change, self.kept = self.sweeps + 1, updates, change, keep
        if self.large and keep:
            self.component.settle()
        self.component.checkpoint(self._progress())

    def _progress(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in PROGRESS}

    def extremes(self) -> Extremes:
        """What the last examination found, as probabilities and boards."""
        if self.found is None:
            raise RuntimeError("extremes are known after run()")
        return Extremes.of(self.found, self.unit, self._board)

    def _board(self, extreme: Extreme) -> Board:
        row = self.component.rows.whole_masks[extreme.row]
        column = self.component.columns.whole_masks[extreme.column]
        masks = (column, row) if extreme.column_moves else (row, column)
        return Board.from_masks(*masks, self.plan.rules)
