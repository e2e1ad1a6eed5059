"""The page in a real browser: Debian's chromium, driven by playwright (`pip install 'madn[browser]'`).

Without them these tests are skipped; MADN_NEED_BROWSER=1 makes that a failure. Screenshots of every test go to the
directory MADN_SCREENSHOTS, if that is set.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

import madn
from madn import Board, Move, Rules
from madn.record import parse_record
from madn.rules import HOUSE_RULES

CHROMIUM = shutil.which("chromium")
if os.environ.get("MADN_NEED_BROWSER", "0") in {"", "0"}:
    pytest.importorskip("playwright")
    if CHROMIUM is None:
        pytest.skip("there is no chromium", allow_module_level=True)
from playwright.sync_api import Locator, Page, sync_playwright  # noqa: E402

pytestmark = pytest.mark.browser
RULES = Rules(pieces=2)
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 740}
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def db() -> Iterator[Any]:
    with madn.open_database() as database:
        yield database


@contextmanager
def served(*databases: str) -> Iterator[str]:
    """The address of a server that runs in a process of its own."""
    command = [sys.executable, "-m", "madn", "serve", *databases, "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        text = ""
        while not text.endswith("\n}\n"):
            line = process.stdout.readline()
            assert line, "the server has ended"
            text += line
        yield json.loads(text)["address"]
        process.terminate()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served("--pieces", "2") as address:
        yield address


@pytest.fixture(scope="module")
def estimated() -> Iterator[str]:
    """A server for a game that is estimated before its endgames."""
    with served("--pieces", "3") as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser: Any, address: str, request: pytest.FixtureRequest) -> Iterator[Open]:
    """Open the page at a path; a mistake of a script or a broken rule of the content policy fails the test."""
    contexts: list[Any] = []
    wrong: list[str] = []

    def visit(path: str = "", at: str = address, **settings: Any) -> Page:
        given = {"viewport": WIDE, "locale": "en-GB", "reduced_motion": "reduce", **settings}
        contexts.append(browser.new_context(**given))
        page: Page = contexts[-1].new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(at + path)
        page.wait_for_selector("body.ready")
        return page

    yield visit
    folder = os.environ.get("MADN_SCREENSHOTS")
    for number, context in enumerate(contexts):
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            name = f"{request.node.name.removeprefix('test_')}{number or ''}.png"
            context.pages[0].screenshot(path=Path(folder) / name)
        context.close()
    assert wrong == []


def shown(page: Page, board: str) -> None:
    """Wait until the numbers of this board are on the page."""
    page.wait_for_function("board => document.getElementById('rolls').dataset.board === board", arg=board)


def position(page: Page) -> tuple[str, str]:
    """The board in the address bar, and whose turn it is."""
    found = parse_qs(urlsplit(page.url).query)
    return found["board"][0], found.get("turn", ["red"])[0]


def percent(value: float) -> str:
    return f"{100 * value:.2f}%"


def check_numbers(page: Page, db: Any, board: str) -> None:
    """Everything the page says of a board is what the database says of it."""
    analysis = db.analyse(Board.parse(board, RULES))
    assert page.locator("#win strong").inner_text() == percent(analysis.win)
    rows = page.locator("#rolls .roll").all()
    assert len(rows) == 6
    for row, roll in zip(rows, analysis.rolls, strict=True):
        found = row.locator("button").evaluate_all(
            "all => all.map(b => [b.dataset.move, ...['.win', '.cost'].map(part => b.querySelector(part).innerText)])"
        )
        expected = []
        for option in roll.moves:
            cost = roll.win - option.win
            expected.append([str(option.move), percent(option.win), f"−{percent(cost)}" if cost else "best"])
        assert found == expected


def place(page: Page, label: str) -> Locator:
    """A place of the board by the beginning of its name."""
    return page.locator(f'#board [role=button][aria-label^="{label}"]').first


def drag(page: Page, start: str, end: str) -> None:
    """Drag a piece with the mouse."""
    for label, press in ((start, True), (end, False)):
        box = place(page, label).locator(".disc").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
        if press:
            page.mouse.down()
    page.mouse.up()


def test_the_page_shows_what_the_database_says(visit: Open, db: Any) -> None:
    for board, turn in (("3,17/0,22", "red"), ("b/39,41", "black"), ("0/0", "red")):
        page = visit(f"?board={board}&turn={turn}")
        shown(page, board)
        check_numbers(page, db, board)
        assert page.locator("#turn").inner_text() == f"{turn.title()} to move"


def test_pieces_are_set_up_by_dragging_and_clicking(visit: Open, db: Any) -> None:
    page = visit()
    shown(page, "0/0")
    drag(page, "square 0 of red", "square 12 of red")
    shown(page, "12/0")
    drag(page, "box of Red", "finish square 41 of Red")
    shown(page, "12,41/0")
    place(page, "square 20 of red").click()
    assert "Black piece" in page.locator("#message").inner_text()
    assert place(page, "square 20 of red").get_attribute("aria-pressed") == "true"
    place(page, "square 13 of red").click()
    shown(page, "12,41/33")
    assert position(page) == ("12,41/33", "red")
    check_numbers(page, db, "12,41/33")
    page.click("#swap")
    shown(page, "33/12,41")
    assert position(page) == ("33/12,41", "black")


def test_what_cannot_be_is_refused_with_a_reason(visit: Open) -> None:
    page = visit("?board=12,41/33")
    shown(page, "12,41/33")
    reasons = {
        ("square 12 of red", "square 13 of red"): "There is already a piece on this square.",
        ("square 13 of red", "square 12 of red"): "There is already a piece on this square.",
        ("square 12 of red", "finish square 41 of Red"): "There is already a piece on this square.",
        ("square 12 of red", "finish square 40 of Black"): "These finish squares belong to Black.",
        ("square 13 of red", "box of Red"): "This box belongs to Red.",
    }
    for (start, end), reason in reasons.items():
        drag(page, start, end)
        assert page.locator("#message").inner_text() == reason
        assert position(page)[0] == page.locator("#text").input_value() == "12,41/33"
    for text, reason in (
        ("40,41/40,41", "one winner"),
        ("1,2,3/0", "more than 2 pieces"),
        ("0/20", "same square"),
        ("44/0", "0 to 41"),
        ("5,5/0", "two pieces"),
        ("nonsense", "Write a position"),
    ):
        page.fill("#text", text)
        page.press("#text", "Enter")
        assert reason in page.locator("#message").inner_text()
        assert position(page)[0] == "12,41/33"
    page.fill("#text", "40,41/3")
    page.press("#text", "Enter")
    shown(page, "40,41/3")
    assert page.locator("#turn").inner_text() == "Red has won"
    assert page.locator("#rolls button").count() == 0


def test_ten_moves_are_played_by_clicking_and_a_link_is_a_position(visit: Open, db: Any) -> None:
    page = visit()
    board, turn = Board.start(RULES), "red"
    for number in range(10):
        shown(page, str(board))
        roll = (number * 5) % 6 + 1
        found = db.moves(board, roll)
        move = found[-1].move
        page.locator(f'.roll[data-roll="{roll}"] button[data-move="{move}"]').click()
        board = board.after(move, roll)
        turn = turn if roll == 6 else {"red": "black", "black": "red"}[turn]
        shown(page, str(board))
        assert position(page) == (str(board), turn)
        assert page.locator("#turn").inner_text() == f"{turn.title()} to move"
    check_numbers(page, db, str(board))
    other = visit(urlsplit(page.url).path[1:] + "?" + urlsplit(page.url).query)
    page.reload()
    for again in (page, other):
        shown(again, str(board))
        assert again.locator("#turn").inner_text() == f"{turn.title()} to move"
        check_numbers(again, db, str(board))
    page.go_back()
    page.wait_for_function("board => document.getElementById('rolls').dataset.board !== board", arg=str(board))


def test_a_wrong_link_says_what_is_wrong(visit: Open) -> None:
    page = visit("?board=0/20")
    shown(page, "0/0")
    assert "same square" in page.locator("#message").inner_text()


def test_the_keyboard_is_enough(visit: Open, db: Any) -> None:
    page = visit()
    shown(page, "0/0")

    def tab_to(selector: str) -> None:
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
        pytest.fail(f"the Tab key does not lead to {selector}")

    tab_to("#board [role=button]")
    ring = page.evaluate("getComputedStyle(document.activeElement.querySelector('.ring')).stroke")
    assert ring == "rgb(20, 89, 156)"  # it can be seen where the keyboard is
    page.keyboard.press("Enter")  # takes the piece on square 0 of red
    for _ in range(3):
        page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    shown(page, "3/0")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    assert page.locator("#board .selected").count() == 0
    tab_to(".roll button")
    move = page.evaluate("document.activeElement.dataset.move")
    assert page.locator("#board .marks circle").count() == 2
    page.keyboard.press("Enter")
    board = Board.parse("3/0", RULES).after(Move.parse(move), 1)
    shown(page, str(board))
    page.keyboard.press("Shift+Tab")
    page.locator("#explore-tab").focus()
    page.keyboard.press("ArrowRight")
    tab_to("#new button")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement.id === 'roll'")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelectorAll('#plies li, #choices button').length > 0")


def test_a_phone_has_room_for_everything(visit: Open, db: Any) -> None:
    page = visit("?board=3,17/0,22", viewport=PHONE, has_touch=True, is_mobile=True, device_scale_factor=2)
    shown(page, "3,17/0,22")
    assert page.evaluate("document.scrollingElement.scrollWidth") <= PHONE["width"]
    board = page.locator("#board").bounding_box()
    assert board is not None
    assert board["width"] >= 0.9 * PHONE["width"]
    place(page, "square 3 of red").locator(".disc").tap()
    place(page, "square 4 of red").locator(".disc").tap()
    shown(page, "4,17/0,22")
    check_numbers(page, db, "4,17/0,22")
    for target in page.locator("button:visible").all():
        size = target.bounding_box()
        assert size is not None
        assert size["height"] >= 36
        assert size["x"] + size["width"] <= PHONE["width"]
    page.click("#play-tab")
    assert page.evaluate("document.scrollingElement.scrollWidth") <= PHONE["width"]


CONTRAST = """() => {
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map(Number).map((c) => c / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (colour !== "rgba(0, 0, 0, 0)") return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const found = [];
  for (const e of document.querySelectorAll("h1, h2, p, a, label, span, button, td, th, li")) {
    if (!e.innerText?.trim() || !e.checkVisibility() || e.matches(":disabled, .skip, .hidden")) continue;
    const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), e.tagName + " " + e.innerText.slice(0, 30)]);
  }
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_can_be_read(scheme: str, visit: Open) -> None:
    page = visit("?board=3,17/0,22", color_scheme=scheme)
    shown(page, "3,17/0,22")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (int(re.findall(r"\d+", ground)[0]) < 128) == (scheme == "dark")
    for tab in ("explore", "play"):
        page.click(f"#{tab}-tab")
        page.mouse.move(0, 0)
        contrasts = page.evaluate(CONTRAST)
        assert len(contrasts) > 5
        assert min(contrasts)[0] >= 4.5, min(contrasts)


