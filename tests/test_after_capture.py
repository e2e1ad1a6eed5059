"""What captures lead to, passing through memory: there when it is read, written once, never more than was planned."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from madn import Rules
from madn.errors import CorruptBlockError
from madn.solver.after_capture import AfterCapture, Part
from madn.solver.footprint import _captured_at_a_time, _checkpoint
from madn.solver.sides import Side

PAIRS = [(Rules(2, 8), 0, 0), (Rules(3, 12), 0, 0), (Rules(3, 12), 0, 1), (Rules(4, 8), 0, 0), (Rules(3, 20), 0, 0)]


@pytest.fixture(params=PAIRS, ids=str)
def captured(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AfterCapture]:
    rules, f, g = request.param
    with ThreadPoolExecutor(2) as pool:
        made = AfterCapture(Side(rules, f), Side(rules, g), np.int32, tmp_path / "000.work", pool, threads=1)
        yield made
        made.close()


def tiles(parts: list[Part]) -> list[tuple[int, int]]:
    return [(number, group) for number, begin, end in parts for group in range(begin, end)]


def test_every_tile_comes_in_time_and_goes_once(
    captured: AfterCapture, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules, f, g = request.node.callspec.params["captured"]
    values, kept = captured.values_of, set(zip(*(n.tolist() for n in np.nonzero(captured.values_of)), strict=True))
    read: list[Part] = []
    written: list[Part] = []
    freed = np.zeros(len(values), int)  # of each class the groups before this one

    def write(part: Part, rounded: bool) -> int:
        written.append(part)
        return 0

    def free(number: int, end: int) -> None:
        freed[number] = end

    monkeypatch.setattr(captured, "_read", read.append)
    monkeypatch.setattr(captured, "_write", write)
    monkeypatch.setattr(captured, "_free", free)
    captured.sums = np.zeros(values.shape, np.uint32)
    captured.file(4).touch()
    captured.begin(4, write=True)
    most = 0
    for strip in range(captured.strips):
        captured.load(strip)
        there = {(number, group) for number, group in tiles(read) if group >= freed[number]}
        needed = {
            (number, group)
            for number, group in kept
            if strip <= number <= strip + captured.lap and (not captured.mirrored or captured.ends[group] > strip)
        }
        assert needed <= there
        most = max(most, sum(int(values[tile]) for tile in there))
        captured.let_go(strip, rounded=False)
    assert sorted(tiles(read)) == sorted({*tiles(read)}), "read once"
    assert sorted(set(tiles(written)) & kept) == sorted(kept)
    assert len(tiles(written)) == len({*tiles(written)}), "written once"
    assert (freed == len(captured.ends)).all()
    planned = _captured_at_a_time(rules, f, g)
    assert most <= planned <= most * 1.1 + 4 * values.size
    assert captured.places[-1, -1] <= 4 * _checkpoint(rules, f, g)


def test_what_was_written_is_read_and_its_memory_given_back(captured: AfterCapture) -> None:
    numbers = np.random.default_rng(1)
    values = numbers.integers(-(2**28), 2**28, captured.size, np.int32)
    captured.begin(0, write=True)
    captured.values[: captured.size] = values
    for strip in range(captured.strips):
        captured.load(strip)
        captured.let_go(strip, rounded=False)
    captured.finish()
    assert captured.file(1).stat().st_size == captured.places[-1, -1]
    if hasattr(captured._pages, "madvise"):
        assert not captured.values.any(), "pages that were given back are empty"
    captured.begin(1, write=False)
    seen: set[int] = set()
    for strip in range(captured.strips):
        captured.load(strip)
        for number in set(range(strip, min(strip + captured.lap + 1, captured.strips))) - seen:
            seen.add(number)
            for group in np.flatnonzero(captured.values_of[number]).tolist():
                count = int(captured.tiles.counts[number, group])
                begin, size = int(captured.memory[number, group]), int(captured.values_of[number, group])
                packed = np.zeros((2, 8 * count + 8), np.uint8)
                for out, source in zip(packed, (values, captured.values), strict=True):
                    captured.tiles.pack_pairs(number, group, source[begin : begin + size], out, False)
                assert (packed[0, : 8 * count] == packed[1, : 8 * count]).all()
        captured.let_go(strip, rounded=False)
    assert seen == set(range(captured.strips))


def load_all(captured: AfterCapture) -> None:
    for strip in range(captured.strips):
        captured.load(strip)


def test_a_changed_tile_is_noticed(captured: AfterCapture) -> None:
    captured.begin(0, write=True)
    for strip in range(captured.strips):
        captured.let_go(strip, rounded=True)
    captured.finish()
    text = captured.sums_text()
    path = captured.file(1)
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 4
    path.write_bytes(whole)
    captured.take_up(text)
    captured.begin(1, write=False)
    with pytest.raises(CorruptBlockError, match=r"captures1: damaged: checksum of tile \d+ of class \d+ expected"):
        load_all(captured)
    path.write_bytes(whole[:9])
    captured.begin(1, write=False)
    with pytest.raises(CorruptBlockError, match="captures1: damaged: cut off at byte"):
        load_all(captured)
    path.unlink()
    with pytest.raises(CorruptBlockError, match="captures1: damaged: missing"):
        captured.begin(1, write=False)
