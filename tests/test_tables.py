"""The tables of the sweep kernels: what is in them, and that no wrong number in them reaches memory."""

# A test of a refusal passes what the types forbid.
# mypy: disable-error-code="arg-type, call-arg"

from contextlib import suppress
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from madn import Rules
from madn.solver import _packing, _reorder, make_plan, solve
from madn.solver.components import InMemory, Matrices
from madn.solver.kernels import SWEEPERS
from madn.solver.numbers import FIXED32
from madn.solver.sides import Side
from madn.solver.solution import MatrixValues
from madn.solver.strips import Tiling
from madn.solver.tables import TYPES, SweepTables

RULES = Rules(2, 8, must_capture=True)
ARRAYS = sorted(field.name for field in fields(SweepTables) if field.type in TYPES)
NUMBERS = sorted({field.name for field in fields(SweepTables)} - set(ARRAYS))
OF_PANELS = ("late", "first_group", "first_column")  # 0 where all columns are computed


class Parts:
    """What a sweeper is made of, for one pair of finish zones."""

    def __init__(self, f: int, g: int) -> None:
        solution = solve(replace(make_plan(RULES), representation=FIXED32, tolerance=1e-6))
        assert isinstance(solution.values, MatrixValues)
        solved = solution.values.solved
        rows, columns = Side(RULES, f), Side(RULES, g)
        component = InMemory(rows, columns, FIXED32, solved)
        self.values = component.values
        self.exits = [
            [
                (m.L, m.R)
                for m in (
                    Matrices.won(max(rows.size, columns.size), FIXED32) if zone < 0 else solved[zone, other.finish]
                    for zone in side.moves.exits
                )
            ]
            for side, other in ((rows, columns), (columns, rows))
        ]
        starts = [
            [np.zeros(1, np.int64) if zone < 0 else solved[zone, other.finish].start for zone in side.moves.exits]
            for side, other in ((rows, columns), (columns, rows))
        ]
        own, *of_rows = ((start, start) for start in (component.values.start, *starts[0]))
        self.tables = SweepTables.of(rows, columns, own, of_rows, starts[1], refill=False)

    def run(self, tables: SweepTables, build: str) -> None:
        """Sweep, examine and restore with these tables."""
        sweeper = SWEEPERS[build](tables, self.values.L, self.values.R, *self.exits)
        sweeper.run(0, tables.strips, 2, False)
        sweeper.run(0, tables.strips, 1, True)
        for strip in range(tables.strips):
            sweeper.restore(strip)


@pytest.fixture(scope="module")
def parts() -> dict[str, Parts]:
    return {"mirrored": Parts(0, 0), "unlike": Parts(0, 1)}


@pytest.mark.parametrize("build", sorted(SWEEPERS))
@pytest.mark.parametrize("kind", ["mirrored", "unlike"])
def test_right_tables_are_taken(parts: dict[str, Parts], kind: str, build: str) -> None:
    parts[kind].run(parts[kind].tables, build)


@pytest.mark.parametrize("kind", ["mirrored", "unlike"])
@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_another_size_or_type_are_refused(parts: dict[str, Parts], kind: str, name: str) -> None:
    tables = parts[kind].tables
    array = getattr(tables, name)
    for wrong in (array[:-1], array[::2], array.astype(np.float32), array[None], None):
        with pytest.raises((ValueError, TypeError)):
            parts[kind].run(replace(tables, **{name: wrong}), "portable")


@settings(max_examples=300)
@given(
    kind=st.sampled_from(["mirrored", "unlike"]),
    name=st.sampled_from(ARRAYS),
    place=st.floats(0, 1, exclude_max=True),
    wrong=st.sampled_from([-(2**31), -2, -1, 0, 1, 7, 127, 1000, 2**31 - 1]),
)
def test_a_wrong_number_anywhere_is_refused_or_does_no_harm(
    parts: dict[str, Parts], kind: str, name: str, place: float, wrong: int
) -> None:
    """The debug build watches every access; here it is enough to survive."""
    tables = parts[kind].tables
    array = getattr(tables, name).copy()
    limits = np.iinfo(array.dtype) if array.dtype.kind in "iu" else None
    array.flat[int(place * array.size)] = wrong if limits is None else min(max(wrong, limits.min), limits.max)
    with suppress(ValueError):
        parts[kind].run(replace(tables, **{name: array}), "portable")


