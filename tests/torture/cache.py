"""Damage to the cache of solved parts, killed and competing processes; then every question.

Nobody has to trust the cache: whatever is in it, and whoever else is at work, an answer is the right one.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torture.case import BrokenError, Case
from torture.files import damage_one
from torture.kills import SIGNALS
from torture.processes import Child, Ended, judged, run, start, strict_json

GAME = ["--pieces", "3", "--squares", "8"]
BOARDS = ("3,9/5,8", "2,8,9/10", "10/8,10", "1,3/9,10", "9,10/4,9,10")  # in two parts


def cache(case: Case) -> None:
    """A cache in some state, and questions that are asked at once, one after the other, or by several."""
    shutil.copytree(case.once("cache", lambda part: _fill(case, part)), case.directory, dirs_exist_ok=True)
    for _ in range(case.rng.randint(1, 3)):
        _disturb(case)
        children = [_asked(case, case.directory) for _ in range(case.rng.choice((1, 1, 2, 3)))]
        for _, child in children:
            if case.rng.random() < 0.2:
                moment = case.rng.uniform(0, 0.2)
                if not child.poll(moment):
                    number = case.chosen(SIGNALS)
                    case.log(f"{number.name} after {moment:.3f} s")
                    case.count(number.name)
                    child.send(number)
        for question, child in children:
            _compare(case, question, judged(child.end()))
    for path in (case.directory / "cache").glob("part-*"):  # so that the last one solves, and tidies up
        shutil.rmtree(path)
    question, child = _asked(case, case.directory)
    _compare(case, question, judged(child.end()))
    left = [path.name for path in (case.directory / "cache").iterdir() if path.name.startswith(".part-")]
    if left:
        raise BrokenError("other", f"{', '.join(left)} is left in the cache")


def _fill(case: Case, part: Path) -> None:
    """A cache with the parts of all boards, and a database of the game to compare with."""
    ended = run(case, ["solve", *GAME, "--out", str(part / "right")])
    if ended.status:
        raise BrokenError("other", f"{ended.what}: {ended.message}")
    for board in BOARDS:
        question = ["win", board, *GAME, "--json"]
        judged(start(case, "madn " + " ".join(question), _with_cache(part / "cache", question)).end())


def _with_cache(directory: Path, args: list[str]) -> Callable[[], int]:
    """`madn ARGS` with this cache, and no other place to look for answers."""

    def work() -> int:
        from madn.cli import main

        os.environ |= {"MADN_CACHE": str(directory), "XDG_DATA_HOME": str(directory / "none")}
        return main(args)

    return work


def _disturb(case: Case) -> None:
    """Change something in the cache."""
    directory = case.directory / "cache"
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    what = case.chosen(("damage", "damage", "damage", "exchange", "leftovers", "empty", "nothing"))
    case.count(what)
    case.log(what)
    parts = sorted(path for path in directory.glob("part-*") if path.is_dir())
    if what == "damage" and files:
        for _ in range(case.rng.choice((1, 1, 2))):
            damage_one(case, files)
    elif what == "exchange" and len(parts) > 1:
        one, other = case.rng.sample(parts, 2)
        case.log(f"{one.name} and {other.name}")
        one.rename(directory / "aside")
        other.rename(one)
        (directory / "aside").rename(other)
    elif what == "leftovers":
        begun = f".{case.chosen(parts).name}.madn-part" if parts else ".part-1-3x8-000-000.madn-old"
        for name in (begun, "part-0-3x8-000-000"):
            (directory / name).mkdir(exist_ok=True)
            (directory / name / "values-0000.madn").write_bytes(case.rng.randbytes(50))
    elif what == "empty" and parts:
        path = case.chosen(parts)
        shutil.rmtree(path)
        path.mkdir()


def _asked(case: Case, directory: Path) -> tuple[list[str], Child]:
    """A question without a database, put to a process of its own."""
    board, roll = case.chosen(BOARDS), str(case.rng.randint(1, 6))
    question = case.chosen((["win", board], ["best-move", board, roll], ["analyse", board]))
    args = [*question, *GAME, "--json"]
    case.log("madn " + " ".join(args))
    case.count("commands")
    return question, start(case, "madn " + " ".join(args), _with_cache(directory / "cache", args))


def _compare(case: Case, question: list[str], ended: Ended) -> None:
    """An answer must be the one of the database of the game, up to what two solves may differ by."""
    if ended.sent is not None and ended.status != 0:
        case.count("killed")
        return
    if ended.status != 0:
        raise BrokenError("other", f"{ended.what}: status {ended.status}, expected 0: {ended.message}")
    found = strict_json(ended.what, ended.out)
    right = run(case, [question[0], "right", *question[1:], "--json"])
    _same(ended.what, found, strict_json(right.what, right.out))
    if (found["exact"], found["source"]) != (True, "solved"):
        raise BrokenError("wrong numbers", f"{ended.what}: {found['source']}, expected a part that was solved")
    case.count("answered right")


def _same(what: str, found: Any, right: Any) -> None:
    if isinstance(right, dict):
        for key in right:
            if key not in {"error", "source"}:
                _same(f"{what}: {key}", found[key], right[key])
    elif isinstance(right, list):
        if len(found) != len(right):
            raise BrokenError("wrong numbers", f"{what}: {len(found)} entries, not {len(right)}")
        for one, other in zip(found, right, strict=True):
            _same(what, one, other)
    elif found != right and not (isinstance(right, float) and abs(found - right) < 1e-12):
        raise BrokenError("wrong numbers", f"{what} is {found}, not {right}")
