"""Components: pairs of finish zones, the arrays that hold them, and what they need of each other."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from madn.rules import Rules
from madn.solver import _reorder
from madn.solver.kernels import sweep as kernels
from madn.solver.sides import TERMINAL, Side

HALF = {
    "fixed32": 1 << 28,
    "float64": 0.5,
}  # one half in stored units; six fixed32 values add up inside 32 bits
DTYPE: dict[str, Any] = {"fixed32": np.int32, "float64": np.float64}
GROUP = 256  # columns that are visited, or left alone, together
SLICE = 30_000_000  # values between two looks at the clock and at Ctrl-C: well under a second

Values: TypeAlias = NDArray[Any]


def finish_zones(rules: Rules) -> range:
    """All occupations of a finish zone but the full one, bit i for finish square i."""
    return range((1 << rules.pieces) - 1)


def components(rules: Rules, start: tuple[int, int] = (0, 0)) -> list[tuple[int, int]]:
    """The pairs of finish zones to solve, most advanced first, each with its larger side first.

    Only those that a position with the finish zones `start` can lead to: by default all.
    """

    def advance(zone: int) -> tuple[int, int]:
        return zone.bit_count(), sum(i for i in range(rules.pieces) if zone >> i & 1)

    def order(pair: tuple[int, int]) -> tuple[int, int, tuple[int, int]]:
        (n1, s1), (n2, s2) = advance(pair[0]), advance(pair[1])
        return -(n1 + n2), -(s1 + s2), pair

    zones = sorted(finish_zones(rules), key=advance)
    reach = [later_zones(rules, zone) for zone in start]
    pairs = ((f, g) for i, f in enumerate(zones) for g in zones[i:])
    return sorted((p for p in pairs if any(p[k] in reach[0] and p[1 - k] in reach[1] for k in range(2))), key=order)


def later_zones(rules: Rules, zone: int) -> set[int]:
    """The finish zones that a side with this one can come to have, itself included; the full one is left out.

    Pieces in the finish zone only move forward and never leave it: counted from its far end, there are never fewer.
    """

    def from_the_end(other: int) -> list[int]:
        return [(other >> i).bit_count() for i in range(rules.pieces)]

    before = from_the_end(zone)
    return {f for f in finish_zones(rules) if all(x >= y for x, y in zip(from_the_end(f), before, strict=True))}


@dataclass(frozen=True)
class Matrices:
    """The values of all pairs (row state, column state) in the row player's view, minus one half, in stored units.

    `L[start[a] + b]`: a is to move. `R[start[a] + b]`: b is to move. Row a is kept from column `first[a]` on; before
    that it is found with rows and columns exchanged, and the opposite sign.
    """

    L: Values
    R: Values
    start: NDArray[np.int64]
    first: NDArray[np.int32]

    @classmethod
    def full(cls, rows: int, columns: int, representation: str) -> "Matrices":
        """Matrices of zeros that keep every row whole."""
        start = np.arange(rows, dtype=np.int64) * columns
        return cls(*_zeros(rows * columns, representation), start, np.zeros(rows, np.int32))

    @classmethod
    def mirrored(cls, side: Side, representation: str) -> "Matrices":
        """Matrices of zeros for a side against itself: a row begins with the first column of its own pips."""
        first = side.class_start[side.pips]
        ends = np.cumsum(side.size - first.astype(np.int64))
        return cls(*_zeros(int(ends[-1]), representation), ends - side.size, first)


def _zeros(size: int, representation: str) -> tuple[Values, Values]:
    room = size + kernels.WIDTH  # whole vectors are read, also at the end
    return np.zeros(room, DTYPE[representation]), np.zeros(room, DTYPE[representation])


class Component:
    """One pair of finish zones while it is being solved."""

    def __init__(
        self, rows: Side, columns: Side, representation: str, solved: Mapping[tuple[int, int], Matrices]
    ) -> None:
        self.rows, self.columns, self.representation = rows, columns, representation
        self.mirrored = rows.finish == columns.finish
        self.strips = len(rows.class_start) - 1
        self.matrices = (
            Matrices.mirrored(rows, representation)
            if self.mirrored
            else Matrices.full(rows.size, columns.size, representation)
        )
        groups = column_groups(columns)
        ring = ring_size(columns, groups)
        slot = np.arange(columns.size, dtype=np.int32) % ring
        size = max(rows.size, columns.size)
        row_exits = [whole_exit(f, columns.finish, size, representation, solved) for f in rows.moves.exits]
        column_exits = [whole_exit(f, rows.finish, size, representation, solved) for f in columns.moves.exits]
        self.kernel = kernels.Component(
            rows=rows,
            columns=columns,
            L=self.matrices.L,
            R=self.matrices.R,
            start=self.matrices.start,
            row_offset=offsets(rows, self.matrices.start, [m.start for m in row_exits]),
            column_offset=offsets(columns, slot.astype(np.int64) * kernels.WIDTH, [m.start for m in column_exits]),
            row_exits=[(m.L, m.R) for m in row_exits],
            column_exits=[(m.L, m.R) for m in column_exits],
            slot=slot,
            group_class=groups,
            ring=ring,
            mirrored=self.mirrored,
        )

    def strip_slots(self) -> NDArray[np.int64]:
        """How many values each strip has: what a pass over it costs."""
        lengths = self.columns.size - self.matrices.first.astype(np.int64)
        total = np.concatenate([[0], np.cumsum(lengths)])
        return np.diff(total[self.rows.class_start]) * 2

    def passes(
        self, threads: int, examine: bool, skip_below: float = 0.0, keep: bool = False
    ) -> Iterator[tuple[int, Any]]:
        """Sweep, or examine what is there; yields the next strip and what the kernel found in those before.

        It does so in slices, so that Ctrl-C is heard. All values are kept, whatever `keep` says.
        """
        work = np.cumsum(self.strip_slots())
        first = 0
        while first < self.strips:
            before = work[first - 1] if first else 0
            end = max(first + 1, int(np.searchsorted(work, before + SLICE, side="right")))
            yield end, self.kernel.run(first, end, threads, examine, skip_below)
            first = end

    def results(self, threads: int) -> dict[tuple[int, int], Matrices]:
        """What later components and the answer read: full matrices with either side as rows, where they are needed.

        Nothing moves into an empty finish zone, so matrices with that side as rows are needed only when both are.
        """
        f, g = self.rows.finish, self.columns.finish
        n, k, m = self.rows.size, self.columns.size, self.matrices
        if f == g == 0:
            return {(f, g): m}
        if self.mirrored:
            square = Matrices.full(n, n, self.representation)
            _reorder.unfold(m.L, m.R, m.start, m.first, square.L, square.R, threads)
            return {(f, g): square}
        transposed = Matrices.full(k, n, self.representation)
        _reorder.transpose(m.R, n, k, transposed.L, threads=threads)
        _reorder.transpose(m.L, n, k, transposed.R, threads=threads)
        return {(g, f): transposed} if f == 0 else {(f, g): m, (g, f): transposed}


def column_groups(side: Side) -> NDArray[np.int32]:
    """Cut the classes of a side into runs of about GROUP states: the first class of each, and one past the last."""
    cuts, last = [0], len(side.class_start) - 1
    for j in range(1, last + 1):
        if side.class_start[j] - side.class_start[cuts[-1]] >= GROUP or j == last:
            cuts.append(j)
    return np.array(cuts, np.int32)


def ring_size(side: Side, groups: NDArray[np.int32]) -> int:
    """How many columns a chunk keeps at hand: a group and the six classes before it."""
    first = side.class_start[np.maximum(groups[:-1] - 6, 0)]
    return int((side.class_start[groups[1:]] - first).max())


def whole_exit(
    finish: int, other: int, size: int, representation: str, solved: Mapping[tuple[int, int], Matrices]
) -> Matrices:
    """The values that a move into another finish zone leads to; the full zone is a win against all `size` states."""
    if finish != TERMINAL:
        return solved[finish, other]
    won = Matrices.full(1, size, representation)
    won.L[:] = won.R[:] = HALF[representation]
    return won


def offsets(side: Side, own: NDArray[np.int64], exits: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Where the vector of each move option begins, in the side's own array or in that of an exit."""
    moves = side.moves
    offset = own[np.where(moves.kind == 0, moves.row, 0)]
    for kind, start in enumerate(exits, 1):
        there = moves.kind == kind
        offset[there] = start[moves.row[there]]
    return offset
