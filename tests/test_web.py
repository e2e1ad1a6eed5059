"""The HTTP interface: answers equal to the database's, errors in one shape, limits, headers, its description."""

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from importlib import resources
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.exceptions import HTTPException
from starlette.testclient import TestClient
from strategies import boards, rolls

import madn
from madn import Board, Rules
from madn.cli import main
from madn.errors import CorruptBlockError, MadnError, MissingBlockError
from madn.players import PLAYERS
from madn.rules import HOUSE_RULES
from madn.store.records import SUMS
from madn.web import app as application
from madn.web import guard
from madn.web import serve as serving
from madn.web.answers import Served
from madn.web.app import make_app
from madn.web.description import BOARDS, BODY_BYTES, openapi

TWO = Rules(pieces=2)
SMALL = Rules(pieces=2, squares=12)
STATIC = resources.files("madn") / "web" / "static"
SEEDS = st.integers(0, 2**53 - 1)


@pytest.fixture(scope="module")
def small_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("databases") / "small"
    assert main(["solve", "--pieces", "2", "--squares", "12", "--out", str(directory), "--json"]) == 0
    return directory


@pytest.fixture(scope="module")
def databases(small_path: Path) -> Iterator[list[Served]]:
    """The game that comes with the package, stored in 16 bits, and a small one stored in full."""
    with madn.open_database() as two, madn.open_database(small_path) as small:
        yield [Served("two-pieces", two), Served("small", small)]


@pytest.fixture
def unloaded(databases: list[Served]) -> Iterator[madn.Database]:
    """The first database without values in memory: its files are read when it is queried."""
    database = databases[0].database
    database.engine.hold(None)
    yield database
    database.preload()


@pytest.fixture(scope="module")
def app(databases: list[Served]) -> Any:
    return make_app(databases, rate=10**9)


@pytest.fixture(scope="module")
def client(app: Any) -> TestClient:
    return TestClient(app, raise_server_exceptions=False)


def asked(client: TestClient, path: str, **parameters: object) -> Any:
    """The answer of a question that must be answered."""
    answer = client.get(f"/api/{path}", params={name: str(value) for name, value in parameters.items()})
    assert answer.status_code == 200, answer.text
    return answer.json()


# answers


def expected(database: Any, board: Board) -> dict[str, Any]:
    """The answer by `Database.analyse`, the readable twin."""
    analysis = database.analyse(board)
    return {
        "board": str(board),
        "win": analysis.win,
        "winner": board.winner,
        "tries": board.tries,
        "exact": True,
        "source": "database" if board.winner is None else "solved",
        "error": database.error if board.winner is None else 0.0,
        "rolls": [
            {
                "roll": roll.roll,
                "win": roll.win,
                "moves": [
                    {
                        "move": str(found.move),
                        "from": found.move.start,
                        "to": found.move.end,
                        "captures": found.move.captures,
                        "win": found.win,
                        "loss": max(roll.win - found.win, 0.0),
                        "exact": True,
                        "board": str(found.board),
                    }
                    for found in roll.moves
                ],
            }
            for roll in analysis.rolls
        ],
    }


@given(board=boards(TWO))
def test_a_position_is_what_the_database_says_of_it(board: Board, client: TestClient, databases: list[Served]) -> None:
    assert asked(client, "position", board=board) == expected(databases[0].database, board)


@given(board=boards(SMALL))
def test_another_database_is_asked_by_its_name(board: Board, client: TestClient, databases: list[Served]) -> None:
    assert asked(client, "position", board=board, db="small") == expected(databases[1].database, board)


@given(board=boards(TWO))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_large_database_is_read_when_it_is_queried(
    board: Board, databases: list[Served], unloaded: madn.Database
) -> None:
    assert json.loads(databases[0]._final_position(str(board)).body) == expected(unloaded, board)


@given(board=boards(SMALL, finished=False))
def test_the_value_of_a_position_is_the_mean_of_its_rolls(board: Board, client: TestClient) -> None:
    found = asked(client, "position", board=board, db="small")
    assert found["win"] == pytest.approx(sum(roll["win"] for roll in found["rolls"]) / 6, abs=1e-12)
    for roll in found["rolls"]:
        wins = [move["win"] for move in roll["moves"]]
        assert wins == pytest.approx(sorted(wins, reverse=True), abs=1e-9)  # equal ones by the piece furthest along
        assert roll["moves"][0]["loss"] == 0


