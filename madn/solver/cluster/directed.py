"""Directed sweeps of a component by all processes together, which find its lower or its upper bounds.

They work as in `madn/solver/bounds.py`, with the margin of `madn/solver/directed.py`. But here captures of both players
lead to values of the last sweep: a sweep reads, besides what it has written itself, those of rows with a piece in the
box and those of columns with one. So both kinds begin with a margin, and after the first sweep no process may have any
of them further out.
"""

from collections.abc import Generator, Iterator

import numpy as np
from numpy.typing import NDArray

from madn.errors import PlanError
from madn.solver.cluster.component import PanelComponent
from madn.solver.cluster.processes import Processes
from madn.solver.directed import FIRST_MARGIN, GROWTH, TRIES, WIDER
from madn.solver.numbers import Values
from madn.solver.plan import Plan
from madn.solver.proved import UNTIL, Matrix
from madn.solver.sides import Side
from madn.solver.tables import Panel


class Captured:
    """The solved values that captures lead to, in the columns of a panel."""

    def __init__(self, rows: Side, columns: Side, panel: Panel, dtype: np.dtype) -> None:
        self.rows = rows
        begin, end = (int(columns.class_start[j]) for j in panel)
        self.boxed = columns.boxed[(columns.boxed >= begin) & (columns.boxed < end)] - begin
        self.masks = columns.masks[begin:end]
        self.of_rows = np.empty((len(rows.boxed), end - begin, 2), dtype)  # as a sweeper has them: -R and -L
        self.of_columns: list[Values] = []  # by strip: L and R

    @property
    def nbytes(self) -> int:
        """The memory that they take."""
        return self.of_rows.nbytes + sum(values.nbytes for values in self.of_columns)

    def take(self, strips: range, matrices: Matrix) -> None:
        """Take what is needed of the next strips."""
        start, boxed, (L, R) = self.rows.class_start, self.rows.boxed, matrices
        first, end = start[strips.start], start[strips.stop]
        here = (boxed >= first) & (boxed < end)
        self.of_rows[here, :, 0], self.of_rows[here, :, 1] = -R[boxed[here] - first], -L[boxed[here] - first]
        for strip in strips:
            part = slice(start[strip] - first, start[strip + 1] - first)
            self.of_columns.append(np.stack([matrix[part][:, self.boxed] for matrix in matrices]))


class DirectedSweeps:
    """Sweeps of one component, in the direction of its panels; `panel` is None for a process without one."""

    def __init__(
        self, panel: PanelComponent | None, captured: Captured | None, processes: Processes, plan: Plan
    ) -> None:
        self.processes, self.plan, self.sweeps = processes, plan, 0
        self.own = _Own(panel, captured) if panel is not None and captured is not None else None

    def run(self) -> Iterator[float]:
        """Sweep from near the solved values until those that captures lead to hardly move.

        Yields the fraction of the current sweep that is done.
        """
        margin = FIRST_MARGIN * self.plan.representation.unit
        for _ in range(TRIES):
            if self.own is not None:
                self.own.begin(margin)
            change = yield from self._sweep()
            if all(self.processes.everyone(self.own is None or self.own.stays(margin))):
                break
            margin *= WIDER
        else:
            raise PlanError(
                f"no bounds were found in {TRIES} tries, up to {margin / self.plan.representation.unit:g} off"
            )
        while change > UNTIL:
            change = yield from self._sweep()

    def _sweep(self) -> Generator[float, None, float]:
        """Sweep once; return the largest change of the values that captures lead to, in any process."""
        change = 0.0
        if self.own is not None:
            for part, moved, _ in self.own.panel.sweep():
                change = max(change, moved)
                yield part
        self.sweeps += 1
        most: float = max(self.processes.everyone(change))
        return most


class _Own:
    """What the process's own panel begins with, and what has become of it."""

    def __init__(self, panel: PanelComponent, captured: Captured) -> None:
        self.panel, self.captured, self.direction = panel, captured, panel.direction
        self.rows, shape = panel.rows, captured.of_rows.shape
        self.of_rows = panel.sweeper.after_capture[: captured.of_rows.size].reshape(shape)

    def begin(self, margin: float) -> None:
        """Let captures lead to the solved values minus or plus a margin."""
        self.panel.take_up(self._begun(margin))

    def stays(self, margin: float) -> bool:
        """Whether no bound of a position is further out than it was at the beginning."""
        facing, down = self.rows.facing, self.direction < 0
        for row, before, after in zip(self.rows.boxed, self._rows(margin), self.of_rows, strict=True):
            outside = (after > before if down else after < before).any(axis=1)  # the column player's view
            if (outside & ((facing[row] & self.captured.masks) == 0)).any():
                return False
        masks = self.captured.masks[self.captured.boxed]
        for strip, before in enumerate(self._columns(margin)):
            after = self.panel.captures(strip).reshape(before.shape)
            outside = (after < before if down else after > before).any(axis=0)
            if (outside & ((facing[self._strip(strip), None] & masks) == 0)).any():
                return False
        return True

    def _begun(self, margin: float) -> Iterator[Values]:
        for to, values in zip(self.of_rows, self._rows(margin), strict=True):
            to[:] = values
        yield self.panel.sweeper.after_capture
        for values in self._columns(margin):
            yield values.ravel()

    def _rows(self, margin: float) -> Iterator[Values]:
        """Where each row with a piece in the box begins."""
        for row, values in zip(self.rows.boxed, self.captured.of_rows, strict=True):
            yield self._near(values - self._away(margin, self.rows.masks[row], self.captured.masks)[:, None])

    def _columns(self, margin: float) -> Iterator[Values]:
        """Where the columns with a piece in the box begin, strip by strip."""
        masks = self.captured.masks[self.captured.boxed]
        for strip, values in enumerate(self.captured.of_columns):
            yield self._near(values + self._away(margin, self.rows.masks[self._strip(strip), None], masks))

    def _near(self, bounds: Values) -> Values:
        """The same bounds, but none below 0 or above 1."""
        half = self.panel.representation.half
        return np.clip(bounds, -half, half).astype(bounds.dtype)

    def _away(self, margin: float, row: NDArray[np.uint64], columns: NDArray[np.uint64]) -> Values:
        """How far from the solved values bounds begin, in the row player's view; `margin_shares` of bounds.py."""
        pieces = np.bitwise_count(row).astype(int) + np.bitwise_count(columns)
        return (self.direction * np.ceil(margin * (1 + GROWTH * pieces))).astype(self.of_rows.dtype)

    def _strip(self, strip: int) -> slice:
        return slice(*self.rows.class_start[strip : strip + 2])
