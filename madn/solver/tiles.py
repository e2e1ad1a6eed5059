"""Method `tiles`: component after component, most advanced first, each swept until its residual is small enough."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass

import numpy as np

from madn.board import Board
from madn.solver.bounds import Bounds, Proof
from madn.solver.census import Census
from madn.solver.choices import Choices
from madn.solver.components import Component, InMemory, Matrices
from madn.solver.convergence import Convergence
from madn.solver.deliver import Delivery
from madn.solver.footprint import can_stream, component_positions, delivered_late
from madn.solver.graph import Pair, exits, pair_text, users
from madn.solver.id_order import Receiver
from madn.solver.numbers import FIXED32
from madn.solver.plan import Plan
from madn.solver.proved import Prover
from madn.solver.scratch import Scratch
from madn.solver.sides import Side
from madn.solver.solution import BoundValues, Extremes, MatrixValues, MiddleValues, ReportedBounds, Solution
from madn.solver.streamed import Resident, Streamed
from madn.solver.strips import Tiling

# How much of the work on a component on disk comes before its delivery: measured with the largest ones of four pieces,
# for the estimate of progress only.
SOLVING = 0.8

Progress = Callable[[float, str], None]


def solve(plan: Plan, progress: Progress, receiver: Receiver | None = None, scratch: Scratch | None = None) -> Solution:
    """Solve the game of a plan; with a scratch directory, deliver each component when it is solved."""
    if scratch is None:
        return _InOneGo(plan).solve(progress)
    return (_ProvedFromDisk(plan, scratch) if plan.proved else _FromDisk(plan, scratch, receiver)).solve(progress)


@dataclass(frozen=True)
class _Figures:
    """What is reported about one component."""

    component: str
    sweeps: int
    updates: int
    extremes: Extremes


@dataclass(frozen=True)
class _Step:
    """A step of the work, which counts as `work` positions; `take` does it."""

    pair: Pair
    work: float
    take: Callable[[Pair, Callable[[float], None]], None]


class _InOneGo:
    """Keeps every solved component in memory."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.sides = {f: Side(plan.rules, f) for pair in plan.pairs for f in pair}
        self.solved: dict[Pair, Matrices] = {}
        self.figures: dict[Pair, _Figures] = {}
        self.wins: dict[str, float] = {}  # of the boards that are reported
        self.values: MatrixValues | MiddleValues | None = None
        self.intervals: BoundValues | ReportedBounds | None = None
        self.bounds = Bounds(plan.representation) if plan.proved and plan.scratch is None else None
        self.proofs: list[Proof] = []
        self.census: Census | None = None

    def solve(self, progress: Progress) -> Solution:
        """Solve all components in their order."""
        began = time.perf_counter()
        steps = list(self.steps())
        total, done = sum(step.work for step in steps), 0.0
        for step in steps:

            def tell(fraction: float, done: float = done, step: _Step = step) -> None:
                progress((done + fraction * step.work) / total, pair_text(self.plan.rules, step.pair))

            step.take(step.pair, tell)
            done += step.work
        self.complete()
        return self.solution([self.figures[pair] for pair in self.plan.pairs], time.perf_counter() - began)

    def steps(self) -> Iterator["_Step"]:
        """The steps there are to take, in order."""
        for pair in self.plan.pairs:
            yield _Step(pair, component_positions(self.plan.rules, *pair), self.pair)

    def complete(self) -> None:
        """Do what is left to do when all components are solved."""
        self.values = MatrixValues(self.plan.rules, self.plan.representation, self.sides, self.solved)
        if self.bounds is not None:
            self.intervals = bounds = BoundValues(self.plan, self.sides, self.bounds)
            if self.plan.representation == FIXED32:  # solved values are coarser than their bounds
                self.values = MiddleValues(bounds)
        self.wins = {str(board): self.values.win(board) for board in self.plan.boards()}

    def pair(self, pair: Pair, tell: Callable[[float], None]) -> None:
        """Solve one component."""
        f, g = pair
        component = InMemory(self.sides[f], self.sides[g], self.plan.representation, self.solved, self.plan.threads)
        self.figures[pair] = self.converge(pair, component, tell)
        if self.bounds is not None:
            self.proofs.append(self.bounds.prove(component, self.plan))
        self.solved |= component.matrices(both=False)

    def converge(self, pair: Pair, component: Component, tell: Callable[[float], None]) -> _Figures:
        """Sweep a component; return its figures."""
        convergence = Convergence(component, self.plan)
        for fraction in convergence.run():
            tell(fraction)
        name = pair_text(self.plan.rules, pair)
        return _Figures(name, convergence.sweeps, convergence.updates, convergence.extremes())

    def solution(self, figures: list[_Figures], seconds: float) -> Solution:
        """Combine the figures of all components."""
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
            bounds=self.intervals,
            proofs=tuple(self.proofs),
        )