@settings(max_examples=30)
@given(listed=st.lists(boards(TWO), min_size=1, max_size=5))
def test_a_batch_is_its_positions(listed: list[Board], client: TestClient) -> None:
    answer = client.post("/api/positions", json={"boards": [str(board) for board in listed]})
    assert answer.status_code == 200
    assert answer.json() == {"positions": [asked(client, "position", board=board) for board in listed]}


@settings(max_examples=60)
@given(board=boards(TWO, finished=False), roll=rolls, player=st.sampled_from(list(PLAYERS)), seed=SEEDS)
def test_a_player_makes_one_of_its_moves(board: Board, roll: int, player: str, seed: int, client: TestClient) -> None:
    (facts,) = (facts for facts in asked(client, "databases")["databases"] if facts["name"] == "two-pieces")
    if player not in facts["players"]:
        parameters = {"board": str(board), "roll": str(roll), "player": player}
        assert client.get("/api/move", params=parameters).status_code == 400
        return
    found = asked(client, "move", board=board, roll=roll, player=player, seed=seed)
    position = asked(client, "position", board=board)
    assert found["moves"] == position["rolls"][roll - 1]["moves"]
    assert found["move"] in [str(move) for move in PLAYERS[player].choices(board, roll)]
    (chosen,) = [move for move in found["moves"] if move["move"] == found["move"]]
    assert (found["win"], found["loss"]) == (chosen["win"], chosen["loss"])
    assert found == asked(client, "move", board=board, roll=roll, player=player, seed=seed)


def test_the_best_move_is_asked_where_no_player_is_named(client: TestClient) -> None:
    found = asked(client, "move", board="3,17/0", roll=4)
    assert (found["player"], found["move"], found["loss"]) == ("optimal", "3-7", 0)


def test_why_the_best_move_is_better_than_that_of_a_player(client: TestClient) -> None:
    with madn.open_database() as db:
        board = Board.parse("3,17/0", db.rules)
        moves = db.moves(board, 4)
        for language, player in product(("en", "de"), ("optimal", "runner")):
            found = asked(client, "move", board=board, roll=4, player=player, why=language)
            assert found["why"] == madn.explain(board, 4, moves, found["move"]).sentences(language)
    assert "why" not in asked(client, "move", board="3,17/0", roll=4)
    assert "why is one of en, de" in client.get("/api/move?board=3,17/0&roll=4&why=fr").json()["message"]


def test_a_seed_decides_what_a_random_player_does(client: TestClient) -> None:
    moves = [asked(client, "move", board="3,17/0", roll=4, player="random", seed=seed)["move"] for seed in range(40)]
    assert set(moves) == {"3-7", "17-21"}


def test_a_finished_game_has_no_rolls(client: TestClient) -> None:
    for board, winner in (("40,41/3", "own"), ("3/40,41", "other")):
        found = asked(client, "position", board=board)
        assert (found["winner"], found["win"], found["rolls"]) == (winner, float(winner == "own"), [])
    answer = client.get("/api/move?board=40,41/3&roll=1")
    assert answer.status_code == 400
    assert "the game is over" in answer.json()["message"]


def test_the_databases_say_what_they_are(client: TestClient, databases: list[Served]) -> None:
    two, small = asked(client, "databases")["databases"]
    assert (two["name"], two["rules"], two["positions"]) == ("two-pieces", asdict(TWO), 747435)
    assert small["boards"]["start"]["board"] == "0/0"
    assert two["version"] != small["version"]


def test_the_layout_has_a_cell_for_every_square(client: TestClient) -> None:
    found = asked(client, "layout")
    for side in ("bottom", "top"):
        assert len(found[side]["path"]) == 42
        assert len(found[side]["box"]) == 2


