"""A game in progress: whose turn it is, taking moves back, random play.

    game = Game(Rules(pieces=2))
    game.push(3, "0-3")
    game.mover, game.board      # 'second', Board.parse('0/3', ...)
    game.pop()

A `Record` is the same game as text, to be kept; `game.record()` and `Game.of(record)` convert between the two.
"""

import random
from collections.abc import Iterable
from typing import Literal, SupportsIndex

from madn.board import STANDARD, Board, Move, as_board, as_move, checked_roll
from madn.errors import IllegalMoveError
from madn.record import NAMES, Ply, Record
from madn.rules import ROLLS, Rules, rolls_again

TYPE_CHECKING = False
if TYPE_CHECKING:
    from madn.players import Player


class Game:
    """A game with its history. It begins with the start position of `rules`, or with the board `start`.

    The side that moves first is called `first`, the other one `second`. Boards and moves may be given as text.
    """

    def __init__(self, rules: Rules | None = None, start: Board | str | None = None) -> None:
        if rules is None:
            rules = start.rules if isinstance(start, Board) else STANDARD
        board = Board.start(rules) if start is None else as_board(start, rules, "the game has")
        self._boards, self._movers, self._plies = [board], [0], list[Ply]()

    @classmethod
    def of(cls, record: Record) -> "Game":
        """The game of a record."""
        game = cls(start=record.start)
        game._push_all(record.plies)
        return game

    @property
    def rules(self) -> Rules:
        """The rules of the game."""
        return self._boards[0].rules

    @property
    def start(self) -> Board:
        """The board before the first move."""
        return self._boards[0]

    @property
    def board(self) -> Board:
        """The current board, as the side to move sees it."""
        return self._boards[-1]

    @property
    def boards(self) -> tuple[Board, ...]:
        """The board before each ply, and the current one; each as the side to move sees it."""
        return tuple(self._boards)

    @property
    def plies(self) -> tuple[Ply, ...]:
        """The rolls and moves so far, each with `.roll` and `.move`."""
        return tuple(self._plies)

    @property
    def mover(self) -> Literal["first", "second"]:
        """Whose turn it is; in a finished game, who would be next."""
        return NAMES[self._movers[-1]]

    @property
    def winner(self) -> Literal["first", "second"] | None:
        """Who has won, or None while the game goes on."""
        side = self.board.winner
        return None if side is None else NAMES[self._movers[-1] ^ (side == "other")]

    @property
    def over(self) -> bool:
        """Whether somebody has won."""
        return self.board.winner is not None

    def roll(self, die: random.Random) -> int:
        """A roll for the side to move; with three tries for a 6, the last of them, which is the one that counts."""
        (roll,) = die.choices(ROLLS, self.board.roll_weights())
        return roll

    def legal_moves(self, roll: SupportsIndex) -> tuple[Move, ...]:
        """The legal moves of the side to move: a single pass if it has none, and nothing in a finished game."""
        return self.board.legal_moves(roll)

    def push(self, roll: SupportsIndex, move: Move | str) -> None:
        """Play a move; if it is not legal, raise IllegalMoveError and change nothing."""
        ply = Ply(checked_roll(roll), as_move(move))
        self._boards.append(self.board.after(ply.move, ply.roll))
        self._movers.append(self._movers[-1] ^ (not rolls_again(ply.roll)))
        self._plies.append(ply)

    def pop(self) -> Ply:
        """Take back the last move and return it."""
        if not self._plies:
            raise IllegalMoveError("there is no move to take back")
        self._boards.pop()
        self._movers.pop()
        return self._plies.pop()

    def mirror(self) -> "Game":
        """A new game, without history, from the current board with the sides exchanged."""
        return Game(start=self.board.mirror())

    def play(self, first: "Player | str" = "random", second: "Player | str" = "random", *, seed: int = 0) -> None:
        """Play to the end, with these players (or the players of these names) and the rolls of this seed."""
        from madn.match import play_game  # brings numpy and the kernels, which a game without players does not need
        from madn.players import find_player

        named = (find_player(player, self.rules) if isinstance(player, str) else player for player in (first, second))
        players = tuple(named)
        turn = self._movers[-1]
        if not self.over:
            self._push_all(play_game(players[turn], players[1 - turn], self.board, seed).plies)

    def _push_all(self, plies: Iterable[Ply]) -> None:
        for ply in plies:
            self.push(ply.roll, ply.move)

    def record(self, first: str = "first", second: str = "second") -> Record:
        """The game so far as a record, with the names of the players."""
        return Record(self.start, first, second, self.plies)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Game):
            return NotImplemented
        return (self.start, self._plies) == (other.start, other._plies)

    __hash__ = None  # type: ignore[assignment]  # a game is mutable

    def __repr__(self) -> str:
        state = f"{self.winner} has won" if self.over else f"{self.mover} to move"
        return f"<Game of {self.rules}: {len(self._plies)} plies, {state}, '{self.board}'>"

    def _repr_svg_(self) -> str:
        return self.board.svg(flip=self.mover == "second")
