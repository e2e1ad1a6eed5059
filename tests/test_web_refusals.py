"""What the HTTP interface refuses: wrong questions, bodies that are none, and what a damaged database holds."""

import asyncio
import contextlib
import json
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient
from web_client import asked

import madn
from madn.errors import CorruptBlockError, MadnError, MissingBlockError
from madn.store.records import SUMS
from madn.web import app as application
from madn.web.answers import Served
from madn.web.description import BOARDS, BODY_BYTES

WRONG = {
    "position": "board is missing",
    "position?board=": "OWN/OTHER",
    "position?board=0": "OWN/OTHER",
    "position?board=0/20,20": "two pieces",
    "position?board=0/20": "both sides have a piece on the same square",
    "position?board=1,2,3/0": "3 pieces",
    "position?board=42/0": "no square 42",
    "position?board=2,1/0": "ascend",
    "position?board=40,41/40,41": "both sides have finished",
    "position?board=" + "9" * 5000: "at most 40 characters",
    "position?board=%ff%fe/%00": "",
    "position?board=0/0&board=0/0": "twice",
    "position?board=0/0&bord=0/0": "no parameter 'bord'",
    "position?board=٣/0": "is not a square",
    "move?board=0/0": "roll is missing",
    "move?board=0/0&roll=7": "from 1 to 6",
    "move?board=0/0&roll=1.0": "from 1 to 6",
    "move?board=0/0&roll=-1": "from 1 to 6",
    "move?board=0/0&roll=³": "from 1 to 6",
    "move?board=0/0&roll=1&player=nobody": "no player 'nobody'",
    "move?board=0/0&roll=1&player=/etc/passwd": "no player",
    "move?board=0/0&roll=1&player=x.rules": "no player",
    "move?board=0/0&roll=1&seed=-1": "a seed is",
    "move?board=0/0&roll=1&seed=9007199254740992": "a seed is",
    "move?board=0/0&roll=1&seed=" + "9" * 3000: "a seed is",
    "health?x=1": "no parameter 'x'",
}


@pytest.mark.parametrize("question", WRONG, ids=lambda question: question[:40])
def test_what_is_wrong_with_a_question_is_said(question: str, client: TestClient) -> None:
    answer = client.get(f"/api/{question}")
    assert answer.status_code == 400
    (message,) = answer.json().values()
    assert WRONG[question] in message
    assert len(message) < 200
    assert answer.headers["cache-control"] == "no-store"


