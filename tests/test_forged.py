"""Databases that somebody changed on purpose: answers are right or errors of ours, time and memory are bounded."""

from collections.abc import Callable
from pathlib import Path

import forge
import numpy as np
import pytest
from test_database import RANKING, TINY, Solved, all_boards

from madn.board import Board
from madn.cli import main
from madn.database import open_database
from madn.errors import CorruptBlockError
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
