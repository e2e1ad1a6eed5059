"""What a solve by several processes needs of each: memory, disk, network, time; counted without making anything."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn.errors import PlanError
from madn.ranges import checked_int
from madn.rules import DIE, Rules
from madn.solver.cluster.panels import LEAST_WORK, balanced_cuts
from madn.solver.estimate import STORING, Speed, seconds
from madn.solver.footprint import class_sizes, component_positions, disk_peak
from madn.solver.graph import Pair, exits
from madn.solver.plan import BASE_MEMORY, Plan, make_plan

SWEEPS = 1.35  # as many times more sweeps as one process without panels needs: captures of both players are a sweep old
MOST_PROCESSES = 1 << 16
FIGURES = 1 << 26  # bytes of small files
ORDER = 1 << 22  # values, at the least, that are put in the order of IDs at a time
UNEVEN = 1.25  # how much more than its share a process may have on disk


@dataclass(frozen=True)
class Load:
    """What one component asks of one process, in values; `left` and `right` is what comes from there in a sweep."""

    memory: int
    checkpoint: int
    left: int
    right: int
    exits: int


@dataclass(frozen=True)
class ClusterPlan:
    """What the process that needs most needs; `rows_bytes` is what process 0 needs besides to write the database."""

    processes: int
    memory_bytes: int
    rows_bytes: int
    scratch_bytes: int
    left_bytes: int  # a sweep of the largest component
    right_bytes: int
    exit_bytes: int  # once, for the largest component
    network_bytes: int  # of all processes, in the whole solve, about


def cluster_plan(plan: Plan, processes: int) -> ClusterPlan:
    """Work out what a plan takes with so many processes; raises PlanError if they are too many."""
    processes = checked_int("processes", processes, 1, MOST_PROCESSES, PlanError)
    rules, item, stored = plan.rules, plan.representation.itemsize, plan.representation.stored
    most = max(max_processes(rules, pair) for pair in plan.pairs)
    if processes > most:
        raise PlanError(
            f"{processes} processes are too many for this game: panels are {DIE} classes of columns wide or wider, so"
            f" there are at most {most}"
        )
    memory = checkpoint = 0
    network = 0.0
    for pair in plan.pairs:
        loads = component_loads(rules, pair, processes)
        memory = max(memory, *(load.memory for load in loads))
        checkpoint = max(checkpoint, *(load.checkpoint for load in loads))
        sweeps = SWEEPS * plan.representation.sweeps
        network += sum(sweeps * (load.left + load.right) * item + load.exits * stored for load in loads)
        network += component_positions(rules, *pair) * stored / 2 * (processes - 1) / processes
    largest = max(plan.pairs, key=lambda pair: component_positions(rules, *pair))
    loads = component_loads(rules, largest, processes)
    disk = disk_peak(rules, list(plan.pairs), (), item=item, stored=stored, database=0)
    return ClusterPlan(
        processes=processes,
        memory_bytes=memory * item + BASE_MEMORY,
        rows_bytes=_rows(rules, plan.pairs) * item,
        scratch_bytes=int(disk / processes * (UNEVEN if processes > 1 else 1)) + 2 * checkpoint * item + FIGURES,
        left_bytes=max(load.left for load in loads) * item,
        right_bytes=max(load.right for load in loads) * item,
        exit_bytes=max(load.exits for load in loads) * stored,
        network_bytes=int(network),
    )


def max_processes(rules: Rules, pair: Pair) -> int:
    """How many panels a component can have."""
    return max(1, ((rules.squares + 1) * (rules.pieces - pair[1].bit_count()) + 1) // DIE)


def component_loads(rules: Rules, pair: Pair, processes: int) -> list[Load]:
    """What a component asks of each process that has a panel of it."""
    f, g = pair
    mirrored, S = f == g, rules.squares
    rows, columns, boxed_rows, boxed = (
        np.array(class_sizes(rules, rules.pieces - zone.bit_count(), only), np.int64)
        for zone, only in ((f, False), (g, False), (f, True), (g, True))
    )
    height = np.cumsum(rows) if mirrored else np.full(len(columns), rows.sum())
    work = (columns * height).astype(float)
    count = max(1, min(processes, len(columns) // DIE, int(work.sum()) // LEAST_WORK))
    cuts = balanced_cuts(work, np.ones(count))
    loads = []
    for first, end in pairwise(cuts):
        edge, last = max(0, first - DIE), end if mirrored else len(rows)
        below = rows[:last].sum()
        exit_states = [_between(rules, zone, edge, end) for zone in exits(rules, g)]
        row_exits = [_between(rules, zone, 0, last) for zone in exits(rules, f)]
        fetched = 2 * (below * sum(exit_states) + columns[first:end].sum() * sum(row_exits))
        captured = 2 * sum(
            int(boxed_rows[i]) * int(columns[max(first, i - S if mirrored else 0) : end].sum())
            for i in range(len(boxed_rows))
        )
        late = 2 * int(boxed[first:end].sum()) * int(below)
        loads.append(
            Load(
                memory=int(2 * _kept(rows, columns, first, end, mirrored) + captured + fetched),
                checkpoint=captured + late,
                left=int(2 * rows[: first if mirrored else None].sum() * columns[edge:first].sum()),
                right=int(2 * boxed[end : end + S].sum() * below),
                exits=int(fetched * (count - 1) // count),
            )
        )
    return loads


def _kept(rows: NDArray[np.int64], columns: NDArray[np.int64], first: int, end: int, mirrored: bool) -> int:
    """Pairs of rows and columns of these classes; of a mirrored component only those from the row's class on."""
    if not mirrored:
        return int(rows.sum() * columns[first:end].sum())
    return sum(int(size) * int(columns[max(first, i) : end].sum()) for i, size in enumerate(rows[:end]))


