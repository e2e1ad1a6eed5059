"""The container file: what it copies is there, what it installs exists, and its command is one of madn."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from madn.cli import commands

ROOT = Path(__file__).resolve().parent.parent
STEPS = [
    tuple(step.split(maxsplit=1))
    for step in re.sub(r"\\\n", "", (ROOT / "Containerfile").read_text(encoding="utf-8")).splitlines()
    if step and not step.startswith("#")
]


def of(kind: str) -> list[str]:
    return [text for name, text in STEPS if name == kind]


def test_what_is_copied_is_there_and_is_sent() -> None:
    sent = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    copied = [name for text in of("COPY") if not text.startswith("--from") for name in text.split()[:-1]]
    assert {"pyproject.toml", "setup.py", "madn"} <= set(copied)
    for name in copied:
        assert f"!{name}" in sent
        assert (ROOT / name).exists() or not (ROOT / "madn").exists()  # the tests may run without the sources


def test_the_build_has_all_that_the_package_is_made_of() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    copied = " ".join(of("COPY"))
    assert all(name in copied for name in (project["readme"], *project["license-files"]))
    (extras,) = re.findall(r"'\.\[(\w+)\]'", " ".join(of("RUN")))
    assert extras in project["optional-dependencies"]
    versions = {re.fullmatch(r"python:(3\.\d+)-slim( AS build)?", text).group(1) for text in of("FROM")}  # type: ignore[union-attr]
    assert len(versions) == 1  # an environment moves only to the same Python
    assert f"Programming Language :: Python :: {versions.pop()}" in project["classifiers"]


def test_it_serves_and_not_as_root() -> None:
    assert of("ENTRYPOINT") == ['["madn"]']
    name, *args = json.loads(of("CMD")[0])
    context = commands.commands[name].make_context(name, args, parent=commands.make_context("madn", [name]))
    assert context.params["host"] == "0.0.0.0"
    assert of("EXPOSE") == [str(context.params["port"])]
    (user,) = of("USER")
    assert user != "0"
    assert f"--uid {user} " in " ".join(of("RUN"))


@pytest.mark.parametrize("line", re.findall(r"#   podman run (.*)", (ROOT / "Containerfile").read_text("utf-8")))
def test_the_commands_in_its_head_are_those_of_madn(line: str) -> None:
    args = line.split("  ")[0].split(" madn", 1)[1].split()
    if args:
        commands.commands[args[0]].make_context(args[0], args[1:], parent=commands.make_context("madn", args[:1]))
