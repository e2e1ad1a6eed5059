"""Who chooses the moves: a small interface, the players that come with the package, and players of your own.

    PLAYERS["fpoc"].choose(board, roll)      # a Move

A player is an object with `name`, `description` and `choices(board, roll)`, which returns the moves it may play, each
with the same probability. Most players are lists of rules, in Python or in a text file (`read_player`); a plain
function will do too (`FunctionPlayer`).
"""

import random
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import SupportsIndex

from madn.advisor import Advisor, checked_estimates
from madn.board import STANDARD, Board, Move, as_board, as_move, checked_roll
from madn.database import Database, move_of
from madn.errors import IllegalMoveError, InvalidPlayerError, RulesMismatchError
from madn.features import FEATURES
from madn.ranges import shown
from madn.record import read_text
from madn.rules import Rules

POINTS = re.compile(r"[+-][1-9][0-9]?")
Choose = Callable[[Board, int, tuple[Move, ...]], Move | str | Sequence[Move | str]]


class Player(ABC):
    """Chooses moves. `name` is one word, `description` one sentence."""

    name: str
    description: str

    @abstractmethod
    def choices(self, board: Board, roll: int) -> tuple[Move, ...]:
        """The moves that the player may choose, by ascending start; each is equally likely."""

    @property
    def text_rules(self) -> Rules:
        """The rules assumed for a board given as text: those of the standard game."""
        return STANDARD

    def choose(self, board: Board | str, roll: SupportsIndex, die: random.Random | None = None) -> Move:
        """The move for a roll; a player that draws lots uses `die`."""
        moves = self.choices(as_board(board, self.text_rules), checked_roll(roll))
        return moves[0] if len(moves) == 1 else (die or _SOURCE).choice(moves)

    def __repr__(self) -> str:
        return f"<player {self.name}>"


_SOURCE = random.Random()


def legal_moves(board: Board, roll: int) -> tuple[Move, ...]:
    """The legal moves; IllegalMoveError if the game is over."""
    moves = board.legal_moves(roll)
    if not moves:
        raise IllegalMoveError(f"board '{board}': the game is over: there are no moves")
    return moves


def checked_choices(
    name: str, returned: Move | str | Iterable[Move | str], board: Board, roll: int
) -> tuple[Move, ...]:
    """The moves that a player returned, by ascending start; InvalidPlayerError if there is none or one is illegal."""
    moves = legal_moves(board, roll)
    try:
        chosen = set(map(as_move, [returned] if isinstance(returned, Move | str) else returned))
        wrong = ", ".join(map(str, chosen - set(moves))) if chosen else "nothing"
    except (TypeError, IllegalMoveError):  # not moves, or text that does not name a move
        wrong = shown(returned)
    if wrong:
        legal = ", ".join(map(str, moves))
        raise InvalidPlayerError(f"{name} chose {wrong} on '{board}' with a {roll}; legal: {legal}")
    return tuple(move for move in moves if move in chosen)


@dataclass(frozen=True, slots=True)
class Rule:
    """Keep the moves with the largest value of a feature, or with `avoid` those with the smallest.

    A rule with `points` gives that many for each unit of the feature. The points of consecutive rules are added up, and
    the moves with the most points are kept.
    """

    feature: str
    avoid: bool = False
    points: int = 0

    def __str__(self) -> str:
        return (
            f"{self.points:+d} {self.feature}"
            if self.points
            else f"{'avoid' if self.avoid else 'prefer'} {self.feature}"
        )

    @property
    def weight(self) -> int:
        """What each unit of the feature adds to a move."""
        return self.points or (-1 if self.avoid else 1)


def points(rules: Iterable[Rule], board: Board, move: Move) -> int:
    """The sum of what these rules give a move."""
    return sum(rule.weight * FEATURES[rule.feature].of(board, move) for rule in rules)


@dataclass(frozen=True, repr=False)
class RulePlayer(Player):
    """Goes through its rules in order; each keeps the best of the moves that are left.

    If several moves are left at the end, one is drawn by lot (`draws`), or else the piece furthest along moves.
    """

    name: str
    description: str
    rules: tuple[Rule, ...]
    draws: bool = False

    def choices(self, board: Board, roll: int) -> tuple[Move, ...]:
        """The moves that no rule rejects."""
        moves = legal_moves(board, roll)
        for step in self.steps:
            if len(moves) == 1:
                break
            values = [points(step, board, move) for move in moves]
            moves = tuple(move for move, value in zip(moves, values, strict=True) if value == max(values))
        return moves if self.draws else moves[-1:]

    @property
    def steps(self) -> list[tuple[Rule, ...]]:
        """The comparisons, in order: each rule by itself, but consecutive rules with points together."""
        steps: list[tuple[Rule, ...]] = []
        for rule in self.rules:
            if rule.points and steps and steps[-1][-1].points:
                steps[-1] += (rule,)
            else:
                steps.append((rule,))
        return steps

    def __str__(self) -> str:
        """The player as a rule file; the exact inverse of `parse_player`."""
        lines = [f"name: {self.name}", f"description: {self.description}", *map(str, self.rules)]
        return "\n".join([*lines, "random"] if self.draws else lines) + "\n"


