"""The application: what each address answers, and the status of each error."""

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from importlib import resources
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

import madn
from madn.errors import MadnError, MissingBlockError
from madn.players import PLAYERS
from madn.rules import ROLLS, Rules
from madn.web.answers import Answer, Served, encoded, tagged
from madn.web.description import BOARDS, BODY_BYTES, BODY_SECONDS, MOST_SEED, documentation, openapi
from madn.web.games import Games, Opening
from madn.web.guard import BUSY_SECONDS, HEALTH, SECURITY, Guard, Places, Rate, client
from madn.why_words import LANGUAGES

RATE = 5000  # positions a second for one client
YEAR = "public, max-age=31536000, immutable"
NOT_KEPT = "no-store"
ASK_AGAIN = "no-cache"  # keep it, but ask whether it is still valid
SEED = re.compile("0|[1-9][0-9]{0,15}")
TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "webmanifest": "application/manifest+json",
}
PAGE = resources.files("madn") / "web" / "static"
MISSING = (PAGE / "404.html").read_bytes()  # what a person sees at an address that does not exist
Result = TypeVar("Result")
Handler = Callable[[Request], Awaitable[Response]]
log = logging.getLogger("madn.web")


def make_app(
    databases: Sequence[Served],
    rate: int = RATE,
    hosts: frozenset[bytes] | None = None,
    on_offer: Mapping[str, tuple[Rules, Opening]] | None = None,
) -> Starlette:
    """The application that serves these databases; the first one answers requests that name none.

    With `hosts`, requests to other names are refused. Games that are `on_offer` are opened when somebody asks for them.
    """
    limit = Rate(rate)
    games = Games(databases, on_offer)
    interface = Interface(games, limit)
    players = [{"name": player.name, "description": player.description} for player in PLAYERS.values()]
    routes = [
        Route(f"/api/{name}", handler)
        for name, handler in {
            "position": interface.position,  # first, because it is asked most often
            "move": interface.move,
            "databases": fixed(tagged(encoded({"databases": [served.facts for served in databases]})), strict=True),
            "games": fixed(tagged(encoded({"games": games.listed})), strict=True),
            "game": interface.game,
            "layout": interface.layout,
            "players": fixed(tagged(encoded({"players": players})), strict=True),
            "openapi.json": fixed(tagged(encoded(openapi(databases, games)))),
        }.items()
    ]
    routes.append(Route(HEALTH, interface.health))
    routes.append(Route("/api/positions", interface.positions, methods=["POST"]))
    routes.append(Route("/api", fixed(tagged(documentation(databases, games).encode()), TYPES["html"])))
    # The files of the page are read once: a request can name one of these and nothing else.
    for file in PAGE.iterdir():
        handler = fixed(tagged(file.read_bytes()), TYPES[file.name.rpartition(".")[2]])
        routes.append(Route("/" if file.name == "index.html" else f"/{file.name}", handler))
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, rate=limit, hosts=hosts)],
        exception_handlers={HTTPException: on_refusal, MadnError: on_refusal, Exception: on_fault},
    )
    app.router.redirect_slashes = False  # an address is exactly one of these or does not exist
    return app


def fixed(answer: Answer, kind: str = "application/json", *, strict: bool = False) -> Handler:
    """A handler that always gives the same answer; with `strict`, only to requests without parameters."""

    async def handler(request: Request) -> Response:
        if strict:
            parameters(request)
        return answered(request, answer, ASK_AGAIN, kind)

    return handler


def answered(request: Request, answer: Answer, cache: str, kind: str = "application/json") -> Response:
    """An answer that can be cached; only its tag if the client already has it."""
    headers = {"etag": answer.tag, "cache-control": cache}
    known = request.headers.get("if-none-match")
    if known is not None and (known.strip() == "*" or answer.tag in re.findall(r'"[^"]*"', known)):
        return Response(status_code=304, headers=headers)
    return Response(answer.body, headers=headers, media_type=kind)


