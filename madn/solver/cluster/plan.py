"""What a solve by several processes needs of each: memory, disk, network, time; counted without building anything."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from madn.errors import PlanError
from madn.ranges import checked_int
from madn.rules import DIE, Rules
from madn.solver.cluster.footprint import Load, component_loads, max_processes
from madn.solver.deliver import ENCODING
from madn.solver.estimate import STORING, Speed, seconds
from madn.solver.footprint import class_sizes, component_positions, disk_peak
from madn.solver.graph import Pair
from madn.solver.plan import BASE_MEMORY, Plan, make_plan
from madn.solver.proved import SWEEPS as DIRECTED

SWEEPS = 1.35  # times the sweeps of one process without panels: captures of both players are a sweep old
MOST_PROCESSES = 1 << 16
FIGURES = 1 << 26  # bytes of small files
ORDER = 1 << 22  # at least this many values are put in the order of IDs at a time
UNEVEN = 1.25  # how many times its share a process may have on disk


@dataclass(frozen=True)
class ClusterPlan:
    """The needs of the process that needs most; process 0 needs at least `rows_bytes`, to write the database.

    For that it gets `delivery_bytes` from the others: positions are put in the order of their IDs in bands, each as
    large as its memory allows, and all rows are sent for every band. If bounds are proved, nothing is delivered, and
    nothing is streamed.
    """

    processes: int
    streamed: frozenset[Pair]  # components whose panels do not fit into the memory allowed
    memory_bytes: int
    whole_bytes: int  # if none were streamed
    least_bytes: int  # if all panels that need less memory when streamed were streamed
    rows_bytes: int
    scratch_bytes: int
    passed_bytes: int  # in a sweep of the largest component: through scratch files, if it is streamed ...
    left_bytes: int  # ... from the process before, and from those after
    right_bytes: int
    exit_bytes: int  # once, for the largest component
    network_bytes: int  # approximately, of all processes in the whole solve ...
    delivery_bytes: int  # ... and of that, what goes to process 0 for the database


def cluster_plan(plan: Plan, processes: int, limit: int | None = None) -> ClusterPlan:
    """Work out what a plan takes with this many processes, each of which may take `limit` bytes of memory.

    Raises PlanError if there are too many.
    """
    processes = checked_int("processes", processes, 1, MOST_PROCESSES, PlanError)
    rules, item, stored = plan.rules, plan.representation.itemsize, plan.representation.stored
    most = max(max_processes(rules, pair) for pair in plan.pairs)
    if processes > most:
        raise PlanError(
            f"{processes} processes are too many for this game: a panel has at least {DIE} classes of columns, so"
            f" there are at most {most}"
        )
    allowed = math.inf if limit is None else (limit - BASE_MEMORY) / item
    memory = whole = least = checkpoint = files = 0
    streamed: set[Pair] = set()
    network = 0.0
    for pair in plan.pairs:
        loads = component_loads(rules, pair, processes, plan.threads)
        kept, passing = max(load.memory for load in loads), max(load.streamed or load.memory for load in loads)
        if plan.proved:
            directed = component_loads(rules, pair, processes, plan.threads, directed=True)
            kept = passing = max(kept, *(load.memory for load in directed))
            network += _to_prove(plan, pair, directed)
        if passing < kept and kept > allowed:
            streamed.add(pair)
            files = max(files, *(load.late * item + load.exit_files * stored for load in loads))
        got = {load: load.exit_files if pair in streamed else load.exits for load in loads}
        memory = max(memory, passing if pair in streamed else kept)
        whole, least = max(whole, kept), max(least, min(kept, passing))
        checkpoint = max(checkpoint, *(load.checkpoint for load in loads))
        sweeps = SWEEPS * plan.representation.sweeps
        network += sum(sweeps * (load.left + load.right) * item + got[load] * stored for load in loads)
    largest = max(plan.pairs, key=lambda pair: component_positions(rules, *pair))
    loads = component_loads(rules, largest, processes, plan.threads)
    fetched = max(load.exit_files if largest in streamed else load.exits for load in loads)
    passed = max(2 * load.late * item + load.exit_files * stored for load in loads) if largest in streamed else 0
    layers = 3 if plan.proved else 1  # values and bounds: like sides have lower bounds only, but of all columns
    disk = disk_peak(rules, list(plan.pairs), (), item=item, stored=layers * stored, database=0)
    rows, delivery = 0, 0.0
    if not plan.proved:
        rows = _rows(rules, plan.pairs)
        room = (max(memory, rows) - rows // 2) // 8 * 7
        delivery = stored * (processes - 1) / processes * sum(_delivered(rules, pair, room) for pair in plan.pairs)
    share = int(disk / processes * (UNEVEN if processes > 1 else 1))
    return ClusterPlan(
        processes=processes,
        streamed=frozenset(streamed),
        memory_bytes=memory * item + BASE_MEMORY,
        whole_bytes=whole * item + BASE_MEMORY,
        least_bytes=least * item + BASE_MEMORY,
        rows_bytes=rows * item + ENCODING + BASE_MEMORY if rows else 0,
        scratch_bytes=share + 2 * checkpoint * item + files + FIGURES,
        passed_bytes=passed,
        left_bytes=max(load.left for load in loads) * item,
        right_bytes=max(load.right for load in loads) * item,
        exit_bytes=fetched * stored,
        network_bytes=int(network + delivery),
        delivery_bytes=int(delivery),
    )


def _to_prove(plan: Plan, pair: Pair, loads: Sequence[Load]) -> float:
    """Bytes that all processes receive to prove a component: sweeps, exits, and of like sides the mirror image."""
    alike, item, stored = pair[0] == pair[1], plan.representation.itemsize, plan.representation.stored
    found = sum(DIRECTED * (load.left + load.right) * item + load.exits * stored for load in loads)
    mirrored = 3 * component_positions(plan.rules, *pair) * stored * (len(loads) - 1) / len(loads)
    return found + mirrored if alike else 2 * found


def _delivered(rules: Rules, pair: Pair, room: int) -> int:
    """Values that are collected to write a component to the database: all of it for each band."""
    positions = component_positions(rules, *pair)
    sides = 1 if pair[0] == pair[1] else 2
    return positions * math.ceil(positions / sides / room)


def _rows(rules: Rules, pairs: tuple[Pair, ...]) -> int:
    """Values of the largest class of rows, with all columns, and as many again to put them in order."""
    return ORDER + 2 * max(
        max(class_sizes(rules, rules.pieces - f.bit_count())) * sum(class_sizes(rules, rules.pieces - g.bit_count()))
        for pair in pairs
        for f, g in (pair, pair[::-1])
    )


@dataclass(frozen=True)
class ClusterTime:
    """An estimate of how long a solve takes, in seconds: in total, and for computing, the network and the database."""

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
    storing = plan.positions * STORING * speed.update * plan.values
    strips = (plan.rules.squares + 1) * plan.rules.pieces
    solving = alone - storing if plan.scratch is not None else alone
    computing = SWEEPS * solving / count * (1 + (count - 1) / strips)
    storing = max(storing, cluster.delivery_bytes / bandwidth)
    network = (cluster.network_bytes - cluster.delivery_bytes) / count / bandwidth if count > 1 else 0.0
    return ClusterTime(max(computing, network) + storing, computing, network, storing, alone)
