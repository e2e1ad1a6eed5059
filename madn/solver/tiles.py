"""Method `tiles`: component after component, most advanced first, each swept until its residual is small enough."""

import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass

import numpy as np

from madn.board import Board
from madn.solver.census import Census
from madn.solver.components import Component, InMemory, Matrices
from madn.solver.convergence import Convergence
from madn.solver.deliver import Delivery
from madn.solver.footprint import component_positions
from madn.solver.graph import Pair, exits, pair_text
from madn.solver.id_order import Receiver
from madn.solver.plan import Plan
from madn.solver.scratch import Scratch
from madn.solver.sides import Side
from madn.solver.solution import Extremes, MatrixValues, Solution
from madn.solver.streamed import Streamed

# The part of the work on a component on disk before it is delivered, without and with a census: what the largest ones
# of four pieces took, for the estimate of progress only.
SOLVING = {False: 0.8, True: 0.5}

Progress = Callable[[float, str], None]


def solve(plan: Plan, progress: Progress, receiver: Receiver | None = None, scratch: Scratch | None = None) -> Solution:
    """Solve the game of a plan; with a scratch directory, deliver each component when it is solved."""
    return (_FromDisk(plan, scratch, receiver) if scratch else _InOneGo(plan)).solve(progress)


@dataclass(frozen=True)
class _Figures:
    """What is reported of one component."""

    component: str
    sweeps: int
    updates: int
    extremes: Extremes


class _InOneGo:
    """Keeps every solved component in memory."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.sides = {f: Side(plan.rules, f) for pair in plan.pairs for f in pair}
        self.solved: dict[Pair, Matrices] = {}
        self.wins: dict[str, float] = {}  # of the boards that are reported
        self.values: MatrixValues | None = None
        self.census: Census | None = None

    def solve(self, progress: Progress) -> Solution:
        """Solve all components in their order."""
        began = time.perf_counter()
        plan = self.plan
        sizes = np.array([component_positions(plan.rules, f, g) for f, g in plan.pairs])
        ends = np.cumsum(sizes)
        figures = []
        for pair, size, end in zip(plan.pairs, sizes, ends, strict=True):

            def tell(fraction: float, before: int = end - size, size: int = size, pair: Pair = pair) -> None:
                progress(float((before + fraction * size) / ends[-1]), pair_text(plan.rules, pair))

            figures.append(self.pair(pair, tell))
        self.complete()
        return self.solution(figures, time.perf_counter() - began)

    def complete(self) -> None:
        """Do what is left to do when all components are solved."""
        self.values = MatrixValues(self.plan.rules, self.plan.representation, self.sides, self.solved)
        self.wins = {str(board): self.values.win(board) for board in self.plan.boards()}

    def pair(self, pair: Pair, tell: Callable[[float], None]) -> _Figures:
        """Solve one component."""
        f, g = pair
        component = InMemory(self.sides[f], self.sides[g], self.plan.representation, self.solved, self.plan.threads)
        figures = self.converge(pair, component, tell)
        self.solved |= component.matrices(both=False)
        return figures

    def converge(self, pair: Pair, component: Component, tell: Callable[[float], None]) -> _Figures:
        """Sweep a component; return its figures."""
        convergence = Convergence(component, self.plan)
        for fraction in convergence.run():
            tell(fraction)
        name = pair_text(self.plan.rules, pair)
        return _Figures(name, convergence.sweeps, convergence.updates, convergence.extremes())

    def solution(self, figures: list[_Figures], seconds: float) -> Solution:
        """Put the figures of all components together."""
        plan = self.plan
        extremes = figures[0].extremes
        for more in figures[1:]:
            extremes = extremes.merged(more.extremes)
        return Solution(
            **vars(extremes),
            plan=plan,
            sweeps=max(part.sweeps for part in figures),
            sweeps_per_component=[(part.component, part.sweeps) for part in figures],
            updates=sum(part.updates for part in figures),
            seconds=seconds,
            win=self.wins[str(plan.boards()[0])],
            start=self.wins.get(str(Board.start(plan.rules))),
            values=self.values,
            census=self.census,
        )


class _FromDisk(_InOneGo):
    """Keeps solved components in a scratch directory; the last ones are in memory too, as far as there is room."""

    def __init__(self, plan: Plan, scratch: Scratch, receiver: Receiver | None) -> None:
        super().__init__(plan)
        self.sides, self.scratch = scratch.sides, scratch
        self.delivery = Delivery(scratch, receiver)
        self.census = Census() if plan.census else None

    def complete(self) -> None:
        """Deliver finished games; all else was delivered component by component."""
        self.delivery.won()

    def pair(self, pair: Pair, tell: Callable[[float], None]) -> _Figures:
        """Solve one component, or take it as an earlier run left it, and deliver it."""
        first = SOLVING[self.plan.census]
        written = self.scratch.done(pair)
        if written is None:
            figures = self._solve(pair, lambda part: tell(first * part))
        else:
            figures = _Figures(**{**written, "extremes": Extremes.from_json(written["extremes"], self.plan.rules)})
        own = {key: matrices for key, matrices in self.solved.items() if set(key) == set(pair)}
        if sum(matrices.nbytes for matrices in self.solved.values()) > self.plan.memory_bytes // 4:
            self.solved = own
        delivered = self.delivery.pair(pair, self.solved, lambda part: tell(first + (1 - first) * part))
        self.wins |= delivered["wins"]
        if self.census:
            self.census.add(Census(**delivered["census"]))
        return figures

    def _solve(self, pair: Pair, tell: Callable[[float], None]) -> _Figures:
        with ExitStack() as files, closing(self._component(pair, files)) as component:
            figures = self.converge(pair, component, tell)
            self.solved |= component.matrices(both=True)
            self.scratch.save(pair, component, self.solved, {**vars(figures), "extremes": figures.extremes.extremes()})
        return figures

    def _component(self, pair: Pair, stack: ExitStack) -> Component:
        """The component of a pair, in memory if it fits; the files that it reads are closed with the stack."""
        (f, g), plan, sides = pair, self.plan, self.sides
        if pair not in plan.streamed:
            self._fetch({(x, g) for x in exits(plan.rules, f)} | {(x, f) for x in exits(plan.rules, g)})
            return InMemory(sides[f], sides[g], plan.representation, self.solved, plan.threads)
        self._fetch({(x, g) for x in exits(plan.rules, f) if f != g})
        files = {x: stack.enter_context(self.scratch.open((f, x))) for x in exits(plan.rules, g)}
        path = self.scratch.path(pair, "values" if f == g else "work")
        return Streamed(sides[f], sides[g], plan.representation, self.solved, files, path, plan.threads)

    def _fetch(self, wanted: set[Pair]) -> None:
        """Have exactly these solved components in memory."""
        self.solved = {key: matrices for key, matrices in self.solved.items() if key in wanted}
        for key in sorted(wanted - set(self.solved)):
            self.solved[key] = self.scratch.load(*key)
