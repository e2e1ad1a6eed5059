"""Commands that solve a game, or say what solving it would need: `solve`, `plan`."""

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from madn.board import Board
from madn.cli.options import Function, memory_bytes, rules_options
from madn.cli.output import attributes, columns, duration, json_option, percent, plural, print_json, size
from madn.cli.progress import ProgressBar
from madn.rules import Rules

if TYPE_CHECKING:
    from madn.solver import Plan
    from madn.solving import Result


def solver_options(command: Function) -> Function:
    """Add the options that a plan depends on; `make_plan` checks them."""
    options: list[Callable[[Function], Function]] = [
        rules_options,
        click.option("--threads", type=int, help="Threads to use.  [default: all]"),
        click.option(
            "--tolerance",
            type=float,
            help="The residual to reach.  [default: 1e-15, for 3 and 4 pieces on large boards 1e-6]",
        ),
        click.option(
            "--method",
            metavar="tiles|thesis",
            default="tiles",
            show_default=True,
            help="'thesis' is the thesis' own algorithm: slow, for comparison.",
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
            help="Directory for games larger than memory, and for work that can be resumed.",
        ),
        click.option(
            "--memory",
            metavar="SIZE",
            callback=memory_bytes,
            help="Memory limit, such as 20G.  [default: what is free]",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@solver_options
@click.option(
    "--out",
    type=click.Path(),
    metavar="DIR",
    help="Directory to write the database to.  [default: nothing is stored]",
)
@click.option("--bits", type=int, help="Round stored values to this many bits, 8 to 24.  [default: do not round]")
@click.option(
    "--policy",
    type=click.Path(),
    metavar="DIR",
    help="Directory for a second database, of best moves only; needs --scratch.",
)
@click.option(
    "--census",
    is_flag=True,
    help="Count positions by value and what the choice of a move is worth; needs --scratch.",
)
@click.option("--resume", is_flag=True, help="Continue the work that an earlier run left in --scratch.")
@json_option
def solve(
    rules: Rules,
    out: str | None,
    policy: str | None,
    bits: int | None,
    census: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Solve a game and write the solution to a database.

    The residual is the largest difference, over all positions, between the value of a position and the value
    that its best moves give it. It is measured after the last sweep, and sweeping continues until it is within
    the tolerance. An existing database in DIR is replaced once the new one is complete.

    With --scratch a component that does not fit into --memory is streamed from disk, and a run that was stopped,
    however that happened, can be continued with --resume; the result has the same bits. The scratch directory is
    emptied when the database is complete.

    Example: madn solve --pieces 2 --out two
    """
    from madn.solving import prepare

    job = prepare(rules, out, bits=bits, policy=policy, census=census, **settings)
    click.echo(columns(_plan_rows(job.plan)) + "\n", err=as_json)
    with ProgressBar("solving") as bar:
        result = job.run(bar)
    if as_json:
        print_json(result.to_json())
        return
    click.echo(result_table(result))
    for directory in (out, policy):
        if directory is not None:
            click.echo(f"\nThe database is in {directory}")


def result_table(result: "Result") -> str:
    """The figures of a solution for a person."""
    rows = [
        ("for" if result.board else "start", f"{percent(result.win)}  {result.board or Board.start(result.rules)}"),
        ("smallest", f"{percent(result.min)}  {result.min_board}"),
        ("largest", f"{percent(result.max)}  {result.max_board}"),
        ("residual", f"{result.residual:.2g}  {result.residual_board}"),
        ("sweeps", f"{result.sweeps:,}, {result.updates:,} position updates"),
        ("time", f"{duration(result.seconds)}, {plural(result.threads, 'thread')}"),
    ]
    return columns(rows)


@click.command()
@solver_options
@json_option
def plan(rules: Rules, as_json: bool, **settings: Any) -> None:
    """Say what a solve would need, and do nothing.

    The time is estimated from a measurement that takes a moment.

    Example: madn plan --pieces 3
    """
    from madn import solver
    from madn.machine import available_memory
    from madn.solver import estimate

    wanted = solver.make_plan(rules, **settings)
    least = None
    if wanted.method == "tiles":
        least = solver.make_plan(rules, **{**settings, "scratch": settings["scratch"] or ".", "memory": 1})
    free = available_memory()
    too_large = least is not None and free is not None and wanted.memory_bytes > free
    timed = solver.make_plan(rules, **{**settings, "scratch": "."}) if too_large else wanted
    seconds = estimate.seconds(timed)
    if as_json:
        from_disk = {"memory_bytes": least.memory_bytes, "scratch_bytes": least.scratch_bytes} if least else None
        print_json({**_plan(wanted), "from_disk": from_disk, "seconds": seconds})
        return
    rows = _plan_rows(wanted)
    if least and wanted.scratch is None:
        sizes = f"{size(least.memory_bytes)} of memory or more, at most {size(least.scratch_bytes)} of scratch"
        rows.append(("from disk", sizes))
    how = " from disk" if timed is not wanted else ""
    click.echo(columns([*rows, ("time", f"about {duration(seconds)}{how}")]))


def _plan(plan: "Plan") -> dict[str, Any]:
    facts = {**attributes(plan.rules, "pieces squares"), "rules": asdict(plan.rules)}
    facts |= attributes(plan, "positions components largest_component memory_bytes disk_bytes scratch_bytes")
    facts |= {"streamed": len(plan.streamed), "for": plan.board}
    facts |= {"method": plan.method, "representation": plan.representation.name}
    return facts | attributes(plan, "tolerance threads")


def _plan_rows(plan: "Plan") -> list[tuple[str, str]]:
    scratch = [("scratch", f"at most {size(plan.scratch_bytes)}, {plural(len(plan.streamed), 'streamed component')}")]
    scratch = scratch if plan.scratch is not None else []
    return [
        ("game", str(plan.rules) + (f", what {plan.board} can lead to" if plan.board else "")),
        ("positions", f"{plan.positions:,}"),
        ("components", f"{plan.components:,}, the largest of {plan.largest_component:,} positions"),
        ("memory", size(plan.memory_bytes)),
        *scratch,
        ("disk", f"about {size(plan.disk_bytes)}"),
        ("values", plan.representation.name),
        ("tolerance", f"{plan.tolerance:g}"),
        ("method", f"{plan.method}, {plural(plan.threads, 'thread')}"),
    ]
