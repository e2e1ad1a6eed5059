"""Best moves that a solve keeps: the same from memory and from disk, without values, after stops and damage."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from disk import Collector, StoppedError, disk_plan, solve_on_disk
from numpy.typing import NDArray

from madn import Rules
from madn.cli import main
from madn.errors import CorruptBlockError
from madn.solver import Plan, Solution, make_plan
from madn.solver.choices import ChoiceFile
from madn.solver.numbers import FIXED32
from madn.solver.sides import Side
from madn.solver.strips import LEFT, RIGHT, Tiling

GAMES = [Rules(2, 10), Rules(3, 8), Rules.house(3, 8)]


def found(plan: Plan) -> tuple[Solution, NDArray[np.uint16]]:
    collector = Collector(plan.rules, plan.representation)
    return solve_on_disk(plan, None, collector), collector.words


def plans(rules: Rules, directory: Path, **wanted: Any) -> list[Plan]:
    """With everything streamed that can be, and with nothing."""
    streamed = disk_plan(rules, directory / "streamed", choices=True, **wanted)
    return [streamed, replace(streamed, streamed=frozenset(), scratch=str(directory / "resident"))]


@pytest.mark.parametrize("fixed", [False, True], ids=["float64", "fixed32"])
@pytest.mark.parametrize("values", [True, False], ids=["values", "best moves only"])
@pytest.mark.parametrize("rules", GAMES, ids=str)
def test_best_moves_do_not_depend_on_the_memory(rules: Rules, values: bool, fixed: bool, tmp_path: Path) -> None:
    wanted: dict[str, Any] = {"values": values, "tolerance": 1e-6 if fixed else 1e-15}
    several = plans(rules, tmp_path, **wanted)
    if fixed:
        several = [replace(plan, representation=FIXED32) for plan in several]
    (one, words), (other, again) = map(found, several)
    assert (words < 1 << 12).all()
    assert (words == again).all()
    assert (one.start, one.min, one.max, one.residual) == (other.start, other.min, other.max, other.residual)


@pytest.mark.parametrize("rules", GAMES, ids=str)
def test_best_moves_alone_are_those_that_come_with_values(rules: Rules, tmp_path: Path) -> None:
    both, with_values = found(disk_plan(rules, tmp_path / "both", choices=True))
    alone, words = found(disk_plan(rules, tmp_path / "alone", choices=True, values=False))
    assert (words == with_values).all()
    assert alone.start == pytest.approx(both.start, abs=1e-14)
    assert (str(alone.min_board), str(alone.max_board)) == (str(both.min_board), str(both.max_board))
    assert both.residual <= alone.residual + 1e-16
    assert alone.residual <= alone.plan.tolerance


def test_without_values_nothing_of_the_largest_component_is_written_but_its_best_moves(tmp_path: Path) -> None:
    rules, sizes = Rules(3, 12), {"values": 0, "choices": 0}
    plan = disk_plan(rules, tmp_path, choices=True, values=False)
    last = f"{len(plan.pairs) - 1:03}"

    def tell(fraction: float, text: str) -> None:
        for name in sizes:
            path = tmp_path / f"{last}.{name}"
            sizes[name] = max(sizes[name], path.stat().st_size if path.exists() else 0)

    solve_on_disk(plan, tell, Collector(rules))
    assert sizes["values"] == 0
    assert sizes["choices"] > 0
    assert not list(tmp_path.glob("*.choices"))


@pytest.mark.parametrize("values", [True, False])
@pytest.mark.parametrize("after", [0.5, 0.8, 0.97, 0.995])
def test_a_stop_loses_nothing(values: bool, after: float, tmp_path: Path) -> None:
    rules = Rules(3, 8)
    _, right = found(disk_plan(rules, tmp_path / "right", choices=True, values=values))
    plan, collector = disk_plan(rules, tmp_path / "stopped", choices=True, values=values), Collector(rules)

    def stop(fraction: float, text: str) -> None:
        if fraction >= after:
            raise StoppedError

    with pytest.raises(StoppedError):
        solve_on_disk(plan, stop, collector)
    collector.words[:], collector.next = 0xFFFF, {}
    for path in (tmp_path / "stopped").glob("*.stored"):
        path.unlink()  # they come again: this collector does not count them as its own
    solve_on_disk(replace(plan, resume=True), None, collector)
    assert (collector.words == right).all()


def test_solving_for_best_moves_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both, alone = str(tmp_path / "both"), str(tmp_path / "alone")
    game = ["solve", "--pieces", "3", "--squares", "10", "--json"]
    assert main([*game, "--out", str(tmp_path / "values"), "--policy", both]) == 0
    with_values = json.loads(capsys.readouterr().out)
    assert main([*game, "--policy", alone]) == 0
    without = json.loads(capsys.readouterr().out)
    assert without["start"] == pytest.approx(with_values["start"], abs=1e-14)
    digests = []
    for path in (both, alone):
        with closing(sqlite3.connect(Path(path, "catalogue.sqlite"))) as catalogue:
            digests.append(catalogue.execute("SELECT first_rank, digest FROM blocks ORDER BY block").fetchall())
    assert digests[0] == digests[1]


def test_a_plan_for_best_moves_only_needs_less_disk() -> None:
    rules = Rules(4, 40)
    alone = make_plan(rules, scratch="s", memory=11 << 30, choices=True, values=False)
    both = make_plan(rules, scratch="s", memory=11 << 30, choices=True)
    assert alone.memory_bytes == both.memory_bytes < 11 << 30
    assert alone.scratch_bytes < 35e9 < both.scratch_bytes


# the file


@pytest.fixture
def words(tmp_path: Path) -> tuple[ChoiceFile, NDArray[np.uint16], dict[str, str]]:
    """The file of a component with random words, what they are, and how it is opened again."""
    rules = Rules(3, 10)
    rows, columns = Side(rules, 0), Side(rules, 1)
    tiling = Tiling(rows, columns, np.uint16, 1)
    values = np.random.default_rng(3).integers(0, 1 << 12, (2, rows.size, columns.size), dtype=np.uint16)
    values[:, (rows.facing[:, None] & columns.masks[None, :]) != 0] = 0
    file = ChoiceFile(tmp_path / "000.choices", tiling)
    for strip in range(tiling.strips):
        here = tiling.rows_of(strip)
        left, right = (np.append(side[here], np.uint16(0)) for side in values)  # a strip may be empty, no array is
        start = np.arange(here.stop - here.start, dtype=np.int64) * columns.size
        for classes in (range(9), range(9, tiling.classes)):
            file.write_words(strip, left, right, start, classes)
    file.flush()
    return file, values, file.text()


def test_words_come_back(words: tuple[ChoiceFile, NDArray[np.uint16], dict[str, str]]) -> None:
    file, values, text = words
    with ChoiceFile(file.path, file.tiling, text) as again:
        for strip in range(file.tiling.strips):
            here = file.tiling.rows_of(strip)
            if here.start == here.stop:
                continue
            back = np.zeros((2, here.stop - here.start, values.shape[2]), np.uint16)
            start = np.arange(here.stop - here.start, dtype=np.int64) * values.shape[2]
            for half, side in ((LEFT, 0), (RIGHT, 1)):
                every = range(file.tiling.classes)
                packed = again.read(strip, every, half)
                file.tiling.tiles.unpack_half(strip, packed, back[side].reshape(-1), start, 0, every.stop)
            legal = (file.tiling.rows.facing[here, None] & file.tiling.columns.masks[None, :]) == 0
            assert (back[:, legal] == values[:, here][:, legal]).all()
    file.close()


def test_damage_is_found(words: tuple[ChoiceFile, NDArray[np.uint16], dict[str, str]]) -> None:
    """Or does no harm: a header of zlib has bits without a meaning, and its checksum is not ours."""
    file, _, text = words
    file.close()

    def read() -> list[bytes]:
        with ChoiceFile(file.path, file.tiling, text) as again:
            return [again.read(strip).tobytes() for strip in range(file.tiling.strips)]

    good, right, rng, found = file.path.read_bytes(), read(), np.random.default_rng(4), 0
    for place in rng.integers(0, len(good), 60):
        bad = bytearray(good)
        bad[place] ^= 1 << int(rng.integers(8))
        file.path.write_bytes(bad)
        try:
            assert read() == right
        except CorruptBlockError:
            found += 1
    assert found > 50
    file.path.write_bytes(good[:-1])
    with pytest.raises(CorruptBlockError, match="cut off"):
        read()