def test_german_and_english(visit: Open) -> None:
    page = visit("?board=3,17/0,22", locale="de-DE")
    shown(page, "3,17/0,22")
    assert page.locator("html").get_attribute("lang") == "de"
    assert page.locator("#turn").inner_text() == "Rot ist am Zug"
    assert page.locator("#win strong").inner_text().replace("\xa0", " ") == "49,77 %"
    assert page.get_attribute("#rules", "href") == "/rules.de.html"
    page.click("#language")
    assert page.get_attribute("#rules", "href") == "/rules.html"
    shown(page, "3,17/0,22")
    page.wait_for_function("() => document.getElementById('win').innerText === 'Red wins 49.77% of the time'")
    page.reload()  # the choice is kept
    page.wait_for_selector("body.ready")
    assert page.locator("html").get_attribute("lang") == "en"


@pytest.mark.parametrize(
    ("locale", "labels"),
    [
        ("en-GB", ["box of Red, place 1 of 2, Red piece", "box of Red, place 2 of 2, free"]),
        ("de-DE", ["Haus von Rot, Platz 1 von 2, Figur von Rot", "Haus von Rot, Platz 2 von 2, frei"]),
    ],
)
def test_a_screen_reader_hears_which_places_of_a_box_are_taken(locale: str, labels: list[str], visit: Open) -> None:
    page = visit("?board=0/0", locale=locale)
    shown(page, "0/0")
    found = page.locator("#board .box.red").evaluate_all("all => all.map((place) => place.getAttribute('aria-label'))")
    assert found == labels


