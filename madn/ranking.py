"""Position IDs, as numbered in the thesis: from boards to IDs and back, one at a time or as arrays."""

from functools import lru_cache
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from madn._core import Game
from madn.board import STANDARD, Board, as_board
from madn.errors import InvalidBoardError
from madn.ranges import checked_int
from madn.rules import Rules

game_of = lru_cache(8)(Game)


def rank(board: Board | str) -> int:
    """The ID of a board; text stands for a board of the standard game."""
    board = as_board(board)
    return game_of(board.rules).rank(*board.masks)


def unrank(id: SupportsIndex, rules: Rules = STANDARD) -> Board:
    """The board with an ID from 0 to `rules.positions - 1`; InvalidBoardError if it is outside that range."""
    game = game_of(rules)
    return Board.from_masks(*game.unrank(checked_int("ID", id, 0, game.positions - 1, InvalidBoardError)), rules)


def rank_many(masks: NDArray[Any], rules: Rules = STANDARD) -> NDArray[np.int64]:
    """The IDs of many positions, given as an n x 2 array of masks: the side to move and the other side.

    The masks are whole numbers; bit q is square q in that side's own numbers, as in `Board.masks`. InvalidBoardError
    names the first row that is not a position.
    """
    masks = np.asarray(masks)
    if masks.dtype.kind not in "iu" or masks.ndim != 2 or masks.shape[1] != 2:
        raise InvalidBoardError(f"masks must be an n x 2 array of whole numbers, not {masks.shape} of {masks.dtype}")
    own, other = np.ascontiguousarray(masks.T, np.uint64)
    try:
        return game_of(rules).rank_many(own, other)
    except ValueError as error:
        raise InvalidBoardError(str(error)) from None


def unrank_many(ids: NDArray[Any], rules: Rules = STANDARD) -> NDArray[np.uint64]:
    """The masks of many IDs, as an n x 2 array (the side to move, the other side); the inverse of `rank_many`."""
    ids = np.asarray(ids)
    if ids.dtype.kind not in "iu" or ids.ndim != 1:
        raise InvalidBoardError(f"IDs must be a 1-d array of whole numbers, not {ids.ndim}-d of {ids.dtype}")
    try:
        return np.stack(game_of(rules).unrank_many(ids.astype(np.int64)), axis=1)
    except ValueError as error:
        raise InvalidBoardError(str(error)) from None
