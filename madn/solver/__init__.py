"""Solving a game: make a plan, then carry it out."""

from collections.abc import Callable

from madn.solver import thesis, tiles
from madn.solver.census import Census
from madn.solver.id_order import Receiver
from madn.solver.plan import Plan, PlanError, make_plan
from madn.solver.solution import Solution

__all__ = ["Census", "Plan", "PlanError", "Receiver", "Solution", "make_plan", "solve"]


def solve(
    plan: Plan, progress: Callable[[float, str], None] | None = None, receiver: Receiver | None = None
) -> Solution:
    """Carry out a plan. `progress` is told the part that is done, 0 to 1, and what is being worked on.

    A plan with a scratch directory hands the values to `receiver`, component after component, and removes them; other
    solutions keep them. Raises ResourceError before any work if the memory is not there.
    """
    plan.check_memory()
    tell = progress or (lambda fraction, text: None)
    if plan.method == "thesis":
        return thesis.solve(plan, tell)
    return tiles.solve(plan, tell, receiver)
