"""Proving the bounds of solved components from the scratch directory, one after the other.

Every component then has a file of lower bounds and one that says how much larger the upper ones are (`layers.py`),
until nothing needs them; its values are no longer needed. Bounds are rounded outwards to what can be stored. They are
still bounds, but that cannot be checked from the stored ones alone, so they are reported and not put into a database.

Bounds follow from those of other components and, within a component, from values that were proved to be bounds
(`bounds.py`). Rounding one of them outwards afterwards does not invalidate any other.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import Any, NamedTuple

import numpy as np

from madn.board import Board
from madn.solver.bounds import BLOCK, DirectedSweep, Proof, SolvedComponent, widest
from madn.solver.components import Matrices
from madn.solver.directed import DirectedStream
from madn.solver.footprint import can_stream
from madn.solver.graph import Pair, exits, pair_text
from madn.solver.layers import STORED, BoundsFile, Layer, layer_of, round_outwards
from madn.solver.numbers import Values
from madn.solver.rows import WholeRows, row_values
from madn.solver.scratch import Scratch
from madn.solver.sides import Side
from madn.solver.streamed import do_all
from madn.solver.strips import StripFile, Tiling

UNTIL = 2 * STORED  # steps: when bounds move by less, sweeping on gains less than rounding loses
SWEEPS = 12  # of a component in each direction, approximately: for the estimate of progress only

Matrix = tuple[Values, Values]  # L and R of some rows
Tell = Callable[[float], None]


class Place(NamedTuple):
    """A board in the matrices of a component, and whether the column player is to move."""

    board: Board
    row: int
    column: int
    column_moves: bool


class Widest:
    """The largest difference between bounds so far, in steps, and the board that has it."""

    def __init__(self, rows: Side, columns: Side) -> None:
        self.rows, self.columns = rows, columns
        self.width, self.masks = -1.0, (0, 0)

    def see(self, first: int, below: Matrix, above: Matrix) -> None:
        """Take account of whole rows from `first` on."""
        for mover, (low, high) in enumerate(zip(below, above, strict=True)):
            for begin in range(0, len(low), BLOCK):
                some = slice(begin, begin + BLOCK)
                facing = self.rows.facing[first + begin : first + begin + len(low[some])]
                width = high[some] - low[some]
                width[(facing[:, None] & self.columns.masks) != 0] = -1
                at = int(width.argmax())
                if (most := float(width.flat[at])) > self.width:
                    row = int(self.rows.whole_masks[first + begin + at // self.columns.size])
                    column = int(self.columns.whole_masks[at % self.columns.size])
                    self.width, self.masks = most, (column, row) if mover else (row, column)


class Prover:
    """Proves the components of a solve, each once it is solved."""

    def __init__(self, scratch: Scratch, boards_of: Callable[[Pair], Sequence[Board]]) -> None:
        self.scratch, self.plan, self.sides, self.boards_of = scratch, scratch.plan, scratch.sides, boards_of
        self.representation = self.plan.representation

    def pair(self, pair: Pair, tell: Tell) -> dict[str, Any]:
        """Prove a component, unless an earlier run did; return what was found."""
        earlier = self.scratch.stored(pair)
        if earlier is not None:
            return earlier
        intervals: dict[str, list[float]] = {}
        prove = self._from_disk if can_stream(self.plan.rules, *pair) else self._in_memory
        proof, sums = prove(pair, intervals, tell)
        written = {**proof._asdict(), "board": str(proof.board)}
        found = {"proof": written, "intervals": intervals, "sums": sums}
        self.scratch.mark_stored(pair, found)
        tell(1.0)
        return found

    def _proof(self, pair: Pair, sweeps: int, widest: float, masks: tuple[int, int]) -> Proof:
        unit = self.representation.unit
        return Proof(pair_text(self.plan.rules, pair), sweeps, widest / unit, Board.from_masks(*masks, self.plan.rules))

    def _in_memory(self, pair: Pair, intervals: dict[str, list[float]], tell: Tell) -> tuple[Proof, dict[str, str]]:
        (f, g), plan, representation = pair, self.plan, self.representation
        rows, columns = self.sides[f], self.sides[g]
        component = SolvedComponent(rows, columns, self.scratch.load(f, g), representation)
        layers: dict[Layer, Matrices] = {}
        sweeps = 0
        directions = (-1,) if f == g else (-1, 1)
        for direction in directions:
            own, theirs = layer_of(direction, row_view=True), layer_of(direction, row_view=False)
            row_values = {(x, g): self.scratch.load(x, g, own) for x in exits(plan.rules, f)}
            column_values = {(x, f): self.scratch.load(x, f, theirs) for x in exits(plan.rules, g)}
            sweep = DirectedSweep(component, plan, representation, row_values, column_values, direction)
            layers[own] = sweep.run(UNTIL)
            sweeps += sweep.sweeps
            for values in (layers[own].L, layers[own].R):
                round_outwards(values, own)
            tell(0.9 * len(layers) / len(directions))
        lower = layers[Layer.LOWER]
        upper = layers.get(Layer.UPPER) or lower.transposed(columns.size, representation, plan.threads)
        for place in places(self.boards_of(pair), rows, columns):
            for layer, matrices in ((Layer.LOWER, lower), (Layer.UPPER, upper)):
                values = matrices.R if place.column_moves else matrices.L
                self._note(intervals, place, layer, float(values[matrices.start[place.row] + place.column]))
        proof = self._proof(pair, sweeps, *widest(component, lower, upper))
        if f != g:
            upper, lower = (m.transposed(columns.size, representation, plan.threads) for m in (lower, upper))
        both = (lower.L, lower.R), (upper.L, upper.R), (lower.start, lower.start)
        with (
            BoundsFile(self.scratch.path(pair, "lower"), self.scratch.tiling(pair), Layer.LOWER) as file,
            ThreadPoolExecutor(plan.threads) as pool,
        ):
            for strip in range(file.tiling.strips):
                do_all(pool, ((file.write_bounds, strip, *both, classes) for classes in file.parts(strip)))
            file.flush()
            return proof, file.sums()

    def _from_disk(self, pair: Pair, intervals: dict[str, list[float]], tell: Tell) -> tuple[Proof, dict[str, str]]:
        f, g = pair
        rows, columns = self.sides[f], self.sides[g]
        if f == g:
            return self._alike(pair, rows, intervals, tell), {}
        found: dict[Layer, str] = {}
        sweeps, tiling = 0, Tiling(rows, columns, self.representation.dtype, self.plan.threads)
        for direction in (-1, 1):
            layer = layer_of(direction, row_view=True)
            with ExitStack() as stack:
                stream = self._stream(pair, direction, stack)
                file = stack.enter_context(StripFile(self.scratch.path(pair, layer.name.lower() + "-work"), tiling))
                solved = stack.enter_context(self.scratch.open(pair))

                def keep(
                    strip: int, stream: DirectedStream = stream, file: StripFile = file, layer: Layer = layer
                ) -> None:
                    self._note_strip(intervals, pair, stream, strip, layer)
                    rounded = [values.flatten() for values in stream.values(strip)]
                    for values in rounded:
                        round_outwards(values, layer)
                    start = stream.first_places(strip)
                    matrices = *rounded, (start, start)
                    do_all(stream.pool, ((file.write, strip, *matrices, classes) for classes in file.parts(strip)))

                self._tell(stream, stream.run(solved, UNTIL, keep), 0.5 * (direction > 0), 0.45, tell)
                found[layer], sweeps = file.sums_text(), sweeps + stream.sweeps
        seen = Widest(columns, rows)
        sums = self._turn(pair, tiling, found, seen)
        return self._proof(pair, sweeps, seen.width, seen.masks), sums

    def _turn(self, pair: Pair, tiling: Tiling, found: dict[Layer, str], seen: Widest) -> dict[str, str]:
        """Write bounds to their file with the columns' side as rows, where lower bounds become upper ones."""
        rows, columns = self.sides[pair[0]], self.sides[pair[1]]
        L, R = (np.empty((2, row_values(columns, rows)), self.representation.dtype) for _ in range(2))
        with ExitStack() as stack:
            paths = {layer: self.scratch.path(pair, layer.name.lower() + "-work") for layer in found}
            pool = stack.enter_context(ThreadPoolExecutor(self.plan.threads))
            whole = {
                layer.opposite: WholeRows(
                    stack.enter_context(StripFile(paths[layer], tiling, sums)), columns.finish, pool
                )
                for layer, sums in found.items()
            }
            file = stack.enter_context(
                BoundsFile(self.scratch.path(pair, "lower"), self.scratch.tiling(pair), Layer.LOWER)
            )
            for strip in range(file.tiling.strips):
                first, end = (int(n) for n in columns.class_start[strip : strip + 2])
                for number, layer in enumerate((Layer.LOWER, Layer.UPPER)):
                    whole[layer].load(strip, 0, L[number], R[number])
                size = (end - first) * rows.size
                low, high = ((L[n][:size].reshape(-1, rows.size), R[n][:size].reshape(-1, rows.size)) for n in (0, 1))
                seen.see(first, low, high)
                start = (np.arange(columns.size, dtype=np.int64) - first) * rows.size
                both = (L[0], R[0]), (L[1], R[1]), (start, start)
                do_all(pool, ((file.write_bounds, strip, *both, classes) for classes in file.parts(strip)))
            file.flush()
            sums = file.sums()
        for path in paths.values():
            os.unlink(path)
        return sums

    def _alike(self, pair: Pair, rows: Side, intervals: dict[str, list[float]], tell: Tell) -> Proof:
        """Find lower bounds of the largest component; nothing needs them, so they are not stored.

        The upper bound of a position follows from the lower bound of its mirror image. So the two are at most twice as
        far apart as the furthest lower bound is from its solved value.
        """
        seen = Widest(rows, rows)
        with ExitStack() as stack:
            stream = self._stream(pair, -1, stack)
            solved = stack.enter_context(self.scratch.open(pair))
            whole = WholeRows(solved, rows.finish, stream.pool)
            L, R = (np.empty(row_values(rows, rows), self.representation.dtype) for _ in range(2))

            def look(strip: int) -> None:
                first, end = (int(n) for n in rows.class_start[strip : strip + 2])
                size = (end - first) * rows.size
                if size:
                    whole.load(strip, 0, L, R)
                    values = L[:size].reshape(-1, rows.size), R[:size].reshape(-1, rows.size)
                    seen.see(first, stream.values(strip), values)
                self._note_strip(intervals, pair, stream, strip, Layer.LOWER)

            self._tell(stream, stream.run(solved, UNTIL, look), 0.0, 1.0, tell)
            return self._proof(pair, stream.sweeps, 2 * seen.width, seen.masks)

    def _stream(self, pair: Pair, direction: int, stack: ExitStack) -> DirectedStream:
        """The directed sweeps of a component that passes through memory."""
        (f, g), rules = pair, self.plan.rules
        own, theirs = layer_of(direction, row_view=True), layer_of(direction, row_view=False)

        def opened(zone: int, layer: Layer) -> StripFile:
            return stack.enter_context(self.scratch.open((f, zone), layer))

        alike = f == g
        stream = DirectedStream(
            self.sides[f],
            self.sides[g],
            self.representation,
            direction,
            {} if alike else {(x, g): self.scratch.load(x, g, own) for x in exits(rules, f)},
            {x: opened(x, own) for x in exits(rules, f)} if alike else {},
            {x: opened(x, theirs) for x in exits(rules, g)},
            self.scratch.path(pair, "bounds"),
            self.plan.threads,
        )
        return stack.enter_context(closing(stream))

    def _tell(self, stream: DirectedStream, parts: Iterator[float], begin: float, share: float, tell: Tell) -> None:
        for part in parts:
            tell(begin + share * min(1.0, (stream.sweeps + part) / SWEEPS))

    def _note_strip(
        self, intervals: dict[str, list[float]], pair: Pair, stream: DirectedStream, strip: int, layer: Layer
    ) -> None:
        """Note the bounds of the boards in a strip that is in memory."""
        for place in places(self.boards_of(pair), stream.rows, stream.columns):
            if stream.rows.pips[place.row] == strip:
                values = stream.values(strip)[place.column_moves]
                row = place.row - int(stream.rows.class_start[strip])
                self._note(intervals, place, layer, float(values[row, place.column]))

    def _note(self, intervals: dict[str, list[float]], place: Place, layer: Layer, value: float) -> None:
        """Note a bound of a board for its mover: for the column player it is the other bound, with its sign changed."""
        seen = layer.opposite if place.column_moves else layer
        interval = intervals.setdefault(str(place.board), [0.0, 1.0])
        interval[0 if seen == Layer.LOWER else 1] = (
            0.5 + (-value if place.column_moves else value) / self.representation.unit
        )


def places(boards: Iterable[Board], rows: Side, columns: Side) -> Iterator[Place]:
    """Where boards are in a component, if they are: in two places if its sides are alike."""
    squares = rows.rules.squares
    for board in boards:
        own, other = (mask & ((1 << squares) - 1) for mask in board.masks)
        zones = tuple(mask >> squares for mask in board.masks)
        for column_moves, (row, column) in enumerate(((own, other), (other, own))):
            if zones == ((columns.finish, rows.finish) if column_moves else (rows.finish, columns.finish)):
                yield Place(board, _index(rows, row), _index(columns, column), bool(column_moves))


def _index(side: Side, state: int) -> int:
    return int(side.index(np.array([state], np.uint64))[0])
