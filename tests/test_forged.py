"""Databases that somebody changed on purpose: answers are right or errors of ours, time and memory are bounded."""

from pathlib import Path

import forge
import numpy as np
import pytest
from test_database import RANKING, TINY, Solved, all_boards

from madn.board import Board
from madn.database import open_database
from madn.errors import CorruptBlockError
from madn.store import write_database

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
