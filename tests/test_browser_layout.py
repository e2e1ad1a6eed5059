"""The page on screens of all sizes, in a real browser: what is there fits, can be reached, and stays in its place."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from browser import (
    LANDSCAPE,
    MOBILE,
    PHONE,
    WIDE,
    Open,
    address_of,
    place,
    shown,
    start_game,
    wait_for_choice,
)
from playwright.sync_api import Page
from static_hosts import hosted

from madn.web.export import export_page

pytestmark = pytest.mark.browser
LARGE, NARROW = ({"width": w, "height": h} for w, h in ((1920, 1080), (900, 700)))


def overflow(page: Page) -> list[int]:
    """How far the page is wider and higher than the screen."""
    return list(
        page.evaluate("""() => {
          const { scrollWidth, scrollHeight } = document.scrollingElement;
          const panel = document.getElementById("panel");
          return [scrollWidth - innerWidth, scrollHeight - innerHeight, panel.scrollHeight - panel.clientHeight];
        }""")
    )


@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
@pytest.mark.parametrize("size", [PHONE, LANDSCAPE], ids=["upright", "sideways"])
def test_a_whole_game_fits_on_a_phone(size: dict[str, int], locale: str, visit: Open) -> None:
    """At every step of a game: nothing to scroll, and every button large enough and on the screen."""
    page = visit("?red=14,15,16&black=17,18,19&rules=3,40", viewport=size, locale=locale, **MOBILE)
    page.wait_for_selector("#rolls .captures")
    assert overflow(page)[0] <= 0
    cut = page.evaluate("""() => [...document.querySelectorAll("#rolls .moves button")].filter((button) => {
      const ends = [...button.children].map((part) => part.getBoundingClientRect());
      return ends.some(({ right }, at) => right > innerWidth - 4 || (at && ends[at - 1].right > ends[at].left + 1));
    }).map((button) => button.innerText)""")
    assert cut == []  # what a move wins and costs can be read
    for tab in ("explore", "review", "quiz"):
        page.click(f"#{tab}-tab")
        assert overflow(page)[0] <= 0, tab
    start_game(page)
    seen = page.evaluate("""async () => {
      const get = (id) => document.getElementById(id);
      const panel = get("panel");
      const seen = [];
      const look = () => {
        const { scrollWidth, scrollHeight } = document.scrollingElement;
        const inside = panel.scrollHeight - panel.clientHeight;
        seen.push(["scroll", scrollWidth - innerWidth, scrollHeight - innerHeight, inside]);
        for (const b of document.querySelectorAll("#running button, .tabs button, #menu-button")) {
          const { left, top, right, bottom, height } = b.getBoundingClientRect();
          const fits = left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight && height >= 36;
          if (!fits) seen.push([b.id || b.innerText]);
        }
      };
      const { width } = get("board").getBoundingClientRect();
      if (width < 0.85 * Math.min(innerWidth, innerHeight)) seen.push(["board", width]);
      for (let n = 0; n < 12 && !document.querySelector(".farewell"); ) {
        const choices = [...get("choices").querySelectorAll(".moves button")];
        if (!get("roll").disabled || choices.length) look();
        if (!get("roll").disabled) get("roll").click();
        else if (choices.length) { choices[0].click(); n++; }
        await new Promise((done) => setTimeout(done, 2));
      }
      return seen;
    }""")
    assert len(seen) > 15
    assert [found for found in seen if found[0] != "scroll" or max(found[1:]) > 0] == []


def test_a_piece_is_tapped_to_move_it(visit: Open) -> None:
    page = visit("?board=3,17/0&rules=2,40", viewport=PHONE, **MOBILE)
    shown(page, "3,17/0")
    page.tap("#play-here")
    page.tap("#begin")
    page.wait_for_selector("#roll:enabled")
    page.tap("#roll")
    page.wait_for_selector("#choices button")
    assert page.locator("#board .movable").count() == 2
    place(page, "square 17,").locator(".disc").tap()
    page.wait_for_selector("#roll:enabled")
    assert (page.locator("#plies .way").first.text_content() or "").startswith("17 → ")


# What is cut off: boxes that are wider than their place, and buttons that reach out of the panel.
CUT = """() => {
  const panel = document.getElementById("panel");
  const { left, right } = panel.getBoundingClientRect();
  const found = panel.scrollWidth > panel.clientWidth ? ["panel"] : [];
  for (const one of panel.querySelectorAll("button, select, input, label, svg, p")) {
    if (!one.checkVisibility() || one.closest("label.button")) continue;
    const box = one.getBoundingClientRect();
    const outside = box.left < left + 4 || box.right > right - 4;
    if (outside || one.scrollWidth > one.clientWidth + 1) found.push(one.id || one.textContent);
  }
  return found;
}"""


@pytest.mark.parametrize("size", [NARROW, WIDE, LARGE, PHONE, LANDSCAPE], ids=lambda size: str(size["width"]))
def test_nothing_is_cut_off_in_german(size: dict[str, int], visit: Open) -> None:
    """Its words are the longer ones."""
    page = visit("?red=5,17,33&black=9,20,36&rules=3,40", viewport=size, locale="de-DE")
    page.wait_for_selector("#rolls .roll")

    def look(view: str) -> None:
        assert (view, page.evaluate(CUT), overflow(page)[0] <= 0) == (view, [], True)

    look("explore")
    page.locator(".ask").first.click()
    page.wait_for_selector(".roll .why:not(:empty)")
    look("why")
    page.click("#play-here")
    look("new game")
    page.click("#begin")
    wait_for_choice(page)
    look("game")
    page.click("#review-tab")
    look("games")
    page.click("#quiz-tab")
    page.wait_for_selector("#answers button")
    page.locator("#answers button").last.click()
    page.wait_for_selector("#lesson .why")
    look("quiz")


@pytest.mark.parametrize("size", [NARROW, WIDE, LARGE, PHONE, LANDSCAPE], ids=lambda size: str(size["width"]))
def test_a_game_can_be_started_without_scrolling(size: dict[str, int], visit: Open) -> None:
    page = visit("?play&rules=4,40", viewport=size, locale="de-DE")
    page.wait_for_selector("#begin")
    box = page.locator("#begin").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= size["height"]
    page.focus("#house input[name=must_capture]")  # what has the keyboard is not behind the button
    below = page.evaluate("""() => document.activeElement.getBoundingClientRect().bottom
      - document.getElementById("begin").getBoundingClientRect().top""")
    assert below <= 0


def test_a_large_screen_is_used(visit: Open) -> None:
    """The board has the height of the screen, and the course of a game stands beside what is played."""
    page = visit("?board=3,17/0&rules=2,40", viewport=LARGE)
    start_game(page)
    boxes = {name: page.locator(f"#{name}").bounding_box() for name in ("board", "choices", "course")}
    board, choices, course = (box for box in boxes.values() if box)
    assert board["height"] > 0.85 * LARGE["height"]
    assert course["x"] > choices["x"] + choices["width"]
    assert course["x"] + course["width"] > 0.95 * LARGE["width"]


@pytest.mark.parametrize("size", [WIDE, PHONE, LANDSCAPE], ids=lambda size: str(size["width"]))
def test_all_of_the_menu_can_be_reached(size: dict[str, int], visit: Open) -> None:
    page = visit("?board=3,17/0&rules=2,40", viewport=size, locale="de-DE")
    page.click("#menu-button")
    menu = page.locator("#menu").bounding_box()
    assert menu is not None
    assert menu["x"] >= 0
    assert menu["y"] + menu["height"] <= size["height"]
    page.locator("#programs").scroll_into_view_if_needed()
    link = page.locator("#programs").bounding_box()
    assert link is not None
    assert link["y"] + link["height"] <= menu["y"] + menu["height"]
    assert overflow(page)[1] <= 0 or size == PHONE  # there the view behind it is longer than the screen


@pytest.mark.parametrize("size", [PHONE, LANDSCAPE], ids=["upright", "sideways"])
def test_a_small_screen_says_why_when_it_is_asked(size: dict[str, int], visit: Open) -> None:
    page = visit("?red=5,17,33&black=9,20,36&rules=3,40", viewport=size, **MOBILE)
    page.wait_for_selector("#rolls .roll")
    page.tap("#play-here")
    page.tap("#begin")
    wait_for_choice(page)
    page.wait_for_selector("#ask:enabled")
    assert page.inner_text("#ask").startswith("Why is ")
    page.tap("#ask")
    why = page.text_content("#why")
    assert why
    assert page.inner_text("#message") == why
    assert page.evaluate(CUT) == []
    message = page.locator("#message").bounding_box()
    assert message is not None
    assert message["y"] + message["height"] <= size["height"]
    page.tap("#message")  # puts it away
    assert page.inner_text("#message") == ""
    page.tap("#ask")
    page.locator("#board .movable .disc").first.tap()  # so does the move
    page.wait_for_function("() => document.getElementById('message').textContent === ''")


def test_a_second_click_does_nothing_in_the_view_that_has_come(visit: Open) -> None:
    """The buttons of one view lie where another has moves."""
    page = visit("?board=3,17/0&rules=2,40")
    shown(page, "3,17/0")
    page.click("#play-here")
    page.dblclick("#begin")
    assert page.is_visible("#running")
    page.wait_for_selector("#roll:enabled")
    page.dblclick("#analyse")
    page.wait_for_timeout(700)
    shown(page, "3,17/0")
    assert address_of(page) == {"red": "3,17", "black": "20", "rules": "2,40"}
    page.dblclick("#back")
    page.wait_for_timeout(100)
    assert page.is_visible("#running")


def test_the_pieces_stand_where_they_are_from_the_beginning(visit: Open) -> None:
    page = visit("", reduced_motion="no-preference")
    page.add_init_script("window.gliding = []; addEventListener('transitionrun', (e) => gliding.push(e.target.id));")
    page.reload()
    page.wait_for_selector("#rolls .roll")
    page.wait_for_timeout(100)
    assert page.evaluate("gliding.length") == 0
    page.click("#start")  # there they glide
    page.wait_for_function("() => gliding.length > 0")


@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
@pytest.mark.parametrize("static", [False, True], ids=["served", "exported"])
def test_the_first_view_is_small(browser: Any, address: str, static: bool, locale: str, tmp_path: Path) -> None:
    """How quickly it is there is measured by benchmarks/page.py."""
    context = browser.new_context(locale=locale)
    page = context.new_page()
    sizes: list[int] = []
    page.on("response", lambda answer: sizes.append(len(answer.body())))
    with ExitStack() as stack:
        if static:
            export_page(tmp_path / "page", [])
            address = stack.enter_context(hosted(tmp_path / "page"))
        page.goto(address)
        page.wait_for_selector("#rolls .roll")
    assert sum(sizes) < 150_000
    assert len(sizes) < 25
    context.close()
