"""Method `tiles`: component after component, most advanced first, each swept until it settles."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np

from madn.board import Board
from madn.rules import Rules
from madn.solver.census import Census
from madn.solver.components import HALF, Component, Matrices
from madn.solver.deliver import HandOver
from madn.solver.footprint import can_stream, component_positions, exits
from madn.solver.id_order import Receiver
from madn.solver.plan import Plan, PlanError
from madn.solver.scratch import Scratch, occupied
from madn.solver.sides import Side
from madn.solver.solution import Extremes, Found, MatrixValues, Place, Solution
from madn.solver.streamed import Streamed
from madn.solver.strips import StripFile

# The part of the work on a component on disk before it is handed over, without and with a census: what the largest ones
# of four pieces took, for the estimate of progress only.
SOLVING = {False: 0.8, True: 0.5}
EXPECTED_SWEEPS = {"fixed32": 12, "float64": 22}  # for the estimate of progress only
MOST_SWEEPS = 2000
NEAR_THE_END = 16  # times the target: a sweep divides the change by four to six, then


def solve(plan: Plan, progress: Callable[[float, str], None], receiver: Receiver | None = None) -> Solution:
    """Solve the game of a plan; on disk, hand each component over when it is solved."""
    began = time.perf_counter()
    with ExitStack() as stack:
        scratch = stack.enter_context(occupied(plan)) if plan.scratch is not None else None
        sides = scratch.sides if scratch else {f: Side(plan.rules, f) for pair in plan.pairs for f in pair}
        sizes = np.array([component_positions(plan.rules, f, g) for f, g in plan.pairs])
        ends = np.cumsum(sizes)
        solved: dict[tuple[int, int], Matrices] = {}
        figures: list[dict[str, Any]] = []
        counted: list[dict[str, Any]] = []
        handover = HandOver(scratch, receiver) if scratch else None
        first = SOLVING[plan.census]
        for pair, size, end in zip(plan.pairs, sizes, ends, strict=True):

            def tell(fraction: float, before: int = end - size, size: int = size, pair: Any = pair) -> None:
                progress(float((before + fraction * size) / ends[-1]), pair_text(plan.rules, pair))

            if handover:
                figures.append(_solve_pair(plan, pair, sides, solved, scratch, lambda part: tell(first * part)))
                if sum(m.L.nbytes + m.R.nbytes for m in solved.values()) > plan.memory_bytes // 4:
                    solved.clear()
                counted.append(handover.pair(pair, solved, lambda part: tell(first + (1 - first) * part)))
            else:
                figures.append(_solve_pair(plan, pair, sides, solved, scratch, tell))
        if handover:
            handover.won()
        extremes = Extremes.read(figures[0]["extremes"], plan.rules)
        for more in figures[1:]:
            extremes = extremes.merged(Extremes.read(more["extremes"], plan.rules))
        values = None if scratch else MatrixValues(plan.rules, plan.representation, sides, solved)
        if values:
            wins = {str(board): values.win(board) for board in plan.boards()}
        else:
            wins = {board: win for part in counted for board, win in part["wins"].items()}
        return Solution(
            plan=plan,
            sweeps=max(part["sweeps"] for part in figures),
            sweeps_per_component=[(part["component"], part["sweeps"]) for part in figures],
            updates=sum(part["updates"] for part in figures),
            seconds=time.perf_counter() - began,
            win=wins[str(plan.boards()[0])],
            start=wins.get(str(Board.start(plan.rules))),
            extremes=extremes,
            values=values,
            scratch=scratch,
            census=_added(counted) if plan.census else None,
            stack=stack.pop_all(),
        )


def _added(counted: list[dict[str, Any]]) -> Census:
    census = Census()
    for part in counted:
        census.add(Census.read(part["census"]))
    return census


def _solve_pair(
    plan: Plan,
    pair: tuple[int, int],
    sides: dict[int, Side],
    solved: dict[tuple[int, int], Matrices],
    scratch: Scratch | None,
    tell: Callable[[float], None],
) -> dict[str, Any]:
    """Solve one component, or take it as an earlier run left it; return its figures."""
    if scratch is not None:
        earlier = scratch.done(pair)
        if earlier is not None:
            return earlier
    f, g = pair
    files: dict[int, StripFile] = {}
    component: Component | Streamed
    if scratch is not None and pair in plan.streamed:
        _fetch(scratch, solved, {(x, g) for x in exits(plan.rules, f) if f != g})
        files = {x: scratch.open((f, x)) for x in exits(plan.rules, g)}
        place = scratch.path(pair, "values" if f == g else "work")
        component = Streamed(sides[f], sides[g], plan.representation, solved, files, place, plan.threads)
    else:
        if scratch is not None:
            wanted = {(x, g) for x in exits(plan.rules, f)} | {(x, f) for x in exits(plan.rules, g)}
            _fetch(scratch, solved, wanted)
        component = Component(sides[f], sides[g], plan.representation, solved)
    convergence = Convergence(component, plan)
    try:
        for fraction in convergence.run():
            tell(fraction)
        figures = {
            "component": pair_text(plan.rules, pair),
            "sweeps": convergence.sweeps,
            "updates": convergence.updates,
            "extremes": convergence.extremes().written(),
        }
        if scratch is not None:
            scratch.save(pair, component, figures)
        elif isinstance(component, Component):
            solved.update(component.results(plan.threads))
    finally:
        convergence.close()
        for file in files.values():
            file.close()
    return figures


def _fetch(scratch: Scratch, solved: dict[tuple[int, int], Matrices], wanted: set[tuple[int, int]]) -> None:
    """Have exactly these solved components in memory."""
    for key in set(solved) - wanted:
        del solved[key]
    for key in sorted(wanted - set(solved)):
        solved[key] = scratch.load(*key)


class Convergence:
    """Brings the residual of one component within the tolerance."""

    def __init__(self, component: Component | Streamed, plan: Plan) -> None:
        self.component, self.plan = component, plan
        self.large = can_stream(plan.rules, component.rows.finish, component.columns.finish)
        self.unit = 2.0 * HALF[plan.representation]
        self.work = np.cumsum(component.strip_slots())
        self.sweeps = self.updates = 0
        self.change = math.inf  # of what captures lead to, in the last sweep
        self.kept = False  # whether the values of the last sweep are there
        self.target = plan.tolerance * self.unit / 2
        self.found: Found | None = None
        if isinstance(component, Streamed):
            earlier = component.begin()
            if earlier is not None:
                self.sweeps, self.updates, self.kept = (earlier[name] for name in ("sweeps", "updates", "kept"))
                self.change, self.target = float(earlier["change"]), float(earlier["target"])

    def close(self) -> None:
        """Let go of the files of a streamed component."""
        if isinstance(self.component, Streamed):
            self.component.end()

    def run(self) -> Iterator[float]:
        """Sweep until the residual is small enough; yields the part of the work that is done, by estimate.

        A sweep leaves a residual of at most the largest change of what captures lead to, for that alone was old when a
        value was computed, plus what groups left alone may have missed: half the tolerance each. The residual itself is
        then measured by a pass that only reads.
        """
        tolerance = self.plan.tolerance * self.unit
        while self.sweeps < MOST_SWEEPS:
            while (not self.kept or self.change > self.target) and self.sweeps < MOST_SWEEPS:
                yield from self._sweep()
            self.found = None
            for end, places in self.component.passes(self.plan.threads, True):
                found = Found(*(Place(*place) for place in places))
                self.found = self.found.merged(found) if self.found else found
                yield 0.95 + 0.05 * float(self.work[end - 1] / self.work[-1])
            if self.found and self.found.residual.value / 6 <= tolerance:
                return
            self.target /= 2
            self.kept = False
            if isinstance(self.component, Streamed):
                self.component.note(self._state())
        raise PlanError(f"a residual of {self.plan.tolerance:g} was not reached in {MOST_SWEEPS} sweeps")

    def _sweep(self) -> Iterator[float]:
        """One sweep.

        In a component that may be streamed, values are kept only near the end, and no tile is left alone, also when it
        is in memory: the same bits come out either way.
        """
        expected = EXPECTED_SWEEPS[self.plan.representation] + 1
        keep = not self.large or self.change <= NEAR_THE_END * self.target
        change, updates = 0.0, self.updates
        skip_below = 0.0 if self.large else self.target
        for end, (moved, computed) in self.component.passes(self.plan.threads, False, skip_below, keep):
            change = max(change, moved)
            updates += computed
            yield min(0.95, (self.sweeps + float(self.work[end - 1] / self.work[-1])) / expected)
        self.sweeps, self.updates, self.change, self.kept = self.sweeps + 1, updates, change, keep
        if isinstance(self.component, Streamed):
            self.component.checkpoint(self._state())

    def _state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("sweeps", "updates", "change", "target", "kept")}

    def extremes(self) -> Extremes:
        """What the last reading pass found, as probabilities and boards."""
        if self.found is None:
            raise RuntimeError("extremes are known after run()")
        return Extremes.of(self.found, self.unit, self._board)

    def _board(self, place: Place) -> Board:
        rows, columns = self.component.rows, self.component.columns
        squares = rows.rules.squares
        a = int(rows.masks[place.row]) | rows.finish << squares
        b = int(columns.masks[place.column]) | columns.finish << squares
        return Board.from_masks(b, a, rows.rules) if place.column_moves else Board.from_masks(a, b, rows.rules)


def pair_text(rules: Rules, pair: tuple[int, int]) -> str:
    """A component as people draw it: both finish zones, `o` for a piece, `.` for a free square."""
    return "/".join("".join("o" if zone >> i & 1 else "." for i in range(rules.pieces)) for zone in pair)
