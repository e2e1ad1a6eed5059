"""The census of best moves against the stored values, against a plain twin, and against itself."""

from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from madn import Board, Rules
from madn.solver import _reorder, kernels, make_plan, solve
from madn.solver.best_moves import BestMoves, Captures
from madn.solver.census import Census
from madn.solver.components import InMemory, Matrices
from madn.solver.graph import finish_zones
from madn.solver.kernels import CHOOSE, FILL_CAPTURES
from madn.solver.numbers import FIXED32, FLOAT64, Representation
from madn.solver.sides import TERMINAL, Side
from madn.solver.solution import MatrixValues
from madn.solver.zones import Zones
from madn.store import write_database
from madn.store.catalogue import read_catalogue
from madn.store.move_values import MoveValues
from madn.store.reader import open_reader

KERNELS = CHOOSE
GAMES = [Rules(1, 8), Rules(2, 8), Rules(3, 8), Rules(4, 8), Rules.house(3, 8)]
REPRESENTATIONS = [FIXED32, FLOAT64]


@pytest.fixture(params=sorted(KERNELS))
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(kernels, "build", request.param)
    return str(request.param)


class Game:
    """A solved game, each pair of finish zones as whole rows in the view of either side."""

    def __init__(self, rules: Rules, representation: Representation) -> None:
        self.rules, self.representation = rules, representation
        plan = replace(make_plan(rules), representation=representation, tolerance=representation.finest)
        self.solution = solve(plan)
        self.sides = {f: Side(rules, f) for f in finish_zones(rules)}
        self.unit = representation.unit

    def rows(self, f: int, g: int) -> Matrices:
        """L and R with zone f as rows, captures as the solver left them: not always those of the row player."""
        assert isinstance(self.solution.values, MatrixValues)
        solved, n, k = self.solution.values.solved, self.sides[f].size, self.sides[g].size
        out = Matrices.full(n, k, self.representation)
        if f == g == 0:
            m = solved[0, 0]
            _reorder.unfold(m.L, m.R, m.start, m.first, out.L, out.R)
        elif (f, g) in solved:
            out.L[: n * k], out.R[: n * k] = solved[f, g].L[: n * k], solved[f, g].R[: n * k]
        else:
            _reorder.transpose(solved[g, f].R, k, n, out.L)
            _reorder.transpose(solved[g, f].L, k, n, out.R)
        return out

    def census(self, f: int, g: int) -> BestMoves:
        m = self.rows(f, g)
        exits = []
        for x in self.sides[f].moves.exits:
            if x == TERMINAL:
                won = np.full(self.sides[g].size, self.representation.half, self.representation.dtype)
                exits.append((won, won, np.zeros(1, np.int64)))
            else:
                there = self.rows(x, g)
                exits.append((there.L, there.R, there.start))
        return BestMoves(self.sides[f], self.sides[g], m.L, m.R, m.start, exits, self.representation)


@cache
def game(rules: Rules, representation: Representation) -> Game:
    return Game(rules, representation)


def whole(it: BestMoves, threads: int = 1) -> tuple[Census, NDArray[np.uint16]]:
    """All strips of a pair, one after the other."""
    words = np.full((it.rows.size, it.columns.size), 0xFFFF, np.uint16)
    census = Census()
    for strip, (first, end) in enumerate(pairwise(it.rows.class_start)):
        it.fill_captures(strip, threads)
        census.add(it.choose(strip, threads, words[first:end].reshape(-1)))
    return census, words


def plain_captures(it: BestMoves) -> tuple[NDArray[Any], NDArray[Any]]:
    """What L and R are to be after `fill_captures`: a column's pieces on squares of the row are in the box."""
    n, k = it.rows.size, it.columns.size
    free = it.columns.masks[None, :] & ~it.rows.facing[:, None]
    after = it.columns.index(free.reshape(-1)).reshape(n, k)
    left, right = (np.take_along_axis(m[: n * k].reshape(n, k), after, axis=1) for m in (it.L, it.R))
    return left, right


