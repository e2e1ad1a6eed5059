"""Why one move is better than another: what differs between them, as facts and in sentences.

    moves = db.moves(board, roll)
    explain(board, roll, moves).sentences()              # the best move against the runner-up
    explain(board, roll, moves, "17-21").sentences("de")  # against the move that was chosen

A sentence states only facts: what a move does, what the next roll of either side could do with the pieces as they then
stand, and what the two moves are worth. It never claims that one is the cause of the other. Which facts come first is a
matter of taste: here, those that change most, in squares walked. `madn/web/static/why.js` is the twin for the page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, SupportsIndex

from madn.board import Board, Move, as_move, checked_roll
from madn.database import MoveValue
from madn.errors import IllegalMoveError
from madn.rules import DIE, ROLLS, rolls_again
from madn.why_words import LANGUAGES, forced_text, sentences_of

Hits = Mapping[int, tuple[int, ...]]  # squares, in the mover's numbers, and the rolls that capture there
KINDS = ("wins", "captures", "danger", "threats", "home", "winning", "playable", "race", "place")
BOXED = 7  # what a captured piece loses in addition to the squares it has walked
LATER = 0.5  # a piece that can only be captured if it stays put for another roll counts half
HOME, RACE, VICTORY, FINISH = 3.0, 4.0, 1000.0, 40.0


@dataclass(frozen=True)
class Outlook:
    """A move and the board after it, all in the mover's numbers.

    `walked` is how far a captured piece had come from its A-square, None without a capture. `danger` has the mover's
    pieces with the other side's rolls that can capture them, `threats` the other side's pieces with the mover's rolls
    that could capture them; `winning` and `playable` are the mover's rolls that would win and those that have a move.
    All of this is with the pieces as they stand after the move. In a `race` no piece can be captured any more, whatever
    is rolled.
    """

    move: Move
    wins: bool
    walked: int | None
    home: bool
    danger: Hits = field(default_factory=dict)
    threats: Hits = field(default_factory=dict)
    winning: tuple[int, ...] = ()
    playable: tuple[int, ...] = ()
    race: bool = False
    scores: Mapping[str, float] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Fact:
    """A difference between two moves, in favour of `better`; `kind` is one of `KINDS`."""

    kind: str
    better: Outlook
    worse: Outlook


@dataclass(frozen=True)
class Why:
    """The best move against another: the fact that matters most, perhaps a second one, and what the moves are worth.

    `other` is None if there is only one legal move; then `forced` says why: "enter", "clear" (the A-square), "duty" (to
    capture), "only" or "pass". `difference` is the best move's lead in winning probability, None if it is not known.
    With `exact` False it is an estimate, whose root mean square error is `error`.
    """

    board: Board
    roll: int
    best: Move
    other: Move | None = None
    forced: str | None = None
    facts: tuple[Fact, ...] = ()
    difference: float | None = None
    exact: bool = True
    error: float | None = None

    def sentences(self, language: str = "en") -> list[str]:
        """One or two sentences, in English ("en") or German ("de")."""
        words = LANGUAGES[language]
        if self.other is None:
            return [forced_text(words, str(self.forced), str(self.best), self.roll)]
        return sentences_of(words, self)


def explain(
    board: Board, roll: SupportsIndex, moves: Sequence[MoveValue[Any]], chosen: Move | str | None = None
) -> Why:
    """Compare the best of the moves that a database or an advisor lists with the `chosen` one, or with the second best.

    If the chosen move is the best one, it is compared with the second best as well.
    """
    roll = checked_roll(roll)
    if not moves:
        raise IllegalMoveError(f"board '{board}': the game is over: there are no moves")
    best, other = moves[0], moves[1] if len(moves) > 1 else None
    if chosen is not None:
        move = as_move(chosen)
        found = next((value for value in moves if value.move == move), None)
        if found is None:
            legal = ", ".join(str(value.move) for value in moves)
            raise IllegalMoveError(f"{move} is not legal on '{board}' with a {roll}; legal: {legal}")
        other = other if found is best else found
    if other is None:
        return Why(board, roll, best.move, forced=_forced(board, roll, best.move))
    facts = _facts(outlook(board, roll, best.move), outlook(board, roll, other.move))
    known = best.win is not None and other.win is not None
    return Why(
        board,
        roll,
        best.move,
        other.move,
        facts=facts,
        difference=max(best.win - other.win, 0.0) if known else None,
        exact=best.exact and other.exact,
        error=other.error if best.exact else best.error,
    )


def outlook(board: Board, roll: int, move: Move) -> Outlook:
    """What a legal move does and what can happen next."""
    rules = board.rules
    if move.end is None:
        raise IllegalMoveError("a lost roll has no outlook")
    walked = rules.opposite(move.end) if move.captures else None
    home = move.start is not None and move.start < rules.squares <= move.end
    own = tuple(sorted({*board.own, move.end} - {move.start}))
    other = tuple(square for square in board.other if square != walked)
    if rules.finished(own):
        return Outlook(move, True, walked, home, scores={"wins": VICTORY})
    mine, theirs = Board(own, other, rules), Board(other, own, rules)
    danger, lost = _hits(theirs, mirrored=True)
    threats, won = _hits(mine, mirrored=False)
    winning = tuple(r for r in ROLLS if any(_finishes(mine, m) for m in mine.legal_moves(r)))
    playable = tuple(r for r in ROLLS if mine.legal_moves(r) != (Move.PASS,))
    race = not _contact(mine)
    again = rolls_again(roll)
    scores = {
        "captures": 0.0 if walked is None else float(walked + 1 + BOXED),
        "danger": -lost * (LATER if again else 1.0),
        "threats": won * (1.0 if again else LATER),
        "home": HOME * home,
        "winning": FINISH * len(winning) / DIE,
        "playable": sum(playable) / DIE,
        "race": RACE * race,
    }
    return Outlook(move, False, walked, home, danger, threats, winning, playable, race, scores)


def _hits(board: Board, mirrored: bool) -> tuple[Hits, float]:
    """Where the side to move can capture, with which rolls, and how many squares that costs the other on average.

    With `mirrored` the squares are in the other side's numbers.
    """
    hits: dict[int, list[int]] = {}
    weights = board.roll_weights()
    total = 0.0
    for roll, weight in zip(ROLLS, weights, strict=True):
        ends = [move.end for move in board.legal_moves(roll) if move.captures and move.end is not None]
        for end in ends:
            hits.setdefault(board.rules.opposite(end) if mirrored else end, []).append(roll)
        total += weight * max((board.rules.opposite(end) + 1 + BOXED for end in ends), default=0)
    return {square: tuple(hits[square]) for square in sorted(hits)}, total / sum(weights)


def _finishes(board: Board, move: Move) -> bool:
    return move.end is not None and board.rules.finished(sorted({*board.own, move.end} - {move.start}))


def _contact(board: Board) -> bool:
    """Whether the sides can still meet: there is a square that a piece of each may still come to, or stands on."""
    rules = board.rules

    def ways(side: tuple[int, ...]) -> list[range]:
        begins = [square for square in side if square < rules.squares] + [0] * (rules.pieces - len(side))
        return [range(begin, rules.squares) for begin in begins]

    met = {rules.opposite(square) for way in ways(board.other) for square in way}
    return any(square in met for way in ways(board.own) for square in way)


def _facts(best: Outlook, other: Outlook) -> tuple[Fact, ...]:
    """The fact that speaks most for the best move, perhaps with a second; if none does, the one most against it."""
    gains = {kind: best.scores.get(kind, 0.0) - other.scores.get(kind, 0.0) for kind in KINDS[:-1]}
    if best.wins or other.wins:
        gains = {"wins": gains["wins"]}
    good = sorted((kind for kind in gains if gains[kind] > 0), key=lambda kind: -gains[kind])
    if good:
        facts = [Fact(kind, best, other) for kind in good]
        return tuple(facts[:1] + [fact for fact in facts[1:] if _brief(fact)][:1])
    bad = sorted((kind for kind in gains if gains[kind] < 0), key=lambda kind: gains[kind])
    return (Fact(bad[0], other, best) if bad else Fact("place", best, other),)


def _brief(fact: Fact) -> bool:
    """Whether a fact is short enough to be mentioned second."""
    return fact.kind in {"captures", "home"} or (fact.kind == "danger" and not fact.better.danger)


def _forced(board: Board, roll: int, move: Move) -> str:
    """Why there is only one legal move."""
    if move.end is None:
        return "pass"
    if move.start is None:
        return "enter"
    if move.start == 0 and len(board.own) < board.rules.pieces:
        return "clear"
    if board.rules.must_capture and move.captures:
        free = Board(board.own, (), replace(board.rules, must_capture=False)).legal_moves(roll)
        return "duty" if len(free) > 1 else "only"
    return "only"
