"""Opening a database and answering from it."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from operator import index
from pathlib import Path
from types import TracebackType
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from madn._core import Ranking, own_moves
from madn.board import Board, Move
from madn.errors import IllegalMoveError, InvalidBoardError, MissingBlockError, RulesMismatchError
from madn.rules import DIE, Rules
from madn.store.reader import CACHE_BYTES, open_reader
from madn.store.records import CATALOGUE, SUMS

Masks = tuple[int, int]
EMBEDDED = "two-pieces"  # the directory of the small database inside the package, in madn/data


@dataclass(frozen=True, slots=True)
class MoveValue:
    """A legal move, the mover's winning probability after it, and the board that the next roll sees."""

    move: Move
    win: float
    board: Board


@dataclass(frozen=True, slots=True)
class RollValue:
    """A roll, the mover's winning probability with its best move, and all its moves, best first."""

    roll: int
    win: float
    moves: tuple[MoveValue, ...]


@dataclass(frozen=True, slots=True)
class Analysis:
    """A board, the probability that the side to move wins before it rolls, and the six rolls.

    A finished game has no rolls.
    """

    board: Board
    win: float
    rolls: tuple[RollValue, ...]


def open_database(path: str | os.PathLike[str] | None = None, *, cache_bytes: int = CACHE_BYTES) -> "Database":
    """Open a database; without a path the small one, of two pieces, that comes with the package.

    Only the catalogue is read now. Blocks are read when they are asked for, and at most `cache_bytes` of
    decoded ones are kept.
    """
    if path is None:
        path = str(resources.files("madn") / "data" / EMBEDDED)
    return Database(path, cache_bytes=cache_bytes)


