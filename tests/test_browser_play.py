"""Games on the page, in a real browser: they survive what a visitor does, and can be followed."""

import json
import re
from pathlib import Path

import pytest
from browser import MOBILE, PHONE, RULES, Open, address_of, place, play_on, shown, start_game, wait_for_choice
from playwright.sync_api import Page

import madn
from madn import Board
from madn.record import parse_record

pytestmark = pytest.mark.browser


def state(page: Page) -> tuple[str, list[str], str | None, list[str]]:
    """What must not be lost: the pieces, the moves, the die, the moves that can be chosen."""
    pieces = page.locator("#board .place.held").evaluate_all("all => all.map((p) => p.getAttribute('aria-label'))")
    plies = page.locator("#plies li").all_text_contents()
    moves = page.locator("#choices button").evaluate_all("all => all.map((b) => b.dataset.move)")
    return "; ".join(sorted(pieces)), plies, page.locator("#die").get_attribute("aria-label"), moves


def ready(page: Page) -> None:
    page.wait_for_selector("#choices .moves button")


def test_a_game_survives_everything(visit: Open) -> None:
    """Explore and back, reload, the back button, a closed tab: the same board, moves and roll each time."""
    page = visit("?play&rules=2,40")
    start_game(page)
    play_on(page, 6)
    wait_for_choice(page)
    before = state(page)

    page.click("#analyse")  # one click there
    page.wait_for_selector("#rolls .roll")
    assert page.input_value("#text")
    page.click("#clear")
    shown(page, "b/b")
    page.click("#back")  # and one back
    ready(page)
    assert state(page) == before

    page.click("#explore-tab")
    page.click("#play-tab")
    ready(page)
    assert state(page) == before

    page.click("#analyse")
    page.wait_for_selector("#rolls .roll")
    page.go_back()
    ready(page)
    assert state(page) == before

    page.reload()
    ready(page)
    page.wait_for_function("count => document.querySelectorAll('#plies li').length === count", arg=len(before[1]))
    assert state(page) == before

    other = page.context.new_page()
    page.close()
    other.goto(re.sub(r"\?.*", "", page.url))  # the bare address
    ready(other)
    assert state(other)[0] == before[0]
    assert state(other)[2:] == before[2:]


def test_two_tabs_keep_their_games(visit: Open) -> None:
    one = visit("?play&rules=2,40")
    start_game(one)
    play_on(one, 4)
    wait_for_choice(one)
    other = one.context.new_page()
    other.goto(one.url)
    ready(other)
    other.click("#end")
    start_game(other, "careful")
    play_on(other, 3)
    wait_for_choice(other)
    states = state(one), state(other)
    for page in (one, other):
        page.reload()
        ready(page)
    assert (state(one), state(other)) == states
    one.click("#review-tab")
    one.wait_for_function("() => document.querySelectorAll('#games button').length === 2")


@pytest.mark.parametrize("trouble", ["full", "refused"])
def test_storage_that_does_not_work_is_said_and_the_game_goes_on(trouble: str, visit: Open) -> None:
    page = visit("?play&rules=2,40")
    start_game(page)
    play_on(page, 1)
    page.click("#end")
    older = page.evaluate("localStorage.getItem('madn.games')")
    if trouble == "full":
        page.evaluate("""() => {
          for (let size = 1 << 22; size; size >>= 1) {
            try { localStorage.setItem(`other ${size}`, "x".repeat(size)); } catch { /* a smaller one may fit */ }
          }
        }""")
    else:
        page.context.add_init_script(
            "const get = () => { throw new DOMException('no', 'SecurityError'); };"
            "Object.defineProperty(window, 'localStorage', { get });"
        )
        page.goto(re.sub(r"\?.*", "?play&rules=2,40", page.url))
        page.wait_for_selector("body.ready")
    start_game(page)
    assert "does not store the game" in page.inner_text("#message")
    if trouble == "full":
        assert page.evaluate("localStorage.getItem('madn.games')") == older
    wait_for_choice(page)
    before = state(page)
    page.click("#analyse")
    page.wait_for_selector("#rolls .roll")
    page.click("#play-tab")
    ready(page)
    assert state(page) == before
    page.click("#review-tab")


