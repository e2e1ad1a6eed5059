"""Every example in the README and the documents is run, and must print what is printed there.

`MADN_UPDATE_DOCS=1 tools/test test_readme.py` writes the output of today into the documents instead. It
keeps what still agrees, times and other things that depend on the machine included.
"""

import os
import re
import shlex
import shutil
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import rules_page
from documents import examples

from madn.cli import commands, main
from madn.estimator import find_estimator
from madn.rules import HOUSE_RULES, Rules

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database `two` that documents ask."""
    directory = tmp_path_factory.mktemp("databases") / "two"
    assert main(["solve", "--pieces", "2", "--out", str(directory)]) == 0
    return directory


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_examples_print_what_they_say(
    document: Path, two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(two, tmp_path / "two")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    update = os.environ.get("MADN_UPDATE_DOCS")
    text = document.read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for example in examples(document):
        output = example.run(names)
        if example.agrees(output):
            continue
        if not update:
            pytest.fail(f"{example}: {example.source.strip()}\nprinted:\n{example.printed}\nnow:\n{output}")
        assert example.shown in text, f"{example}: cannot be updated"
        text = text.replace(example.shown, replace(example, printed=example.updated(output)).shown)
    if update:
        document.write_text(text, encoding="utf-8")


def test_the_examples_are_found() -> None:
    found = examples(ROOT / "README.md")
    assert {example.language for example in found} == {"python", "console"}
    assert any(not example.agrees("") for example in found)


@pytest.mark.parametrize("command", ["", *commands.commands])
def test_every_command_and_option_is_documented(command: str) -> None:
    """The help of each command stands in docs/cli.md; the test above compares it with --help."""
    source = " ".join(f"madn {command} --help".split())
    assert source in [example.source for example in examples(ROOT / "docs" / "cli.md")]


@pytest.mark.parametrize(("pieces", "name"), [(3, "three"), (4, "four")])
def test_readme_says_what_is_estimated(pieces: int, name: str) -> None:
    """And how good the model in the package is, if there is one for this game."""
    estimator = find_estimator(Rules(pieces=pieces))
    claim = "no answer before the endgame"
    if estimator is not None:
        claim = f"estimated, off by {100 * estimator.error:.1f} percentage points (root mean square)"
    assert f"| {name} pieces | {claim} |" in (ROOT / "README.md").read_text(encoding="utf-8")


def typed_first() -> list[str]:
    """What README, the page about the server and the end of tools/run tell people to type: arguments of madn."""
    text = (ROOT / "tools" / "run").read_text(encoding="utf-8").split("What to try next:")[1].replace("$db", "two")
    text += "".join((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/web.md"))
    found = re.findall(r"tools/run ([^`\n…#]*?)(?:`|  |$|…)", text, re.MULTILINE)
    return sorted({line for line in found if line and line != "ARGS"})


@pytest.mark.parametrize("line", typed_first())
def test_what_people_are_told_to_type_works(
    line: str, two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Questions are asked; of what runs long, waits for somebody or needs a large machine, the arguments are read."""
    name, *args = shlex.split(line)
    if name in {"analyse", "best-move", "win", "-h"}:
        shutil.copytree(two, tmp_path / "databases" / "two")
        shutil.copytree(two, tmp_path / "two")
        monkeypatch.chdir(tmp_path)
        assert main([name, *args]) == 0
    else:
        parent = commands.make_context("madn", [name])  # click keeps the help option of the first who asks
        commands.commands[name].make_context(name, args, parent=parent)


def test_links_between_the_documents_lead_somewhere() -> None:
    for document in DOCUMENTS:
        for target in re.findall(r"""(?:\]\(|src=")([^)#"]+)[^)]*[)"]""", document.read_text(encoding="utf-8")):
            place = document.parent / target
            if target.startswith("../madn/") and not (ROOT / "madn").exists():
                place = Path(str(resources.files("madn"))) / target.removeprefix("../madn/")  # without the sources
            if "://" not in target:
                assert place.exists(), f"{document.name} links to {target}"


@pytest.mark.parametrize("name", [*rules_page.PAGES, *(f"rules-{name}.svg" for name in rules_page.PICTURES)])
def test_the_rules_on_the_page_are_those_of_the_documents(name: str) -> None:
    now, path = rules_page.made(name), rules_page.STATIC / name
    if not path.parent.exists():  # without the sources
        path = Path(str(resources.files("madn"))) / "web" / "static" / name
    if os.environ.get("MADN_UPDATE_DOCS"):
        path.write_text(now, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == now


def test_the_rules_say_the_same_in_both_languages() -> None:
    """As many sections, pictures, rows and examples, in the same order; nothing of the house rules is missing."""
    shape = re.compile(r"^(#+ |\*\*|\||- |\$ .*|!.*\(.*\))", re.MULTILINE)
    english, german = ((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("rules.md", "rules.de.md"))
    picture = re.compile(r"!\[.*\]")
    assert picture.sub("", "\n".join(shape.findall(english))) == picture.sub("", "\n".join(shape.findall(german)))
    for name in HOUSE_RULES:
        for text in (english, german):
            assert f"| `--{name.replace('_', '-')}` | `{name}` |" in text
    assert set(re.findall(r"/rules-([a-z-]+)\.svg", english)) == set(rules_page.PICTURES)
