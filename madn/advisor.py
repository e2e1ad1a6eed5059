"""Answers about any position of any game, with or without a database.

    madn.Advisor().best_move("0,5,10,15/0,3", 4)

An `Advisor` asks in this order: a database (given, or found where `madn/places.py` says), a part of the game that can
be solved in seconds (`madn/parts.py`), the estimator. It says which of them answered. Either a position and everything
that can come after it are answered exactly, or all numbers are estimates, except those of finished games. So an answer
depends on which databases there are, never on what happens to be in the cache, and nothing is solved unless it makes
the whole answer exact. Exact values for just the moves that lead into an endgame would gain little (docs/query.md).
"""

import os
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from madn.board import STANDARD, Board, Move, as_board, checked_roll
from madn.database import (
    DATABASE,
    ESTIMATE,
    MOVES,
    SOLVED,
    Analysis,
    BestMoveDatabase,
    Database,
    Engine,
    MoveValue,
    analysis,
    best_moves_of,
    ids_of,
    move_of,
    move_values,
    open_database,
    rolls_of,
    unchecked_board,
)
from madn.errors import (
    IllegalMoveError,
    MadnError,
    MadnWarning,
    MissingBlockError,
    NoAnswerError,
    PlanError,
    ResourceError,
    RulesMismatchError,
)
from madn.estimator import Estimator, find_estimator
from madn.parts import BLOCK_BYTES, DAMAGE, POSITIONS, Part, Parts, Progress, Values, part_of
from madn.places import cache_bytes, cache_directory, data_directory, database_directories
from madn.ranges import MOST_BYTES, checked_int, checked_type
from madn.ranking import game_of
from madn.rules import Rules

EMBEDDED_RULES = Rules(pieces=2)  # those of the database that comes with the package
HOLDER = "this advisor is for"
BACKGROUND = threading.Lock()  # held while a part is solved in the background: one at a time, whatever the game


class Probability(float):
    """The probability that the side to move wins, with `source`, `exact` and `error` as in `MoveValue`."""

    __slots__ = ("error", "source")

    source: str
    error: float | None

    def __new__(cls, win: float, source: str, error: float | None) -> "Probability":
        """Create a float with its source and error."""
        self = super().__new__(cls, win)
        self.source, self.error = source, error
        return self

    def __getnewargs__(self) -> tuple[float, str, float | None]:  # type: ignore[override]
        return float(self), self.source, self.error

    @property
    def exact(self) -> bool:
        """Whether this is not an estimate."""
        return self.source != ESTIMATE


def _win_many(values: Values, ids: NDArray[np.int64]) -> NDArray[np.float64]:
    return values.win_many(ids)


class Asked(NamedTuple):
    """An answer, where its numbers come from, and their error.

    `final` is False for an estimate that stands in for an exact answer still being computed.
    """

    answer: Any
    source: str
    error: float | None
    final: bool = True


class Finished:
    """The values of finished games; for any other position, MissingBlockError."""

    policy = False  # for the engine, which reads from this: it has values
    error: float | None = 0.0

    def __init__(self, rules: Rules) -> None:
        self.game = game_of(rules)
        self.engine = Engine(self, 0.0)
        self._squares, self._full = rules.squares, (1 << rules.pieces) - 1

    def win(self, id: int) -> float:
        """The value of a position ID."""
        own, other = self.game.unrank(id)
        if own >> self._squares == self._full:
            return 1.0
        return 0.0 if other >> self._squares == self._full else self.open_win(own, other)

    def win_many(self, boards: NDArray[Any]) -> NDArray[np.float64]:
        """The values of position IDs."""
        own, other = self.game.unrank_many(boards)
        won, lost = (side >> np.uint64(self._squares) == self._full for side in (own, other))
        wins: NDArray[np.float64] = won.astype(np.float64)
        still = np.flatnonzero(~(won | lost))
        if len(still):
            wins[still] = self.open_wins(own[still], other[still])
        return wins

    wins = win_many  # what readers call it

    def open_win(self, own: int, other: int) -> float:
        """The value of a game that is not over."""
        raise MissingBlockError(f"{own:#x}, {other:#x}: the game is not over")

    def open_wins(self, own: NDArray[np.uint64], other: NDArray[np.uint64]) -> NDArray[np.float64]:
        """The values of games that are not over."""
        raise MissingBlockError(f"{len(own)} games are not over")

    def check_open(self) -> None:
        """Do nothing: it is always open."""

    def close(self) -> None:
        """Nothing to close."""


