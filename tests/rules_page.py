"""The rules on the web page: docs/rules.md and docs/rules.de.md as HTML, and the pictures that both show."""

import re
from pathlib import Path

from markdown_it import MarkdownIt

from madn import Board

ROOT = Path(__file__).resolve().parent.parent
STATIC = ROOT / "madn" / "web" / "static"
PAGES = {"rules.html": "en", "rules.de.html": "de"}  # in STATIC; the source in docs/ ends in .md
BACK = {"en": "The board", "de": "Zum Spielbrett"}
PICTURES: dict[str, tuple[str, str | None]] = {  # board, and a move that is marked
    "start": ("0/0", None),
    "enter": ("12/0", "b-0"),
    "clear": ("0,12/5", "0-4"),
    "capture": ("3,17/0", "17x20"),
    "finish": ("37,40/0", "37-41"),
    "three-rolls": ("42,43/3,17", None),
    "start-in-box": ("b/b", None),
    "no-jumping": ("37,40/0", None),
    "must-capture": ("3,17/1", "17x21"),
}
LINK = re.compile(r"(!?)\[([^]]*)\]\(([^)]*)\)")
WIDTH = 320  # of a picture in a document


def picture(name: str) -> str:
    """One of `PICTURES` as it is kept: without a caption, which would be in one language."""
    board, move = PICTURES[name]
    svg = Board.parse(board).svg(move, caption=False)
    size = re.search('width="([0-9]+)" height="([0-9]+)"', svg)
    assert size
    return svg.replace(size[0], f'width="{WIDTH}" height="{WIDTH * int(size[2]) // int(size[1])}"', 1)


def page(name: str) -> str:
    """A page of rules, from its document."""
    language, text = PAGES[name], (ROOT / "docs" / name).with_suffix(".md").read_text(encoding="utf-8")
    body = MarkdownIt().enable("table").render(LINK.sub(_on_the_page, text))
    title = text.partition("\n")[0].removeprefix("# ")
    return f"""<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>madn: {title}</title>
<link rel="icon" href="/icon.svg">
<link rel="stylesheet" href="/style.css">
</head>
<body>
<main class="document rules">
<p><a href="/">{BACK[language]}</a></p>
{body}</main>
</body>
</html>
"""


def _on_the_page(link: re.Match[str]) -> str:
    """A link or a picture of a document as it is on the page; of a document that is not there only the words stay."""
    mark, words, target = link.groups()
    place = target.rpartition("/")[2].replace(".md", ".html")
    return f"{mark}[{words}](/{place})" if mark or place in PAGES else words


def made(name: str) -> str:
    """A file of STATIC: one of `PAGES`, or a picture, rules-NAME.svg."""
    return page(name) if name in PAGES else picture(name.removeprefix("rules-").removesuffix(".svg"))
