"""The answers of a served game, as JSON: a position with all its rolls and moves, the move of a player.

Answers are written directly as text, from the masks of the engine: making a `Board` and a `Move` object for each of the
ten or so boards after a position would take most of the time of a request. `Database.analyse` is the readable twin.
"""

import hashlib
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cache, lru_cache
from typing import Any, NamedTuple

import madn
from madn.advisor import Advisor, Asked, estimates_of
from madn.board import Board
from madn.database import DATABASE, ESTIMATE, SOLVED, Database, Option, move_of, move_values, squares_of
from madn.drawing import layout
from madn.errors import CorruptBlockError, IllegalMoveError, InvalidBoardError, MissingBlockError
from madn.parts import Values
from madn.players import PLAYERS, EstimatePlayer, OptimalPlayer
from madn.rules import ROLLS, Rules
from madn.store.reader import CACHE_BYTES
from madn.web.opening import opening
from madn.why import explain

BOARD_CHARACTERS = 40  # the longest board, of two sides with six pieces, has 35
CACHED_ANSWERS = 8192  # about 2 kB each
CACHED_SIDES = 1 << 16  # sides whose text is cached


class Answer(NamedTuple):
    """The bytes of a JSON answer, a tag that changes whenever they do, and whether they are final."""

    body: bytes
    tag: str
    final: bool = True


