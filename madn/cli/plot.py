"""`madn plot`: pictures as PNG or SVG."""

from pathlib import Path

import click

from madn.cli.output import json_option, print_json
from madn.plots import FROM_A_DATABASE, PICTURES


@click.command()
@click.argument("name", type=click.Choice(list(PICTURES)), metavar="NAME")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="NAME.svg by default; .png or .svg.")
@click.option("--db", type=click.Path(), help="ratios, averaged, values: show the game of this database.")
@json_option
def plot(name: str, out: Path | None, db: str | None, as_json: bool) -> None:
    """Draw a picture (needs matplotlib: pip install 'madn[plots]').

    docs/plots.md shows all of them; a NAME that is none lists them.

    Example: madn plot positions --out positions.png
    """
    target = out or Path(f"{name}.svg")
    if target.suffix not in {".png", ".svg"}:
        raise click.BadParameter(f"{target} ends neither in .png nor in .svg", param_hint="'--out'")
    if not target.absolute().parent.is_dir():
        raise click.BadParameter(f"there is no directory {target.absolute().parent}", param_hint="'--out'")
    if db is not None and name not in FROM_A_DATABASE:
        raise click.BadParameter(
            f"{name} is not drawn from a database; {', '.join(FROM_A_DATABASE)} are", param_hint="'--db'"
        )
    from madn.database import open_database
    from madn.plots import draw

    if db is None:
        figure = draw(name)
    else:
        with open_database(db) as database:
            figure = draw(name, database)
    # Neither the time nor random names: the same picture is the same bytes.
    plain = {"Date": None} if target.suffix == ".svg" else {}
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "madn", "svg.fonttype": "none"}):
        figure.savefig(target, dpi=150, metadata=plain)
    if as_json:
        print_json({"name": name, "file": str(target), "shows": PICTURES[name][1]})
    else:
        click.echo(f"{PICTURES[name][1]}\n{target}")
