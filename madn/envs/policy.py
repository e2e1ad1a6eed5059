"""A policy trained in an environment, as a player for matches and exact evaluations."""

from collections.abc import Callable
from typing import SupportsIndex

import numpy as np
from numpy.typing import NDArray

from madn.board import Board, Move
from madn.envs.episode import action_of, actions, observation
from madn.errors import InvalidPlayerError
from madn.players import Player, legal_moves
from madn.ranges import as_int, shown

Policy = Callable[[NDArray[np.float32], NDArray[np.int8]], SupportsIndex]


class PolicyPlayer(Player):
    """Plays the action that a policy returns for an observation and a mask of legal actions; see `envs.player`."""

    def __init__(self, policy: Policy, name: str, description: str) -> None:
        self.policy, self.name, self.description = policy, name, description

    def choices(self, board: Board, roll: int) -> tuple[Move, ...]:
        """The move of the policy's action, checked; the policy is not asked about a forced move."""
        moves = {action_of(move): move for move in legal_moves(board, roll)}
        if len(moves) == 1:
            return tuple(moves.values())
        mask = np.zeros(actions(board.rules), np.int8)
        mask[list(moves)] = 1
        chosen = self.policy(observation(*board.masks, roll, board.rules), mask)
        number = as_int(chosen)
        if number not in moves:
            legal = ", ".join(f"{action} ({move})" for action, move in moves.items())
            raise InvalidPlayerError(
                f"{self.name} chose action {shown(chosen)} on '{board}' with a {roll}; legal: {legal}"
            )
        return (moves[number],)
