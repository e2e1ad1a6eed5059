"""`madn verify`: checks a database."""

from typing import TYPE_CHECKING

import click

from madn.cli.options import database_argument
from madn.cli.output import attributes, columns, json_option, show
from madn.cli.progress import ProgressBar
from madn.errors import printable

if TYPE_CHECKING:
    from madn.proof import ProofReport
    from madn.store import Report

DAMAGED = 1  # exit status: the answer is no
SHOWN = 10  # lines of damage for a person; --json has all


@click.command()
@database_argument
@click.option("--deep", is_flag=True, help="Also recompute positions from their successors.")
@click.option("--proof", is_flag=True, help="Also check the proved bounds, in exact arithmetic.")
@click.option(
    "--sample",
    type=int,
    metavar="K",
    help="With --deep or --proof: check K random positions.  [default: all]",
)
@click.option(
    "--component",
    metavar="ZONES",
    help="With --proof: check one component, such as .oo/o.. (finish zones, o for a piece).",
)
@click.option("--seed", type=int, metavar="X", default=0, show_default=True, help="Seed of the random sample.")
@json_option
def verify(
    db: str, deep: bool, proof: bool, sample: int | None, component: str | None, seed: int, as_json: bool
) -> None:
    """Check every byte, digest, count, offset and row of a database.

    With --deep each value is recomputed from those of its successors, and the largest difference (the
    residual) is printed with its board. A database of best moves has no values to recompute; instead, every
    stored choice must be a legal move.

    With --proof the bounds stored by madn solve --proved are checked: those of each position must follow from those of
    its successors. The checker has its own implementation of the rules and works in whole numbers; docs/proof.md says
    what that proves. For a whole game it also checks that play ends with probability 1, whatever is played.

    The exit status is 1 if anything is wrong.

    Example: madn verify two --deep --sample 10000
    """
    if sample is not None and not deep and not proof:
        raise click.UsageError("--sample needs --deep or --proof: it limits how many positions they check")
    if component is not None and (not proof or sample is not None):
        raise click.UsageError("--component needs --proof, and cannot be combined with --sample")
    from madn.store import verify_database

    if proof:
        from madn.database import open_database

        with open_database(db) as database:
            database.check_bounds()
    with ProgressBar("verifying") as bar:
        report = verify_database(db, deep, sample, seed, bar)
    facts = attributes(report, "ok blocks positions recomputed residual residual_board damaged")
    facts |= {"residual_board": report.residual_board and str(report.residual_board)}
    text, checked = _table(report), None
    if proof and report.ok:
        from madn.proof import check_proof

        with ProgressBar("checking") as bar:
            checked = check_proof(db, sample, seed, component, progress=bar)
        proved = attributes(checked, "ok positions failures width width_board decisions proved_best unending")
        facts |= proved | {"width_board": str(checked.width_board), "failed": list(map(str, checked.failed))}
        text = f"{text}\n\nProof:\n{_proof_table(checked)}"
    show(as_json, facts, text)
    if not report.ok or (checked is not None and not checked.ok):
        raise click.exceptions.Exit(DAMAGED)


def _proof_table(report: "ProofReport") -> str:
    rows = [
        ("positions", f"{report.positions:,}"),
        ("failures", f"{report.failures:,}" if report.failures else "none"),
        ("widest", f"{report.width:.2g}  {report.width_board}"),
    ]
    if report.decisions:
        share = 100 * report.proved_best / report.decisions
        rows.append(("best moves", f"{report.proved_best:,} of {report.decisions:,} decisions proved, {share:.4f} %"))
    if report.unending is not None:
        ending = f"not proved from {report.unending:,} positions" if report.unending else "proved"
        rows.append(("game ends", f"{ending}, whatever is played"))
    lines = [f"{board}: its bounds do not follow from its successors'" for board in report.failed[:SHOWN]]
    return "\n".join([columns(rows), *lines])


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