def test_health_and_players(client: TestClient) -> None:
    assert asked(client, "health") == {"status": "ok", "version": madn.__version__, "databases": 2}
    assert [player["name"] for player in asked(client, "players")["players"]] == list(PLAYERS)


def test_a_database_of_best_moves_answers_null_for_wins(small_path: Path, tmp_path: Path) -> None:
    assert main(["compress", str(small_path), str(tmp_path / "best"), "--store", "policy", "--json"]) == 0
    with madn.open_database(small_path) as values, madn.open_database(tmp_path / "best") as best_moves:
        served = Served("best", best_moves)
        found = json.loads(served.position("3,7/0").body)
        assert found["win"] is None
        for roll in found["rolls"]:
            assert roll["win"] is None
            assert {(move["win"], move["loss"]) for move in roll["moves"]} == {(None, None)}
            assert roll["moves"][0]["move"] == str(values.best_move("3,7/0", roll["roll"]))
        assert json.loads(served.move("3,7/0", 4, "fpoc", 0).body)["win"] is None


# errors

WRONG = {
    "position": "board is missing",
    "position?board=": "OWN/OTHER",
    "position?board=0": "OWN/OTHER",
    "position?board=0/20,20": "two pieces",
    "position?board=0/20": "both sides hold the same square",
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
    assert answer.json()["message"].startswith("boards[1]: both sides hold the same square")


def test_only_json_is_a_batch(client: TestClient) -> None:
    assert client.post("/api/positions", content=b"{}", headers={"content-type": "text/plain"}).status_code == 415
    for path, method, allowed in (("position", "post", "GET"), ("positions", "get", "POST")):
        answer = client.request(method, f"/api/{path}")
        assert answer.status_code == 405
        assert allowed in answer.headers["allow"]
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


# limits


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


# names and numbers that must not be believed

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


@pytest.mark.parametrize("proxy", ["nobody", "10.0.0.1/8", "1.2.3"])
def test_a_proxy_is_an_address(proxy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--proxy", proxy]) == 2
    assert "--proxy" in capsys.readouterr().err


def test_half_a_character_is_no_board(client: TestClient) -> None:
    body = b'{"boards": ["\\ud800\\u0007"]}'
    answer = client.post("/api/positions", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert list(answer.json()) == ["message"]


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


@pytest.mark.parametrize("change", ["removed", "replaced"])
def test_the_database_that_was_opened_is_served_to_the_end(
    change: str, small_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("madn.database.PRELOADED", 0)  # as a large one, of which nothing is in memory
    path = tmp_path / "small"
    shutil.copytree(small_path, path)
    with madn.open_database(path) as database, madn.open_database(small_path) as same:
        client = TestClient(make_app([Served("small", database)]))
        facts = asked(client, "databases")
        if change == "replaced":
            path.rename(tmp_path / "old")
            rough = ["--tolerance", "1e-3"]
            assert main(["solve", "--pieces", "2", "--squares", "12", *rough, "--out", str(path), "--json"]) == 0
        else:
            shutil.rmtree(path)
        assert asked(client, "databases") == facts
        for board in ("b/b", "0/0", "3,11/2"):
            assert asked(client, "position", board=board) == expected(same, Board.parse(board, SMALL))
            assert client.post("/api/positions", json={"boards": [board]}).status_code == 200


def test_a_name_that_cannot_be_printed_is_changed(
    small_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a\x1b[2J\udcffb"
    try:
        shutil.copytree(small_path, path)
    except (OSError, ValueError):
        pytest.skip("the file system refuses such names, too")
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: None)
    for more in ([], ["--json"]):
        assert main(["serve", str(path), "--port", "0", *more]) == 0
        assert "a_[2J_b" in capsys.readouterr().out


# what can be kept


def test_an_answer_of_a_version_can_be_kept_for_ever(client: TestClient, databases: list[Served]) -> None:
    plain = client.get("/api/position?board=0/0")
    assert plain.headers["cache-control"] == "no-cache"
    kept = client.get(f"/api/position?board=0/0&version={databases[0].version}")
    assert "immutable" in kept.headers["cache-control"]
    assert kept.headers["etag"] == plain.headers["etag"] != client.get("/api/position?board=0/1").headers["etag"]
    for known in (plain.headers["etag"], f'"x", W/{plain.headers["etag"]}', "*"):
        again = client.get("/api/position?board=0/0", headers={"if-none-match": known})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == plain.headers["etag"]
    assert client.get("/api/position?board=0/0", headers={"if-none-match": '"x"'}).status_code == 200
    assert client.head("/api/position?board=0/0").headers["content-length"] == plain.headers["content-length"]


def test_another_content_is_another_version(small_path: Path, tmp_path: Path, databases: list[Served]) -> None:
    assert (
        main(["solve", "--pieces", "2", "--squares", "12", "--tolerance", "1e-3", "--out", str(tmp_path / "db")]) == 0
    )
    with madn.open_database(tmp_path / "db") as rough:
        assert Served("small", rough).version != databases[1].version
    with madn.open_database(small_path) as same:
        assert Served("other name", same).version == databases[1].version


# the page, and safety


def test_the_rules_are_linked_and_every_link_and_picture_of_theirs_is_there(client: TestClient) -> None:
    assert 'href="rules.html"' in client.get("/").text
    assert 'href="/rules.html"' in client.get("/api").text
    assert asked(client, "openapi.json")["externalDocs"]["url"] == "/rules.html"
    pages = {name: client.get(name).text for name in ("/rules.html", "/rules.de.html")}
    for name, text in pages.items():
        targets = re.findall('(?:href|src)="([^"]*)"', text)
        assert {"/", *pages} - {name} <= set(targets)
        assert text.count("<img ") > len(HOUSE_RULES)
        for target in targets:
            assert client.get(target).status_code == 200


def test_every_file_of_the_page_is_served(client: TestClient) -> None:
    for file in STATIC.iterdir():
        answer = client.get("/" if file.name == "index.html" else f"/{file.name}")
        assert answer.status_code == 200
        assert answer.content == file.read_bytes()
        assert answer.headers["content-type"] in application.TYPES.values()
        assert answer.headers["etag"]


@pytest.mark.parametrize(
    "path",
    [
        "/../app.py",
        "/%2e%2e/app.py",
        "/..%2fapp.py",
        "/static/style.css",
        "//etc/passwd",
        "/etc/passwd",
        "/style.css/",
        "/\\",
    ],
)
def test_no_path_leads_to_another_file(path: str, client: TestClient) -> None:
    assert client.get(path).status_code == 404


def test_no_request_opens_a_file(client: TestClient, databases: list[Served], monkeypatch: pytest.MonkeyPatch) -> None:
    for board in ("0/0", "3,17/0"):
        client.get(f"/api/position?board={board}")  # the blocks are read now

    def opened(*args: object, **more: object) -> int:
        raise AssertionError(f"{args} was opened")

    monkeypatch.setattr("os.open", opened)
    monkeypatch.setattr("io.open", opened)
    monkeypatch.setattr("builtins.open", opened)
    databases[0]._final.cache_clear()
    for path in ("/", "/main.js", "/api/position?board=0/0", "/api/move?board=3,17/0&roll=1&player=x.y", "/api/x/y"):
        assert client.get(path).status_code in {200, 400, 404}


def test_every_answer_has_the_headers_that_protect_a_browser(client: TestClient) -> None:
    for path in ("/", "/api", "/main.js", "/api/position?board=0/0", "/api/position", "/nothing"):
        headers = client.get(path).headers
        pages = guard.PAGE_SECURITY if headers["content-type"].startswith("text/html") else {}
        for name, value in (guard.SECURITY | pages).items():
            assert headers[name] == value
        assert "server" not in headers
    assert "x-frame-options" in client.get("/").headers
    policy = guard.SECURITY["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy


def test_nothing_is_inline_and_nothing_comes_from_elsewhere(client: TestClient) -> None:
    for page in (client.get("/").text, client.get("/api").text):
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", page)
        assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", page))
    for file in STATIC.iterdir():
        addresses = re.findall(r"https?://[\w./]+", file.read_text(encoding="utf-8"))
        assert set(addresses) <= {"http://www.w3.org/2000/svg"}


def test_both_languages_say_everything() -> None:
    texts = [(STATIC / f"{language}.js").read_text(encoding="utf-8") for language in ("en", "de")]
    keys = [re.findall(r'^  "?([\w.]+)"?: "', text, re.MULTILINE) for text in texts]
    assert keys[0] == keys[1]
    assert len(set(keys[0])) == len(keys[0])
    assert {f"character.{name}" for name in PLAYERS} <= set(keys[0])
    values = [re.findall(r'^  "?[\w.]+"?: "(.*)",$', text, re.MULTILINE) for text in texts]
    assert [len(found) for found in values] == [len(found) for found in keys]
    for one, other in zip(*values, strict=True):
        assert set(re.findall(r"\{\w+\}", one)) == set(re.findall(r"\{\w+\}", other))
    used = set()
    for file in STATIC.iterdir():
        source = file.read_text(encoding="utf-8")
        used |= set(
            re.findall(r'data-t="(\w+)"|data-label="(\w+)"|say\("(\w+)"|Impossible\("(\w+)"|tell\("(\w+)"', source)
        )
    assert {word for group in used for word in group if word} <= set(keys[0])


# the description

schema = schemathesis.openapi.from_asgi(
    "/api/openapi.json", make_app([Served("two-pieces", madn.open_database())], rate=10**9)
)


@schema.parametrize()
@settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_the_server_is_as_its_description_says(case: Any) -> None:
    """Questions made from the description, right and wrong ones, get the statuses and the fields it promises.

    That every text of the right form is a position is not promised: one check less.
    """
    case.call_and_validate(excluded_checks=[schemathesis.checks.positive_data_acceptance])


def test_the_answer_in_the_document_is_the_real_one(client: TestClient) -> None:
    document = Path(__file__).resolve().parent.parent / "docs" / "web.md"
    printed = json.loads(document.read_text(encoding="utf-8").split("```json\n")[1].split("```")[0])
    found = asked(client, "position", board="3,17/0")
    (shown,) = printed["rolls"]
    found["rolls"] = [roll for roll in found["rolls"] if roll["roll"] == shown["roll"]]
    assert printed == found


def test_everything_that_can_be_asked_is_described(app: Any, databases: list[Served]) -> None:
    paths = {route.path for route in app.routes if route.path.startswith("/api/")}
    assert paths - {"/api/openapi.json"} == set(openapi(databases)["paths"])
    page = TestClient(app).get("/api").text
    for path in openapi(databases)["paths"]:
        assert f" {path}</code>" in page


# the program


@contextlib.contextmanager
def running(*args: object) -> "Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]":
    """The server as a process, and what it printed."""
    command = [sys.executable, "-m", "madn", "serve", "--json", *map(str, args)]
    settled: Any = {}
    if os.name == "posix":
        settled["preexec_fn"] = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **settled) as process:
        try:
            assert process.stdout is not None
            text = ""
            for line in process.stdout:
                text += line
                if line == "}\n":
                    break
            yield process, json.loads(text)
        finally:
            process.kill()


@pytest.mark.skipif(os.name != "posix", reason="signals of other systems")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_the_server_says_where_it_is_and_ends_in_order(number: int, status: int, small_path: Path) -> None:
    with running(small_path, "--port", 0) as (process, said):
        assert re.fullmatch(r"http://127\.0\.0\.1:[0-9]+/", said["address"])
        assert said["databases"][0]["name"] == "small"
        with urllib.request.urlopen(f"{said['address']}api/position?board=0/0", timeout=10) as answer:
            assert json.load(answer)["board"] == "0/0"
        process.send_signal(number)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == status
    assert "Traceback" not in errors


def test_a_port_that_is_taken_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["serve", "--pieces", "2", "--port", str(taken.getsockname()[1])]) == 3
    assert re.fullmatch(r"madn: cannot listen on 127.0.0.1, port \d+: .*\n", capsys.readouterr().err)


def test_databases_of_the_same_name_are_told_apart(
    small_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: None)
    assert main(["serve", str(small_path), str(small_path), "--port", "0", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [database["name"] for database in said["databases"]] == ["small", "small-2"]
