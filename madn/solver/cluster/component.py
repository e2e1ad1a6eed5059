"""A component of which this process computes one panel of columns, for all rows.

Moves of the row player stay in the panel. Moves of the column player lead up to six classes to the left: those columns
of each strip, the edge, come from the process before as soon as its kernel has computed them. Captures of the row
player lead up to a lap to the right: their values come from the processes there, and a sweep reads them as the last one
left them, as it does with captures of the column player. So the same values are computed from the same others, however
many processes there are. A process works through stages, the strips that it computes between two exchanges; it is a
stage behind the process before it.

Values from the right fill slots that up to six later strips still read as the last sweep left them, so they are put
there only once those strips are computed.
"""

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn.rules import DIE
from madn.solver import _packing, kernels
from madn.solver._sweep import Sweeper
from madn.solver.bounds import ROUNDING
from madn.solver.cluster.processes import CAPTURES, EDGES, Processes
from madn.solver.components import Matrices
from madn.solver.numbers import Representation, Values
from madn.solver.sides import Side
from madn.solver.solution import Extreme, Found
from madn.solver.strips import Starts, StripFile, Tiling
from madn.solver.tables import LANES, Panel, SweepTables, column_groups, first_captured

STAGE = 1 << 18  # at least this many pairs of states a process between two exchanges: about a millisecond