def play_to_the_end(page: Page) -> None:
    """Press what there is to press: the die, then the last of the moves, often not the best one."""
    page.evaluate("""async () => {
      const get = (id) => document.getElementById(id);
      while (get("summary").hidden) {
        const choice = [...get("choices").querySelectorAll("button")].at(-1);
        if (!get("roll").disabled) get("roll").click();
        else if (choice) choice.click();
        await new Promise((done) => setTimeout(done, 2));
      }
    }""")


def downloaded(page: Page, directory: Path) -> str:
    """The record of the game that is on the page."""
    with page.expect_download() as download:
        page.click("#download")
    download.value.save_as(directory / "game.txt")
    return (directory / "game.txt").read_text(encoding="utf-8")


def test_a_whole_game_its_errors_luck_and_record(visit: Open, db: Any, tmp_path: Path) -> None:
    page = visit()
    page.click("#play-tab")
    page.select_option("#player", "fpoc")
    page.select_option("#first", "them")
    page.click("#new button")
    play_to_the_end(page)
    text = downloaded(page, tmp_path)
    record = parse_record(text)
    assert str(record) == text
    assert (record.first, record.second, record.start) == ("fpoc", "human", Board.start(RULES))
    assert record.winner is not None

    account: dict[str, list[float]] = {"first": [0.0, 0.0, 0], "second": [0.0, 0.0, 0]}
    for board, mover, ply in zip(record.boards, record.movers, record.plies, strict=False):
        best, *_ = moves = db.moves(board, ply.roll)
        cost = best.win - next(option.win for option in moves if option.move == ply.move)
        account[mover][0] += cost
        account[mover][1] += best.win - db.win(board)
        account[mover][2] += cost > 0
    rows = page.locator("#summary tr").all()[1:]
    for row, who in zip(rows, ("second", "first"), strict=True):
        errors, luck, count = account[who]
        cells = row.locator("td").all_inner_texts()
        assert cells[1] == f"{percent(errors)} in {count} move{'' if count == 1 else 's'}"
        assert cells[2].replace("−", "-") == f"{100 * luck:+.2f}%"
    start = 1 - db.win(record.start)
    end = float(record.winner == "second")
    (their_errors, their_luck, _), (errors, luck, _) = account["first"], account["second"]
    assert start + luck - errors - their_luck + their_errors == pytest.approx(end, abs=1e-3)  # 16-bit values
    assert page.locator("#plies li").count() == len(record.plies)
    assert len((page.locator("#graph .curve").get_attribute("points") or "").split()) == len(record.plies) + 1
    page.click("#end")
    assert page.locator("#new").is_visible()


