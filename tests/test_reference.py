"""The API reference has a place for every public name, and every public name a docstring."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "docs" / "api").glob("*.md"))
DIRECTIVE = re.compile(r"^\.\. (currentmodule|auto\w+):: (\S+)(\n   :no-members:)?", re.MULTILINE)
PUBLIC = ("madn", "madn.games.pig", "madn.games.cantstop", "madn.games.pyramid", "madn.envs")


def documented() -> set[str]:
    """The full names that the pages have: those that are written there, and those of modules written as a whole."""
    found = set()
    for page in PAGES:
        module = ""
        for kind, name, bare in DIRECTIVE.findall(page.read_text(encoding="utf-8")):
            if kind == "currentmodule":
                module = name
            elif kind == "automodule":
                found |= set() if bare else {f"{name}.{member}" for member in public_names(name)}
            else:
                found.add(name if name.startswith("madn.") else f"{module}.{name}")
    return found


def public_names(module: str) -> list[str]:
    """What a module says is public, or else what it defines itself."""
    held = import_module(module)
    own = [name for name, thing in vars(held).items() if getattr(thing, "__module__", "") == module]
    return [name for name in getattr(held, "__all__", own) if not name.startswith("_")]


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_in_the_reference(module: str) -> None:
    names = public_names(module)
    assert names
    assert {f"{module}.{name}" for name in names} <= documented()


def test_what_the_reference_has_exists_and_has_a_docstring() -> None:
    for name in documented():
        module, _, member = name.rpartition(".")
        thing = getattr(import_module(module), member)
        if inspect.isclass(thing) or inspect.isroutine(thing):
            assert inspect.getdoc(thing), name


def test_every_document_is_in_the_contents_of_the_site() -> None:
    """Read as text: Sphinx is not needed for this."""
    text = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"development"}
    assert pages <= set(re.findall(r'"([\w.]+)"', text.split("CONTENTS = {")[1].split("}")[0]))
    for page in re.findall(r"^(\w+)$", (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8"), re.MULTILINE):
        assert (ROOT / "docs" / "api" / f"{page}.md").exists()