class PanelComponent(ABC):
    """The panel of this process: `panels[processes.number]`. Its subclass decides where its values are.

    With a `direction`, sweeps are directed: downwards (-1) or upwards (+1), with all columns of every row, even if both
    sides are alike.
    """

    def __init__(
        self,
        rows: Side,
        columns: Side,
        representation: Representation,
        panels: Sequence[Panel],
        processes: Processes,
        threads: int,
        direction: int = 0,
    ) -> None:
        self.rows, self.columns, self.representation, self.threads = rows, columns, representation, threads
        self.panels, self.processes, self.direction = panels, processes, direction
        self.panel = panel = panels[processes.number]
        self.mirrored = rows.finish == columns.finish and not direction
        self.strips = panel.end if self.mirrored else len(rows.class_start) - 1  # those that have columns here
        self.stages = self.cut_stages()
        self.begin, self.end = (int(columns.class_start[j]) for j in panel)
        self.start: Starts
        self.L: Values
        self.R: Values
        self.tables: SweepTables
        self.sweeper: Sweeper
        self.computed, self.work = 0.0, 0  # seconds of computing, and the updates in that time
        lap, boxed = rows.rules.squares, columns.class_start
        self._left = [n for n in range(processes.number) if panels[n].end - 1 + lap >= panel.first]
        self._right = [n for n in range(processes.number + 1, len(panels)) if panel.end - 1 + lap >= panels[n].first]
        self._boxed = np.searchsorted(columns.boxed, boxed)  # by class: where it begins among the boxed columns
        # The numbers of the boxed columns whose values come from each process, and of its own ones.
        self.boxed = {number: self._boxed_of(number, processes.number) for number in self._right}
        self.boxed[processes.number] = self._boxed_of(processes.number, None)
        self.keep = False

    def prepare(
        self,
        row_exits: Sequence[tuple[Starts, tuple[Values, Values]]],
        column_exits: Sequence[tuple[NDArray[np.int64], tuple[Values, Values]]],
    ) -> None:
        """Make the sweeper, once L, R and `start` are set; an exit is where its rows begin, and its matrices."""
        row_starts, column_starts = [start for start, _ in row_exits], [start for start, _ in column_exits]
        captures = capture_places(self.rows, self.columns, self.panel, self.mirrored)
        sides, whole = (self.rows, self.columns, self.start), self.direction != 0
        self.tables = SweepTables.of(
            *sides, row_starts, column_starts, refill=False, whole=whole, captures=captures, panel=self.panel
        )
        row_matrices, column_matrices = [pair for _, pair in row_exits], [pair for _, pair in column_exits]
        self.sweeper = kernels.SWEEPERS[kernels.build](self.tables, self.L, self.R, row_matrices, column_matrices)

    @abstractmethod
    def cut_stages(self) -> list[range]:
        """The strips of each stage, the same for all processes."""

    @abstractmethod
    def store(self, path: Path, tiling: Tiling) -> str:
        """Make sure that the panel is in a file; return its checksums as text."""

    def close(self) -> None:  # noqa: B027  (nothing to do in memory)
        """Close files."""

    @property
    def nbytes(self) -> int:
        """The memory that its values take, exits not included."""
        return int(self.L.nbytes + self.R.nbytes + self.sweeper.after_capture.nbytes)

    def sweep(self, compute: bool = True, keep: bool = False) -> Iterator[tuple[float, float, int]]:
        """Compute every value once; after each stage, yields the fraction done, a change, and the number of updates.

        The change is the largest of the values that captures lead to. Values need to be available afterwards only with
        `keep`. Without `compute`, captures are only made to lead to the values that are there.
        """
        self.keep, processes = keep, self.processes
        waiting = [_Inbox(self, source) for source in self._right]
        own: deque[int] = deque()  # stages whose captures from this process are not yet placed
        for stage, strips in enumerate(self.stages):
            change, updates = self.run(strips, examine=False) if compute else (0.0, 0)
            for to in self._left:
                boxed = self._boxed_of(processes.number, to)
                processes.send(to, CAPTURES, self._captures(self._wanted(strips, to), boxed))
            own.append(stage)
            done = stage + 1 == len(self.stages)
            while own and (done or self.passed(own[0], strips.stop)):
                self._place_own(own.popleft())
            for inbox in waiting:
                inbox.place(self.passed, strips.stop, done)
            yield (stage + 1) / len(self.stages), change, updates
        processes.finish_sending()

    def examine(self) -> Found | None:
        """What the kernel finds in this panel: six times the residual, the least and the largest value."""
        found: Found | None = None
        for strips in self.stages:
            extremes = self.run(strips, examine=True)
            if len(extremes) == 3:
                new = Found(*(Extreme(*extreme) for extreme in extremes))
                found = found.merged(new) if found else new
        self.processes.finish_sending()
        return found

    def run(self, strips: range, examine: bool) -> tuple[Any, ...]:
        """Pass over those strips of a stage that have columns here; take an edge from the left, and pass one on."""
        here = range(strips.start, min(strips.stop, self.strips))
        if not here:
            return (0.0, 0)
        number = self.processes.number
        taken, given = self.sweeper.edge_sizes(here.start, here.stop)
        edge_in = np.empty(taken, self.L.dtype) if taken else None
        if edge_in is not None:
            self.processes.receive(number - 1, EDGES, edge_in)
        edge_out = np.empty(given, self.L.dtype) if given and number + 1 < len(self.panels) else None
        began, rounding = time.perf_counter(), self.direction * ROUNDING
        found: tuple[Any, ...] = self.sweeper.run(
            here.start, here.stop, self.threads, examine, rounding=rounding, edge_in=edge_in, edge_out=edge_out
        )
        if edge_out is not None:
            self.processes.send(number + 1, EDGES, edge_out)
        if not examine:
            self.computed += time.perf_counter() - began
            self.work += int(found[1])
        return found

    def settle(self) -> None:
        """Round everything as it is stored."""
        for values in (self.L, self.R, self.sweeper.after_capture):
            _packing.round_values(values, self.threads)

    def checkpoint(self) -> Iterator[Values]:
        """What the next sweep starts from: the values that captures lead to, the row player's strip by strip."""
        yield self.sweeper.after_capture
        for strip in range(self.strips):
            yield self.captures(strip)

    def take_up(self, written: Iterator[Values]) -> None:
        """Continue from a checkpoint."""
        after_capture, self.keep = next(written), False
        for strip, values in zip(range(self.strips), written, strict=True):
            self.place(strip, self.processes.number, values)
        for _ in self.sweep(compute=False):
            pass
        self.sweeper.after_capture[:] = after_capture

    # What is exchanged

    def passed(self, stage: int, computed: int) -> bool:
        """Whether nothing reads the slots of a stage again in this sweep once the strips before `computed` are done."""
        return min(self.stages[stage].stop + DIE, self.strips) <= computed

    def _wanted(self, strips: range, to: int) -> range:
        """Those of some strips of which a process has columns."""
        end = min(strips.stop, self.panels[to].end) if self.mirrored else strips.stop
        return range(strips.start, max(strips.start, end))

    def _boxed_of(self, source: int, to: int | None) -> range:
        """The numbers of the boxed columns of a panel that captures in another one lead to, or of all of them."""
        panel = self.panels[source]
        end = panel.end if to is None else min(panel.end, self.panels[to].end + self.rows.rules.squares)
        return range(int(self._boxed[panel.first]), int(self._boxed[end]))

    def kept(self, strip: int, boxed: range) -> range:
        """Those boxed columns that a strip has."""
        earliest = int(self._boxed[strip]) if self.mirrored else 0
        return range(max(boxed.start, earliest), max(boxed.stop, earliest))

    def _first_of(self, strip: int) -> int:
        """The first column that is kept of a strip."""
        return min(self.end, max(self.begin, int(self.columns.class_start[strip]))) if self.mirrored else self.begin

    def rows_of(self, strip: int) -> int:
        """How many rows a strip has."""
        return int(self.rows.class_start[strip + 1] - self.rows.class_start[strip])

    def _strip(self, matrix: Values, start: NDArray[np.int64], strip: int) -> Values:
        """The rows of a strip, from its first column on."""
        row, count, first = int(self.rows.class_start[strip]), self.rows_of(strip), self._first_of(strip)
        if count == 0:
            return matrix[:0].reshape(0, self.end - first)
        begin = int(start[row]) + first
        return matrix[begin : begin + count * (self.end - first)].reshape(count, self.end - first)

    def captures(self, strip: int) -> Values:
        """The values of the panel's own boxed columns for the rows of a strip, L and R."""
        return self._captures(range(strip, strip + 1), self.boxed[self.processes.number])

    def _captures(self, strips: range, boxed: range) -> Values:
        """The values of boxed columns for the rows of some strips: strip by strip, L and R."""
        parts: list[Values] = [self.L[:0]]
        for strip in strips:
            parts += [part.ravel() for part in self.boxed_values(strip, self.kept(strip, boxed))]
        return np.concatenate(parts)

    def boxed_values(self, strip: int, kept: range) -> list[Values]:
        """The values of boxed columns for the rows of a strip, in L and in R."""
        columns = self.columns.boxed[kept.start : kept.stop] - self._first_of(strip)
        matrices = zip((self.L, self.R), self.start, strict=True)
        return [np.take(self._strip(matrix, start, strip), columns, axis=1) for matrix, start in matrices]

    def _place_own(self, stage: int) -> None:
        """Let captures lead to what this process has computed."""
        for strip in self._here(stage):
            self.place(strip, self.processes.number, self.captures(strip))

    def place_stage(self, stage: int, source: int, values: Values) -> None:
        """Let captures lead to what another process has computed."""
        at = 0
        for strip in self._here(stage):
            size = 2 * self.rows_of(strip) * len(self.kept(strip, self.boxed[source]))
            self.place(strip, source, values[at : at + size])
            at += size

    def _here(self, stage: int) -> range:
        """The strips of a stage that have columns here."""
        return range(self.stages[stage].start, min(self.stages[stage].stop, self.strips))

    def place(self, strip: int, source: int, values: Values) -> None:
        """Let the captures of a strip lead to these values, in L and in R, of a process's boxed columns."""
        self.fill(strip, source, values)

    def fill(self, strip: int, source: int, values: Values, *, slots: bool = True, pairs: bool = True) -> None:
        """Have the kernel place these values: in slots of this strip, and as pairs that other strips read."""
        kept, (left, right) = self.kept(strip, self.boxed[source]), values.reshape(2, -1)
        self.sweeper.place_captures(strip, kept.start, kept.stop, left, right, self.threads, slots, pairs)