class FunctionPlayer(Player):
    """A player that asks a function of board, roll and legal moves, which returns one move or several to draw from."""

    def __init__(self, name: str, description: str, function: Choose) -> None:
        self.name, self.description, self.function = name, description, function

    def choices(self, board: Board, roll: int) -> tuple[Move, ...]:
        """What the function returns, checked."""
        moves = legal_moves(board, roll)
        if len(moves) == 1:
            return moves
        return checked_choices(self.name, self.function(board, roll, moves), board, roll)


class OptimalPlayer(Player):
    """Plays the best move known to a database or an advisor; without either, to an `Advisor` for the game.

    So it is optimal in a game that has a database or is small enough to be solved on the spot. In other games it plays
    endgames exactly and goes by estimates before them; `plays` says so.
    """

    name = "optimal"
    description = (
        "Knows the chance of winning after every move and takes the best move; where no database knows it, an "
        "estimate takes its place until the endgame."
    )

    def __init__(self, source: Database | Advisor | None = None) -> None:
        self.source = source
        self._advisors: dict[Rules, Advisor] = {}

    @property
    def text_rules(self) -> Rules:
        """The rules assumed for a board given as text: those of the source, or of the standard game."""
        return STANDARD if self.source is None else self.source.rules

    def source_for(self, rules: Rules) -> Database | Advisor:
        """The database or advisor to ask about a game with these rules."""
        if self.source is not None:
            return self.source
        if rules not in self._advisors:
            self._advisors[rules] = Advisor(rules)
        return self._advisors[rules]

    def database_for(self, start: Board) -> Database | None:
        """The database that has a board and everything that can follow it; None if the player has none."""
        source = self.source_for(start.rules)
        if isinstance(source, Advisor):
            return source.whole(start)
        return source if source.rules == start.rules else None

    def plays(self, start: Board) -> str | None:
        """A sentence for the user about what it plays instead of the best moves; None if it plays those.

        `NoAnswerError` if it cannot play at all.
        """
        if self.database_for(start) is not None:
            return None
        source = self.source_for(start.rules)
        if isinstance(source, Advisor):
            source.check(start)
        return (
            f"optimal has no database of {start.rules}: it plays endgames exactly, and before them the moves that look "
            "best to the estimator"
        )

    def choices(self, board: Board, roll: int) -> tuple[Move, ...]:
        """The best move; of several equal ones, that of the piece furthest along."""
        source = self.source_for(board.rules)
        board = as_board(board, source.rules, "player optimal plays")
        return (source.best_move(board, roll),)


class EstimatePlayer(Player):
    """Plays the move after which the estimator gives it the best chance; needs no database."""

    name = "estimate"
    description = "Estimates the chance of winning after every move and takes the move that looks best."

    def choices(self, board: Board, roll: int) -> tuple[Move, ...]:
        """The move that looks best; of several equal ones, that of the piece furthest along."""
        moves = legal_moves(board, roll)
        if len(moves) == 1:
            return moves
        return (move_of(*checked_estimates(board.rules).engine.best_move(*board.masks, roll) or ()),)


def _rules(*texts: str) -> tuple[Rule, ...]:
    return tuple(_rule(*text.split()) for text in texts)


def _rule(verb: str, feature: str) -> Rule:
    return Rule(feature, points=int(verb)) if POINTS.fullmatch(verb) else Rule(feature, verb == "avoid")


