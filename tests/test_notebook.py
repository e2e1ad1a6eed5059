"""The notebook in examples/: its cells run, one after the other, and print what is stored in it."""

import ast
import contextlib
import io
import json
from pathlib import Path
from typing import Any

import matplotlib
import pytest

NOTEBOOK = Path(__file__).resolve().parent.parent / "examples" / "database.ipynb"


def test_the_notebook_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib import pyplot

    matplotlib.use("agg")
    monkeypatch.setattr(pyplot, "show", lambda: None)
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    names: dict[str, Any] = {}
    pictures = 0
    for cell in (cell for cell in cells if cell["cell_type"] == "code"):
        printed, value = run("".join(cell["source"]), names)
        expected = ["".join(output["text"]) for output in cell["outputs"] if output["output_type"] == "stream"]
        assert printed == "".join(expected)
        if value is not None:
            (stored,) = (output["data"] for output in cell["outputs"] if output["output_type"] == "execute_result")
            assert text_of(value._repr_html_()) == text_of("".join(stored["text/html"]))
        pictures += sum("image/png" in output.get("data", {}) for output in cell["outputs"])
    assert len(pyplot.get_fignums()) == pictures == 2
    pyplot.close("all")
    names["db"].close()


def run(source: str, names: dict[str, Any]) -> tuple[str, Any]:
    """Run a cell; what it prints, and the value of its last line if that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    seen = io.StringIO()
    with contextlib.redirect_stdout(seen):
        exec(compile(tree, NOTEBOOK.name, "exec"), names)
        value = eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names) if last else None  # type: ignore[attr-defined]
    return seen.getvalue(), value


def text_of(html: str) -> str:
    """A view without the path of the database."""
    return html.partition("</caption>")[2]