def test_a_game_with_house_rules(visit: Open, tmp_path: Path) -> None:
    """One piece a side, all four rules: the start, three rolls for a 6, a game to its end, its record and its link."""
    rules = Rules.house(1)
    madn.solve(rules, tmp_path / "house")
    with served(str(tmp_path / "house")) as house, madn.open_database(tmp_path / "house") as db:
        page = visit(at=house)
        shown(page, "b/b")
        assert "three rolls for a 6" in page.locator("#game").inner_text()
        assert page.locator("#win strong").inner_text() == percent(db.win("b/b"))
        labels = page.locator("#rolls .roll").evaluate_all("all => all.map(row => row.getAttribute('aria-label'))")
        assert labels == ["no 6 in 3 rolls", "a 6 in 3 rolls"]
        page.locator('.roll[data-roll="6"] button').click()
        shown(page, "0/b")
        assert page.locator("#rolls .roll").count() == 6
        assert parse_qs(urlsplit(page.url).query)["rules"] == [f"1,40,{','.join(HOUSE_RULES)}"]
        page.reload()
        shown(page, "0/b")

        page.click("#play-tab")
        page.select_option("#player", "fpoc")
        page.click("#new button")
        play_to_the_end(page)
        record = parse_record(downloaded(page, tmp_path))
        assert (record.start, record.first) == (Board.start(rules), "human")
        assert record.winner is not None
        assert len(record.plies) > 3

        other = visit("?board=0/0&rules=2,40", at=house)
        shown(other, "b/b")
        told = other.locator("#message").inner_text()
        assert told.startswith(
            "This link is to a game of 2 pieces, 40 squares; this page has 1 piece, 40 squares, three"
        )
        german = visit(at=house, locale="de-DE")
        shown(german, "b/b")
        assert "Schlagzwang" in german.locator("#game").inner_text()


