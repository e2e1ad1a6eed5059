"""The game for PettingZoo: two agents play each other."""

from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from numpy.typing import NDArray
from pettingzoo import AECEnv

from madn.database import Database
from madn.envs.episode import Episode, observed
from madn.envs.rendering import rendered
from madn.errors import IllegalMoveError
from madn.rules import Rules

AGENTS = ("player_0", "player_1")


class LudoAEC(AECEnv):  # type: ignore[misc]  # the package has no types
    """Two-player Mensch ärgere Dich nicht as an AEC environment; `madn.envs` describes it, `madn.envs.aec` makes it."""

    metadata: ClassVar[dict[str, Any]] = {
        "name": "madn_v0",
        "render_modes": ["human", "ansi"],
        "is_parallelizable": False,
        "render_fps": 1,
    }

    def __init__(self, rules: Rules, database: Database | None, render_mode: str | None) -> None:
        super().__init__()
        self.episode = Episode(rules, database)
        self.render_mode = render_mode
        self.possible_agents = list(AGENTS)
        shape = (observed(rules),)
        self.observation_spaces = {agent: spaces.Box(0, 1, shape, np.float32) for agent in AGENTS}
        self.action_spaces = {agent: spaces.Discrete(self.episode.actions) for agent in AGENTS}
        self.np_random, _ = seeding.np_random()
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """A vector of numbers from 0 to 1."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The numbered actions; `info["action_mask"]` says which are legal."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin a game. The same seed gives the same rolls; `options["board"]` is a board to start from."""
        if seed is not None:
            self.np_random, _ = seeding.np_random(seed)
        self.episode.reset((options or {}).get("board"), self.np_random.random)
        self.agents = list(AGENTS)
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self._show()

    def observe(self, agent: str) -> NDArray[np.float32]:
        """What an agent sees now."""
        return self.episode.observation(AGENTS.index(agent))

    def step(self, action: int | None) -> None:
        """Play an action of the agent `agent_selection`; after a 6 it is the same agent's turn again."""
        if not self.agents:
            raise IllegalMoveError("there is no game: reset() begins one")
        if self.terminations[self.agent_selection]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[self.agent_selection] = 0.0
        self.episode.step(action)
        if self.episode.winner is not None:
            winner = AGENTS[self.episode.winner]
            self.rewards = {agent: 1.0 if agent == winner else -1.0 for agent in AGENTS}
            self.terminations = dict.fromkeys(AGENTS, True)
            self._accumulate_rewards()
        self._show()

    def _show(self) -> None:
        self.agent_selection = AGENTS[self.episode.mover]
        self.infos = {agent: self.episode.info(number) for number, agent in enumerate(AGENTS)}
        if self.render_mode == "human":
            self.render()

    def render(self) -> str | None:
        """The board as text; `human` prints it."""
        return rendered(self.episode, self.render_mode)

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def __str__(self) -> str:
        return f"madn.envs.aec({self.episode.rules!r})"
