"""Solving a game: make a plan, then carry it out."""

from collections.abc import Callable

from madn.solver import thesis, tiles
from madn.solver.plan import Plan, PlanError, make_plan
from madn.solver.solution import Solution

__all__ = ["Plan", "PlanError", "Solution", "make_plan", "solve"]


def solve(plan: Plan, progress: Callable[[float, str], None] | None = None) -> Solution:
    """Carry out a plan. `progress` is told the part that is done, 0 to 1, and what is being worked on.

    Raises ResourceError before any work if the memory is not there.
    """
    plan.check_memory()
    method = tiles.solve if plan.method == "tiles" else thesis.solve
    return method(plan, progress or (lambda fraction, text: None))