def test_what_is_not_there_is_404(client: TestClient, unloaded: madn.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in ("/nothing", "/api/nothing", "/api/position?board=0/0&db=x", "/api/position?board=0/0&version=0"):
        answer = client.get(path)
        assert answer.status_code == 404
        assert list(answer.json()) == ["message"]

    def missing(number: int) -> float:
        raise MissingBlockError(f"/secret/path: position {number} is not in this database")

    monkeypatch.setattr(unloaded._reader, "win", missing)
    answer = client.get("/api/position?board=0,1/2,3")
    assert answer.status_code == 404
    assert answer.json() == {"message": "this position is not in the database two-pieces"}
    batch = client.post("/api/positions", json={"boards": ["0,1/2,3"]})
    unknown = {"win": None, "winner": None, "exact": True, "source": "database", "error": None, "rolls": None}
    assert batch.json() == {"positions": [{"board": "0,1/2,3", "tries": 1, **unknown}]}


BATCHES: dict[str, tuple[bytes, int]] = {
    "no JSON": (b"{", 400),
    "not UTF-8": (b"\xff\xfe", 400),
    "deep": (b"[" * 20000, 400),
    "a list": (b"[]", 400),
    "no boards": (b'{"boards": []}', 400),
    "not texts": (b'{"boards": [1]}', 400),
    "something else": (b'{"boards": ["0/0"], "more": 1}', 400),
    "a large number": (b'{"boards": [' + b"1" * 9000 + b"]}", 400),
    "not a number": (b'{"boards": NaN}', 400),
    "not a position": (b'{"boards": ["0/0", "0/20"]}', 400),
    "too many": (json.dumps({"boards": ["0/0"] * (BOARDS + 1)}).encode(), 413),
    "too long": (b" " * (BODY_BYTES + 1), 413),
}


@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_that_is_none_is_refused(name: str, client: TestClient) -> None:
    body, status = BATCHES[name]
    answer = client.post("/api/positions", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == status
    assert list(answer.json()) == ["message"]


def test_the_message_of_a_batch_says_which_board(client: TestClient) -> None:
    answer = client.post("/api/positions", json={"boards": ["0/0", "0/20"]})
    assert answer.json()["message"].startswith("boards[1]: both sides have a piece on the same square")


def test_only_json_is_a_batch(client: TestClient) -> None:
    assert client.post("/api/positions", content=b"{}", headers={"content-type": "text/plain"}).status_code == 415
    for path, method, allowed in (("position", "post", "GET"), ("positions", "get", "POST")):
        answer = client.request(method, f"/api/{path}")
        assert answer.status_code == 405
        assert allowed in answer.headers["allow"]
        assert list(answer.json()) == ["message"]


def test_half_a_character_is_no_board(client: TestClient) -> None:
    body = b'{"boards": ["\\ud800\\u0007"]}'
    answer = client.post("/api/positions", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert list(answer.json()) == ["message"]


def run_asgi(app: Any, receive: Any, path: str = "/api/health", method: str = "GET") -> list[dict[str, Any]]:
    """What the application sends for a request whose body comes from `receive`."""
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
        "client": ("127.0.0.1", 1),
    }
    asyncio.run(app(scope, receive, send))
    return sent


def test_a_body_that_does_not_come_is_not_waited_for(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never() -> dict[str, Any]:
        await asyncio.sleep(60)
        return {}

    monkeypatch.setattr(application, "BODY_SECONDS", 0.01)
    assert run_asgi(app, never, "/api/positions", "POST")[0]["status"] == 408


def test_damage_is_a_fault_that_tells_no_path(
    client: TestClient, unloaded: madn.Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def damaged(number: int) -> float:
        raise CorruptBlockError("/secret/path: block 3 is damaged")

    monkeypatch.setattr(unloaded._reader, "win", damaged)
    answer = client.get("/api/position?board=0,1/2,4")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "/secret/path: block 3" in caplog.text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 5.0, -3.0])
def test_what_is_no_probability_is_unknown(value: float, databases: list[Served], client: TestClient) -> None:
    """Only a damaged database holds such a value. The answer is JSON, and has no such number in it."""
    database = databases[0].database
    try:
        database.engine.hold(np.full(database.engine.game.positions, value))
        databases[0]._final.cache_clear()
        found = asked(client, "position", board="0/0")
        assert found["win"] is None
        assert {move["win"] for roll in found["rolls"] for move in roll["moves"]} == {None}
        assert asked(client, "move", board="0/0", roll=1)["win"] is None
        batch = client.post("/api/positions", json={"boards": ["0/0"]}).json()
        assert batch == {"positions": [found]}
    finally:
        database.preload()
        databases[0]._final.cache_clear()


@pytest.mark.parametrize(
    "change",
    [
        {"max_error": float("inf")},
        {"boards": {"start": {"board": "b/b", "win": float("nan")}}},
        {"boards": {"\x1b[2J": {"board": "b/b", "win": 0.5}}},
        {"boards": {"\ud800": {"board": "b/b", "win": 0.5}}},
        {"boards": {"start": {"board": "\ud800", "win": 0.5}}},
        {"provenance": {"x": float("nan")}},
        {"provenance": {"x": "\ud800"}},
    ],
    ids=str,
)
def test_a_catalogue_that_is_no_json_is_not_served(
    change: dict[str, Any], databases: list[Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    database = databases[0].database
    info = database.info() | change
    monkeypatch.setattr(database, "info", lambda: info)
    with pytest.raises(CorruptBlockError, match="the catalogue cannot be served") as refused:
        Served("two-pieces", database)
    assert str(refused.value).isprintable()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
@pytest.mark.parametrize("linked", [False, True])
def test_no_file_of_sums_is_waited_for(linked: bool, small_path: Path, tmp_path: Path) -> None:
    """SHA256SUMS may be anything. The server does not open it; what is opened besides may refuse the database."""
    path = tmp_path / "small"
    shutil.copytree(small_path, path)
    (path / SUMS).unlink()
    os.mkfifo(tmp_path / "pipe")
    if linked:
        (path / SUMS).symlink_to(tmp_path / "pipe")
    else:
        (tmp_path / "pipe").rename(path / SUMS)

    def open_it() -> None:
        with contextlib.suppress(MadnError), madn.open_database(path) as database:
            Served("small", database)

    opening = threading.Thread(target=open_it, daemon=True)
    opening.start()
    opening.join(10)
    assert not opening.is_alive()
