"""The HTTP interface for a game without a database of all of it: estimates, and endgames that become exact."""

import gc
import json
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from fake_estimator import FakeEstimator
from hypothesis import HealthCheck, given, settings
from starlette.testclient import TestClient
from strategies import boards

from madn import Advisor, Board, Rules, open_database
from madn.advisor import estimates_of
from madn.cli import main
from madn.parts import Part, Parts
from madn.web.answers import Served, ServedAdvisor
from madn.web.app import make_app
from madn.web.description import openapi
from madn.web.games import OPEN, Games, name_of, on_offer

FOUR = Rules(pieces=4, squares=12)
ENDGAME = "5,13,14,15/3,12,14,15"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedAdvisor]:
    """A game that is estimated, but for parts of up to 2,000 positions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("madn.advisor.find_estimator", FakeEstimator)
        estimates_of.cache_clear()
        with Advisor(FOUR, cache=tmp_path_factory.mktemp("cache"), limit=2000, wait=False) as advisor:
            yield ServedAdvisor("four", advisor)
    estimates_of.cache_clear()


@pytest.fixture(scope="module")
def client(served: ServedAdvisor) -> TestClient:
    return TestClient(make_app([served], rate=10**9), raise_server_exceptions=False)


def checked(served: ServedAdvisor, name: str, answer: Any) -> None:
    """Whether an answer is what the description says."""
    description = openapi([served])
    schema = {**description["components"]["schemas"][name], "components": description["components"]}
    jsonschema_rs.validate(schema, answer)


@given(board=boards(FOUR))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_answers_are_those_of_the_advisor(board: Board, served: ServedAdvisor, client: TestClient) -> None:
    found = client.get("/api/position", params={"board": str(board)}).json()
    checked(served, "Position", found)
    analysis = served.advisor.analyse(board)
    if found["source"] == analysis.source:  # otherwise it was solved between the two questions
        assert (found["win"], found["exact"], found["error"]) == (analysis.win, analysis.exact, analysis.error)
        listed = [[(m["move"], m["win"], m["exact"]) for m in roll["moves"]] for roll in found["rolls"]]
        assert listed == [[(str(m.move), m.win, m.exact) for m in roll.moves] for roll in analysis.rolls]


def test_an_estimate_stays_an_estimate_where_nothing_will_be_solved(client: TestClient, served: ServedAdvisor) -> None:
    for path in (
        "/api/position?board=0/0",
        "/api/move?board=0/0&roll=3",
        "/api/move?board=0,5/3&roll=2&player=estimate",
    ):
        answer = client.get(f"{path}&version={served.version}")
        assert "immutable" in answer.headers["cache-control"]
        found = answer.json()
        assert (found["exact"], found["source"], found["error"]) == (False, "estimate", 0.05)
    move = client.get("/api/move?board=0,5/3&roll=2&player=estimate").json()
    checked(served, "Chosen", move)
    assert move["move"] == move["moves"][0]["move"]


def test_an_endgame_becomes_exact_by_itself(client: TestClient, served: ServedAdvisor) -> None:
    path = f"/api/position?board={ENDGAME}&version={served.version}"
    answer = client.get(path)
    end = time.monotonic() + 20
    while not answer.json()["exact"] and time.monotonic() < end:
        assert answer.headers["cache-control"] == "no-store"
        time.sleep(0.02)
        answer = client.get(path)
    assert (answer.json()["source"], answer.json()["exact"]) == ("solved", True)
    assert "immutable" in answer.headers["cache-control"]
    with Advisor(FOUR) as advisor:
        assert answer.json()["win"] == advisor.win(ENDGAME)
    (batch,) = client.post("/api/positions", json={"boards": [ENDGAME]}).json()["positions"]
    assert batch == answer.json()


def test_what_is_said_of_the_game(client: TestClient, served: ServedAdvisor) -> None:
    (facts,) = client.get("/api/databases").json()["databases"]
    checked(served, "Database", facts)
    assert (facts["exact"], facts["values"], facts["positions"]) == (False, "estimate", FOUR.positions)
    assert {"optimal", "estimate"} <= set(facts["players"])
    assert facts["boards"]["start"]["board"] == "0/0"
    assert client.get("/api").status_code == 200


def test_strangers_cannot_have_more_than_one_part_solved_at_a_time(
    served: ServedAdvisor, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every pair of finish zones is asked for, again and again: one is solved at a time, and each of them once."""
    solved: list[Part] = []
    at_work: list[int] = []
    solve = Parts._solve

    def counted(self: Parts, part: Part, *args: Any, **more: Any) -> Any:
        at_work.append(len(at_work))
        try:
            solved.append(part)
            return solve(self, part, *args, **more)
        finally:
            at_work.pop()

    monkeypatch.setattr(Parts, "_solve", counted)
    zones = [",".join(str(12 + q) for q in range(4) if zone >> q & 1) or "b" for zone in range(15)]
    pairs = [f"{own}/{other}" for own in zones for other in zones]
    waiting = len(pairs)
    end = time.monotonic() + 30
    while waiting and time.monotonic() < end:
        answers = [client.get("/api/position", params={"board": board}) for board in pairs]
        assert {answer.status_code for answer in answers} == {200}
        assert len(at_work) <= 1
        waiting = sum(answer.headers["cache-control"] == "no-store" for answer in answers)
    assert waiting == 0
    assert len(solved) == len(set(solved)), "a part was solved twice"
    assert all(part.positions <= 2000 for part in solved)


