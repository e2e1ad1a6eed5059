"""Going over a game on the page, in a real browser: records, links, pictures; and the quiz."""

import random
import re
import struct
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from browser import RULES, Open, address_of, percent, shown
from playwright.sync_api import Page

import madn
from madn import Board, Rules
from madn.record import Record

pytestmark = pytest.mark.browser


def some_game(seed: int, rules: Rules = RULES, names: tuple[str, str] = ("human", "fpoc"), plies: int = 1000) -> Record:
    """A game by lot, in which moves are often bad."""
    lots = random.Random(seed)
    record = Record(Board.start(rules), *names)
    while record.winner is None and len(record.plies) < plies:
        roll = lots.randint(1, 6)
        record = record.played(roll, lots.choice(record.board.legal_moves(roll)))
    return record


def paste(page: Page, text: str) -> None:
    """Put a record into the field and open it."""
    if page.get_attribute("#review-tab", "aria-selected") != "true":
        page.click("#review-tab")
        page.wait_for_selector("#review:not([hidden])")
    if page.is_visible("#close-review"):
        page.click("#close-review")
    page.fill("#record", text)
    page.click("#open-record")


def opened(page: Page) -> None:
    page.wait_for_selector("#reviewed:not([hidden])")


def held(page: Page) -> set[str]:
    return set(page.locator("#board .place.held").evaluate_all("all => all.map((p) => p.getAttribute('aria-label'))"))


@pytest.fixture(scope="module")
def db() -> Any:
    with madn.open_database() as database:
        yield database


def test_a_record_is_gone_over_by_keys_clicks_and_moments(visit: Open, db: Any) -> None:
    record = some_game(7)
    page = visit()
    paste(page, str(record))
    opened(page)
    count = len(record.plies)
    wins = [db.win(b) if m == "first" else 1 - db.win(b) for b, m in zip(record.boards, record.movers, strict=True)]
    assert page.inner_text("#step") == f"1 / {count}"
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert page.inner_text("#step") == f"4 / {count}"
    assert percent(wins[3]) in page.inner_text("#verdict")
    assert percent(wins[4]) in page.inner_text("#verdict")
    page.keyboard.press("ArrowLeft")
    page.click("#step-back")
    assert page.inner_text("#step") == f"2 / {count}"
    page.keyboard.press("End")
    assert "has won" in page.inner_text("#verdict")
    page.keyboard.press("Home")
    assert page.is_disabled("#step-back")
    box = page.locator("#review-graph").bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] * 0.6, box["y"] + box["height"] / 2)
    at = int(page.inner_text("#step").split(" / ")[0])
    assert abs(at - count * (0.6 * 400 - 44) / 348) < 3
    page.locator("#review-plies li").nth(20).click()
    assert page.inner_text("#step") == f"21 / {count}"
    assert page.locator("#review-plies [aria-current]").count() == 1

    swings = sorted(range(count), key=lambda n: -abs(wins[n + 1] - wins[n]))[:3]
    cards = page.locator("#summary .entry").all()
    assert [int(card.inner_text().split(".")[0]) - 1 for card in cards] == sorted(swings)
    cards[0].click()
    assert page.inner_text("#step") == f"{sorted(swings)[0] + 1} / {count}"


def test_mistakes_are_marked_with_the_better_move(visit: Open, db: Any) -> None:
    record = some_game(3)
    page = visit()
    paste(page, str(record))
    opened(page)
    words = {0.02: "Inaccuracy", 0.05: "Mistake", 1.0: "Blunder"}
    costs = []
    for board, ply in zip(record.boards, record.plies, strict=False):
        best, *_ = moves = db.moves(board, ply.roll)
        costs.append((best.win - next(m.win for m in moves if m.move == ply.move), best))
    assert page.locator("#review-graph .dot").count() == sum(cost > 0.005 for cost, _ in costs)
    tried = 0
    for number, (cost, best) in enumerate(costs):
        if cost <= 0.005 or tried >= 4 or record.movers[number] != "first":
            continue
        tried += 1
        page.locator("#review-plies li").nth(number).click()
        word = next(word for most, word in words.items() if cost <= most)
        start = "box" if best.move.start is None else best.move.start
        expected = f"{word}: {start} → {best.move.end} is better, by {100 * cost:.2f} points."
        assert page.inner_text("#verdict .grade") == expected
        assert page.locator(f"#review-plies li:nth-child({number + 1}) .cost").inner_text() == f"−{100 * cost:.2f}"
    assert tried >= 3
    page.click("#review-analyse")  # one click there, one step back
    page.wait_for_selector("#rolls .roll")
    page.go_back()
    opened(page)
    assert page.inner_text("#step").endswith(f"/ {len(record.plies)}")


