"""Answers for a position: the values of stopping, of rolling and of every way to play a roll."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from madn.errors import IllegalMoveError
from madn.games.cantstop.position import Move, Position
from madn.games.cantstop.rules import CantStop
from madn.games.cantstop.turns import Markers, Turn, stop_leads_to
from madn.ranges import checked_type


class Source(ABC):
    """Where the values of anchors come from: a solution or a database."""

    @property
    @abstractmethod
    def game(self) -> CantStop:
        """The rules."""

    @abstractmethod
    def anchor(self, own: tuple[int, ...], other: tuple[int, ...], won: int, lost: int) -> float:
        """The chance of the player to move, without markers, after winning `won` columns and losing `lost` of them.

        For a closed column it does not matter what the two players have there, as long as one has its full length.
        """

    @property
    def first_player(self) -> float:
        """The probability that the player who begins wins; in a solution with two roles, that role 0 wins beginning."""
        start = (0,) * self.game.columns
        return self.anchor(start, start, 0, 0)


@dataclass(frozen=True)
class MoveValue:
    """A move and the chance of winning after it."""

    move: Move
    win: float


@dataclass(frozen=True)
class Answer:
    """The chances of the player to move.

    `anchors` are the chances before the turn, if it is the player's own and if it is the opponent's. `stop` is None
    where stopping is forbidden and before the first roll; `win` is the better of `stop` and `roll`.
    """

    position: Position
    anchors: tuple[float, float]
    stop: float | None
    roll: float

    @property
    def win(self) -> float:
        """The chance if the player takes the better action."""
        return self.roll if self.stop is None else max(self.stop, self.roll)

    @property
    def action(self) -> str:
        """`stop` or `roll`."""
        return "stop" if self.stop is not None and self.stop >= self.roll else "roll"


class TurnAnswers:
    """The turn of the player to move in one component, with the values of all its states."""

    def __init__(self, source: Source, position: Position) -> None:
        game = checked_type("game of the source", getattr(source, "game", source), CantStop)
        won, lost = checked_type("position", position, Position).won
        own, other = (
            tuple(x if left else length for x, left, length in zip(side, position.left, game.lengths, strict=True))
            for side in (position.own, position.other)
        )

        def stop(markers: Markers) -> float | None:
            after = stop_leads_to(game, own, other, markers)
            if after is None:
                return None
            mine, yours, gained = after
            if won + gained >= game.to_win:
                return 1.0
            return 1 - source.anchor(yours, mine, lost, won + gained)

        self.position = position
        self.turn = Turn(game, position.left, stop)
        self.anchors = source.anchor(own, other, won, lost), 1 - source.anchor(other, own, lost, won)
        self.worth = self.turn.worth(self.anchors[1])

    def answer(self, position: Position) -> Answer:
        """The chances in a position of this component."""
        number = self.turn.number.get(checked_type("position", position, Position).markers_left)
        if number is None:
            raise IllegalMoveError(f"position '{position}': no rolls lead to these markers")
        if not any(position.markers):
            return Answer(position, self.anchors, None, self.anchors[0])
        return Answer(position, self.anchors, self.turn.stops[number], self.worth.roll[number])

    def moves(self, position: Position, roll: tuple[int, ...]) -> list[MoveValue]:
        """Every legal way to play a roll, best first; none if the turn is lost."""
        self.answer(position)
        found = [
            MoveValue(move, self.worth.best[self.turn.number[move.position.markers_left]])
            for move in position.moves(roll)
        ]
        return sorted(found, key=lambda option: -option.win)
