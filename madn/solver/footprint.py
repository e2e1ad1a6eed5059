"""How many positions and values components have, counted without building them."""

import math
from collections.abc import Collection
from functools import cache

from madn.rules import DIE, Rules
from madn.solver._packing import PAD
from madn.solver.graph import Pair, exits, needed
from madn.solver.strips import PART
from madn.solver.tables import GROUP, LANES

LEFT_SLOTS = DIE + 1  # strips of L in memory of a streamed component: the one being computed and the six before ...
RIGHT_SLOTS = DIE  # ... and of R: only a 6 leads to the sixth before, and after it the same side moves
CHOICE_BYTES = 0.7  # for each position, approximately, in the file of the best moves of a large component
WINDOW = DIE + 1  # classes of rows that moves of a class lead to: its own and the six before


def side_size(rules: Rules, finish: int) -> int:
    """The number of states a side has with these finish squares occupied."""
    return sum(math.comb(rules.squares, k) for k in range(rules.pieces - finish.bit_count() + 1))


def component_positions(rules: Rules, f: int, g: int) -> int:
    """The number of positions of a pair of finish zones, either side to move."""
    S, P = rules.squares, rules.pieces
    pairs = sum(
        math.comb(S, m1) * math.comb(S - m1, m2)
        for m1 in range(P - f.bit_count() + 1)
        for m2 in range(min(P - g.bit_count(), S - m1) + 1)
    )
    return pairs if f == g else 2 * pairs


@cache
def class_sizes(rules: Rules, pieces: int, boxed: bool = False) -> list[int]:
    """How many states of a side with this many pieces outside its finish zone have 0, 1, 2, ... pips.

    With `boxed`, only states with a piece in the box are counted.
    """
    S = rules.squares
    ways: dict[tuple[int, int], int] = {(0, (S + 1) * pieces): 1}  # (pieces on the field, pips): states
    for square in range(S):
        grown = dict(ways)
        for (count, pips), number in ways.items():
            if count < pieces:
                key = count + 1, pips - square - 1
                grown[key] = grown.get(key, 0) + number
        ways = grown
    out = [0] * ((S + 1) * pieces + 1)
    for (count, pips), number in ways.items():
        out[pips] += number if count < pieces or not boxed else 0
    return out


def disk_peak(
    rules: Rules,
    pairs: list[Pair],
    streamed: Collection[Pair],
    *,
    item: int,
    stored: int,
    database: float,
    values: bool = True,
    choices: bool = False,
) -> int:
    """The most disk space that a solve takes at any time: its files, and `database` bytes for each position.

    A value takes `item` bytes in memory and in checkpoints, `stored` bytes once it is solved. Values are removed as
    soon as nothing needs them. With `choices`, the best moves of large components have a file too until they are
    delivered.
    """
    files: dict[Pair, int] = {}
    written = peak = 0.0
    late = [pair for pair in pairs if delivered_late(rules, pair, choices)]
    last_user = {zones: number for number, pair in enumerate(pairs) for zones in needed(rules, pair)}

    def more(size: float = 0) -> None:
        nonlocal peak
        peak = max(peak, sum(files.values()) + written + size)

    for number, pair in enumerate(pairs):
        kept = values or frozenset(pair) in last_user or not can_stream(rules, *pair)
        size = component_positions(rules, *pair) * stored if kept else 0
        found = int(component_positions(rules, *pair) * CHOICE_BYTES) if choices and can_stream(rules, *pair) else 0
        if pair in streamed:  # strips, two checkpoints; unless mirrored, in the end strips both ways round, and one
            checkpoint = _checkpoint(rules, *pair) * item
            strips = size + 2 * checkpoint if pair[0] == pair[1] else size + max(2 * checkpoint, size + checkpoint)
            more(strips + found)
        files[pair] = size
        if pair not in late:
            written += component_positions(rules, *pair) * database
        more(found)
        files = {
            kept: size for kept, size in files.items() if kept in late or last_user.get(frozenset(kept), -1) > number
        }
    for pair in reversed(late):
        written += component_positions(rules, *pair) * database
        more()
        del files[pair]
    return int(peak) + (1 << 26)  # figures, and the padding of tiles


def delivered_late(rules: Rules, pair: Pair, choices: bool) -> bool:
    """Whether a component is delivered only when all are solved: its values stay until then anyway.

    With its choices it is delivered at once, so that the file they are kept in can be removed.
    """
    return not choices and can_stream(rules, *pair)


