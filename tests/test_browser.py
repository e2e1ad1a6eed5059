"""The page in a real browser: exploring positions, the layout on all screens, languages, access for everybody."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from browser import LANDSCAPE, PHONE, RULES, WIDE, Open, address_of, percent, place, served, shown, start_game
from playwright.sync_api import Page

import madn
from madn import Board, Move, Rules, explain
from madn.rules import HOUSE_RULES

pytestmark = pytest.mark.browser
AXE = "axe-playwright-python, which brings axe-core"


@pytest.fixture(scope="module")
def db() -> Any:
    with madn.open_database() as database:
        yield database


def seats(board: str, turn: str, rules: Rules = RULES) -> dict[str, str]:
    """How the page writes a board in its address: both sides in red's numbers."""
    sides = Board.parse(board, rules).own, Board.parse(board, rules).other
    own, other = sides if turn == "red" else sides[::-1]
    half = rules.squares // 2
    black = sorted((q + half) % rules.squares if q < rules.squares else q for q in other)
    found = {"red": ",".join(map(str, own)) or "b", "black": ",".join(map(str, black)) or "b"}
    return found | ({"turn": "black"} if turn == "black" else {})


def check_numbers(page: Page, db: Any, board: str) -> None:
    """Everything the page says of a board is what the database says of it."""
    analysis = db.analyse(Board.parse(board, RULES))
    assert page.locator("#win strong").inner_text() == percent(analysis.win)
    rows = page.locator("#rolls .roll").all()
    assert len(rows) == 6
    for row, roll in zip(rows, analysis.rolls, strict=True):
        found = row.locator(".moves button").evaluate_all(
            "all => all.map(b => [b.dataset.move, ...['.win', '.cost'].map(part => b.querySelector(part).innerText)])"
        )
        expected = []
        for option in roll.moves:
            cost = roll.win - option.win
            text = "best" if cost <= 1e-6 else "±0" if cost < 5e-5 else f"−{100 * cost:.2f}"
            expected.append([str(option.move), percent(option.win), text])
        assert found == expected


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
    page = visit()
    for board, turn in (("3,17/0,22", "red"), ("b/39,41", "black"), ("0/0", "red")):
        page.goto(f"{urlsplit(page.url).scheme}://{urlsplit(page.url).netloc}/?board={board}&turn={turn}&rules=2,40")
        shown(page, board)
        check_numbers(page, db, board)
        assert page.locator("#turn").inner_text() == f"{turn.title()} to move"
        assert address_of(page) == seats(board, turn) | {"rules": "2,40"}  # the old kind of link still works


def test_a_visitor_first_sees_a_position_with_choices(visit: Open) -> None:
    page = visit("")
    page.wait_for_selector("#rolls .roll")
    assert page.locator(".roll").count() == 6
    assert all(page.locator(f'.roll[data-roll="{roll}"] .moves button').count() > 1 for roll in range(1, 6))
    assert address_of(page)["rules"] == "4,40"
    assert page.inner_text("#source").startswith("An estimate")
    assert "about" in page.inner_text("#win")
    page.click("#play-tab")
    page.wait_for_selector("#begin")
    assert page.input_value("#pieces") == "4"


def test_pieces_are_set_up_by_dragging_and_clicking(visit: Open, db: Any) -> None:
    page = visit("?board=0/0&rules=2,40")
    shown(page, "0/0")
    drag(page, "square 0,", "square 12,")
    shown(page, "12/0")
    drag(page, "box of Red", "finish square 41 of Red")
    shown(page, "12,41/0")
    place(page, "square 20,").click()
    assert "Black piece" in page.locator("#message").inner_text()
    assert place(page, "square 20,").get_attribute("aria-pressed") == "true"
    place(page, "square 13,").click()
    shown(page, "12,41/33")
    assert address_of(page) == {"red": "12,41", "black": "13", "rules": "2,40"}
    assert page.input_value("#text") == "12,41 / 13"
    check_numbers(page, db, "12,41/33")
    page.click("#swap")
    shown(page, "33/12,41")
    assert address_of(page)["turn"] == "black"
    moves = page.locator(".roll .way").all_inner_texts()
    assert moves[0] == "13 → 14"  # black's 33 is 13 from red's seat