class _Inbox:
    """What one process to the right sends during a sweep, stage by stage, waiting to be placed."""

    def __init__(self, component: PanelComponent, source: int) -> None:
        self.component, self.source = component, source
        self.next = 0
        self.arrived: Callable[[], bool] | None = None
        self.values = component.L[:0]

    def _expect(self) -> None:
        """Begin to receive the message of the next stage."""
        component = self.component
        strips = component._wanted(component.stages[self.next], component.processes.number)
        boxed = component.boxed[self.source]
        size = sum(2 * component.rows_of(strip) * len(component.kept(strip, boxed)) for strip in strips)
        self.values = np.empty(size, component.L.dtype)
        self.arrived = component.processes.expect(self.source, CAPTURES, self.values)

    def place(self, passed: Callable[[int, int], bool], computed: int, done: bool) -> None:
        """Place what has arrived where nothing needs the old values; at the end, wait for all of it and place it."""
        component = self.component
        while self.next < len(component.stages):
            if self.arrived is None:
                self._expect()
            assert self.arrived is not None
            if done:
                component.processes.wait(self.arrived)
            elif not passed(self.next, computed) or not self.arrived():
                return
            component.place_stage(self.next, self.source, self.values)
            self.arrived = None
            self.next += 1


def capture_places(rows: Side, columns: Side, panel: Panel, mirrored: bool) -> tuple[NDArray[np.int64], int]:
    """Where `after_capture` has each boxed row, by group of columns, and how many values there are."""
    groups = column_groups(columns, panel)
    starts = columns.class_start[groups].astype(np.int64)
    earliest = first_captured(rows) if mirrored else np.zeros(len(rows.boxed), np.int64)
    begin, end = (int(columns.class_start[j]) for j in panel)
    first = np.clip(columns.class_start[earliest].astype(np.int64), begin, end)
    ends = np.cumsum(end - first)
    begins = (ends - end)[:, None]
    kept = (earliest[:, None] < groups[1:]) & (groups[:-1] >= panel.first) & (groups[1:] <= panel.end)
    total = int(ends[-1]) if len(ends) else 0
    return np.where(kept, begins, -starts[:-1]), 2 * max(total, int(np.diff(starts).max()))


