"""Running the application: one process, one socket, a clean end."""

import asyncio
import signal
import socket
from types import FrameType

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from madn.errors import ResourceError
from madn.ranges import checked_int, shown

BACKLOG = 512
CONNECTIONS = 1024
HEAD_BYTES = 16 << 10
KEEP_SECONDS = 30
END_SECONDS = 5


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens; ResourceError if the address cannot be had."""
    port = checked_int("port", port, 0, 65535)
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ResourceError(f"cannot listen on {host}: {error.strerror}") from None
    except UnicodeError:
        raise ResourceError(f"cannot listen on {shown(host)}: not the name of a host") from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise ResourceError(f"cannot listen on {host}, port {port}: {error.strerror}") from None
    return listening


def address_of(listening: socket.socket) -> str:
    """What to type into a browser."""
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


class Connection(H11Protocol):
    """A connection that is closed when no request has begun for a while.

    uvicorn closes those that are silent after an answer, but would wait for ever for the rest of a head.
    """

    _watch: asyncio.TimerHandle

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to watch."""
        super().connection_made(transport)
        self._watch = self.loop.call_later(KEEP_SECONDS, self._look, None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop watching."""
        self._watch.cancel()
        super().connection_lost(exc)

    def _look(self, before: object) -> None:
        """Close the connection if the last request is still the one it was before, and answered."""
        if self.cycle is before and (self.cycle is None or self.cycle.response_complete):
            self.transport.close()
        else:
            self._watch = self.loop.call_later(KEEP_SECONDS, self._look, self.cycle)


def configured(app: Starlette) -> uvicorn.Config:
    """How the application is served."""
    return uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # an address is what the connection says, not what a request says
        limit_concurrency=CONNECTIONS,
        h11_max_incomplete_event_size=HEAD_BYTES,
        timeout_keep_alive=KEEP_SECONDS,
        timeout_graceful_shutdown=END_SECONDS,
    )


def serve(app: Starlette, listening: socket.socket) -> None:
    """Answer until a signal says to end; then finish what is under way, for a few seconds at most."""
    server = uvicorn.Server(configured(app))
    before = signal.signal(signal.SIGTERM, _end)  # uvicorn sends the signal again once it has ended
    try:
        server.run(sockets=[listening])
    finally:
        signal.signal(signal.SIGTERM, before)
        listening.close()


def _end(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)
