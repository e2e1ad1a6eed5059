"""Opening and querying a database."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property, lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, Protocol, Self, SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

from madn._engine import Engine as Engine
from madn.board import Board, Move, as_board, checked_roll
from madn.errors import CorruptBlockError, IllegalMoveError, InvalidBoardError, MissingBlockError, NoValuesError
from madn.ranges import MOST_BYTES, checked_int
from madn.ranking import game_of, rank_many
from madn.rules import ROLLS, Rules, rolls_again
from madn.store.reader import CACHE_BYTES, BlockReader, open_reader
from madn.views import analysis_view, database_view

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # need not be installed: type checkers know it

    Win = TypeVar("Win", bound=float | None, default=float | None, covariant=True)
else:
    from typing import TypeVar

    Win = TypeVar("Win")

Option = tuple[int, int, bool, int, int, float | None]  # a move as the engine returns it
DATABASE, SOLVED, ESTIMATE = "database", "solved", "estimate"  # where a number comes from
PLIES = 300  # games last no longer on average, so an error is at most this many times the residual (docs/method.md)
MEASURED = ("decisions", "max_loss", "max_loss_board", "mean_loss")
EMBEDDED = "two-pieces"  # the directory in madn/data of the small database that comes with the package
PRELOADED = 1 << 22  # positions of the largest game that `preload` decodes completely: 32 MiB
AT_ONCE = 1 << 18  # positions whose best moves are found at a time
MOVES = np.dtype([("start", np.int8), ("end", np.int8), ("captures", np.bool_)])  # a row of `best_moves`


@dataclass(frozen=True, slots=True)
class MoveValue(Generic[Win]):
    """A legal move, the mover's winning probability after it, and the board before the next roll.

    `win` is None if the database stores best moves only. The moves of a `ValueDatabase` are of type `MoveValue[float]`,
    so that type checkers know their `win` is a float. `source` says where `win` comes from: "database", "solved" (on
    demand) or "estimate". `error` is the largest error that a value from this source can have, or for an estimate the
    root mean square error; it is None if unknown. `lower` and `upper` bound `win` where bounds are proved.
    """

    move: Move
    win: Win
    board: Board
    source: str = DATABASE
    error: float | None = None
    lower: float | None = None
    upper: float | None = None

    @property
    def exact(self) -> bool:
        """Whether this is not an estimate."""
        return self.source != ESTIMATE


@dataclass(frozen=True, slots=True)
class RollValue(Generic[Win]):
    """A roll, the mover's winning probability with the best move, and all legal moves, best first."""

    roll: int
    win: Win
    moves: tuple[MoveValue[Win], ...]

    @property
    def proved(self) -> bool | None:
        """Whether the first move is proved to be best; None without proved bounds."""
        return proved_best(self.moves)


@dataclass(frozen=True, slots=True)
class Analysis(Generic[Win]):
    """A board, the probability (before the roll) that the side to move wins, and the six rolls with their moves.

    In a finished game `rolls` is empty. The analysis is `exact` if all its numbers are. `lower` and `upper` bound `win`
    where bounds are proved.
    """

    board: Board
    win: Win
    rolls: tuple[RollValue[Win], ...]
    source: str = DATABASE
    error: float | None = None
    lower: float | None = None
    upper: float | None = None

    @property
    def exact(self) -> bool:
        """Whether no number in it is an estimate."""
        return self.source != ESTIMATE

    def _repr_html_(self) -> str:
        return analysis_view(self)


@overload
def open_database(path: None = None, *, values: bool = False, cache_bytes: int = CACHE_BYTES) -> "ValueDatabase": ...
@overload
def open_database(
    path: str | os.PathLike[str] | None, *, values: Literal[True], cache_bytes: int = CACHE_BYTES
) -> "ValueDatabase": ...
@overload
def open_database(
    path: str | os.PathLike[str] | None = None, *, values: bool = False, cache_bytes: int = CACHE_BYTES
) -> "Database": ...
def open_database(
    path: str | os.PathLike[str] | None = None, *, values: bool = False, cache_bytes: int = CACHE_BYTES
) -> "Database":
    """Open a database; without a path, the small two-piece database that comes with the package.

    Returns a `ValueDatabase`, or a `BestMoveDatabase` if only best moves are stored; with `values=True` the latter
    raises `NoValuesError` instead.

    All files are opened now, so the object keeps answering from this database even if another one replaces it on disk.
    Blocks are read when they are needed, and at most `cache_bytes` of decoded blocks stay in memory.
    """
    reader = open_reader(embedded_path() if path is None else Path(path), cache_bytes)
    if not reader.policy:
        return ValueDatabase(reader)
    if values:
        reader.close()
        raise NoValuesError(f"{path}: this database stores best moves, not winning probabilities")
    return BestMoveDatabase(reader)


