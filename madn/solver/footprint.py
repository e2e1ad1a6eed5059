"""How many positions and values components have, counted without making them."""

import math
from collections.abc import Collection
from functools import cache

from madn.rules import DIE, Rules
from madn.solver.graph import Pair, exits, users
from madn.solver.tables import GROUP, LANES

SLOTS = DIE + 2  # strips of a streamed component in memory: six before, the one being computed, the next
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
    """How many states of a side with so many pieces outside its finish zone have 0, 1, 2, ... pips.

    With `boxed` only those that have a piece in the box.
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
    census: bool = False,
) -> int:
    """The most that a solve takes on disk at any time: its files, and a database of so many bytes a position.

    A value takes `item` bytes in memory and in checkpoints, `stored` bytes once it is solved. Values go as soon as
    nothing needs them.
    """
    files: dict[Pair, int] = {}
    written = peak = 0.0
    late = [pair for pair in pairs if delivered_late(rules, pair, census)]

    def more(size: float = 0) -> None:
        nonlocal peak
        peak = max(peak, sum(files.values()) + written + size)

    for number, pair in enumerate(pairs, 1):
        size = component_positions(rules, *pair) * stored
        if pair in streamed:  # two checkpoints, or strips and one; not mirrored, the strips are written in two ways
            checkpoint = _after_capture(rules, *pair) * item
            more(checkpoint + max(checkpoint, size * (1 if pair[0] == pair[1] else 2)))
        files[pair] = size
        if pair not in late:
            written += component_positions(rules, *pair) * database
        more()
        waiting = pairs[number:]
        files = {kept: size for kept, size in files.items() if kept in late or users(rules, kept, waiting)}
    for pair in reversed(late):
        written += component_positions(rules, *pair) * database
        more()
        del files[pair]
    return int(peak) + (1 << 26)  # figures, and the ends of tiles


def delivered_late(rules: Rules, pair: Pair, census: bool) -> bool:
    """Whether a component is delivered when all are solved: one whose values are there until then anyway.

    For a census it is delivered at once: that needs the values that its moves lead to.
    """
    return not census and can_stream(rules, *pair)


def memory_in_one(rules: Rules, pairs: list[Pair]) -> int:
    """Values in memory when every solved component stays there: the most at any time."""
    kept = peak = 0
    for f, g in pairs:
        results = 0 if f == g == 0 else 2 * side_size(rules, f) * side_size(rules, g)
        peak = max(peak, kept + _solving(rules, f, g) + results)
        kept += results if f in (0, g) else 2 * results
    return peak


def memory_proved(rules: Rules, pairs: list[Pair]) -> int:
    """As `memory_in_one`, with lower and upper values of everything beside the solved ones.

    Bounds are found in whole matrices, also where both sides are alike, and beside them is four times what captures
    lead to: as solved, as begun with, as the sweep leaves it, and in the solver.
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


def memory_by_parts(rules: Rules, pairs: list[Pair], limit: int) -> tuple[int, frozenset[Pair]]:
    """Values in memory when solved components are on disk, and which components have to be streamed for that."""
    peak, streamed = 0, set()
    for f, g in pairs:
        needed = _solving(rules, f, g) + _whole_exits(rules, f, g)
        if f != g and can_stream(rules, f, g):  # its exits pass by, and a class of columns at a time becomes rows
            needed += _slabs(rules, f, g)
        else:
            needed += _whole_exits(rules, g, f) + 2 * side_size(rules, f) * side_size(rules, g)
        if needed > limit and can_stream(rules, f, g):
            needed = _streaming(rules, f, g) + _slabs(rules, f, g)
            needed += _row_windows(rules) if f == g else _whole_exits(rules, f, g)
            streamed.add((f, g))
        peak = max(peak, needed)
    return peak, frozenset(streamed)


def memory_to_hand_over(rules: Rules, pairs: list[Pair], census: bool, threads: int) -> int:
    """Values in memory, at the least, to put solved components in the order of their IDs."""
    least = 1 << 22  # positions in that order
    return least + max(rows_at_hand(rules, f, g, census, threads) for pair in pairs for f, g in (pair, pair[::-1]))


