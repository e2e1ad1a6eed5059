"""How much one client gets of the server, and to which names the server answers."""

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.testclient import TestClient

from madn.web import guard
from madn.web import serve as serving
from madn.web.answers import Served
from madn.web.app import make_app


def test_a_client_has_so_many_positions_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    rate = guard.Rate(10)
    assert [rate.allows("a") for _ in range(11)] == [True] * 10 + [False]
    assert rate.allows("b", 10)
    assert not rate.allows("b")
    now[0] += 0.55
    assert [rate.allows("a") for _ in range(6)] == [True] * 5 + [False]
    now[0] += 1000
    assert not rate.allows("a", 11)
    for number in range(2 * guard.CLIENTS):
        rate.allows(str(number))
    assert len(rate._clients) == guard.CLIENTS


@pytest.fixture
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the limit on rate no time passes: on a slow machine too, nothing comes back between two requests."""
    monkeypatch.setattr(guard, "time", SimpleNamespace(monotonic=lambda: 0.0))


@pytest.mark.usefixtures("stopped_clock")
def test_too_many_positions_are_429(databases: list[Served]) -> None:
    few = TestClient(make_app(databases, rate=3))
    answers = [few.get("/api/position?board=0/0") for _ in range(8)]
    assert [answer.status_code == 429 for answer in answers] == [False] * 3 + [True] * 5
    refused = answers[-1]
    assert refused.headers["retry-after"] == "1"
    assert list(refused.json()) == ["message"]
    batch = TestClient(make_app(databases, rate=3)).post("/api/positions", json={"boards": ["0/0"] * 5})
    assert batch.status_code == 429
    assert batch.headers["retry-after"] == "1"


def test_a_client_has_so_many_places_among_those_of_all() -> None:
    places = guard.Places(most=3, most_of_one=2)
    with places.taking("a"), places.taking("a"):
        with pytest.raises(HTTPException) as refused, places.taking("a"):
            pass
        assert (refused.value.status_code, refused.value.headers) == (503, {"retry-after": "1"})
        with places.taking("b"), pytest.raises(HTTPException), places.taking("c"):
            pass
        with places.taking("c"):
            pass
    assert not places.taken


@pytest.mark.usefixtures("stopped_clock")
def test_health_is_answered_while_all_places_are_taken(
    databases: list[Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every thread waits for a disk, and this client has no position left to ask for."""
    release, asked = threading.Event(), threading.Semaphore(0)

    def wait(*_: object) -> bytes:
        asked.release()
        release.wait(20)
        return b"{}"

    monkeypatch.setattr(databases[0], "positions", wait)
    monkeypatch.setattr(guard.Places.__init__, "__defaults__", (4, 4))
    with TestClient(make_app(databases, rate=9)) as busy, ThreadPoolExecutor(4) as pool:
        batch: Any = {"json": {"boards": ["0/0"]}}
        waiting = [pool.submit(busy.post, "/api/positions", **batch) for _ in range(4)]
        try:
            for _ in waiting:
                assert asked.acquire(timeout=20)
            statuses = [busy.post("/api/positions", **batch).status_code for _ in range(6)]
            assert statuses == [503] * 5 + [429]
            assert busy.get("/api/health").status_code == 200
        finally:
            release.set()
        assert [one.result().status_code for one in waiting] == [200] * 4


HOSTS = {
    "localhost": 200,
    "LOCALHOST:80": 200,
    "localhost.": 200,
    "127.0.0.1:8000": 200,
    "[::1]:8000": 200,
    "board.example": 200,
    "evil.example": 421,
    "localhost.evil.example": 421,
    "evil.example:127.0.0.1": 421,
    "127.0.0.1.evil.example": 421,
    "localhost:80:80": 421,
    "[::1]x": 421,
    "": 421,
}


@pytest.mark.parametrize("name", HOSTS)
def test_a_server_for_this_computer_answers_to_its_own_names(name: str, databases: list[Served]) -> None:
    """A page whose name leads to this computer must not read what the server says."""
    with serving.bound("127.0.0.1", 0) as listening:
        hosts = serving.host_names(listening, "127.0.0.1", ["Board.example"])
    local = TestClient(make_app(databases, hosts=hosts))
    for path in ("/", "/api/health"):
        answer = local.get(path, headers={"host": name})
        assert answer.status_code == HOSTS[name]
    if HOSTS[name] == 421:
        assert list(answer.json()) == ["message"]


def test_a_server_for_others_answers_to_any_name_unless_it_is_given_one() -> None:
    with serving.bound("0.0.0.0", 0) as listening:
        assert serving.host_names(listening, "0.0.0.0") is None
        hosts = serving.host_names(listening, "0.0.0.0", ["board.example", "2001:db8::1"])
    assert hosts is not None
    assert hosts >= {b"board.example", b"[2001:db8::1]", b"localhost"}