def test_games_on_offer_are_opened_when_somebody_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MADN_CACHE", str(tmp_path))
    with open_database() as two:
        offer = on_offer()
        assert {"three-pieces", "two-pieces-three-rolls-start-in-box-no-jumping-must-capture"} <= set(offer)
        opened: list[str] = []

        def watched(name: str) -> Served:
            opened.append(name)
            return offer[name][1]()

        watching = {name: (rules, partial(watched, name)) for name, (rules, _) in offer.items()}
        client = TestClient(make_app([Served("two-pieces", two)], on_offer=watching))
        games = client.get("/api/games").json()["games"]
        assert games[0] == {"name": "two-pieces", "rules": asdict(Rules(pieces=2))}
        assert len(games) == len(offer)
        assert opened == []
        name = "three-pieces-must-capture"
        for _ in range(2):
            facts = client.get("/api/game", params={"db": name}).json()
            assert (facts["name"], facts["exact"]) == (name, False)
        assert facts["rules"] == asdict(Rules(pieces=3, must_capture=True))
        position = client.get("/api/position", params={"board": "0/0", "db": name}).json()
        assert position["win"] == facts["boards"]["start"]["win"]
        assert opened == [name]
        assert client.get("/api/game?db=five-pieces").status_code == 404
        assert len(client.get("/api/databases").json()["databases"]) == 1
        found = {name: rules for name, (rules, _) in offer.items()}
        assert all(name_of(rules) == name for name, rules in found.items())


def test_strangers_cannot_have_more_than_a_few_games_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All games on offer are asked, from several threads: a few stay open, and whoever has another goes on asking."""
    monkeypatch.setenv("MADN_CACHE", str(tmp_path))
    offer = on_offer()
    living: weakref.WeakSet[Served] = weakref.WeakSet()

    def watched(open_it: Callable[[], Served]) -> Served:
        game = open_it()
        living.add(game)
        return game

    games = Games([], {name: (rules, partial(watched, open_it)) for name, (rules, open_it) in offer.items()})
    first = games[next(iter(games))]

    def answer(name: str) -> str:
        return str(json.loads(games[name].position(str(Board.start(offer[name][0]))).body)["board"])

    with ThreadPoolExecutor(4) as threads:
        boards = list(threads.map(answer, offer))
    assert boards == [str(Board.start(rules)) for rules, _ in offer.values()]
    gc.collect()
    assert len(living) == OPEN + 1  # the first one is held here
    assert games.find(first.name) is None
    assert json.loads(first.position("5/3").body)["board"] == "5/3"
    last = [*offer][-1]
    assert games.find(last) is games[last]
    assert games[first.name] is not first


def test_the_command_serves_a_game_without_a_database(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: None)
    monkeypatch.setattr("madn.advisor.find_estimator", FakeEstimator)
    estimates_of.cache_clear()

    def names(*args: str) -> list[tuple[str, bool]]:
        assert main(["serve", "--port", "0", "--json", *args]) == 0
        return [(facts["name"], facts["exact"]) for facts in json.loads(capsys.readouterr().out)["databases"]]

    assert names() == [("four-pieces", False), ("two-pieces", True)]
    assert names("--pieces", "2", "--squares", "12", "--must-capture") == [("two-pieces-12-must-capture", True)]
    assert names("--pieces", "3", "--no-jumping") == [("three-pieces-no-jumping", False)]
    monkeypatch.setattr("madn.advisor.find_estimator", lambda rules: None)
    estimates_of.cache_clear()
    assert main(["serve", "--port", "0", "--pieces", "3"]) == 3
    assert "no database and no estimator for 3 pieces, 40 squares" in capsys.readouterr().err
    assert main(["serve", str(tmp_path), "--pieces", "3"]) == 2
    assert "give either DB or rules, not both" in capsys.readouterr().err
    estimates_of.cache_clear()
