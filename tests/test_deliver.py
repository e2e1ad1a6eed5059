"""Delivering a solve from disk: blocks, best moves and counts, whatever the memory; solving for a board; packing."""

import json
import math
import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from disk import Collector, StoppedError, disk_plan, solve_on_disk, values_of
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from strategies import all_boards

import madn
from madn import Board, MissingBlockError, Rules, open_database
from madn._core import Game
from madn.cli import main
from madn.solver import _packing, id_order, make_plan, solve, strips
from madn.solver.deliver import Delivery
from madn.solver.footprint import class_sizes, component_positions, delivered_late, disk_peak, side_size
from madn.solver.graph import components, exits, later_zones
from madn.solver.numbers import FIXED32, FLOAT64
from madn.solver.scratch import Scratch
from madn.solver.sides import TERMINAL, Side
from madn.solver.strips import StripFile, Tiling
from madn.solver.zones import Zones
from madn.solving import planned
from madn.store import compress_database, verify_database

# what is handed over


def test_blocks_do_not_depend_on_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(id_order, "BATCH", 300)
    written = []
    for number, room in enumerate((2_000, 20_000, 1 << 20)):
        monkeypatch.setattr(Delivery, "_room", lambda self, own, other, census, room=room: room)
        out, policy, scratch = (str(tmp_path / f"{name}{number}") for name in ("db", "policy", "scratch"))
        game = ["solve", "--pieces", "2", "--squares", "10", "--threads", str(1 + number % 2)]
        assert main([*game, "--out", out, "--policy", policy, "--scratch", scratch]) == 0
        assert verify_database(out, deep=True).ok
        written.append([sorted(Path(path).glob("values-*"))[0].read_bytes() for path in (out, policy)])
    assert written[0] == written[1] == written[2]