def test_games_that_cannot_be_read_are_left_alone(visit: Open) -> None:
    """One of a newer version, and one that is damaged: both stay, and another game can be played."""
    page = visit("?play&rules=2,40")
    damaged, newer = ({"id": c, "code": f"{c}~2,40~~r~human~fpoc~!!", "roll": None, "done": False} for c in "12")
    page.evaluate("games => localStorage.setItem('madn.games', JSON.stringify(games))", [damaged, newer])
    page.reload()
    page.wait_for_selector("#new:not([hidden])")
    assert "move 1 is not legal" in page.inner_text("#message")
    start_game(page)
    kept = page.evaluate("JSON.parse(localStorage.getItem('madn.games'))")
    assert [game["id"] for game in kept[1:]] == ["1", "2"]


def test_nothing_that_can_be_pressed_moves_during_a_game(visit: Open) -> None:
    """A second click on a move must not undo it: every button stays where it is."""
    page = visit("?play&rules=2,40")
    start_game(page)
    play_on(page, 2)
    wait_for_choice(page)
    places = """() => ["roll", "undo", "analyse", "end", "hints"].map((id) => {
      const { x, y, width, height } = document.getElementById(id).getBoundingClientRect();
      return [id, x, y, width, height].join(" ");
    })"""
    before = page.evaluate(places)
    plies = page.locator("#plies li").count()
    box = page.locator("#choices button").last.bounding_box()
    assert box
    page.wait_for_selector("#panel:not(.fresh)")  # in the first moment of a game no click counts
    page.mouse.dblclick(box["x"] + 30, box["y"] + 10)
    page.wait_for_function("count => document.querySelectorAll('#plies li').length > count", arg=plies)
    page.wait_for_selector("#roll:enabled, #choices button")
    assert page.locator("#plies li").count() > plies
    for _ in range(8):
        assert page.evaluate(places) == before
        play_on(page, 1)


def test_undo_gives_the_same_roll_again_and_hints_can_be_hidden(visit: Open) -> None:
    page = visit("?red=3,17&black=20&rules=2,40")
    page.click("#play-here")
    page.click("#begin")
    wait_for_choice(page)
    before = state(page)
    assert page.locator("#choices .win").count() == len(before[3])
    page.uncheck("#hints")
    assert page.locator("#choices .win").count() == 0
    assert not page.locator("#graph").is_visible()
    starts = page.locator("#choices button").evaluate_all("all => all.map(b => parseInt(b.dataset.move))")
    assert starts == sorted(starts)
    place(page, f"square {starts[0]},").click()  # the piece itself plays its move
    page.wait_for_selector("#roll:enabled")
    assert page.locator("#plies li").count() >= 2
    page.click("#undo")
    ready(page)
    page.check("#hints")
    assert state(page) == before


def test_forced_moves_play_themselves_and_black_can_be_followed(visit: Open) -> None:
    """With motion: the die tumbles, the only move is made after a moment, pieces hop, the last move stays marked."""
    page = visit("?play&rules=2,40", reduced_motion="no-preference")
    start_game(page)
    page.wait_for_selector("#roll:enabled")
    page.evaluate("""() => {
      window.seen = { tumbled: false, status: [], hops: 0 };
      const look = () => {
        window.seen.tumbled ||= document.getElementById("die").classList.contains("tumbling");
        const text = document.getElementById("status").textContent;
        if (window.seen.status.at(-1) !== text) window.seen.status.push(text);
      };
      const all = { attributes: true, childList: true, subtree: true, characterData: true };
      new MutationObserver(look).observe(document.getElementById("running"), all);
      const animate = Element.prototype.animate;
      Element.prototype.animate = function (...args) { window.seen.hops++; return animate.apply(this, args); };
    }""")
    page.click("#roll")  # a piece on 0 and one in the box: whatever falls, there is one move
    page.wait_for_function("() => document.querySelectorAll('#plies li').length >= 2")
    page.wait_for_selector("#roll:enabled")
    seen = page.evaluate("window.seen")
    rolls = page.locator("#plies .small-die").evaluate_all(
        "all => all.map((d) => Number(d.getAttribute('aria-label').at(-1)))"
    )
    assert seen["tumbled"]
    assert any("is the only move" in text for text in seen["status"])
    assert any(re.match(r"Felix rolled \d: ", text) for text in seen["status"])
    assert seen["hops"] >= rolls[0]  # a hop for every square
    assert page.locator("#board .marks.done circle").count() == 2
    calm = visit("?play&rules=2,40")
    start_game(calm)
    calm.evaluate("() => { window.moved = 0; Element.prototype.animate = () => { window.moved++; }; }")
    play_on(calm, 3)
    assert calm.evaluate("window.moved") == 0


