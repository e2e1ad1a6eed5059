"""Proving the bounds of solved components by all processes together, one component after the other.

Each process proves its panel and keeps it in files of its own, rounded outwards to what can be stored, as in
`madn/solver/proved.py`; `parts.py` fetches what a later component reads of them. A component of like sides is swept
downwards only, in whole matrices: the upper bound of a position is the lower bound of its mirror image.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from madn.board import Board
from madn.errors import PlanError
from madn.solver.bounds import Proof
from madn.solver.cluster.component import PanelComponent, PanelInMemory, stages
from madn.solver.cluster.directed import Captured, DirectedSweeps
from madn.solver.cluster.exits import Exits
from madn.solver.cluster.panels import cut_panels
from madn.solver.cluster.parts import Parts, Wanted
from madn.solver.graph import Pair, needed, pair_text, users
from madn.solver.layers import STORED, Layer, round_outwards
from madn.solver.proved import SWEEPS, Matrix, places
from madn.solver.tables import Panel

OUTERMOST = ((1 << 23) - 1) * STORED  # the largest number that can be stored: a bound there may have been further out

Measure = Callable[[PanelComponent | None, Sequence[Panel], int], None]
Tell = Callable[[float], None]


def layers_of(pair: Pair) -> list[Layer]:
    """The layers of a component that are stored."""
    return [Layer.LOWER] if pair[0] == pair[1] else [Layer.LOWER, Layer.UPPER]


class ClusterProver:
    """Proves components; `measure` is told of every panel that was swept, and of the memory taken besides."""

    def __init__(self, parts: Parts, measure: Measure) -> None:
        self.parts, self.measure = parts, measure
        self.processes, self.plan, self.sides = parts.processes, parts.plan, parts.sides
        self.found: set[tuple[Pair, Layer]] = set()
        # By component, those that need its bounds, for as long as these are kept.
        self.users = {pair: users(self.plan.rules, pair, self.plan.pairs) for pair in self.plan.pairs}

    def pair(self, pair: Pair, speeds: Sequence[float], tell: Tell) -> dict[str, Any]:
        """Prove a component, as far as no earlier run has; return what is reported about it."""
        rows, columns = (self.sides[zone] for zone in pair)
        panels = cut_panels(rows, columns, speeds, whole=True)
        layers = layers_of(pair)
        missing = [layer for layer in layers if (pair, layer) not in self.found]
        captured = self._captured(pair, panels) if missing else None
        for number, layer in enumerate(missing):

            def told(part: float, number: int = number) -> None:
                tell((number + part) / len(missing))

            self._prove(pair, panels, layer, captured, told)
        sweeps = sum(figures["figures"]["sweeps"] for layer in layers if (figures := self.parts.figures(pair, layer)))
        return self._look(pair, panels, sweeps)

    def mend(self, stored: Sequence[bool]) -> set[Pair]:
        """Find out what all processes have of earlier proofs; return the components that need not be proved again.

        `stored` says of each whether it was proved. If another one still needs bounds of it that are missing, it is no
        longer proved.
        """
        pairs, rules = self.plan.pairs, self.plan.rules
        here = [[self.parts.kept(pair, layer) for layer in layers_of(pair)] for pair in pairs]
        every = self.processes.everyone(here)
        proved: set[Pair] = set()
        wanted: set[frozenset[int]] = set()
        for number in reversed(range(len(pairs))):
            pair = pairs[number]
            states = [all(kept) for kept in zip(*(said[number] for said in every), strict=True)]
            if stored[number] and (frozenset(pair) not in wanted or all(states)):
                proved.add(pair)
                continue
            wanted |= needed(rules, pair)
            for layer, there in zip(layers_of(pair), states, strict=True):
                if there:
                    self.found.add((pair, layer))
                else:
                    self.parts.unsolve(pair, layer)
        return proved

    def discard(self, proved: set[Pair]) -> None:
        """Remove the bounds of proved components that no other component needs any more."""
        for pair in proved & set(self.users):
            if proved.issuperset(self.users[pair]):
                for layer in layers_of(pair):
                    self.parts.forget(pair, layer)
                del self.users[pair]

    def _captured(self, pair: Pair, panels: Sequence[Panel]) -> Captured | None:
        """The solved values that captures lead to in the columns of this process."""
        rows, columns = (self.sides[zone] for zone in pair)
        captured = None
        if self.processes.number < len(panels):
            dtype = np.dtype(self.plan.representation.dtype)
            captured = Captured(rows, columns, panels[self.processes.number], dtype)
        for strips in stages(rows, columns, len(panels)):
            matrices = self._rows(pair, panels, strips, Layer.MIDDLE)
            if captured is not None and matrices is not None:
                captured.take(strips, matrices)
        return captured

    def _prove(self, pair: Pair, panels: Sequence[Panel], layer: Layer, captured: Captured | None, tell: Tell) -> None:
        """Find one layer of bounds, and write this process's panel of it."""
        rows, columns = (self.sides[zone] for zone in pair)
        plan, direction = self.plan, -1 if layer == Layer.LOWER else 1
        row_exits, column_exits = Exits(self.parts, rows, columns, panels, direction).whole()
        panel = None
        if captured is not None:
            places, exits_of = (panels, self.processes), (row_exits, column_exits)
            panel = PanelInMemory(rows, columns, plan.representation, *places, *exits_of, plan.threads, direction)
        sweeps = DirectedSweeps(panel, captured, self.processes, plan)
        for part in sweeps.run():
            tell(min(1.0, (sweeps.sweeps + part) / SWEEPS))
        if panel is not None:
            for values in (panel.L, panel.R):
                round_outwards(values, layer)
        self.parts.save(pair, panel, panels, {"sweeps": sweeps.sweeps}, layer)
        self.measure(panel, panels, captured.nbytes if captured is not None else 0)
        self.found.add((pair, layer))

    def _look(self, pair: Pair, panels: Sequence[Panel], sweeps: int) -> dict[str, Any]:
        """Find the widest interval, of equal ones the first, and the bounds of the boards that are reported."""
        rows, columns = (self.sides[zone] for zone in pair)
        here = Seen(self.parts, pair, panels[self.processes.number]) if self.processes.number < len(panels) else None
        for strips in stages(rows, columns, len(panels)):
            low, high = (self._rows(pair, panels, strips, layer) for layer in (Layer.LOWER, Layer.UPPER))
            if here is not None and low is not None and high is not None:
                here.see(int(rows.class_start[strips.start]), low, high)
        said = self.processes.everyone((here.widest, here.intervals) if here is not None else None)
        every = [part for part in said if part is not None]
        width, row, column, column_moves = min(widest for widest, _ in every)
        masks = int(rows.whole_masks[row]), int(columns.whole_masks[column])
        board = Board.from_masks(*(masks[::-1] if column_moves else masks), self.plan.rules)
        proof = Proof(pair_text(self.plan.rules, pair), sweeps, -width / self.plan.representation.unit, board)
        intervals = {name: interval for _, named in every for name, interval in named.items()}
        wins = {name: (lower + upper) / 2 for name, (lower, upper) in intervals.items()}
        return {"wins": wins, "intervals": intervals, "proof": {**proof._asdict(), "board": str(board)}}

    def _rows(self, pair: Pair, panels: Sequence[Panel], strips: range, layer: Layer) -> Matrix | None:
        """Fetch whole rows of a panel, of the values of a component or of a layer of its bounds."""
        (f, g), number = pair, self.processes.number
        matrices = self.parts.gather([Wanted(f, g, strips, range(*panel)) for panel in panels], layer)
        if matrices is None:
            return None
        edges, across = self.sides[f].class_start, self.sides[g].class_start
        height, width = (int(edges[strips.stop] - edges[strips.start]), int(np.ptp(across[list(panels[number])])))
        L, R = (values[: height * width].reshape(height, width) for values in (matrices.L, matrices.R))
        return L, R