def test_the_page_says_why_a_move_is_best(visit: Open, db: Any) -> None:
    """The sentences are those of the package, against the second best move or the one that is pointed at."""
    page = visit("?board=3,17/0&rules=2,40")
    for board in ("3,17/0", "12,30/5,33"):
        page.fill("#text", " / ".join(seats(board, "red").values()))
        page.press("#text", "Enter")
        shown(page, board)
        asked = 0
        for roll in range(1, 7):
            row = page.locator(f'.roll[data-roll="{roll}"]')
            moves = db.moves(board, roll)
            assert row.locator(".ask").count() == (len(moves) > 1)
            if len(moves) == 1:
                continue
            asked += 1
            row.locator(".ask").click()
            page.wait_for_function(
                "roll => document.querySelector(`.roll[data-roll='${roll}'] .why`).innerText", arg=roll
            )
            assert page.locator(".roll .why:not(:empty)").count() == 1  # the one before is closed
            for chosen in (None, moves[-1].move):
                if chosen is not None:
                    row.locator(f'button[data-move="{chosen}"]').hover()
                    assert row.locator(".why").is_visible()
                why = " ".join(explain(Board.parse(board, RULES), roll, moves, chosen).sentences())
                expected = re.sub(r"\b(b|\d+)[-x](\d+)", lambda m: f"{m[1].replace('b', 'box')} → {m[2]}", why)
                assert row.locator(".why").inner_text() == expected
        assert asked >= 4
    page.locator('.ask[aria-expanded="true"]').click()
    assert page.locator(".roll .why:not(:empty)").count() == 0


def test_the_numbers_of_the_squares_never_change(visit: Open) -> None:
    page = visit("?board=3,17/0,22&rules=2,40")
    shown(page, "3,17/0,22")
    read = "all => all.map((n) => n.textContent)"
    before = page.locator("#board .number").evaluate_all(read)
    assert before[:40] == [str(n) for n in range(40)]
    page.click("#swap")
    shown(page, "0,22/3,17")
    assert page.locator("#board .number").evaluate_all(read) == before
    held = page.locator("#board .number.beside").evaluate_all(read)
    assert sorted(map(int, held)) == [2, 3, 17, 20]
    for number in (3, 17):  # beside the piece, not under it
        label = page.locator("#board .number.beside", has_text=re.compile(f"^{number}$")).bounding_box()
        disc = place(page, f"square {number},").locator(".disc").bounding_box()
        assert label
        assert disc
        assert label["x"] + label["width"] / 2 > disc["x"] + 0.9 * disc["width"]


def test_what_cannot_be_is_refused_with_a_reason(visit: Open) -> None:
    page = visit("?red=12,41&black=13&rules=2,40")
    shown(page, "12,41/33")
    reasons = {
        ("square 12,", "square 13,"): "There is already a piece on this square.",
        ("square 12,", "finish square 41 of Red"): "There is already a piece on this square.",
        ("square 12,", "finish square 40 of Black"): "These finish squares belong to Black.",
        ("square 13,", "box of Red"): "This box belongs to Red.",
    }
    for (start, end), reason in reasons.items():
        drag(page, start, end)
        assert page.locator("#message").inner_text() == reason
        assert page.input_value("#text") == "12,41 / 13"
    for text, reason in (
        ("40,41 / 40,41", "one winner"),
        ("1,2,3 / 0", "more than 2 pieces"),
        ("20 / 20", "both be on square 20"),
        ("44 / 0", "0 to 41"),
        ("5,5 / 0", "two pieces"),
        ("nonsense", "Write a position"),
    ):
        page.fill("#text", text)
        page.press("#text", "Enter")
        assert reason in page.locator("#message").inner_text()
        assert address_of(page)["red"] == "12,41"
    page.fill("#text", "40,41 / 3")
    page.press("#text", "Enter")
    shown(page, "40,41/23")
    assert page.locator("#turn").inner_text() == "Red has won"
    assert page.locator("#rolls button").count() == 0


