"""What stands before every request: headers for browsers, limits on rate and number, and one shape for errors."""

import time
from collections import OrderedDict
from collections.abc import MutableMapping
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from madn.ranges import checked_int

UNDER_WAY = 256  # requests that are being answered at once
MOST_RATE = 10**9
CLIENTS = 4096  # addresses whose rate is remembered
BUSY_SECONDS = 1  # when to come back

# The page needs its own modules, its own style sheet and its own answers, and nothing else.
SECURITY = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
}
# What only a page can make use of.
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
    """How many positions each client may still ask: `rate` come back every second, up to `rate` in stock."""

    def __init__(self, rate: int) -> None:
        self.rate = checked_int("rate", rate, 1, MOST_RATE)
        self.exceeded = f"more than {rate} positions a second; try again in a moment"
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()  # address: stock, and when it was that

    def allows(self, client: str, count: int = 1) -> bool:
        """Whether the client may ask this many positions now; if so they are taken from its stock."""
        now = time.monotonic()
        stock, before = self._clients.pop(client, (float(self.rate), now))
        stock = min(float(self.rate), stock + (now - before) * self.rate)
        allowed = stock >= count
        self._clients[client] = (stock - count if allowed else stock, now)
        if len(self._clients) > CLIENTS:
            self._clients.popitem(last=False)
        return allowed


class Guard:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, rate: Rate, under_way: int = UNDER_WAY) -> None:
        self.app = app
        self.rate = rate
        self.most = under_way
        self.under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or say why not."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message["headers"]
                message["headers"] = [*headers, *(RAW_PAGE if HTML in headers else RAW)]
            await send(message)

        if self.under_way >= self.most:
            await refusal(503, "the server is busy; try again in a moment")(scope, receive, guarded)
        elif not self.rate.allows(client(scope)):
            await refusal(429, self.rate.exceeded)(scope, receive, guarded)
        else:
            self.under_way += 1
            try:
                await self.app(scope, receive, guarded)
            finally:
                self.under_way -= 1


def client(scope: MutableMapping[str, Any]) -> str:
    """The address that a request comes from."""
    found = scope.get("client")
    return str(found[0]) if found else ""


def refusal(status: int, message: str) -> JSONResponse:
    """An error that says when to come back."""
    return JSONResponse({"message": message}, status, {"cache-control": "no-store", "retry-after": str(BUSY_SECONDS)})
