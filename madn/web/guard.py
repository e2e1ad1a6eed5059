"""What every request passes first: headers for browsers, limits on rate and number, and one shape for errors."""

import ipaddress
import re
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from madn.ranges import checked_int

PLACES = 256  # questions that threads are answering, or that wait for a thread
PLACES_OF_ONE = 64  # of them from one client
MOST_RATE = 10**9
CLIENTS = 4096  # addresses whose rate is remembered
BUSY_SECONDS = 1  # when to come back
HEALTH = "/api/health"
HOST = re.compile(rb"(\[[0-9a-f:.]*\]|[^:]*?)\.?(:[0-9]*)?")  # a name or address, and a port

# The page needs only its own modules, its own style sheet and its own answers.
SECURITY = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
}
# Headers that only matter for a page.
PAGE_SECURITY = {
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
}
RAW, RAW_PAGE = (
    [(name.encode(), value.encode()) for name, value in headers.items()]
    for headers in (SECURITY, SECURITY | PAGE_SECURITY)
)
HTML = (b"content-type", b"text/html; charset=utf-8")


class Rate:
    """How many positions each client may still ask for: every second adds `rate` to its stock, which holds `rate`."""

    def __init__(self, rate: int) -> None:
        self.rate = checked_int("rate", rate, 1, MOST_RATE)
        self.exceeded = f"more than {rate} positions a second; try again in a moment"
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()  # address: stock, and when it had that

    def allows(self, client: str, count: int = 1) -> bool:
        """Whether the client may ask for this many positions now; if so, they are taken from its stock."""
        now = time.monotonic()
        stock, before = self._clients.pop(client, (float(self.rate), now))
        stock = min(float(self.rate), stock + (now - before) * self.rate)
        allowed = stock >= count
        self._clients[client] = (stock - count if allowed else stock, now)
        if len(self._clients) > CLIENTS:
            self._clients.popitem(last=False)
        return allowed


class Places:
    """How many questions threads may have at once, from all clients and from one.

    A place is taken while an answer is computed, never while a client is sending or receiving.
    """

    def __init__(self, most: int = PLACES, most_of_one: int = PLACES_OF_ONE) -> None:
        self.most = most
        self.most_of_one = most_of_one
        self.taken: Counter[str] = Counter()

    @contextmanager
    def taking(self, client: str) -> Iterator[None]:
        """Take a place; 503 if there is none."""
        if self.taken.total() >= self.most or self.taken[client] >= self.most_of_one:
            raise HTTPException(503, "the server is busy; try again in a moment", {"retry-after": str(BUSY_SECONDS)})
        self.taken[client] += 1
        try:
            yield
        finally:
            self.taken[client] -= 1
            if not self.taken[client]:
                del self.taken[client]


class Guard:
    """The outermost layer of the application. `hosts` are the names it answers to, or None for any."""

    def __init__(self, app: ASGIApp, rate: Rate, hosts: frozenset[bytes] | None = None) -> None:
        self.app = app
        self.rate = rate
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it and say why."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message["headers"]
                message["headers"] = [*headers, *(RAW_PAGE if HTML in headers else RAW)]
            await send(message)

        if self.hosts is not None and not self._is_named(scope):
            await refusal(421, "this server does not answer to that host name")(scope, receive, guarded)
        elif scope["path"] != HEALTH and not self.rate.allows(client(scope)):
            await refusal(429, self.rate.exceeded)(scope, receive, guarded)
        else:
            await self.app(scope, receive, guarded)

    def _is_named(self, scope: Scope) -> bool:
        """Whether a request uses one of the names; without a name it is HTTP/1.0 and not from a browser."""
        for name, value in scope["headers"]:
            if name == b"host":
                found = HOST.fullmatch(value.lower())
                return found is not None and found[1] in (self.hosts or ())
        return True


def client(scope: MutableMapping[str, Any]) -> str:
    """Who a request comes from."""
    found = scope.get("client")
    return network(found[0]) if found else ""


@lru_cache(CLIENTS)
def network(address: str) -> str:
    """Who is behind an address: the IPv4 address, or the /64 of an IPv6 one, all of which one user has; else nobody."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return ""
    if isinstance(found, ipaddress.IPv4Address):
        return address
    return str(found.ipv4_mapped or ipaddress.IPv6Address(int(found) >> 64 << 64))


def refusal(status: int, message: str) -> JSONResponse:
    """An error that says when to come back."""
    return JSONResponse({"message": message}, status, {"cache-control": "no-store", "retry-after": str(BUSY_SECONDS)})
