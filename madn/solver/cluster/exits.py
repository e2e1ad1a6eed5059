"""What moves out of a component lead to, as far as a panel needs it, gathered before the first sweep.

A panel in memory gets it as whole matrices. For a streamed one, each exit becomes a file of this process, which
`RowWindow` and `ColumnWindow` read strip by strip; it is gathered and written a few classes at a time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from madn.rules import DIE
from madn.solver.cluster.parts import Parts, Wanted
from madn.solver.components import Matrices
from madn.solver.graph import Pair
from madn.solver.layers import Layer, layer_of
from madn.solver.sides import TERMINAL, Side
from madn.solver.strips import StripFile, Tiling
from madn.solver.tables import Panel

TOGETHER = 1 << 24  # about how many pairs of states a process gathers at a time


class Exits:
    """The exits of the component with these rows and columns; all processes go through them together.

    Sweeps with a `direction` read proved bounds, and every row has all columns.
    """

    def __init__(self, parts: Parts, rows: Side, columns: Side, panels: Sequence[Panel], direction: int = 0) -> None:
        self.parts, self.rows, self.columns, self.panels = parts, rows, columns, panels
        self.plan, self.mirrored = parts.plan, rows.finish == columns.finish and not direction
        self.own = layer_of(direction, row_view=True) if direction else Layer.MIDDLE

    def whole(self) -> tuple[list[Matrices], list[Matrices]]:
        """Matrices of all exits, of the row player and of the column player; none for a process without a panel."""
        of_rows, of_columns = self.rows.moves.exits, self.columns.moves.exits
        row_exits = [self._whole(zone, self.columns, self._of_rows(zone), self.own) for zone in of_rows]
        theirs = self.own.opposite
        column_exits = [self._whole(zone, self.rows, self._of_columns(zone), theirs) for zone in of_columns]
        return [m for m in row_exits if m is not None], [m for m in column_exits if m is not None]

    def files(self, pair: Pair) -> "ExitFiles":
        """Files of all exits."""
        files, scratch = ExitFiles(), self.parts.scratch
        for kind, zones, kept in (
            ("row", self.rows.moves.exits, files.of_rows),
            ("column", self.columns.moves.exits, files.of_columns),
        ):
            for zone in zones:
                wanted = self._of_rows(zone) if kind == "row" else self._of_columns(zone)
                file = self._file(wanted, scratch.path(pair, f"{kind}-exit{zone}"), kind == "row")
                if file is not None:
                    kept[zone] = file
        return files

    def _of_rows(self, zone: int) -> list[Wanted]:
        """What moves of the row player into a finish zone lead to, in the columns of each panel."""
        last = self._classes(zone)
        ends = [min(last, panel.end) if self.mirrored else last for panel in self.panels]
        return [
            Wanted(zone, self.columns.finish, range(end), range(*panel))
            for panel, end in zip(self.panels, ends, strict=True)
        ]

    def _of_columns(self, zone: int) -> list[Wanted]:
        """What moves of the column player into a finish zone lead to, from the columns of each panel."""
        last, strips = self._classes(zone), len(self.rows.class_start) - 1
        return [
            Wanted(
                zone,
                self.rows.finish,
                range(min(max(0, panel.first - DIE), last), min(panel.end, last)),
                range(panel.end if self.mirrored else strips),
            )
            for panel in self.panels
        ]

    def _classes(self, zone: int) -> int:
        return len(self.parts.sides[zone].class_start) - 1 if zone != TERMINAL else 0

    def _whole(self, zone: int, others: Side, wanted: list[Wanted], layer: Layer) -> Matrices | None:
        if zone == TERMINAL:
            return Matrices.won(others.size, self.plan.representation)
        return self.parts.gather(wanted, layer)

    def _file(self, wanted: list[Wanted], path: Path, by_rows: bool) -> StripFile | None:
        """Gather an exit into a file, by classes of its rows or of its columns, in steps that are the same for all."""
        parts, me = self.parts, self.parts.processes.number
        own, other = (parts.sides[zone] for zone in (wanted[0].own, wanted[0].other))
        file: StripFile | None = None
        if me < len(wanted):
            tiling = Tiling(own, other, self.plan.representation.dtype, self.plan.threads, whole=True)
            file = StripFile(path, tiling)
        for step in self._steps(wanted, own, other, by_rows):
            here = [_cut(wants, step, by_rows, self.mirrored) for wants in wanted]
            if not any(here):
                continue
            matrices = parts.gather(here)
            wants = here[me] if me < len(here) else None
            if file is not None and matrices is not None and wants is not None:
                starts = matrices.start, matrices.start
                for strip in wants.rows:
                    for classes in file.parts(strip, wants.columns.start, wants.columns.stop):
                        file.write(strip, matrices.L, matrices.R, starts, classes)
        return file

    def _steps(self, wanted: list[Wanted], own: Side, other: Side, by_rows: bool) -> Iterator[range]:
        """Classes that are gathered together: as many as `TOGETHER` allows for the panel that wants most."""
        start, across = (own.class_start, other.class_start) if by_rows else (other.class_start, own.class_start)
        kept = [wants.columns if by_rows else wants.rows for wants in wanted]
        width = max(1, *(int(across[classes.stop] - across[classes.start]) for classes in kept))
        first, last = 0, len(start) - 1
        while first < last:
            end = int(np.searchsorted(start, start[first] + TOGETHER // width, side="right")) - 1
            end = min(last, max(first + 1, end))
            yield range(first, end)
            first = end


@dataclass
class ExitFiles:
    """The files of a streamed panel's exits, by finish zone."""

    of_rows: dict[int, StripFile] = field(default_factory=dict)
    of_columns: dict[int, StripFile] = field(default_factory=dict)

    def close(self) -> None:
        """Close and remove them."""
        for file in (*self.of_rows.values(), *self.of_columns.values()):
            file.close()
            file.path.unlink(missing_ok=True)


def _cut(wants: Wanted, step: range, by_rows: bool, mirrored: bool) -> Wanted | None:
    """What is wanted of some classes, if anything is.

    In a mirrored component a strip has columns with its own number of pips or more. So rows of an exit are read only in
    columns with more pips than theirs, and the columns of a strip lead to states with at most six fewer.
    """
    rows, columns = wants.rows, wants.columns
    if by_rows:
        rows = range(max(rows.start, step.start), min(rows.stop, step.stop))
        columns = range(max(columns.start, rows.start + 1 if mirrored else 0), columns.stop)
    else:
        columns = range(max(columns.start, step.start), min(columns.stop, step.stop))
        rows = range(max(rows.start, columns.start - DIE if mirrored else 0), rows.stop)
    return wants._replace(rows=rows, columns=columns) if rows and columns else None