def embedded_path() -> Path:
    """The path of the database that comes with the package."""
    return Path(str(resources.files("madn") / "data" / EMBEDDED))


class Database(Generic[Win]):
    """A solved game to query. Threads may share it; `with` closes it. A board may be given as text.

    `rules` are the rules of the game. `len(db)` is the number of stored positions, `board in db` says whether one is
    stored, and `for board in db` goes through them in the order of their IDs. A database can be pickled: the copy opens
    the same path again, and must find the same database there. A forked process may go on using the database.

    The mover's winning probability decides which move is best. Moves within `tie` of the largest probability count as
    equal (1e-12 in `float64`, 2**-29 in `fixed32`, 0 for rounded values); the best of these is the one that starts on
    the highest square, with the piece furthest along. The others follow by descending probability, then by descending
    start.

    A database may store best moves only. Then `win` and `win_many` raise `NoValuesError`, `get_win` returns its
    default, and every `.win` in an answer is None. `engine` gives the same answers as plain numbers, for bit masks.
    """

    def __init__(self, reader: BlockReader) -> None:
        self.path = reader.directory
        self._holder = f"the database {self.path} holds"
        self._reader = reader
        self._catalogue = self._reader.catalogue
        self.rules = self._catalogue.rules
        self.tie = max((stored.encoding.tie for stored in self._catalogue.encodings), default=0.0)
        self.error = self._error()
        self.engine = Engine(self._reader, self.tie)

    @property
    def values(self) -> str:
        """How values are stored: `float64`, `fixed32`, `bits8` to `bits24`, or `policy` for best moves only.

        With proved bounds it is `proved64` or `proved32`.
        """
        if self._reader.policy:
            return "policy"
        return "+".join(stored.encoding.name for stored in self._catalogue.encodings)

    @property
    def proved(self) -> bool:
        """Whether every value has proved bounds."""
        return self._reader.steps > 0

    @property
    def whole(self) -> bool:
        """Whether it has every position of the game."""
        return len(self) == self.engine.game.positions

    def _error(self) -> float | None:
        """The largest possible error of a value, from rounding and from the solve together; None if unknown."""
        width = self._catalogue.provenance.get("width")
        if self._reader.steps and isinstance(width, float) and 0 <= width <= 1:
            return width  # the value and the solution both lie between the bounds
        residual = self._catalogue.provenance.get("residual")
        if self._reader.policy or not isinstance(residual, float) or not 0 <= residual <= 1:
            return None
        return max((stored.max_error for stored in self._catalogue.encodings), default=0.0) + PLIES * residual

    @property
    def digests(self) -> dict[str, str]:
        """The SHA-256 of each file of frames, as listed in the catalogue."""
        return {file.name: file.sha256 for file in self._catalogue.files}

    def __repr__(self) -> str:
        return f"open_database({str(self.path)!r})"

    def _repr_html_(self) -> str | None:
        return None if self._reader.closed else database_view(self)

    def __reduce__(self) -> tuple[Any, ...]:
        self._reader.check_open()
        path = None if self.path == embedded_path() else str(self.path.absolute())
        return reopened, (path, self._reader.cache_bytes, self.digests)

    def __len__(self) -> int:
        self._reader.check_open()
        return self._positions

    @cached_property
    def _positions(self) -> int:
        return self._reader.totals()[1]

    def __contains__(self, board: Board | str) -> bool:
        self._reader.check_open()
        board = as_board(board, self.rules)
        return board.rules == self.rules and self._reader.stores(self.engine.game.rank(*board.masks))

    def ranges(self) -> Iterator[tuple[int, int]]:
        """The stored IDs, ascending: the first ID and the count of each block."""
        self._reader.check_open()
        yield from self._reader.ranges()

    def __iter__(self) -> Iterator[Board]:
        for first, count in self.ranges():
            masks = self.engine.game.unrank_many(np.arange(first, first + count))
            for own, other in zip(*(side.tolist() for side in masks), strict=True):
                self._reader.check_open()
                yield unchecked_board(own, other, self.rules)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files and free the memory; closing again does nothing.

        Reads in progress in other threads still complete; any later query raises `ClosedDatabaseError`.
        """
        self._reader.close()
        self.engine.close()

    def preload(self, most: int = 0) -> None:
        """Decode all values of a small game now, up to 32 MiB, so that no answer waits for the disk.

        With `most`, the values of a larger game are kept in memory for `win_many`, if in their encoding they take at
        most that many bytes.
        """
        self._reader.check_open()
        positions = self.engine.game.positions
        most = checked_int("most", most, 0, MOST_BYTES)
        if most and not self._reader.policy:
            self._reader.hold(most)
        if not self._reader.policy and self.whole and positions <= PRELOADED:
            self.engine.hold(self._reader.wins(np.arange(positions)))

    def win(self, board: Board | str) -> float:
        """The probability that the side to move wins, before it rolls."""
        return self.engine.win(*self._masks(board))

    def get_win(self, board: Board | str, default: float | None = None) -> float | None:
        """Like `win`, but returns `default` for a position that is not in this database or has no value in it."""
        try:
            return self.win(board)
        except MissingBlockError:
            return default

    def best_move(self, board: Board | str, roll: SupportsIndex) -> Move:
        """The move after which the side to move wins most often; `Move.PASS` if there is no legal move.

        A forced move is returned without reading the database. In a finished game this raises `IllegalMoveError`.
        """
        best = self.engine.best_move(*self._masks(board), checked_roll(roll))
        if best is None:
            raise IllegalMoveError(f"board '{board}': the game is over: there are no moves")
        return move_of(*best)

    def moves(self, board: Board | str, roll: SupportsIndex) -> tuple[MoveValue[Win], ...]:
        """Every legal move with the mover's winning probability, best first; none in a finished game.

        If only best moves are stored, the other moves follow the best one by descending start.
        """
        listed = self.engine.moves(*self._masks(board), checked_roll(roll))
        return self.with_bounds(move_values(listed, self.rules, DATABASE, self.error), roll)

    def analyse(self, board: Board | str) -> Analysis[Win]:
        """The value of a board, and of every legal move for each of the six rolls."""
        board = as_board(board, self.rules)
        found = analysis(board, *self.engine.analyse(*self._masks(board)), DATABASE, self.error)
        return self.bounded(found)

    def bounds(self, board: Board | str) -> tuple[float, float]:
        """Proved lower and upper bounds of the probability that the side to move wins.

        Raises `NoBoundsError` if the database was solved without proving any.
        """
        lower, upper = self.bounds_many([board])
        return float(lower[0]), float(upper[0])

    def check_bounds(self) -> None:
        """Raise `NoBoundsError` unless the database has proved bounds."""
        self._reader.check_open()
        self._reader.check_bounds()

    def bounds_many(
        self, boards: Sequence[Board | str] | NDArray[Any]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Proved lower and upper bounds of many positions, given as for `win_many`; no bound is rounded."""
        lower, upper = self._reader.bounds(self._ids(boards))
        return lower / self._reader.steps, upper / self._reader.steps

    def proved_best(self, board: Board | str, roll: SupportsIndex) -> bool:
        """Whether the move that `best_move` returns is proved to be best; `NoBoundsError` without proved bounds."""
        self._reader.check_bounds()
        moves = self.moves(board, roll)
        if not moves:
            raise IllegalMoveError(f"board '{board}': the game is over: there are no moves")
        return bool(proved_best(moves))

    def with_bounds(self, moves: tuple[MoveValue[Any], ...], roll: SupportsIndex) -> tuple[MoveValue[Any], ...]:
        """The moves of a roll with bounds of the mover's winning probability after each, if there are any."""
        roll = checked_roll(roll)
        if not self.proved or not moves:
            return moves
        lower, upper = self.bounds_many([move.board for move in moves])
        if not rolls_again(roll):  # these bounds are those of the other side, which rolls next
            lower, upper = 1 - upper, 1 - lower
        bounds = zip(moves, lower.tolist(), upper.tolist(), strict=True)
        return tuple(replace(move, lower=low, upper=high) for move, low, high in bounds)

    def bounded(self, found: Analysis[Any]) -> Analysis[Any]:
        """The analysis with proved bounds added, if there are any."""
        if not self.proved:
            return found
        lower, upper = self.bounds(found.board)
        rolls = tuple(replace(r, moves=self.with_bounds(r.moves, r.roll)) for r in found.rolls)
        return replace(found, rolls=rolls, lower=lower, upper=upper)

    def win_many(self, boards: Sequence[Board | str] | NDArray[Any]) -> NDArray[np.float64]:
        """The winning probabilities of many positions, in the order given.

        `boards` is a sequence of boards, or an array of position IDs (1-d, whole numbers), or an array of masks (two
        columns: the squares of the side to move and of the other, bit q for square q in each side's own numbers).
        """
        return self._reader.wins(self._ids(boards))

    def best_moves(
        self,
        boards: Sequence[Board | str] | NDArray[Any],
        rolls: SupportsIndex | Sequence[SupportsIndex] | NDArray[Any],
    ) -> NDArray[np.void]:
        """The best moves of many positions, given as for `win_many`, with one roll for each or one for all.

        Each row of the returned array is the move that `best_move` returns, with the fields `start` (-1 is the box),
        `end` and `captures`; where there is no legal move, both squares are -1.
        """
        ids = self._ids(boards)
        dice = rolls_of(rolls, len(ids))
        self._reader.check_open()
        return best_moves_of(self, ids, dice, self.rules)

    def info(self) -> dict[str, Any]:
        """What the database contains and how it was made, ready for JSON; compares the catalogue with its digest."""
        from madn.store.verify import check_catalogue  # imported here: queries about positions do not need it

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

    def _ids(self, boards: Sequence[Board | str] | NDArray[Any]) -> NDArray[np.int64]:
        return ids_of(boards, self.rules, self._holder)

    def _compression(self, positions: int, size: int) -> dict[str, Any]:
        """Bits per position, and what compression measured: the `decisions` of a policy, losses of rounded values."""
        runs = self._catalogue.provenance.get("compressed")
        last = runs[-1] if isinstance(runs, list) and runs and isinstance(runs[-1], dict) else {}
        figures = {name: last[name] for name in MEASURED if name in last}
        decisions = figures.get("decisions")
        if isinstance(decisions, int) and decisions > 0:
            figures["bits_per_decision"] = 8 * size / decisions
        return {"bits_per_position": 8 * size / max(positions, 1), **figures}