def test_moves_are_played_by_clicking_and_a_link_is_a_position(visit: Open, db: Any) -> None:
    page = visit("?board=0/0&rules=2,40")
    board, turn = Board.start(RULES), "red"
    for number in range(6):
        shown(page, str(board))
        roll = (number * 5) % 6 + 1
        move = db.moves(board, roll)[-1].move
        page.locator(f'.roll[data-roll="{roll}"] button[data-move="{move}"]').click()
        board = board.after(move, roll)
        turn = turn if roll == 6 else {"red": "black", "black": "red"}[turn]
        shown(page, str(board))
        assert page.locator("#turn").inner_text() == f"{turn.title()} to move"
    check_numbers(page, db, str(board))
    assert address_of(page) == seats(str(board), turn) | {"rules": "2,40"}
    page.reload()
    shown(page, str(board))
    check_numbers(page, db, str(board))
    page.go_back()
    page.wait_for_function("board => document.getElementById('rolls').dataset.board !== board", arg=str(board))


WRONG_LINKS = {
    "?board=0/20&rules=2,40": "both be on square 0",
    "?red=5&black=5&rules=2,40": "both be on square 5",
    "?red=5&black=0&rules=5,40": "This link is to a game with 5 pieces, 40 squares, which is not available here",
    "?red=5&black=0&rules=2,40,four_dice": "a rule that this version does not know: four_dice",
    "?rules=many": "does not name a game",
    "?game=2~4,40~~r~a~b~A": "made by a newer version",
    "?game=1~2,40~~r~a": "incomplete",
    "?game=nonsense": "incomplete",
    "?game=1~2,40~~r~human~fpoc~AzA": "move 2 is not legal",
    "?game=1~2,40~~r~human~fpoc~AQQ7": "move 4 is not legal",
}


def test_a_wrong_link_says_what_is_wrong(visit: Open, address: str) -> None:
    page = visit()
    for link, reason in WRONG_LINKS.items():
        page.goto(address + link)
        page.wait_for_selector("body.ready")
        page.wait_for_function("() => document.getElementById('message').textContent")
        assert reason in page.locator("#message").inner_text()
        assert page.locator("#explore, #review").filter(visible=True).count() == 1  # the page can be used


def tab_to(page: Page, selector: str) -> None:
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    pytest.fail(f"the Tab key does not lead to {selector}")


def test_the_keyboard_is_enough(visit: Open) -> None:
    page = visit("?board=0/0&rules=2,40")
    shown(page, "0/0")
    tab_to(page, "#board [role=button]")
    ring = page.evaluate("getComputedStyle(document.activeElement.querySelector('.ring')).stroke")
    assert ring == "rgb(20, 89, 156)"  # it can be seen where the keyboard is
    page.keyboard.press("Enter")  # takes the piece on square 0
    for _ in range(3):
        page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    shown(page, "3/0")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    assert page.locator("#board .selected").count() == 0
    tab_to(page, ".roll button")
    move = page.evaluate("document.activeElement.dataset.move")
    assert page.locator("#board .marks circle").count() == 2
    page.keyboard.press("Enter")
    shown(page, str(Board.parse("3/0", RULES).after(Move.parse(move), 1)))
    page.locator("#explore-tab").focus()
    page.keyboard.press("ArrowLeft")
    tab_to(page, "#begin")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement.id === 'roll'")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelectorAll('#plies li, #choices button').length > 0")
    page.locator("#play-tab").focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("#answers button")
    tab_to(page, "#answers button")
    page.keyboard.press("Enter")
    page.wait_for_selector("#lesson .grade")
    page.wait_for_function("() => document.activeElement.id === 'next'")


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


