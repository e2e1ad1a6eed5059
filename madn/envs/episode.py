"""One game as an environment plays it: masks, rolls and numbered actions, without a `Board` for every ply."""

from collections.abc import Callable
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from madn.board import Board, Move, as_board
from madn.database import Database, ValueDatabase, move_of, unchecked_board
from madn.errors import IllegalMoveError, NoValuesError, RulesMismatchError
from madn.ranges import as_int, checked_type, shown
from madn.ranking import game_of
from madn.rules import DIE, ROLLS, Rules, rolls_again

PASS, BRING_IN, FIRST_SQUARE = 0, 1, 2  # actions
EQUAL = (1,) * DIE


class Episode:
    """A game from a given board on: the masks of the mover and of the other side, the roll, and what is legal.

    `mover` is 0 for the side that moved first. `draw` gives random numbers from 0 up to, but not including, 1.
    """

    def __init__(self, rules: Rules, database: Database | None) -> None:
        self.rules = checked_type("rules", rules, Rules)
        self.game = game_of(rules)
        self.actions = actions(rules)
        self.database = None if database is None else _with_values(database, rules)
        self._full = (1 << rules.pieces) - 1 << rules.squares

    def reset(self, board: Board | str | None, draw: Callable[[], float]) -> None:
        """Begin a game, and roll."""
        start = Board.start(self.rules) if board is None else as_board(board, self.rules, "the environment has")
        if start.winner is not None:
            raise IllegalMoveError(f"board '{start}': the game is over, there is nothing to play")
        self.own, self.other = start.masks
        self.draw, self.mover, self.ply = draw, 0, 1
        self.winner: int | None = None
        self._roll()

    def _roll(self) -> None:
        weights = self._weights()
        number = self.draw() * sum(weights)
        self.roll = next((roll for roll, sum_ in zip(ROLLS, accumulate(weights), strict=True) if number < sum_), DIE)
        moves = self.game.own_moves(self.own, self.roll, self.other)
        self.moves = {
            start + FIRST_SQUARE if start >= 0 else BRING_IN: (after, start, end) for after, start, end in moves
        }
        if not moves:
            self.moves = {PASS: (self.own, -1, -1)}

    def _weights(self) -> tuple[int, ...]:
        if not self.rules.three_rolls:
            return EQUAL
        return self.rules.roll_weights([bool(self.game.own_moves(self.own, roll, self.other)) for roll in ROLLS])

    def step(self, action: object) -> None:
        """Play an action and roll for the next mover; IllegalMoveError says which ply it was and what was legal."""
        number = as_int(action)
        if number not in self.moves:
            legal = ", ".join(f"{known} ({self.move(known)})" for known in self.moves)
            place = f"on '{self.board}' with a {self.roll}"
            raise IllegalMoveError(f"ply {self.ply}: action {shown(action)} is not legal {place}; legal: {legal}")
        self.own, _, end = self.moves[number]
        if 0 <= end < self.rules.squares:
            self.other &= ~(1 << self.rules.opposite(end))
        self.ply += 1
        if self.own & self._full == self._full:
            self.winner, self.moves = self.mover, {}
        elif not rolls_again(self.roll):
            self.own, self.other, self.mover = self.other, self.own, 1 - self.mover
        if self.winner is None:
            self._roll()

    def move(self, action: int) -> Move:
        """The move of a legal action."""
        _, start, end = self.moves[action]
        return move_of(start, end, 0 <= end < self.rules.squares and bool(self.other >> self.rules.opposite(end) & 1))

    @property
    def board(self) -> Board:
        """The board as the mover sees it."""
        return unchecked_board(self.own, self.other, self.rules)

    def observation(self, agent: int) -> NDArray[np.float32]:
        """What an agent, 0 or 1, sees; `madn.envs` explains the numbers."""
        if agent == self.mover:
            return observation(self.own, self.other, 0 if self.winner is not None else self.roll, self.rules)
        return observation(self.other, self.own, 0, self.rules)

    def info(self, agent: int) -> dict[str, NDArray[np.generic]]:
        """The mask of legal actions, all 0 for an agent that waits, and with a database what each action is worth."""
        mask = np.zeros(self.actions, np.int8)
        found: dict[str, NDArray[np.generic]] = {"action_mask": mask}
        acts = agent == self.mover and self.winner is None
        if acts:
            mask[list(self.moves)] = 1
        if self.database is not None:
            win = np.zeros(self.actions)
            if acts:
                options = self.database.engine.moves(self.own, self.other, self.roll)
                values = {start: value for start, _, _, _, _, value in options}
                for action, (_, start, _) in self.moves.items():
                    win[action] = values[start]
            found["win"] = win
        return found


def observation(own: int, other: int, roll: int, rules: Rules) -> NDArray[np.float32]:
    """What a side sees, given two masks (its own first) and its roll (0 if it is not its turn)."""
    goal = rules.goal
    seen = np.zeros(observed(rules), np.float32)
    for number, mask in enumerate((own, other)):
        bits = np.frombuffer(mask.to_bytes(8, "little"), np.uint8)
        seen[number * goal : (number + 1) * goal] = np.unpackbits(bits, count=goal, bitorder="little")
        seen[2 * goal + number] = 1 - mask.bit_count() / rules.pieces
    if roll:
        seen[2 * goal + 1 + roll] = 1
    return seen


def observed(rules: Rules) -> int:
    """How many numbers an observation has."""
    return 2 * rules.goal + 2 + DIE


def actions(rules: Rules) -> int:
    """How many actions there are; the last square has none, since a piece on it never moves."""
    return FIRST_SQUARE + rules.goal - 1


def action_of(move: Move) -> int:
    """The number of a move."""
    if move.end is None:
        return PASS
    return BRING_IN if move.start is None else FIRST_SQUARE + move.start


def _with_values(database: Database, rules: Rules) -> ValueDatabase:
    checked_type("database", database, Database)
    if not isinstance(database, ValueDatabase):
        raise NoValuesError(f"{database.path} stores best moves only; an environment needs winning probabilities")
    if database.rules != rules:
        raise RulesMismatchError(f"the environment has {rules}; {database.path} holds {database.rules}")
    return database