def plain_choose(it: BestMoves) -> tuple[Census, NDArray[np.uint16]]:
    """The same from the definition: row by row, all columns at once."""
    n, k, moves = it.rows.size, it.columns.size, it.rows.moves
    wide = np.float64 if it.L.dtype == np.float64 else np.int64
    words = np.zeros((n, k), np.uint16)
    total = Census()
    for a in range(n):
        is_open = (it.rows.facing[a] & it.columns.masks) == 0
        all_margins, unique = np.full((k, 6), -1, wide), 0
        for roll in range(1, 7):
            values = []
            for o in range(moves.first[6 * a + roll - 1], moves.first[6 * a + roll]):
                matrix = it.bases[moves.kind[o]][0 if roll == 6 else 1]
                values.append(matrix[it.offsets[o] : it.offsets[o] + k].astype(wide))
            if len(values) > 1:
                options, legal = np.array(values), np.ones((len(values), k), bool)
                if it.lands is not None:
                    landing = it.lands[moves.first[6 * a + roll - 1] : moves.first[6 * a + roll], None]
                    captures = landing & it.columns.masks != 0
                    legal = captures | ~captures.any(axis=0)
                options = np.where(legal, options, -(2**30))
                best, decision = options.max(axis=0), legal.sum(axis=0) > 1
                near = best - options <= it.representation.tie
                last = len(options) - 1 - near[::-1].argmax(axis=0)
                words[a, is_open] |= (last[is_open] << 2 * (roll - 1)).astype(np.uint16)
                unique += int(((near.sum(axis=0) == 1) & decision)[is_open].sum())
                all_margins[decision, roll - 1] = (best - np.sort(options, axis=0)[-2])[decision]
        margins = np.where(is_open[:, None], all_margins, -1)
        decided = margins[margins >= 0]
        column, r = divmod(int(margins.argmax()), 6)
        unit = it.representation.unit
        row = Census(decisions=len(decided), unique=unique, cost=decided.sum().item() / unit)
        if margins.max() > 0:
            board = Board.from_masks(it.rows.whole_masks[a], it.columns.whole_masks[column], it.rows.rules)
            row = replace(row, largest_cost=margins.max().item() / unit, largest_cost_board=str(board))
            row.largest_cost_roll = r + 1
        total.add(row)
    return total, words


def pairs(rules: Rules) -> list[tuple[int, int]]:
    return [(f, g) for f in finish_zones(rules) for g in finish_zones(rules)]


@pytest.mark.parametrize("representation", REPRESENTATIONS, ids=str)
@pytest.mark.parametrize("rules", [*GAMES, Rules(2, 40)], ids=str)
def test_choices_are_those_of_the_stored_values_everywhere(
    tmp_path: Path, rules: Rules, representation: Representation
) -> None:
    """Every position and roll: what the policy of the database would be."""
    it = game(rules, representation)
    write_database(tmp_path / "db", it.solution, {})
    _, table = read_catalogue(tmp_path / "db")
    zones, full, seen = Zones(rules), (1 << rules.pieces) - 1, 0
    words = {pair: whole(it.census(*pair))[1] for pair in pairs(rules)}
    reader = open_reader(tmp_path / "db")
    stored = MoveValues(reader, table, 1 << 30)
    for run in zones.runs:
        if run.size == 0 or full in (run.own, run.other):
            continue
        rows, columns = it.sides[run.own], it.sides[run.other]
        a, b = zones.order(rows, run.own_pieces), zones.order(columns, run.other_pieces)
        is_open = (rows.facing[a][:, None] & columns.masks[b]) == 0
        found = words[run.own, run.other][np.ix_(a, b)][is_open]
        choices = found[:, None] >> np.arange(0, 12, 2, dtype=np.uint16) & 3
        assert np.array_equal(choices, stored.choices(run.first, run.size))
        seen += run.size
    reader.close()
    assert seen == rules.positions - sum(run.size for run in zones.runs if full in (run.own, run.other))


