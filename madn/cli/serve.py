"""`madn serve`: the web page and the HTTP interface."""

import contextlib
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from madn.cli.output import json_option, show
from madn.errors import ResourceError


@click.command()
@click.argument("db", type=click.Path(), nargs=-1)
@click.option(
    "--port",
    type=int,
    default=8000,
    show_default=True,
    help="Port to listen on; 0 picks a free one.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--rate", type=int, default=5000, show_default=True, help="Positions per second for one client.")
@json_option
def serve(db: tuple[str, ...], port: int, host: str, rate: int, as_json: bool) -> None:
    """Show databases on a web page (needs starlette and uvicorn: pip install 'madn[web]').

    Without DB the two-piece game that comes with the package is served. Nothing is written. Only this computer
    can open the page, unless --host says otherwise. Ctrl-C stops the server.

    Example: madn serve two --port 8080
    """
    try:
        from madn.web.answers import Served
        from madn.web.app import make_app
        from madn.web.serve import address_of, bound
        from madn.web.serve import serve as run
    except ModuleNotFoundError as error:
        raise ResourceError(f"the web page needs {error.name}: pip install 'madn[web]'") from None
    from madn.database import open_database

    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(open_database(path)) for path in db or (None,)]
        names = _names(database.path for database in opened)
        served = [Served(name, database) for name, database in zip(names, opened, strict=True)]
        app = make_app(served, rate)
        listening = bound(host, port)
        address = address_of(listening)
        text = f"{', '.join(names)}: {address}\nPress Ctrl-C to stop."
        show(as_json, {"address": address, "databases": [part.facts for part in served]}, text)
        sys.stdout.flush()
        run(app, listening)


def _names(paths: Iterable[Path]) -> list[str]:
    """The names of databases in requests: those of their directories, numbered where two are the same."""
    names: list[str] = []
    for path in paths:
        name = path.resolve().name or "database"
        same = sum(other == name or other.startswith(f"{name}-") for other in names)
        names.append(f"{name}-{same + 1}" if name in names else name)
    return names
