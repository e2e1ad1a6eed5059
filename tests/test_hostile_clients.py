"""The server against clients that mean no good: slow, silent, greedy, gone, or not speaking HTTP at all."""

import contextlib
import json
import os
import random
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import hostile_clients as hostile
import pytest
from web_client import running

import madn
from madn.web import app as application
from madn.web import connection
from madn.web import serve as serving
from madn.web.answers import Served
from madn.web.app import make_app
from madn.web.guard import SECURITY

POSITION = "/api/position?board=0/0"
OTHER = "127.0.0.2" if sys.platform == "linux" else "127.0.0.1"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with madn.open_database() as database:
        yield Served("two-pieces", database)


@contextlib.contextmanager
def listening(app: Any, *proxies: str) -> Iterator[tuple[str, int]]:
    """The application behind a real socket, in a thread. The system keeps little for clients that do not read."""
    server = serving.Server(serving.configured(app, proxies))
    with serving.bound("127.0.0.1", 0) as socket_:
        socket_.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        address = socket_.getsockname()
        thread = threading.Thread(target=server.run, kwargs={"sockets": [socket_]})
        thread.start()
        try:
            yield address
        finally:
            server.should_exit = True
            thread.join(20)
    assert not thread.is_alive()


@pytest.fixture
def address(served: Served) -> Iterator[tuple[str, int]]:
    with listening(make_app([served], rate=10**9)) as where:
        yield where


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time limits that a test can wait for."""
    for name in ("KEEP_SECONDS", "LEAVE_SECONDS", "END_SECONDS"):
        monkeypatch.setattr(connection, name, 0.3)
    monkeypatch.setattr(serving, "KEEP_SECONDS", 0.3)
    monkeypatch.setattr(application, "BODY_SECONDS", 0.3)


def answers(where: tuple[str, int]) -> bool:
    """Whether good clients are answered, from this address and from another."""
    asked = [
        hostile.ask(where, path, source=source)[0]
        for path in ("/api/health", POSITION)
        for source in ("127.0.0.1", OTHER)
    ]
    return asked == [200] * 4


def test_clients_that_never_read_leave_room_for_others(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "END_SECONDS", 0.2)
    with contextlib.ExitStack() as stack:
        for _ in range(270):
            stack.enter_context(hostile.never_read(address))
        assert answers(address)


@pytest.mark.usefixtures("hurried")
def test_a_client_that_does_not_take_its_answer_is_dropped(address: tuple[str, int]) -> None:
    with hostile.never_read(address) as connection_:
        time.sleep(0.8)
        assert hostile.is_reset(connection_)
    assert 0.2 < hostile.slow_reader(address, seconds=5) < 2


@pytest.mark.usefixtures("hurried")
def test_what_comes_too_slowly_is_not_waited_for(address: tuple[str, int]) -> None:
    assert 0.2 < hostile.slow_head(address, seconds=5) < 2
    seconds, received = hostile.slow_body(address, seconds=5)
    assert received.startswith(b"HTTP/1.1 408")
    assert seconds < 3  # the body has its time, and then the connection
    for asked in (False, True):
        with hostile.connect(address) as connection_:
            if asked:
                assert hostile.exchange(connection_, "/api/health")[0] == 200
            begin = time.monotonic()
            assert hostile.heard(connection_) == b""
            assert time.monotonic() - begin < 2


def test_whoever_has_most_connections_makes_room(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "CONNECTIONS", 20)
    with listening(make_app([served])) as address, contextlib.ExitStack() as stack:
        good = stack.enter_context(hostile.connect(address))
        assert hostile.exchange(good, POSITION)[0] == 200
        greedy = [stack.enter_context(one) for one in hostile.silent(address, 30, source=OTHER)]
        assert hostile.exchange(good, POSITION)[0] == 200 or OTHER == "127.0.0.1"
        assert hostile.heard(greedy[0]) == b""  # the oldest has been closed
        assert hostile.exchange(greedy[-1], POSITION)[0] == 200
        assert answers(address)


def test_a_neighbour_in_the_same_ipv6_network_is_the_same_client() -> None:
    from madn.web.guard import network

    assert network("2001:db8::1") == network("2001:db8::ffff:2") != network("2001:db8:0:1::1")
    assert network("::ffff:192.0.2.1") == network("192.0.2.1") != network("192.0.2.2")
    assert network("fe80::1%lo") == network("fe80::2")
    assert network("x" * 10_000) == network("") == ""


HEADS = {
    "in one piece": b"X: " + b"y" * 17_000,
    "padded": b"X:" + b" " * 17_000 + b"y",
    "in many lines": b"\r\n".join([b"a: b"] * 4000),
}


@pytest.mark.parametrize("before", [b"", hostile.GET % b"/api/health"], ids=["first", "pipelined"])
@pytest.mark.parametrize("name", HEADS)
def test_a_long_head_is_refused(name: str, before: bytes, address: tuple[str, int]) -> None:
    head = b"GET /api/players HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n"
    with hostile.connect(address) as connection_:
        connection_.sendall(before + head % HEADS[name])
        received = hostile.heard(connection_)
    assert received.count(b"HTTP/1.1 200") == bool(before)
    answer = received[received.index(b"HTTP/1.1 431") :]
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["message"] == "the head of a request has at most 16384 bytes"
    for header, value in SECURITY.items():
        assert f"{header}: {value}\r\n".encode() in answer
    assert hostile.say(address, head % HEADS[name][:15_996].rstrip())[0] == 200


@pytest.mark.parametrize(
    ("method", "header", "status"),
    [
        (b"GET", b"Content-Length: 2147483648", 413),
        (b"HEAD", b"Content-Length: 2147483648", 413),
        (b"POST", b"Content-Length: 300000", 413),
        (b"GET", b"Transfer-Encoding: chunked", 411),
        (b"POST", b"Transfer-Encoding: chunked", 411),
    ],
)
def test_a_long_body_is_refused_by_its_head(
    method: bytes, header: bytes, status: int, address: tuple[str, int]
) -> None:
    """A client that sends its body before it listens hears why; one that never stops is cut off."""
    request = method + b" /api/positions HTTP/1.1\r\nHost: localhost\r\n" + header + b"\r\n\r\n"
    found, body = hostile.say(address, request + b"x" * 300_000)
    assert (found, list(json.loads(body))) == (status, ["message"])
    sent = 0
    with hostile.connect(address) as connection_, contextlib.suppress(ConnectionError):
        connection_.sendall(request)
        while sent < 1 << 26:
            sent += connection_.send(b"x" * 65536)
    assert sent < 1 << 25


def test_a_short_body_that_nobody_wants_is_skipped(address: tuple[str, int]) -> None:
    request = b"GET /api/health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20000\r\n\r\n"
    with hostile.connect(address) as connection_:
        for _ in range(3):
            connection_.sendall(request)
            assert hostile.heard(connection_, hostile.whole).startswith(b"HTTP/1.1 200")
            connection_.sendall(b"x" * 20_000)


def test_a_proxy_says_who_asks_if_it_is_trusted(served: Served) -> None:
    def statuses(where: tuple[str, int]) -> list[list[int]]:
        request = b"GET /api/players HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 192.0.2.%d\r\n\r\n"
        return [[hostile.say(where, request % client)[0] for _ in range(6)] for client in (1, 2)]

    with listening(make_app([served], rate=2), "127.0.0.1") as where:
        for found in statuses(where):
            assert found[:2] == [200, 200]
            assert 429 in found
    with listening(make_app([served], rate=2)) as where:
        assert statuses(where)[1][0] == 429


@pytest.mark.skipif(os.name != "posix", reason="signals of other systems")
def test_nothing_a_client_does_is_written_to_the_log() -> None:
    """And nothing of it keeps the server from answering, or from ending when it is told to."""
    random_ = random.Random(1)
    with running("--pieces", 2, "--port", 0, "--rate", 10**6) as (process, said):
        port = int(said["address"].rstrip("/").rpartition(":")[2])
        where = "127.0.0.1", port
        for reset in (False, True):
            hostile.leave_in_body(where, reset)
        hostile.open_and_close(where, 200, random_)
        statuses = {hostile.say(where, request, end=True)[0] for request in hostile.absurd_requests(random_, 300)}
        assert statuses <= {200, 400, 404, 405, 408, 411, 413, 415, 421, 431, 0}
        assert answers(where)
        with hostile.never_read(where, requests=100), hostile.connect(where) as half:
            half.sendall(hostile.POST + b"Content-Length: 9\r\n\r\n{")
            assert answers(where)
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (0, "")
