"""The site that `tools/docs` makes of all documents and of the docstrings, with Sphinx (the extra `madn[docs]`)."""

import re
from importlib.metadata import version as version_of

from sphinx.application import Sphinx

project = "madn"
author = "The madn authors"
version = release = version_of("madn")
extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "README"
include_patterns = ["*.md", "docs/**.md"]
exclude_patterns = [".*", "build", "dist", "databases", "madn", "tests"]

myst_heading_anchors = 3
myst_enable_extensions = ["html_image"]  # documents show some pictures with <img> to give their size

autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": True}
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = f"madn {version}"
html_copy_source = False

# What the site has besides README, in this order; a document that is in none of these lists is a warning.
CONTENTS = {
    "Use": ("tutorial", "rules", "rules.de", "cli", "query", "web", "players", "learning", "data"),
    "Play well": ("card", "insights"),
    "Reference": ("api/index", "format", "reliability"),
    "How, and what came out": ("method", "cluster", "proof", "estimator", "results", "plots", "related"),
    "Other games": ("pig", "cantstop", "pyramid"),
}
OF_THE_PROJECT = ("CHANGELOG", "CONTRIBUTING", "docs/development", "SECURITY")


def add_contents(app: Sphinx, name: str, content: list[str]) -> None:
    """Give README the table of contents of the site, which its readers elsewhere would see as a block of code."""
    lists = {title: [f"docs/{page}" for page in pages] for title, pages in CONTENTS.items()}
    for title, pages in (lists | {"The project": list(OF_THE_PROJECT)}).items() if name == root_doc else ():
        content[0] += "\n".join(["\n\n```{toctree}", ":hidden:", f":caption: {title}", "", *pages, "```"])


NAME = re.compile(r"[A-Za-z_][\w.]*")
PIECES = re.compile(r"`([^`]+)`|([*|\\]|_\b)")


def restructured(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Turn a docstring, which is Markdown, into what autodoc reads: names, code that is indented, tables."""
    text = "\n".join(lines)
    blocks = re.split(r"\n{2,}", text.strip("\n"))
    found: list[str] = []
    for block in blocks:
        if block.startswith("    ") and not found[-1].startswith("    "):
            found.append("::")
        if block.startswith("|"):
            found.append(_table(block.splitlines()))
        else:
            found.append(block if block.startswith(("    ", ">>>")) else _inline(block))
    lines[:] = "\n\n".join(found).splitlines()


def _inline(text: str) -> str:
    """Names become links where there is a page for them, other code stays code, and signs mean themselves."""

    def one(found: re.Match[str]) -> str:
        code, sign = found.groups()
        if sign:
            return f"\\{sign}"
        return f":py:obj:`{code}`" if NAME.fullmatch(code) else f"``{code}``"

    return PIECES.sub(one, text)


def _table(rows: list[str]) -> str:
    """A table of Markdown, its second line the rule below the head."""
    cells = [[_inline(cell.strip()) for cell in row.strip("|").split(" | ")] for row in rows if set(row) - set("|- ")]
    lines = [f"   {'* -' if first else '  -'} {cell}" for row in cells for first, cell in _marked(row)]
    return "\n".join([".. list-table::", "   :header-rows: 1", "", *lines])


def _marked(row: list[str]) -> list[tuple[bool, str]]:
    return [(number == 0, cell) for number, cell in enumerate(row)]


def setup(app: Sphinx) -> None:
    """What Sphinx calls."""
    app.connect("source-read", add_contents)
    app.connect("autodoc-process-docstring", restructured)
