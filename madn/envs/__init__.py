"""Environments to train agents in: `aec` is for PettingZoo, `gym` for Gymnasium (the extra `madn[envs]`).

Both play the same game in the same way. Every roll is a step, even one without a legal move. The actions have the
numbers of OpenSpiel's `maedn`: 0 is a lost roll, 1 brings a piece in from the box, 2 + q moves the piece on square q in
the mover's numbers. `info["action_mask"]` says which are legal. The observation is a vector of numbers from 0 to 1, as
the agent sees the board (S squares, P pieces):

| numbers | what |
|---|---|
| S + P | 1 for each square that it holds, in its own numbers: main field, then finish zone |
| S + P | the same for the other side, in the other side's numbers |
| 2 | the fraction of its pieces that are in the box, and of the other side's |
| 6 | 1 for the roll, if it is the agent's turn; otherwise 0 |

The reward comes at the end: 1 for a win and -1 for a loss. With a database of values `info["win"]` has the exact
winning probability of the agent after each action, 0 for an illegal one: `max(win) - win[action]` is what a move costs.
"""

from typing import TYPE_CHECKING, Literal

from madn.errors import MissingExtraError
from madn.rules import Rules

if TYPE_CHECKING:
    from madn.database import Database
    from madn.envs.one_agent import LudoGym
    from madn.envs.policy import Policy, PolicyPlayer
    from madn.envs.two_agents import LudoAEC
    from madn.players import Player

STANDARD = Rules()
SIZES = ((1, 8), (1, 20), (1, 40), (2, 12), (2, 24), (2, 40), (3, 24), (3, 40), (4, 40))
LADDER = tuple(Rules(*size) for size in SIZES)
"""Games from small to large; the last is the standard game."""


def aec(
    rules: Rules = STANDARD, *, database: "Database | None" = None, render_mode: Literal["human", "ansi"] | None = None
) -> "LudoAEC":
    """A PettingZoo AEC environment: the agents `player_0`, which moves first, and `player_1` play each other.

    `reset(seed=..., options={"board": "3,17/0"})` starts from another board.
    """
    try:
        from madn.envs.two_agents import LudoAEC
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"madn.envs.aec needs {error.name}: pip install 'madn[envs]'") from None
    return LudoAEC(rules, database, render_mode)


def gym(
    rules: Rules = STANDARD,
    opponent: "Player | str" = "fpoc",
    *,
    side: Literal["first", "second", "random"] = "random",
    database: "Database | None" = None,
    render_mode: Literal["human", "ansi"] | None = None,
) -> "LudoGym":
    """A Gymnasium environment: one agent against a player, given by name or as an object, that answers at once.

    `side` says whether the agent moves first or second; `random` draws lots for every game.
    `reset(options={"board": "3,17/0"})` starts from another board. An illegal action loses the game, and
    `info["illegal"]` says what was legal.
    """
    try:
        from madn.envs.one_agent import LudoGym
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"madn.envs.gym needs {error.name}: pip install 'madn[envs]'") from None
    return LudoGym(rules, opponent, side, database, render_mode)


def player(
    policy: "Policy", name: str = "policy", description: str = "A policy from an environment."
) -> "PolicyPlayer":
    """A policy as a player, for `madn.match` and `madn.evaluate`.

    `policy(observation, action_mask)` returns an action; it is not called if there is only one legal move.
    """
    from madn.envs.policy import PolicyPlayer

    return PolicyPlayer(policy, name, description)