def ids_of(
    boards: Sequence[Board | str] | NDArray[Any], rules: Rules, holder: str = "this game is of"
) -> NDArray[np.int64]:
    """The IDs of positions given as boards, as masks (two columns), or as IDs, which are checked."""
    if not isinstance(boards, np.ndarray) or boards.dtype.kind in "OU":
        masks = [as_board(board, rules, holder).masks for board in boards]
        boards = np.array(masks, np.uint64).reshape(-1, 2)
    if boards.ndim != 1:
        return rank_many(boards, rules)
    if boards.dtype.kind not in "iu":
        raise InvalidBoardError(f"positions must be boards, IDs or masks, not an array of {boards.dtype}")
    positions = game_of(rules).positions
    wrong = (boards < 0) | (boards >= positions)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise InvalidBoardError(f"position {at}: ID {boards[at]} is outside 0 to {positions - 1}")
    return boards.astype(np.int64)


def rolls_of(rolls: object, count: int) -> NDArray[np.int64]:
    """One roll for each of `count` positions; IllegalMoveError names the first number that is not a roll."""
    given = np.asarray(rolls)
    if given.ndim == 0:
        return np.full(count, checked_roll(given[()]), np.int64)
    if given.dtype.kind not in "iu" and given.size:
        raise IllegalMoveError(f"rolls must be whole numbers from 1 to {ROLLS[-1]}, not an array of {given.dtype}")
    if given.shape != (count,):
        raise IllegalMoveError(f"expected {count} rolls, one per position, found an array of shape {given.shape}")
    wrong = np.flatnonzero((given < ROLLS[0]) | (given > ROLLS[-1]))
    if wrong.size:
        raise IllegalMoveError(f"position {wrong[0]}: a roll is 1 to {ROLLS[-1]}, not {given[wrong[0]]}")
    return given.astype(np.int64)


