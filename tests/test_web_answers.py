"""What the HTTP interface says of a position: what the database says, and how long it may be kept."""

import json
import shutil
from dataclasses import asdict
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient
from strategies import boards, rolls
from web_client import SMALL, TWO, asked, expected

import madn
from madn import Board
from madn.cli import main
from madn.players import PLAYERS
from madn.web.answers import Served
from madn.web.app import make_app

SEEDS = st.integers(0, 2**53 - 1)


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