def rows_at_hand(rules: Rules, own: int, other: int, census: bool, threads: int) -> int:
    """Values of the rows of one class; for a census of seven, either side to move, and as many in each exit.

    Each thread also keeps what it read last of each file: of both matrices of a class, a quarter at the most.
    """

    def rows(zone: int) -> int:
        return max(class_sizes(rules, rules.pieces - zone.bit_count())) * side_size(rules, other)

    tiles = 8 * max(class_sizes(rules, rules.pieces)) ** 2
    if not census:
        return rows(own) + threads * rows(own) // 2 + tiles
    windows = rows(own) + sum(rows(zone) for zone in exits(rules, own))
    return 2 * WINDOW * windows + threads * windows // 2 + rows(own) + tiles


def can_stream(rules: Rules, f: int, g: int) -> bool:
    """Whether a component can be streamed: of the two largest kinds, nothing finished or one piece of one side.

    The other side must not be able to win with its next piece.
    """
    return f == 0 and g.bit_count() <= 1 and rules.pieces - g.bit_count() > 1


def _solving(rules: Rules, f: int, g: int) -> int:
    rows, columns = side_size(rules, f), side_size(rules, g)
    return (2 * rows * columns if f != g else rows * rows + 80 * rows) + _after_capture(rules, f, g)


def _after_capture(rules: Rules, f: int, g: int) -> int:
    """What captures lead to: rows with a boxed piece, in a mirrored component from a lap before their own class on."""
    columns = class_sizes(rules, rules.pieces - g.bit_count())
    boxed = class_sizes(rules, rules.pieces - f.bit_count(), boxed=True)
    if f != g:
        return 2 * sum(boxed) * sum(columns)
    return 2 * sum(size * sum(columns[max(0, pips - rules.squares) :]) for pips, size in enumerate(boxed))


def _whole_exits(rules: Rules, f: int, g: int) -> int:
    """All that moves of the side with finish zone f can lead to, whole, and one a second time, transposed."""
    sizes = [side_size(rules, x) * side_size(rules, g) for x in exits(rules, f)]
    return 2 * sum(sizes) + 2 * max(sizes, default=0)


def _streaming(rules: Rules, f: int, g: int) -> int:
    """A streamed component: strips, what captures lead to, buffers for reading and writing, the threads' rings."""
    row_classes, column_classes = (class_sizes(rules, rules.pieces - x.bit_count()) for x in (f, g))
    columns = sum(column_classes)
    widths = [sum(column_classes[i:]) if f == g else columns for i in range(len(row_classes))]
    room = max(size * width for size, width in zip(row_classes, widths, strict=True))
    exit_classes = [max(class_sizes(rules, rules.pieces - x.bit_count())) for x in exits(rules, g)]
    rings = 4 * 4 * LANES * (WINDOW * (max(column_classes) + sum(exit_classes)) + GROUP)
    aside = 4 * max(row_classes) ** 2 if f == g else 0
    return 2 * SLOTS * room + _after_capture(rules, f, g) + 2 * _packed(rules, room) + rings + aside


def _packed(rules: Rules, room: int) -> int:
    """About what both matrices of a strip take on disk."""
    S, P = rules.squares, rules.pieces
    return int(2 * room * min(1.0, math.comb(S - P, P) / math.comb(S, P) + 0.1))


def _slabs(rules: Rules, f: int, g: int) -> int:
    """The columns of two strips in each component that the column player can move to; one matrix where no 6 leads."""
    stride = max(class_sizes(rules, rules.pieces - f.bit_count())) + LANES
    return sum((4 if x.bit_count() > g.bit_count() else 2) * side_size(rules, x) * stride for x in exits(rules, g))


def _row_windows(rules: Rules) -> int:
    """Rows of the components with one piece finished that pass through memory beside the one with none.

    A roll leads from so many squares before the finish square, so of each component R has a few classes, and L, which
    only a 6 leads to, one; each has one more, for the next strip.
    """
    columns = class_sizes(rules, rules.pieces)
    rows = class_sizes(rules, rules.pieces - 1)
    room = max(size * sum(columns[i:]) for i, size in enumerate(rows))
    squares = range(min(rules.pieces, DIE))
    return sum(room * (max(DIE - 1 - square, 0) + 1 + 2) for square in squares)
