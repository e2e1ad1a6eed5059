"""Tables for other programs: a database as Parquet or CSV, and all states of the small games."""

import csv
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyarrow import ArrowInvalid

import madn
from madn import Rules, export
from madn.cli import main
from madn.errors import (
    InvalidBoardError,
    InvalidNumberError,
    MissingExtraError,
    NoValuesError,
    OutputError,
)
from madn.games import pig, pyramid
from madn.store import compress_database
from madn.table import writing_table

SMALL = Rules(pieces=2, squares=8)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("export")
    madn.solve(SMALL, out=place / "values")
    madn.solve(SMALL, out=place / "part", board="8/3,8")
    compress_database(place / "values", place / "moves", store="policy")
    return {path.name: path for path in place.iterdir()}


def columns(path: Path) -> dict[str, np.ndarray]:
    table = pq.read_table(path)
    return {name: table[name].to_numpy() for name in table.column_names}


@pytest.mark.parametrize("name", ["values", "part"])
@pytest.mark.parametrize("at_once", [1 << 20, 100])
def test_a_whole_database(
    places: dict[str, Path], tmp_path: Path, name: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "AT_ONCE", at_once)
    with madn.open_database(places[name]) as db:
        seen: list[float] = []
        found = export.export(db, tmp_path / "t.parquet", progress=lambda part, text: seen.append(part))
        table = columns(tmp_path / "t.parquet")
        assert list(table) == ["id", "own", "other", "win"]
        assert found.rows == len(db) == len(table["id"])
        assert found.bytes == (tmp_path / "t.parquet").stat().st_size
        assert table["id"].tolist() == [madn.rank(board) for board in db]
        assert np.array_equal(table["win"], db.win_many(table["id"]))
        assert np.array_equal(madn.rank_many(np.stack([table["own"], table["other"]], 1), SMALL), table["id"])
        assert seen == sorted(seen)
        assert seen[-1] == 1
        facts = pq.read_metadata(tmp_path / "t.parquet").metadata
        assert json.loads(facts[b"madn.rules"]) == asdict(SMALL)
        assert json.loads(facts[b"madn.files"]) == db.digests
        export.export(db, tmp_path / "t.csv")
    with open(tmp_path / "t.csv", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == list(table)
    assert [[int(a), int(b), int(c), float(d)] for a, b, c, d in rows] == np.stack(
        [table[name].astype(object) for name in table], 1
    ).tolist()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_some_profiles(places: dict[str, Path], tmp_path: Path) -> None:
    wanted = [(2, 1, 1, 0), (1, 0, 1, 0)]
    with madn.open_database(places["values"]) as db:
        export.export(db, tmp_path / "t.parquet", profiles=[*wanted, wanted[0]])
        ids = columns(tmp_path / "t.parquet")["id"].tolist()
        assert ids == [i for i in range(len(db)) if db.engine.game.profile(i) in wanted]
        for profile in ((3, 0, 0, 0), (2, 2, 2, 2)):
            with pytest.raises(InvalidBoardError, match="no position has the profile"):
                export.export(db, tmp_path / "u.parquet", profiles=[profile])
    with madn.open_database(places["part"]) as part, pytest.raises(InvalidBoardError, match="stores no position of"):
        export.export(part, tmp_path / "u.parquet", profiles=[(0, 0, 0, 0)])
    assert not (tmp_path / "u.parquet").exists()


@pytest.mark.parametrize("name", ["values", "part"])
def test_a_sample_is_drawn_by_its_seed(places: dict[str, Path], tmp_path: Path, name: str) -> None:
    with madn.open_database(places[name]) as db:
        stored = [madn.rank(board) for board in db]

        def drawn(count: int, seed: int) -> list[int]:
            export.export(db, tmp_path / "t.parquet", sample=count, seed=seed)
            ids: list[int] = columns(tmp_path / "t.parquet")["id"].tolist()
            assert len(ids) == len(set(ids)) == count
            assert ids == sorted(ids)
            assert set(ids) <= set(stored)
            return ids

        assert drawn(50, 1) == drawn(50, 1) != drawn(50, 2)
        assert drawn(len(db), 3) == stored
        for count in (200, len(db) - 100):
            mean = np.mean([np.searchsorted(stored, drawn(count, seed)).mean() for seed in range(10)])
            assert mean / len(db) == pytest.approx(0.5, abs=0.04)
        for wrong in (0, -1, len(db) + 1, 2.5):
            with pytest.raises(InvalidNumberError, match=f"sample must be .*{'whole' if wrong == 2.5 else len(db)}"):
                export.export(db, tmp_path / "t.parquet", sample=wrong)  # type: ignore[arg-type]


def test_what_cannot_be_written_is_said_before_the_work(places: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "dir.parquet").mkdir()
    with madn.open_database(places["values"]) as db:
        for name, words in (
            ("t.txt", "must end in .parquet or .csv"),
            ("nowhere/t.csv", "cannot write here: No such file"),
            ("dir.parquet", "not a file"),
        ):
            with pytest.raises(OutputError, match=words):
                export.export(db, tmp_path / name)
    with madn.open_database(places["moves"]) as moves, pytest.raises(NoValuesError, match="stores best moves only"):
        export.export(moves, tmp_path / "t.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["dir.parquet"]


def test_a_table_that_was_not_finished_leaves_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("old")
    with pytest.raises(ArrowInvalid), writing_table(tmp_path / "t.csv") as write:
        write({"a": np.arange(3), "b": columns(tmp_path / "t.csv")["b"]})
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("t.csv", "old")]


def test_a_missing_pyarrow_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with madn.open_database() as db, pytest.raises(MissingExtraError, match=r"pip install 'madn\[data\]'"):
        export.export(db, tmp_path / "t.parquet")
    assert main(["pig", "--target", "10", "--table", str(tmp_path / "t.parquet")]) == 3
    assert "Parquet needs pyarrow" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_command(places: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "t.parquet")
    assert main(["export", str(places["values"]), file, "--sample", "10", "--seed", "3", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer == {
        "db": str(places["values"]),
        "out": file,
        "rows": 10,
        "bytes": (tmp_path / "t.parquet").stat().st_size,
    }
    assert main(["export", str(places["values"]), file, "--profile", "1,0,1,0", "--profile", "0,0,0,0"]) == 0
    assert f"The table is in {file}" in capsys.readouterr().out
    for wrong, words, status in (
        (["--profile", "1,0"], "four digits like 2,1,2,0", 2),
        (["--profile", "9,9,9,9"], "no position has the profile", 2),
        (["--sample", "0"], "sample must be 1 to 2363", 2),
        (["--seed", "-1", "--sample", "3"], "seed must be", 2),
    ):
        assert main(["export", str(places["values"]), file, *wrong]) == status
        assert words in capsys.readouterr().err
    assert main(["export", str(places["moves"]), file]) == 3
    assert main(["export", str(places["values"]), "/nowhere/t.parquet"]) == 2
    assert main(["export", str(tmp_path / "no"), file]) == 3


@pytest.mark.parametrize(
    "options",
    [
        ["--target", "30"],
        ["--target", "50", "--losing-face", "6"],
        ["--target", "20", "--variant", "exact"],
        ["--target", "20", "--variant", "difference", "--mercy"],
    ],
)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_all_states_of_pig(options: list[str], ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / f"pig.{ending}"
    assert main(["pig", *options, "--table", str(file), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    game = pig.Pig(**{name: answer[name] for name in ("target", "faces", "losing_face", "variant", "mercy")})
    solution = pig.solve(game)
    rows = read(file)
    assert len(rows) == answer["rows"] == sum(game.target * (game.target - own) for own in range(game.target))
    worth = "value" if game.variant == "difference" else "win"
    assert list(rows[0]) == ["own", "other", "turn", worth, "roll", "hold", "action"]
    for row in rows[::7]:
        known = solution.ask(row["own"], row["other"], row["turn"])
        assert (row[worth], row["roll"], row["hold"], row["action"]) == (
            known.value,
            known.roll,
            known.hold,
            known.action,
        )
    if ending == "parquet":
        facts = pq.read_metadata(file).metadata
        assert json.loads(facts[b"madn.game"])["target"] == game.target


def read(file: Path) -> list[dict[str, Any]]:
    """The rows of a table with Python's values; what is missing is None."""
    if file.suffix == ".parquet":
        rows: list[dict[str, Any]] = pq.read_table(file).to_pylist()
        return rows

    def value(text: str) -> Any:
        try:
            return None if text == "" else int(text) if text.isdigit() else float(text)
        except ValueError:
            return text

    with open(file, encoding="utf-8", newline="") as lines:
        return [{name: value(text) for name, text in row.items()} for row in csv.DictReader(lines)]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_all_states_of_the_pyramid(ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / f"pyramid.{ending}"
    assert main(["pyramid", "--tiers", "5", "--state", "1,1,0,1,0", "--table", str(file)]) == 0
    assert f"table  {file}\nrows   211\n" in capsys.readouterr().out
    solution = pyramid.solve(5)
    rows = read(file)
    assert len(rows) == solution.states
    for row in rows:
        state = pyramid.parse_state(row["state"], 5)
        best = solution.best_actions(state)
        assert (row["first"], row["second"]) == solution.value(state)
        assert row["bars"] == pyramid.bars(state)
        assert row["winner"] == ("first" if solution.wins(state) else "second")
        assert (row["best_action"] or "") == (str(best[0]) if best else "")