class PanelInMemory(PanelComponent):
    """A panel whose matrices are in memory, as is what its moves into other finish zones lead to."""

    def __init__(
        self,
        rows: Side,
        columns: Side,
        representation: Representation,
        panels: Sequence[Panel],
        processes: Processes,
        row_exits: Sequence[Matrices],
        column_exits: Sequence[Matrices],
        threads: int,
        direction: int = 0,
    ) -> None:
        super().__init__(rows, columns, representation, panels, processes, threads, direction)
        own = columns.class_start[rows.pips] if self.mirrored else np.zeros(rows.size, np.int32)
        first = np.clip(own, self.begin, self.end).astype(np.int64)  # the first column that is kept of each row
        ends = np.cumsum(self.end - first)
        self.start = ends - self.end, ends - self.end
        self.L, self.R = (representation.zeros(int(ends[-1]) + LANES) for _ in range(2))
        self.exit_bytes = sum(m.nbytes for m in (*row_exits, *column_exits))
        self.prepare(
            [((m.start, m.start), (m.L, m.R)) for m in row_exits], [(m.start, (m.L, m.R)) for m in column_exits]
        )

    @property
    def nbytes(self) -> int:
        """The memory that its values and those of exits take."""
        return super().nbytes + self.exit_bytes

    def cut_stages(self) -> list[range]:
        """Consecutive strips, with enough work for all processes in each stage."""
        return stages(self.rows, self.columns, len(self.panels))

    def store(self, path: Path, tiling: Tiling) -> str:
        """Write the strips to a file."""
        with StripFile(path, tiling) as file:
            for strip in range(self.strips):
                for classes in file.parts(strip, *self.panel):
                    file.write(strip, self.L, self.R, self.start, classes)
            file.flush()
            return file.sums_text()


def stages(rows: Side, columns: Side, count: int) -> list[range]:
    """Cut all strips into stages that have enough work for `count` processes."""
    sizes = np.diff(rows.class_start).astype(np.int64) * columns.size
    cuts, least = [0], STAGE * count
    for strip in range(1, len(sizes)):
        if sizes[cuts[-1] : strip].sum() >= least:
            cuts.append(strip)
    return [range(*edges) for edges in pairwise([*cuts, len(sizes)])]