def test_who_had_no_choice_is_not_judged(visit: Open) -> None:
    page = visit()
    paste(page, str(some_game(7, plies=2)))
    opened(page)
    assert page.locator(".figure .accuracy").all_inner_texts() == ["–", "–"]
    assert page.locator(".figure .quiet").all_inner_texts() == ["There were no choices to make."] * 2


def test_a_link_has_the_whole_game(visit: Open) -> None:
    record = some_game(5, names=("fpoc", "human"))
    page = visit()
    paste(page, str(record))
    opened(page)
    page.keyboard.press("ArrowRight")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("#share-game")
    page.wait_for_function("() => document.getElementById('message').textContent")
    link = page.evaluate("navigator.clipboard.readText()")
    assert len(link) < len(record.plies) + 120
    other = visit()
    other.goto(link)
    opened(other)
    assert other.inner_text("#step") == f"2 / {len(record.plies)}"
    assert held(other) == held(page)
    assert other.locator("#review-plies li").all_text_contents() == page.locator("#review-plies li").all_text_contents()
    with other.expect_download() as download:
        other.click("#download")
    assert Path(download.value.path()).read_text(encoding="utf-8") == str(record)


def test_every_start_and_seat_survives_a_link(visit: Open) -> None:
    """House rules, another start, black to begin, odd names: the record that comes out is the one that went in."""
    page = visit()
    house = Rules(pieces=3, must_capture=True, start_in_box=True)
    start = Board.parse("3,17/0,22", RULES)
    records = [
        some_game(1, house, ("Anna ~ & Bert", "human"), 60),
        Record(start, "human", "human").played(3, "17x20").played(6, "bx0"),
        Record(start, "zwei\u00e4", "drei"),
    ]
    for record in records:
        paste(page, str(record))
        opened(page)
        page.wait_for_url("**game=**")
        page.wait_for_selector("body.ready")
        opened(page)
        page.reload()
        page.wait_for_selector("body.ready")
        opened(page)
        with page.expect_download() as download:
            page.click("#download")
        assert Path(download.value.path()).read_text(encoding="utf-8") == str(record)


RECORD = """madn game
pieces: 2
squares: 40
first: human
second: fpoc
start: 0/0
result: unfinished

1 first 3 0-3
2 second 6 0-6
3 second 1 6-7
"""
WRONG = {
    "a record begins with": RECORD.replace("madn game", "chess"),
    "Line 2 of the record: “many,40” does not name a game": RECORD.replace("pieces: 2", "pieces: many"),
    "Line 5 of the record: there is no head “third:”": RECORD.replace("second: f", "third: f"),
    "Line 2 of the record: the rule “dice” is too new": RECORD.replace("pieces: 2", "dice: 2\npieces: 2"),
    "Line 9 of the record: 0-4 is not legal with a 3; legal: 0-3": RECORD.replace("3 0-3", "3 0-4"),
    "Line 9 of the record: 5-8 is not legal with a 3; legal: 0-3": RECORD.replace("3 0-3", "3 5-8"),
    "Line 9 of the record: pass is not legal with a 3; legal: 0-3": RECORD.replace("3 0-3", "3 pass"),
    "Line 9 of the record: 0x3 is not legal": RECORD.replace("0-3", "0x3"),
    "Line 10 of the record: it is the turn of second": RECORD.replace("2 second 6", "2 first 6"),
    "Line 11 of the record: a roll must be a number from 1 to 6": RECORD.replace("second 1 6-7", "second 9 6-7"),
    "Line 11 of the record: this is move 3, not 4": RECORD.replace("3 second 1", "4 second 1"),
    "Line 11 of the record: “hello” is not a move": RECORD.replace("3 second 1 6-7", "hello"),
    "Line 7 of the record: after the moves the result is": RECORD.replace("unfinished", "first wins"),
    "Line 6 of the record: 77 is not a square": RECORD.replace("0/0", "77/0"),
    "“start:” is missing": RECORD.replace("start: 0/0\n", ""),
    "5 pieces and 40 squares, which is not available": RECORD.replace("pieces: 2", "pieces: 5"),
}


def test_a_wrong_record_says_which_line_and_what_was_legal(visit: Open) -> None:
    page = visit()
    paste(page, RECORD)
    opened(page)
    for reason, text in WRONG.items():
        paste(page, text)
        page.wait_for_function("() => document.getElementById('message').textContent")
        assert reason in page.inner_text("#message")
        assert page.input_value("#record") == text  # what was written is still there
    german = visit(locale="de-DE")
    paste(german, WRONG["Line 9 of the record: 0-4 is not legal with a 3; legal: 0-3"])
    german.wait_for_function("() => document.getElementById('message').textContent")
    assert german.inner_text("#message") == "Zeile 9 der Aufzeichnung: 0-4 ist mit einer 3 nicht erlaubt; erlaubt: 0-3."


