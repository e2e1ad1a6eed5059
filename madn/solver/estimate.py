"""How long a solve will take, from a short measurement on this machine."""

import math
import time
from dataclasses import replace

import numpy as np

from madn._core import Ranking
from madn._thesis import run, start_values
from madn.rules import Rules
from madn.solver import tiles
from madn.solver.footprint import component_positions
from madn.solver.plan import Plan, make_plan

SAMPLE = Rules(3, 20)  # 2 million positions: a fraction of a second
THESIS_SAMPLE = Rules(2, 20)
THESIS_SWEEPS = {1: 39, 2: 67, 3: 105, 4: 135}  # to changes of 1e-6: the thesis, section 5.1

# Time for an update, of that in the sample, from runs of the two-, three- and four-piece game (docs/results.md).
WIDER = {"fixed32": 1.0, "float64": 2.2}
STREAMED = 1.5
STORING = 5.0  # updates that handing over a position from disk costs; a census three times that


def seconds(plan: Plan) -> float:
    """About the time that a plan takes, without writing a database from memory."""
    if plan.method == "thesis":
        return _thesis(plan)
    sample = make_plan(SAMPLE, threads=plan.threads, tolerance=1e-6)
    measured = tiles.solve(replace(sample, representation="fixed32"), lambda fraction, text: None)
    each = measured.seconds / measured.updates * WIDER[plan.representation]
    sweeps = 5 - 0.93 * math.log10(plan.tolerance)
    total = 0.0
    for pair in plan.pairs:
        updates = sweeps * (STREAMED if pair in plan.streamed else 1.0)
        if plan.scratch is not None:
            updates += STORING * (4 if plan.census else 1)
        total += component_positions(plan.rules, *pair) * updates * each
    return total


def _thesis(plan: Plan) -> float:
    ranking = Ranking(THESIS_SAMPLE.pieces, THESIS_SAMPLE.squares)
    values = np.empty(ranking.positions)
    start_values(ranking, values, 0.5)
    began = time.perf_counter()
    run(ranking, values, 0, ranking.positions, plan.threads, True)
    each = (time.perf_counter() - began) / ranking.positions
    return each * plan.positions * THESIS_SWEEPS[plan.rules.pieces] * -math.log10(plan.tolerance) / 6
