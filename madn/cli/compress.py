"""`madn compress`: re-encodes a database."""

from typing import Any

import click

from madn.cli.options import memory_bytes
from madn.cli.output import columns, json_option, show, size
from madn.cli.progress import ProgressBar


@click.command()
@click.argument("src", type=click.Path())
@click.argument("dst", type=click.Path())
@click.option(
    "--store",
    type=click.Choice(["values", "policy"]),
    default="values",
    show_default=True,
    help="What to keep: winning probabilities, or only the best move for each roll.",
)
@click.option("--bits", type=int, metavar="B", help="Round values to B bits, 8 to 24.  [default: as they are]")
@click.option("--level", type=int, metavar="L", default=9, show_default=True, help="zstd level, 1 to 22.")
@click.option(
    "--memory",
    metavar="SIZE",
    default="1G",
    show_default=True,
    callback=memory_bytes,
    help="Memory for decoded values, such as 4G.",
)
@json_option
def compress(src: str, dst: str, store: str, bits: int | None, level: int, memory: int, as_json: bool) -> None:
    """Re-encode a database with fewer bits, or as best moves only.

    SRC is not changed. An existing database at DST is replaced once the new one is complete. An interrupted
    run continues where it stopped when you give the same command again.

    With --bits, the loss from playing by the rounded values is measured at every position: for each roll, the
    value of the best move less that of the move the rounded values prefer, averaged over the rolls. Measuring
    the loss and finding best moves read values all over the database: if its decoded values do not fit into
    --memory, the loss is not measured, and finding best moves takes very long.

    Example: madn compress two small --bits 12
    """
    if not dst:
        raise click.BadParameter("the directory name is empty", param_hint="'DST'")
    from madn.store import compress_database

    with ProgressBar("compressing") as bar:
        found = compress_database(src, dst, store, bits, level, bar, cache_bytes=memory)
    show(as_json, {**found, "out": dst}, f"{_table(found)}\n\nThe database is in {dst}")


def _table(found: dict[str, Any]) -> str:
    before, after = found["bytes_before"], found["bytes_after"]
    rows = [
        ("before", size(before)),
        ("after", f"{size(after)}, {100 * after / before:.1f} % of that"),
        ("bits", f"{found['bits_per_position']:.3f} per position"),
    ]
    if "bits_per_decision" in found:
        rows.append(("decisions", f"{found['decisions']:,}, {found['bits_per_decision']:.3f} bits each"))
    rows.append(("largest error", f"{found['max_error']:.2g}"))
    if found.get("max_loss") is not None:
        rows.append(("largest loss", f"{found['max_loss']:.2g}  {found['max_loss_board']}"))
        rows.append(("mean loss", f"{found['mean_loss']:.2g}"))
    return columns(rows)