def memory_in_one(rules: Rules, pairs: list[Pair]) -> int:
    """The most values in memory at any time if every solved component stays there."""
    kept = peak = 0
    for f, g in pairs:
        results = 0 if f == g == 0 else 2 * side_size(rules, f) * side_size(rules, g)
        peak = max(peak, kept + _solving(rules, f, g) + results)
        kept += results if f in (0, g) else 2 * results
    return peak


def memory_proved(rules: Rules, pairs: list[Pair]) -> int:
    """Like `memory_in_one`, with lower and upper values of everything besides the solved ones.

    Bounds are found in whole matrices, even if both sides are alike. Besides these, the values that captures lead to
    are there four times: as solved, as begun with, as the sweep leaves them, and in the solver.
    """
    kept = peak = 0
    for f, g in pairs:
        whole = 2 * side_size(rules, f) * side_size(rules, g)
        boxed = sum(class_sizes(rules, rules.pieces - f.bit_count(), boxed=True))
        results = 0 if f == g == 0 else whole
        sweeps = whole * (1 if f == g else 2) + 4 * 2 * boxed * side_size(rules, g)
        peak = max(peak, kept + _solving(rules, f, g) + 3 * results + sweeps)
        kept += 3 * (results if f in (0, g) else 2 * results)
    return peak


def memory_by_parts(rules: Rules, pairs: list[Pair], limit: int, threads: int) -> tuple[int, frozenset[Pair]]:
    """The most values in memory if solved components are on disk, and which must be streamed to keep to `limit`."""
    peak, streamed = 0, set()
    for f, g in pairs:
        needed = _solving(rules, f, g) + _whole_exits(rules, f, g)
        if f != g and can_stream(rules, f, g):  # its exits pass through memory; columns become rows class by class
            needed += _slabs(rules, f, g)
        else:
            needed += _whole_exits(rules, g, f) + 2 * side_size(rules, f) * side_size(rules, g)
        if needed > limit and can_stream(rules, f, g):
            needed = _streaming(rules, f, g, threads) + _slabs(rules, f, g)
            needed += _row_windows(rules) if f == g else _whole_exits(rules, f, g)
            streamed.add((f, g))
        peak = max(peak, needed)
    return peak, frozenset(streamed)


def memory_to_prove(rules: Rules, pairs: list[Pair], threads: int) -> int:
    """The most values in memory at any time to prove solved components from disk."""
    return max(
        (_directed if can_stream(rules, *pair) else _directed_in_memory)(rules, *pair, threads) for pair in pairs
    )


def _directed_in_memory(rules: Rules, f: int, g: int, threads: int) -> int:
    """Solved values, lower and upper bounds in both sides' views, exits, and the values that captures lead to."""
    whole = 2 * side_size(rules, f) * side_size(rules, g)
    boxed = sum(class_sizes(rules, rules.pieces - f.bit_count(), boxed=True))
    return 5 * whole + 4 * 2 * boxed * side_size(rules, g) + _whole_exits(rules, f, g) + _whole_exits(rules, g, f)