def _between(rules: Rules, zone: int, first: int, end: int) -> int:
    """The states of a side with these classes."""
    return sum(class_sizes(rules, rules.pieces - zone.bit_count())[first:end])


def _rows(rules: Rules, pairs: tuple[Pair, ...]) -> int:
    """Values of the rows of a class, with all columns, of the largest kind, and as much again to put them in order."""
    return ORDER + 2 * max(
        max(class_sizes(rules, rules.pieces - f.bit_count())) * sum(class_sizes(rules, rules.pieces - g.bit_count()))
        for pair in pairs
        for f, g in (pair, pair[::-1])
    )


@dataclass(frozen=True)
class ClusterTime:
    """About how long a solve takes, in seconds: all of it, and what of that is computing, network and the database."""

    total: float
    computing: float
    network: float
    storing: float
    alone: float  # one such computer without a cluster, from disk if need be

    @property
    def pointless(self) -> bool:
        """Whether one computer alone is as fast."""
        return self.total >= self.alone


def planned_alone(rules: Rules, **settings: Any) -> Plan:
    """How one computer would solve a game from disk."""
    return make_plan(rules, scratch=".", **settings)


def cluster_seconds(plan: Plan, cluster: ClusterPlan, speed: Speed, bandwidth: float) -> ClusterTime:
    """Estimate the time; `bandwidth` is what each process can receive, in bytes a second.

    Processes compute while they exchange, so the slower of the two counts; each begins a sweep about a strip after the
    one before it. Process 0 writes the database while the others wait.
    """
    count = cluster.processes
    alone = seconds(plan, speed)
    storing = plan.positions * STORING * speed.update
    strips = (plan.rules.squares + 1) * plan.rules.pieces
    computing = SWEEPS * (alone - storing if plan.scratch is not None else alone) / count * (1 + (count - 1) / strips)
    network = cluster.network_bytes / count / bandwidth if count > 1 else 0.0
    return ClusterTime(max(computing, network) + storing, computing, network, storing, alone)
