"""What a served database answers, as JSON: a position with all its rolls and moves, the move of a player.

Answers are written as text directly, from masks: a `Board` and a `Move` object for each of the ten or so boards
after a position would take most of the time of a request. `Database.analyse` is the readable twin of this file.
"""

import hashlib
import json
import random
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from madn._core import Game
from madn.board import Board, Move
from madn.database import Database, made_move, squares_of
from madn.drawing import Side, layout
from madn.errors import IllegalMoveError, InvalidBoardError, MissingBlockError
from madn.players import PLAYERS, OptimalPlayer
from madn.rules import DIE
from madn.store.reader import CACHE_BYTES, open_reader
from madn.store.records import SUMS

BOARD_CHARACTERS = 40  # the longest board, of two sides with six pieces, has 35
CACHED_ANSWERS = 8192  # about 2 kB each
CACHED_SIDES = 1 << 16  # sides whose moves, or whose text, are kept
FEW_POSITIONS = 1 << 22  # of a game whose values are decoded when it is opened: 32 MiB at most
NEAR = 2.0**-24  # more than any stored value is rounded without that being said in `max_error`
POLICY = "policy"  # how the values are called of a database that has only the best moves


class Answer(NamedTuple):
    """The bytes of a JSON answer, and the tag that changes when they do."""

    body: bytes
    tag: str


class OwnMove(NamedTuple):
    """A move of one side: its squares afterwards, the square of the other side that it hits, and its texts."""

    after: int
    hit: int
    quiet: str
    capture: str


class Option(NamedTuple):
    """A legal move: how it is written, the mover's winning probability after it, and the masks that follow."""

    head: str
    win: float | None
    own: int
    other: int


