"""How long a solve will take, from a short measurement on this machine."""

import math
import time
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from madn._core import Game
from madn.machine import OtherPrograms
from madn.rules import Rules
from madn.solver import tiles
from madn.solver._thesis import run, start_values
from madn.solver.footprint import can_stream, component_positions
from madn.solver.numbers import FIXED32
from madn.solver.plan import Plan, make_plan
from madn.solver.thesis import EXPECTED_SWEEPS

SAMPLE = Rules(3, 24)  # 8 million positions: about a second
THESIS_SAMPLE = Rules(2, 20)

# What a streamed update and the delivery of a position cost, in updates of the sample; measured in solves of three and
# four pieces from disk.
STREAMED = 1.7
STORING, CENSUS, BEST_MOVES = 4.1, 3.4, 12.0
PROVING = 28.0  # updates of a position in directed sweeps, both directions together: three pieces
PROVING_FROM_DISK = 25.0  # the same from disk: four pieces
BUSY = 0.15  # processors that other programs may use before the measurement counts as disturbed


@dataclass(frozen=True)
class Speed:
    """What was measured: the time of an update, and how many processors other programs used meanwhile.

    If they were busy, it is the time that an update would have taken without them: the processor time, divided evenly
    among the threads.
    """

    update: float
    others: float = 0.0

    @property
    def disturbed(self) -> bool:
        """Whether the solve will take longer than estimated if the other programs keep running."""
        return self.others > BUSY


@cache
def measured(threads: int, method: str = "tiles") -> Speed:
    """Solve a small game to see how fast this machine is now; the result is remembered for the rest of the process."""
    others, wall, processor = OtherPrograms(), time.perf_counter(), time.process_time()
    updates = _thesis_updates(threads) if method == "thesis" else _tiles_updates(threads)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    speed = Speed(wall / updates, others.processors())
    return replace(speed, update=min(wall, processor / threads) / updates) if speed.disturbed else speed


def seconds(plan: Plan, speed: Speed) -> float:
    """Estimate how long a plan takes, without the time to write a database from memory."""
    if plan.method == "thesis":
        return speed.update * plan.positions * EXPECTED_SWEEPS[plan.rules.pieces] * -math.log10(plan.tolerance) / 6
    sweeps = (5 - 0.93 * math.log10(plan.tolerance)) * (1.22 if plan.rules.pieces > 3 else 1.0)
    total = 0.0
    for pair in plan.pairs:
        each = sweeps * (STREAMED if pair in plan.streamed else plan.representation.cost)
        if plan.proved:
            streamed = plan.scratch is not None and can_stream(plan.rules, *pair)
            each += PROVING_FROM_DISK * STREAMED if streamed else PROVING * plan.representation.cost
        if plan.scratch is not None:
            each += STORING * plan.values + CENSUS * plan.best_moves + BEST_MOVES * plan.choices
        total += component_positions(plan.rules, *pair) * each
    return total * speed.update


def _tiles_updates(threads: int) -> int:
    """Solve the sample; return how many updates that took."""
    sample = replace(make_plan(SAMPLE, threads=threads, tolerance=1e-6), representation=FIXED32)
    return tiles.solve(sample, lambda fraction, text: None).updates


def _thesis_updates(threads: int) -> int:
    """Sweep the sample of the thesis' method once; return how many updates that took."""
    game = Game(THESIS_SAMPLE)
    values = np.empty(game.positions)
    start_values(game, values, 0.5)
    run(game, values, 0, game.positions, threads, True)
    return game.positions
