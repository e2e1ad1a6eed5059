"""Running the application: one process, one socket, a clean end."""

import signal
import socket
from types import FrameType

import uvicorn
from starlette.applications import Starlette

from madn.errors import ResourceError

BACKLOG = 512
CONNECTIONS = 1024
HEAD_BYTES = 16 << 10
KEEP_SECONDS = 30
END_SECONDS = 5


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens; ResourceError if the address cannot be had."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ResourceError(f"cannot listen on {host}: {error.strerror}") from None
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(BACKLOG)
    except OSError as error:
        found.close()
        raise ResourceError(f"cannot listen on {host}, port {port}: {error.strerror}") from None
    return found


def address_of(listening: socket.socket) -> str:
    """What to type into a browser."""
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def serve(app: Starlette, listening: socket.socket) -> None:
    """Answer until a signal says to end; then finish what is under way, for a few seconds at most."""
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            lifespan="off",
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,  # an address is what the connection says, not what a request says
            limit_concurrency=CONNECTIONS,
            h11_max_incomplete_event_size=HEAD_BYTES,
            timeout_keep_alive=KEEP_SECONDS,
            timeout_graceful_shutdown=END_SECONDS,
            ws="none",
        )
    )
    before = signal.signal(signal.SIGTERM, _end)  # uvicorn sends the signal again once it has ended
    try:
        server.run(sockets=[listening])
    finally:
        signal.signal(signal.SIGTERM, before)
        listening.close()


def _end(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)