@pytest.mark.parametrize("representation", REPRESENTATIONS, ids=str)
@pytest.mark.parametrize("rules", GAMES, ids=str)
def test_figures_are_those_of_the_plain_twin(rules: Rules, representation: Representation, kernel: str) -> None:
    for f, g in pairs(rules)[:: 1 if rules.pieces < 4 else 13]:
        it = game(rules, representation).census(f, g)
        L, R = plain_captures(it)
        found, words = whole(it)
        assert np.array_equal(it.L[: L.size], L.reshape(-1))
        assert np.array_equal(it.R[: R.size], R.reshape(-1))
        agree(found, words, *plain_choose(it), rounding=0 if representation is FIXED32 else 1e-12)


def agree(found: Census, words: np.ndarray, plain: Census, plain_words: np.ndarray, rounding: float) -> None:
    """All the same, but for the rounding of a long sum of doubles."""
    assert np.array_equal(words, plain_words)
    assert found.cost == pytest.approx(plain.cost, rel=rounding, abs=0)
    assert replace(found, cost=0) == replace(plain, cost=0)


@pytest.mark.parametrize("representation", REPRESENTATIONS, ids=str)
@pytest.mark.parametrize("rules", [Rules(2, 40), Rules(4, 8)], ids=str)
def test_same_bits_for_any_number_of_threads_and_any_build(
    rules: Rules, representation: Representation, monkeypatch: pytest.MonkeyPatch
) -> None:
    it, seen = game(rules, representation), set()
    for name in sorted(KERNELS):
        monkeypatch.setattr(kernels, "build", name)
        for threads in (1, 2, 4):
            here = it.census(0, 0)
            census, words = whole(here, threads)
            seen.add((repr(census), words.tobytes(), here.L.tobytes(), here.R.tobytes()))
    assert len(seen) == 1


@pytest.mark.parametrize("rules", GAMES, ids=str)
def test_captures_are_what_the_side_says(rules: Rules) -> None:
    for f in finish_zones(rules):
        side = Side(rules, f)
        captures = Captures.of(side)
        assert len(captures.first) == rules.squares + 1
        for q, (first, end) in enumerate(pairwise(captures.first)):
            assert captures.holder[first:end].tolist() == side.holders[q].tolist()
            without = side.masks[captures.captured[first:end]]
            assert (without | np.uint64(1 << q) == side.masks[side.holders[q]]).all()
            assert ((without & np.uint64(1 << q)) == 0).all()


