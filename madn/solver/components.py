"""Components: pairs of finish zones, the arrays that hold them, and what they need of each other."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from madn.rules import Rules
from madn.solver.kernels import kernels
from madn.solver.sides import TERMINAL, Side

HALF = {"fixed32": 1 << 28, "float64": 0.5}  # one half in stored units; six fixed32 values add up inside 32 bits
DTYPE: dict[str, Any] = {"fixed32": np.int32, "float64": np.float64}
GROUP = 256  # columns that are visited, or left alone, together
OVERREAD = 16  # a chunk may read this far past the end of an array (WIDTH in _sweep.pxi)

Values: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class Matrices:
    """The values of all pairs (row state, column state), in the row player's view, minus one half, in stored units.

    `L[start[a] + b]`: a is to move. `R[start[a] + b]`: b is to move.
    """

    L: Values
    R: Values
    start: NDArray[np.int64]


def column_groups(side: Side) -> NDArray[np.int32]:
    """Cut the classes of a side into runs of about GROUP states: the first class of each, and one past the last."""
    cuts, last = [0], 0
    for j in range(1, len(side.class_start)):
        if side.class_start[j] - side.class_start[last] >= GROUP or j == len(side.class_start) - 1:
            cuts.append(j)
            last = j
    return np.array(cuts, np.int32)


def ring_size(side: Side, groups: NDArray[np.int32]) -> int:
    """How many columns a chunk keeps at hand: a group and the six classes before it."""
    first = side.class_start[np.maximum(groups[:-1] - 6, 0)]
    return int((side.class_start[groups[1:]] - first).max())


def row_starts(rows: Side, columns: Side, mirrored: bool) -> tuple[NDArray[np.int64], int]:
    """Where each row begins (less its first column), and the number of values in all."""
    n = columns.size
    if not mirrored:
        return np.arange(rows.size, dtype=np.int64) * n, rows.size * n
    first = rows.class_start[rows.pips].astype(np.int64)
    ends = np.cumsum(n - first)
    return ends - n, int(ends[-1])


class ComponentSolver:
    """One pair of finish zones while it is being solved."""

    def __init__(
        self, rows: Side, columns: Side, representation: str, solved: Mapping[tuple[int, int], Matrices]
    ) -> None:
        mirrored = rows.finish == columns.finish
        start, size = row_starts(rows, columns, mirrored)
        dtype = DTYPE[representation]
        self.rows, self.columns, self.mirrored = rows, columns, mirrored
        self.matrices = Matrices(np.zeros(size + OVERREAD, dtype), np.zeros(size + OVERREAD, dtype), start)
        won = np.full(max(rows.size, columns.size) + OVERREAD, HALF[representation], dtype)
        terminal = Matrices(won, won, np.zeros(1, np.int64))
        groups = column_groups(columns)
        ring = ring_size(columns, groups)
        slot = np.arange(columns.size, dtype=np.int32) % ring
        row_exits = [terminal if f == TERMINAL else solved[f, columns.finish] for f in rows.moves.exits]
        column_exits = [terminal if f == TERMINAL else solved[f, rows.finish] for f in columns.moves.exits]
        self.strips = len(rows.class_start) - 1
        self.kernel = kernels.Component(
            rows=rows,
            columns=columns,
            L=self.matrices.L,
            R=self.matrices.R,
            start=start,
            row_offset=_offsets(rows, start, row_exits),
            column_offset=_offsets(columns, slot.astype(np.int64) * OVERREAD, column_exits),
            row_exits=[(m.L, m.R) for m in row_exits],
            column_exits=[(m.L, m.R) for m in column_exits],
            slot=slot,
            group_class=groups,
            ring=ring,
            mirrored=mirrored,
        )


def _offsets(side: Side, own: NDArray[np.int64], exits: list[Matrices]) -> NDArray[np.int64]:
    """Where the vector of each move option begins, in the side's own array or in that of an exit."""
    moves = side.moves
    offset = own[np.where(moves.kind == 0, moves.row, 0)]
    for kind, matrices in enumerate(exits, 1):
        there = moves.kind == kind
        offset[there] = matrices.start[moves.row[there]]
    return offset


def both_ways(solver: ComponentSolver) -> dict[tuple[int, int], Matrices]:
    """The solved values as full matrices, with either side as rows: what the components before this one read."""
    rows, columns, m = solver.rows, solver.columns, solver.matrices
    n, k = rows.size, columns.size
    if not solver.mirrored:
        size = n * k
        shape = (n, k)
        L, R = m.L[:size].reshape(shape), m.R[:size].reshape(shape)
        turned = Matrices(_padded(-R.T), _padded(-L.T), np.arange(k, dtype=np.int64) * n)
        return {(rows.finish, columns.finish): m, (columns.finish, rows.finish): turned}
    L, R = (np.zeros((n, n), m.L.dtype) for _ in range(2))
    for a in range(n):
        first = rows.class_start[rows.pips[a]]
        L[a, first:] = m.L[m.start[a] + first : m.start[a] + n]
        R[a, first:] = m.R[m.start[a] + first : m.start[a] + n]
    for a in range(n):
        first = rows.class_start[rows.pips[a]]
        L[a, :first] = -R[:first, a]
        R[a, :first] = -L[:first, a]
    return {(rows.finish, rows.finish): Matrices(_padded(L), _padded(R), np.arange(n, dtype=np.int64) * n)}


def _padded(matrix: Values) -> Values:
    out = np.zeros(matrix.size + OVERREAD, matrix.dtype)
    out[: matrix.size] = matrix.ravel()
    return out


def components(rules: Rules) -> list[tuple[int, int]]:
    """The pairs of finish zones to solve, most advanced first, each with its larger side as rows."""
    zones = range((1 << rules.pieces) - 1)
    pairs = [(f, g) for f in zones for g in zones if g >= f]

    def advance(zone: int) -> tuple[int, int]:
        return zone.bit_count(), sum(i for i in range(rules.pieces) if zone >> i & 1)

    def order(pair: tuple[int, int]) -> tuple[int, int, int, int]:
        (n1, s1), (n2, s2) = advance(pair[0]), advance(pair[1])
        return -(n1 + n2), -(s1 + s2), *pair

    return [tuple(sorted(p, key=advance)) for p in sorted(pairs, key=order)]  # type: ignore[misc]