def tagged(body: bytes) -> Answer:
    """An answer with its tag."""
    return Answer(body, f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"')


def encoded(answer: object) -> bytes:
    """An answer in JSON, without spaces."""
    return json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


class Served:
    """One database as it is served: its name, its version, and the answers it gave last.

    The version changes when the database does; an answer of one version never changes. `at_hand` says that all
    values fit into memory, so that an answer, after the first few, waits for no disk.
    """

    def __init__(self, name: str, database: Database) -> None:
        self.name = name
        self.database = database
        self.rules = database.rules
        info = database.info()
        digest = hashlib.sha256(encoded(info))
        if (database.path / SUMS).exists():
            digest.update((database.path / SUMS).read_bytes())
        self.version = digest.hexdigest()[:12]
        names = ("rules", "positions", "bytes", "values", "max_error", "boards")
        self.facts = {"name": name, "version": self.version} | {fact: info[fact] for fact in names}
        self.at_hand = info["positions"] * 8 <= CACHE_BYTES
        self.layout = tagged(encoded(self._layout()))
        self.position = lru_cache(CACHED_ANSWERS)(self._position)
        self._own_moves = lru_cache(CACHED_SIDES)(self._find_own_moves)
        self._game = Game(self.rules)
        self._rank = self._game.rank
        self._reader = None if POLICY in info["values"] else open_reader(database.path)
        self._values: NDArray[np.float64] | None = None  # all of them, where they are few
        if self._reader is not None and info["positions"] == self.rules.positions <= FEW_POSITIONS:
            self._values = self._reader.wins(np.arange(self.rules.positions))

    def close(self) -> None:
        """Close the files; the database is closed by who opened it."""
        if self._reader is not None:
            self._reader.close()

    def board(self, text: str) -> Board:
        """The board of a text; InvalidBoardError if it is none."""
        if len(text) > BOARD_CHARACTERS:
            raise InvalidBoardError(f"a board has at most {BOARD_CHARACTERS} characters, not {len(text)}")
        return Board.parse(text, self.rules)

    def _position(self, text: str) -> Answer:
        return tagged(self._body(self.board(text)))

    def positions(self, texts: Sequence[str]) -> bytes:
        """The answers for many boards; of a board that is not in the database everything is unknown, null."""
        boards = []
        for number, text in enumerate(texts):
            try:
                boards.append(self.board(text))
            except InvalidBoardError as error:
                raise InvalidBoardError(f"boards[{number}]: {error}") from None
        bodies = []
        for board in boards:
            try:
                bodies.append(self._body(board))
            except MissingBlockError:
                bodies.append(b'{"board":"%s","win":null,"winner":null,"rolls":null}' % str(board).encode())
        return b'{"positions":[%s]}' % b",".join(bodies)

    def move(self, text: str, roll: int, player: str, seed: int) -> Answer:
        """The move that a player makes, and all legal ones, best first. The same seed draws the same lots."""
        board = self.board(text)
        if board.winner is not None:
            raise IllegalMoveError(f"board '{text}': the game is over, there are no moves")
        ((_, options),) = self._rolls(board, [roll])[1]
        chosen = options[0]
        chooser = PLAYERS[player]
        if not isinstance(chooser, OptimalPlayer):  # the best move is the first one
            move = chooser.choose(board, roll, random.Random(f"{seed} {text} {roll}"))
            chosen = next(option for option in options if option.head == _head(move))
        head = chosen.head.partition('"from"')[0].rstrip(",").lstrip("{")
        return tagged(
            f'{{"board":"{board}","roll":{roll},"player":"{player}","seed":{seed},{head},"win":{_number(chosen.win)},'
            f'"loss":{_loss(chosen, options)},"moves":[{_written(options)}]}}'.encode()
        )

    def _body(self, board: Board) -> bytes:
        if board.winner is not None:
            won = float(board.winner == "own")
            return f'{{"board":"{board}","win":{won},"winner":"{board.winner}","rolls":[]}}'.encode()
        win, found = self._rolls(board, range(1, DIE + 1))
        rolls = ",".join(
            f'{{"roll":{roll},"win":{_number(options[0].win)},"moves":[{_written(options)}]}}'
            for roll, options in found
        )
        return f'{{"board":"{board}","win":{_number(win)},"winner":null,"rolls":[{rolls}]}}'.encode()

    def _rolls(self, board: Board, rolls: Sequence[int]) -> tuple[float | None, list[tuple[int, list[Option]]]]:
        """The winning probability before the roll, and for each of some rolls the moves, best first."""
        own, other = board.masks
        win = self._win(own, other)
        found = []
        for roll in rolls:
            options = []
            for move in self._own_moves(own, roll):
                left = other & ~move.hit
                head = move.quiet if left == other else move.capture
                mine, theirs = (move.after, left) if roll == DIE else (left, move.after)
                value = self._win(mine, theirs)
                options.append(Option(head, value if value is None or roll == DIE else 1.0 - value, mine, theirs))
            options.sort(key=_by_win)  # stable: between equals the piece further along
            if len(options) > 1 and (win is None or _near(options)):
                best = _head(self.database.best_move(board, roll))  # what counts as equal is the database's to say
                at = next(at for at, option in enumerate(options) if option.head == best)
                options.insert(0, options.pop(at))
            found.append((roll, options))
        return win, found

    def _win(self, own: int, other: int) -> float | None:
        """The winning probability of the side to move; None if the database stores only the best moves."""
        if self._values is not None:
            value: float = self._values.item(self._rank(own, other))
            return value
        return None if self._reader is None else self._reader.win(self._rank(own, other))

    def _find_own_moves(self, own: int, roll: int) -> tuple[OwnMove, ...]:
        """The moves of a side by descending start; a lost turn is one that changes nothing."""
        squares, found = self.rules.squares, []
        for after, start, end in reversed(self._game.own_moves(own, roll)):
            hit = 1 << (end + squares // 2) % squares if end < squares else 0
            heads = (_head(made_move(start, end, captures)) for captures in (False, True))
            found.append(OwnMove(after, hit, *heads))
        return tuple(found) or (OwnMove(own, 0, _head(Move.PASS), ""),)

    def _layout(self) -> dict[str, object]:
        def side(cells: Side) -> dict[str, object]:
            return {"path": cells.path, "box": cells.box}

        grid = layout(self.rules)
        sides = {"bottom": side(grid.bottom), "top": side(grid.top)}
        return {"width": grid.width, "height": grid.height, **sides}


def _by_win(option: Option) -> float:
    return -(option.win or 0.0)


def _near(options: list[Option]) -> bool:
    """Whether the first two moves differ by less than values may be rounded."""
    first, second = options[0].win, options[1].win
    return first is not None and second is not None and first - second < NEAR


def _head(move: Move) -> str:
    """The beginning of a move in JSON."""
    captures = "true" if move.captures else "false"
    return f'{{"move":"{move}","from":{_number(move.start)},"to":{_number(move.end)},"captures":{captures}'


def _written(options: list[Option]) -> str:
    """Moves in JSON, each with what it costs against the first, the best."""
    return ",".join(
        f'{option.head},"win":{_number(option.win)},"loss":{_loss(option, options)},'
        f'"board":"{_side(option.own)}/{_side(option.other)}"}}'
        for option in options
    )


def _loss(option: Option, options: list[Option]) -> str:
    best = options[0].win
    return "null" if best is None or option.win is None else repr(max(best - option.win, 0.0))


def _number(value: float | None) -> str:
    """A number as JSON has it; unknown is null."""
    return "null" if value is None else repr(value)


@lru_cache(CACHED_SIDES)
def _side(mask: int) -> str:
    """One side of a board as it is written."""
    return ",".join(map(str, squares_of(mask))) or "b"
