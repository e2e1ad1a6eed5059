"""Databases that somebody changed on purpose: answers are right or errors of ours, time and memory are bounded."""

import contextlib
import json
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import forge
import numpy as np
import pytest
from test_database import RANKING, TINY, Solved, all_boards, solved

from madn.board import Board
from madn.cli import main
from madn.database import open_database
from madn.errors import CorruptBlockError
from madn.games import cantstop
from madn.store import compress_database, verify_database, write_database
from madn.store.blocks import ENCODINGS

START = RANKING.rank(*Board.start(TINY).masks)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    write_database(tmp_path / "db", Solved("fixed32"), {"residual": 1e-9}, block_positions=60)
    return tmp_path / "db"


def test_a_frame_that_is_not_the_one_of_the_catalogue_is_refused(database: Path) -> None:
    forge.replace_value(database, START, 12345, digest=False)
    with open_database(database) as db:
        for ask in (lambda: db.win(all_boards()[START]), lambda: db.win_many(np.array([START]))):
            with pytest.raises(CorruptBlockError, match="SHA-256 mismatch: catalogue says "):
                ask()


@pytest.mark.parametrize("win", [float("nan"), float("inf"), -float("inf"), 5.0, -3.0, 1.0 + 2**-52, -5e-324])
@pytest.mark.parametrize("encoding", ["float64", "fixed32", "bits12", "bits17"])
def test_values_that_are_no_probabilities_are_refused(tmp_path: Path, encoding: str, win: float) -> None:
    database = tmp_path / "db"
    write_database(database, Solved("fixed32" if encoding == "fixed32" else "float64"), {"residual": 1e-9})
    if encoding.startswith("bits"):
        compress_database(database, tmp_path / "packed", bits=int(encoding[4:]))
        database = tmp_path / "packed"
    raw = forge.raw_of(ENCODINGS[encoding], win)
    if 0 <= ENCODINGS[encoding].win(raw) <= 1:
        raw = ENCODINGS[encoding].raws(np.array([1.0]))[0] + 1
    forge.replace_value(database, START, raw)
    with open_database(database) as db:
        asks: list[Callable[[], object]] = [
            lambda: db.win(Board.start(TINY)),
            lambda: db.win_many(np.array([START])),
            lambda: db.moves(Board.start(TINY), 6),
            db.preload,
        ]
        for ask in asks:
            with pytest.raises(CorruptBlockError, match="a value is not a probability"):
                ask()
    assert any("a value is not a probability" in line for line in verify_database(database).damaged)
    with pytest.raises(CorruptBlockError, match="a value is not a probability"):
        compress_database(database, tmp_path / "new")
    assert main(["win", str(database), "0/0", "--json"]) == 3


@pytest.mark.parametrize(
    "claimed",
    [None, "null", '"small"', "true", "-1e-9", "1e300", "2", "[0]", "0.3", "1" * 400],
    ids=lambda c: str(c)[:6],
)
def test_a_deep_check_does_not_believe_the_residual_of_the_catalogue(database: Path, claimed: str | None) -> None:
    write_database(database, Solved("float64"), {"residual": 1e-15})
    assert verify_database(database, deep=True).ok
    if claimed is None:
        forge.change(database, "DELETE FROM provenance WHERE name = 'residual'")
    else:
        forge.change(database, "UPDATE provenance SET value = ? WHERE name = 'residual'", claimed)
    (line,) = verify_database(database, deep=True).damaged
    assert "residual" in line
    assert len(line) < 500
    assert verify_database(database).ok  # nothing was recomputed


def test_a_deep_check_does_not_believe_an_impossible_error_of_rounding(database: Path) -> None:
    forge.change(database, "UPDATE encodings SET max_error = 0.5")
    assert any("max_error is 0.5" in line for line in verify_database(database, deep=True).damaged)


