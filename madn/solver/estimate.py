"""How long a solve will take, from a short measurement on this machine."""

import math
import time
from dataclasses import replace

import numpy as np

from madn._core import Game
from madn.rules import Rules
from madn.solver import tiles
from madn.solver._thesis import run, start_values
from madn.solver.footprint import component_positions
from madn.solver.numbers import FIXED32
from madn.solver.plan import Plan, make_plan
from madn.solver.thesis import EXPECTED_SWEEPS

SAMPLE = Rules(3, 24)  # 8 million positions: about a second
THESIS_SAMPLE = Rules(2, 20)

# What a streamed update and delivering a position cost, in updates of the sample: taken from runs of three and four
# pieces from disk.
STREAMED = 1.7
STORING, CENSUS = 4.1, 3.4


def seconds(plan: Plan) -> float:
    """About the time that a plan takes, without writing a database from memory."""
    if plan.method == "thesis":
        return _thesis(plan)
    sample = replace(make_plan(SAMPLE, threads=plan.threads, tolerance=1e-6), representation=FIXED32)
    measured = tiles.solve(sample, lambda fraction, text: None)
    sweeps = (5 - 0.93 * math.log10(plan.tolerance)) * (1.22 if plan.rules.pieces > 3 else 1.0)
    total = 0.0
    for pair in plan.pairs:
        each = sweeps * (STREAMED if pair in plan.streamed else plan.representation.cost)
        if plan.scratch is not None:
            each += STORING + (CENSUS if plan.census else 0.0)
        total += component_positions(plan.rules, *pair) * each
    return total * measured.seconds / measured.updates


def _thesis(plan: Plan) -> float:
    game = Game(THESIS_SAMPLE)
    values = np.empty(game.positions)
    start_values(game, values, 0.5)
    began = time.perf_counter()
    run(game, values, 0, game.positions, plan.threads, True)
    each = (time.perf_counter() - began) / game.positions
    return each * plan.positions * EXPECTED_SWEEPS[plan.rules.pieces] * -math.log10(plan.tolerance) / 6
