"""The page without a server: its JavaScript against the package, in Debian's chromium (see tests/test_browser.py)."""

import json
import random
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from http.server import SimpleHTTPRequestHandler
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from browser import PHONE, Open, play_on, shown
from playwright.sync_api import Page
from static_hosts import Elsewhere, Plain, Ranged, hosted
from strategies import all_boards
from test_browser import accessible
from test_why import HOUSES, random_board, random_values

import madn
from madn import Advisor, Board, Move, Rules, explain
from madn.advisor import estimates_of
from madn.estimator import find_estimator
from madn.features import FEATURES
from madn.games import cantstop, pig, pyramid
from madn.players import PLAYERS, RulePlayer
from madn.rules import HOUSE_RULES, ROLLS
from madn.store.blocks import FIXED32
from madn.store.compress import compress_database
from madn.store.writer import write_database
from madn.web.answers import Served, ServedAdvisor
from madn.web.export import export_page
from madn.web.games import name_of

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("static")]
MODELS = [pieces for pieces in (2, 3, 4) if estimates_of(Rules(pieces)) is not None]


@dataclass
class Noise:
    """A source of values by lot: nothing about them can be guessed."""

    rules: Rules
    representation: str = "float64"

    def __post_init__(self) -> None:
        values = np.random.default_rng(7).random(self.rules.positions)
        own, other = madn.unrank_many(np.arange(len(values)), self.rules).T >> np.uint64(self.rules.squares)
        full = (1 << self.rules.pieces) - 1
        values[own == full], values[other == full] = 1.0, 0.0
        self.raw = FIXED32.raws(values) if self.representation == "fixed32" else values

    @property
    def min_board(self) -> Board:
        return Board.start(self.rules)

    max_board = min_board

    def read(self, first: int, out: np.ndarray) -> None:
        out[:] = self.raw[first : first + len(out)]


