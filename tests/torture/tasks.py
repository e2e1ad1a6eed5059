"""The tasks that are killed, damaged and raced: right commands, commands that do not fit, and what must come out."""

import hashlib
import json
import os
import shutil
import signal
import sqlite3
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from torture.case import BrokenError, Case
from torture.processes import Ended, call, run, strict_json

GAME = ("--pieces", "3", "--squares", "10")
TWO = ("--pieces", "2", "--squares", "16")
CANTSTOP = ("--sides", "3", "--shortest", "2")
CHECKPOINT_PAUSE = 0.02  # seconds between two checkpoints of Can't Stop, instead of minutes
# What may differ between two runs of the same command.
TIMES = {"seconds"}


@dataclass(frozen=True)
class Task:
    """A command that can be stopped and goes on; `SOURCE` in it stands for a database of another game.

    `wrong` are commands that somebody may type after a stop by mistake: they fit neither its scratch directory nor its
    target, or would only come to the same. `databases` are what it publishes.
    """

    name: str
    right: tuple[str, ...]
    databases: tuple[str, ...]
    wrong: tuple[tuple[str, ...], ...]
    resumes: bool = True

    def command(self, source: Path) -> list[str]:
        """The right command."""
        return _with_source(self.right, source)

    def wrong_commands(self, source: Path) -> list[list[str]]:
        """The commands that do not fit."""
        return [_with_source(args, source) for args in self.wrong]


def _with_source(args: tuple[str, ...], source: Path) -> list[str]:
    return [arg.replace("SOURCE", str(source)) for arg in args]


def _solve(*args: str, game: tuple[str, ...] = GAME) -> tuple[str, ...]:
    return ("solve", *game, "--threads", "2", "--json", *args)


SCRATCH = ("--scratch", "scratch", "--resume")
WRONG_SOLVES = (
    _solve("--out", "db", "--bits", "11", *SCRATCH),
    _solve("--out", "db", "--bits", "11"),
    _solve("--out", "db", *SCRATCH, game=TWO),
    _solve("--out", "db", game=TWO),
    _solve("--out", "db", "--tolerance", "1e-3", *SCRATCH),
    _solve("--out", "db", "--for", "10,11/0", *SCRATCH),
    _solve("--out", "db"),
    _solve(*SCRATCH),
    _solve("--out", "db", "--scratch", "scratch"),
    _solve("--out", "db2", *SCRATCH),
    _solve("--out", "db", "--policy", "other-policy", *SCRATCH),
    _solve("--policy", "db", *SCRATCH),
    _solve("--out", "db", "--scratch", "scratch2", "--resume"),
    _solve("--out", "db3", "--scratch", "scratch3", "--resume", game=TWO),
    _solve("--out", "db", "--scratch", "db", "--resume"),
    _solve("--out", "scratch", *SCRATCH),
    ("compress", "SOURCE", "db", "--bits", "9", "--json"),
    ("compress", "SOURCE", "scratch", "--json"),
    ("cantstop", *CANTSTOP, "--out", "db", "--json"),
)


def _disk_task(name: str, *args: str, databases: tuple[str, ...] = ("db",)) -> Task:
    right = _solve(*args, "--scratch", "scratch")
    wrong = tuple(command for command in WRONG_SOLVES if command not in (right, (*right, "--resume")))
    return Task(name, right, databases, wrong)


TASKS = (
    Task(
        "solve in memory",
        _solve("--out", "db"),
        ("db",),
        (_solve("--out", "db", game=TWO), _solve("--out", "db", "--bits", "9"), _solve("--resume")),
        resumes=False,
    ),
    _disk_task("solve --scratch", "--out", "db"),
    _disk_task("solve --scratch --memory", "--out", "db", "--memory", "STREAMED"),
    _disk_task("solve --scratch --policy", "--out", "db", "--policy", "policy", databases=("db", "policy")),
    _disk_task("solve --scratch --bits", "--out", "db", "--bits", "16"),
    _disk_task("solve --scratch --census", "--out", "db", "--census"),
    Task(
        "compress --bits",
        ("compress", "SOURCE", "db", "--bits", "12", "--level", "19", "--json"),
        ("db",),
        (
            ("compress", "SOURCE", "db", "--bits", "13", "--level", "19", "--json"),
            ("compress", "SOURCE", "db", "--json"),
            ("compress", "SOURCE", "db", "--store", "policy", "--json"),
            ("compress", "SOURCE-small", "db", "--bits", "12", "--level", "19", "--json"),
            _solve("--out", "db", game=TWO),
            _solve("--out", "db", *SCRATCH),
            ("cantstop", *CANTSTOP, "--out", "db", "--json"),
        ),
    ),
    Task(
        "compress --store policy",
        ("compress", "SOURCE", "db", "--store", "policy", "--json"),
        ("db",),
        (
            ("compress", "SOURCE", "db", "--bits", "12", "--json"),
            ("compress", "SOURCE-small", "db", "--store", "policy", "--json"),
            _solve("--out", "db", game=TWO),
        ),
    ),
    Task(
        "cantstop --checkpoint",
        ("cantstop", *CANTSTOP, "--checkpoint", "checkpoint", "--out", "db", "--threads", "2", "--json"),
        ("db",),
        (
            ("cantstop", "--sides", "3", "--shortest", "1", "--checkpoint", "checkpoint", "--json"),
            ("cantstop", *CANTSTOP, "--method", "plain", "--checkpoint", "checkpoint", "--json"),
            ("cantstop", *CANTSTOP, "--checkpoint", "checkpoint", "--out", "checkpoint", "--json"),
            _solve("--out", "checkpoint", game=TWO),
            _solve("--out", "db2", "--scratch", "checkpoint", "--resume", game=TWO),
        ),
    ),
)


