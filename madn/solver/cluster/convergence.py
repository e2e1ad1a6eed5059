"""Sweeping one component, by all processes together, until its residual is within the tolerance."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from madn.board import Board
from madn.errors import PlanError
from madn.rules import DIE
from madn.solver.cluster.checkpoints import Checkpoints
from madn.solver.cluster.component import PanelComponent
from madn.solver.cluster.processes import Processes
from madn.solver.convergence import MOST_SWEEPS, NEAR_THE_END
from madn.solver.footprint import can_stream
from madn.solver.plan import Plan
from madn.solver.sides import Side
from madn.solver.solution import Extreme, Extremes, Found
from madn.solver.tables import LANES, Panel

SELDOM = 20  # a checkpoint is written when the work since the last took this many times as long as writing one ...
COST = 0.05  # ... which is taken to be this many seconds before the first one
PROGRESS = ("sweeps", "updates", "change", "target")


class ClusterConvergence:
    """Brings the residual of one component within the tolerance; `component` is None for a process without a panel."""

    def __init__(
        self,
        sides: tuple[Side, Side],
        component: PanelComponent | None,
        panels: Sequence[Panel],
        processes: Processes,
        plan: Plan,
        checkpoints: Checkpoints,
    ) -> None:
        self.rows, self.columns = sides
        self.component, self.panels, self.processes, self.plan = component, panels, processes, plan
        self.checkpoints = checkpoints
        self.unit = plan.representation.unit
        self.sweeps = self.updates = 0
        self.large = can_stream(plan.rules, *(side.finish for side in sides))
        self.change = math.inf  # of the values that captures lead to, in the last sweep
        self.kept = False  # whether the values of the last sweep are available
        self.target = plan.tolerance * self.unit / 2
        self.found: Found | None = None
        self._written, self._cost = time.perf_counter(), COST
        earlier = checkpoints.newest()
        if earlier is not None:
            self._take_up(earlier)

    def _take_up(self, noted: dict[str, Any]) -> None:
        progress = noted["progress"]
        self.sweeps, self.updates = progress["sweeps"], progress["updates"]
        self.change, self.target = float(progress["change"]), float(progress["target"])
        if self.component is not None:
            self.component.take_up(self.checkpoints.read(noted, self.component.L.dtype))

    def run(self) -> Iterator[float]:
        """Sweep until the residual is small enough; yields an estimate of the fraction of the work that is done.

        Sweeping goes on until the values that captures lead to, which alone were old when a value was computed, have
        changed by at most half the tolerance. Then values are rounded as they are stored, and a pass that only reads
        measures the residual.
        """
        while self.sweeps < MOST_SWEEPS:
            while (not self.kept or self.change > self.target) and self.sweeps < MOST_SWEEPS:
                yield from self._sweep()
            if self.component is not None and not self.large:
                self.component.settle()
            self.found = self._examine()
            yield 0.95
            if self.found.residual.value / DIE <= self.plan.tolerance * self.unit:
                return
            self.target /= 2
            self.kept = False
        raise PlanError(f"a residual of {self.plan.tolerance:g} was not reached in {MOST_SWEEPS} sweeps")

    def _sweep(self) -> Iterator[float]:
        """Sweep once; if the component may be streamed, values are kept and rounded as on one computer alone."""
        expected = self.plan.representation.sweeps + 1
        keep = not self.large or self.change <= NEAR_THE_END * self.target
        change, updates = 0.0, 0
        if self.component is not None:
            for part, moved, computed in self.component.sweep(keep=keep):
                change, updates = max(change, moved), updates + computed
                yield min(0.95, (self.sweeps + part) / expected)
        seldom = time.perf_counter() - self._written >= SELDOM * self._cost
        said = self.processes.everyone((change, updates, seldom))
        self.sweeps += 1
        self.change = max(moved for moved, _, _ in said)
        self.updates += sum(computed for _, computed, _ in said)
        self.kept = keep
        if self.component is not None and self.large and keep:
            self.component.settle()
        if (self.change > self.target or not keep) and said[0][2]:
            self._checkpoint()

    def _checkpoint(self) -> None:
        """Record what the next sweep starts from; there is no need after the last one, which is examined at once."""
        began = time.perf_counter()
        arrays = self.component.checkpoint() if self.component is not None else ()
        self.checkpoints.write({name: getattr(self, name) for name in PROGRESS}, arrays, self.panels)
        self._written = time.perf_counter()
        self._cost = self._written - began

    def _examine(self) -> Found:
        """Combine what all processes find; of equal values, take the one that one process alone would find first."""
        found = None
        if self.component is not None:
            found = self.component.examine()
        every = [part for part in self.processes.everyone(found) if part is not None]
        residual, least, most = zip(*every, strict=True)
        return Found(
            min(residual, key=lambda e: (-e.value, *self._place(e))),
            min(least, key=lambda e: (e.value, *self._place(e))),
            min(most, key=lambda e: (-e.value, *self._place(e))),
        )

    def _place(self, extreme: Extreme) -> tuple[int, int, int, bool]:
        """The order in which one process would look at positions: by chunks of rows, then by columns."""
        start = self.rows.class_start
        strip = int(np.searchsorted(start, extreme.row, side="right")) - 1
        row, rows = extreme.row - int(start[strip]), int(start[strip + 1] - start[strip])
        chunks = -(-rows // LANES)
        chunk = next(k for k in range(chunks) if row < (k + 1) * rows // chunks)
        return int(start[strip]) + chunk, extreme.column, extreme.row, extreme.column_moves

    def extremes(self) -> Extremes:
        """What the last examination found, as probabilities and boards."""
        if self.found is None:
            raise RuntimeError("extremes are known after run()")
        return Extremes.of(self.found, self.unit, self._board)

    def _board(self, extreme: Extreme) -> Board:
        row, column = self.rows.whole_masks[extreme.row], self.columns.whole_masks[extreme.column]
        masks = (column, row) if extreme.column_moves else (row, column)
        return Board.from_masks(*masks, self.plan.rules)


Tell = Callable[[float], None]
