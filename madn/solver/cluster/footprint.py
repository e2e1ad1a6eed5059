"""What a component needs of each process of a cluster, counted without building anything."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from madn.rules import DIE, Rules
from madn.solver.cluster.component import STAGE
from madn.solver.cluster.panels import LEAST_WORK, balanced_cuts
from madn.solver.footprint import (
    LEFT_SLOTS,
    RIGHT_SLOTS,
    WINDOW,
    can_stream,
    class_sizes,
    component_positions,
    side_size,
)
from madn.solver.graph import Pair, exits
from madn.solver.strips import PART
from madn.solver.tables import GROUP, LANES, Panel

RING = 2 * 4 * LANES  # values per thread for each column that it keeps at hand: TOGETHER chunks, both matrices

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Load:
    """What one component needs of one process, in values; `left` and `right` is what comes from there in a sweep.

    `streamed` is the memory if the panel is streamed, or None if it never is; `late` and `exit_files` are then on disk.
    """

    memory: int
    streamed: int | None
    checkpoint: int
    left: int
    right: int
    exits: int  # what comes from other processes, if it is not streamed
    late: int
    exit_files: int  # positions only


def max_processes(rules: Rules, pair: Pair) -> int:
    """How many panels a component can have at most."""
    return max(1, ((rules.squares + 1) * (rules.pieces - pair[1].bit_count()) + 1) // DIE)


def component_loads(rules: Rules, pair: Pair, processes: int, threads: int, directed: bool = False) -> list[Load]:
    """What a component needs of each process that has a panel of it: to be solved, or for a `directed` sweep."""
    rows, columns = (_sizes(rules, zone) for zone in pair)
    height = np.cumsum(rows) if pair[0] == pair[1] and not directed else np.full(len(columns), rows.sum())
    work = (columns * height).astype(float)
    count = max(1, min(processes, len(columns) // DIE, int(work.sum()) // LEAST_WORK))
    panels = [Panel(*edges) for edges in pairwise(balanced_cuts(work, np.ones(count)))]
    return [_PanelSizes(rules, pair, panel, panels, directed).load(threads) for panel in panels]


class _PanelSizes:
    """The sizes of the classes of a component, and of one panel of it."""

    def __init__(self, rules: Rules, pair: Pair, panel: Panel, panels: list[Panel], directed: bool) -> None:
        self.rules, self.pair, self.panel, self.panels, self.directed = rules, pair, panel, panels, directed
        self.mirrored = pair[0] == pair[1] and not directed
        self.rows, self.columns = (_sizes(rules, zone) for zone in pair)
        self.boxed_rows, self.boxed = (_sizes(rules, zone, boxed=True) for zone in pair)
        self.strips = panel.end if self.mirrored else len(self.rows)
        self.edge = max(0, panel.first - DIE)

    def load(self, threads: int) -> Load:
        """What the panel needs."""
        below, (first, end) = int(self.rows[: self.strips].sum()), self.panel
        states = sum(int(self._of_zone(zone)[self.edge : end].sum()) for zone in exits(self.rules, self.pair[1]))
        ahead = sum(int(self._of_zone(zone)[: self.strips].sum()) for zone in exits(self.rules, self.pair[0]))
        width = int(self.columns[first:end].sum())
        fetched = 2 * (below * states + width * ahead)
        captured = self._captured()
        kept = 2 * int(self._widths(0) @ self.rows[: self.strips])
        before = int(self.rows[: first if self.mirrored else None].sum())
        beside, count, lap = self._beside(threads), len(self.panels), self.rules.squares
        strip = int(self.rows[: self.strips].max())
        stage = strip + STAGE * count // max(1, int(self.columns.sum()))
        streams = can_stream(self.rules, *self.pair) and not self.directed
        late = 2 * int(self.boxed[first:end].sum()) * below
        begun = captured + late if self.directed else 0  # the solved values that captures lead to
        return Load(
            memory=kept + captured + begun + fetched + beside + self._messages(stage),
            streamed=self._streamed(threads) + captured + beside + self._messages(strip) if streams else None,
            checkpoint=captured + late,
            left=2 * before * int(self.columns[self.edge : first].sum()),
            right=2 * int(self.boxed[end : end + lap].sum()) * below,
            exits=int(fetched * (count - 1) // count),
            late=2 * int(self.boxed[first : end + lap].sum()) * below,
            exit_files=self._exit_files() if streams else 0,
        )

    def _widths(self, ahead: int) -> Counts:
        """How many columns of the panel each of its strips has, or the strip `ahead` classes after each."""
        total = np.concatenate([[0], np.cumsum(self.columns)])
        strips = np.arange(self.strips) + ahead if self.mirrored else np.zeros(self.strips, np.int64)
        widths: Counts = total[self.panel.end] - total[strips.clip(*self.panel)]
        return widths

    def _of_zone(self, zone: int) -> Counts:
        return _sizes(self.rules, zone)

    def _exit_files(self) -> int:
        """What a streamed panel gathers of other components, without what no strip reads."""
        f, g = self.pair
        values, ahead = 0.0, self._widths(1)
        for zone in exits(self.rules, f):
            sizes = self._of_zone(zone)
            count = min(len(sizes), len(ahead))
            values += self._share(zone, g) * int(sizes[:count] @ ahead[:count])
        for zone in exits(self.rules, g):
            values += self._share(zone, f) * int(self.rows[: self.strips] @ self._states(zone))
        return int(2 * values)

    def _states(self, zone: int) -> Counts:
        """How many states of a finish zone each strip's columns of the panel lead to."""
        total = np.concatenate([[0], np.cumsum(self._of_zone(zone))])
        last = min(self.panel.end, len(total) - 1)
        first = np.arange(self.strips) - DIE if self.mirrored else np.zeros(self.strips, np.int64)
        states: Counts = total[last] - total[first.clip(min(self.edge, last), last)]
        return states

    def _share(self, f: int, g: int) -> float:
        """The fraction of the pairs of states of two finish zones that are positions."""
        pairs = side_size(self.rules, f) * side_size(self.rules, g)
        return component_positions(self.rules, f, g) / (pairs if f == g else 2 * pairs)

    def _captured(self) -> int:
        """The values that the column player's captures lead to."""
        first, end = self.panel
        total = np.concatenate([[0], np.cumsum(self.columns)])
        earliest = np.arange(len(self.boxed_rows)) - self.rules.squares if self.mirrored else np.zeros(1, np.int64)
        widths = total[end] - total[earliest.clip(first, end)]
        return 2 * int((self.boxed_rows * widths).sum())

    def _messages(self, rows: int) -> int:
        """What is received and sent while this many rows are computed: edges, and values of boxed columns."""
        first, end = self.panel
        last = max(panel.end for panel in self.panels)
        edges = int(self.columns[self.edge : first].sum())
        edges += 2 * int(self.columns[max(0, end - DIE) : end].sum()) if end < last else 0
        lap, boxed = self.rules.squares, int(self.boxed[first:end].sum())
        left = sum(panel.end <= first and panel.end + lap > first for panel in self.panels)
        values = boxed * (2 + left) + int(self.boxed[end : end + lap].sum())
        return 2 * (rows + LANES) * (edges + values)

    def _beside(self, threads: int) -> int:
        """What else is in memory: the threads' rings, captures that are set aside, what the kernel remembers."""
        states = [self._of_zone(zone) for zone in exits(self.rules, self.pair[1])]
        ring = WINDOW * (int(self.columns.max()) + sum(int(sizes.max()) for sizes in states)) + GROUP
        aside = 4 * int(self.rows.max()) ** 2 if self.mirrored else 0
        groups = min(len(self.columns), int(self.columns.sum()) // GROUP + 1)
        remembered = groups * (2 * int(self.boxed_rows.sum()) + 4 * int(self.rows.sum()) // LANES)
        return threads * RING * ring + aside + remembered

    def _streamed(self, threads: int) -> int:
        """The strips and windows of exits that are in memory at a time."""
        rows, widths = self.rows[: self.strips], self._widths(0)
        room = int((rows * widths).max())
        f, g = self.pair
        windows = 0
        for zone in exits(self.rules, g):
            windows += (2 if zone.bit_count() > g.bit_count() else 1) * int((rows * self._states(zone)).max())
        for zone in exits(self.rules, f):  # a roll leads to a finish square from that many squares before it
            sizes, square = self._of_zone(zone), (zone & ~f).bit_length() - 1
            for slots, nearest in ((DIE - 1 - square, 1), (1, DIE - square)):
                ahead = self._widths(nearest)
                count = min(len(sizes), len(ahead))
                windows += max(0, slots) * int((sizes[:count] * ahead[:count]).max())
        buffers = threads * min(PART // 4 + 2 * int(rows.max()) * int(self.columns.max()), 2 * room)
        return (LEFT_SLOTS + RIGHT_SLOTS) * room + windows + buffers


def _sizes(rules: Rules, zone: int, boxed: bool = False) -> Counts:
    """How many states of a side have 0, 1, 2, ... pips."""
    return np.array(class_sizes(rules, rules.pieces - zone.bit_count(), boxed), np.int64)