@pytest.mark.parametrize("rules", [Rules(1, 8), Rules(2, 10), Rules(3, 8)], ids=str)
@pytest.mark.parametrize("whole", [False, True], ids=["in windows", "whole"])
def test_a_policy_from_the_solve_is_that_of_its_values(
    rules: Rules, whole: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("madn.solver.deliver.WHOLE", 0 if whole else 1 << 60)
    game = ["solve", "--pieces", str(rules.pieces), "--squares", str(rules.squares)]
    values, policy, other = (str(tmp_path / name) for name in ("values", "policy", "other"))
    assert main([*game, "--out", values, "--policy", policy, "--scratch", str(tmp_path / "scratch")]) == 0
    assert verify_database(policy).ok
    compress_database(values, other, "policy", level=1)
    assert _digests(Path(policy)) == _digests(Path(other))


def _digests(path: Path) -> list[tuple[int, int, str]]:
    rows = sqlite3.connect(path / "catalogue.sqlite")
    return rows.execute("SELECT profile, first_rank, digest FROM blocks ORDER BY block").fetchall()


def test_a_census_is_the_same_with_and_without_best_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(id_order, "BATCH", 300)
    rules, counted = Rules(2, 10), []
    for wanted in (True, False):
        plan = disk_plan(rules, tmp_path / f"{wanted}", census=True, choices=wanted)
        collector = Collector(rules)
        counted.append(solve_on_disk(plan, None, collector).census)
        assert (collector.words < 1 << 12).all() == wanted
        assert (collector.words == 0xFFFF).all() != wanted
    assert counted[0] == counted[1]


@pytest.mark.parametrize("rules", [Rules(2, 8), Rules(2, 10)], ids=str)
def test_the_census_counts_what_there_is(rules: Rules, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "db"
    game = ["solve", "--pieces", str(rules.pieces), "--squares", str(rules.squares)]
    assert main([*game, "--out", str(out), "--scratch", str(tmp_path / "s"), "--census", "--json"]) == 0
    census = json.loads(capsys.readouterr().out)["census"]
    histogram, decisions, unique, costs = [0] * 100, 0, 0, [0.0]
    with open_database(out) as db:
        boards = [board for board in all_boards(rules) if board.winner is None]
        for board in boards:
            histogram[int(100 * db.win(board))] += 1
            for roll in range(1, 7):
                wins = sorted(move.win or 0.0 for move in db.moves(board, roll))
                if len(wins) > 1:
                    decisions += 1
                    unique += wins[-1] - wins[-2] > 1e-12
                    costs.append(wins[-1] - wins[-2])
        board = Board.parse(census["largest_cost_board"], rules)
        largest = [move.win or 0.0 for move in db.moves(board, census["largest_cost_roll"])]
    assert census["positions"] == len(boards) == sum(histogram)
    assert (census["histogram"], census["decisions"], census["unique"]) == (histogram, decisions, unique)
    assert census["cost"] == pytest.approx(sum(costs), rel=1e-9)
    assert census["largest_cost"] == pytest.approx(max(costs), abs=1e-12)
    assert max(largest) - sorted(largest)[-2] == pytest.approx(max(costs), abs=1e-12)


def test_values_stay_only_as_long_as_they_are_needed(tmp_path: Path) -> None:
    rules = Rules(3, 12)
    plan = replace(disk_plan(rules, tmp_path), representation=FIXED32, tolerance=1e-6)
    most = 0

    def tell(fraction: float, text: str) -> None:
        nonlocal most
        files = [path for path in tmp_path.iterdir() if path.suffix in (".values", ".work", ".captures0", ".captures1")]
        most = max(most, sum(path.stat().st_size for path in files))

    solve_on_disk(plan, tell)
    expected = disk_peak(rules, list(plan.pairs), plan.streamed, item=4, stored=3, database=0.0) - (1 << 26)
    tiles = 4 * sum(len(Side(rules, f).class_start) * len(Side(rules, g).class_start) for f, g in plan.pairs)
    assert expected * 0.8 < most <= expected + tiles
    assert not list(tmp_path.glob("*.values"))


@pytest.mark.parametrize("choices", [False, True])
def test_the_largest_components_are_delivered_in_the_end_and_the_largest_first(
    choices: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless their best moves are stored: then each is delivered when it is solved, and the file of these can go."""
    rules, order = Rules(3, 8), []
    plan = disk_plan(rules, tmp_path, choices=choices)
    mark = Scratch.mark_stored

    def noted(scratch: Scratch, pair: tuple[int, int], counted: dict[str, Any]) -> None:
        order.append(pair)
        mark(scratch, pair, counted)

    monkeypatch.setattr(Scratch, "mark_stored", noted)
    solve_on_disk(plan, None, Collector(rules, plan.representation))
    large = [pair for pair in plan.pairs if delivered_late(rules, pair, choices=False)]
    assert large[-1] == (0, 0)
    assert len(large) == 4
    rest = [pair for pair in plan.pairs if pair not in large]
    assert order == (list(plan.pairs) if choices else rest + large[::-1])


def test_scratch_files_and_database_stay_within_the_room_that_was_planned(tmp_path: Path) -> None:
    rules, most = Rules(3, 14), 0
    places: dict[str, Any] = {"out": tmp_path / "db", "scratch": tmp_path / "scratch", "tolerance": 1e-6, "bits": 16}

    def tell(fraction: float, text: str) -> None:
        nonlocal most
        most = max(most, sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()))

    plan = planned(rules, **places)
    whole_database = plan.scratch_bytes + plan.disk_bytes
    madn.solve(rules, **places, progress=tell)
    assert most <= plan.peak_bytes < whole_database


def test_values_that_went_to_a_lost_database_are_solved_again(tmp_path: Path) -> None:
    plan = disk_plan(Rules(2, 10), tmp_path / "scratch", resume=True)

    def tell(fraction: float, text: str) -> None:
        if fraction > 0.9:
            raise StoppedError

    with pytest.raises(StoppedError):
        solve_on_disk(plan, tell, Collector(plan.rules))
    collector = Collector(plan.rules)
    solve_on_disk(plan, None, collector)
    assert (collector.values == values_of(solve(make_plan(plan.rules)))).all()


# solving for a board


@pytest.mark.parametrize("rules", [Rules(2, 8), Rules(3, 8), Rules(4, 8), Rules(4, 40)], ids=str)
def test_later_zones_are_what_moves_lead_to(rules: Rules) -> None:
    moves = {f: {x for x in Side(rules, f).moves.exits if x != TERMINAL} for f in range((1 << rules.pieces) - 1)}
    for f in moves:
        reached, new = {f}, {f}
        while new:
            new = {x for y in new for x in moves[y]} - reached
            reached |= new
        assert later_zones(rules, f) == reached
        assert exits(rules, f) == tuple(sorted(moves[f]))


@pytest.mark.parametrize("text", ["0/0", "8,9/0", "0,10/8", "9,10/b", "10/10"])
def test_solving_for_a_board(text: str, tmp_path: Path) -> None:
    rules = Rules(3, 8)
    whole = solve(make_plan(rules))
    part = solve(make_plan(rules, board=text))
    everything = values_of(whole)
    assert part.win == pytest.approx(everything[Game(rules).rank(*Board.parse(text, rules).masks)], abs=1e-13)
    for first, count in part.ranges():
        values = np.empty(count)
        part.read(first, values)
        assert np.abs(values - everything[first : first + count]).max() < 1e-13
    assert sum(count for _, count in part.ranges()) == part.plan.positions


def test_what_was_not_asked_for_is_not_in_the_database(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    game = ["--pieces", "3", "--squares", "8"]
    assert main(["solve", *game, "--for", "9,10/8", "--out", str(tmp_path / "db")]) == 0
    assert main(["verify", str(tmp_path / "db"), "--deep"]) == 0
    with open_database(tmp_path / "db") as db:
        rules = db.rules
        assert db.win(Board.parse("3,9,10/8,10", rules)) > 0
        with pytest.raises(MissingBlockError, match=r"madn solve --pieces 3 --squares 8 --for 0/0"):
            db.win(Board.parse("0/0", rules))
        assert db.get_win(Board.parse("0/0", rules)) is None
    capsys.readouterr()
    assert main(["win", str(tmp_path / "db"), "0/0"]) == 3
    assert len(capsys.readouterr().err.splitlines()) == 1


# counting and packing


@pytest.mark.parametrize("rules", [Rules(2, 8), Rules(3, 10), Rules(4, 12), Rules(3, 40)], ids=str)
def test_sizes_are_counted_without_making_the_states(rules: Rules) -> None:
    for f in {0, 1, (1 << rules.pieces) // 2, (1 << rules.pieces) - 2}:
        side = Side(rules, f)
        assert side.size == side_size(rules, f)
        assert len(side.boxed) == sum(class_sizes(rules, side.open_pieces, boxed=True))
        assert np.diff(side.class_start).tolist() == class_sizes(rules, side.open_pieces)


@pytest.mark.parametrize("rules", [Rules(2, 8), Rules(3, 8), Rules(2, 40)], ids=str)
def test_ranges_are_all_positions_of_their_zones(rules: Rules) -> None:
    zones = Zones(rules)
    pairs = components(rules)
    full = (1 << rules.pieces) - 1
    for pair in pairs:
        finished = {(full, zone) for zone in pair} | {(zone, full) for zone in pair}
        size = sum(run.size for run in zones.runs if (run.own, run.other) in finished)
        assert sum(count for _, count in zones.ranges([pair])) == component_positions(rules, *pair) + size
    assert zones.ranges(pairs) == [(0, rules.positions)]


@pytest.mark.parametrize("positions", [1, 5000, 20_000, 33_000, 10**9])
def test_bands_are_few_and_alike_and_in_one_order(positions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the room, the same batches follow each other; no band is larger than it must be, but for one batch."""
    monkeypatch.setattr(id_order, "BATCH", 300)
    rules = Rules(3, 14)
    zones, mine, theirs = Zones(rules), Side(rules, 0), Side(rules, 1)
    batches = id_order.batches_of(zones, mine, theirs)
    found = list(id_order.bands(zones, theirs, batches, positions))
    assert [batch for band in found for batch in band] == batches
    sizes = [len(id_order.Band(zones, mine, theirs, band, np.int8, 0.0, 1.0).values) for band in found]
    assert sum(sizes) == sum(run.size for run in zones.runs_of(0, 1))
    if positions == 1:
        assert len(found) == len(batches)
        return
    assert len(found) == math.ceil(sum(sizes) / positions)
    assert max(sizes) <= min(positions, sum(sizes) / len(sizes) + 300)


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="this system takes no announcements")
@pytest.mark.parametrize("classes", [None, range(7, 12)])
def test_what_is_announced_is_asked_for_in_small_pieces(
    classes: range | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a large piece the system may fetch only the beginning."""
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "posix_fadvise", lambda handle, at, length, advice: asked.append((at, length)))
    monkeypatch.setattr(strips, "AHEAD", 100)
    rules = Rules(2, 10)
    tiling = Tiling(Side(rules, 0), Side(rules, 1), np.int32, threads=1)
    with closing(StripFile(tmp_path / "values", tiling)) as file:
        file.announce(12, classes)
    begin, end = tiling.tile[12][[classes.start, classes.stop]] if classes else (0, tiling.tile[12][-1])
    assert len(asked) > 1
    assert all(0 < length <= 100 for _, length in asked)
    assert [at for at, _ in asked] + [tiling.strip[12] + end] == [
        tiling.strip[12] + begin, *(at + length for at, length in asked)
    ]  # fmt: skip


def rounded(values: NDArray[Any]) -> NDArray[Any]:
    """What is stored of values: fixed-point numbers to the nearest multiple of 32 steps, floats as they are."""
    if values.dtype == np.float64:
        return values
    steps = np.minimum((np.abs(values) + 16) // 32, 2**23 - 1)
    whole: NDArray[Any] = (np.sign(values) * steps * 32).astype(np.int32)
    return whole


@given(st.data())
def test_packing_is_undone_by_unpacking(data: st.DataObject) -> None:
    rules = data.draw(st.sampled_from([Rules(1, 8), Rules(2, 8), Rules(3, 8)]))
    f, g = data.draw(st.sampled_from(components(rules)))
    dtype = data.draw(st.sampled_from([np.int32, np.float64]))
    tiling = Tiling(Side(rules, g), Side(rules, f), dtype, threads=1)
    strip = data.draw(st.integers(0, tiling.strips - 1))
    start, room = tiling.starts(2)
    numbers = np.random.default_rng(data.draw(st.integers(0, 9)))
    L, R = (numbers.integers(-(2**28), 2**28, room + 16).astype(dtype) for _ in range(2))
    shift = data.draw(st.integers(0, 16))
    starts = start, start + shift  # L and R may be laid out differently
    packed = tiling.pack(strip, L, R, starts, np.full(tiling.total, 77, np.uint8))
    assert len(packed) == tiling.tile[strip, -1]
    back_l, back_r, left, right = (np.zeros_like(L) for _ in range(4))
    tiling.unpack(strip, packed, back_l, back_r, starts)
    first = tiling.first_class(strip)
    for number in range(first, tiling.classes):
        begin, end = tiling.tile[strip, number : number + 2]
        middle = (begin + end) // 2
        tiling.unpack_half(strip, packed[begin:middle], right, starts[1], range(number, number + 1))
        tiling.unpack_half(strip, packed[middle:end], left, start, range(number, number + 1))
    rows, columns = tiling.rows, tiling.columns
    for a in range(rows.class_start[strip], rows.class_start[strip + 1]):
        for b in range(columns.class_start[first], columns.size):
            if not int(rows.facing[a]) & int(columns.masks[b]):
                at = slice(start[a] + b, start[a] + b + 1)
                assert back_l[at] == left[at] == rounded(L[at])
                at = slice(start[a] + b + shift, start[a] + b + shift + 1)
                assert back_r[at] == right[at] == rounded(R[at])


@given(st.data())
def test_pairs_are_packed_without_what_is_no_position(data: st.DataObject) -> None:
    rules = data.draw(st.sampled_from([Rules(1, 8), Rules(2, 8), Rules(3, 8)]))
    f, g = data.draw(st.sampled_from(components(rules)))
    dtype = data.draw(st.sampled_from([np.int32, np.float64]))
    tiling = Tiling(Side(rules, g), Side(rules, f), dtype, threads=1)
    strip, tile = (data.draw(st.integers(0, n - 1)) for n in (tiling.strips, tiling.classes))
    if tiling.counts[strip, tile] == 0:
        return
    rows, columns = tiling.rows, tiling.columns
    facing, masks = rows.facing[tiling.rows_of(strip)], columns.masks[slice(*columns.class_start[tile : tile + 2])]
    legal = ((facing[:, None] & masks) == 0).ravel()
    numbers = np.random.default_rng(data.draw(st.integers(0, 9)))
    pairs = numbers.integers(-(2**28), 2**28, 2 * len(legal)).astype(dtype)
    for round_them in (False, True):
        out = np.full(pairs.nbytes + 2 * pairs.itemsize, 77, np.uint8)
        length = tiling.tiles.pack_pairs(strip, tile, pairs, out, round_them)
        expected = (rounded(pairs) if round_them else pairs).reshape(-1, 2)[legal]
        assert (out[:length].view(dtype).reshape(-1, 2) == expected).all()
        back = np.zeros_like(pairs)
        assert tiling.tiles.unpack_pairs(strip, tile, out, back) == length
        assert (back.reshape(-1, 2)[legal] == expected).all()


def test_values_in_memory_are_rounded_as_those_on_disk() -> None:
    edges = [-(2**28), -(2**28) + 15, -17, -16, -15, -1, 0, 1, 15, 16, 17, 47, 48, 2**28 - 17, 2**28 - 16, 2**28]
    values = np.array(edges, np.int32)
    expected = rounded(values)
    for threads in (1, 2):
        found = values.copy()
        _packing.round_values(found, threads)
        assert (found == expected).all()
        _packing.round_values(found, threads)
        assert (found == expected).all()
    assert (rounded(-values) == -expected).all()
    assert np.abs(expected - values).max() <= 32
    assert np.abs(expected[2:-2] - values[2:-2]).max() <= 16
    floats = np.random.default_rng(1).random(50)
    same = floats.copy()
    _packing.round_values(same, 1)
    assert (same == floats).all()


def test_the_bytes_of_a_stored_value_are_those_of_the_plan() -> None:
    for representation in (FIXED32, FLOAT64):
        assert _packing.STORED_BYTES[np.dtype(representation.dtype)] == representation.stored
