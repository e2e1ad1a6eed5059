"""Solved components, spread over the processes: each process has its panel of every component in a file of its own.

| file | holds |
|---|---|
| `NN.values` | the solved values of a panel, as strips |
| `NN.lower`, `NN.upper` | its proved bounds, if they are wanted: all columns of every row |
| `NN.done`, `NN.lower-done`, `NN.upper-done` | figures, how the component was cut into panels, and checksums |

A process that needs something of a solved component gets the tiles from those that have them. All know which panels
there are and who needs what, so nothing has to be asked for: every process sends what is wanted of its own panel.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from madn.solver import _reorder
from madn.solver.cluster.component import PanelComponent
from madn.solver.cluster.processes import TILES, Processes
from madn.solver.components import Matrices
from madn.solver.figures import read_figures, write_figures
from madn.solver.graph import Pair
from madn.solver.layers import Layer
from madn.solver.numbers import Values
from madn.solver.scratch import Scratch
from madn.solver.strips import LEFT, RIGHT, Packed, StripFile, Tiling
from madn.solver.tables import LANES, Panel

MESSAGE = 1 << 23  # bytes, approximately
FILES = {Layer.LOWER: "lower", Layer.MIDDLE: "values", Layer.UPPER: "upper"}
FIGURES = {Layer.LOWER: "lower-done", Layer.MIDDLE: "done", Layer.UPPER: "upper-done"}


class Wanted(NamedTuple):
    """A part of a solved component: classes of the side that is wanted as rows, against classes of the other."""

    own: int  # finish zones
    other: int
    rows: range
    columns: range
    both: bool = True  # both matrices, or only the one with the own side to move


class Piece(NamedTuple):
    """Tiles of one strip of a file, and whether they are wanted with rows and columns exchanged."""

    strip: int
    classes: range
    exchanged: bool


class Parts:
    """The solved components of a game."""

    def __init__(self, scratch: Scratch, processes: Processes) -> None:
        self.scratch, self.processes, self.sides = scratch, processes, scratch.sides
        self.plan = scratch.plan
        self._tilings: dict[tuple[Pair, bool], Tiling] = {}  # also by whether all columns of every row are in the file
        self._figures: dict[tuple[Pair, Layer], dict[str, Any]] = {}  # of components that are solved, or proved

    def tiling(self, pair: Pair, layer: Layer = Layer.MIDDLE) -> Tiling:
        """How the files of a component are laid out, each with the tiles of one panel only: rows as they are solved."""
        key = pair, layer != Layer.MIDDLE
        if key not in self._tilings:
            rows, columns = (self.sides[zone] for zone in pair)
            like = self._tilings.get((pair, not key[1])) if pair[0] != pair[1] else None
            dtype, threads = self.plan.representation.dtype, self.plan.threads
            self._tilings[key] = Tiling(rows, columns, dtype, threads, like, whole=key[1])
        return self._tilings[key]

    def figures(self, pair: Pair, layer: Layer = Layer.MIDDLE) -> dict[str, Any] | None:
        """What this process noted when a component was solved, or proved: figures, checksums, and how it was cut."""
        if (pair, layer) not in self._figures:
            figures = read_figures(self.scratch.path(pair, FIGURES[layer]), self.scratch.task)
            if figures is None:
                return None
            self._figures[pair, layer] = figures
        return self._figures[pair, layer]

    def kept(self, pair: Pair, layer: Layer = Layer.MIDDLE) -> bool | None:
        """Whether this process has the values of a component, or bounds; None if it has not noted that they exist."""
        figures = self.figures(pair, layer)
        if figures is None:
            return None
        return not figures["sums"] or self.scratch.path(pair, FILES[layer]).exists()

    def save(
        self,
        pair: Pair,
        component: PanelComponent | None,
        panels: Sequence[Panel],
        figures: dict[str, Any],
        layer: Layer = Layer.MIDDLE,
    ) -> None:
        """Write the panel of this process, if it has one; the component is solved once all have done that."""
        sums = ""
        if component is not None:
            sums = component.store(self.scratch.path(pair, FILES[layer]), self.tiling(pair, layer))
        known = {"figures": figures, "sums": sums, "panels": [list(panel) for panel in panels]}
        write_figures(self.scratch.path(pair, FIGURES[layer]), self.scratch.task, known)

    def forget(self, pair: Pair, layer: Layer = Layer.MIDDLE) -> None:
        """Remove the values of a component, or bounds: nothing needs them any more."""
        self.scratch.path(pair, FILES[layer]).unlink(missing_ok=True)
        self._tilings.pop((pair, layer != Layer.MIDDLE), None)

    def unsolve(self, pair: Pair, layer: Layer = Layer.MIDDLE) -> None:
        """Forget that a component is solved, or that bounds of it are proved."""
        self.scratch.path(pair, FIGURES[layer]).unlink(missing_ok=True)
        self._figures.pop((pair, layer), None)

    def gather(self, wanted: Sequence[Wanted | None], layer: Layer = Layer.MIDDLE) -> Matrices | None:
        """Get what this process wants of a component; `wanted` is what the first processes want, all of the same one.

        Of proved bounds it gets a layer, in the view of the side that is wanted as rows. With rows and columns
        exchanged that is the other layer; of a component of like sides only lower bounds have a file.
        """
        me, wanted = self.processes.number, [*wanted, *[None] * (self.processes.count - len(wanted))]
        one = next(wants for wants in wanted if wants is not None)
        pair = self.scratch.pair_of(one.own, one.other)
        exchanged = layer == Layer.UPPER if one.own == one.other else one.own != pair[0]
        stored = layer.opposite if exchanged else layer
        tiling, figures = self.tiling(pair, stored), self.figures(pair, stored)
        assert figures is not None
        target = _Target(self, wanted[me], tiling) if wanted[me] is not None else None
        panels = [Panel(*panel) for panel in figures["panels"]]
        incoming = [_messages(tiling, wanted[me], panel, exchanged) for panel in panels]
        if me < len(panels):
            with StripFile(self.scratch.path(pair, FILES[stored]), tiling, figures["sums"]) as file:
                outgoing = [_messages(tiling, wants, panels[me], exchanged) for wants in wanted]
                self._exchange(target, wanted, file, outgoing, incoming)
        else:
            self._exchange(target, wanted, None, [], incoming)
        return target.matrices if target else None

    def _exchange(
        self,
        target: "_Target | None",
        wanted: Sequence[Wanted | None],
        file: StripFile | None,
        outgoing: list[list[list[Piece]]],
        incoming: list[list[list[Piece]]],
    ) -> None:
        """Send the tiles that other processes want, a few at a time, and put those that arrive in their place."""
        me = self.processes.number
        rounds = max(map(len, [*outgoing, *incoming]), default=0)
        for number in range(rounds):
            for to, messages in enumerate(outgoing):
                wants = wanted[to]
                if number < len(messages) and wants is not None and file is not None:
                    packed = [_read(file, piece, wants) for piece in messages[number]]
                    if to == me and target:
                        for piece, tiles in zip(messages[number], packed, strict=True):
                            target.put(piece, tiles)
                    else:
                        self.processes.send(to, TILES, np.concatenate(packed))
            for source, messages in enumerate(incoming):
                if number < len(messages) and source != me and target:
                    sizes = [target.size(piece) for piece in messages[number]]
                    come = np.empty(sum(sizes), np.uint8)
                    self.processes.receive(source, TILES, come)
                    at = 0
                    for piece, size in zip(messages[number], sizes, strict=True):
                        target.put(piece, come[at : at + size])
                        at += size
            self.processes.finish_sending()


def _messages(tiling: Tiling, wanted: Wanted | None, panel: Panel, exchanged: bool) -> list[list[Piece]]:
    """What a process gets of a panel that another one has, message by message."""
    if wanted is None:
        return []
    out: list[list[Piece]] = []
    room = 0
    for piece in pieces(wanted, panel, tiling.mirrored, exchanged):
        if room <= 0:
            out.append([])
            room = MESSAGE
        out[-1].append(piece)
        room -= int(tiling.tile[piece.strip][piece.classes.stop] - tiling.tile[piece.strip][piece.classes.start])
    return out


def pieces(wanted: Wanted, panel: Panel, mirrored: bool, exchanged: bool) -> Iterator[Piece]:
    """The tiles of a panel that are wanted, in an order that both sides know."""
    if not exchanged:
        for strip in wanted.rows:
            first = max(wanted.columns.start, panel.first, strip if mirrored else 0)
            classes = range(first, min(wanted.columns.stop, panel.end))
            if classes:
                yield Piece(strip, classes, False)
    if mirrored or exchanged:
        for strip in wanted.columns:
            first = max(wanted.rows.start, panel.first, strip + 1 if mirrored else 0)
            classes = range(first, min(wanted.rows.stop, panel.end))
            if classes:
                yield Piece(strip, classes, True)


def _read(file: StripFile, piece: Piece, wanted: Wanted) -> Packed:
    """A copy of tiles as they are in the file."""
    half = None if wanted.both else RIGHT if piece.exchanged else LEFT
    return file.read(piece.strip, piece.classes, half).copy()


class _Target:
    """Where a process puts what it wanted."""

    def __init__(self, parts: Parts, wanted: Wanted | None, tiling: Tiling) -> None:
        assert wanted is not None
        self.wanted, self.threads = wanted, parts.plan.threads
        self.tiling, representation = tiling, parts.plan.representation
        own, other = parts.sides[wanted.own], parts.sides[wanted.other]
        row, rows_end = int(own.class_start[wanted.rows.start]), int(own.class_start[wanted.rows.stop])
        first, end = int(other.class_start[wanted.columns.start]), int(other.class_start[wanted.columns.stop])
        self.width = end - first
        start = (np.arange(own.size, dtype=np.int64) - row) * self.width - first
        start[:row] = start[rows_end:] = -first
        size = max(1, rows_end - row) * self.width + LANES
        L = representation.zeros(size)
        self.matrices = Matrices(
            L, representation.zeros(size) if wanted.both else L, start, np.zeros(own.size, np.int32)
        )

    def size(self, piece: Piece) -> int:
        """The bytes of some tiles, or of their halves."""
        edges = self.tiling.tile[piece.strip]
        return int(edges[piece.classes.stop] - edges[piece.classes.start]) // (1 if self.wanted.both else 2)

    def put(self, piece: Piece, packed: Packed) -> None:
        """Put tiles in their place."""
        tiling, to, strip, classes = self.tiling, self.matrices, piece.strip, piece.classes
        if not piece.exchanged:
            if self.wanted.both:
                tiling.unpack(strip, packed, to.L, to.R, (to.start, to.start), classes)
            else:
                tiling.unpack_half(strip, packed, to.L, to.start, classes)
            return
        column, end = (int(tiling.columns.class_start[j]) for j in (classes.start, classes.stop))
        row, rows_end = (int(n) for n in tiling.rows.class_start[strip : strip + 2])
        width, height = end - column, rows_end - row
        if width * height == 0:
            return
        start = np.arange(len(tiling.rows.pips), dtype=np.int64) - row
        start = start * width - column
        left, right = (np.empty(width * height + LANES, to.L.dtype) for _ in range(2))
        if self.wanted.both:
            tiling.unpack(strip, packed, left, right, (start, start), classes)
            self._transpose(left, height, width, to.R, column, row)
        else:
            tiling.unpack_half(strip, packed, right, start, classes)
        self._transpose(right, height, width, to.L, column, row)

    def _transpose(self, values: Values, height: int, width: int, to: Values, column: int, row: int) -> None:
        """Exchange rows and columns: `column` is now the first row, `row` the first column."""
        first = int(self.matrices.start[column]) + row
        _reorder.transpose(values, height, width, to, first, self.width, threads=self.threads)