@pytest.mark.parametrize("kind", ["mirrored", "unlike"])
@pytest.mark.parametrize("name", ["first_group", "first_column", "end_group", "end_column"])
def test_columns_that_are_not_computed_are_refused(parts: dict[str, Parts], kind: str, name: str) -> None:
    tables = parts[kind].tables
    for wrong in (-1, getattr(tables, name) + 1):
        with pytest.raises(ValueError, match=r"."):
            parts[kind].run(replace(tables, **{name: wrong}), "portable")


@pytest.mark.parametrize("kind", ["mirrored", "unlike"])
@pytest.mark.parametrize("name", sorted(set(NUMBERS) - {"mirrored", "refill", "must_capture", *OF_PANELS}))
def test_sizes_that_are_too_small_are_refused(parts: dict[str, Parts], kind: str, name: str) -> None:
    tables = parts[kind].tables
    for wrong in (-1, 0, getattr(tables, name) - 1):
        with pytest.raises(ValueError, match=r"."):
            parts[kind].run(replace(tables, **{name: wrong}), "portable")


def test_a_sweeper_refuses_what_it_cannot_use(parts: dict[str, Parts]) -> None:
    part = parts["unlike"]
    make = SWEEPERS["portable"]
    L, R, (row_exits, column_exits) = part.values.L, part.values.R, part.exits
    calls: list[tuple[Any, ...]] = [
        (None, L, R, row_exits, column_exits),
        (part.tables, L[:-1], R, row_exits, column_exits),
        (part.tables, L, R.astype(np.float64), row_exits, column_exits),
        (part.tables, L, R, row_exits[:-1], column_exits),
        (part.tables, L, R, row_exits, column_exits[:-1]),
        (part.tables, L, R, [(left[:9], right) for left, right in row_exits], column_exits),
        (part.tables, L, R, row_exits, [(left[:20], right[:20]) for left, right in column_exits]),
        (part.tables, L, R, [None], column_exits),
        (part.tables, L, R, row_exits, column_exits, np.zeros(part.tables.captures + 15, np.int32)),
        (part.tables, L, R, row_exits, column_exits, np.zeros(part.tables.captures + 16)),
    ]
    for arguments in calls:
        with pytest.raises((ValueError, TypeError)):
            make(*arguments).run(0, part.tables.strips, 1, False)
    sweeper = make(part.tables, L, R, row_exits, column_exits)
    for first, end, threads in ((-1, 1, 1), (0, part.tables.strips + 1, 1), (2, 2, 1), (0, 1, 0), (0, 1, 65536)):
        with pytest.raises(ValueError, match=r"strips|threads"):
            sweeper.run(first, end, threads, False)
    for strip in (-1, part.tables.strips):
        with pytest.raises(ValueError, match="strip"):
            sweeper.restore(strip)
    sweeper.set_column_exits(column_exits, 3)
    with pytest.raises(ValueError, match="too few for rows"):
        sweeper.run(0, 1, 1, False)
    sweeper.set_column_exits([], 0)  # those from before are gone
    with pytest.raises(ValueError, match="0 column exits, and moves lead to"):
        sweeper.run(0, 1, 1, False)


def rows_and_columns(tiling: Tiling, strip: int, column_class: int) -> int:
    """How many pairs of a row and a column a tile has, whether they are positions or not."""
    sides = ((tiling.rows, strip), (tiling.columns, column_class))
    rows, columns = (int(np.diff(side.class_start)[number]) for side, number in sides)
    return rows * columns