class _FromDisk(_InOneGo):
    """Keeps solved components in a scratch directory; the last ones are in memory too, as far as there is room."""

    def __init__(self, plan: Plan, scratch: Scratch, receiver: Receiver | None) -> None:
        super().__init__(plan)
        self.sides, self.scratch = scratch.sides, scratch
        self.delivery = Delivery(scratch, receiver)
        self.census = Census() if plan.census else None

    def solve(self, progress: Progress) -> Solution:
        """Solve the components that no earlier run has solved and delivered."""
        self.scratch.mend(self.delivery.has)
        return super().solve(progress)

    def complete(self) -> None:
        """Deliver finished games; all else was delivered component by component."""
        self.delivery.won()

    def steps(self) -> Iterator[_Step]:
        """Solve each component and deliver it; the largest ones are delivered at the end, unless best moves are stored.

        Their values stay because they need each other. Until nothing needs them, the disk has room for the largest only
        once, so it is delivered first.
        """
        plan, first = self.plan, SOLVING
        late: list[_Step] = []
        for pair in plan.pairs:
            size = component_positions(plan.rules, *pair)
            yield _Step(pair, first * size, self.pair)
            deliver = _Step(pair, (1 - first) * size, self._deliver)
            if delivered_late(plan.rules, pair, plan.choices):
                late.insert(0, deliver)
            else:
                yield deliver
        yield from late

    def pair(self, pair: Pair, tell: Callable[[float], None]) -> None:
        """Solve one component, or take it as an earlier run left it."""
        written = self.scratch.done(pair)
        if written is None:
            self.figures[pair] = self._solve(pair, tell)
        else:
            known = written["figures"]
            extremes = Extremes.from_json(known["extremes"], self.plan.rules)
            self.figures[pair] = _Figures(**{**known, "extremes": extremes})

    def _deliver(self, pair: Pair, tell: Callable[[float], None]) -> None:
        own = {key: matrices for key, matrices in self.solved.items() if set(key) == set(pair)}
        if sum(matrices.nbytes for matrices in self.solved.values()) > self.plan.memory_bytes // 4:
            self.solved = own
        delivered = self.delivery.pair(pair, self.solved, tell)
        self.wins |= delivered["wins"]
        if self.census:
            self.census.add(Census(**delivered["census"]))

    def _solve(self, pair: Pair, tell: Callable[[float], None]) -> _Figures:
        with ExitStack() as files, closing(self._component(pair, files)) as component:
            figures = self.converge(pair, component, tell)
            self.solved |= component.matrices(both=True)
            self.scratch.save(pair, component, self.solved, {**vars(figures), "extremes": figures.extremes.extremes()})
        return figures

    def _component(self, pair: Pair, stack: ExitStack) -> Component:
        """The component of a pair; the best moves of a large one are found while it is solved, if they are wanted."""
        (f, g), plan = pair, self.plan
        component = self._without_choices(pair, stack)
        if plan.best_moves and can_stream(plan.rules, f, g):
            like = self.scratch.tiling(pair) if f == g else None
            tiling = Tiling(component.rows, component.columns, np.uint16, plan.threads, like)
            path = self.scratch.path(pair, "choices") if plan.choices else None
            choices = Choices(component.rows, component.columns, plan.representation, path, tiling, plan.threads)
            keeps_values = plan.values or bool(users(plan.rules, pair, plan.pairs))
            component.find_choices(choices, keeps_values, self.delivery.boards_of(pair))
        return component

    def _without_choices(self, pair: Pair, stack: ExitStack) -> Component:
        """The component of a pair, in memory if it fits; the files that it reads are closed with the stack.

        A large one reads its columns' exits from files even if it is in memory itself, unless it is mirrored.
        """
        (f, g), plan, sides = pair, self.plan, self.sides
        large = can_stream(plan.rules, f, g)
        if pair not in plan.streamed and (f == g or not large):
            self._fetch({(x, g) for x in exits(plan.rules, f)} | {(x, f) for x in exits(plan.rules, g)})
            return InMemory(sides[f], sides[g], plan.representation, self.solved, plan.threads)
        self._fetch({(x, g) for x in exits(plan.rules, f) if f != g})
        files = {x: stack.enter_context(self.scratch.open((f, x))) for x in exits(plan.rules, g)}
        if pair not in plan.streamed:
            return Resident(sides[f], sides[g], plan.representation, self.solved, files, plan.threads)
        path = self.scratch.path(pair, "values" if f == g else "work")
        places = path, self.scratch.task
        return Streamed(sides[f], sides[g], plan.representation, self.solved, files, *places, plan.threads)

    def _fetch(self, wanted: set[Pair]) -> None:
        """Have exactly these solved components in memory."""
        self.solved = {key: matrices for key, matrices in self.solved.items() if key in wanted}
        for key in sorted(wanted - set(self.solved)):
            self.solved[key] = self.scratch.load(*key)


class _ProvedFromDisk(_FromDisk):
    """Proves bounds of each component once it is solved; later ones are solved from the middle of these bounds."""

    def __init__(self, plan: Plan, scratch: Scratch) -> None:
        super().__init__(plan, scratch, None)
        self.prover = Prover(scratch, self.delivery.boards_of)
        self.intervals = self.reported = ReportedBounds()

    def steps(self) -> Iterator[_Step]:
        """Solve each component and prove it."""
        for pair in self.plan.pairs:
            size = component_positions(self.plan.rules, *pair)
            yield _Step(pair, size, self.pair)
            yield _Step(pair, size, self._prove)

    def complete(self) -> None:
        """Do nothing: bounds are reported, not delivered."""

    def _prove(self, pair: Pair, tell: Callable[[float], None]) -> None:
        self.solved = {}  # these are solved values; from now on bounds take their place
        found = self.prover.pair(pair, tell)
        proof = found["proof"]
        self.proofs.append(Proof(**{**proof, "board": Board.parse(proof["board"], self.plan.rules)}))
        for board, (lower, upper) in found["intervals"].items():
            self.reported.known[board] = lower, upper
            self.wins[board] = (lower + upper) / 2