def accessible(page: Page, where: str) -> None:
    """axe-core finds nothing, and all text has contrast."""
    axe = pytest.importorskip("axe_playwright_python", reason=AXE)
    page.evaluate((Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("async () => (await axe.run(document, { resultTypes: ['violations'] })).violations")
    assert [(where, v["id"], [node["html"][:120] for node in v["nodes"]]) for v in found] == []
    contrasts = page.evaluate(CONTRAST)
    assert len(contrasts) > 5
    assert min(contrasts)[0] >= 4.5, (where, min(contrasts))


@pytest.mark.parametrize(
    ("scheme", "size"), [("light", WIDE), ("dark", WIDE), ("light", PHONE), ("dark", LANDSCAPE)], ids=str
)
def test_everybody_can_use_every_view(scheme: str, size: dict[str, int], visit: Open) -> None:
    page = visit("?board=3,17/0,22&rules=2,40", color_scheme=scheme, viewport=size)
    shown(page, "3,17/0,22")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (int(re.findall(r"\d+", ground)[0]) < 128) == (scheme == "dark")
    accessible(page, "explore")
    page.click("#menu-button")
    accessible(page, "menu")
    page.keyboard.press("Escape")
    assert not page.is_visible("#menu")
    page.click("#play-tab")
    accessible(page, "new game")
    start_game(page)
    page.click("#roll:enabled")
    page.wait_for_selector("#plies li", state="attached")
    accessible(page, "game")
    page.click("#review-tab")
    accessible(page, "games")
    page.click("#games button")
    page.wait_for_selector("#reviewed:not([hidden])")
    accessible(page, "review")
    page.click("#quiz-tab")
    page.wait_for_selector("#answers button")
    page.locator("#answers button").last.click()
    accessible(page, "quiz")


def test_pages_to_read(visit: Open, address: str) -> None:
    for scheme, size in (("light", WIDE), ("dark", PHONE)):
        page = visit(color_scheme=scheme, viewport=size)
        for name in ("rules", "help", "about"):
            file = f"{name}.html" if scheme == "light" else f"{name}.de.html"
            page.goto(address + file)
            assert page.get_attribute("html", "lang") == ("de" if ".de." in file else "en")
            assert page.evaluate("document.scrollingElement.scrollWidth") <= size["width"], file
            accessible(page, file)
        page.goto(address + "api")
        assert page.locator("h1").inner_text() == "The HTTP interface"
        assert page.evaluate("document.scrollingElement.scrollWidth") <= size["width"]
        accessible(page, "api")


def test_an_address_that_is_not_there(browser: Any, address: str) -> None:
    page = browser.new_page()
    answer = page.goto(f"{address}nothing/here")
    assert answer.status == 404
    assert "nothing at this address" in page.inner_text("main")
    assert "Unter dieser Adresse gibt es nichts" in page.inner_text("main")
    accessible(page, "404")
    page.click("text=The board")
    page.wait_for_selector("body.ready")
    page.close()


def boxes(page: Page) -> list[str]:
    """What a screen reader hears of the places of red's box."""
    return list(
        page.locator("#board .place.box.red").evaluate_all("all => all.map((p) => p.getAttribute('aria-label'))")
    )


def test_german_and_english(visit: Open) -> None:
    page = visit("?board=3,17/0,22&rules=2,40", locale="de-DE")
    shown(page, "3,17/0,22")
    assert page.locator("html").get_attribute("lang") == "de"
    assert page.locator("#turn").inner_text() == "Rot ist am Zug"
    assert page.locator("#win strong").inner_text().replace("\xa0", " ") == "49,77 %"
    assert page.get_attribute("#rules", "href") == "rules.de.html"
    assert boxes(page) == ["Haus von Rot, Platz 1 von 2, frei", "Haus von Rot, Platz 2 von 2, frei"]
    page.click("#menu-button")
    page.click("#language")
    page.wait_for_selector("#help[href='help.html']", state="attached")
    shown(page, "3,17/0,22")
    page.wait_for_function("() => document.getElementById('win').innerText === 'Red wins 49.77% of the time'")
    page.click("#start")
    shown(page, "0/0")
    assert boxes(page) == ["box of Red, place 1 of 2, Red piece", "box of Red, place 2 of 2, free"]
    page.reload()  # the choice is kept
    page.wait_for_selector("body.ready")
    assert page.locator("html").get_attribute("lang") == "en"


def test_house_rules(visit: Open, tmp_path: Path) -> None:
    """One piece a side, all four rules: the start, three rolls for a 6, and the link."""
    madn.solve(Rules.house(1), tmp_path / "house")
    with served(str(tmp_path / "house")) as house, madn.open_database(tmp_path / "house") as db:
        page = visit("?board=b/b", at=house)
        shown(page, "b/b")
        assert "three rolls for a 6" in page.locator("#game").inner_text()
        assert page.locator("#win strong").inner_text() == percent(db.win("b/b"))
        labels = page.locator("#rolls .roll").evaluate_all("all => all.map(row => row.getAttribute('aria-label'))")
        assert labels == ["no 6 in 3 rolls", "a 6 in 3 rolls"]
        page.locator('.roll[data-roll="6"] button').click()
        shown(page, "0/b")
        assert page.locator("#rolls .roll").count() == 6
        assert address_of(page)["rules"] == f"1,40,{','.join(HOUSE_RULES)}"
        german = visit("", at=house, locale="de-DE")
        assert "Schlagzwang" in (german.locator("#game").text_content() or "")


def test_pieces_and_house_rules_can_be_chosen(visit: Open) -> None:
    page = visit("?play&rules=2,40")
    page.select_option("#pieces", "3")
    page.wait_for_url("**rules=3,40")
    page.wait_for_selector("body.ready")
    assert page.locator("#board .place.box.red").count() == 3
    page.check("#house input[name=must_capture]")
    page.wait_for_url("**rules=3,40,must_capture")
    page.wait_for_selector("body.ready")
    assert page.is_checked("#house input[name=must_capture]")
    assert "must capture" in (page.locator("#game").text_content() or "")
    assert not page.is_visible("#together")

    def some(route: Any) -> None:
        """Only the printed rules and the family's are offered, each with any start, as for a new model."""
        answer = route.fetch()
        games = answer.json()["games"]
        kept = [game for game in games if len({game["rules"][rule] for rule in HOUSE_RULES if "box" not in rule}) == 1]
        route.fulfill(response=answer, json={"games": kept})

    page.route("**/api/games", some)
    page.goto(page.url.replace(",must_capture", ""))
    page.wait_for_selector("body.ready")
    assert page.is_visible("#together")
    page.check("#house input[name=three_rolls]")  # brings the others along
    page.wait_for_url("**rules=3,40,three_rolls,no_jumping,must_capture")
    page.wait_for_selector("body.ready")
    page.check("#house input[name=start_in_box]")
    page.wait_for_url("**rules=3,40,three_rolls,start_in_box,no_jumping,must_capture")
    page.wait_for_selector("body.ready")
    page.uncheck("#house input[name=no_jumping]")
    page.wait_for_url("**rules=3,40,start_in_box")
    page.wait_for_selector("body.ready")


def test_estimates_are_marked_and_endgames_become_exact(visit: Open) -> None:
    page = visit("?board=0/0&rules=3,40")
    shown(page, "0/0")
    assert "exact in endgames, estimated before them" in page.inner_text("#game")
    assert re.fullmatch(r"Red wins about \d\d\.\d% of the time", page.inner_text("#win"))
    assert page.inner_text("#source").startswith("An estimate: such numbers are off by 0.")
    assert all(text.startswith("about ") for text in page.locator(".moves .win").all_inner_texts())
    page.fill("#text", "3,41,42 / 25,40,42")
    page.press("#text", "Enter")
    page.wait_for_function("() => document.getElementById('source').textContent.startsWith('Exact')")  # asks again
    assert page.inner_text("#source") == "Exact: this endgame has been solved."
    with madn.Advisor(madn.Rules(3)) as advisor:
        assert f"{100 * advisor.win('3,41,42/5,40,42'):.2f}%" in page.inner_text("#win")
    assert not any("about" in text for text in page.locator(".moves .win").all_inner_texts())
