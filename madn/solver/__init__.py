"""Solving a game: make a plan, then carry it out."""

from collections.abc import Callable

from madn.errors import PlanError
from madn.solver import thesis, tiles
from madn.solver.census import Census
from madn.solver.id_order import Receiver
from madn.solver.plan import Plan, make_plan
from madn.solver.scratch import Scratch, scratch_directory
from madn.solver.solution import Solution

__all__ = ["Census", "Plan", "Receiver", "Scratch", "Solution", "make_plan", "scratch_directory", "solve"]


def solve(
    plan: Plan,
    progress: Callable[[float, str], None] | None = None,
    receiver: Receiver | None = None,
    scratch: Scratch | None = None,
) -> Solution:
    """Carry out a plan. `progress` is called with the fraction done, 0 to 1, and what is being worked on.

    A plan with a scratch directory needs that directory, opened with `scratch_directory(plan)`. Its values go to
    `receiver`, component by component, and are then removed; without one, the solution keeps its values. Raises
    ResourceError before any work is done if there is not enough memory.
    """
    if (plan.scratch is None) != (scratch is None):
        raise PlanError("a plan with a scratch directory needs that directory opened; any other plan must not have one")
    plan.check_memory()
    report = progress or (lambda fraction, text: None)
    if plan.method == "thesis":
        return thesis.solve(plan, report)
    return tiles.solve(plan, report, receiver, scratch)