class Engined(Protocol):
    """Anything that answers with an engine."""

    @property
    def engine(self) -> Engine:
        """The engine."""


def best_moves_of(values: Engined, ids: NDArray[np.int64], rolls: NDArray[np.int64], rules: Rules) -> NDArray[np.void]:
    """The best moves of position IDs, each with its roll; IllegalMoveError names the first finished game."""
    moves = np.empty(len(ids), MOVES)
    for begin in range(0, len(ids), AT_ONCE):
        some = slice(begin, begin + AT_ONCE)
        start, end, captures = values.engine.best_moves(ids[some], rolls[some])
        if (over := np.flatnonzero(end < -1)).size:
            at = begin + int(over[0])
            board = unchecked_board(*values.engine.game.unrank(ids[at]), rules)
            raise IllegalMoveError(f"position {at}: board '{board}': the game is over: there are no moves")
        moves["start"][some], moves["end"][some], moves["captures"][some] = start, end, captures
    return moves


def move_values(options: list[Option], rules: Rules, source: str, error: float | None) -> tuple[MoveValue[Any], ...]:
    """The engine's moves as `MoveValue`s with their source; the value of a finished game is never an estimate."""
    values: tuple[MoveValue[Any], ...] = tuple(
        MoveValue(move_of(start, end, captures), win, unchecked_board(own, other, rules), source, error)
        for start, end, captures, own, other, win in options
    )
    if source != ESTIMATE:
        return values
    return tuple(v if v.board.winner is None else replace(v, source=SOLVED, error=0.0) for v in values)


