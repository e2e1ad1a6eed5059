"""Method `thesis`: Algorithm 3 as printed, over all positions in the order of their IDs."""

import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from madn._core import Game
from madn.board import Board
from madn.errors import PlanError
from madn.solver._thesis import run, start_values
from madn.solver.plan import Plan
from madn.solver.solution import ListedValues, Solution

# Sweeps until changes are below 1e-6, for estimates only: section 5.1 of the thesis, extrapolated for 5 and 6 pieces.
EXPECTED_SWEEPS = {1: 39, 2: 67, 3: 105, 4: 135, 5: 165, 6: 195}
MOST_SWEEPS = 5000
SLICE = 1 << 18  # positions between two checks for progress and Ctrl-C: well under a second


def solve(plan: Plan, progress: Callable[[float, str], None]) -> Solution:
    """Solve the game of a plan."""
    began = time.perf_counter()
    rules = plan.rules
    game = Game(rules)
    x = np.empty(game.positions)
    start_values(game, x, 0.5)
    expected = EXPECTED_SWEEPS[rules.pieces] * max(1.0, -np.log10(plan.tolerance) / 6)
    sweeps = updates = 0
    target = plan.tolerance
    residual, where = np.inf, 0
    while residual > plan.tolerance and sweeps < MOST_SWEEPS:
        change = np.inf
        while change > target and sweeps < MOST_SWEEPS:
            change = 0.0
            for part, (most, _, count) in _pass(game, x, plan.threads, True):
                change = max(change, most)
                updates += count
                progress(min(0.99, float((sweeps + part) / expected)), f"sweep {sweeps + 1}")
            sweeps += 1
        residual = -1.0
        for _, (most, at, _) in _pass(game, x, plan.threads, False):
            if most > residual:
                residual, where = most, at
        target /= 2
    if residual > plan.tolerance:
        raise PlanError(f"a residual of {plan.tolerance:g} was not reached in {MOST_SWEEPS} sweeps")
    progress(1.0, f"sweep {sweeps}")
    open_values = np.where((x > 0) & (x < 1), x, np.nan)
    low, high = int(np.nanargmin(open_values)), int(np.nanargmax(open_values))

    def board(id: int) -> Board:
        return Board.from_masks(*game.unrank(id), rules)

    start = float(x[game.rank(*Board.start(rules).masks)])
    return Solution(
        *(residual, board(where), float(x[low]), board(low), float(x[high]), board(high)),
        plan=plan,
        sweeps=sweeps,
        sweeps_per_component=[("all", sweeps)],
        updates=updates,
        seconds=time.perf_counter() - began,
        win=start,
        start=start,
        values=ListedValues(x),
    )


def _pass(
    game: Game, x: NDArray[np.float64], threads: int, write: bool
) -> Iterator[tuple[float, tuple[float, int, int]]]:
    """Pass once in slices, so that Ctrl-C is noticed; yields (fraction done, what the kernel found)."""
    for first in range(0, len(x), SLICE):
        end = min(len(x), first + SLICE)
        yield end / len(x), run(game, x, first, end, threads, write)