class Database:
    """A solved game that can be asked. Threads may share one; `with` closes it.

    Moves are compared by the mover's winning probability. Between exactly equal ones the move that starts on
    the highest square, of the piece furthest along, comes first.
    """

    def __init__(self, path: str | os.PathLike[str], *, cache_bytes: int = CACHE_BYTES) -> None:
        self.path = Path(path)
        self._reader = open_reader(self.path, cache_bytes)
        self._catalogue = self._reader.catalogue
        self._rules = self._catalogue.rules
        self._ranking = Ranking(self._rules.pieces, self._rules.squares)
        self._rank = self._ranking.rank
        self._finish = ((1 << self._rules.pieces) - 1) << self._rules.squares

    @property
    def rules(self) -> Rules:
        """The rules of the game that the database holds."""
        return self._rules

    def __repr__(self) -> str:
        return f"open_database({str(self.path)!r})"

    def __enter__(self) -> "Database":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the files and forget the cache; a second time does nothing."""
        self._reader.close()

    def win(self, board: Board) -> float:
        """The probability that the side to move wins, before it rolls."""
        own, other = self._masks(board)
        return self._reader.win(self._rank(own, other))

    def get_win(self, board: Board, default: float | None = None) -> float | None:
        """As `win`, but `default` for a position that is not in this database."""
        try:
            return self.win(board)
        except MissingBlockError:
            return default

    def best_move(self, board: Board, roll: SupportsIndex) -> Move:
        """The move after which the side to move wins most often; `Move.PASS` if the turn is lost.

        A forced move is answered without looking at any value.
        """
        masks = self._masks(board)
        steps = checked_roll(roll)
        self._check_open(board, masks)
        options = self._options(masks, steps)
        if len(options) == 1:
            return options[0][0]
        return self._ordered(options, steps)[0][1]

    def moves(self, board: Board, roll: SupportsIndex) -> tuple[MoveValue, ...]:
        """Every legal move with the mover's winning probability, best first; none in a finished game."""
        masks = self._masks(board)
        steps = checked_roll(roll)
        return () if self._finished(masks) else self._moves(masks, steps)

    def analyse(self, board: Board) -> Analysis:
        """The value of a board and of every move for all six rolls."""
        win = self.win(board)
        masks = board.masks
        if self._finished(masks):
            return Analysis(board, win, ())
        rolls = []
        for roll in range(1, DIE + 1):
            moves = self._moves(masks, roll)
            rolls.append(RollValue(roll, moves[0].win, moves))
        return Analysis(board, win, tuple(rolls))

    def win_many(self, boards: Sequence[Board] | NDArray[Any]) -> NDArray[np.float64]:
        """The winning probabilities of many positions, in their order.

        They are boards, or an array of position IDs (1-d, whole numbers), or an array of masks (two columns:
        the squares of the side to move and of the other, bit q for square q in each side's own numbers).
        """
        return self._reader.wins(self._ids(boards))

    def info(self) -> dict[str, Any]:
        """What is in the database and how it was made; everything in it can go into JSON."""
        catalogue = self._catalogue
        blocks, positions = self._reader.totals()
        files = [CATALOGUE, SUMS, *(file.name for file in catalogue.files)]
        sizes = [(self.path / name).stat().st_size for name in files if (self.path / name).exists()]
        return {
            "rules": asdict(self._rules),
            "positions": positions,
            "blocks": blocks,
            "bytes": sum(sizes),
            "format": catalogue.format,
            "values": "+".join(stored.encoding.name for stored in catalogue.encodings),
            "max_error": max((stored.max_error for stored in catalogue.encodings), default=0.0),
            "boards": {board.name: {"board": board.board, "win": board.win} for board in catalogue.boards},
            "provenance": catalogue.provenance,
        }

    def _masks(self, board: Board) -> Masks:
        if not isinstance(board, Board):
            raise TypeError(f"a board is a Board, not {type(board).__name__}; Board.parse() makes one from text")
        if board.rules != self._rules:
            raise RulesMismatchError(f"the board is of {board.rules}, the database {self.path} of {self._rules}")
        return board.masks

    def _ids(self, boards: Sequence[Board] | NDArray[Any]) -> NDArray[np.int64]:
        if isinstance(boards, np.ndarray) and boards.dtype.kind in "iu" and boards.ndim == 1:
            ids = boards.astype(np.int64)
            wrong = (boards < 0) | (boards >= self._ranking.positions)
            if wrong.any():
                at = int(np.argmax(wrong))
                raise InvalidBoardError(f"position {at}: ID {boards[at]} is outside 0 to {self._ranking.positions - 1}")
            return ids
        if isinstance(boards, np.ndarray) and boards.dtype.kind in "iu" and boards.ndim == 2:
            if boards.shape[1] != 2:
                raise InvalidBoardError(f"an array of masks has two columns, not {boards.shape[1]}")
            masks = boards
        elif isinstance(boards, np.ndarray) and boards.dtype.kind != "O":
            raise InvalidBoardError(f"positions are boards, IDs or masks, not an array of {boards.dtype}")
        else:
            masks = np.array([self._masks(board) for board in boards], np.uint64).reshape(-1, 2)
        own, other = masks.astype(np.uint64).T
        try:
            ids = self._ranking.rank_many(np.ascontiguousarray(own), np.ascontiguousarray(other))
        except ValueError as error:
            raise InvalidBoardError(str(error)) from None
        return np.asarray(ids, np.int64)

    def _finished(self, masks: Masks) -> bool:
        finish = self._finish
        return masks[0] & finish == finish or masks[1] & finish == finish

    def _check_open(self, board: Board, masks: Masks) -> None:
        if self._finished(masks):
            raise IllegalMoveError(f"board '{board}': the game is over, there are no moves")

    def _options(self, masks: Masks, roll: int) -> list[tuple[Move, int, int]]:
        """The legal moves by ascending start, and the masks that the next player to roll sees."""
        own, other = masks
        squares = self._rules.squares
        found = []
        for after, start, end in own_moves(own, roll, self._rules.pieces, squares):
            left = other
            if end < squares:
                left &= ~(1 << (end + squares // 2) % squares)
            move = made_move(start, end, left != other)
            found.append((move, after, left) if roll == DIE else (move, left, after))
        if not found:
            found.append((Move.PASS, own, other) if roll == DIE else (Move.PASS, other, own))
        return found

    def _ordered(self, options: list[tuple[Move, int, int]], roll: int) -> list[tuple[float, Move, int, int]]:
        """The moves with the mover's winning probability, best first; equal ones by descending start."""
        valued = []
        for move, own, other in reversed(options):
            win = self._reader.win(self._rank(own, other))
            valued.append((win if roll == DIE else 1.0 - win, move, own, other))
        valued.sort(key=lambda item: -item[0])  # stable
        return valued

    def _moves(self, masks: Masks, roll: int) -> tuple[MoveValue, ...]:
        return tuple(
            MoveValue(move, win, Board(squares_of(own), squares_of(other), self._rules))
            for win, move, own, other in self._ordered(self._options(masks, roll), roll)
        )


@cache
def made_move(start: int, end: int, captures: bool) -> Move:
    """The move from a square, or from the box if `start` is negative."""
    return Move(None if start < 0 else start, end, captures)


def squares_of(mask: int) -> tuple[int, ...]:
    """The squares of a mask, ascending."""
    squares = []
    while mask:
        lowest = mask & -mask
        squares.append(lowest.bit_length() - 1)
        mask ^= lowest
    return tuple(squares)


def checked_roll(roll: SupportsIndex) -> int:
    """The roll as an int; IllegalMoveError if it is not one of 1 to 6."""
    try:
        steps = 0 if isinstance(roll, bool) else index(roll)
    except TypeError:
        steps = 0
    if not 1 <= steps <= DIE:
        raise IllegalMoveError(f"a roll is a whole number from 1 to {DIE}, not {roll!r}")
    return steps
