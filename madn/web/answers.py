"""What a served database answers, as JSON: a position with all its rolls and moves, the move of a player.

Answers are written as text directly, from the masks of the engine: a `Board` and a `Move` object for each of the ten or
so boards after a position would take most of the time of a request. `Database.analyse` is the readable twin.
"""

import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache, lru_cache
from typing import NamedTuple

from madn.board import Board
from madn.database import Database, Option, move_of, squares_of
from madn.drawing import layout
from madn.errors import CorruptBlockError, IllegalMoveError, InvalidBoardError, MissingBlockError
from madn.players import PLAYERS, OptimalPlayer
from madn.rules import ROLLS
from madn.store.reader import CACHE_BYTES

BOARD_CHARACTERS = 40  # the longest board, of two sides with six pieces, has 35
CACHED_ANSWERS = 8192  # about 2 kB each
CACHED_SIDES = 1 << 16  # sides whose text is cached


class Answer(NamedTuple):
    """The bytes of a JSON answer, and the tag that changes when they do."""

    body: bytes
    tag: str


def tagged(body: bytes) -> Answer:
    """An answer with its tag."""
    return Answer(body, f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"')


def encoded(answer: object) -> bytes:
    """An answer in JSON, without spaces; ValueError for what JSON does not have: NaN, half a character."""
    return json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


class Served:
    """One database as it is served: its name, its version, and its latest answers.

    The version changes when the database does; an answer of one version never changes. `at_hand` says that all
    values fit into memory, so that an answer, after the first few, waits for no disk.
    """

    def __init__(self, name: str, database: Database) -> None:
        self.name = name
        self.database = database
        self.rules = database.rules
        info = database.info()
        try:
            self.version = hashlib.sha256(encoded([info, database.digests])).hexdigest()[:12]
            for named in info["boards"].values():
                self.board(named["board"])
        except ValueError as error:  # InvalidBoardError is one
            raise CorruptBlockError(f"{database.path}: the catalogue cannot be served: {error}") from None
        if not "".join(info["boards"]).isprintable():
            raise CorruptBlockError(f"{database.path}: the catalogue cannot be served: the name of a board is no text")
        names = ("rules", "positions", "bytes", "values", "max_error", "boards")
        self.facts = {"name": name, "version": self.version} | {fact: info[fact] for fact in names}
        self.at_hand = info["positions"] * 8 <= CACHE_BYTES
        self.layout = tagged(encoded(asdict(layout(self.rules))))
        self.position = lru_cache(CACHED_ANSWERS)(self._position)
        database.preload()

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
                head = b'{"board":"%s","win":null,"winner":null,"tries":%d,"rolls":null}'
                bodies.append(head % (str(board).encode(), board.tries))
        return b'{"positions":[%s]}' % b",".join(bodies)

    def move(self, text: str, roll: int, player: str, seed: int) -> Answer:
        """The move that a player makes, and all legal ones, best first. The same seed draws the same lots."""
        board = self.board(text)
        if board.winner is not None:
            raise IllegalMoveError(f"board '{text}': the game is over, there are no moves")
        options = self.database.engine.moves(*board.masks, roll)
        chosen = options[0]
        chooser = PLAYERS[player]
        if not isinstance(chooser, OptimalPlayer):  # the best move is the first one
            move = chooser.choose(board, roll, random.Random(f"{seed} {text} {roll}"))
            chosen = next(option for option in options if move_of(*option[:3]) == move)
        return tagged(
            f'{{"board":"{board}","roll":{roll},"player":"{player}","seed":{seed},"move":"{move_of(*chosen[:3])}",'
            f'"win":{_win(chosen[-1])},"loss":{_loss(chosen, options)},"moves":[{_written(options)}]}}'.encode()
        )

    def _body(self, board: Board) -> bytes:
        if board.winner is not None:
            won = float(board.winner == "own")
            return f'{{"board":"{board}","win":{won},"winner":"{board.winner}","tries":1,"rolls":[]}}'.encode()
        win, listed = self.database.engine.analyse(*board.masks)
        rolls = ",".join(
            f'{{"roll":{roll},"win":{_win(options[0][-1])},"moves":[{_written(options)}]}}'
            for roll, options in zip(ROLLS, listed, strict=True)
        )
        head = f'"board":"{board}","win":{_win(win)},"winner":null,"tries":{board.tries}'
        return f'{{{head},"rolls":[{rolls}]}}'.encode()


def _written(options: list[Option]) -> str:
    """Moves in JSON, each with what it costs against the first, the best."""
    return ",".join(
        f'{_head(option[0], option[1], option[2])},"win":{_win(option[5])},"loss":{_loss(option, options)},'
        f'"board":"{_side(option[3])}/{_side(option[4])}"}}'
        for option in options
    )


@cache
def _head(start: int, end: int, captures: bool) -> str:
    """The beginning of a move in JSON."""
    move = move_of(start, end, captures)
    numbers = f'"from":{json.dumps(move.start)},"to":{json.dumps(move.end)}'
    return f'{{"move":"{move}",{numbers},"captures":{"true" if captures else "false"}'


def _loss(option: Option, options: list[Option]) -> str:
    best, win = options[0][-1], option[-1]
    if best is None or win is None:
        return "null"
    loss = best - win
    return "0.0" if loss <= 0 else _win(loss)


def _win(value: float | None) -> str:
    """A probability in JSON; null if it is unknown, or none at all: a damaged file may hold any number."""
    return repr(value) if value is not None and 0 <= value <= 1 else "null"


@lru_cache(CACHED_SIDES)
def _side(mask: int) -> str:
    """One side of a board as it is written."""
    return ",".join(map(str, squares_of(mask))) or "b"
