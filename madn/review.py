"""Review of a game: the luck of each roll, and for each move what it cost compared with the best one.

All numbers are winning probabilities of the mover, provided that both sides play their best moves from then on. The
luck of a roll is what it changed (compared with the average over the six rolls), the cost of a move is how much more
the best move would have been worth. From the start to the end of a game they add up:

    result = start + luck of first - cost of first - luck of second + cost of second

Without a database of the game some numbers are estimates, which do not quite add up; a ply is `exact` if none of its
numbers is an estimate.
"""

from dataclasses import dataclass
from typing import Literal

from madn.advisor import Advisor
from madn.board import Move
from madn.database import Database
from madn.errors import NoValuesError, RulesMismatchError
from madn.record import Record


@dataclass(frozen=True, slots=True)
class MoveReview:
    """One ply of a game, in the mover's winning probabilities."""

    number: int
    mover: Literal["first", "second"]
    board: str
    roll: int
    move: Move
    best: Move
    before: float
    luck: float
    cost: float
    exact: bool = True

    @property
    def after(self) -> float:
        """The mover's winning probability after the move."""
        return self.before + self.luck - self.cost


@dataclass(frozen=True, slots=True)
class SideReview:
    """The totals of one side: luck, cost, how many choices it had, and how many of them cost something."""

    name: str
    luck: float
    cost: float
    choices: int
    errors: int


@dataclass(frozen=True, slots=True)
class GameReview:
    """A whole game: `start` and `end` are the first player's winning probabilities."""

    record: Record
    start: float
    end: float
    moves: tuple[MoveReview, ...]
    first: SideReview
    second: SideReview


SMALLEST_COST = 1e-6  # smaller differences do not count as errors: values have a residual


def analyse_game(record: Record, database: Database | Advisor) -> GameReview:
    """Judge every roll and every move of a game."""
    if record.rules != database.rules:
        raise RulesMismatchError(f"the game is for {record.rules}; {database!r} is for {database.rules}")
    reviews = []
    choices = {"first": 0, "second": 0}
    for number, (ply, board, mover) in enumerate(zip(record.plies, record.boards, record.movers, strict=False), 1):
        before = database.win(board)
        options = database.moves(board, ply.roll)
        played = next(option for option in options if option.move == ply.move)
        choices[mover] += len(options) > 1
        best = played if played.win == options[0].win else options[0]
        if best.win is None or played.win is None:
            raise NoValuesError(f"{database!r} stores best moves only; a review needs winning probabilities")
        luck, cost = best.win - before, best.win - played.win
        exact = all(option.exact for option in options) and getattr(before, "exact", True)
        reviews.append(
            MoveReview(number, mover, str(board), ply.roll, ply.move, best.move, float(before), luck, cost, exact)
        )

    def side(who: Literal["first", "second"], name: str) -> SideReview:
        own = [review for review in reviews if review.mover == who]
        errors = sum(review.cost > SMALLEST_COST for review in own)
        return SideReview(name, sum(r.luck for r in own), sum(r.cost for r in own), choices[who], errors)

    last = database.win(record.board)
    return GameReview(
        record,
        float(database.win(record.start)),
        float(last) if record.mover == "first" else 1 - last,
        tuple(reviews),
        side("first", record.first),
        side("second", record.second),
    )
