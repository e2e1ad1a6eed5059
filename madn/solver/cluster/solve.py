"""A game solved by several processes: component after component, most advanced first, all processes on each."""

import time
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from functools import partial
from typing import Any

from madn.board import Board
from madn.solver.bounds import Proof
from madn.solver.cluster.checkpoints import Checkpoints
from madn.solver.cluster.component import PanelComponent, PanelInMemory
from madn.solver.cluster.convergence import ClusterConvergence
from madn.solver.cluster.deliver import ClusterDelivery
from madn.solver.cluster.exits import Exits
from madn.solver.cluster.panels import cut_panels
from madn.solver.cluster.parts import Parts
from madn.solver.cluster.processes import Processes
from madn.solver.cluster.proved import ClusterProver
from madn.solver.cluster.streamed import StreamedPanel
from madn.solver.figures import write_figures
from madn.solver.footprint import component_positions
from madn.solver.graph import Pair, exits, pair_text, users
from madn.solver.id_order import Receiver
from madn.solver.scratch import Scratch
from madn.solver.solution import Extremes, ReportedBounds, Solution
from madn.solver.tables import Panel

Progress = Callable[[float, str], None]
MEASURED = 0.05  # at least this many seconds of computing say how fast a process is
SOLVING = {False: 0.8, True: 0.5}  # of the work on a component, by whether it is proved: for the estimate of progress


