"""Commands that solve a game, or show what solving it would need: `solve`, `plan`."""

import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from madn.board import Board
from madn.cli.cluster import bits_a_second, cluster_rows, plan_cluster
from madn.cli.options import Function, memory_bytes, rules_options
from madn.cli.output import (
    attributes,
    columns,
    duration,
    json_option,
    percent,
    plural,
    plus_minus,
    print_json,
    size,
)
from madn.cli.progress import ProgressBar
from madn.errors import ResourceError
from madn.rules import Rules

if TYPE_CHECKING:
    from madn.solver import Plan
    from madn.solving import Result
    from madn.verdict import Room


def solver_options(command: Function) -> Function:
    """Add the options that a plan depends on; `make_plan` checks them."""
    options: list[Callable[[Function], Function]] = [
        rules_options,
        click.option("--threads", type=int, help="Threads to use.  [default: all]"),
        click.option(
            "--tolerance",
            type=float,
            help="Residual to reach.  [default: 1e-15, but 1e-6 for 3 and 4 pieces on large boards]",
        ),
        click.option(
            "--method",
            metavar="tiles|thesis",
            default="tiles",
            show_default=True,
            help="'thesis' is the algorithm of the thesis: slow, for comparison.",
        ),
        click.option(
            "--proved",
            is_flag=True,
            help="Also prove a lower and an upper bound of every value; with --scratch they are reported, not stored.",
        ),
        click.option(
            "--for",
            "board",
            metavar="BOARD",
            help="Solve only what this position can lead to.",
        ),
        click.option(
            "--scratch",
            type=click.Path(),
            metavar="DIR",
            help="Working directory for games larger than memory, and for work that can be resumed.",
        ),
        click.option(
            "--memory",
            metavar="SIZE",
            callback=memory_bytes,
            help="Memory limit, such as 20G.  [default: free memory]",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def storing_options(command: Function) -> Function:
    """Add the options that say what is stored, and where."""
    options: list[Callable[[Function], Function]] = [
        click.option(
            "--out",
            type=click.Path(),
            metavar="DIR",
            help="Directory to write the database to.  [default: nothing is stored]",
        ),
        click.option(
            "--bits",
            metavar="B|full",
            callback=_bits,
            help="Round stored values to this many bits, 8 to 24.  [default: full, but 16 for 1e9 positions or more]",
        ),
        click.option(
            "--policy",
            type=click.Path(),
            metavar="DIR",
            help="Directory to write a database of best moves to.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _bits(_: click.Context, __: click.Parameter, text: str | None) -> int | str | None:
    if text is None or text == "full":
        return text
    try:
        return int(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is neither a number of bits nor 'full'") from None


@click.command()
@solver_options
@storing_options
@click.option(
    "--census",
    is_flag=True,
    help="Count positions by value, and measure what choosing a move is worth; needs --scratch or --out.",
)
@click.option(
    "--sample",
    type=click.Path(),
    metavar="FILE",
    help="File for randomly drawn positions, with their values.",
)
@click.option(
    "--samples",
    type=int,
    metavar="N",
    default=1_000_000,
    show_default=True,
    help="Approximate number to draw, uniformly from all positions of open games.",
)
@click.option(
    "--samples-least",
    type=int,
    metavar="M",
    default=200,
    show_default=True,
    help="Minimum number for each profile and pair of finish zones, or all it has if fewer.",
)
@click.option("--sample-seed", type=int, metavar="X", default=0, show_default=True, help="Seed of the random draw.")
@click.option("--resume", is_flag=True, help="Continue the work that an earlier run left in --scratch.")
@click.option("--cluster", is_flag=True, help="Share the work with the other processes that mpiexec started.")
@json_option
def solve(
    rules: Rules,
    out: str | None,
    policy: str | None,
    bits: int | str | None,
    census: bool,
    cluster: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Solve a game and write the solution to a database.

    The residual is the largest difference, over all positions, between the value of a position and the value
    that its best moves give it. It is measured after the last sweep, and sweeps continue until it is within
    the tolerance. An existing database in DIR is replaced once the new one is complete.

    A game that is large or does not fit into --memory is solved from disk: scratch files are kept beside the
    database, in DIR.scratch, until it is complete. If the run is stopped, for whatever reason, the same command
    continues where it stopped, and the result is the same to the bit; to start again from the beginning, remove that
    directory. If you choose the directory yourself with --scratch, add --resume to continue.

    Several computers can solve a game together with mpiexec and --cluster (docs/cluster.md). The bytes of the
    database do not depend on the number of processes.

    Example: madn solve --pieces 2 --out two
    """
    from madn.places import data_directory
    from madn.solving import planned, prepare
    from madn.verdict import Room

    if out is not None and Path(out).absolute().parent == (home := data_directory()):
        home.mkdir(parents=True, exist_ok=True)  # where madn looks for databases
    if cluster:
        solve_together(rules, out, as_json, bits=bits, policy=policy, census=census, **settings)
        return
    try:
        job = prepare(rules, out, bits=bits, policy=policy, census=census, **settings)
    except ResourceError:
        unsampled = {name: value for name, value in settings.items() if not name.startswith("sample")}
        plan = planned(rules, out, bits=bits, policy=policy, census=census, **unsampled)
        click.echo(_instead(plan, Room.here(out or policy or ".", plan.memory_limit)) + "\n", err=True)
        raise
    click.echo(columns(_plan_rows(job.plan)) + "\n", err=True)  # standard output stays empty if the solve fails
    with ProgressBar("solving") as bar:
        result = job.run(bar)
    if as_json:
        print_json(result.to_json())
        return
    click.echo(result_table(result))
    for directory in (out, policy):
        if directory is not None:
            click.echo(f"\nThe database is in {directory}")
    if result.sample is not None:
        click.echo(f"\nThe samples are in {result.sample}")


def solve_together(rules: Rules, out: str | None, as_json: bool, **settings: Any) -> None:
    """Solve with all processes of a cluster; only process 0 prints anything."""
    from madn.cluster import prepare_cluster

    job = prepare_cluster(rules, out, **settings)
    if job.processes.number > 0:
        job.run()
        return
    click.echo(columns([*_plan_rows(job.plan), *cluster_rows(job.where)]) + "\n", err=True)
    with ProgressBar("solving") as bar:
        solved = job.run(bar)
    assert solved is not None
    if as_json:
        print_json(solved.to_json())
        return
    click.echo(result_table(solved.result))
    if out is not None:
        click.echo(f"\nThe database is in {out}")


def result_table(result: "Result") -> str:
    """The figures of a solution for a person."""
    rows = [
        ("for" if result.board else "start", f"{percent(result.win)}  {result.board or Board.start(result.rules)}"),
        ("smallest", f"{percent(result.min)}  {result.min_board}"),
        ("largest", f"{percent(result.max)}  {result.max_board}"),
        *_bounds(result),
        ("residual", f"{result.residual:.2g}  {result.residual_board}"),
        ("sweeps", f"{result.sweeps:,}, {result.updates:,} position updates"),
        ("time", f"{duration(result.seconds)}, {plural(result.threads, 'thread')}"),
    ]
    return columns(rows)


def _bounds(result: "Result") -> list[tuple[str, str]]:
    """The proved bounds of the reported board, and where they are widest."""
    if result.lower is None or result.upper is None:
        return []
    within = plus_minus(result.lower, result.upper)
    board = result.board or Board.start(result.rules)
    return [("proved", f"{within}  {board}"), ("widest", f"{result.width:.2g}  {result.width_board}")]


def _instead(plan: "Plan", room: "Room") -> str:
    """The alternatives to a solve that this computer cannot do, line by line."""
    from madn.solver.estimate import measured
    from madn.verdict import ways

    speed = measured(plan.threads, plan.method)
    other = []
    for way in ways(plan, room, speed):
        figures = f"{size(way.memory_bytes)} of memory, {size(way.disk_bytes)} of disk, about {duration(way.seconds)}"
        cannot = "" if way.fits else "; too much for this computer"
        other.append(f"\n  {way.what}: {way.command}\n    {figures}{cannot}")
    other.append("\n  without solving: madn best-move BOARD ROLL\n    exact in endgames, an estimate before them")
    return "Alternatives:" + "".join(other)


@click.command()
@solver_options
@storing_options
@click.option(
    "--ranks", type=int, metavar="K", help="Plan for a cluster of K processes, each on a computer like this one."
)
@click.option(
    "--bandwidth",
    metavar="RATE",
    default="10G",
    show_default=True,
    callback=bits_a_second,
    help="What each process can receive, in bits per second.",
)
@json_option
def plan(
    rules: Rules,
    out: str | None,
    policy: str | None,
    bits: int | str | None,
    ranks: int | None,
    bandwidth: float,
    as_json: bool,
    **settings: Any,
) -> None:
    """Show what a solve would need and whether this computer has it, without solving.

    The time is estimated from a brief measurement. Without --out and --policy, the plan is for a database in the
    current directory. With --ranks it shows what each process of a cluster would need, what goes over the network, and
    whether a cluster is worth it.

    Example: madn plan --pieces 3
    """
    from madn.solver.estimate import measured, seconds
    from madn.solving import planned
    from madn.verdict import Room, ways

    if ranks is not None:
        if policy is not None:
            raise click.UsageError("a cluster does not write --policy")
        plan_cluster(rules, ranks, bandwidth, as_json, bits=bits, **settings)
        return
    place = out or policy or os.path.join(os.curdir, f"{rules.pieces}-pieces")
    values = out is not None or policy is None
    wanted = planned(rules, place if values else None, policy=policy, bits=bits, **settings)
    room = Room.here(place, wanted.memory_limit)
    fits = room.holds(wanted.memory_bytes, wanted.peak_bytes)
    speed = measured(wanted.threads, wanted.method)
    time = seconds(wanted, speed)
    other = [] if fits else ways(wanted, room, speed)
    least = None
    if wanted.method == "tiles" and not (wanted.proved and wanted.representation.name == "float64"):
        from_disk = {**settings, "scratch": wanted.scratch or os.curdir, "memory": 1}
        least = planned(rules, place if values else None, policy=policy, bits=bits, **from_disk)
    if as_json:
        print_json(
            {
                **_plan(wanted),
                "total_disk_bytes": wanted.peak_bytes,
                "free_memory_bytes": room.memory,
                "free_disk_bytes": room.disk,
                "fits": fits,
                "from_disk": attributes(least, "memory_bytes scratch_bytes") if least else None,
                "seconds": time,
                "busy_processors": speed.others,
                "ways": [asdict(way) for way in other],
            }
        )
        return
    busy = " on a quiet machine; other programs are busy now" if speed.disturbed else ""
    rows = _plan_rows(wanted)
    if least and wanted.scratch is None:
        sizes = f"{size(least.memory_bytes)} of memory or more, at most {size(least.scratch_bytes)} of scratch"
        rows.append(("from disk", sizes))
    rows += [("time", f"about {duration(time)}{busy}"), ("verdict", _verdict(wanted, room))]
    click.echo(columns(rows))
    if not fits:
        click.echo(f"\n{_instead(wanted, room)}")


def _verdict(plan: "Plan", room: "Room") -> str:
    """Whether this computer has what is needed, in a few words."""
    short = []
    if room.memory is not None and plan.memory_bytes > room.memory:
        which = "free" if plan.memory_limit is None else "allowed"
        short.append(f"{size(plan.memory_bytes)} of memory, but only {size(room.memory)} is {which}")
    if plan.peak_bytes > room.disk:
        short.append(f"{size(plan.peak_bytes)} of disk, but only {size(room.disk)} is free")
    return f"no: it needs {'; '.join(short)}" if short else "yes, this computer can do it"


def _plan(plan: "Plan") -> dict[str, Any]:
    facts = {**attributes(plan.rules, "pieces squares"), "rules": asdict(plan.rules)}
    facts |= attributes(plan, "positions components largest_component memory_bytes disk_bytes scratch_bytes")
    facts |= {"streamed": len(plan.streamed), "for": plan.board, "proved": plan.proved}
    facts |= {"method": plan.method, "representation": plan.representation.name}
    return facts | attributes(plan, "tolerance threads")


def _plan_rows(plan: "Plan") -> list[tuple[str, str]]:
    streamed = plural(len(plan.streamed), "streamed component")
    where = f" in {plan.scratch}" if plan.scratch_chosen else ""
    scratch = [("scratch", f"at most {size(plan.scratch_bytes)}{where}, {streamed}")]
    scratch = scratch if plan.scratch is not None else []
    stored = f", stored with {plan.bits} bits" if plan.bits else ""
    if not plan.values:
        stored = ", not stored" if plan.proved else ", not stored: only best moves are"
    return [
        ("game", str(plan.rules) + (f", what {plan.board} can lead to" if plan.board else "")),
        ("positions", f"{plan.positions:,}"),
        ("components", f"{plan.components:,}, the largest of {plan.largest_component:,} positions"),
        ("memory", size(plan.memory_bytes)),
        *scratch,
        *([("disk", f"about {size(plan.disk_bytes)}")] if plan.disk_bytes else []),
        ("values", plan.representation.name + stored),
        ("tolerance", f"{plan.tolerance:g}"),
        ("method", f"{plan.method}, {plural(plan.threads, 'thread')}"),
        *([("stop", "Ctrl-C; the same command continues where it stopped")] if plan.scratch_chosen else []),
    ]
