"""`madn verify`: checks a database."""

from typing import TYPE_CHECKING

import click

from madn.cli.options import database_argument
from madn.cli.output import attributes, columns, json_option, show
from madn.cli.progress import ProgressBar
from madn.errors import printable

if TYPE_CHECKING:
    from madn.store import Report

DAMAGED = 1  # exit status: the answer is no
SHOWN = 10  # lines of damage for a person; --json has all


@click.command()
@database_argument
@click.option("--deep", is_flag=True, help="Recompute positions from their successors too.")
@click.option(
    "--sample",
    type=int,
    metavar="K",
    help="With --deep: recompute K random positions.  [default: all]",
)
@click.option("--seed", type=int, metavar="X", default=0, show_default=True, help="Seed of the random sample.")
@json_option
def verify(db: str, deep: bool, sample: int | None, seed: int, as_json: bool) -> None:
    """Check every byte, digest, count, offset and row of a database.

    With --deep each value is recomputed from those of its successors, and the largest difference (the
    residual) is printed with its board. A database of best moves has no values to recompute: there the check
    is that every stored choice is a legal move.

    The exit status is 1 if anything is wrong.

    Example: madn verify two --deep --sample 10000
    """
    if sample is not None and not deep:
        raise click.UsageError("--sample needs --deep: it limits how many positions are recomputed")
    from madn.store import verify_database

    with ProgressBar("verifying") as bar:
        report = verify_database(db, deep, sample, seed, bar)
    facts = attributes(report, "ok blocks positions recomputed residual residual_board damaged")
    show(as_json, facts | {"residual_board": report.residual_board and str(report.residual_board)}, _table(report))
    if not report.ok:
        raise click.exceptions.Exit(DAMAGED)


def _table(report: "Report") -> str:
    rows = [("blocks", f"{report.blocks:,}"), ("positions", f"{report.positions:,}")]
    if report.residual is not None:
        rows.append(("recomputed", f"{report.recomputed:,}"))
        rows.append(("residual", f"{report.residual:.2g}  {report.residual_board}"))
    rows.append(("damaged", f"{len(report.damaged):,}" if report.damaged else "nothing"))
    lines = [columns(rows), *map(printable, report.damaged[:SHOWN])]
    if len(report.damaged) > SHOWN:
        lines.append(f"... and {len(report.damaged) - SHOWN:,} more; --json lists them all")
    return "\n".join(lines)
