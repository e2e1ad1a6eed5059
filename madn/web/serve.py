"""Running the application: one process, one socket, a clean shutdown."""

import ipaddress
import signal
import socket
import sys
from collections.abc import Sequence
from types import FrameType

import uvicorn
from starlette.applications import Starlette

from madn.errors import ResourceError
from madn.ranges import checked_int, shown
from madn.web.connection import CONNECTIONS, END_SECONDS, KEEP_SECONDS, Connection

BACKLOG = 1024  # connections that the system queues until they are accepted
ACCEPTED = 64  # of them at a time; two or three times as many wait for their `Connection`
FILES = CONNECTIONS + 1024  # the most that are open at once: those connections and the files of databases
SENT_BYTES = 128 << 10  # that the system buffers for a client that does not take them; it would be up to 4 MiB each


def bound(host: str, port: int) -> socket.socket:
    """A listening socket; ResourceError if the address is not available."""
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
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SENT_BYTES)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise ResourceError(f"cannot listen on {host}, port {port}: {error.strerror}") from None
    return listening


def address_of(listening: socket.socket) -> str:
    """The address to type into a browser."""
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def host_names(listening: socket.socket, host: str, more: Sequence[str] = ()) -> frozenset[bytes] | None:
    """The host names that requests may use; None for any, if other computers can ask too and no name is given.

    This prevents DNS rebinding: a foreign page whose own name resolves to this computer could read the answers.
    """
    address = listening.getsockname()[0]
    if not more and not ipaddress.ip_address(address).is_loopback:
        return None
    names = {"localhost", "127.0.0.1", "::1", host, address, *more}
    return frozenset((f"[{name}]" if ":" in name else name).lower().encode() for name in names)


def configured(app: Starlette, proxies: Sequence[str] = ()) -> uvicorn.Config:
    """How the application is served. A client's address is that of its connection, or what one of `proxies` says."""
    return uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="off",
        log_level="error",  # anybody could have a warning written to the log a thousand times
        access_log=False,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        backlog=ACCEPTED,
        timeout_keep_alive=KEEP_SECONDS,
        timeout_graceful_shutdown=END_SECONDS + 1,  # by then every connection has been closed
    )


def allow_files() -> None:
    """Let the process open as many files as it may need, as far as the system allows."""
    if sys.platform != "win32":
        import resource

        allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = FILES if most == resource.RLIM_INFINITY else min(FILES, most)
        if allowed != resource.RLIM_INFINITY and allowed < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


class Server(uvicorn.Server):
    """A server whose backlog differs from the number of connections that asyncio accepts at a time."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        for listening in sockets or []:
            listening.listen(BACKLOG)


def serve(app: Starlette, listening: socket.socket, proxies: Sequence[str] = ()) -> None:
    """Answer until a signal says to end, then take at most a few seconds to finish what is under way."""
    server = Server(configured(app, proxies))
    allow_files()
    before = signal.signal(signal.SIGTERM, _end)  # uvicorn sends the signal again once it has ended
    try:
        server.run(sockets=[listening])
    finally:
        signal.signal(signal.SIGTERM, before)
        listening.close()


def _end(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)
