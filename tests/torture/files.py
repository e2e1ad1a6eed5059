"""Damage to every file that is ever read back, then resuming or asking.

The result is right, or there is one line and status 3 (`verify`: 1); never another number.
"""

import json
import os
import shutil
from pathlib import Path
from typing import Any

from damage import damaged

from torture.case import BrokenError, Case
from torture.processes import Ended, call, judged, run, start, strict_json
from torture.tasks import CANTSTOP, TASKS, Right, impatient_main, source_of, steps_of, stopped

STOPS = 8  # moments at which a task is stopped, for each task and process of torture


def unfinished(case: Case) -> None:
    """Damage to what a stopped task left behind; then the command that goes on."""
    task = case.chosen([task for task in TASKS if task.resumes])
    right = Right.of(case, task)
    stop = case.rng.randrange(STOPS)

    place = case.shared / "place"  # work that was moved is not gone on with: it is damaged where it was begun
    steps = steps_of(case, right)

    def make(part: Path) -> None:
        _empty(place)
        stopped(Case(case.group, stop, place, case.shared), right, None if stop == 0 else max(1, steps * stop // STOPS))
        shutil.rmtree(place / "logs")
        shutil.copytree(place, part, dirs_exist_ok=True)

    left = case.once(f"stopped_{task.name.replace(' ', '_')}_{stop}", make)
    _empty(place)
    shutil.copytree(left, place, dirs_exist_ok=True)
    case.directory = place
    files = sorted(path for path in case.directory.rglob("*") if path.is_file() and "logs" not in path.parts)
    if not files:
        case.count("nothing was left")
        return
    for _ in range(1 if case.rng.random() < 0.8 else 2):
        damage_one(case, files)
    args = right.now(case.directory)
    case.log("madn " + " ".join(args))
    ended = judged(start(case, "madn " + " ".join(args), lambda: impatient_main(args)).end())
    if ended.status == 0:
        right.check_complete(case.directory, ended)
        case.count("made again, right")
    elif ended.status == 3 or (ended.status == 2 and any("removed" in step for step in case.steps)):
        right.check_published(case.directory)
        case.count("refused")
    else:
        raise BrokenError("other", f"{ended.what}: status {ended.status}, expected 0 or 3: {ended.message}")


def _empty(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()


def damage_one(case: Case, files: list[Path]) -> None:
    """Damage one file: first a kind of file is chosen, so that the few small ones have their share."""
    kinds: dict[str, list[Path]] = {}
    for path in files:
        name = path.name if "." not in path.name or path.name.startswith(".") else path.suffix
        kinds.setdefault(f"{path.parent.name if path.suffix == '.madn' else ''}{name}", []).append(path)
    kind = case.chosen(sorted(kinds))
    path = case.chosen(kinds[kind])
    other = case.chosen(kinds[kind] if case.rng.random() < 0.7 else files)
    if not path.exists():
        return
    if case.rng.random() < 0.05:
        path.unlink()
        what = "removed"
    else:
        before = path.read_bytes()
        what, after = damaged(case.rng, before, other.read_bytes() if other.exists() else b"")
        path.write_bytes(after)
        if before == after:
            what = "unchanged"
    case.log(f"{path.relative_to(case.directory)}: {what}")
    case.count(what)


# Published databases


def published(case: Case) -> None:
    """Damage to a published database; then everything that reads it."""
    name, original = original_of(case)
    directory = case.directory / "db"
    shutil.copytree(original, directory)
    files = sorted(directory.iterdir())
    for _ in range(1 if case.rng.random() < 0.8 else 2):
        damage_one(case, files)
    same = _bytes_of(directory) == _bytes_of(original)
    if name == "cantstop":
        _ask_cantstop(case, original)
        return
    boards = _boards(case)
    for _ in range(3):
        _ask(case, original, same, boards)


def original_of(case: Case) -> tuple[str, Path]:
    """A database of one of these kinds, as it should be."""
    source = source_of(case)
    name = case.chosen(("fixed32", "float64", "bits", "policy", "cantstop"))
    small = str(source.with_name("source-small"))

    def make(part: Path) -> None:
        db = str(part / "db")
        made = {
            "fixed32": ["solve", "--pieces", "2", "--squares", "8", "--tolerance", "1e-6", "--out", db],
            "float64": ["solve", "--pieces", "2", "--squares", "8", "--out", db],
            "bits": ["compress", small, db, "--bits", "12"],
            "policy": ["compress", small, db, "--store", "policy"],
            "cantstop": ["cantstop", *CANTSTOP, "--out", db],
        }[name]
        ended = run(case, made)
        if ended.status:
            raise BrokenError("other", f"{ended.what}: {ended.message}")

    return name, case.once(f"original_{name}", make) / "db"


def _bytes_of(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def _boards(case: Case) -> list[str]:
    def board() -> str:
        squares = case.rng.sample(range(8), 4)
        own = sorted(squares[: case.rng.randint(0, 2)])
        other = sorted((square + 4) % 8 for square in squares[2 : 2 + case.rng.randint(0, 2)])
        return f"{','.join(map(str, own)) or 'b'}/{','.join(map(str, other)) or 'b'}"

    return [board() for _ in range(4)]


def _ask(case: Case, original: Path, same: bool, boards: list[str]) -> None:
    """Ask a damaged database of Ludo and compare with the original."""
    board, roll = case.chosen(boards), str(case.rng.randint(1, 6))
    question = case.chosen(
        [
            ["win", "DB", board],
            ["best-move", "DB", board, roll],
            ["analyse", "DB", board],
            ["info", "DB"],
            ["verify", "DB"],
            ["verify", "DB", "--deep"],
            ["compress", "DB", "new", "--bits", "10"],
            ["python", "DB"],
        ]
    )
    if question[0] == "python":
        _ask_python(case, original)
        return
    if (case.directory / "new").exists():
        shutil.rmtree(case.directory / "new")
    ended = run(case, [arg.replace("DB", "db") for arg in question] + ["--json"])
    _compare(case, ended, question, original, same)


def _compare(case: Case, ended: Ended, question: list[str], original: Path, same: bool) -> None:
    if question[0] == "verify":
        if (ended.status == 0) != same:
            raise BrokenError(
                "other", f"{ended.what}: status {ended.status} for a {'good' if same else 'damaged'} database"
            )
    elif ended.status == 0:
        expected = _expected(case, question, original)
        found = strict_json(ended.what, ended.out)
        for key in ("positions", "rules", "boards", "win", "move", "moves", "rolls"):
            if expected.get(key) != found.get(key):
                raise BrokenError(
                    "wrong numbers", f"{ended.what}: {key} is {found.get(key)}, not {expected.get(key)}"[:600]
                )
        case.count("answered right")
    elif ended.status not in {2, 3} or (ended.status == 2 and _expected(case, question, original) is not None):
        raise BrokenError("other", f"{ended.what}: status {ended.status}, expected 3: {ended.message}")
    else:
        case.count("refused")


def _expected(case: Case, question: list[str], original: Path) -> Any:
    """What the original answers; None if it refuses."""
    inner = Case(case.group, case.seed, case.directory, case.shared)
    if (case.directory / "new").exists():
        shutil.rmtree(case.directory / "new")
    ended = run(inner, [arg.replace("DB", str(original)) for arg in question] + ["--json"])
    return strict_json(ended.what, ended.out) if ended.status == 0 else None


def _ask_python(case: Case, original: Path) -> None:
    """Every position of the damaged database, in one call and one by one, in a fork."""
    seed = case.rng.randrange(2**32)

    def work() -> int:
        import random

        import numpy as np

        import madn

        with madn.open_database(original) as good:
            ids = np.arange(good.rules.positions)
            boards = [madn.unrank(i, good.rules) for i in random.Random(seed).choices(range(len(ids)), k=20)]
            values = "policy" not in str(original)
            wanted = good.win_many(ids) if values else None
            moves = [[good.best_move(board, roll) for roll in range(1, 7)] for board in boards if board.winner is None]
        refused = 0
        try:
            with madn.open_database("db") as db:
                json.dumps(db.info(), allow_nan=False)
                if wanted is not None and not np.array_equal(db.win_many(ids), wanted):
                    raise AssertionError("win_many gave another number")
                found = [
                    [db.best_move(board, roll) for roll in range(1, 7)] for board in boards if board.winner is None
                ]
                if found != moves:
                    raise AssertionError("best_move gave another move")
        except madn.MadnError:
            refused = 1
        print(refused)
        return 0

    ended = _python(case, "every position from Python", work)
    case.count("refused" if ended.out.strip() == "1" else "answered right")


def _python(case: Case, what: str, work: Any) -> Ended:
    def safely() -> int:
        try:
            return int(work() or 0)
        except AssertionError as error:
            os.write(2, f"{error}\n".encode())
            return 1

    return call(case, what, safely, kind="wrong numbers")


def _ask_cantstop(case: Case, original: Path) -> None:
    for position in ("-/-", "4:1/5:1", "3:1,4:2/5:1"):
        question = ["cantstop", "--db", "DB", "--position", position]
        ended = run(case, [arg.replace("DB", "db") for arg in question] + ["--json"])
        if ended.status == 0:
            found, expected = strict_json(ended.what, ended.out), _expected(case, question, original)
            for key in ("first_player", "position", "positions"):
                if expected.get(key) != found.get(key):
                    raise BrokenError(
                        "wrong numbers", f"{ended.what}: {key} is {found.get(key)}, not {expected.get(key)}"
                    )
            case.count("answered right")
        elif ended.status != 3:
            raise BrokenError("other", f"{ended.what}: status {ended.status}, expected 3: {ended.message}")
        else:
            case.count("refused")