@settings(max_examples=25)
@given(
    rules=st.sampled_from([Rules(2, 8), Rules(3, 8), Rules(4, 8), Rules(2, 40)]),
    data=st.data(),
    seed=st.integers(0, 2**32 - 1),
    wide=st.booleans(),
    spread=st.sampled_from([2, 100, 1 << 28]),
)
def test_any_values_in_any_place(rules: Rules, data: st.DataObject, seed: int, wide: bool, spread: int) -> None:
    """Whatever the values, wherever the rows are, whatever is in slots that are no position: what the twin says."""
    rng = np.random.default_rng(seed)
    f = data.draw(st.sampled_from([x for x in finish_zones(rules) if x or rules.squares < 40]))
    g = data.draw(st.sampled_from(finish_zones(rules)))
    rows, columns = Side(rules, f), Side(rules, g)

    def values(size: int) -> np.ndarray:
        whole_numbers = rng.integers(-spread, spread + 1, size).astype(np.int32)
        return whole_numbers * 1e-12 / 2 if wide else whole_numbers

    def matrices(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        stride = columns.size + int(rng.integers(0, 9))
        return values(count * stride + 5), values(count * stride + 5), rng.permutation(count) * stride + 5

    exits = [matrices(1 if x == TERMINAL else Side(rules, x).size) for x in rows.moves.exits]
    exits = [(left, right, start - 5) for left, right, start in exits]
    L, R, start = matrices(rows.size)
    it = BestMoves(rows, columns, L, R, start - 5, exits, FLOAT64 if wide else FIXED32)
    found, words = whole(it)
    # Values within rounding of the tie: the twin rounds as the kernel does.
    agree(found, words, *plain_choose(it), rounding=1e-9 if wide else 0)
    closed = (rows.facing[:, None] & columns.masks) != 0
    for a in range(rows.size):
        for matrix in (it.L, it.R):
            matrix[it.start[a] : it.start[a] + columns.size][closed[a]] = 0
    again, same = whole(it)
    assert np.array_equal(same, words)
    assert again == found


def test_a_window_of_seven_strips_is_enough() -> None:
    """Rows of a strip and of the six before it in a ring, all others nowhere."""
    it = game(Rules(2, 40), FIXED32).census(0, 1)
    census, words = whole(it)
    rows, k = it.rows, it.columns.size
    room = int(np.diff(rows.class_start).max()) * k
    start = np.zeros(rows.size, np.int64)
    for strip, (first, end) in enumerate(pairwise(rows.class_start)):
        start[first:end] = strip % 7 * room + np.arange(end - first) * k
    L, R = np.zeros(7 * room, np.int32), np.zeros(7 * room, np.int32)
    exits = [(left, right, np.arange(len(left) // k) * k) for left, right in it.bases[1:]]
    ring = BestMoves(rows, it.columns, L, R, start, exits, FIXED32)
    total = Census()
    for strip, (first, end) in enumerate(pairwise(rows.class_start)):
        for a in range(first, end):
            L[start[a] : start[a] + k] = it.L[it.start[a] : it.start[a] + k]
            R[start[a] : start[a] + k] = it.R[it.start[a] : it.start[a] + k]
        out = np.zeros((end - first) * k, np.uint16)
        ring.fill_captures(strip, 2)
        total.add(ring.choose(strip, 2, out))
        assert np.array_equal(out.reshape(-1, k), words[first:end])
    assert total == census


def test_what_does_not_fit_is_refused(kernel: str) -> None:
    it = game(Rules(2, 8), FIXED32).census(1, 0)
    n, moves, masks = it.rows.size, it.rows.moves, it.columns.masks
    tables = [it.bases, it.start, it.rows.facing, moves.first, moves.kind, it.offsets, it.lands, masks]
    good: list[Any] = [*tables, 0, n, 1.0, 1]

    def refused(text: str, **changes: object) -> None:
        names = [
            "bases",
            "start",
            "facing",
            "first",
            "kind",
            "offset",
            "lands",
            "masks",
            "first_row",
            "end_row",
            "tie",
            "threads",
        ]
        arguments = dict(zip(names, good, strict=True)) | changes
        with pytest.raises(ValueError, match=text):
            CHOOSE[kernel](**arguments)

    refused("range of rows", end_row=n + 1)
    refused("range of rows", first_row=-1)
    refused("threads must be", threads=0)
    refused("kinds", bases=[])
    refused("unpack", bases=[(), *it.bases[1:]])
    refused("outside", start=it.start + 1_000_000)
    refused("outside", start=it.start - 1)
    refused("squares for", lands=np.zeros(3, np.uint64))
    refused("leads out", offset=it.offsets + 1_000_000)
    refused("leads out", offset=it.offsets - 1_000_000)
    refused("leads out", kind=moves.kind + np.int8(9))
    refused("leads out", bases=it.bases[:1])
    refused("list of options", first=moves.first[:-1])
    refused("more than four", first=np.minimum(moves.first * 5, moves.first[-1]))
    refused("stored units", tie=0.5)
    refused("words", words=np.zeros(n * len(masks) - 1, np.uint16))
    refused("dtype", bases=[(it.L, it.R.astype(np.float64)), *it.bases[1:]])
    table = Captures.of(it.columns)
    fill = FILL_CAPTURES[kernel]
    with pytest.raises(ValueError, match="captured: expected"):
        fill(it.L, it.R, it.start, it.rows.facing, *table, len(masks) - 1, 0, n, 1)
    with pytest.raises(ValueError, match="outside"):
        fill(it.L[:-200], it.R, it.start, it.rows.facing, *table, len(masks), 0, n, 1)
    with pytest.raises(ValueError, match="ascend"):
        fill(it.L, it.R, it.start, it.rows.facing, table.first[::-1].copy(), *table[1:], len(masks), 0, n, 1)
    held = table.first[-3]
    few = table.first[:-2], table.holder[:held], table.captured[:held]
    with pytest.raises(ValueError, match="no list"):
        fill(it.L, it.R, it.start, it.rows.facing, *few, len(masks), 0, n, 1)
    choose: Any = CHOOSE[kernel]
    assert choose(*good[:8], 3, 3, *good[10:]) == (0, 0, 0, (-1, -1, -1, -1))


# the kernel that compares what a sweep computed, against the one that compares whole rows


def computed(game: Game, f: int, g: int) -> InMemory:
    """A component in memory, as it is when it is solved."""
    sides = game.sides
    known: dict[tuple[int, int], Matrices] = {}
    for mine, theirs in ((f, g), (g, f)):
        known |= {(x, theirs): game.rows(x, theirs) for x in sides[mine].moves.exits if x != TERMINAL}
    component, rows = InMemory(sides[f], sides[g], game.representation, known), game.rows(f, g)
    for a, (start, first) in enumerate(zip(component.values.start, component.values.first, strict=True)):
        for to, values in ((component.L, rows.L), (component.R, rows.R)):
            to[start + first : start + sides[g].size] = values[rows.start[a] + first : rows.start[a] + sides[g].size]
    for strip in range(component.strips):
        component.sweeper.restore(strip)
    return component


@pytest.mark.parametrize("together", [1, 1000], ids=["group by group", "all groups at once"])
@pytest.mark.parametrize("representation", REPRESENTATIONS, ids=lambda r: r.name)
@pytest.mark.parametrize("rules", [*GAMES, Rules(3, 12)], ids=str)
def test_choices_of_a_strip_are_those_of_whole_rows(
    rules: Rules, representation: Representation, together: int, kernel: str
) -> None:
    it = game(rules, representation)
    for f, g in it.solution.plan.pairs:
        component, tables = computed(it, f, g), computed(it, f, g).tables
        (mine, by_row), (theirs, by_column) = whole(it.census(f, g)), whole(it.census(g, f))
        edges, counted = tables.col_class[tables.group_class[: tables.groups + 1]].tolist(), np.zeros(3)
        for strip, (first, end) in enumerate(pairwise(component.rows.class_start)):
            own = component.columns.class_start[strip : strip + 2] if f == g else (0, 0)
            for group in range(0, tables.groups, together):
                last = min(group + together, tables.groups)
                c0, c1 = max(edges[group], int(own[0])), edges[last]
                if c1 <= c0 or first == end:
                    continue
                words = np.full((2, int(end - first) * (c1 - c0)), 0xFFFF, np.uint16)
                found = component.sweeper.choose(strip, group, last, representation.tie, *words)
                counted += np.sum([side[:3] for side in found], axis=0)
                left, right = words.reshape(2, end - first, c1 - c0)
                twice = max(0, int(own[1]) - c0)
                assert (left == by_row[first:end, c0:c1]).all()
                assert (right[:, twice:] == by_column.T[first:end, c0 + twice : c1]).all()
                assert (right[:, :twice] == 0xFFFF).all()
        expected = replace(mine)
        if f != g:
            expected.add(theirs)
        assert tuple(counted[:2]) == (expected.decisions, expected.unique)
        assert counted[2] / representation.unit == pytest.approx(expected.cost, rel=1e-12)


def test_choices_cannot_be_asked_of_what_is_not_there() -> None:
    component = computed(game(Rules(2, 8), FLOAT64), 0, 0)
    words = np.zeros(10_000, np.uint16)
    groups, strips = component.tables.groups, component.strips
    for strip, first, end in ((-1, 0, 1), (strips, 0, 1), (0, -1, 1), (0, 1, 0), (0, 0, groups + 1)):
        with pytest.raises(ValueError, match="groups"):
            component.sweeper.choose(strip, first, end, 0.0, words, words)
    for tie in (-1.0, float("nan"), 1e300):
        with pytest.raises(ValueError, match="tie"):
            component.sweeper.choose(0, 0, 1, tie, words, words)
    with pytest.raises(ValueError, match="words for"):
        component.sweeper.choose(strips - 1, 0, groups, 0.0, words[:0], words)