PLAYERS: dict[str, Player] = {
    player.name: player
    for player in (
        OptimalPlayer(),
        EstimatePlayer(),
        RulePlayer("random", "Picks any legal move, each with the same probability.", (), draws=True),
        RulePlayer(
            "fpoc",
            "Captures if it can, and otherwise moves the piece that is furthest along.",
            _rules("prefer capture", "prefer front"),
        ),
        RulePlayer(
            "fpnpoc",
            "Captures if it can, otherwise jumps over as few pieces as possible, and otherwise moves the piece "
            "that is furthest along.",
            _rules("prefer capture", "avoid passing", "prefer front"),
        ),
        RulePlayer(
            "runner",
            "Always runs with the piece that is furthest along, whatever else there is to do.",
            _rules("prefer front"),
        ),
        RulePlayer(
            "hunter",
            "Captures the piece that has come furthest, and otherwise sneaks up behind the other side's pieces.",
            _rules("prefer loot", "prefer chase", "avoid front"),
        ),
        RulePlayer(
            "together",
            "Captures if it can, and otherwise keeps its pieces close together.",
            _rules("prefer capture", "avoid spread", "avoid front"),
        ),
        RulePlayer(
            "careful",
            "Captures if it can, and otherwise leaves as few pieces as possible where they can be captured.",
            _rules("prefer loot", "avoid exposed", "avoid danger", "avoid inside", "prefer front"),
        ),
        RulePlayer(
            "handful",
            "Follows six rules in order: capture, do not jump over the other side's pieces, do not land in reach of "
            "them, leave the finish zone alone, stay behind them, and take the better square.",
            _rules("prefer spoils", "avoid passing", "avoid danger", "avoid inside", "prefer quarry", "prefer square"),
        ),
        RulePlayer(
            "card",
            "Adds up the points of a card of eight lines and takes the move with the most.",
            _rules(
                "+30 spoils",
                "-30 passing",
                "+3 targets",
                "+2 safety",
                "+1 square",
                "-3 pursuers",
                "+4 between",
                "-30 stay",
            ),
        ),
    )
}
"""The players that come with the package, by name."""


def parse_player(text: str, source: str = "rules") -> RulePlayer:
    """Read a player from the text of a rule file; InvalidPlayerError names the line (`source`) and the reason.

    Each line is empty, a comment (`# ...`), `name: WORD`, `description: SENTENCE`, or a rule: `prefer FEATURE`,
    `avoid FEATURE`, points (`+5 FEATURE`, `-2 FEATURE`), or, as the last one, `random`.
    """
    heads = {"name": "", "description": ""}
    rules: list[Rule] = []
    draws = False

    def wrong(line: int, reason: str) -> InvalidPlayerError:
        return InvalidPlayerError(f"{source}, line {line}: {reason}")

    for number, raw in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        head, colon, rest = (part.strip() for part in line.partition(":"))
        words = line.split("#")[0].split()
        if colon and head in heads:
            if heads[head]:
                raise wrong(number, f"a second {head}")
            if rules or draws:
                raise wrong(number, f"the {head} must come before the rules")
            if not rest or (head == "name" and len(rest.split()) > 1):
                raise wrong(number, f"write one {'word' if head == 'name' else 'sentence'} after '{head}:'")
            heads[head] = rest
        elif draws:
            raise wrong(number, "nothing can come after 'random'")
        elif words == ["random"]:
            draws = True
        elif len(words) != 2 or not (words[0] in {"prefer", "avoid"} or POINTS.fullmatch(words[0])):
            raise wrong(number, f"{line[:40]!r} is not a rule; write {WAYS}")
        elif words[1] not in FEATURES:
            raise wrong(number, f"there is no feature {words[1][:40]!r}; the features are {', '.join(FEATURES)}")
        elif len(rules) == MOST_RULES:
            raise wrong(number, f"more than {MOST_RULES} rules")
        else:
            rules.append(_rule(*words))
    for head, value in heads.items():
        if not value:
            raise InvalidPlayerError(f"{source}: there is no line '{head}: ...'")
    if not rules and not draws:
        raise InvalidPlayerError(f"{source}: there are no rules; write {WAYS}")
    return RulePlayer(heads["name"], heads["description"], tuple(rules), draws)


MOST_RULES = 32
WAYS = "'prefer FEATURE', 'avoid FEATURE', '+5 FEATURE', '-5 FEATURE' (1 to 99 points) or 'random'"


def read_player(path: str | Path) -> RulePlayer:
    """Read a player from a rule file (see `parse_player`)."""
    return parse_player(read_text(path, InvalidPlayerError), str(path))


def find_player(name: str, rules: Rules, source: Database | Advisor | None = None) -> Player:
    """The player with a name, or of a rule file whose path has a '.' or a '/' in it, for a game with these rules.

    `optimal` asks `source`, which must have these rules; without one, whatever knows the game.
    """
    if "/" in name or "\\" in name or "." in name:
        return read_player(name)
    if name not in PLAYERS:
        raise InvalidPlayerError(
            f"there is no player {name[:40]!r}; the players are {', '.join(PLAYERS)}, or the path of a rule file"
        )
    player = PLAYERS[name]
    if isinstance(player, EstimatePlayer):
        checked_estimates(rules)
    if isinstance(player, OptimalPlayer) and source is not None:
        if source.rules != rules:
            raise RulesMismatchError(f"player optimal is to play {rules}, but its database holds {source.rules}")
        player = OptimalPlayer(source)
    return player
