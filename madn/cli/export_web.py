"""`madn export-web`: the page as static files."""

from pathlib import Path

import click

from madn.cli.output import columns, json_option, show, size
from madn.cli.progress import ProgressBar


@click.command("export-web")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--db", "databases", metavar="DB", multiple=True, help="Copy this database; can be repeated.")
@click.option("--db-at", metavar="URL", help="Do not copy the one --db: its files are at this address.")
@json_option
def export_web(directory: Path, databases: tuple[str, ...], db_at: str | None, as_json: bool) -> None:
    """Write the web page as static files that work without a madn server.

    Any web server that sends files can publish DIR. The browser knows the rules, estimates values, and solves endgames;
    for games whose databases are given with --db it reads exact values, or best moves, from them, block by block, with
    range requests. An earlier export in DIR is replaced once the new one is complete; all other files there are left
    alone.

    Example: madn export-web site --db two
    """
    from madn.web.export import export_page

    if db_at is not None and len(databases) != 1:
        raise click.UsageError(f"--db-at needs exactly one --db, not {len(databases)}")
    with ProgressBar("copying") as bar:
        found = export_page(directory, databases, at=db_at, progress=bar)
    answer = {"out": str(directory), "files": found.files, "bytes": found.bytes, "games": list(found.games)}
    rows = columns([("files", f"{found.files:,}"), ("size", size(found.bytes)), ("games", f"{len(found.games):,}")])
    try_it = "To try it, run this in that directory: python -m http.server"
    show(as_json, answer, f"{rows}\n\nThe page is in {directory}\n{try_it}")