@pytest.mark.parametrize("table", ["rules", "provenance", "encodings", "files", "profiles", "blocks", "boards"])
def test_a_table_without_end_is_refused_at_once(database: Path, table: str) -> None:
    forge.endless_table(database, table)
    assert (database / "catalogue.sqlite").stat().st_size < 100_000
    tracemalloc.start()
    start = time.process_time()
    for words in (
        ["info", "DB"],
        ["win", "DB", "0/0"],
        ["verify", "DB"],
        ["verify", "DB", "--deep"],
        ["compress", "DB", "NEW"],
    ):
        line = [word.replace("DB", str(database)).replace("NEW", f"{database}-new") for word in words]
        assert main(line) in (0, 1, 3), words
    with contextlib.suppress(CorruptBlockError), open_database(database) as db:
        db.info()
        assert np.array_equal(
            db.win_many(np.arange(TINY.positions)), np.array([solved()[board] for board in all_boards()])
        )
    assert time.process_time() - start < 10
    assert tracemalloc.get_traced_memory()[1] < 100 << 20
    tracemalloc.stop()
    assert not verify_database(database).ok


def test_a_table_without_end_of_cantstop_is_refused_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cantstop.write_database(tmp_path / "db", cantstop.solve(cantstop.CantStop(3, 1)))
    forge.endless_table(tmp_path / "db", "blocks")
    assert main(["info", str(tmp_path / "db")]) == 3
    assert "more rows than" in capsys.readouterr().err


def test_a_catalogue_of_thousands_of_files_is_refused(database: Path) -> None:
    with forge.catalogue(database) as connection:
        rows = ((number, f"values-{number:04}.madn", 0, "x") for number in range(1, 3000))
        connection.executemany("INSERT INTO files VALUES (?, ?, ?, ?)", rows)
    with pytest.raises(CorruptBlockError, match="table files: more than 512 rows"):
        open_database(database)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE boards SET win = 9e999",
        "UPDATE boards SET win = -9e999",
        "UPDATE boards SET win = 2.0",
        "UPDATE encodings SET max_error = 9e999",
        "INSERT INTO provenance VALUES ('x', '1e999')",
        "INSERT INTO provenance VALUES ('x', 'NaN')",
        """INSERT INTO provenance VALUES ('x', '"\\ud800"')""",
        """INSERT INTO provenance VALUES ('x', '{"\\udfff": 1}')""",
        "INSERT INTO provenance VALUES (CAST(x'ff41' AS TEXT), '1')",
        "UPDATE boards SET name = CAST(x'eda080' AS TEXT) WHERE name = 'start'",
    ],
)
@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_what_cannot_be_printed_or_sent_is_damage(
    database: Path, statement: str, as_json: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    forge.change(database, statement)
    assert main(["info", str(database), *as_json]) == 3
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)


ESCAPES = "\x1b[31m\x9b2J\r\x00\u202e\n"


def test_escape_sequences_of_a_catalogue_do_not_reach_the_terminal(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forge.change(database, "INSERT INTO provenance VALUES (?, ?)", f"a{ESCAPES}", json.dumps(f"b{ESCAPES}"))
    forge.change(
        database, "UPDATE boards SET board = board || ?, name = ? WHERE name = 'start'", ESCAPES, f"c{ESCAPES}"
    )
    (database / f"d{ESCAPES}".replace("\x00", "")).touch()
    assert main(["info", str(database)]) == 0
    shown = capsys.readouterr().out
    assert main(["verify", str(database)]) == 1
    shown += capsys.readouterr().out
    forge.change(database, "UPDATE files SET sha256 = ?", ESCAPES)
    assert main(["verify", str(database)]) == 1
    shown += capsys.readouterr().out
    forge.change(database, "UPDATE files SET name = ?", ESCAPES)
    assert main(["info", str(database)]) == 3
    shown += capsys.readouterr().err
    assert shown.count("\\x1b[31m\\x9b2J\\r") >= 4
    assert [c for c in shown if not c.isprintable() and c != "\n"] == []