def test_a_record_can_be_dropped_pasted_or_opened(visit: Open, tmp_path: Path) -> None:
    page = visit()
    page.evaluate(
        """(text) => {
          const data = new DataTransfer();
          data.items.add(new File([text], "game.txt", { type: "text/plain" }));
          document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
        }""",
        RECORD,
    )
    opened(page)
    assert page.inner_text("#step") == "1 / 3"
    page.click("#close-review")
    page.evaluate(
        """(text) => {
          const data = new DataTransfer();
          data.setData("text/plain", text);
          document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true }));
        }""",
        RECORD,
    )
    opened(page)
    page.click("#close-review")
    (tmp_path / "game.txt").write_text(RECORD.replace("\n", "\r\n"), encoding="utf-8")
    page.set_input_files("#file", tmp_path / "game.txt")
    opened(page)
    page.click("#close-review")
    (tmp_path / "long.txt").write_text("x" * (2 << 20), encoding="utf-8")
    page.set_input_files("#file", tmp_path / "long.txt")
    page.wait_for_function("() => document.getElementById('message').textContent.includes('too long')")


def test_a_position_as_a_picture(visit: Open) -> None:
    page = visit("?red=3,17&black=20&rules=2,40")
    shown(page, "3,17/0")
    with page.expect_download() as download:
        page.click("#svg")
    picture = Path(download.value.path()).read_text(encoding="utf-8")
    root = ET.fromstring(picture)
    assert root.tag.endswith("svg")
    assert "style=" not in picture
    assert sum(g.get("transform", "").startswith("translate") for g in root.iter()) == 4  # four pieces
    with page.expect_download() as download:
        page.click("#png")
    painted = Path(download.value.path()).read_bytes()
    assert painted[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", painted[16:24])
    assert width == 1200
    assert height > 1000
    assert len(painted) > 20_000  # something is on it


def question(page: Page) -> tuple[Board, int]:
    """What the quiz asks, going by the address."""
    given = address_of(page)
    black = [int(q) for q in given["black"].split(",") if q != "b"]
    other = ",".join(map(str, sorted((q + 20) % 40 if q < 40 else q for q in black))) or "b"
    return Board.parse(f"{given['red']}/{other}", RULES), int(given["roll"])


def test_the_quiz_grades_by_what_an_answer_costs(visit: Open, db: Any) -> None:
    """Questions with something at stake, most of which a beginner's rule gets wrong."""
    page = visit("?quiz&rules=2,40")
    page.wait_for_selector("#answers button")
    tricky = 0
    for _ in range(16):
        before = page.url
        page.click("#next")
        page.wait_for_function("before => location.href !== before", arg=before)
        board, roll = question(page)
        best, second, *_ = moves = db.moves(board, roll)
        assert 0.01 <= best.win - second.win <= 0.2
        assert 0.05 <= best.win <= 0.95
        captures = [value.move for value in moves if value.move.captures]
        plain = max(
            captures or [value.move for value in moves], key=lambda move: -1 if move.start is None else move.start
        )
        tricky += plain != best.move
        assert page.locator("#answers .win").count() == 0  # nothing is told
    assert tricky >= 9
    page.reload()  # the address is the question
    page.wait_for_selector("#answers button")
    assert question(page) == (board, roll)
    page.locator("#answers button").last.click()
    page.wait_for_selector("#lesson .grade")
    chosen = page.get_attribute("#answers .chosen", "data-move")
    cost = best.win - next(value.win for value in moves if str(value.move) == chosen)
    text = page.inner_text("#lesson .grade")
    assert text == "Right: that is the best move." if cost <= 1e-6 else f"by {100 * cost:.2f} points." in text
    page.click("#quiz-analyse")
    shown(page, str(board))
    page.go_back()  # to the question and its answer
    page.wait_for_selector("#lesson .grade")
    assert page.inner_text("#score").startswith("Answers: 1,")
    page.wait_for_timeout(500)  # a second click on an answer is not "next"
    page.click("#next")
    page.wait_for_function("() => !document.querySelector('#lesson .grade')")
    for wrong in ("?quiz&red=0&black=20&roll=3&rules=2,40", "?quiz&red=3,17&black=20&roll=9&rules=2,40"):
        page.goto(re.sub(r"\?.*", wrong, page.url))  # nothing to choose: another question
        page.wait_for_selector("#answers button")
        assert len(db.moves(*question(page))) > 1