class Seen:
    """What one process has seen of the bounds in its panel."""

    def __init__(self, parts: Parts, pair: Pair, panel: Panel) -> None:
        self.rows, self.columns = (parts.sides[zone] for zone in pair)
        self.begin, self.end = (int(self.columns.class_start[j]) for j in panel)
        self.places = [
            place
            for place in places(parts.plan.boards(), self.rows, self.columns)
            if self.begin <= place.column < self.end
        ]
        self.unit = parts.plan.representation.unit
        self.widest = 1.0, 0, 0, False  # the width with its sign changed, the row, the column, and whose move it is
        self.intervals: dict[str, tuple[float, float]] = {}

    def see(self, first: int, low: Matrix, high: Matrix) -> None:
        """Take account of whole rows from `first` on; raise PlanError if they have bounds that cannot be stored."""
        facing, masks = self.rows.facing[first : first + len(low[0])], self.columns.masks[self.begin : self.end]
        legal = (facing[:, None] & masks) == 0
        if not legal.any():
            return
        for column_moves, (below, above) in enumerate(zip(low, high, strict=True)):
            width = above - below
            if width[legal].min() < 0 or below[legal].min() <= -OUTERMOST or above[legal].max() >= OUTERMOST:
                raise PlanError("bounds are in the wrong order, or too large to be stored; try a smaller tolerance")
            width[~legal] = -1
            at = int(width.argmax())
            row, column = at // width.shape[1], at % width.shape[1]
            found = -float(width.flat[at]), first + row, self.begin + column, bool(column_moves)
            self.widest = min(self.widest, found)
        for board, row, column, column_moves in self.places:
            if first <= row < first + len(facing):
                place = row - first, column - self.begin
                ends = (-high[1][place], -low[1][place]) if column_moves else (low[0][place], high[0][place])
                lower, upper = (0.5 + float(end) / self.unit for end in ends)
                self.intervals[str(board)] = lower, upper