def unkept(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer that nobody may cache."""
    return Response(body, status, {"cache-control": NOT_KEPT, **(headers or {})}, "application/json")


class Interface:
    """The handlers of `/api`."""

    def __init__(self, games: Games, rate: Rate) -> None:
        self.games = games
        self.rate = rate
        self.places = Places()

    async def game(self, request: Request) -> Response:
        """What is known about a game."""
        served, _ = await self._database(request, parameters(request, "db"))
        return answered(request, tagged(encoded(served.facts)), ASK_AGAIN)

    async def layout(self, request: Request) -> Response:
        """Where squares are drawn."""
        served, cache = await self._database(request, parameters(request, "db", "version"))
        return answered(request, served.layout, cache)

    async def position(self, request: Request) -> Response:
        """The value of a position, and all moves for all rolls."""
        given = parameters(request, "board", "db", "version", needed=("board",))
        served, cache = await self._database(request, given)
        answer = await self._asked(request, served, partial(served.position, given["board"]))
        return answered(request, answer, cache if answer.final else NOT_KEPT)

    async def move(self, request: Request) -> Response:
        """The move of a player."""
        known = ("board", "roll", "player", "seed", "why", "db", "version")
        given = parameters(request, *known, needed=("board", "roll"))
        served, cache = await self._database(request, given)
        roll, player, seed = given["roll"], given.get("player", "optimal"), given.get("seed", "0")
        if roll not in map(str, ROLLS):
            raise HTTPException(400, f"a roll is a whole number from 1 to {ROLLS[-1]}, not {roll[:20]!r}")
        if player not in PLAYERS:
            raise HTTPException(400, f"there is no player {player[:20]!r}; the players are {', '.join(PLAYERS)}")
        if not SEED.fullmatch(seed) or int(seed) > MOST_SEED:
            raise HTTPException(400, f"a seed is a whole number from 0 to {MOST_SEED}, not {seed[:20]!r}")
        if player not in served.facts["players"]:
            raise HTTPException(400, f"player {player} cannot play this game")
        language = given.get("why")
        if language is not None and language not in LANGUAGES:
            raise HTTPException(400, f"why is one of {', '.join(LANGUAGES)}, not {language[:20]!r}")
        move = partial(served.move, given["board"], int(roll), player, int(seed), language)
        answer = await self._asked(request, served, move)
        return answered(request, answer, cache if answer.final else NOT_KEPT)

    async def positions(self, request: Request) -> Response:
        """Many positions at once."""
        served, _ = await self._database(request, parameters(request, "db", "version"))
        boards = boards_of(await body_of(request))
        if len(boards) > 1 and not self.rate.allows(client(request.scope), len(boards) - 1):
            raise HTTPException(429, self.rate.exceeded, {"retry-after": str(BUSY_SECONDS)})
        return unkept(await self._computed(request, partial(served.positions, boards)))

    async def health(self, request: Request) -> Response:
        """Whether the server answers."""
        parameters(request)
        return unkept(encoded({"status": "ok", "version": madn.__version__, "databases": len(self.games)}))

    async def _database(self, request: Request, given: Mapping[str, str]) -> tuple[Served, str]:
        """The database a request names, and how long its answers may be cached."""
        name = given.get("db", next(iter(self.games)))
        served = self.games.find(name)
        if served is None and name in self.games:
            served = await self._computed(request, partial(self.games.__getitem__, name))
        if served is None:
            raise HTTPException(404, f"there is no database {name[:40]!r}; the databases are {', '.join(self.games)}")
        if "version" not in given:
            return served, ASK_AGAIN
        if given["version"] != served.version:
            raise HTTPException(404, f"the database {name} now has version {served.version}")
        return served, YEAR

    async def _computed(self, request: Request, question: Callable[[], Result]) -> Result:
        """Ask in a thread, so that other requests go on meanwhile."""
        with self.places.taking(client(request.scope)):
            return await run_in_threadpool(question)

    async def _asked(self, request: Request, served: Served, question: Callable[[], Result]) -> Result:
        """Ask a database, in a thread if that may have to wait for a disk."""
        try:
            return question() if served.at_hand else await self._computed(request, question)
        except MissingBlockError:
            raise HTTPException(404, f"this position is not in the database {served.name}") from None


def parameters(request: Request, *known: str, needed: Sequence[str] = ()) -> dict[str, str]:
    """The parameters of a request; HTTPException if one is unknown, given twice, or missing."""
    given: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name not in known:
            choice = f"use {', '.join(known)}" if known else "there are none here"
            raise HTTPException(400, f"there is no parameter {name[:40]!r}; {choice}")
        if name in given:
            raise HTTPException(400, f"the parameter {name} is given twice")
        given[name] = value
    for name in needed:
        if name not in given:
            raise HTTPException(400, f"the parameter {name} is missing")
    return given


async def body_of(request: Request) -> bytes:
    """The body of a request, refused unless its head says JSON, and if it is too long or too slow."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "send the boards as application/json")
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > BODY_BYTES:
                    raise HTTPException(413, f"a request has at most {BODY_BYTES} bytes")
    except ClientDisconnect:
        raise HTTPException(400, "the client left before the body was complete") from None  # nobody reads it
    except TimeoutError:
        raise HTTPException(408, f"the request did not arrive within {BODY_SECONDS} seconds") from None
    return bytes(body)


def boards_of(body: bytes) -> list[str]:
    """The boards of a batch."""
    try:
        asked: Any = json.loads(body)
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body is not JSON") from None
    if not isinstance(asked, dict) or set(asked) != {"boards"}:
        raise HTTPException(400, 'send {"boards": [...]}')
    boards = asked["boards"]
    if not isinstance(boards, list) or not boards or not all(isinstance(board, str) for board in boards):
        raise HTTPException(400, "boards must be a list of at least one text")
    if len(boards) > BOARDS:
        raise HTTPException(413, f"{len(boards)} boards are too many for one request; the most is {BOARDS}")
    return boards


async def on_refusal(request: Request, error: Exception) -> Response:
    """Say why a request cannot be answered."""
    if isinstance(error, HTTPException):
        status, message, headers = error.status_code, error.detail, error.headers
    elif isinstance(error, OSError):  # a damaged database: the details are only for whoever runs the server
        return await on_fault(request, error)
    else:
        status, message, headers = 400, str(error), None
    if status == 404 and message == "Not Found":
        if "text/html" in request.headers.get("accept", ""):
            return Response(MISSING, 404, {"cache-control": NOT_KEPT}, TYPES["html"])
        message = "there is nothing here; the page is at /, and /api lists what can be asked"
    return unkept(encoded({"message": message}), status, headers)


async def on_fault(_: Request, error: Exception) -> Response:
    """Answer after a real fault: the log has the reason, but the answer reveals no paths and no program lines."""
    log.error("fault: %s", error, exc_info=None if isinstance(error, MadnError) else error)
    return unkept(encoded({"message": "the server has failed; its log says why"}), 500, SECURITY)