class ClusterSolver:
    """Solves a game; every process has one, with its own scratch directory, and process 0 has the receiver.

    Components are delivered as soon as they are solved, or, if that is the plan, proved.
    """

    def __init__(self, scratch: Scratch, processes: Processes, receiver: Receiver | None, room: int) -> None:
        self.scratch, self.processes, self.plan, self.sides = scratch, processes, scratch.plan, scratch.sides
        self.parts = Parts(scratch, processes)
        self.delivery = ClusterDelivery(self.parts, processes, receiver, room)
        self.prover = ClusterProver(self.parts, self._measure) if self.plan.proved else None
        self.solved: set[Pair] = set()
        self.delivered: set[Pair] = set()
        # By component, those that need its values, for as long as these are kept.
        self.users = {pair: users(self.plan.rules, pair, self.plan.pairs) for pair in self.plan.pairs}
        self.speeds = [1.0] * processes.count
        self.computed = 0.0
        self.largest = 0  # the most bytes of values that were in memory

    def solve(self, progress: Progress) -> Solution:
        """Solve and deliver what no earlier run has."""
        began = time.perf_counter()
        self._mend()
        pairs, rules = self.plan.pairs, self.plan.rules
        sizes = [component_positions(rules, *pair) for pair in pairs]
        done = 0
        figures: list[dict[str, Any]] = []
        counted: list[dict[str, Any]] = []
        share = SOLVING[self.plan.proved]
        for pair, size in zip(pairs, sizes, strict=True):

            def tell(
                begin: float, share: float, part: float, pair: Pair = pair, size: int = size, done: int = done
            ) -> None:
                progress((done + (begin + share * part) * size) / sum(sizes), pair_text(rules, pair))

            figures.append(self._pair(pair, partial(tell, 0.0, share)))
            counted.append(self._deliver(pair, partial(tell, share, 1 - share)))
            done += size
        self.delivery.won()
        return self._solution(figures, self.processes.first(counted), time.perf_counter() - began)

    def _mend(self) -> None:
        """Find out what all processes have of earlier work; a component whose values are missing is no longer solved.

        This is what `Scratch.mend` does for one process.
        """
        pairs = self.plan.pairs
        here = [
            (self.parts.kept(pair), self.scratch.stored(pair) is not None and self.delivery.has(pair)) for pair in pairs
        ]
        every = self.processes.everyone(here)
        needed: set[Pair] = set()
        proved = self.prover.mend([stored for _, stored in every[0]]) if self.prover is not None else None
        for number in reversed(range(len(pairs))):
            pair, states = pairs[number], [said[number][0] for said in every]
            stored = every[0][number][1] and (proved is None or pair in proved)
            solved = all(state is not None for state in states)
            if solved and (pair in needed or not stored) and not all(states):
                solved = False
            if not solved:
                self.parts.unsolve(pair)
            if not stored:
                self.scratch.path(pair, "stored").unlink(missing_ok=True)
            self.solved |= {pair} if solved else set()
            self.delivered |= {pair} if stored else set()
            if not solved:
                (f, g), rules = pair, self.plan.rules
                needed |= {self.scratch.pair_of(x, g) for x in exits(rules, f)}
                needed |= {self.scratch.pair_of(x, f) for x in exits(rules, g)}
        self.processes.everyone(None)

    def _pair(self, pair: Pair, tell: Callable[[float], None]) -> dict[str, Any]:
        """Solve a component, or take the figures of one that is solved."""
        if pair in self.solved:
            figures = self.parts.figures(pair)
            assert figures is not None
            known: dict[str, Any] = figures["figures"]
            return known
        rows, columns = (self.sides[zone] for zone in pair)
        checkpoints = Checkpoints(self.scratch, pair, self.processes)
        begun = self.processes.first(checkpoints.panels)
        panels = [Panel(*panel) for panel in begun] if begun else cut_panels(rows, columns, self.speeds)
        component = self._component(pair, panels)
        with closing(component) if component is not None else nullcontext():
            convergence = ClusterConvergence((rows, columns), component, panels, self.processes, self.plan, checkpoints)
            for fraction in convergence.run():
                tell(fraction)
            known = {
                "component": pair_text(self.plan.rules, pair),
                "sweeps": convergence.sweeps,
                "updates": convergence.updates,
                "extremes": convergence.extremes().extremes(),
            }
            self._measure(component, panels)
            self.parts.save(pair, component, panels, known)
        self.processes.everyone(None)
        checkpoints.remove()
        self.solved.add(pair)
        self._discard()
        return known

    def _component(self, pair: Pair, panels: list[Panel]) -> PanelComponent | None:
        """The panel of this process; all processes fetch together what their moves into other finish zones lead to."""
        rows, columns = (self.sides[zone] for zone in pair)
        representation, processes, threads = self.plan.representation, self.processes, self.plan.threads
        exits_of, here = Exits(self.parts, rows, columns, panels), processes.number < len(panels)
        component: PanelComponent
        if pair in self.plan.streamed:
            files = exits_of.files(pair)
            if not here:
                return None
            values, late = (self.scratch.path(pair, suffix) for suffix in ("values", "late"))
            tiling = self.parts.tiling(pair)
            component = StreamedPanel(
                rows, columns, representation, panels, processes, files, values, tiling, late, threads
            )
        else:
            row_exits, column_exits = exits_of.whole()
            if not here:
                return None
            component = PanelInMemory(
                rows, columns, representation, panels, processes, row_exits, column_exits, threads
            )
        return component

    def _measure(self, component: PanelComponent | None, panels: Sequence[Panel], beside: int = 0) -> None:
        """Find out how fast each process computes; the next components are cut accordingly.

        `beside` is the memory of values that the component does not count.
        """
        here = (0.0, 0.0)
        if component is not None:
            self.computed += component.computed
            self.largest = max(self.largest, component.nbytes + beside)
            here = (component.computed, float(component.work))
        said = self.processes.everyone(here)
        if len(panels) == len(said) and min(seconds for seconds, _ in said) >= MEASURED:
            speeds = [work / seconds for seconds, work in said]
            mean = sum(speeds) / len(speeds)
            self.speeds = [0.5 * old + 0.5 * new / mean for old, new in zip(self.speeds, speeds, strict=True)]

    def _deliver(self, pair: Pair, tell: Callable[[float], None]) -> dict[str, Any]:
        """Deliver or prove a component unless an earlier run did; process 0 returns what is reported about it."""
        if pair not in self.delivered:
            counted = self.prover.pair(pair, self.speeds, tell) if self.prover else self.delivery.pair(pair)
            if self.processes.number == 0:
                write_figures(self.scratch.path(pair, "stored"), self.scratch.task, counted)
            self.processes.everyone(None)
            self.delivered.add(pair)
            self._discard()
            return counted
        return self.scratch.stored(pair) or {}

    def _discard(self) -> None:
        """Remove the values of delivered components that no other component needs any more."""
        for pair in self.delivered & set(self.users):
            if self.solved.issuperset(self.users[pair]):
                self.parts.forget(pair)
                del self.users[pair]
        if self.prover is not None:
            self.prover.discard(self.delivered)

    def _solution(self, figures: list[dict[str, Any]], counted: list[dict[str, Any]], seconds: float) -> Solution:
        """Combine what is known of all components."""
        plan = self.plan
        wins = {board: win for part in counted for board, win in part["wins"].items()}
        bounds, proofs = None, []
        if plan.proved:
            bounds = ReportedBounds()
            for part in counted:
                bounds.known |= {board: (lower, upper) for board, (lower, upper) in part["intervals"].items()}
                proofs.append(Proof(**{**part["proof"], "board": Board.parse(part["proof"]["board"], plan.rules)}))
        parts = [Extremes.from_json(known["extremes"], plan.rules) for known in figures]
        extremes = parts[0]
        for more in parts[1:]:
            extremes = extremes.merged(more)
        return Solution(
            **vars(extremes),
            plan=plan,
            sweeps=max(known["sweeps"] for known in figures),
            sweeps_per_component=[(known["component"], known["sweeps"]) for known in figures],
            updates=sum(known["updates"] for known in figures),
            seconds=seconds,
            win=wins[str(plan.boards()[0])],
            start=wins.get(str(Board.start(plan.rules))),
            bounds=bounds,
            proofs=tuple(proofs),
        )