class Estimates(Finished):
    """The values that an estimator gives; those of finished games are exact."""

    def __init__(self, estimator: Estimator) -> None:
        super().__init__(estimator.rules)
        self.error = float(estimator.error)
        self.open_win, self.open_wins = estimator.win, estimator.wins  # type: ignore[method-assign]


@lru_cache(8)
def estimates_of(rules: Rules) -> Estimates | None:
    """The estimates for a game, however it starts; None if there is no estimator for it."""
    estimator = find_estimator(rules)
    return None if estimator is None else Estimates(estimator)


def checked_estimates(rules: Rules) -> Estimates:
    """The estimates for a game; `NoAnswerError` if there is no estimator for it."""
    estimates = estimates_of(rules)
    if estimates is None:
        raise NoAnswerError(f"there is no estimator for {rules}")
    return estimates


def find_databases(rules: Rules) -> list[Database]:
    """Open the databases of this game: the user's by ascending error, then the one that comes with the package.

    Databases that store best moves only are left out. One that cannot be read causes a warning.
    """
    found = []
    for path in database_directories():
        try:
            database = open_database(path)
        except RulesMismatchError:
            continue  # a database of another game than Ludo
        except (MadnError, OSError) as error:
            warnings.warn(f"database ignored: {error}", MadnWarning, stacklevel=2)
            continue
        if database.rules == rules and not isinstance(database, BestMoveDatabase):
            found.append(database)
        else:
            database.close()
    found.sort(key=lambda database: 1.0 if database.error is None else database.error)
    return [*found, open_database()] if rules == EMBEDDED_RULES else found