@pytest.fixture(scope="module")
def small_databases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Small databases in every width of words, in blocks that begin anywhere in a profile."""
    folder = tmp_path_factory.mktemp("databases")
    facts = {"residual": 1e-9}
    write_database(folder / "fixed32", Noise(Rules(2, 8), "fixed32"), facts, block_positions=97)
    write_database(folder / "float64", Noise(Rules(2, 10, must_capture=True)), facts, block_positions=501)
    write_database(folder / "bits8", Noise(Rules(2, 8, three_rolls=True)), facts, bits=8)
    write_database(folder / "bits16", Noise(Rules(3, 8, no_jumping=True)), facts, bits=16, block_positions=1009)
    write_database(folder / "bits20", Noise(Rules(2, 12)), facts, bits=20, block_positions=300)
    madn.solve(Rules(2, 10, no_jumping=True), folder / "proved64", proved=True)
    values = tmp_path_factory.mktemp("values") / "values"
    write_database(values, Noise(Rules(2, 12, must_capture=True)), facts, block_positions=300)
    compress_database(values, folder / "policy", "policy")
    return {path.name: path for path in folder.iterdir()}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, small_databases: dict[str, Path]) -> Path:
    """The page in a directory below the root of its host, with some databases."""
    directory = tmp_path_factory.mktemp("host")
    (directory / "some").mkdir()
    export_page(directory / "some" / "where", list(small_databases.values()))
    return directory


@pytest.fixture(scope="module")
def host(site: Path) -> Iterator[str]:
    with hosted(site) as address:
        yield f"{address}/some/where"


@pytest.fixture(scope="module")
def page(browser: Any, host: str) -> Iterator[Page]:
    """A page of the host in which modules can be imported."""
    page = browser.new_page()
    page.goto(f"{host}/rules.html")
    page.set_default_timeout(60_000)
    yield page
    page.close()


def run(page: Page, script: str, argument: Any) -> Any:
    """The value of an async function body, with `here` for importing modules of the page."""
    begin = "async (argument) => { const here = (name) => import(new URL(name, location.href)); "
    return page.evaluate(begin + script + "}", argument)


def sampled(rules: Rules, count: int, seed: int = 0) -> list[Board]:
    rng = random.Random(f"{rules} {seed}")
    return [random_board(rng, rules) for _ in range(count)]


# rules


def moves_text(board: Board) -> str:
    """Everything that rules.js says of a board."""
    rolls = [" ".join(f"{move}={board.after(move, roll)}" for move in board.legal_moves(roll)) for roll in ROLLS]
    weights = board.roll_weights() if board.winner is None else ()
    return (
        f"{board.winner}|{';'.join(rolls)}|{board.tries if board.winner is None else 1}|{','.join(map(str, weights))}"
    )


RULES_SCRIPT = """
const r = await here("rules.js");
return argument.map(({ rules, boards }) => boards.map((text) => {
  const board = r.readBoard(text);
  const over = r.winner(board, rules);
  const rolls = r.ROLLS.map((roll) => r.legalMoves(board, roll, rules)
    .map((move) => `${r.writeMove(move)}=${r.writeBoard(r.after(board, move, roll, rules))}`).join(" "));
  const weights = over ? "" : r.rollWeights(board, rules).join();
  return `${over ?? "None"}|${rolls.join(";")}|${r.triesOf(board, rules)}|${weights}`;
}));
"""


def check_rules(page: Page, games: Sequence[tuple[Rules, Sequence[Board]]]) -> None:
    asked = [{"rules": asdict(rules), "boards": list(map(str, boards))} for rules, boards in games]
    for (rules, boards), found in zip(games, run(page, RULES_SCRIPT, asked), strict=True):
        for board, text in zip(boards, found, strict=True):
            assert text == moves_text(board), (board, rules)


@pytest.mark.parametrize("pieces", [1, 2])
def test_the_moves_of_every_position_of_small_boards(pieces: int, page: Page) -> None:
    house = HOUSES if pieces == 1 else [{}, {"no_jumping": True}, dict.fromkeys(HOUSE_RULES, True)]
    games = [Rules(pieces, 8, **rules) for rules in house]
    check_rules(page, [(rules, list(all_boards(rules))) for rules in games])


def test_the_moves_of_random_positions_of_large_boards(page: Page) -> None:
    games = [Rules(pieces, squares, **house) for pieces in (2, 3, 4, 6) for squares in (14, 40) for house in HOUSES]
    check_rules(page, [(rules, sampled(rules, 12)) for rules in games])


# the estimator


def test_the_estimator_gives_the_same_values(page: Page) -> None:
    script = """
    const { readModel, Estimator } = await here("estimator.js");
    const { readBoard } = await here("rules.js");
    const found = [];
    for (const { rules, boards } of argument) {
      const bytes = await (await fetch(`estimator-${rules.pieces}.madn`)).arrayBuffer();
      const estimator = new Estimator(await readModel(new Uint8Array(bytes), "model"), rules);
      found.push([estimator.error, boards.map((text) => estimator.win(readBoard(text)))]);
    }
    return found;
    """
    games = [Rules(pieces, **house) for pieces in MODELS for house in HOUSES]
    games = [rules for rules in games if estimates_of(rules) is not None]
    boards = {rules: sampled(rules, 60) for rules in games}
    asked = [{"rules": asdict(rules), "boards": list(map(str, boards[rules]))} for rules in games]
    for rules, (error, wins) in zip(games, run(page, script, asked), strict=True):
        estimator = find_estimator(rules)
        assert estimator is not None
        assert error == estimator.error
        expected = [estimator.win(*board.masks) for board in boards[rules]]
        assert wins == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("spoiled", ["name", "digest", "length"])
def test_a_damaged_model_is_refused(spoiled: str, page: Page) -> None:
    script = """
    const { readModel } = await here("estimator.js");
    const bytes = new Uint8Array(await (await fetch(`estimator-${argument.pieces}.madn`)).arrayBuffer());
    if (argument.spoiled === "name") bytes[0] ^= 1;
    if (argument.spoiled === "digest") bytes[bytes.length - 100] ^= 1;
    const part = argument.spoiled === "length" ? bytes.subarray(0, bytes.length - 5) : bytes;
    return readModel(part, "model").then(() => "read", (error) => error.message);
    """
    said = run(page, script, {"pieces": MODELS[0], "spoiled": spoiled})
    assert said.startswith("model: damaged: ")


# why


def test_the_sentences_are_the_same(page: Page) -> None:
    script = """
    const { explain, sentences } = await here("why.js");
    return argument.map(({ board, roll, rules, moves, chosen, error }) => {
      const why = explain(board, roll, rules, moves, { chosen, error });
      return [sentences(why), sentences(why, "de")];
    });
    """
    asked, expected = [], []
    rng = random.Random(5)
    for house in HOUSES:
        for _ in range(60):
            rules = Rules(rng.randint(1, 4), rng.choice([8, 12, 40]), **house)
            board, roll = random_board(rng, rules), rng.randint(1, 6)
            if board.winner:
                continue
            error = rng.choice([None, 0.004])
            moves = random_values(rng, board, roll, error)
            chosen = rng.choice([None, *(value.move for value in moves)])
            listed = [
                {
                    "move": str(value.move),
                    "from": value.move.start,
                    "to": value.move.end,
                    "captures": value.move.captures,
                    "win": value.win,
                    "exact": value.exact,
                }
                for value in moves
            ]
            facts = {"board": str(board), "roll": roll, "rules": asdict(rules), "moves": listed, "error": error}
            asked.append({**facts, "chosen": None if chosen is None else str(chosen)})
            why = explain(board, roll, moves, chosen)
            expected.append([why.sentences(), why.sentences("de")])
    assert run(page, script, asked) == expected


def test_the_page_can_number_squares_otherwise(page: Page) -> None:
    script = """
    const { pageSentences } = await here("why.js");
    return ["en", "de"].map((language) => pageSentences(argument, 4, argument.rules, null, { language, shift: 20 }));
    """
    with madn.open_database() as db:
        answer = json.loads(Served("two", db).position("3,17/0").body)
    assert run(page, script, {**answer, "rules": asdict(Rules(2))}) == [
        [
            "After 37 → 1 the opponent can capture on 1 with a 1; after 23 → 27 nothing is in reach.",
            "23 → 27 is worth 2.8 points more.",
        ],
        [
            "Nach 37 → 1 kann der Gegner mit einer 1 auf 1 schlagen; nach 23 → 27 ist nichts in Reichweite.",
            "23 → 27 ist 2,8 Punkte mehr wert.",
        ],
    ]


# endgames


def test_endgames_are_solved(page: Page) -> None:
    script = """
    const { Endgames, zonesOf } = await here("endgames.js");
    const { readBoard, winner } = await here("rules.js");
    return argument.map(({ rules, boards }) => {
      const endgames = new Endgames(rules);
      return boards.map((text) => {
        const board = readBoard(text);
        const zones = zonesOf(board, rules);
        if (!winner(board, rules) && !endgames.knows(zones)) endgames.solve(zones);
        return endgames.win(board);
      });
    });
    """
    games = [Rules(2, 8, **house) for house in HOUSES] + [Rules(3, 8, no_jumping=True, must_capture=True)]
    boards = {rules: sampled(rules, 60) for rules in games}
    large = Rules(4)
    boards[large] = [Board.parse(text, large) for text in ("30,41,42,43/12,40,41,43", "5,41,42,43/39,40,41,43")]
    asked = [{"rules": asdict(rules), "boards": list(map(str, listed))} for rules, listed in boards.items()]
    for (rules, listed), wins in zip(boards.items(), run(page, script, asked), strict=True):
        with Advisor(rules, cache=None) as advisor:
            assert wins == pytest.approx([advisor.win(board) for board in listed], abs=1e-11)


# databases

DATABASE_SCRIPT = """
const { openDatabase } = await here("database.js");
const { readBoard } = await here("rules.js");
const database = await openDatabase(new URL(argument.index, location.href));
const wins = [];
for (const text of argument.boards) wins.push(database.win(readBoard(text)));
return await Promise.all(wins);
"""


@pytest.mark.parametrize("name", ["fixed32", "bits8", "bits16", "bits20", "float64", "proved64"])
def test_every_position_of_a_database(name: str, small_databases: dict[str, Path], page: Page, host: str) -> None:
    with madn.open_database(small_databases[name], values=True) as db:
        assert db.values == name
        boards = list(db)
        index = f"{name_of(db.rules)}-index.json"
        wins = run(page, DATABASE_SCRIPT, {"index": index, "boards": list(map(str, boards))})
        assert wins == db.win_many(boards).tolist()


@pytest.mark.parametrize("handler", [Ranged, Plain])
def test_a_database_of_many_blocks_on_any_host(
    handler: type[SimpleHTTPRequestHandler], browser: Any, tmp_path: Path
) -> None:
    """The embedded database: some blocks of it are read, as ranges if the host has them."""
    with madn.open_database() as db:
        boards = sampled(db.rules, 40)
        expected = [db.win(board) for board in boards]
        export_page(tmp_path / "site", [db.path])
    Ranged.asked.clear()
    with hosted(tmp_path / "site", handler) as address:
        page = browser.new_page()
        page.goto(f"{address}/rules.html")
        found = run(page, DATABASE_SCRIPT, {"index": "two-pieces-index.json", "boards": list(map(str, boards))})
        page.close()
    assert found == expected
    if handler is Ranged:
        blocks = [wanted for path, wanted in Ranged.asked if path.endswith("values-0000.madn")]
        assert 1 < len(blocks) == len(set(blocks))


def test_the_frames_of_a_database_can_be_on_another_host(visit: Open, tmp_path: Path) -> None:
    with madn.open_database() as db:
        with hosted(db.path, Elsewhere) as frames:
            export_page(tmp_path / "site", [db.path], at=frames)
            with hosted(tmp_path / "site") as address:
                Ranged.asked.clear()
                page = visit("/?board=3,17/0,22&rules=2,40", at=address)
                settled(page, "3,17/0,22")
                assert page.inner_text("#source") == "Exact."
                check_numbers(page, db, "3,17/0,22")
                blocks = [wanted for path, wanted in Ranged.asked if path == "/values-0000.madn"]
                assert blocks
                assert None not in blocks
        with hosted(db.path) as frames:  # this one does not
            export_page(tmp_path / "site", [db.path], at=frames)
            with hosted(tmp_path / "site") as address:
                page = visit("/?board=3,17/0,22&rules=2,40", at=address, faults=True)
                page.wait_for_function("() => document.getElementById('message').textContent")
                assert f"{frames}/values-0000.madn" in page.inner_text("#message")


def test_damage_is_said_and_never_answered(browser: Any, small_databases: dict[str, Path], tmp_path: Path) -> None:
    with madn.open_database(small_databases["fixed32"]) as db:
        board, name = str(Board.start(db.rules)), name_of(db.rules)
        win = db.win(board)
    export_page(tmp_path / "site", [small_databases["fixed32"]])
    frames, index = (tmp_path / "site" / f"{name}-{file}" for file in ("values-0000.madn", "index.bin"))
    good = frames.read_bytes(), index.read_bytes()
    for path, content in ((frames, good[0]), (index, good[1])):
        for spoiled in (content[: len(content) // 2], bytes(255 - byte for byte in content), b""):
            path.write_bytes(spoiled)
            with hosted(tmp_path / "site") as address:
                page = browser.new_page()
                page.goto(f"{address}/rules.html")
                script = f"try {{ {DATABASE_SCRIPT} }} catch (error) {{ return error.message; }}"
                found = run(page, script, {"index": f"{name}-index.json", "boards": [board]})
                page.close()
            right = [win] if len(spoiled) == len(content) // 2 else None  # its block may be in the half that is left
            assert isinstance(found, str) or found in ([None], right), (path.name, len(spoiled), found)
        path.write_bytes(content)


# what the page is answered

API_SCRIPT = """
const api = await here("api.js");
const source = api.source(await api.game(argument.game));
const answers = [];
for (const board of argument.boards) answers.push(await source.position(board));
return argument.many ? source.positions(argument.boards) : answers;
"""


def same(found: dict[str, Any], expected: dict[str, Any], within: float) -> None:
    """Compare an answer with that of a server."""
    assert found["win"] == pytest.approx(expected["win"], abs=within)
    for field in ("board", "winner", "tries", "exact", "source"):
        assert found[field] == expected[field], field
    assert len(found["rolls"]) == len(expected["rolls"])
    for roll, real in zip(found["rolls"], expected["rolls"], strict=True):
        assert roll["roll"] == real["roll"]
        moves = {move["move"]: move for move in roll["moves"]}
        assert moves.keys() == {move["move"] for move in real["moves"]}
        for move in real["moves"]:
            for field in ("from", "to", "captures", "exact", "board"):
                assert moves[move["move"]][field] == move[field]
            assert moves[move["move"]]["win"] == pytest.approx(move["win"], abs=within)
        if within < 1e-12:
            assert roll == real | {"win": roll["win"]} or roll["moves"] == real["moves"]


def test_estimates_are_answered_as_a_server_does(page: Page) -> None:
    for rules in (Rules(4), Rules.house(3)):
        boards = [board for board in sampled(rules, 25) if not any(q >= 40 for q in (*board.own, *board.other))]
        found = run(page, API_SCRIPT, {"game": name_of(rules), "boards": list(map(str, boards))})
        with Advisor(rules, limit=0, cache=None) as advisor:
            served = ServedAdvisor("game", advisor)
            for board, answer in zip(boards, found, strict=True):
                assert answer == json.loads(served.position(str(board)).body) | {"final": True}


def test_a_database_answers_as_a_server_does(small_databases: dict[str, Path], page: Page) -> None:
    for name in ("fixed32", "bits16", "float64", "policy"):
        with madn.open_database(small_databases[name]) as db:
            served = Served("game", db)
            boards = sampled(db.rules, 40)
            found = run(page, API_SCRIPT, {"game": name_of(db.rules), "boards": list(map(str, boards))})
            for board, answer in zip(boards, found, strict=True):
                assert answer == json.loads(served.position(str(board)).body) | {"final": True}


def test_endgames_are_estimated_and_then_exact(page: Page) -> None:
    rules = Rules(3)
    boards = ["30,41,42/12,41,42", "5,41,42/39,41,42", "40,41,42/3"]
    script = """
    const api = await here("api.js");
    const source = api.source(await api.game(argument.game));
    const first = await source.position(argument.boards[0]);
    const many = await source.positions(argument.boards);
    return [first, many, await source.position(argument.boards[0])];
    """
    first, many, last = run(page, script, {"game": name_of(rules), "boards": boards})
    assert (first["exact"], first["source"], first["final"]) == (False, "estimate", False)
    assert last == many[0]
    with Advisor(rules, cache=None) as advisor:
        served = ServedAdvisor("game", advisor)
        for board, answer in zip(boards, many, strict=True):
            assert answer["final"] is True
            same(answer, json.loads(served.position(board).body), 1e-9)


def test_players_make_the_moves_of_the_package(page: Page) -> None:
    script = """
    const api = await here("api.js");
    const source = api.source(await api.game(argument.game));
    const found = [];
    for (const question of argument.asked) found.push((await source.move(...question)).move);
    return found;
    """
    rules = Rules(3)
    rng = random.Random(2)
    asked: list[list[Any]] = []
    for player, board in product(PLAYERS, sampled(rules, 12, seed=3)):
        if not board.winner:
            asked.append([str(board), rng.randint(1, 6), player, rng.randrange(1 << 32)])
    found = run(page, script, {"game": name_of(rules), "asked": asked})
    for (text, roll, player, _), move in zip(asked, found, strict=True):
        board = Board.parse(text, rules)
        if player in {"optimal", "estimate"}:
            assert Move.parse(move) in board.legal_moves(roll)
        else:
            assert Move.parse(move) in PLAYERS[player].choices(board, roll)
    seeds = [["3,17,20/0", 4, "random", seed] for seed in range(60)]
    lots = run(page, script, {"game": name_of(rules), "asked": seeds})
    assert lots == run(page, script, {"game": name_of(rules), "asked": seeds})
    assert set(lots) == {"3-7", "17-21", "20-24"}


def test_every_feature_that_players_need_is_there(page: Page) -> None:
    known = run(page, "return Object.keys((await here('players.js')).FEATURES)", None)
    needed = {rule.feature for player in PLAYERS.values() if isinstance(player, RulePlayer) for rule in player.rules}
    assert needed <= set(known) <= set(FEATURES)


# the other games


@pytest.mark.parametrize(("target", "losing"), [(100, 1), (50, 6), (200, 1)])
def test_pig_is_solved(target: int, losing: int, page: Page) -> None:
    script = """
    const { Pig } = await here("pig-solver.js");
    const pig = new Pig(argument.target, argument.losing);
    const regions = argument.others.map((other) => pig.region(other));
    return { values: [...pig.values], regions, asked: argument.states.map((state) => pig.ask(...state)) };
    """
    solution = pig.solve(pig.Pig(target=target, losing_face=losing))
    rng = random.Random(target)
    states = []
    for _ in range(60):
        own = rng.randrange(target)
        states.append((own, rng.randrange(target), rng.randrange(target - own)))
    others = [0, target // 2, target - 1, rng.randrange(target)]
    asked = {"target": target, "losing": losing, "states": states, "others": others}
    found = run(page, script, asked)
    expected = [solution.win(own, other) for own, other in product(range(target), repeat=2)]
    assert np.abs(np.array(found["values"]) - expected).max() < 1e-12
    for (own, other, hand), answer in zip(states, found["asked"], strict=True):
        real = solution.ask(own, other, hand)
        assert answer["action"] == real.action
        assert answer["roll"] == pytest.approx(real.roll, abs=1e-12)
        assert answer["hold"] == (None if real.hold is None else pytest.approx(real.hold, abs=1e-12))
    for other, region in zip(others, found["regions"], strict=True):
        for own, rolls in enumerate(region):
            assert rolls[1:] == (~solution.strategy.decisions(own, other)[1 : target - own]).tolist(), (own, other)


def test_the_pyramid_game_is_solved(page: Page) -> None:
    script = """
    const { Pyramid } = await here("pyramid-solver.js");
    const pyramid = new Pyramid();
    const best = (runs) => pyramid.best(runs).map(({ length, first, last }) => [length, first, last]);
    return argument.map((runs) => [pyramid.ask(runs), best(runs)]);
    """
    solution = pyramid.solve(6)
    states, seen = [pyramid.start(6)], set()
    while states:
        state = states.pop()
        if state in seen or not any(state):
            continue
        seen.add(state)
        states += [pyramid.after(state, action) for action in pyramid.actions(state)]
    listed = sorted(seen)
    runs = [[length for length, count in enumerate(state, 1) for _ in range(count)] for state in listed]
    won = 0
    for state, (value, best) in zip(listed, run(page, script, runs), strict=True):
        if pyramid.is_final(state):
            continue
        assert value["wins"] == solution.wins(state), state
        if value["wins"]:
            won += 1
            assert value["turns"] == solution.value(state).first
            assert sorted(map(tuple, best)) == sorted(map(tuple, solution.best_actions(state)))
    assert won > 100


@pytest.mark.parametrize("language", ["", ".de"])
def test_pig_can_be_played(language: str, browser: Any, host: str) -> None:
    page, wrong = opened(browser, f"{host}/pig{language}.html")
    page.check("#hint")
    scores = []
    for _ in range(400):
        if page.is_enabled("#pig-hold") and re.search("hold|aufhören", page.inner_text("#advice")):
            page.click("#pig-hold")
        elif page.is_enabled("#pig-roll"):
            page.click("#pig-roll")
        else:
            page.wait_for_timeout(5)
        scores.append(tuple(int(page.inner_text(f"#{name}")) for name in ("you", "other")))
        if max(scores[-1]) >= 100:
            break
    assert max(scores[-1]) >= 100
    assert re.search("won|gewonnen", page.inner_text("#said"))
    assert page.is_disabled("#pig-roll")
    page.fill("#own", "120")
    assert "100" in page.inner_text("#answer")
    page.select_option("#which", "wubbel")
    page.wait_for_function("document.getElementById('facts').textContent.includes('53')")
    assert wrong == []
    page.close()


@pytest.mark.parametrize("language", ["", ".de"])
def test_the_pyramid_game_can_be_won(language: str, browser: Any, host: str) -> None:
    page, wrong = opened(browser, f"{host}/pyramid{language}.html")
    while page.is_enabled("#show"):
        page.click("#show")
        bars = [page.locator(".hint").nth(n) for n in {0, page.locator(".hint").count() - 1}]
        for label in [bar.get_attribute("aria-label") for bar in bars]:
            page.click(f'#board [aria-label="{label}"]')
        page.click("#mark")
    assert re.search("you have won|Du hast gewonnen", page.inner_text("#said"))
    page.click("#them")  # with five tiers whoever begins wins
    page.check("#hint")
    assert re.search("best player wins|beste Spieler gewinnt", page.inner_text("#facts"))
    assert wrong == []
    page.close()


@pytest.mark.parametrize("name", ["pig", "pyramid", "cantstop"])
def test_the_other_games_are_served_and_everybody_can_use_them(name: str, visit: Open) -> None:
    for language, scheme in (("", "light"), (".de", "dark")):
        page = visit(f"{name}{language}.html", color_scheme=scheme, viewport=PHONE)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        page.check("#hint")
        accessible(page, name)


def opened(browser: Any, address: str) -> tuple[Page, list[str]]:
    """A page that is ready, and the list of its mistakes."""
    page = browser.new_page(reduced_motion="reduce")
    page.set_default_timeout(30_000)
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(address)
    page.wait_for_selector("body.ready")
    return page, wrong


def test_cantstop_is_solved(page: Page) -> None:
    script = """
    const { CantStop } = await here("cantstop-solver.js");
    const game = new CantStop();
    const anchors = argument.anchors.map(([own, other, won, lost]) => game.win({ own, other, won, lost }));
    const asked = argument.turns.map(([own, other, markers]) => game.ask({ own, other, won: 0, lost: 0, markers }));
    const ways = argument.turns.map(([own, other, markers, dice]) =>
      game.ways({ own, other, won: 0, lost: 0, markers }, dice).map(({ columns, win }) => [columns, win]));
    return { anchors, asked, ways };
    """
    game = cantstop.CantStop(sides=3, shortest=1)
    solution = cantstop.solve(game)
    rng = random.Random(1)
    anchors: list[tuple[tuple[int, ...], tuple[int, ...], int, int]] = []
    while len(anchors) < 400:
        closed = rng.sample(range(game.columns), rng.randint(0, 3))
        own, other = ([rng.randrange(length) for length in game.lengths] for _ in range(2))
        for column in closed:
            own[column] = other[column] = game.lengths[column]
        if not any(x == y != 0 for x, y, left in zip(own, other, game.lengths, strict=True) if x < left):
            won = rng.choice(list(game.splits(len(closed))))
            anchors.append((tuple(own), tuple(other), won, len(closed) - won))
    turns, expected = [], []
    for text in ("-/-", "3:1/4:2", "4:3,5:1/3:2", "3:1,5:2/4:4"):
        start = cantstop.Position.parse(text, game)
        answers = cantstop.TurnAnswers(solution, start)
        for state in rng.sample(answers.turn.states[:-1], 25):
            steps = [
                0 if left is None else length - left for left, length in zip(state.markers, game.lengths, strict=True)
            ]
            position = cantstop.Position(start.own, start.other, tuple(steps), game)
            dice = tuple(rng.randrange(1, 4) for _ in range(4))
            turns.append([start.own, start.other, state.markers, [face - 1 for face in dice]])
            expected.append((answers.answer(position), answers.moves(position, dice)))
    found = run(page, script, {"anchors": anchors, "turns": turns})
    assert found["anchors"] == pytest.approx([solution.anchor(*anchor) for anchor in anchors], abs=1e-12)
    for asked, ways, (answer, moves) in zip(found["asked"], found["ways"], expected, strict=True):
        assert asked["roll"] == pytest.approx(answer.roll, abs=1e-12)
        assert asked["stop"] == (None if answer.stop is None else pytest.approx(answer.stop, abs=1e-12))
        assert [win for _, win in ways] == pytest.approx([option.win for option in moves], abs=1e-12)
        assert sorted(columns for columns, _ in ways) == sorted(
            [c - 2 for c in option.move.columns] for option in moves
        )


@pytest.mark.parametrize("language", ["", ".de"])
def test_cantstop_can_be_played(language: str, browser: Any, host: str) -> None:
    page, wrong = opened(browser, f"{host}/cantstop{language}.html")
    page.check("#hint")
    for _ in range(400):
        if page.locator("#ways button").count():
            page.locator("#ways button").first.click()
        elif page.is_enabled("#stop"):
            page.click("#stop")
        elif page.is_enabled("#throw"):
            page.click("#throw")
        else:
            page.wait_for_timeout(5)
        if re.search("won|gewonnen", page.inner_text("#said")):
            break
    assert re.search("won|gewonnen", page.inner_text("#said"))
    assert page.is_disabled("#throw")
    page.click("#again")
    assert page.is_enabled("#throw")
    assert wrong == []
    page.close()


# the page itself


def settled(page: Page, board: str) -> None:
    """Wait until exact numbers of a board are on the page."""
    shown(page, board)
    page.wait_for_function("() => document.getElementById('source').textContent.startsWith('Exact')", timeout=60_000)


def test_the_page_says_the_same_without_a_server(visit: Open, host: str) -> None:
    page = visit("/?board=3,17/0,22&rules=2,40", at=host)
    assert urlsplit(page.url).path == "/some/where/"
    with madn.open_database() as db:
        for board in ("3,17/0,22", "b/39,41"):
            page.goto(f"{host}/?board={board}&rules=2,40")
            settled(page, board)
            assert page.inner_text("#source") == "Exact: this endgame has been solved."
            check_numbers(page, db, board)
    assert page.locator("#programs").is_hidden()


def check_numbers(page: Page, source: Any, board: str) -> None:
    """The numbers of the page against those of a database, whose values are rounded."""
    analysis = source.analyse(Board.parse(board, Rules(2)))
    assert number(page.locator("#win strong").inner_text()) == pytest.approx(100 * analysis.win, abs=0.01)
    for row, roll in zip(page.locator("#rolls .roll").all(), analysis.rolls, strict=True):
        script = "all => all.map(b => [b.dataset.move, b.querySelector('.win').innerText])"
        found = row.locator(".moves button").evaluate_all(script)
        assert [move for move, _ in found] == [str(option.move) for option in roll.moves]
        for (_, text), option in zip(found, roll.moves, strict=True):
            assert number(text) == pytest.approx(100 * option.win, abs=0.01)


def number(text: str) -> float:
    return float(text.removesuffix("%"))


def test_a_whole_game_without_a_server(visit: Open, host: str) -> None:
    page = visit("/?red=30,41,42&black=11,41&rules=3,40", at=host)  # to its end it is short
    page.click("#play-here")
    page.check("#opponents input[value=careful]")
    page.click("#begin")
    for _ in range(40):
        if page.locator(".farewell").count():
            break
        play_on(page, 5)
    page.wait_for_selector(".farewell")
    page.wait_for_timeout(700)
    page.click(".farewell button.main")
    page.wait_for_selector("#review-plies li")
    assert page.locator(".figure .accuracy").count() == 2
    page.locator("#review-plies li").nth(2).click()
    page.reload()
    page.wait_for_selector("#review-plies li")


def test_the_quiz_says_why_without_a_server(visit: Open, host: str) -> None:
    page = visit("/?quiz&rules=3,40", at=host)
    page.wait_for_selector("#answers button")
    page.locator("#answers button").last.click()
    page.wait_for_selector("#lesson .why")
    assert re.search(r"points|worth|estimate", page.inner_text("#lesson .why"))


def test_what_is_missing_is_said(site: Path, browser: Any, tmp_path: Path) -> None:
    shutil.copytree(site / "some" / "where", tmp_path / "site")
    (tmp_path / "site" / "games.json").unlink()
    with hosted(tmp_path / "site") as address:
        page = browser.new_page(locale="en-GB")
        page.goto(address)
        page.wait_for_function("() => document.getElementById('message').textContent.includes('games.json')")
        page.close()
