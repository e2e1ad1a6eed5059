"""Steps per second of the environments, beside OpenSpiel's `maedn` through Shimmy's bridge to PettingZoo.

    python benchmarks/environments.py [SECONDS]

The agents take random legal actions. Each line is the median of five rounds, which alternate; the time is processor
time of one thread, resets included. Without OpenSpiel and Shimmy (the extra madn[openspiel]) their line is left out.
"""

import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from madn import Rules, envs

ROUNDS = 5


def aec_steps(env: Any, seconds: float, rng: np.random.Generator) -> float:
    """Steps per second of processor time, playing one game after another."""
    steps, begin = 0, time.process_time()
    while time.process_time() - begin < seconds:
        env.reset(seed=int(rng.integers(2**31)))
        for _ in env.agent_iter():
            _, _, over, cut, info = env.last()
            legal = np.flatnonzero(info["action_mask"])
            env.step(None if over or cut else int(legal[int(rng.random() * len(legal))]))
            steps += 1
    return steps / (time.process_time() - begin)


def gym_steps(env: Any, seconds: float, rng: np.random.Generator) -> float:
    steps, begin = 0, time.process_time()
    while time.process_time() - begin < seconds:
        _, info = env.reset(seed=int(rng.integers(2**31)))
        over = False
        while not over:
            legal = np.flatnonzero(info["action_mask"])
            _, _, over, _, info = env.step(int(legal[int(rng.random() * len(legal))]))
            steps += 1
    return steps / (time.process_time() - begin)


def main(seconds: float) -> None:
    rules = Rules(start_in_box=True)
    runs: dict[str, Callable[[np.random.Generator], float]] = {
        "madn.envs.aec": lambda rng: aec_steps(envs.aec(rules), seconds, rng),
        "madn.envs.gym, opponent fpoc": lambda rng: gym_steps(envs.gym(rules), seconds, rng),
    }
    try:
        from shimmy.openspiel_compatibility import OpenSpielCompatibilityV0

        config = {"players": 2, "twoPlayersOpposite": True}
        runs["maedn through Shimmy"] = lambda rng: aec_steps(
            OpenSpielCompatibilityV0(game_name="maedn", config=config), seconds, rng
        )
    except ImportError:
        print("OpenSpiel or Shimmy is not installed: pip install 'madn[openspiel]'", file=sys.stderr)
    found: dict[str, list[float]] = {name: [] for name in runs}
    for round_ in range(ROUNDS):
        for name, run in runs.items():
            found[name].append(run(np.random.default_rng(round_)))
    for name, rates in found.items():
        print(f"{name:<30} {median(rates):>9,.0f} steps per second ({min(rates):,.0f} to {max(rates):,.0f})")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 2.0)
