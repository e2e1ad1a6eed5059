"""`madn serve`: the web page and the HTTP interface."""

import contextlib
import ipaddress
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from madn.cli.output import json_option, show
from madn.errors import ResourceError


def _addresses(_context: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...]:
    """Check addresses and networks."""
    for text in texts:
        try:
            ipaddress.ip_network(text)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
    return texts


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
@click.option(
    "--host-name",
    "names",
    multiple=True,
    metavar="NAME",
    help="Also answer requests to this host name; can be repeated.",
)
@click.option(
    "--proxy",
    "proxies",
    multiple=True,
    metavar="ADDRESS",
    callback=_addresses,
    help="Believe the X-Forwarded-For of a proxy at this address; can be repeated.",
)
@json_option
def serve(
    db: tuple[str, ...],
    port: int,
    host: str,
    rate: int,
    names: tuple[str, ...],
    proxies: tuple[str, ...],
    as_json: bool,
) -> None:
    """Play and explore on a web page; programs can ask it too.

    Without DB the two-piece game that comes with the package is served. Nothing is written. Only this computer
    can open the page, unless --host says otherwise. Ctrl-C stops the server. starlette and uvicorn serve the
    page: pip install starlette uvicorn.

    Example: madn serve two --port 8080
    """
    try:
        from madn.web.answers import Served
        from madn.web.app import make_app
        from madn.web.serve import address_of, bound, host_names
        from madn.web.serve import serve as run
    except ModuleNotFoundError as error:
        raise ResourceError(f"the web page needs {error.name}: pip install starlette uvicorn") from None
    from madn.database import open_database

    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(open_database(path)) for path in db or (None,)]
        labels = _names(database.path for database in opened)
        served = [Served(label, database) for label, database in zip(labels, opened, strict=True)]
        listening = bound(host, port)
        app = make_app(served, rate, host_names(listening, host, names))
        address = address_of(listening)
        text = f"{', '.join(labels)}: {address}\nPress Ctrl-C to stop."
        show(as_json, {"address": address, "databases": [part.facts for part in served]}, text)
        sys.stdout.flush()
        run(app, listening, proxies)


def _names(paths: Iterable[Path]) -> list[str]:
    """The names of databases in requests: those of their directories as far as they can be printed, and numbered
    where two are the same.
    """
    names: list[str] = []
    for path in paths:
        name = "".join(letter if letter.isprintable() else "_" for letter in path.resolve().name) or "database"
        same = sum(other == name or other.startswith(f"{name}-") for other in names)
        names.append(f"{name}-{same + 1}" if name in names else name)
    return names
