"""What `import madn` offers: every name is listed and can be imported, and importing it stays quick."""

import inspect
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import madn
from madn import Board, InvalidBoardError, Rules, errors
from madn._core import Game

TWO = Rules(pieces=2)


def test_every_name_is_listed_and_there() -> None:
    assert set(madn.__all__) <= set(dir(madn))
    assert {name for names in madn.LAZY.values() for name in names} <= set(madn.__all__)
    for name in madn.__all__:
        assert getattr(madn, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = madn.nothing


def test_every_error_class_can_be_imported_from_madn() -> None:
    listed = [name for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, Exception)]
    assert len(listed) > 10
    for name in listed:
        assert getattr(madn, name) is getattr(errors, name)
        assert name in madn.__all__


def test_importing_madn_imports_nothing_slow() -> None:
    code = "import sys, madn; dir(madn); print(sorted({'numpy', 'zstandard', 'sqlite3', 'click'} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


@given(st.integers(0, TWO.positions - 1))
def test_rank_and_unrank_are_inverse(number: int) -> None:
    board = madn.unrank(number, TWO)
    assert board.rules == TWO
    assert madn.rank(board) == number == Game(TWO).rank(*board.masks)


def test_a_text_is_a_board_of_the_standard_game() -> None:
    assert madn.rank("0/0") == madn.rank(Board.start()) == Game(Rules()).rank(1, 1)
    assert madn.unrank(madn.rank("3,17/0")) == Board.parse("3,17/0")


def test_arrays_are_ranked_and_unranked() -> None:
    ids = np.random.default_rng(3).integers(0, TWO.positions, 1000)
    masks = madn.unrank_many(ids, TWO)
    assert masks.shape == (1000, 2)
    assert masks.dtype == np.uint64
    assert [tuple(row) for row in masks[:50].tolist()] == [madn.unrank(i, TWO).masks for i in ids[:50]]
    for same in (masks, masks.astype(np.int64), np.asfortranarray(masks), masks.tolist()):
        ranks = madn.rank_many(same, TWO)
        assert ranks.dtype == np.int64
        assert np.array_equal(ranks, ids)
    assert np.array_equal(madn.unrank_many(ids.astype(np.uint32), TWO), masks)
    assert madn.rank_many(np.empty((0, 2), np.uint64), TWO).shape == (0,)
    assert madn.unrank_many(np.empty(0, np.int64), TWO).shape == (0, 2)


def test_what_is_not_a_position_or_an_id_is_refused() -> None:
    for number in (-1, TWO.positions):
        with pytest.raises(InvalidBoardError, match=f"ID must be 0 to {TWO.positions - 1}, not {number}"):
            madn.unrank(number, TWO)
        with pytest.raises(InvalidBoardError, match=rf"ids\[1\] = {number} is outside"):
            madn.unrank_many(np.array([0, number]), TWO)
    for masks in ([[1, 1 << 20]], [[7, 1]], [[-1, 1]], [1, 1], [[1, 1, 1]], [[1.0, 1.0]]):
        with pytest.raises(InvalidBoardError):
            madn.rank_many(np.array(masks), TWO)
    for ids in ([0.5], [[1, 2]]):
        with pytest.raises(InvalidBoardError, match="IDs must be"):
            madn.unrank_many(np.array(ids), TWO)