def test_undo_gives_the_same_roll_again_and_hints_can_be_hidden(visit: Open) -> None:
    page = visit("?board=3,17/0")
    shown(page, "3,17/0")
    page.click("#play-tab")
    page.select_option("#from", "board")
    page.click("#new button")
    page.wait_for_selector("#roll:enabled")
    page.click("#roll")
    page.wait_for_selector("#choices button")
    before = position(page), page.locator("#die").get_attribute("aria-label")
    moves = page.locator("#choices button").evaluate_all("all => all.map(b => b.dataset.move)")
    assert page.locator("#choices .win").count() == len(moves)
    page.uncheck("#hints")
    assert page.locator("#choices .win").count() == 0
    assert not page.locator("#course").is_visible()
    starts = page.locator("#choices button").evaluate_all("all => all.map(b => parseInt(b.dataset.move))")
    assert starts == sorted(starts)
    place(page, f"square {starts[0]} of red").click()  # the piece itself plays its move
    page.wait_for_selector("#plies li")
    page.wait_for_selector("#roll:enabled")
    page.click("#undo")
    assert (position(page), page.locator("#die").get_attribute("aria-label")) == before
    page.check("#hints")
    assert page.locator("#choices button").evaluate_all("all => all.map(b => b.dataset.move)") == moves


def test_the_die_tumbles_unless_motion_is_unwanted(visit: Open) -> None:
    for motion, seen in (("no-preference", True), ("reduce", False)):
        page = visit(reduced_motion=motion)
        page.click("#play-tab")
        page.click("#new button")
        page.wait_for_selector("#roll:enabled")
        page.evaluate("""() => {
          window.tumbled = false;
          const look = () => { window.tumbled ||= document.getElementById("die").classList.contains("tumbling"); };
          new MutationObserver(look).observe(document.getElementById("die"), { attributes: true });
        }""")
        page.click("#roll")
        page.wait_for_function("() => document.getElementById('die').querySelector('.pip')")
        page.wait_for_selector("#choices button, #plies li")
        assert page.evaluate("window.tumbled") == seen


def test_estimates_are_marked_and_endgames_become_exact(visit: Open, estimated: str) -> None:
    page = visit(at=estimated)
    shown(page, "0/0")
    assert "exact in endgames, estimated before" in page.inner_text("#game")
    assert re.fullmatch(r"Red wins about \d\d\.\d% of the time", page.inner_text("#win"))
    assert page.inner_text("#source").startswith("An estimate: such numbers are off by 0.")
    assert all(text.startswith("about ") for text in page.locator(".moves .win").all_inner_texts())
    page.click("#language")
    page.wait_for_function("() => document.getElementById('win').textContent.includes('etwa')")
    assert page.inner_text("#source").startswith("Eine Schätzung: Solche Zahlen liegen um 0,")
    page.click("#language")
    page.fill("#text", "3,41,42/5,40,42")
    page.press("#text", "Enter")
    page.wait_for_function("() => document.getElementById('source').textContent.startsWith('Exact')")  # asks again
    assert page.inner_text("#source") == "Exact: this endgame has been solved."
    with madn.Advisor(madn.Rules(3)) as advisor:
        assert f"{100 * advisor.win('3,41,42/5,40,42'):.2f}%" in page.inner_text("#win")
    assert not any("about" in text for text in page.locator(".moves .win").all_inner_texts())


@pytest.mark.parametrize("player", ["optimal", "estimate"])
def test_a_game_with_estimates(player: str, visit: Open, estimated: str) -> None:
    """From a late position to its end: what is estimated is marked, and the sums say that they are rough."""
    page = visit("?board=30,41,42/31,41&rules=3,40", at=estimated)
    shown(page, "30,41,42/31,41")
    page.click("#play-tab")
    page.select_option("#player", player)
    assert "stimate" in page.inner_text("#about")
    page.select_option("#from", "board")
    page.click("#new button[type=submit]")
    for _ in range(400):
        page.wait_for_function(
            "() => !document.getElementById('roll').disabled || !document.getElementById('summary').hidden"
        )
        if page.is_visible("#summary"):
            break
        page.click("#roll")
        page.wait_for_function(
            "() => document.querySelector('#choices button') || !document.getElementById('roll').disabled"
            " || !document.getElementById('summary').hidden"
        )
        if page.locator("#choices button").count():
            page.locator("#choices button").first.click()
    assert page.is_visible("#summary")
    rough = "roughly" in page.inner_text("#summary")
    assert rough == ("about" in page.inner_text("#summary table"))


def test_the_page_for_programs(visit: Open, address: str) -> None:
    page = visit()
    page.goto(f"{address}api")
    assert page.locator("h1").inner_text() == "The HTTP interface"
    assert page.evaluate("document.scrollingElement.scrollWidth") <= WIDE["width"]
