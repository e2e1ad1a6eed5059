"""Slow, silent and hostile HTTP clients, while an honest client at another address asks and compares.

The honest client always gets an answer, soon and right; memory and descriptors of the server stay bounded; when the
others have gone everything is as before; nothing is written to the log.
"""

import contextlib
import os
import random
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import hostile_clients as hostile

from torture.case import BrokenError, Case
from torture.processes import Child, judged, start
from torture.server import Server
from torture.tasks import source_of

SECONDS = 6.0  # of an attack
HONEST, HOSTILE = "127.0.0.2", "127.0.0.1"  # every address that begins with 127 is this computer (on Linux)
PATIENCE = 10.0  # seconds for an answer, on a busy computer
MORE_MEMORY = 150 << 10  # KiB that an attack may cost
DESCRIPTORS = 3100  # that the server may have open: two for each of 1,024 connections, and some
BOARDS = ("0/0", "b/b", "3,5/0", "1/2,7", "b/19")


def clients(case: Case) -> None:
    """A server, a few kinds of bad clients at once, and a good one."""
    server = Server(case, [str(source_of(case))], fresh=True)
    if server.port is None:
        raise BrokenError("other", f"the server did not start: {server.log()}")
    right = {board: _win(server, board) for board in BOARDS}
    memory = server.figure("VmRSS")
    attacks = case.rng.sample(sorted(ATTACKS), case.rng.randint(1, 3))
    children = [_attack(case, name, ("127.0.0.1", server.port)) for name in attacks]
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        _honest(case, server, right)
        _check_bounds(server, memory)
        time.sleep(case.rng.uniform(0, 0.2))
    for child in children:
        judged(child.end())
    _honest(case, server, right)
    status, _ = server.get("/api/position?board=0/0", PATIENCE, HOSTILE)
    if status not in {200, 429}:
        raise BrokenError("other", f"status {status} for the address of an attack that is over")
    server.stop()
    if server.log().strip():
        raise BrokenError("other", f"the server wrote to its log: {server.log()[:400]!r}")


def _win(server: Server, board: str) -> float:
    status, answer = server.get(f"/api/position?board={board}")
    if status != 200:
        raise BrokenError("other", f"status {status} before any attack")
    return float(answer["win"])


def _honest(case: Case, server: Server, right: dict[str, float]) -> None:
    """Ask for the health and for a position, from an address that does nothing bad."""
    begin = time.monotonic()
    status, _ = server.get("/api/health", PATIENCE, HONEST)
    if status != 200:
        raise BrokenError("other", f"/api/health: status {status} during an attack")
    board = case.chosen(BOARDS)
    status, answer = server.get(f"/api/position?board={board}", PATIENCE, HONEST)
    if status != 200:
        raise BrokenError("other", f"/api/position: status {status} during an attack from another address")
    if answer["win"] != right[board]:
        raise BrokenError("wrong numbers", f"{board}: {answer['win']}, not {right[board]}")
    case.count("honest requests", 2)
    if time.monotonic() - begin > PATIENCE:
        raise BrokenError("hangs", f"two answers took {time.monotonic() - begin:.1f} s during an attack")


def _check_bounds(server: Server, before: int) -> None:
    memory = server.figure("VmRSS")
    if memory > before + MORE_MEMORY:
        raise BrokenError("other", f"the server took {memory - before:,} KiB more during an attack")
    with contextlib.suppress(OSError):
        count = len(os.listdir(Path(f"/proc/{server.child.pid}/fd")))
        if count > DESCRIPTORS:
            raise BrokenError("other", f"the server has {count} descriptors open")


# Attacks: each goes on for some seconds from one address


def _attack(case: Case, name: str, address: hostile.Address) -> Child:
    seed = case.rng.randrange(2**32)
    case.log(f"attack: {name}")
    case.count(name)
    return start(case, name, lambda: _attacking(ATTACKS[name], address, random.Random(seed)), memory=None)


def _attacking(attack: "Attack", address: hostile.Address, rng: random.Random) -> int:
    end = time.monotonic() + SECONDS
    held: list[socket.socket] = []
    while time.monotonic() < end:
        with contextlib.suppress(OSError, ValueError):  # the server may refuse all of it
            held += attack(address, rng)
        time.sleep(0.01)
    return 0


def _never_read(address: hostile.Address, rng: random.Random) -> list[socket.socket]:
    return [hostile.never_read(address, requests=rng.choice((1, 40, 400))) for _ in range(100)]


def _silent(address: hostile.Address, rng: random.Random) -> list[socket.socket]:
    return hostile.silent(address, rng.choice((10, 300)))


def _threads(work: Callable[[], object], count: int) -> None:
    def quietly() -> None:
        with contextlib.suppress(OSError, ValueError):
            work()

    threads = [threading.Thread(target=quietly, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)


def _slow_heads(address: hostile.Address, _: random.Random) -> list[socket.socket]:
    _threads(lambda: hostile.slow_head(address, SECONDS / 2), 40)
    return []


def _slow_bodies(address: hostile.Address, _: random.Random) -> list[socket.socket]:
    _threads(lambda: hostile.slow_body(address, SECONDS / 2), 40)
    return []


def _slow_readers(address: hostile.Address, _: random.Random) -> list[socket.socket]:
    _threads(lambda: hostile.slow_reader(address, SECONDS / 2), 40)
    return []


def _leavers(address: hostile.Address, rng: random.Random) -> list[socket.socket]:
    for _ in range(20):
        hostile.leave_in_body(address, rng.random() < 0.5)
    hostile.open_and_close(address, 20, rng)
    return []


def _absurd(address: hostile.Address, rng: random.Random) -> list[socket.socket]:
    for request in hostile.absurd_requests(rng, 56):
        with contextlib.suppress(OSError, ValueError):
            hostile.say(address, request, end=rng.random() < 0.5, seconds=2)
    return []


def _flood(address: hostile.Address, _: random.Random) -> list[socket.socket]:
    with hostile.connect(address) as connection:
        for _number in range(200):
            hostile.exchange(connection, "/api/position?board=0/0")
    return []


def _long_bodies(address: hostile.Address, rng: random.Random) -> list[socket.socket]:
    """GET and POST with bodies of gigabytes, as much of them as the server takes."""
    verb = rng.choice((b"GET /api/health", b"POST /api/positions"))
    with hostile.connect(address, seconds=2) as connection:
        head = b"%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        connection.sendall(head % (verb, 2 << 30))
        for _ in range(500):
            connection.sendall(bytes(1 << 20))
    return []


Attack = Callable[[hostile.Address, random.Random], list[socket.socket]]
ATTACKS: dict[str, Attack] = {
    "clients that never read": _never_read,
    "silent clients": _silent,
    "slow heads": _slow_heads,
    "slow bodies": _slow_bodies,
    "slow readers": _slow_readers,
    "clients that leave": _leavers,
    "absurd requests": _absurd,
    "floods": _flood,
    "long bodies": _long_bodies,
}