def source_of(case: Case) -> Path:
    """A database that is compressed, and beside it `-small`, one of another game."""

    def make(part: Path) -> None:
        for name, squares in (("source", "20"), ("source-small", "8")):
            ended = run(case, ("solve", "--pieces", "2", "--squares", squares, "--out", str(part / name), "--json"))
            _must_succeed(ended)

    return case.once("sources", make) / "source"


@dataclass(frozen=True)
class Right:
    """What a task gives when nothing disturbs it: its command, databases, JSON, and time."""

    task: Task
    args: list[str]
    published: dict[str, Any]
    printed: dict[str, Any]
    seconds: float

    @classmethod
    def of(cls, case: Case, task: Task) -> "Right":
        """Run it once in this process of torture; later cases read what it gave."""
        source = source_of(case)
        args = task.command(source)
        if "STREAMED" in args:
            args[args.index("STREAMED")] = str(_least_memory(case))

        def make(part: Path) -> None:
            directory = Case(case.group, 0, part / "run", case.shared)
            directory.directory.mkdir()
            run(directory, args)
            for name in task.databases:  # the second time is that of a process that has done it before
                shutil.rmtree(directory.directory / name)
            begin = time.monotonic()
            ended = run(directory, args)
            _must_succeed(ended)
            (part / "seconds").write_text(repr(time.monotonic() - begin))
            (part / "printed").write_text(ended.out)

        made = case.once(task.name.replace(" ", "_"), make)
        printed = strict_json("madn", (made / "printed").read_text())
        published = {name: content_of(made / "run" / name) for name in task.databases}
        return cls(task, args, published, printed, float((made / "seconds").read_text()))

    def now(self, directory: Path) -> list[str]:
        """The command that begins, or goes on with what is there."""
        return [*self.args, "--resume"] if (directory / "scratch" / "plan.json").exists() else self.args

    def check_published(self, directory: Path) -> None:
        """Databases that are there must be those of the undisturbed run."""
        for name in self.task.databases:
            if (directory / name).exists():
                different(f"{name} of {self.task.name}", self.published[name], content_of(directory / name))

    def check_printed(self, ended: Ended) -> None:
        """The figures must be those of the undisturbed run."""
        found = without_times(strict_json(ended.what, ended.out))
        different(f"figures of {self.task.name}", without_times(self.printed), found)

    def check_complete(self, directory: Path, ended: Ended) -> None:
        """After the right command: all databases, the figures, and nothing else left."""
        if ended.status != 0:
            raise BrokenError("other", f"{ended.what}: status {ended.status}: {ended.message}")
        missing = [name for name in self.task.databases if not (directory / name).exists()]
        if missing:
            raise BrokenError("lost work", f"{ended.what}: status 0, but there is no {', '.join(missing)}")
        self.check_published(directory)
        self.check_printed(ended)

    def work(self, directory: Path) -> dict[str, float]:
        """How much of the work is there, if any of it can be gone on with: components, and blocks of each database."""
        done: dict[str, float] = {}
        if not self.task.resumes:
            return done
        for name in self.task.databases:
            journal = directory / f".{name}.madn-part" / "journal"
            lines = journal.read_bytes().count(b"\n") - 1 if journal.exists() else 0
            done[f"blocks of {name}"] = float("inf") if self._is_published(directory / name) else max(lines, 0)
        complete = all(count == float("inf") for count in done.values())
        scratch, checkpoint = directory / "scratch", directory / "checkpoint"
        if "scratch" in self.args:
            done["components"] = float("inf") if complete else sum(1 for _ in scratch.glob("*.done"))
        if "checkpoint" in self.args:
            done["components"] = float("inf") if complete else checkpoint_components(checkpoint)
        return done

    def _is_published(self, path: Path) -> bool:
        return path.exists() and content_of(path) == self.published[path.name]