def test_a_capture_is_seen(visit: Open) -> None:
    page = visit("?red=14,15,16&black=17,18,19&rules=3,40", reduced_motion="no-preference")
    page.wait_for_selector("#rolls .roll")
    page.evaluate("""() => {
      window.flights = [];
      const animate = Element.prototype.animate;
      Element.prototype.animate = function (steps, options) {
        window.flights.push([this.getAttribute("class"), options.duration]);
        return animate.call(this, steps, options);
      };
    }""")
    page.locator('.roll[data-roll="1"] button', has_text="captures").click()
    shown(page, "38,39/14,15,17")
    flights = page.evaluate("window.flights")
    assert [name for name, _ in flights] == ["pawn red", "pawn black"]
    assert flights[1][1] > flights[0][1]


def test_sounds_are_off_unless_they_are_wanted(visit: Open) -> None:
    page = visit("?play&rules=2,40")
    page.evaluate("""() => {
      const Real = AudioContext;
      window.made = 0;
      window.AudioContext = class extends Real { constructor() { super(); window.made++; } };
    }""")
    assert not page.is_checked("#sound")
    start_game(page)
    play_on(page, 1)
    assert page.evaluate("window.made") == 0
    page.click("#menu-button")
    page.check("#sound")
    page.keyboard.press("Escape")
    play_on(page, 1)
    assert page.evaluate("window.made") == 1
    page.reload()
    page.wait_for_selector("body.ready")
    assert page.is_checked("#sound")


def test_two_people_at_one_device(visit: Open) -> None:
    page = visit("?play&rules=2,40", viewport=PHONE, **MOBILE)
    start_game(page, "human")
    statuses = set()
    for _ in range(6):
        page.wait_for_selector("#roll:enabled")
        statuses.add(page.inner_text("#status"))
        play_on(page, 1)
        page.wait_for_selector("#roll:enabled, #choices button")
        if page.locator("#choices button").count():
            page.locator("#choices button").first.click()
    assert statuses == {"Red: roll.", "Black: roll."}


def test_opponents_have_names_and_a_line_of_character(visit: Open) -> None:
    for locale, line in (
        ("en-GB", "Captures when she can, and hates to be captured."),
        ("de-DE", "lässt sich ungern schlagen"),
    ):
        page = visit("?play&rules=2,40", locale=locale)
        names = page.locator("#opponents .name").all_inner_texts()
        assert names[0] == "Mimi"
        assert names[-2] == "Delphi"
        assert len(names) == 12
        lines = set()
        for option in page.locator("#opponents input").all():
            option.check()
            lines.add(page.inner_text("#character"))
        assert len(lines) == len(names)
        page.check("#opponents input[value=careful]")
        assert line in page.inner_text("#character")


def finished_game(page: Page, opponent: str, first: str = "red") -> None:
    start_game(page, opponent, first)
    play_on(page)
    page.wait_for_selector(".farewell")
    page.wait_for_timeout(700)  # a click right after the last move would not count
    page.click(".farewell .main")
    page.wait_for_selector("#reviewed:not([hidden])")


def saved(page: Page, directory: Path) -> str:
    """The record of the game that is being reviewed."""
    with page.expect_download() as download:
        page.click("#download")
    download.value.save_as(directory / "game.txt")
    return (directory / "game.txt").read_text(encoding="utf-8")


