"""`madn export`: a database as a table for other programs."""

import re
from pathlib import Path

import click

from madn.cli.options import database_argument
from madn.cli.output import columns, json_option, show, size
from madn.cli.progress import ProgressBar

Profile = tuple[int, int, int, int]


def read_profiles(_ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> list[Profile]:
    """Read P1,F1,P2,F2, several times; the callback of an option."""
    found = []
    for value in values:
        parts = re.fullmatch(r"([0-9]),([0-9]),([0-9]),([0-9])", value)
        if parts is None:
            raise click.BadParameter(f"{value!r} is not P1,F1,P2,F2, four digits like 2,1,2,0", param=param)
        found.append((int(parts[1]), int(parts[2]), int(parts[3]), int(parts[4])))
    return found


@click.command()
@database_argument
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--profile",
    "profiles",
    metavar="P1,F1,P2,F2",
    multiple=True,
    callback=read_profiles,
    help="Only this profile: pieces out of the box and pieces home, for each side. Can be repeated.",
)
@click.option("--sample", type=int, metavar="N", help="Only N positions, drawn at random.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random draw.")
@json_option
def export(db: str, file: Path, profiles: list[Profile], sample: int | None, seed: int, as_json: bool) -> None:
    """Write a database as a table, FILE.parquet or FILE.csv.

    The columns are id, own and other (whole numbers: bit q is set when that side has a piece on its square q)
    and win, the probability that the side to move wins. Rows are in ID order. An existing file is replaced once the new
    one is complete. Parquet needs pyarrow: pip install 'madn[data]'.

    Example: madn export two two.parquet --sample 10000
    """
    from madn.database import open_database
    from madn.export import export as write

    with open_database(db) as database, ProgressBar("exporting") as bar:
        found = write(database, file, profiles=profiles, sample=sample, seed=seed, progress=bar)
    answer = {"db": db, "out": str(file), "rows": found.rows, "bytes": found.bytes}
    show(
        as_json,
        answer,
        columns([("rows", f"{found.rows:,}"), ("size", size(found.bytes))]) + f"\n\nThe table is in {file}",
    )