class Advisor:
    """Answers queries like a `Database`, but for any position of a game. Threads may share it.

    `rules` default to those of `database`, or else to the standard game. `database` (an open one, or a path) is queried
    first; without it, any databases that are found. Parts of the game with at most `limit` positions are solved when
    they are needed and kept in the directory `cache`, by default the user's cache directory; meanwhile `progress` is
    called with the fraction done and a few words. With `wait=False` they are solved in the background, one at a time on
    one thread, and answers are estimates until then. With `estimate=False` the estimator is not used.

    The answers of `win`, `moves` and `analyse` say where their numbers come from: `source` ("database", "solved" or
    "estimate"), `exact` and `error`. A query that cannot be answered raises `NoAnswerError`.
    """

    def __init__(
        self,
        rules: Rules | None = None,
        database: Database | str | os.PathLike[str] | None = None,
        *,
        cache: str | os.PathLike[str] | None = None,
        limit: int = POSITIONS,
        estimate: bool = True,
        wait: bool = True,
        progress: Progress | None = None,
    ) -> None:
        if rules is not None:
            checked_type("rules", rules, Rules)
        limit = checked_int("limit", limit, 0, MOST_BYTES)
        directory = cache_directory() if cache is None else Path(cache)
        shared = {} if wait else {"threads": 1, "block_bytes": BLOCK_BYTES // 4}  # leave room for the foreground
        kept = Parts(directory, cache_bytes(), **shared)
        self._opened: list[Database] = []  # those opened here, which are closed here
        if database is None:
            self.databases = self._opened = find_databases(rules or STANDARD)
        elif isinstance(database, Database):
            self.databases = [database]
        else:
            self.databases = self._opened = [open_database(database)]
        self.rules = rules or (STANDARD if database is None else self.databases[0].rules)
        if any(held.rules != self.rules for held in self.databases):
            held = self.databases[0]
            self._close_databases()
            raise RulesMismatchError(f"the database {held.path} holds {held.rules}, not {self.rules}")
        self.limit, self.wait, self.parts = limit, wait, kept
        self.estimates = estimates_of(self.rules) if estimate else None
        self.progress = progress or (lambda fraction, text: None)
        self._hopeless: dict[Part, str] = {}  # parts that cannot be solved here, and why
        self._background: threading.Thread | None = None
        self._over = Finished(self.rules)
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Advisor({self.rules!r})"

    def __enter__(self) -> "Advisor":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait for a solve in the background, then close whatever was opened here; closing again does nothing."""
        if self._background is not None:
            self._background.join()
        self.parts.close()
        self._close_databases()

    def _close_databases(self) -> None:
        for database in self._opened:
            database.close()

    def win(self, board: Board | str) -> Probability:
        """The probability that the side to move wins, before it rolls."""
        board = self._board(board)
        asked = self.ask(board, lambda values: values.engine.win(*board.masks))
        return Probability(asked.answer, asked.source, asked.error)

    def get_win(self, board: Board | str, default: float | None = None) -> float | None:
        """Like `win`, but returns `default` if there is no answer."""
        try:
            return self.win(board)
        except MissingBlockError:
            return default

    def best_move(self, board: Board | str, roll: SupportsIndex) -> Move:
        """The move after which the side to move wins most often; `Move.PASS` if there is no legal move.

        A forced move is returned without asking any source. In a finished game this raises `IllegalMoveError`.
        """
        board, roll = self._board(board), checked_roll(roll)
        moves = board.legal_moves(roll)
        if not moves:
            raise IllegalMoveError(f"board '{board}': the game is over: there are no moves")
        if len(moves) == 1:
            return moves[0]
        return move_of(*self.ask(board, lambda values: values.engine.best_move(*board.masks, roll)).answer)

    def moves(self, board: Board | str, roll: SupportsIndex) -> tuple[MoveValue[Any], ...]:
        """Every legal move with the mover's winning probability, best first; none in a finished game."""
        board, roll = self._board(board), checked_roll(roll)
        asked = self.ask(board, lambda values: values.engine.moves(*board.masks, roll))
        moves = move_values(asked.answer, self.rules, asked.source, asked.error)
        database = self.proved(board)
        return moves if database is None else database.with_bounds(moves, roll)

    def proved(self, board: Board | str) -> Database | None:
        """The database that answers for a board, if it has proved bounds."""
        database = next((held for held in self.databases if board in held), None)
        return database if database is not None and database.proved else None

    def analyse(self, board: Board | str) -> Analysis[Any]:
        """The value of a board, and of every legal move for each of the six rolls."""
        board = self._board(board)
        asked = self.ask(board, lambda values: values.engine.analyse(*board.masks))
        win, listed = asked.answer
        found = analysis(board, win, listed, asked.source, asked.error)
        database = self.proved(board)
        return found if database is None else database.bounded(found)

    def win_many(self, boards: Sequence[Board | str] | NDArray[Any]) -> NDArray[np.float64]:
        """The winning probabilities of many positions, given as for `Database.win_many`."""
        ids = ids_of(boards, self.rules, HOLDER)
        wins = np.empty(len(ids))
        for at, asked in self._ask_many(ids, len(ids)):
            wins[at] = asked.answer
        return wins

    def best_moves(self, boards: Sequence[Board | str] | NDArray[Any], rolls: Any) -> NDArray[np.void]:
        """The best moves of many positions, with one roll for each or one for all; see `Database.best_moves`."""
        ids = ids_of(boards, self.rules, HOLDER)
        dice = rolls_of(rolls, len(ids))
        moves = np.empty(len(ids), MOVES)
        for at, board in self._groups(ids):
            question = partial(best_moves_of, ids=ids[at], rolls=dice[at], rules=self.rules)
            moves[at] = self.ask(board, question).answer
        return moves

    def exact_many(self, boards: Sequence[Board | str] | NDArray[Any]) -> NDArray[np.bool_]:
        """Which of the numbers that `win_many` returns are exact."""
        ids = ids_of(boards, self.rules, HOLDER)
        exact = np.empty(len(ids), bool)
        for at, asked in self._ask_many(ids, 1):
            exact[at] = asked.source != ESTIMATE
        return exact

    def _ask_many(self, ids: NDArray[np.int64], most: int) -> Iterator[tuple[NDArray[np.intp], Asked]]:
        """For each pair of finish zones, the indices of its positions and the values of the first `most` of them."""
        for at, board in self._groups(ids):
            yield at, self.ask(board, partial(_win_many, ids=ids[at[:most]]))

    def _groups(self, ids: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.intp], Board]]:
        """For each pair of finish zones, the indices of its positions and one of their boards."""
        S, P = np.uint64(self.rules.squares), np.uint64(self.rules.pieces)
        own, other = game_of(self.rules).unrank_many(ids)
        pairs, group = np.unique(own >> S << P | other >> S, return_inverse=True)
        for number in range(len(pairs)):
            at = np.flatnonzero(group == number)
            yield at, unchecked_board(int(own[at[0]]), int(other[at[0]]), self.rules)

    def ask(self, board: Board, question: Callable[[Values], Any]) -> Asked:
        """Put a question about a board of this game to the first source that can answer it.

        `question` is called with the values of the position and of everything that can come after it.
        """
        missing: MissingBlockError | None = None
        for database in self.databases:
            try:
                return Asked(question(database), DATABASE, database.error)
            except MissingBlockError as error:
                missing = missing or error
        part = part_of(self.rules, *board.masks)
        if part is None:  # the game is over
            return Asked(question(self._over), SOLVED, 0.0)
        values, final = self._solved(part)
        while values is not None:
            try:
                return Asked(question(values), SOLVED, values.error)
            except DAMAGE:
                values = self.parts.renew(part, values, self.progress)
        if self.estimates is not None:
            return Asked(question(self.estimates), ESTIMATE, self.estimates.error, final)
        raise (missing if missing is not None and not self.limit else None) or self._nobody(part, board)

    @property
    def error(self) -> float | None:
        """The root mean square error of the estimates; None if there are none."""
        return None if self.estimates is None else self.estimates.error

    def check(self, board: Board | str) -> None:
        """Raise `NoAnswerError` if no source can answer for a board; nothing is solved."""
        board = self._board(board)
        part = part_of(self.rules, *board.masks)
        known = part is None or self.estimates is not None or part.positions <= self.limit
        if part is not None and not known and not any(board in database for database in self.databases):
            raise self._nobody(part, board)

    def whole(self, board: Board | str) -> Database | None:
        """The database of a board and everything that can come after it; None if that is too much to solve now."""
        board = self._board(board)
        for database in self.databases:
            if board in database:
                return database
        part = part_of(self.rules, *board.masks)
        if part is None or part.positions > self.limit:
            return None
        values = self._solve(part)
        return values if isinstance(values, Database) else None

    def remedy(self, board: Board | str) -> tuple[str, int] | None:
        """The command that makes a database with exact answers for a board, and how many positions it solves.

        None if the game is over.
        """
        board = self._board(board)
        part = part_of(self.rules, *board.masks)
        if part is None:
            return None
        only = "" if part.zones == (0, 0) else f" --for {board}"
        home = data_directory()
        out = "DIR" if home is None else home / "NAME"
        rules = self.rules.options.replace(f" --squares {STANDARD.squares}", "")  # the default
        return f"madn solve {rules}{only} --out {out}", part.positions

    def way_on(self, board: Board | str) -> str:
        """How to get an exact answer about a board, as a clause to end a message with."""
        remedy = self.remedy(board)
        return "the game is over" if remedy is None else f"`{remedy[0]}` makes a database with exact answers"

    def _board(self, board: Board | str) -> Board:
        return as_board(board, self.rules, HOLDER)

    def _solved(self, part: Part) -> tuple[Values | None, bool]:
        """The values of a part or None, and whether that is final: not while it is being solved in the background."""
        if part.positions > self.limit:
            return None, True
        values = self.parts.opened(part)
        if values is not None or part in self._hopeless:
            return values, True
        if self.wait or self.estimates is None:
            return self._solve(part), True
        with self._lock:
            if not self.parts.stores:  # the part would have to be solved again and again
                return None, True
            if BACKGROUND.acquire(blocking=False):
                self._background = threading.Thread(target=self._solve_behind, args=(part,), daemon=True)
                self._background.start()
        return None, False

    def _solve_behind(self, part: Part) -> None:
        """Solve a part, on the thread in the background."""
        try:
            self._solve(part)
        finally:
            BACKGROUND.release()

    def _solve(self, part: Part) -> Values | None:
        try:
            return self.parts.get(part, self.progress)
        except (PlanError, ResourceError) as error:
            self._hopeless[part] = str(error)
            return None

    def _nobody(self, part: Part, board: Board) -> NoAnswerError:
        """The error for a board that no source can answer for."""
        why = self._hopeless.get(part, f"{part.positions:,} positions are too many to solve now")
        return NoAnswerError(f"{board}: no database and no estimator for {self.rules}, and {why}; {self.way_on(board)}")
