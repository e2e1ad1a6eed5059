"""The record of a game: plain text with the rules, the players, every roll and move, and comments.

    madn game
    pieces: 2
    squares: 40
    first: Anna
    second: fpoc
    start: 0/0
    result: unfinished

    1 first 3 0-3
    # A comment belongs to the line above it.
    2 second 6 0-6
    3 second 1 6-7

Every field of `Rules` may have a line; a field without one has its default, which for house rules is off.
`parse_record(text)` and `str(record)` are exact inverses. A `Record` never changes; `record.played(roll, move)` is a
new record with one more move.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from madn.board import Board, Move, as_board, as_move
from madn.errors import (
    FormatVersionError,
    IllegalMoveError,
    InvalidBoardError,
    InvalidRecordError,
    InvalidRulesError,
    MadnError,
)
from madn.rules import ROLLS, Rules, rolls_again

TITLE = "madn game"
NEEDED = ("pieces", "squares", "first", "second", "start", "result")
NAMES: tuple[Literal["first"], Literal["second"]] = ("first", "second")
RESULTS = ("first wins", "second wins", "unfinished")
PLY = re.compile(r"([0-9]+)\s+(\S+)\s+(\S+)\s+(\S+)(?:\s+#(.*))?")
HEAD = re.compile(r"([^\s:]+)\s*:\s*(.*)")
WHOLE = re.compile("0|[1-9][0-9]{0,5}")
SWITCH = {"off": False, "on": True}


@dataclass(frozen=True, slots=True)
class Ply:
    """One roll, the move played with it, and the comment lines below it."""

    roll: int
    move: Move
    comments: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "move", as_move(self.move))


@dataclass(frozen=True)
class Record:
    """A game: who plays, the board it starts from (the first player is to move), and what was rolled and moved.

    Every move is checked; IllegalMoveError says which one is wrong.
    """

    start: Board
    first: str = "first"
    second: str = "second"
    plies: tuple[Ply, ...] = ()
    comments: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", as_board(self.start))
        for name in (self.first, self.second):
            if not name or name != name.strip() or not _one_line(name):
                raise InvalidRecordError(f"a player's name must be one line without spaces around it, not {name!r}")
        for comments in (self.comments, *(ply.comments for ply in self.plies)):
            if not all(map(_one_line, comments)):
                raise InvalidRecordError("comments must be a tuple of single lines")
        _ = self.boards

    @cached_property
    def boards(self) -> tuple[Board, ...]:
        """The board before each ply, and the one after the last; each as the side to move sees it."""
        boards = [self.start]
        for number, ply in enumerate(self.plies, 1):
            try:
                boards.append(boards[-1].after(ply.move, ply.roll))
            except IllegalMoveError as error:
                raise IllegalMoveError(f"move {number}: {error}") from None
        return tuple(boards)

    @cached_property
    def movers(self) -> tuple[Literal["first", "second"], ...]:
        """Who makes each ply, and at the end whose turn it is next; after a 6 it is the same side again."""
        turn = 0
        movers: list[Literal["first", "second"]] = [NAMES[0]]
        for ply in self.plies:
            turn ^= not rolls_again(ply.roll)
            movers.append(NAMES[turn])
        return tuple(movers)

    @property
    def rules(self) -> Rules:
        """The rules of the game."""
        return self.start.rules

    @property
    def board(self) -> Board:
        """The current board, as the side to move sees it."""
        return self.boards[-1]

    @property
    def mover(self) -> Literal["first", "second"]:
        """Whose turn it is."""
        return self.movers[-1]

    @property
    def winner(self) -> Literal["first", "second"] | None:
        """Who has won, or None while the game goes on."""
        if self.board.winner is None:
            return None
        own = NAMES.index(self.mover)
        return NAMES[own if self.board.winner == "own" else 1 - own]

    @property
    def result(self) -> str:
        """`first wins`, `second wins` or `unfinished`."""
        return f"{self.winner} wins" if self.winner else RESULTS[2]

    def played(self, roll: int, move: Move | str, *comments: str) -> "Record":
        """The record with one more move."""
        return replace(self, plies=(*self.plies, Ply(roll, as_move(move), comments)))

    def undone(self) -> "Record":
        """The record without its last move."""
        return replace(self, plies=self.plies[:-1])

    def __str__(self) -> str:
        heads = {**_rule_heads(self.rules), "first": self.first, "second": self.second}
        heads |= {"start": str(self.start), "result": self.result}
        lines = [TITLE, *(f"{head}: {value}" for head, value in heads.items())]
        lines += [*map(_comment, self.comments), ""]
        for number, (ply, mover) in enumerate(zip(self.plies, self.movers, strict=False), 1):
            lines += [f"{number} {mover} {ply.roll} {ply.move}", *map(_comment, ply.comments)]
        return "\n".join(lines) + "\n"


def _rule_heads(rules: Rules) -> dict[str, str]:
    """The rules as heads: pieces, squares and every field that differs from its default."""
    heads = {}
    for field in fields(rules):
        value = getattr(rules, field.name)
        if field.name in NEEDED or value != field.default:
            heads[field.name] = ("on" if value else "off") if isinstance(value, bool) else str(value)
    return heads


def _one_line(text: str) -> bool:
    return "\n" not in text and "\r" not in text


def _comment(line: str) -> str:
    return f"# {line}" if line else "#"


def parse_record(text: str, source: str = "record") -> Record:
    """Read a record; InvalidRecordError says which line of `source` is wrong, and for a move what was legal.

    A line with a switch or a number that is not a field of `Rules` must be a rule of a newer version and raises
    FormatVersionError.

    Extra white space, empty lines, and a comment at the end of a move's line are accepted.
    """
    heads: dict[str, str] = {}
    where = {"": 0}  # the line number of each head, and under "" that of the line being read
    names = (*(field.name for field in fields(Rules)), *NEEDED[2:])
    comments: list[list[str]] = [[]]  # those above the moves, then those below each move

    def wrong(reason: object, head: str = "") -> InvalidRecordError:
        return InvalidRecordError(f"{source}, line {where[head]}: {reason}")

    def listed(wanted: Sequence[str]) -> str:
        """The heads that are still missing."""
        return ", ".join(f"{name}:" for name in wanted if name not in heads)

    def read_lines() -> Iterator[str]:
        """The lines that are neither empty nor comments."""
        for where[""], line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
            if "\r" in line:
                raise wrong("a carriage return inside a line")
            if line.lstrip().startswith("#"):
                comments[-1].append(line.lstrip()[1:].removeprefix(" "))
            elif line.strip():
                yield line.strip()

    lines = read_lines()
    if next(lines, None) != TITLE:
        raise wrong(f"a record begins with the line '{TITLE}'")
    line = next(lines, None)
    while line is not None and (parts := HEAD.fullmatch(line)):
        head, value = parts.groups()
        if head not in names and (value in SWITCH or WHOLE.fullmatch(value)):
            raise FormatVersionError(
                f"{source}, line {where['']}: rule '{head[:40]}' is too new for this madn, or misspelt"
            )
        if head not in names:
            raise wrong(f"there is no head '{head[:40]}:'; write one of {listed(names)}")
        if head in heads:
            raise wrong(f"a second '{head}:'")
        heads[head], where[head] = value, where[""]
        line = next(lines, None)
    if listed(NEEDED):
        raise wrong(f"{'the record ends before' if line is None else 'write one of'} {listed(NEEDED)}")
    record = _headed(heads, wrong)
    board, turn = record.start, 0
    plies: list[Ply] = []
    while line is not None:
        ply = _ply(line, len(plies) + 1, board, NAMES[turn], wrong)
        plies.append(ply)
        comments.append(list(ply.comments))
        board = board.after(ply.move, ply.roll)
        turn ^= not rolls_again(ply.roll)
        line = next(lines, None)
    above, *below = map(tuple, comments)
    plies = [replace(ply, comments=lines_below) for ply, lines_below in zip(plies, below, strict=True)]
    record = replace(record, plies=tuple(plies), comments=above)
    if heads["result"] != record.result:
        raise wrong(f"the result is '{heads['result'][:40]}', but after the moves it is '{record.result}'", "result")
    return record


def _headed(heads: dict[str, str], wrong: Callable[[object, str], InvalidRecordError]) -> Record:
    """The record that the heads describe, without moves; `wrong` makes the error for a head."""
    chosen: dict[str, Any] = {}
    for field in fields(Rules):
        text = heads.get(field.name)
        if text is None:
            continue
        if isinstance(field.default, bool):
            if text not in SWITCH:
                raise wrong(f"{field.name} is 'on' or 'off', not {text[:40]!r}", field.name)
            chosen[field.name] = SWITCH[text]
        elif WHOLE.fullmatch(text):
            chosen[field.name] = int(text)
        else:
            raise wrong(f"{field.name} must be a whole number, not {text[:40]!r}", field.name)
    try:
        rules = Rules(**chosen)
    except InvalidRulesError as error:
        raise wrong(error, next((head for head in chosen if str(error).startswith(head)), "pieces")) from None
    for head in NAMES:
        if not heads[head]:
            raise wrong(f"write a name after '{head}:'", head)
    if heads["result"] not in RESULTS:
        raise wrong(f"the result is {', '.join(map(repr, RESULTS))}, not {heads['result'][:40]!r}", "result")
    try:
        start = Board.parse(heads["start"], rules)
    except InvalidBoardError as error:
        raise wrong(error, "start") from None
    return Record(start, heads["first"], heads["second"])


def _ply(text: str, number: int, board: Board, mover: str, wrong: Callable[[str], InvalidRecordError]) -> Ply:
    """Read the line of a move and check the move against the board."""
    parts = PLY.fullmatch(text)
    if parts is None:
        raise wrong(f"{text[:40]!r} is not a move; write NUMBER first|second ROLL MOVE, like '{number} {mover} 3 0-3'")
    if parts[1] != str(number):
        raise wrong(f"this is move {number}, not {parts[1][:12]}")
    if parts[2] != mover:
        raise wrong(f"move {number}: it is the turn of {mover}, not of {parts[2][:40]!r}")
    if parts[3] not in map(str, ROLLS):
        raise wrong(f"move {number}: a roll is a whole number from 1 to {ROLLS[-1]}, not {parts[3][:40]!r}")
    roll = int(parts[3])
    try:
        move = Move.parse(parts[4])
        board.after(move, roll)
    except IllegalMoveError as error:
        legal = ", ".join(map(str, board.legal_moves(roll)))
        more = "" if "legal:" in str(error) or not legal else f"; legal: {legal}"
        raise wrong(f"move {number}: {error}{more}") from None
    comment = parts[5]
    return Ply(roll, move, () if comment is None else (comment.removeprefix(" "),))


def read_text(path: str | Path, error: type[MadnError]) -> str:
    """The text of a file with its line ends as they are; raises `error` if it cannot be read."""
    try:
        return Path(path).read_bytes().decode("utf-8")
    except OSError as reason:
        raise error(f"{path}: {reason.strerror}") from None
    except UnicodeDecodeError:
        raise error(f"{path}: not UTF-8 text") from None


def read_record(path: str | Path) -> Record:
    """Read the record in a file."""
    return parse_record(read_text(path, InvalidRecordError), str(path))


def write_record(record: Record, path: str | Path) -> None:
    """Write a record to a file."""
    Path(path).write_bytes(str(record).encode("utf-8"))
