"""`madn serve`: the web page and the HTTP interface."""

import contextlib
import ipaddress
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from madn.board import Board
from madn.cli.asking import player_source, rules_given
from madn.cli.options import rules_options
from madn.cli.output import json_option, show
from madn.errors import ResourceError
from madn.rules import Rules

if TYPE_CHECKING:
    from madn.advisor import Advisor
    from madn.database import Database


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
@click.option("--rate", type=int, default=5000, show_default=True, help="Most positions per second for one client.")
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
    help="Trust the X-Forwarded-For header of a proxy at this address; can be repeated.",
)
@rules_options
@json_option
def serve(
    db: tuple[str, ...],
    rules: Rules,
    port: int,
    host: str,
    rate: int,
    names: tuple[str, ...],
    proxies: tuple[str, ...],
    as_json: bool,
) -> None:
    """Serve a web page to play and explore the game, and an HTTP interface for programs.

    Without DB, the game is the one chosen by --pieces and the house rules: answers are exact where madn win has exact
    ones, otherwise estimates, and endgames become exact while the server runs. Without any of these options the page
    offers two, three and four pieces and all house rules. The server writes nothing but the cache of what it solved.
    Only this computer can open the page, unless --host says otherwise. Ctrl-C stops the server. The server needs
    starlette and uvicorn: pip install starlette uvicorn.

    Example: madn serve --port 8080
    """
    try:
        from madn.web.answers import Served, ServedAdvisor
        from madn.web.app import make_app
        from madn.web.games import name_of, on_offer
        from madn.web.serve import address_of, bound, host_names
        from madn.web.serve import serve as run
    except ModuleNotFoundError as error:
        raise ResourceError(f"the web page needs {error.name}: pip install starlette uvicorn") from None
    from madn.advisor import Advisor
    from madn.database import Database, open_database

    with contextlib.ExitStack() as stack:
        if db and rules_given():
            raise click.UsageError("a database has its own rules: give either DB or rules, not both")
        opened = [stack.enter_context(open_database(path)) for path in db]
        games: list[tuple[str, Database | Advisor]] = list(
            zip(_names(database.path for database in opened), opened, strict=True)
        )
        if not db:
            games = [(name_of(rules), stack.enter_context(_known(rules)))]
            if rules == Rules():
                games.append((name_of(Rules(pieces=2)), stack.enter_context(open_database())))
        served = [
            ServedAdvisor(name, game) if isinstance(game, Advisor) else Served(name, game) for name, game in games
        ]
        listening = bound(host, port)
        offer = None if db or rules_given() else on_offer()
        app = make_app(served, rate, host_names(listening, host, names), offer)
        address = address_of(listening)
        text = f"{', '.join(name for name, _ in games)}: {address}\nPress Ctrl-C to stop."
        show(as_json, {"address": address, "databases": [part.facts for part in served]}, text)
        sys.stdout.flush()
        run(app, listening, proxies)


@contextlib.contextmanager
def _known(rules: Rules) -> "Iterator[Database | Advisor]":
    """What answers for a game: a database if there is one, or if it can be solved now; otherwise an advisor.

    The advisor solves in the background. `NoAnswerError` if nothing has an answer for the start of the game.
    """
    from madn.advisor import Advisor

    start = Board.start(rules)
    with player_source(None, rules) as source:
        source.check(start)
        database = source.whole(start)
        if database is not None:
            yield database
            return
    with Advisor(rules, wait=False) as advisor:
        yield advisor


def _names(paths: Iterable[Path]) -> list[str]:
    """The names of databases in requests: those of their directories, without unprintable characters.

    Equal names are numbered.
    """
    names: list[str] = []
    for path in paths:
        name = "".join(letter if letter.isprintable() else "_" for letter in path.resolve().name) or "database"
        same = sum(other == name or other.startswith(f"{name}-") for other in names)
        names.append(f"{name}-{same + 1}" if name in names else name)
    return names
