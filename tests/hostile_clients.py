"""Clients that mean no good, for the tests of the server and for hours of torture: one small function each.

Each takes the address of a server on this computer. Those that leave something behind for the server to hold return the
open sockets; the caller closes them. `ask` is the good client whose requests must be answered meanwhile.
"""

import contextlib
import json
import random
import socket
import struct
import time
from collections.abc import Callable, Iterator
from typing import Any

Address = tuple[str, int]
GET = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"
LARGE = b"/api/openapi.json"  # the longest answer to a short request
POST = b"POST /api/positions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def connect(
    address: Address, source: str = "127.0.0.1", buffer: int | None = None, seconds: float = 20
) -> socket.socket:
    """A connection from an address of this computer, perhaps with a small buffer for what is received."""
    connection = socket.socket()
    try:
        connection.settimeout(seconds)
        if buffer is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        connection.bind((source, 0))
        connection.connect(address)
    except BaseException:
        connection.close()
        raise
    return connection


def heard(connection: socket.socket, enough: Callable[[bytes], bool] = lambda _: False) -> bytes:
    """What comes until the server closes, or until it is enough."""
    received = b""
    with contextlib.suppress(ConnectionError):
        while not enough(received) and (more := connection.recv(1 << 16)):
            received += more
    return received


def whole(received: bytes) -> bool:
    """Whether an answer has arrived, by its length."""
    head, found, body = received.partition(b"\r\n\r\n")
    return bool(found) and len(body) >= int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)


def say(address: Address, sent: bytes, end: bool = False, **more: Any) -> tuple[int, bytes]:
    """Send these bytes, and perhaps say that they are all; the status and body of the first answer, or status 0."""
    with connect(address, **more) as connection:
        with contextlib.suppress(OSError):  # the server may have closed by now
            connection.sendall(sent)
            if end:
                connection.shutdown(socket.SHUT_WR)
        return answer_of(connection)


def answer_of(connection: socket.socket) -> tuple[int, bytes]:
    """The status and the body of the next answer, status 0 if there is none."""
    head, _, body = heard(connection, whole).partition(b"\r\n\r\n")
    return (int(head[9:12]) if head else 0), body


def exchange(connection: socket.socket, path: str) -> tuple[int, bytes]:
    """Ask on a connection that is open."""
    connection.sendall(GET % path.encode())
    return answer_of(connection)


def ask(address: Address, path: str = "/api/health", **more: Any) -> tuple[int, Any]:
    """A good client: the status and the JSON that a path answers."""
    status, body = say(address, GET % path.encode(), **more)
    return status, json.loads(body) if body else None


def never_read(address: Address, source: str = "127.0.0.1", requests: int = 40) -> socket.socket:
    """Asks for more than the buffers between hold, and takes none of it."""
    connection = connect(address, source, buffer=4096)
    connection.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        connection.send(GET % LARGE * requests)
    return connection


def slow_reader(address: Address, seconds: float, source: str = "127.0.0.1") -> float:
    """As `never_read`, but takes a byte now and then; how long the server waited for it, `seconds` at most."""
    begin = time.monotonic()
    with never_read(address, source) as connection, contextlib.suppress(ConnectionError, TimeoutError):
        connection.settimeout(1)
        while time.monotonic() < begin + seconds and connection.recv(1) and not is_reset(connection):
            time.sleep(0.05)
    return time.monotonic() - begin


def is_reset(connection: socket.socket) -> bool:
    """Whether the server has dropped a connection whose bytes have not been read yet."""
    return connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0


def slow_head(address: Address, seconds: float, source: str = "127.0.0.1") -> float:
    """Sends a head byte by byte and never ends it; how long the server listened, `seconds` at most."""
    begin = time.monotonic()
    with connect(address, source) as connection, contextlib.suppress(ConnectionError):
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
        connection.settimeout(0.05)
        while time.monotonic() < begin + seconds:
            with contextlib.suppress(TimeoutError):
                if not connection.recv(1):
                    break
            connection.sendall(b"x")
    return time.monotonic() - begin