def _least_memory(case: Case) -> int:
    def make(part: Path) -> None:
        ended = run(case, ("plan", *GAME, "--scratch", "scratch", "--memory", "1", "--json"))
        (part / "bytes").write_text(str(strict_json(ended.what, ended.out)["from_disk"]["memory_bytes"]))

    return int((case.once("least_memory", make) / "bytes").read_text())


def _must_succeed(ended: Ended) -> None:
    if ended.status != 0:
        raise BrokenError("other", f"{ended.what}: an undisturbed run ended with {ended.status}: {ended.message}")


def different(what: str, expected: Any, found: Any) -> None:
    """Raise BrokenError unless two contents are the same; it says which parts differ."""
    if expected == found:
        return
    if isinstance(expected, dict) and isinstance(found, dict):
        for name in sorted({*expected, *found}):
            different(f"{what}: {name}", expected.get(name), found.get(name))
    raise BrokenError("wrong numbers", f"{what}: {str(found)[:100]} instead of {str(expected)[:100]}")


def without_times(facts: Any) -> Any:
    """Facts without what depends on the clock and on where files are."""
    if isinstance(facts, dict):
        return {name: without_times(value) for name, value in facts.items() if name not in TIMES}
    return [without_times(value) for value in facts] if isinstance(facts, list) else facts


def content_of(path: Path) -> dict[str, Any]:
    """What a database says: digests of its block files, and the rows of its catalogue without times."""
    content: dict[str, Any] = {}
    for file in sorted(path.glob("values-*")):
        content[file.name] = hashlib.sha256(file.read_bytes()).hexdigest()
    try:
        with closing(sqlite3.connect(f"{(path / 'catalogue.sqlite').absolute().as_uri()}?mode=ro", uri=True)) as rows:
            tables = [name for (name,) in rows.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for table in tables:
                content[table] = rows.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()
            content["provenance"] = {
                name: without_times(json.loads(value)) for name, value in content["provenance"] if name not in TIMES
            }
    except (sqlite3.Error, KeyError, ValueError) as error:
        content["catalogue"] = f"cannot be read: {error}"
    return content


def checkpoint_components(path: Path) -> float:
    """How many components a checkpoint of Can't Stop has; 0 if there is none."""
    with suppress(OSError, ValueError, KeyError), np.load(path, allow_pickle=False) as arrays:
        return float(json.loads(str(arrays["state"]))["components"])
    return 0.0


# Stopping at a certain step instead of a certain moment: what is left then can be made again from a seed


def stopped(case: Case, right: Right, step: int | None) -> None:
    """Do the task in the directory of the case until it has told its progress so many times, and kill it there.

    None: kill it when everything is done but nothing is published.
    """
    from madn.store.workplace import Workplace

    left = step

    def tell(*_: object) -> None:
        nonlocal left
        if left is not None:
            left -= 1
            if left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def kill(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def work() -> int:
        from madn.cli import progress

        progress.ProgressBar.__call__ = tell  # type: ignore[method-assign, assignment]
        if step is None:
            Workplace.publish = kill  # type: ignore[method-assign, assignment]
        return impatient_main(right.args)

    from torture.processes import start

    case.log(f"{right.task.name}, killed at step {step or 'the last'}")
    start(case, right.task.name, work).end()


def impatient_main(args: list[str]) -> int:
    """`madn ARGS` in this process, with checkpoints of Can't Stop in short intervals."""
    from functools import partial

    from madn.cli import main
    from madn.games.cantstop import solver

    keeper = vars(solver)["Checkpoint"]
    vars(solver)["Checkpoint"] = partial(keeper, pause=CHECKPOINT_PAUSE)
    return main(args)


def steps_of(case: Case, right: Right) -> int:
    """How often a task tells its progress."""

    def make(part: Path) -> None:
        inner = Case(case.group, 0, part, case.shared)

        def work() -> int:
            from madn.cli import progress

            told = 0

            def tell(*_: object) -> None:
                nonlocal told
                told += 1

            progress.ProgressBar.__call__ = tell  # type: ignore[method-assign, assignment]
            status = impatient_main(right.args)
            (part / "steps").write_text(str(told))
            return status

        call(inner, f"madn {' '.join(right.args)}", work)

    return int((case.once(f"steps_{right.task.name.replace(' ', '_')}", make) / "steps").read_text())
