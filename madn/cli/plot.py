"""`madn plot`: pictures as PNG or SVG."""

from contextlib import nullcontext
from pathlib import Path

import click

import madn
from madn.cli.options import check_output_file
from madn.cli.output import json_option, show
from madn.plots import FROM_A_DATABASE, PICTURES


@click.command()
@click.argument("name", type=click.Choice(list(PICTURES)), metavar="NAME")
@click.option("--out", type=click.Path(path_type=Path), help="File to write, .svg or .png.  [default: NAME.svg]")
@click.option("--db", type=click.Path(), help="Database to draw, for ratios, averaged, values and cross-table.")
@json_option
def plot(name: str, out: Path | None, db: str | None, as_json: bool) -> None:
    """Draw a picture of a game, or a figure from one of the papers.

    docs/plots.md shows all pictures; an unknown NAME lists their names. Drawing needs matplotlib:
    pip install matplotlib.

    Example: madn plot positions --out positions.png
    """
    target = out or Path(f"{name}.svg")
    check_output_file(target, "--out", ".png", ".svg")
    if db is not None and name not in FROM_A_DATABASE:
        raise click.BadParameter(
            f"{name} is not drawn from a database; only {', '.join(FROM_A_DATABASE)} are", param_hint="'--db'"
        )
    from madn.plots import draw

    with nullcontext() if db is None else madn.open_database(db) as database:
        figure = draw(name, database)
    # Neither the time nor random names: the same picture has the same bytes.
    plain = {"Date": None} if target.suffix == ".svg" else {}
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "madn", "svg.fonttype": "none"}):
        figure.savefig(target, dpi=150, metadata=plain)
    shows = PICTURES[name][1]
    show(as_json, {"name": name, "file": str(target), "shows": shows}, f"{shows}\n{target}")