def slow_body(address: Address, seconds: float, source: str = "127.0.0.1") -> tuple[float, bytes]:
    """Sends a body byte by byte; how long the server listened, and what it said."""
    begin, received = time.monotonic(), b""
    with connect(address, source) as connection, contextlib.suppress(ConnectionError):
        connection.sendall(POST + b"Content-Length: 30000\r\n\r\n")
        connection.settimeout(0.05)
        while time.monotonic() < begin + seconds:
            with contextlib.suppress(TimeoutError):
                if not (more := connection.recv(1 << 16)):
                    break
                received += more
            connection.sendall(b" ")
    return time.monotonic() - begin, received


def silent(address: Address, count: int, source: str = "127.0.0.1") -> list[socket.socket]:
    """Connections on which nothing is ever sent."""
    return [connect(address, source) for _ in range(count)]


def leave_in_body(address: Address, reset: bool = False) -> None:
    """Announces a body, sends half of it and leaves."""
    with connect(address) as connection:
        connection.sendall(POST + b'Content-Length: 100\r\n\r\n{"boards": [')
        close(connection, reset)


def open_and_close(address: Address, count: int, random_: random.Random) -> None:
    """Connects and leaves at once, in order or not, before or after a request or in the middle of it."""
    for _ in range(count):
        with connect(address) as connection:
            request = GET % LARGE
            connection.sendall(request[: random_.choice([0, 9, len(request)])])
            close(connection, random_.random() < 0.5)


def close(connection: socket.socket, reset: bool) -> None:
    """Close a connection in order, or with a reset."""
    if reset:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def absurd_requests(random_: random.Random, count: int) -> Iterator[bytes]:
    """Requests that stretch HTTP in one way or another."""
    get = GET % b"/api/position?board=0/0"
    head = get[:-2]
    ways: list[Callable[[], bytes]] = [
        lambda: get * random_.randrange(2, 60),  # pipelined
        lambda: get + random_.randbytes(random_.randrange(1, 300)),
        lambda: get.replace(b"1.1", random_.choice([b"1.0", b"0.9", b"2.0", b"1.1.1", b"9.9"])),
        lambda: get.replace(b"Host: localhost\r\n", b""),
        lambda: get.replace(b"Host", b"Host: localhost\r\nHost"),
        lambda: get.replace(b"localhost", random_.choice([b"", b"evil.example", b"[::1", b"localhost:x", b"\xff"])),
        lambda: head + b"a:\r\n" * random_.randrange(1, 5000) + b"\r\n",
        lambda: head + b"X: " + b"y" * random_.randrange(1, 300_000) + b"\r\n\r\n",
        lambda: head + b"X:" + b" " * random_.randrange(1, 60_000) + b"y\r\n\r\n",
        lambda: head + b"X: a\r\n" + b" b\r\n" * random_.randrange(1, 5000) + b"\r\n",
        lambda: head + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n",
        lambda: head + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n",
        lambda: head + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n",
        lambda: head + b"Content-Length: %d\r\n\r\n" % random_.randrange(1 << 66) + b"x" * 100_000,
        lambda: head + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        lambda: head + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        lambda: head + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * random_.randrange(1, 40_000),
        lambda: head + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * random_.randrange(1, 40),
        lambda: head + b"Transfer-Encoding: gzip\r\n\r\n",
        lambda: get.replace(b"/api/position?board=0/0", b"http://evil.example/api/health"),
        lambda: get.replace(b"/api/position?board=0/0", random_.choice([b"*", b"//", b"/%00", b"/%ff", b"/\\", b"?"])),
        lambda: get.replace(b"GET", random_.choice([b"CONNECT", b"OPTIONS", b"HEAD", b"PRI", b"get", b"X" * 9000])),
        lambda: POST + b'Content-Length: 24\r\n\r\n{"boards": ["0/0"]}' + b" " * 5 + get,
        lambda: POST + b'Content-Length: 22\r\n\r\n{"boards": ["\\ud800"]}',
        lambda: b"\r\n" * random_.randrange(1, 20_000) + get,
        lambda: b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + random_.randbytes(200),  # TLS
        lambda: random_.randbytes(random_.randrange(1, 3000)),
        lambda: bytes(byte ^ (1 << random_.randrange(8)) if random_.random() < 0.02 else byte for byte in get),
    ]
    for number in range(count):
        yield ways[number % len(ways)]()
