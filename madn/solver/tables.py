"""The arrays of a component that the sweep kernels read, made and checked here.

Rows are the states a of one side, columns the states b of the other. `sweep_structs.pxi` says what the kernels do with
them; `SweepTables.check` makes sure that no number in them leads out of an array.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from madn.ranges import check_ascending, check_range
from madn.rules import DIE, ROLLS, Turn, rolls_again
from madn.solver.sides import TERMINAL, Side

LANES = 16  # rows of a chunk, and how far an array is read past its end: the kernels work on whole vectors
GROUP = 256  # about how many columns are visited, or left alone, together
STOP = 2**31 - 1  # ends a list of ascending columns
ONE_STATE = np.array([0, 1], np.int32)  # classes of the side that has won
MAX_OPTIONS, MAX_KINDS, MAX_TURNS = 36, 16, 16  # as in sweep_structs.pxi

Int8: TypeAlias = NDArray[np.int8]
Int32: TypeAlias = NDArray[np.int32]
Int64: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.uint64]
Weights: TypeAlias = NDArray[np.float64]
TYPES: dict[Any, Any] = {Int8: np.int8, Int32: np.int32, Int64: np.int64, Mask: np.uint64, Weights: np.float64}


class Panel(NamedTuple):
    """The classes first..end-1 of columns, at least six, which one process of a cluster computes."""

    first: int
    end: int


@dataclass(frozen=True)
class SweepTables:
    """What a component is made of, as arrays; each has LANES entries more than is said here."""

    pieces: int
    squares: int
    mirrored: bool  # both sides are the same: only columns of the row's class or later are kept
    must_capture: bool  # there is a duty to capture: `row_lands` and `col_lands` say where options land
    late: bool  # the row player's captures lead to values of the last sweep, which are brought in from outside
    refill: bool  # the matrices come to an examination without the slots of captures: it has to fill them
    ring: int  # columns, and states of exits, that a chunk keeps at hand
    widest: int  # columns of the largest group, rounded up
    rows: int
    columns: int
    strips: int
    groups: int
    captures: int  # values of `after_capture`
    turns: int  # kinds of turns of the columns
    exits: int  # finish zones that the column player can move to
    first_group: int  # the groups that are computed here ...
    end_group: int
    first_column: int  # ... and their columns
    end_column: int
    row_class: Int32  # first row of strip i
    col_class: Int32  # first column of class j
    group_class: Int32  # first class of group g
    first_chunk: Int32  # first chunk of strip i
    start_l: Int64  # L[a][b] is at start_l[a] + b
    start_r: Int64  # R[a][b] is at start_r[a] + b
    row_first: Int32  # first move option of state a, roll after roll ...
    row_count: Int8  # ... how many each roll has: [6 a + r] ...
    row_kind: Int8  # ... in which array each option's vector is ...
    row_offset: Int64  # ... and where
    row_lands: Mask  # ... the square it lands on, a bit in the columns' numbers, or 0; empty without a duty to capture
    row_turn: Int8  # the kind of turn ...
    row_turns: Weights  # ... and what each kind is: unit, wait, rest, scale
    row_pips: Int32
    row_facing: Mask
    row_captured: Int32  # [a, k]: the row of `after_capture` for a without its piece on the k-th square of `facing`
    row_boxed: Int32  # the row of `after_capture` for a itself, or -1
    col_first: Int32
    col_count: Int8
    col_offset: Int32  # in the ring: in its first half after a 6, in its second half otherwise
    col_lands: Mask  # like `row_lands`, to be compared with `row_facing`, which is in the columns' numbers too
    col_turn: Int8
    col_turns: Weights
    col_masks: Mask
    slot: Int32  # place of column b in the ring
    exit_class: Int32  # [exit, j]: its first state with at least j pips, counting the states of all exits ...
    exit_start: Int64  # ... where the vector of each begins in the array of its exit ...
    exit_slot: Int32  # ... and its place in the ring
    hold_group: Int32  # [square, g]: where group g begins among the columns that hold the square
    hold_state: Int32  # those columns, ascending, each list ended by STOP
    boxed_group: Int32  # [g]: where group g begins among the columns with a piece in the box
    boxed_state: Int32  # those columns, ascending ...
    boxed_with: Int32  # ... and [square]: what each becomes with a boxed piece on the square
    capture_start: Int64  # [h, g]: after_capture[h][b] is the pair at capture_start + b, for columns b of group g ...
    capture_class: Int32  # ... from this class on: captures come from at most a lap before
    need: Int32  # [g]: how many groups the strip before must have finished before group g may begin

    @classmethod
    def of(
        cls,
        rows: Side,
        columns: Side,
        start: tuple[Int64, Int64],
        row_exits: Sequence[tuple[Int64, Int64]],
        column_exits: Sequence[Int64],
        *,
        refill: bool,
        whole: bool = False,
        captures: tuple[Int64, int] | None = None,
        panel: Panel | None = None,
    ) -> "SweepTables":
        """The tables of a pair of sides.

        `start` says where each row begins in the matrices L and R, `row_exits` where each begins in the matrices of the
        components that moves of the row player lead to, and `column_exits` the same for the column player, where L and
        R are laid out alike. With `whole` every column is kept, even if both sides are alike. `captures` has the
        places, by row and group of columns, in an array of the values that captures lead to, and the size of that
        array; by default row follows row. Columns that are not kept of a row have an arbitrary place. With a `panel`
        only its columns are computed and kept.
        """
        S, mirrored = rows.rules.squares, rows.finish == columns.finish and not whole
        computed = panel or Panel(0, len(columns.class_start) - 1)
        groups = column_groups(columns, computed)
        first_group, end_group = np.searchsorted(groups, computed).tolist()
        of_exits = exit_classes(columns)
        windows = [ring_size(starts, groups) for starts in (columns.class_start, *of_exits)]
        ring, slots = sum(windows), ring_slots(columns, windows)
        first_exits = np.cumsum([0, *map(len, slots[1:])])
        starts = columns.class_start[groups]
        ends = np.cumsum([0, *(len(states) + 1 for states in columns.holders)])
        holders = [ends[q] + np.searchsorted(states, starts) for q, states in enumerate(columns.holders)]
        earliest = first_captured(rows) if mirrored else np.zeros(len(rows.boxed), np.int64)
        if captures is None:
            lengths = columns.size - columns.class_start[earliest].astype(np.int64)
            begins = np.cumsum(lengths)[:, None] - columns.size
            captures = np.where(earliest[:, None] < groups[1:], begins, -starts[:-1]), 2 * int(lengths.sum())
        later = np.searchsorted(groups, groups[1:] + (S + 1 if panel is None else 0))
        return cls(
            pieces=rows.rules.pieces,
            squares=S,
            mirrored=mirrored,
            must_capture=rows.rules.must_capture,
            late=panel is not None,
            refill=refill,
            ring=ring,
            widest=int(np.diff(starts).max()) + LANES,
            rows=rows.size,
            columns=columns.size,
            strips=len(rows.class_start) - 1,
            groups=len(groups) - 1,
            captures=captures[1],
            turns=len(columns.moves.turns),
            exits=len(column_exits),
            first_group=first_group,
            end_group=end_group,
            first_column=int(columns.class_start[computed.first]),
            end_column=int(columns.class_start[computed.end]),
            row_class=padded(rows.class_start, np.int32),
            col_class=padded(columns.class_start, np.int32),
            group_class=padded(groups, np.int32),
            first_chunk=padded(first_chunks(rows.class_start), np.int32),
            start_l=padded(start[0], np.int64),
            start_r=padded(start[1], np.int64),
            row_first=padded(rows.moves.first[::DIE], np.int32),
            row_count=padded(np.diff(rows.moves.first), np.int8),
            row_kind=padded(rows.moves.kind, np.int8),
            row_offset=padded(row_offsets(rows, start, row_exits), np.int64),
            row_lands=padded(landing_squares(rows, facing=True), np.uint64),
            row_turn=padded(rows.moves.turn, np.int8),
            row_turns=turn_weights(rows.moves.turns),
            row_pips=padded(rows.pips, np.int32),
            row_facing=padded(rows.facing, np.uint64),
            row_captured=padded(rows.boxed_index[rows.without].ravel(), np.int32),
            row_boxed=padded(rows.boxed_index, np.int32),
            col_first=padded(columns.moves.first[::DIE], np.int32),
            col_count=padded(np.diff(columns.moves.first), np.int8),
            col_offset=padded(ring_offsets(columns, slots, ring), np.int32),
            col_lands=padded(landing_squares(columns, facing=False), np.uint64),
            col_turn=padded(columns.moves.turn, np.int8),
            col_turns=turn_weights(columns.moves.turns),
            col_masks=padded(columns.masks, np.uint64),
            slot=padded(slots[0], np.int32),
            exit_class=padded(joined([a + n for a, n in zip(of_exits, first_exits, strict=False)]), np.int32),
            exit_start=padded(joined(column_exits), np.int64),
            exit_slot=padded(joined(slots[1:]), np.int32),
            hold_group=padded(np.concatenate(holders), np.int32),
            hold_state=padded(np.concatenate([np.append(states, STOP) for states in columns.holders]), np.int32),
            boxed_group=padded(np.searchsorted(columns.boxed, starts), np.int32),
            boxed_state=padded(columns.boxed, np.int32),
            boxed_with=padded(columns.boxed_with.ravel(), np.int32),
            capture_start=padded(captures[0].ravel(), np.int64),
            capture_class=padded(earliest, np.int32),
            need=padded(np.minimum(later, len(groups) - 1), np.int32),
        )

    def check(
        self, matrices: tuple[int, int], row_exits: Sequence[tuple[int, int]], column_exits: Sequence[int]
    ) -> None:
        """Raise ValueError unless all numbers lead into arrays of these sizes, given as (L, R) where those may differ.

        Columns that the column player's moves lead to in other components are checked by `check_columns`.
        """
        t = SimpleNamespace(**{name: array[:-LANES] for name, array in self._arrays()})
        n, k, strips, groups = self.rows, self.columns, self.strips, self.groups
        options, column_options, boxed = (
            int(array[-1]) if len(array) else 0 for array in (t.row_first, t.col_first, t.boxed_group)
        )
        captured, classes = int(t.row_boxed.max(initial=-1)) + 1, len(t.col_class) - 1
        lengths = dict.fromkeys(("start_l", "start_r", "row_turn", "row_pips", "row_facing", "row_boxed"), n)
        lengths |= dict.fromkeys(("col_turn", "col_masks", "slot"), k)
        lengths |= {"row_class": strips + 1, "first_chunk": strips + 1, "group_class": groups + 1, "need": groups}
        lengths |= {"row_first": n + 1, "row_count": DIE * n, "row_kind": options, "row_offset": options}
        lengths |= {"col_first": k + 1, "col_count": DIE * k, "col_offset": column_options}
        lengths |= {"exit_class": self.exits * (classes + 1), "exit_slot": len(t.exit_start)}
        lengths |= {"row_lands": options * self.must_capture, "col_lands": column_options * self.must_capture}
        lengths |= {"row_captured": n * self.pieces, "hold_group": self.squares * (groups + 1), "boxed_state": boxed}
        lengths |= {"boxed_with": boxed * self.squares, "boxed_group": groups + 1}
        lengths |= {"capture_start": captured * groups, "capture_class": captured}
        for name, length in lengths.items():
            if len(getattr(t, name)) != length:
                raise ValueError(f"{name} has {len(getattr(t, name))} entries, not {length}")
        ascending = {"row_class": n, "col_class": k, "group_class": classes, "boxed_group": boxed}
        ascending |= {"row_first": options, "col_first": column_options}
        for name, last in ascending.items():
            check_ascending(name, getattr(t, name), last)
        most_pips = classes - 1 if self.mirrored else STOP
        ranges = {"need": (0, groups), "slot": (0, self.ring - 1), "row_pips": (0, most_pips)}
        ranges |= {"row_turn": (0, len(self.row_turns) - 1), "col_turn": (0, self.turns - 1)}
        ranges |= {"boxed_state": (0, k - 1), "boxed_with": (-1, k - 1), "exit_slot": (0, self.ring - 1)}
        ranges |= {"col_offset": (0, (2 * self.ring - 1) * LANES)}
        ranges |= {"row_boxed": (-1, captured - 1), "capture_class": (0, classes)}
        for name, (low, high) in ranges.items():
            check_range(name, getattr(t, name), low, high)
        if not np.array_equal(t.first_chunk, first_chunks(t.row_class)):
            raise ValueError(f"first_chunk does not cut the strips into chunks of at most {LANES} rows")
        if self.mirrored and (n != k or not np.array_equal(t.row_class, t.col_class)):
            raise ValueError(f"{n} rows and {k} columns cannot be of the same side")
        widest = int(np.diff(t.col_class[t.group_class]).max(initial=0))
        if self.widest < widest + LANES or not 0 < self.ring <= STOP // (2 * LANES):
            raise ValueError(f"no room for a group in {self.widest} columns, or a ring of {self.ring}")
        if not 0 < self.turns == len(self.col_turns) <= MAX_TURNS or self.row_turns.shape[1:] != (4,):
            raise ValueError(f"{self.turns} kinds of turns, not 1 to {MAX_TURNS}")
        _check_options(t.row_first, t.row_count)
        _check_options(t.col_first, t.col_count)
        check_range("row_kind", t.row_kind, 0, len(row_exits))
        if max(len(row_exits), self.exits) >= MAX_KINDS or self.exits < 0:
            raise ValueError(f"{len(row_exits)} and {self.exits} exits, not 0 to {MAX_KINDS - 1}")
        for states in t.exit_class.reshape(self.exits, classes + 1):
            if (np.diff(states) < 0).any() or states[0] < 0 or states[-1] > len(t.exit_start):
                raise ValueError("exit_class does not ascend within the states of its exit")
        self._check_kept(t)
        lowest = t.col_class[t.row_pips].astype(np.int64) if self.mirrored else np.zeros(n, np.int64)
        lowest = lowest.clip(self.first_column, self.end_column)
        from_column = np.repeat(lowest, np.diff(t.row_first))
        for name, size in zip(("start_l", "start_r"), matrices, strict=True):
            for first in (lowest, self.end_column):
                check_range(name, getattr(t, name) + first, 0, size - LANES)
        sixes = np.repeat(np.tile([rolls_again(roll) for roll in ROLLS], n), t.row_count)
        for kind, sizes in enumerate((matrices, *row_exits)):
            for size, of_a_six in zip(sizes, (True, False), strict=True):
                there = (t.row_kind == kind) & (sixes == of_a_six)
                for first in (from_column[there], self.end_column):
                    check_range("row_offset", t.row_offset[there] + first, 0, size - LANES)
        self._check_captures(t, captured)

    def _check_kept(self, t: SimpleNamespace) -> None:
        if not 0 <= self.first_group < self.end_group <= self.groups:
            raise ValueError(f"groups {self.first_group} to {self.end_group} of {self.groups}")
        first, end = (int(t.group_class[group]) for group in (self.first_group, self.end_group))
        if (self.first_column, self.end_column) != (t.col_class[first], t.col_class[end]):
            raise ValueError(f"columns {self.first_column} to {self.end_column} are not those of the groups")
        if self.late:
            if end - first < min(DIE, len(t.col_class) - 1):
                raise ValueError(f"classes {first} to {end} of columns are less than a roll leads to")
        elif (self.first_column, self.end_column) != (0, self.columns):
            raise ValueError("columns are left out, but captures are not late")

    def _arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield all arrays with their names; raise ValueError if one is not of its type."""
        for field in fields(self):
            dtype = TYPES.get(field.type)
            if dtype is None:
                continue
            array = getattr(self, field.name)
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1 + (dtype == np.float64):
                raise ValueError(f"{field.name} is not an array of {np.dtype(dtype)}")
            if not array.flags.c_contiguous:
                raise ValueError(f"{field.name} is not contiguous")
            yield field.name, array

    def _check_captures(self, t: SimpleNamespace, captured: int) -> None:
        k, S = self.columns, self.squares
        ends = np.flatnonzero(t.hold_state == STOP)
        if len(ends) != S or ends[-1] + 1 != len(t.hold_state) or (t.row_facing >> np.uint64(S)).any():
            raise ValueError("hold_state is not one list of columns for each square")
        check_range("hold_state", t.hold_state[t.hold_state != STOP], 0, k - 1)
        if ((np.diff(t.hold_state.astype(np.int64)) <= 0) & (t.hold_state[:-1] != STOP)).any():
            raise ValueError("the columns that hold a square do not ascend")
        begins = t.hold_group.reshape(S, -1)
        firsts = np.concatenate([[0], ends[:-1] + 1])
        if (begins < firsts[:, None]).any() or (begins > ends[:, None]).any():
            raise ValueError("hold_group leads out of the list of its square")
        if (np.diff(t.boxed_state) <= 0).any():
            raise ValueError("boxed_state does not ascend")
        pieces = np.bitwise_count(t.row_facing)[:, None]
        if (pieces > self.pieces).any():
            raise ValueError("a row has more pieces than the game")
        used = np.arange(self.pieces) < pieces
        check_range("row_captured", t.row_captured.reshape(self.rows, -1)[used], 0, captured - 1)
        if self.mirrored and len(t.boxed_state) != captured:
            raise ValueError(f"{captured} rows have a piece in the box, but {len(t.boxed_state)} columns")
        edges = t.col_class[t.group_class]
        if (np.diff(edges) < 0).any() or edges[0] != 0 or edges[-1] != k:
            raise ValueError("the groups do not cover the columns in their order")
        begins = t.capture_start.reshape(captured, self.groups)
        first = np.maximum(t.col_class[t.capture_class][:, None], edges[:-1])
        for column in (np.where(first < edges[1:], first, edges[:-1]), edges[1:]):
            check_range("capture_start", begins + column, 0, self.captures // 2)

    def place_exits(self, column_exits: Sequence[Int64]) -> None:
        """Change where each state begins in the vectors of column exits, for the strips that are computed next."""
        self.exit_start[:-LANES] = joined(column_exits)

    def check_columns(self, rows: range, first_row: int, column_exits: Sequence[int]) -> None:
        """Raise ValueError unless all column exits reach as far as these rows; their vectors begin with `first_row`."""
        if len(column_exits) != self.exits:
            raise ValueError(f"{len(column_exits)} column exits, and moves lead to {self.exits}")
        classes = len(self.col_class) - LANES
        for number, size in enumerate(column_exits):
            first, *_, end = self.exit_class[number * classes : (number + 1) * classes]
            start = self.exit_start[first:end]
            if len(start) and not 0 <= start.min() + rows.start - first_row <= size - LANES - (
                start.max() - start.min() + max(len(rows) - 1, 0)
            ):
                raise ValueError(
                    f"column exit {number} has {size} values, too few for rows {rows.start} to {rows.stop}"
                )


def _check_options(first: Int32, count: Int8) -> None:
    per_state = count.reshape(-1, DIE).sum(axis=1)
    if (count < 0).any() or not np.array_equal(per_state, np.diff(first)) or per_state.max(initial=0) > MAX_OPTIONS:
        raise ValueError(f"the options of a state are not counted roll by roll, or are more than {MAX_OPTIONS}")


def padded(array: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """A copy with LANES more entries, because vectors are read whole."""
    return np.concatenate([np.asarray(array).astype(dtype), np.zeros(LANES, dtype)])


def first_chunks(row_class: Int32) -> Int32:
    """The first chunk of each strip, and one past the last: chunks of at most LANES rows."""
    chunks = -(-np.diff(row_class) // LANES)
    return np.concatenate([[0], np.cumsum(chunks)]).astype(np.int32)


def turn_weights(turns: Sequence[Turn]) -> Weights:
    """For each kind of turn: unit, wait, total less again, and the scale that makes residuals those of six rolls."""
    return np.array([(turn.unit, turn.wait, turn.total - turn.again, DIE / turn.total) for turn in turns])


def first_captured(rows: Side) -> Int64:
    """The first class of columns for which a row with a boxed piece is needed: captures come from a lap before."""
    earliest: Int64 = np.maximum(rows.pips[rows.boxed].astype(np.int64) - rows.rules.squares, 0)
    return earliest


def column_groups(side: Side, edges: Sequence[int] = ()) -> Int32:
    """Cut the classes of a side into groups of about GROUP states: the first class of each, and one past the last.

    A group begins at each class of `edges`.
    """
    cuts, last = [0], len(side.class_start) - 1
    for j in range(1, last + 1):
        if side.class_start[j] - side.class_start[cuts[-1]] >= GROUP or j == last or j in edges:
            cuts.append(j)
    return np.array(cuts, np.int32)


def exit_classes(side: Side) -> list[Int32]:
    """For each finish zone that a side can move to: its first state with at least p pips, for all pips of the side."""
    pips = np.arange(len(side.class_start))
    states = [ONE_STATE if zone == TERMINAL else Side(side.rules, zone).class_start for zone in side.moves.exits]
    return [start[np.minimum(pips, len(start) - 1)] for start in states]


def ring_size(class_start: Int32, groups: Int32) -> int:
    """How many states a chunk keeps at hand: those of a group and of the six classes before it."""
    first = class_start[np.maximum(groups[:-1] - DIE, 0)]
    return int((class_start[groups[1:]] - first).max())


def ring_slots(side: Side, windows: Sequence[int]) -> list[Int64]:
    """The place in the ring of each state of the side, and of each of its exits; each has a window of its own."""
    sizes = [side.size, *(int(start[-1]) for start in exit_classes(side))]
    firsts = np.cumsum([0, *windows])
    return [first + np.arange(n) % window for first, n, window in zip(firsts, sizes, windows, strict=False)]


def ring_offsets(side: Side, slots: Sequence[Int64], ring: int) -> Int64:
    """Where in the ring the vector of each option is: in its first half after a 6, in its second half otherwise."""
    offset = option_offsets(side, slots[0], slots[1:])
    return (offset + np.where(options_of_a_six(side), 0, ring)) * LANES


def options_of_a_six(side: Side) -> NDArray[np.bool_]:
    """For each option, whether the same side rolls again after it."""
    return np.repeat(np.tile([rolls_again(roll) for roll in ROLLS], side.size), np.diff(side.moves.first))


def exits_of_a_six(side: Side) -> set[int]:
    """The finish zones that a side can move to with a 6, and roll again; a step inside the zone is shorter than 6."""
    kinds = np.unique(side.moves.kind[options_of_a_six(side)])
    return {side.moves.exits[kind - 1] for kind in kinds.tolist() if kind}


def joined(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """All these arrays joined into one, which may be empty."""
    return np.concatenate([np.zeros(0, np.int64), *arrays])


def landing_squares(side: Side, facing: bool) -> Mask:
    """The main-field square that each option lands on, as a bit, 0 if none; empty without a duty to capture."""
    rules, end = side.rules, side.moves.end.astype(np.uint64)
    if not rules.must_capture:
        return np.zeros(0, np.uint64)
    square = (end + np.uint64(rules.squares // 2)) % np.uint64(rules.squares) if facing else end
    return np.where(end < rules.squares, np.uint64(1) << square, np.uint64(0))


def row_offsets(side: Side, own: tuple[Int64, Int64], exits: Sequence[tuple[Int64, Int64]]) -> Int64:
    """Where the vector of each option of a row begins: after a 6 in the matrix L, otherwise in R."""
    left, right = (option_offsets(side, own[half], [pair[half] for pair in exits]) for half in range(2))
    return np.where(options_of_a_six(side), left, right)


def option_offsets(side: Side, own: Int64, exits: Sequence[Int64]) -> Int64:
    """Where the vector of each move option begins, in the side's own array or in that of an exit."""
    moves = side.moves
    offset = own[np.where(moves.kind == 0, moves.row, 0)]
    for kind, start in enumerate(exits, 1):
        there = moves.kind == kind
        offset[there] = start[moves.row[there]]
    return offset
