"""What `solve` and `plan` print about a cluster."""

import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from madn.cli.output import columns, duration, plural, print_json, size
from madn.rules import Rules

if TYPE_CHECKING:
    from madn.solver.cluster.plan import ClusterPlan, ClusterTime

UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def bits_a_second(_ctx: click.Context | None, param: click.Parameter | None, value: str) -> float:
    """Read a rate such as 10G or 940M; the callback of an option."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([KMGT]?)", value, re.IGNORECASE)
    rate = float(found[1]) * UNITS[found[2].upper()] if found else 0.0
    if rate < 1:
        raise click.BadParameter(f"{value!r} is not a rate in bits per second; write it like 10G or 940M", param=param)
    return rate


def cluster_rows(where: list[tuple[str, int]]) -> list[tuple[str, str]]:
    """The processes and their computers: if one is killed, mpiexec names its process ID."""
    if len(where) == 1:
        return [("cluster", "1 process")]
    rows = [("cluster", f"{len(where):,} processes; memory and scratch are those of each")]
    return rows + [(f"process {number}", f"on {host}, ID {id}") for number, (host, id) in enumerate(where)]


def plan_cluster(rules: Rules, ranks: int, bandwidth: float, as_json: bool, **settings: Any) -> None:
    """Show what each process of a cluster would need, and whether a cluster is worth it."""
    from madn.machine import available_memory
    from madn.solver.cluster.plan import cluster_plan, cluster_seconds, planned_alone
    from madn.solver.estimate import measured

    settings.pop("scratch", None)
    plan = planned_alone(rules, **settings)
    free = available_memory() if plan.memory_limit is None else plan.memory_limit
    needs = cluster_plan(plan, ranks, free)
    speed = measured(plan.threads)
    time = cluster_seconds(plan, needs, speed, bandwidth / 8)
    needed = max(needs.memory_bytes, needs.rows_bytes)
    fits = free is None or needed <= free
    pointless = time.pointless and (free is None or plan.memory_bytes <= free)
    if as_json:
        facts = {"pieces": rules.pieces, "squares": rules.squares, "rules": asdict(rules)}
        facts |= {"positions": plan.positions, "components": plan.components, "for": plan.board, "proved": plan.proved}
        facts |= {"bandwidth": bandwidth, "threads": plan.threads, **asdict(needs), "disk_bytes": plan.disk_bytes}
        facts["streamed"] = len(needs.streamed)
        facts |= {"seconds": time.total, "time": asdict(time), "fits": fits, "pointless": pointless}
        print_json({**facts, "busy_processors": speed.others})
        return
    rows = [
        ("game", str(rules) + (f", what {plan.board} can lead to" if plan.board else "")),
        ("positions", f"{plan.positions:,}"),
        ("processes", f"{ranks:,}, each with {plural(plan.threads, 'thread')}, as on this computer"),
        ("memory", _memory(needs)),
        ("scratch", f"at most {size(needs.scratch_bytes)} each{_passed(needs)}"),
        *([("disk", f"about {size(plan.disk_bytes)}, at process 0")] if plan.values else []),
        *_network_rows(needs, bandwidth),
        ("time", f"about {duration(time.total)}: {_parts(time)}"),
        ("verdict", _verdict(needs, time, free, fits, pointless)),
    ]
    click.echo(columns(rows))


def _network_rows(needs: "ClusterPlan", bandwidth: float) -> list[tuple[str, str]]:
    if needs.processes == 1:
        return [("network", "none")]
    left, right = size(needs.left_bytes), size(needs.right_bytes)
    rate = f"{bandwidth / 1e9:g} Gbit/s"
    return [
        ("a sweep", f"at most {left} from the process before and {right} from those after, in the largest component"),
        ("exits", f"{size(needs.exit_bytes)} once, for the largest component"),
        ("network", f"about {size(needs.network_bytes)} in all, {rate} each"),
    ]


def _memory(needs: "ClusterPlan") -> str:
    """What each process needs, as planned, and what it would need with other components streamed."""
    planned = f"{size(needs.memory_bytes)} each"
    if needs.streamed:
        planned += (
            f", {plural(len(needs.streamed), 'component')} streamed; {size(needs.whole_bytes)} with none streamed"
        )
    elif needs.least_bytes < needs.whole_bytes:
        planned += f", {size(needs.least_bytes)} with streamed components"
    if needs.rows_bytes > needs.memory_bytes:
        planned += f"; process 0 needs {size(needs.rows_bytes)} to write the database"
    return planned


def _passed(needs: "ClusterPlan") -> str:
    """What a streamed component writes and reads in a sweep; the time for that is not estimated."""
    if not needs.passed_bytes:
        return ""
    return f"; {size(needs.passed_bytes)} pass through it in a sweep of the largest component"


def _parts(time: "ClusterTime") -> str:
    parts = f"{duration(time.computing)} of computing, {duration(time.network)} of network traffic meanwhile"
    return f"{parts}, {duration(time.storing)} to write the database" if time.storing else parts


def _verdict(needs: "ClusterPlan", time: "ClusterTime", free: int | None, fits: bool, pointless: bool) -> str:
    """Whether this can be done, and whether it is worth it, in a few words."""
    if pointless:
        return f"pointless: this computer alone takes about {duration(time.alone)}"
    needed = max(needs.memory_bytes, needs.rows_bytes)
    room = (
        "" if free is None or fits else f"needs computers with {size(needed)} of memory (this one has {size(free)}); "
    )
    if needs.processes > 1 and time.network > time.computing:
        return f"{room}the network is slower than the processors: more bandwidth helps, more processes do not"
    return (
        f"{room}worth it: one such computer takes about {duration(time.alone)}"
        if needs.processes > 1
        else (f"{room}a cluster of one: without --cluster it takes about {duration(time.alone)}")
    )
