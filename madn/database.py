"""Opening a database and answering from it."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from madn._engine import Engine
from madn.board import Board, Move, as_board, checked_roll
from madn.errors import IllegalMoveError, InvalidBoardError, MissingBlockError
from madn.ranking import rank_many
from madn.rules import ROLLS, Rules
from madn.store.reader import CACHE_BYTES, open_reader

Option = tuple[int, int, bool, int, int, float | None]  # a move as the engine gives it
MEASURED = ("decisions", "max_loss", "max_loss_board", "mean_loss")
EMBEDDED = "two-pieces"  # the directory of the small database inside the package, in madn/data
PRELOADED = 1 << 22  # positions of the largest game that `preload` decodes: 32 MiB


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

    Its files are opened now: it answers for this database even if another takes its place. Blocks are read when they
    are needed, and at most `cache_bytes` of decoded ones stay in memory.
    """
    if path is None:
        path = str(resources.files("madn") / "data" / EMBEDDED)
    return Database(path, cache_bytes=cache_bytes)


class Database:
    """A solved game, of certain `rules`, to query. Threads may share one; `with` closes it. A board may be a text.

    The mover's winning probability decides which move is best. Moves within `tie` of the largest are equal (1e-12 in
    `float64`, 2**-29 in `fixed32`, 0 for rounded values): of those the one that starts on the highest square, of the
    piece furthest along, is best. The others follow by descending probability, then by descending start.

    A database may store the best moves only. Then `win` and `win_many` raise `NoValuesError`, `get_win` returns its
    default, and every `.win` in an answer is None. `engine` gives the same answers as numbers, from masks.
    """

    def __init__(self, path: str | os.PathLike[str], *, cache_bytes: int = CACHE_BYTES) -> None:
        self.path = Path(path)
        self._holder = f"the database {self.path} holds"
        self._reader = open_reader(self.path, cache_bytes)
        self._catalogue = self._reader.catalogue
        self.rules = self._catalogue.rules
        self.tie = max((stored.encoding.tie for stored in self._catalogue.encodings), default=0.0)
        self.engine = Engine(self._reader, self.tie)

    @property
    def values(self) -> str:
        """How values are stored: `float64`, `fixed32`, `bits8` to `bits24`, or `policy` for best moves only."""
        return "+".join(stored.encoding.name for stored in self._catalogue.encodings)

    @property
    def digests(self) -> dict[str, str]:
        """The SHA-256 of each file of frames, as the catalogue gives it."""
        return {file.name: file.sha256 for file in self._catalogue.files}

    def __repr__(self) -> str:
        return f"open_database({str(self.path)!r})"

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files and drop what is in memory; a second time does nothing.

        What other threads are reading they still get; whatever is asked later raises `ClosedDatabaseError`.
        """
        self._reader.close()
        self.engine.close()

    def preload(self) -> None:
        """Decode all values of a small game now, up to 32 MiB, so that no answer waits for the disk."""
        self._reader.check_open()
        positions = self.engine.game.positions
        if not self._reader.policy and self._reader.totals()[1] == positions <= PRELOADED:
            self.engine.hold(self._reader.wins(np.arange(positions)))

    def win(self, board: Board | str) -> float:
        """The probability that the side to move wins, before it rolls."""
        return self.engine.win(*self._masks(board))

    def get_win(self, board: Board | str, default: float | None = None) -> float | None:
        """As `win`, but `default` for a position that is not in this database, or has no value in it."""
        try:
            return self.win(board)
        except MissingBlockError:
            return default

    def best_move(self, board: Board | str, roll: SupportsIndex) -> Move:
        """The move after which the side to move wins most often; `Move.PASS` if the turn is lost.

        A forced move is answered without looking at what is stored.
        """
        best = self.engine.best_move(*self._masks(board), checked_roll(roll))
        if best is None:
            raise IllegalMoveError(f"board '{board}': the game is over, there are no moves")
        return move_of(*best)

    def moves(self, board: Board | str, roll: SupportsIndex) -> tuple[MoveValue, ...]:
        """Every legal move with the mover's winning probability, best first; none in a finished game.

        Where only best moves are stored, the others follow by descending start.
        """
        return self._values(self.engine.moves(*self._masks(board), checked_roll(roll)))

    def analyse(self, board: Board | str) -> Analysis:
        """The value of a board and of every move for all six rolls."""
        board = as_board(board, self.rules)
        win, listed = self.engine.analyse(*self._masks(board))
        rolls = zip(ROLLS, listed, strict=False)
        return Analysis(board, win, tuple(RollValue(roll, moves[0][-1], self._values(moves)) for roll, moves in rolls))

    def win_many(self, boards: Sequence[Board | str] | NDArray[Any]) -> NDArray[np.float64]:
        """The winning probabilities of many positions, in their order.

        They are boards, or an array of position IDs (1-d, whole numbers), or an array of masks (two columns:
        the squares of the side to move and of the other, bit q for square q in each side's own numbers).
        """
        return self._reader.wins(self._ids(boards))

    def info(self) -> dict[str, Any]:
        """What is in the database and where it comes from, ready for JSON; compares the catalogue with its digest."""
        from madn.store.verify import check_catalogue  # an answer about a position does without it

        catalogue = self._catalogue
        self._reader.check_open()
        check_catalogue(self.path)
        blocks, positions = self._reader.totals()
        size = self._reader.stored_bytes()
        return {
            "rules": asdict(self.rules),
            "positions": positions,
            "blocks": blocks,
            "bytes": size,
            "format": catalogue.format,
            "values": self.values,
            "max_error": max((stored.max_error for stored in catalogue.encodings), default=0.0),
            **self._compression(positions, size),
            "boards": {board.name: {"board": board.board, "win": board.win} for board in catalogue.boards},
            "provenance": catalogue.provenance,
        }

    def _masks(self, board: Board | str) -> tuple[int, int]:
        return as_board(board, self.rules, self._holder).masks

    def _values(self, options: list[Option]) -> tuple[MoveValue, ...]:
        return tuple(
            MoveValue(move_of(start, end, captures), win, unchecked_board(own, other, self.rules))
            for start, end, captures, own, other, win in options
        )

    def _ids(self, boards: Sequence[Board | str] | NDArray[Any]) -> NDArray[np.int64]:
        if not isinstance(boards, np.ndarray) or boards.dtype.kind in "OU":
            boards = np.array([self._masks(board) for board in boards], np.uint64).reshape(-1, 2)
        if boards.ndim != 1:
            return rank_many(boards, self.rules)
        if boards.dtype.kind not in "iu":
            raise InvalidBoardError(f"positions are boards, IDs or masks, not an array of {boards.dtype}")
        positions = self.engine.game.positions
        wrong = (boards < 0) | (boards >= positions)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise InvalidBoardError(f"position {at}: ID {boards[at]} is outside 0 to {positions - 1}")
        return boards.astype(np.int64)

    def _compression(self, positions: int, size: int) -> dict[str, Any]:
        """Bits and what compressing has measured: `decisions` of a policy, losses of rounded values."""
        runs = self._catalogue.provenance.get("compressed")
        last = runs[-1] if isinstance(runs, list) and runs and isinstance(runs[-1], dict) else {}
        figures = {name: last[name] for name in MEASURED if name in last}
        decisions = figures.get("decisions")
        if isinstance(decisions, int) and decisions > 0:
            figures["bits_per_decision"] = 8 * size / decisions
        return {"bits_per_position": 8 * size / max(positions, 1), **figures}


@cache
def move_of(start: int, end: int, captures: bool) -> Move:
    """The move of numbers as the engine gives them: -1 is the box, or for the end a lost turn."""
    return Move.PASS if end < 0 else Move(None if start < 0 else start, end, captures)


def unchecked_board(own: int, other: int, rules: Rules) -> Board:
    """The board of two masks that are a position: nothing is checked again, which would take most of the time."""
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
