"""The game for Gymnasium: one agent, and an opponent that is part of the environment."""

from typing import Any, SupportsFloat

import numpy as np
from gymnasium import Env, register, spaces
from numpy.typing import NDArray

from madn.database import Database
from madn.envs.episode import FIRST_SQUARE, PASS, Episode, action_of, observed
from madn.envs.rendering import rendered
from madn.errors import IllegalMoveError, InvalidPlayerError
from madn.match import compiled
from madn.players import Player, RulePlayer, find_player
from madn.ranges import shown
from madn.rules import Rules

Observation = NDArray[np.float32]
SIDES = ("first", "second", "random")


class LudoGym(Env[Observation, np.int64]):
    """Two-player Mensch ärgere Dich nicht as a Gymnasium environment; `madn.envs` describes it, `gym` makes it."""

    metadata = {"render_modes": ["human", "ansi"], "render_fps": 1}  # noqa: RUF012

    def __init__(
        self, rules: Rules, opponent: Player | str, side: str, database: Database | None, render_mode: str | None
    ) -> None:
        if side not in SIDES:
            raise InvalidPlayerError(f"side must be one of {', '.join(SIDES)}, not {side!r}")
        self.episode = Episode(rules, database)
        self.opponent = find_player(opponent, rules, database) if isinstance(opponent, str) else opponent
        self._fast = compiled(self.opponent, rules) if isinstance(self.opponent, RulePlayer) else None
        self.side, self.render_mode = side, render_mode
        self.observation_space = spaces.Box(0, 1, (observed(rules),), np.float32)
        self.action_space = spaces.Discrete(self.episode.actions)
        self.agent: int | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a game. The same seed gives the same rolls; `options["board"]` is a board to start from.

        If the opponent wins before the agent's first turn, the only action is 0, and the game ends with it.
        """
        super().reset(seed=seed)
        self.episode.reset((options or {}).get("board"), self.np_random.random)
        self.agent = int(self.np_random.integers(2)) if self.side == "random" else SIDES.index(self.side)
        self._answer()
        seen, info = self._seen()
        if self.episode.winner is not None:
            info["action_mask"][PASS] = 1
        return seen, info

    def step(self, action: np.int64 | int) -> tuple[Observation, SupportsFloat, bool, bool, dict[str, Any]]:
        """Play an action; the opponent plays until it is the agent's turn again or the game is over.

        An illegal action loses the game; `info["illegal"]` then says which ply it was and what was legal.
        """
        if self.agent is None:
            raise IllegalMoveError("there is no game: reset() begins one")
        if not self.action_space.contains(action):
            raise IllegalMoveError(
                f"an action is a whole number from 0 to {self.episode.actions - 1}, not {shown(action)}"
            )
        illegal = ""
        if self.episode.winner is None:
            try:
                self.episode.step(action)
            except IllegalMoveError as error:
                illegal, self.episode.winner = str(error), 1 - self.agent
            self._answer()
        seen, info = self._seen()
        if illegal:
            info["illegal"] = illegal
        winner = self.episode.winner
        if winner is None:
            return seen, 0.0, False, False, info
        reward = 1.0 if winner == self.agent else -1.0
        self.agent = None
        return seen, reward, True, False, info

    def _answer(self) -> None:
        """Let the opponent play until it is the agent's turn or the game is over."""
        episode = self.episode
        while episode.winner is None and episode.mover != self.agent:
            episode.step(self._chosen())

    def _chosen(self) -> int:
        episode = self.episode
        if len(episode.moves) == 1:
            return next(iter(episode.moves))
        if self._fast is not None:
            starts = self._fast.choices(episode.own, episode.other, episode.roll)
            chosen = [FIRST_SQUARE + start for start, _ in starts]  # there is no choice when a piece must be brought in
        else:
            chosen = list(map(action_of, self.opponent.choices(episode.board, episode.roll)))
        return chosen[0] if len(chosen) == 1 else chosen[int(self.np_random.random() * len(chosen))]

    def _seen(self) -> tuple[Observation, dict[str, Any]]:
        if self.render_mode == "human":
            self.render()
        assert self.agent is not None
        return self.episode.observation(self.agent), self.episode.info(self.agent)

    def render(self) -> str | None:
        """The board as text; `human` prints it."""
        return rendered(self.episode, self.render_mode)


register("madn/Ludo-v0", "madn.envs:gym")
