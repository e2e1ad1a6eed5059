"""Opening a database and answering from it."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from importlib import resources
from operator import index
from pathlib import Path
from types import TracebackType
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from madn.board import Board, Move
from madn.errors import IllegalMoveError, InvalidBoardError, MissingBlockError, RulesMismatchError
from madn.rules import DIE, Rules
from madn.store._successors import options
from madn.store.policy import choice
from madn.store.reader import CACHE_BYTES, open_reader
from madn.store.records import CATALOGUE, SUMS

Masks = tuple[int, int]
Option = tuple[Move, int, int, int]  # a move, and the masks and ID of the board that the next player to roll sees
MEASURED = ("decisions", "max_loss", "max_loss_board", "mean_loss")
EMBEDDED = "two-pieces"  # the directory of the small database inside the package, in madn/data


@dataclass(frozen=True, slots=True)
class MoveValue:
    """A legal move, the mover's winning probability after it, and the board that the next roll sees.

    `win` is None, here and below, in a database that stores best moves only.
    """

    move: Move
    win: float | None
    board: Board


@dataclass(frozen=True, slots=True)
class RollValue:
    """A roll, the mover's winning probability with its best move, and all its moves, best first."""

    roll: int
    win: float | None
    moves: tuple[MoveValue, ...]


@dataclass(frozen=True, slots=True)
class Analysis:
    """A board, the probability that the side to move wins before it rolls, and the six rolls.

    A finished game has no rolls.
    """

    board: Board
    win: float | None
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

    Moves are compared by the mover's winning probability. Between equal ones the move that starts on the
    highest square, of the piece furthest along, comes first. Equal are those that differ by no more than what
    storing a number may change (1e-12 in `float64`, 2**-29 in `fixed32`; rounded values: not at all).

    A database may store the best moves only. It then knows no winning probabilities: `win` and `win_many` raise
    `NoValuesError`, `get_win` gives its default, and every `.win` in an answer is None.
    """

    def __init__(self, path: str | os.PathLike[str], *, cache_bytes: int = CACHE_BYTES) -> None:
        self.path = Path(path)
        self._reader = open_reader(self.path, cache_bytes)
        self._catalogue = self._reader.catalogue
        self._rules = self._catalogue.rules
        self._game = self._reader.game
        self._rank = self._game.rank
        self._policy = self._reader.policy
        self._tie = max((stored.encoding.tie for stored in self._catalogue.encodings), default=0.0)
        self._finish = ((1 << self._rules.pieces) - 1) << self._rules.squares

    @property
    def rules(self) -> Rules:
        """The rules of the game that the database holds."""
        return self._rules

    @property
    def tie(self) -> float:
        """Moves whose winning probabilities differ by no more than this count as equal."""
        return self._tie

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
        """As `win`, but `default` for a position that is not in this database, or has no value in it."""
        try:
            return self.win(board)
        except MissingBlockError:
            return default

    def best_move(self, board: Board, roll: SupportsIndex) -> Move:
        """The move after which the side to move wins most often; `Move.PASS` if the turn is lost.

        A forced move is answered without looking at what is stored.
        """
        masks = self._masks(board)
        steps = checked_roll(roll)
        self._check_open(board, masks)
        found = self._options(masks, steps)
        if len(found) == 1:
            return found[0][0]
        return found[self._best(masks, steps, found, self._wins(found, steps))][0]

    def moves(self, board: Board, roll: SupportsIndex) -> tuple[MoveValue, ...]:
        """Every legal move with the mover's winning probability, best first; none in a finished game.

        Where only best moves are stored, the others follow by descending start.
        """
        masks = self._masks(board)
        steps = checked_roll(roll)
        return () if self._finished(masks) else self._moves(masks, steps)

    def analyse(self, board: Board) -> Analysis:
        """The value of a board and of every move for all six rolls."""
        masks = self._masks(board)
        win = None if self._policy else self._reader.win(self._rank(*masks))
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
            **self._compression(positions, sum(sizes)),
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
            wrong = (boards < 0) | (boards >= self._game.positions)
            if wrong.any():
                at = int(np.argmax(wrong))
                raise InvalidBoardError(f"position {at}: ID {boards[at]} is outside 0 to {self._game.positions - 1}")
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
            ids = self._game.rank_many(np.ascontiguousarray(own), np.ascontiguousarray(other))
        except ValueError as error:
            raise InvalidBoardError(str(error)) from None
        return np.asarray(ids, np.int64)

    def _finished(self, masks: Masks) -> bool:
        finish = self._finish
        return masks[0] & finish == finish or masks[1] & finish == finish

    def _check_open(self, board: Board, masks: Masks) -> None:
        if self._finished(masks):
            raise IllegalMoveError(f"board '{board}': the game is over, there are no moves")

    def _compression(self, positions: int, size: int) -> dict[str, Any]:
        """Bits and what compressing has measured: `decisions` of a policy, losses of rounded values."""
        made = self._catalogue.provenance.get("compressed")
        last = made[-1] if isinstance(made, list) and made and isinstance(made[-1], dict) else {}
        known = {name: last[name] for name in MEASURED if name in last}
        decisions = known.get("decisions")
        if isinstance(decisions, int) and decisions > 0:
            known["bits_per_decision"] = 8 * size / decisions
        return {"bits_per_position": 8 * size / max(positions, 1), **known}

    def _options(self, masks: Masks, roll: int) -> list[Option]:
        """The legal moves by ascending start, or a pass."""
        own, other = masks
        found = [
            (made_move(start, end, captures), after_own, after_other, number)
            for start, end, captures, after_own, after_other, number in options(self._game, own, other, roll)
        ]
        if not found:
            after = (own, other) if roll == DIE else (other, own)
            found.append((Move.PASS, *after, self._rank(*after)))
        return found

    def _wins(self, found: list[Option], roll: int) -> list[float]:
        """The mover's winning probability for each move; none where only best moves are stored."""
        if self._policy:
            return []
        win = self._reader.win
        if roll == DIE:
            return [win(number) for _, _, _, number in found]
        return [1.0 - win(number) for _, _, _, number in found]

    def _best(self, masks: Masks, roll: int, found: list[Option], wins: list[float]) -> int:
        """The index of the best move: the last of those that are equal to the largest."""
        if len(found) == 1:
            return 0
        if self._policy:
            return choice(self._reader.choices(self._rank(*masks)), roll)
        most = max(wins)
        at = len(wins) - 1
        while most - wins[at] > self._tie:
            at -= 1
        return at

    def _moves(self, masks: Masks, roll: int) -> tuple[MoveValue, ...]:
        found = self._options(masks, roll)
        wins = self._wins(found, roll)
        best = self._best(masks, roll, found, wins)
        order = list(range(len(found) - 1, -1, -1))
        if wins:
            order.sort(key=lambda at: -wins[at])  # stable
        if order[0] != best:
            order.remove(best)
            order.insert(0, best)
        rules = self._rules
        moves = []
        for at in order:
            move, own, other, _ = found[at]
            moves.append(MoveValue(move, wins[at] if wins else None, known_board(own, other, rules)))
        return tuple(moves)


@cache
def made_move(start: int, end: int, captures: bool) -> Move:
    """The move from a square, or from the box if `start` is negative."""
    return Move(None if start < 0 else start, end, captures)


def known_board(own: int, other: int, rules: Rules) -> Board:
    """The board of two masks that are a position: nothing is checked again."""
    board = object.__new__(Board)
    for name, value in (("own", squares_of(own)), ("other", squares_of(other)), ("rules", rules)):
        object.__setattr__(board, name, value)
    return board


@lru_cache(1 << 16)
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