def analysis(
    board: Board, win: float | None, listed: list[list[Option]], source: str, error: float | None
) -> Analysis[Any]:
    """The engine's analysis as an `Analysis` with its source."""
    rolls: tuple[RollValue[Any], ...] = tuple(
        RollValue(roll, moves[0][-1], move_values(moves, board.rules, source, error))
        for roll, moves in zip(ROLLS, listed, strict=False)
    )
    return Analysis(board, win, rolls, source, error)


def proved_best(moves: Sequence[MoveValue[Any]]) -> bool | None:
    """Whether the first move is proved to be best, as no other can be worth more; None without proved bounds."""
    if not moves or moves[0].lower is None:
        return None
    return all(other.upper is not None and other.upper <= moves[0].lower for other in moves[1:])


class ValueDatabase(Database[float]):
    """A database with winning probabilities: no `.win` in its answers is None."""


class BestMoveDatabase(Database[None]):
    """A database of best moves: `win` and `win_many` raise `NoValuesError`, and every `.win` in an answer is None."""

    def win(self, board: Board | str) -> NoReturn:
        """Raises `NoValuesError`."""
        super().win(board)
        raise AssertionError("a database of best moves has no values")

    def win_many(self, boards: Sequence[Board | str] | NDArray[Any]) -> NoReturn:
        """Raises `NoValuesError`."""
        super().win_many(boards)
        raise AssertionError("a database of best moves has no values")


def reopened(path: str | None, cache_bytes: int, digests: dict[str, str]) -> Database:
    """Reopen a database that was pickled; `CorruptBlockError` if another one has replaced it."""
    database = open_database(path, cache_bytes=cache_bytes)
    if database.digests != digests:
        database.close()
        raise CorruptBlockError(f"{database.path}: not the database that was pickled: the digests of its files differ")
    return database


@cache
def move_of(start: int, end: int, captures: bool) -> Move:
    """The move for the numbers that the engine returns: start -1 is the box, end -1 is a lost roll."""
    return Move.PASS if end < 0 else Move(None if start < 0 else start, end, captures)


def unchecked_board(own: int, other: int, rules: Rules) -> Board:
    """The board of two masks that are known to be a position: checking them again would take most of the time."""
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