def test_packing_refuses_what_does_not_fit() -> None:
    rows, columns = Side(RULES, 1), Side(RULES, 0)
    tiling = Tiling(rows, columns, np.int32, 1)
    start, room = tiling.starts(2)
    L, R, out = np.zeros(room, np.int32), np.zeros(room, np.int32), np.zeros(tiling.total, np.uint8)
    here, last = start[tiling.rows_of(5)], tiling.classes
    assert tiling.tiles.pack(5, L, R, here, here, 0, last, out) == tiling.tile[5, -1]
    good = out[: tiling.tile[5, -1]]
    for arguments in (
        (-1, L, R, here, here, 0, last, out),
        (tiling.strips, L, R, here, here, 0, last, out),
        (5, L[:9], R, here, here, 0, last, out),
        (5, L, R[:9], here, here, 0, last, out),
        (5, L, R, here[:-1], here, 0, last, out),
        (5, L, R, here, here[:-1], 0, last, out),
        (5, L, R, here - room, here, 0, last, out),
        (5, L, R, here, here + room, 0, last, out),
        (5, L, R, np.full_like(here, 2**63 - 1), here, 0, last, out),
        (5, L, R, here, here, -1, last, out),
        (5, L, R, here, here, 0, last + 1, out),
        (5, L, R, here, here, 0, last, out[: len(good) - 1]),
    ):
        with pytest.raises(ValueError, match=r"."):
            tiling.tiles.pack(*arguments)
    for cut in (
        (5, good[:-1], L, R, here, here, 0, last),
        (5, good, L[:9], R, here, here, 0, last),
        (5, good, L, R[:9], here, here, 0, last),
        (5, good, L, R, here, here, 3, last + 1),
        (5, good, L, R, here, here, 3, 2),
    ):
        with pytest.raises(ValueError, match=r"."):
            tiling.tiles.unpack(*cut)
    pairs, room = np.zeros(2 * rows_and_columns(tiling, 5, 3), np.int32), 8 * int(tiling.counts[5, 3]) + 8
    assert tiling.tiles.pack_pairs(5, 3, pairs, out[:room], False) == room - 8
    for wrong_pairs in (
        (-1, 3, pairs, out),
        (tiling.strips, 3, pairs, out),
        (5, -1, pairs, out),
        (5, last, pairs, out),
        (5, 3, pairs[:-1], out),
        (5, 3, pairs, out[: room - 1]),
    ):
        with pytest.raises(ValueError, match=r"."):
            tiling.tiles.pack_pairs(*wrong_pairs, False)
        strip, tile, values, packed = wrong_pairs
        with pytest.raises(ValueError, match=r"."):
            tiling.tiles.unpack_pairs(strip, tile, packed, values)
    half = good[: tiling.tile[5, 1] // 2]
    assert tiling.tiles.unpack_half(5, half, R, here, 0, 1) == len(half)
    for wrong_half in (
        (5, half[:-1], R, here, 0, 1),
        (5, half, R, here, 0, 2),
        (5, half, R[:9], here, 0, 1),
        (5, half, R, here, tiling.classes, tiling.classes + 1),
    ):
        with pytest.raises(ValueError, match=r"."):
            tiling.tiles.unpack_half(*wrong_half)
    edges = rows.class_start
    for wrong in (edges[3:], edges[:-9], edges[::-1].copy(), edges - 1):
        with pytest.raises(ValueError, match="ascend"):
            _packing.Tiles(rows.facing, wrong, columns.masks, columns.class_start, False, 1)
    with pytest.raises(ValueError, match="threads must be"):
        _packing.Tiles(rows.facing, edges, columns.masks, columns.class_start, False, 0)


def test_reordering_refuses_what_does_not_fit() -> None:
    values, out = np.zeros(12, np.int32), np.zeros(12, np.int32)
    _reorder.transpose(values, 3, 4, out)
    for rows, columns, first, stride, threads in (
        (3, 5, 0, 0, 1),
        (-3, -4, 0, 0, 1),
        (3, 4, -1, 0, 1),
        (3, 4, 1, 0, 1),
        (3, 4, 0, 2, 1),
        (2**62, 4, 0, 0, 1),
        (3, 4, 0, 0, 0),
    ):
        with pytest.raises(ValueError, match=r"."):
            _reorder.transpose(values, rows, columns, out, first, stride, threads)
    start, first_columns = np.array([0, 2], np.int64), np.array([0, 0], np.int32)
    for begin, firsts, full in (
        (start + 9, first_columns, out),
        (start, first_columns + 1, out),
        (start, first_columns[:1], out),
        (start, first_columns, out[:3]),
        (start - 1, first_columns, out),
    ):
        with pytest.raises(ValueError, match=r"."):
            _reorder.unfold(values, values, begin, firsts, full, full)
    masks, order = np.zeros(2, np.uint64), np.array([0, 1], np.int32)
    good = [values, start, first_columns, values, start, masks, order, masks, order, 2, 0, out, 0.0]
    assert _reorder.copy_rows(*good) == 4
    for at, wrong in (
        (6, order + 1),
        (8, order - 1),
        (8, order + 9),
        (1, start + 99),
        (9, 0),
        (10, -1),
        (5, masks[:1]),
    ):
        with pytest.raises(ValueError, match=r"."):
            _reorder.copy_rows(*good[:at], wrong, *good[at + 1 :])
    place, section = np.array([[0], [2]], np.int64), np.array([0, 2], np.int32)
    good = [values, 2, order, masks, order, masks, section, place, out, 1]
    _reorder.place_rows(*good)
    for at, wrong in (
        (1, -1), (1, 99), (2, order + 9), (2, order - 1), (4, order - 1), (4, order + 99), (6, section + 1),
        (6, np.array([2, 0], np.int32)), (7, place - 1), (9, 0),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"."):
            _reorder.place_rows(*good[:at], wrong, *good[at + 1 :])