def tagged(body: bytes, final: bool = True) -> Answer:
    """An answer with its tag."""
    return Answer(body, f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"', final)


def encoded(answer: object) -> bytes:
    """An answer in JSON, without spaces; ValueError for what JSON cannot express: NaN, half a character."""
    return json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


class NotFinalError(Exception):
    """Carries an answer that a better one will replace past the cache."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer


class Served:
    """One database as it is served: its name, its version, and its latest answers.

    The version changes when the database does; a final answer of one version never changes. `at_hand` says that all
    values fit into memory, so that after the first few no answer has to wait for a disk.
    """

    def __init__(self, name: str, database: Database, answers: int = CACHED_ANSWERS) -> None:
        self.name, self.answers = name, answers  # how many answers are kept
        self.database = database
        info = database.info()
        try:
            version = hashlib.sha256(encoded([info, database.digests])).hexdigest()[:12]
            for named in info["boards"].values():
                Board.parse(named["board"], database.rules)
        except ValueError as error:  # InvalidBoardError is one
            raise CorruptBlockError(f"{database.path}: the catalogue cannot be served: {error}") from None
        if not "".join(info["boards"]).isprintable():
            raise CorruptBlockError(f"{database.path}: the catalogue cannot be served: the name of a board is no text")
        self.at_hand = info["positions"] * 8 <= CACHE_BYTES
        facts = {fact: info[fact] for fact in ("rules", "positions", "bytes", "values", "max_error", "boards")}
        self._describe(database.rules, version, facts | {"exact": True})
        database.preload()

    def _describe(self, rules: Rules, version: str, facts: dict[str, Any]) -> None:
        self.rules, self.version = rules, version
        players = [name for name in PLAYERS if name != EstimatePlayer.name or estimates_of(rules) is not None]
        self.facts = {
            "name": self.name,
            "version": version,
            **facts,
            "opening": str(opening(rules)),
            "players": players,
        }
        self.layout = tagged(encoded(asdict(layout(rules))))
        self._final = lru_cache(self.answers)(self._final_position)

    def ask(self, board: Board, question: Callable[[Values], Any]) -> Asked:
        """Ask the database a question."""
        return Asked(question(self.database), DATABASE, self.database.error)

    def position(self, text: str) -> Answer:
        """The value of a position, and all moves for all rolls."""
        try:
            return self._final(text)
        except NotFinalError as error:
            return error.answer

    def _final_position(self, text: str) -> Answer:
        answer = tagged(*self._body(self.board(text)))
        if not answer.final:
            raise NotFinalError(answer)
        return answer

    def board(self, text: str) -> Board:
        """The board that a text describes; InvalidBoardError if it describes none."""
        if len(text) > BOARD_CHARACTERS:
            raise InvalidBoardError(f"a board has at most {BOARD_CHARACTERS} characters, not {len(text)}")
        return Board.parse(text, self.rules)

    def positions(self, texts: Sequence[str]) -> bytes:
        """The answers for many boards; for a board that is not in the database all values are null."""
        boards = []
        for number, text in enumerate(texts):
            try:
                boards.append(self.board(text))
            except InvalidBoardError as error:
                raise InvalidBoardError(f"boards[{number}]: {error}") from None
        bodies = []
        for board in boards:
            try:
                bodies.append(self._body(board)[0])
            except MissingBlockError:
                head = b'{"board":"%s","win":null,"winner":null,"tries":%d,%s,"rolls":null}'
                bodies.append(head % (str(board).encode(), board.tries, _source(True, DATABASE, None).encode()))
        return b'{"positions":[%s]}' % b",".join(bodies)

    def move(self, text: str, roll: int, player: str, seed: int, language: str | None = None) -> Answer:
        """The move that a player makes, and all legal moves, best first. The same seed draws the same lots.

        With a `language`, sentences say how the best move differs from the player's, or from the second best.
        """
        board = self.board(text)
        if board.winner is not None:
            raise IllegalMoveError(f"board '{text}': the game is over: there are no moves")
        asked = self.ask(board, lambda values: values.engine.moves(*board.masks, roll))
        options: list[Option] = asked.answer
        chosen = options[0]
        chooser = PLAYERS[player]
        if not isinstance(chooser, OptimalPlayer):  # which would take the first option
            move = chooser.choose(board, roll, random.Random(f"{seed} {text} {roll}"))
            chosen = next(option for option in options if move_of(*option[:3]) == move)
        why = ""
        if language is not None:
            values = move_values(options, self.rules, asked.source, asked.error)
            sentences = explain(board, roll, values, move_of(*chosen[:3])).sentences(language)
            why = f',"why":{encoded(sentences).decode()}'
        return tagged(
            f'{{"board":"{board}","roll":{roll},"player":"{player}","seed":{seed},"move":"{move_of(*chosen[:3])}",'
            f'"win":{_win(chosen[-1])},"loss":{_loss(chosen, options)},{self._source(asked)},'
            f'"moves":[{self._written(options, asked)}]{why}}}'.encode(),
            asked.final,
        )

    def _body(self, board: Board) -> tuple[bytes, bool]:
        """The answer for a board, and whether it is final."""
        if board.winner is not None:
            won = float(board.winner == "own")
            head = f'"board":"{board}","win":{won},"winner":"{board.winner}","tries":1,{_source(True, SOLVED, 0.0)}'
            return f'{{{head},"rolls":[]}}'.encode(), True
        asked = self.ask(board, lambda values: values.engine.analyse(*board.masks))
        win, listed = asked.answer
        rolls = ",".join(
            f'{{"roll":{roll},"win":{_win(options[0][-1])},"moves":[{self._written(options, asked)}]}}'
            for roll, options in zip(ROLLS, listed, strict=True)
        )
        head = f'"board":"{board}","win":{_win(win)},"winner":null,"tries":{board.tries},{self._source(asked)}'
        return f'{{{head},"rolls":[{rolls}]}}'.encode(), asked.final

    def _source(self, asked: Asked) -> str:
        return _source(asked.source != ESTIMATE, asked.source, asked.error)

    def _written(self, options: list[Option], asked: Asked) -> str:
        """Moves in JSON, each with what it costs compared with the first, which is the best."""
        exact = asked.source != ESTIMATE
        return ",".join(
            f'{_head(option[0], option[1], option[2])},"win":{_win(option[5])},"loss":{_loss(option, options)},'
            f'"exact":{"true" if exact or self._over(option) else "false"},'
            f'"board":"{_side(option[3])}/{_side(option[4])}"}}'
            for option in options
        )

    def _over(self, option: Option) -> bool:
        """Whether a move ends the game."""
        full = (1 << self.rules.pieces) - 1
        return option[3] >> self.rules.squares == full or option[4] >> self.rules.squares == full


class ServedAdvisor(Served):
    """A game without a complete database: endgames are exact once they are solved, the rest is estimated.

    The advisor solves in the background: an estimate is final only if nothing is going to be solved for it.
    """

    at_hand = False

    def __init__(self, name: str, advisor: Advisor, answers: int = CACHED_ANSWERS) -> None:
        self.name, self.answers = name, answers
        self.advisor = advisor
        start = Board.start(advisor.rules)
        boards = {"start": {"board": str(start), "win": float(advisor.win(start))}}
        known = [database.digests for database in advisor.databases]
        made_of = [madn.__version__, asdict(advisor.rules), advisor.limit, advisor.error, boards, known]
        facts = {"rules": asdict(advisor.rules), "positions": advisor.rules.positions, "bytes": 0, "values": ESTIMATE}
        version = hashlib.sha256(encoded(made_of)).hexdigest()[:12]
        self._describe(advisor.rules, version, {**facts, "max_error": None, "boards": boards, "exact": False})

    def ask(self, board: Board, question: Callable[[Values], Any]) -> Asked:
        """Ask the advisor, who finds out who knows the answer."""
        return self.advisor.ask(board, question)


def _source(exact: bool, source: str, error: float | None) -> str:
    """Where numbers come from, in JSON."""
    return f'"exact":{"true" if exact else "false"},"source":"{source}","error":{json.dumps(error)}'


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
    """A probability in JSON; null if it is unknown or not a probability, since a damaged file may have any number."""
    return repr(value) if value is not None and 0 <= value <= 1 else "null"


@lru_cache(CACHED_SIDES)
def _side(mask: int) -> str:
    """One side of a board as text."""
    return ",".join(map(str, squares_of(mask))) or "b"