def _directed(rules: Rules, f: int, g: int, threads: int) -> int:
    """Like `_streaming`, with whole rows; besides a strip, its solved values or its bounds in the other view."""
    row_classes, column_classes = (class_sizes(rules, rules.pieces - x.bit_count()) for x in (f, g))
    room = max(row_classes) * sum(column_classes)
    exit_classes = [max(class_sizes(rules, rules.pieces - x.bit_count())) for x in exits(rules, g)]
    boxed = class_sizes(rules, rules.pieces - f.bit_count(), boxed=True)
    lap = max(sum(boxed[strip : strip + rules.squares + 1]) for strip in range(len(boxed)))
    captured = 2 * (lap + max(boxed)) * sum(column_classes) + 2 * sum(boxed) * len(set(_group_starts(column_classes)))
    rings = 4 * 4 * LANES * (WINDOW * (max(column_classes) + sum(exit_classes)) + GROUP)
    buffers = threads * min(PART // 2 + 2 * max(row_classes) * max(column_classes), 2 * room)
    slabs = sum(2 * max(row_classes) * side_size(rules, x) for x in exits(rules, g))
    if f != g:
        turned = 4 * max(column_classes) * sum(row_classes)
        return (
            (LEFT_SLOTS + RIGHT_SLOTS) * room + captured + rings + buffers + slabs + _whole_exits(rules, f, g) + turned
        )
    windows = sum(DIE - square for square in range(min(rules.pieces, DIE)))
    windows *= max(class_sizes(rules, rules.pieces - 1)) * sum(column_classes)
    return (
        (LEFT_SLOTS + RIGHT_SLOTS + 2) * room
        + captured
        + rings
        + buffers
        + slabs
        + windows
        + 8 * 256 * sum(column_classes)
    )


def disk_to_prove(rules: Rules, pairs: list[Pair]) -> int:
    """The most disk space that proving takes: bounds still needed, 4 bytes a value, and the component in work.

    The latter has its values, the bounds being swept, and the values that captures lead to, twice.
    """
    last_user = {zones: number for number, pair in enumerate(pairs) for zones in needed(rules, pair)}
    kept: dict[Pair, int] = {}
    peak = 0
    for number, pair in enumerate(pairs):
        f, g = pair
        size = component_positions(rules, f, g)
        rows, columns = (len(class_sizes(rules, rules.pieces - zone.bit_count())) for zone in pair)
        strips = 3 * size + 2 * PAD * rows * columns
        work, kept[pair] = strips, strips + size
        if can_stream(rules, f, g):
            work += 2 * 8 * _captured_pairs(rules, f, g) + (0 if f == g else 2 * strips)
            kept[pair] *= f != g  # bounds of the largest component are not stored
        peak = max(peak, sum(kept.values()) + work)
        kept = {zones: size for zones, size in kept.items() if last_user.get(frozenset(zones), -1) > number}
    return peak


def _captured_pairs(rules: Rules, f: int, g: int) -> int:
    """The positions that captures can lead to: pairs of states of which the row player's has a piece in the box."""
    S, own, other = rules.squares, rules.pieces - f.bit_count(), rules.pieces - g.bit_count()
    return sum(math.comb(S, m) * math.comb(S - m, n) for m in range(own) for n in range(min(other, S - m) + 1))


def memory_to_hand_over(rules: Rules, pairs: list[Pair], best_moves: bool, threads: int) -> int:
    """The fewest values in memory with which solved components can be put in the order of their IDs."""
    least = 1 << 22  # positions in that order
    return least + max(
        rows_at_hand(rules, f, g, best_moves and not can_stream(rules, *pair), threads)
        for pair in pairs
        for f, g in (pair, pair[::-1])
    )


def rows_at_hand(rules: Rules, own: int, other: int, compared: bool, threads: int) -> int:
    """Values of the rows of one class; if moves are compared, of seven, either side to move, and as many of each exit.

    Each thread also keeps what it last read from each file: at most a quarter of both matrices of a class.
    """

    def rows(zone: int) -> int:
        return max(class_sizes(rules, rules.pieces - zone.bit_count())) * side_size(rules, other)

    tiles = 8 * max(class_sizes(rules, rules.pieces)) ** 2
    if not compared:
        return rows(own) + threads * rows(own) // 2 + tiles
    windows = rows(own) + sum(rows(zone) for zone in exits(rules, own))
    return 2 * WINDOW * windows + threads * windows // 2 + rows(own) + tiles


def can_stream(rules: Rules, f: int, g: int) -> bool:
    """Whether a component can be streamed: one of the two largest kinds, with no piece home or one piece of one side.

    Neither side may be able to win with its next piece.
    """
    return f == 0 and g.bit_count() <= 1 and rules.pieces - g.bit_count() > 1


def _solving(rules: Rules, f: int, g: int) -> int:
    rows, columns = side_size(rules, f), side_size(rules, g)
    return (2 * rows * columns if f != g else rows * rows + 80 * rows) + _after_capture(rules, f, g)


def _after_capture(rules: Rules, f: int, g: int) -> int:
    """Values that captures lead to: rows with a boxed piece; if mirrored, with columns from a lap before them on."""
    columns = class_sizes(rules, rules.pieces - g.bit_count())
    boxed = class_sizes(rules, rules.pieces - f.bit_count(), boxed=True)
    if f != g:
        return 2 * sum(boxed) * sum(columns)
    return 2 * sum(size * sum(columns[max(0, pips - rules.squares) :]) for pips, size in enumerate(boxed))


def _whole_exits(rules: Rules, f: int, g: int) -> int:
    """All that moves of the side with finish zone f can lead to, whole, and one exit a second time, transposed."""
    sizes = [side_size(rules, x) * side_size(rules, g) for x in exits(rules, f)]
    return 2 * sum(sizes) + 2 * max(sizes, default=0)


def _streaming(rules: Rules, f: int, g: int, threads: int) -> int:
    """A streamed component: strips, values that captures lead to, buffers to read and write, the threads' rings."""
    row_classes, column_classes = (class_sizes(rules, rules.pieces - x.bit_count()) for x in (f, g))
    columns = sum(column_classes)
    widths = [sum(column_classes[i:]) if f == g else columns for i in range(len(row_classes))]
    room = max(size * width for size, width in zip(row_classes, widths, strict=True))
    exit_classes = [max(class_sizes(rules, rules.pieces - x.bit_count())) for x in exits(rules, g)]
    rings = 4 * 4 * LANES * (WINDOW * (max(column_classes) + sum(exit_classes)) + GROUP)
    buffers = threads * min(PART // 4 + 2 * max(row_classes) * max(column_classes), 2 * room)
    aside = 4 * max(row_classes) ** 2 if f == g else 0
    return (LEFT_SLOTS + RIGHT_SLOTS) * room + _captured_at_a_time(rules, f, g) + buffers + rings + aside


def _captured_at_a_time(rules: Rules, f: int, g: int) -> int:
    """Values that captures lead to which are in memory with a strip: its class and a lap, columns still to come.

    Columns come and go by groups. Where each row begins, by group, is in memory too: each place counts as two values.
    """
    S, columns = rules.squares, class_sizes(rules, rules.pieces - g.bit_count())
    boxed = class_sizes(rules, rules.pieces - f.bit_count(), boxed=True)
    first = _group_starts(columns)
    most = max(
        2 * sum(boxed[strip : strip + S + 1]) * sum(columns[first[strip] if f == g else 0 :])
        for strip in range(len(boxed))
    )
    return most + 2 * sum(boxed) * len(set(first))


def _group_starts(columns: list[int]) -> list[int]:
    """For each class of columns, the first class of its group."""
    out = [0]
    for j in range(1, len(columns)):
        out.append(j if sum(columns[out[-1] : j]) >= GROUP else out[-1])
    return out


def _checkpoint(rules: Rules, f: int, g: int) -> int:
    """Roughly the most values that a checkpoint has: those that captures lead to, positions only, by column groups."""
    S, P = rules.squares, rules.pieces
    columns = class_sizes(rules, P - g.bit_count())
    boxed, first = class_sizes(rules, P - f.bit_count(), boxed=True), _group_starts(columns)
    rows = [size * sum(columns[first[max(0, i - S)] if f == g else 0 :]) for i, size in enumerate(boxed)]
    free = P - f.bit_count() - 1, P - g.bit_count()
    pairs = [
        (math.comb(S, m), math.comb(S, n), math.comb(S - m, n)) for m in range(free[0] + 1) for n in range(free[1] + 1)
    ]
    share = sum(a * legal for a, _, legal in pairs) / sum(a * b for a, b, _ in pairs)
    return int(2 * sum(rows) * min(1.0, share + 1.25 / S))


def _slabs(rules: Rules, f: int, g: int) -> int:
    """A strip's columns in each component that the column player can move to; only one matrix where no 6 leads."""
    widths = class_sizes(rules, rules.pieces - f.bit_count())
    total = 0
    for x in exits(rules, g):
        states = class_sizes(rules, rules.pieces - x.bit_count())
        most = max(n * sum(states[max(0, i - DIE) if f == g else 0 :]) for i, n in enumerate(widths))
        total += (2 if x.bit_count() > g.bit_count() else 1) * most
    return total


def _row_windows(rules: Rules) -> int:
    """Rows of the components with one piece home that pass through memory while the one with none is solved.

    A roll leads to a finish square from that many squares before it, so R of each component has a few classes, and L,
    to which only a 6 leads, has one.
    """
    columns = class_sizes(rules, rules.pieces)
    rows = class_sizes(rules, rules.pieces - 1)

    def room(nearest: int) -> int:
        return max(size * sum(columns[i + nearest :]) for i, size in enumerate(rows))

    return sum((DIE - 1 - square) * room(1) + room(DIE - square) for square in range(min(rules.pieces, DIE)))