def test_a_whole_game_and_what_it_was_worth(visit: Open, tmp_path: Path) -> None:
    """Accuracy, errors and luck are those of the database; the record is one that madn reads."""
    page = visit("?play&rules=2,40")
    finished_game(page, "fpoc", "black")
    text = saved(page, tmp_path)
    record = parse_record(text)
    assert str(record) == text
    assert (record.first, record.second, record.start) == ("fpoc", "human", Board.start(RULES))
    assert record.winner is not None
    with madn.open_database() as db:
        sums: dict[str, dict[str, float]] = {
            who: {"cost": 0, "stake": 0, "luck": 0, "errors": 0} for who in ("first", "second")
        }
        for board, mover, ply in zip(record.boards, record.movers, record.plies, strict=False):
            best, *_ = moves = db.moves(board, ply.roll)
            cost = best.win - next(option.win for option in moves if option.move == ply.move)
            sums[mover]["cost"] += cost if cost > 1e-6 else 0
            sums[mover]["stake"] += best.win - moves[-1].win
            sums[mover]["luck"] += best.win - db.win(board)
            sums[mover]["errors"] += cost > 0.005
        start = 1 - db.win(record.start)
    for seat, who in (("red", "second"), ("black", "first")):
        found = sums[who]
        assert page.inner_text(f".figure.{seat} .accuracy") == f"{100 * (1 - found['cost'] / found['stake']):.0f}%"
        assert f"{found['errors']:.0f} error" in page.inner_text(f".figure.{seat}")
        assert f"{100 * found['cost']:.1f} points lost" in page.inner_text(f".figure.{seat}")
    net = sums["second"]["luck"] - sums["first"]["luck"]
    end = float(record.winner == "second")
    assert start + net - sums["second"]["cost"] + sums["first"]["cost"] == pytest.approx(end, abs=1e-3)  # 16-bit values
    luck = page.inner_text(".luck")
    assert ("fair to both" in luck) == (abs(net) < 0.1)
    if abs(net) >= 0.1:
        assert ("red" if net > 0 else "black") in luck.lower()
    assert "%" not in luck
    assert page.locator("#review-plies li").count() == len(record.plies)
    assert len((page.locator("#review-graph .curve").get_attribute("points") or "").split()) == len(record.plies) + 1
    assert page.locator("#summary .entry").count() == 3


def test_a_game_with_estimates(visit: Open) -> None:
    """From a late position to its end: what is estimated is marked."""
    page = visit("?red=30,41,42&black=11,41&rules=3,40")
    page.click("#play-here")
    page.check("#opponents input[value=optimal]")
    assert page.inner_text("#character") == "Plays every endgame perfectly, and hardly ever errs before it."
    page.click("#begin")
    play_on(page)
    page.wait_for_selector(".farewell")
    kept = json.loads(page.evaluate("localStorage.getItem('madn.games')"))
    assert kept[0]["done"]
    assert kept[0]["code"].startswith("1~3,40~30,41,42/11,41~r~human~optimal~")
    page.wait_for_timeout(700)
    page.click(".farewell button:not(.main)")  # again, and now black begins
    page.wait_for_selector("#roll:enabled")
    assert "Delphi" in page.inner_text("#status") or page.locator("#plies li").count() >= 1
    assert address_of(page)["rules"] == "3,40"


def test_a_server_that_does_not_answer_is_said_and_nothing_is_lost(visit: Open) -> None:
    page = visit("?play&rules=2,40", faults=True)
    start_game(page)
    play_on(page, 3)
    wait_for_choice(page)
    before = state(page)
    page.route(
        "**/api/**",
        lambda route: route.fulfill(
            status=503, body='{"message": "too many requests"}', content_type="application/json"
        ),
    )
    page.locator("#choices button").first.click()
    page.wait_for_function("() => document.getElementById('message').textContent === 'too many requests'")
    page.unroute("**/api/**")
    page.click("#undo")
    ready(page)
    assert state(page) == before
