"""Close, replace and fork while others read; two solvers at one place.

Two databases of random numbers have the same layout to the byte, so that a read from the wrong file is not noticed by
its form. Every answer must be of the database that was opened.
"""

import os
import random
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from torture.case import BrokenError, Case
from torture.processes import LIMIT, call, command, judged, start
from torture.tasks import TASKS, Right

SECONDS = 1.5  # that a race takes
PIECES, SQUARES = 2, 8


class Noise:
    """A source of random values that zstd cannot make smaller: all blocks have the same length for every seed."""

    representation = "bits8"

    def __init__(self, seed: int) -> None:
        from madn import Board, Rules

        self.rules = Rules(PIECES, SQUARES)
        self.raw = np.random.default_rng(seed).integers(0, 256, self.rules.positions, dtype=np.uint8)
        self.min_board = self.max_board = Board.start(self.rules)

    @property
    def wins(self) -> Any:
        """The probabilities by ID."""
        return self.raw / 255.0

    def read(self, first: int, out: Any) -> None:
        """Fill in values."""
        out[:] = self.raw[first : first + len(out)]


def write(path: Path, seed: int) -> None:
    """Write a database of noise."""
    from madn.store import write_database

    write_database(path, Noise(seed), {"seed": seed}, block_positions=500)


def twins(case: Case) -> Path:
    """A directory with the databases `0` and `1`."""

    def make(part: Path) -> None:
        inner = Case(case.group, 0, part, case.shared)
        for seed in (0, 1):
            call(inner, f"write {seed}", lambda seed=seed: write(part / str(seed), seed))  # type: ignore[misc]

    return case.once("twins", make)


def races(case: Case) -> None:
    """One of the races."""
    race = case.chosen((closing, replacing, forking, rivals))
    case.count(race.__name__)
    race(case)


def _said(problems: list[str]) -> int:
    """Say what went wrong on standard error, wrong numbers first; the status of the process."""
    for problem in sorted(problems, key=lambda problem: "instead of" not in problem)[:3]:
        os.write(2, f"{problem}\n".encode())
    return 1 if problems else 0


def _counted(case: Case, what: str, work: Callable[[], int | None]) -> None:
    """Run a race in a fork; it prints how many reads it made."""
    ended = judged(start(case, what, work).end())
    if ended.status:
        raise BrokenError(
            "wrong numbers" if "instead of" in ended.err else "other", f"{what}: {ended.err.strip()[-500:]}"
        )
    case.count("reads", sum(map(int, ended.out.split())))


# Close


def closing(case: Case) -> None:
    """Threads read a database while another closes it, and others open its twin: numbers of it, or "closed"."""
    where, seed = twins(case), case.rng.randrange(2**32)
    _counted(case, "close while threads read", lambda: _closing(where, seed))


def _closing(where: Path, seed: int) -> int:
    import madn

    rng = random.Random(seed)
    wins = Noise(0).wins
    ids = list(range(len(wins)))
    problems: list[str] = []
    reads, errors = 0, set[str]()
    end = time.monotonic() + SECONDS
    sys.setswitchinterval(rng.choice((1e-6, 1e-5, 1e-4)))

    def read(db: Any, number: int) -> None:
        nonlocal reads
        chance = random.Random(number)
        try:
            while True:
                some = np.array(chance.choices(ids, k=chance.choice((1, 3, 600))))
                found = db.win_many(some)
                reads += len(some)
                if not np.array_equal(found, wins[some]):
                    problems.append(f"{found[:3]} instead of {wins[some][:3]}")
        except madn.MadnError as error:
            errors.add(type(error).__name__)
            if "closed" not in str(error):
                problems.append(f"a read beside close() said {type(error).__name__}: {error}")
        except Exception as error:
            problems.append(f"a read beside close() said {type(error).__name__}: {error}")

    while time.monotonic() < end:
        db = madn.open_database(where / "0", cache_bytes=rng.choice((0, 1000, 1 << 20)))
        threads = [threading.Thread(target=read, args=(db, rng.random())) for _ in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(rng.uniform(0, 0.01))
        db.close()
        others = [madn.open_database(where / "1") for _ in range(3)]  # take the numbers of its descriptors
        for other in others:
            other.win_many(np.array(rng.choices(ids, k=5)))
        for thread in threads:
            thread.join(20)
            if thread.is_alive():
                problems.append("a thread still reads 20 seconds after close()")
        for other in others:
            other.close()
    if len(errors) > 1:
        problems.append(f"reads beside close() raise different errors: {', '.join(sorted(errors))}")
    print(reads)
    return _said(problems)


# Replace


def replacing(case: Case) -> None:
    """A process replaces a database again and again while others open and read it: the old one or the new one."""
    where = twins(case)
    target = case.directory / "db"
    shutil.copytree(where / "0", target)
    until = time.monotonic() + SECONDS
    seeds = [case.rng.randrange(2**32) for _ in range(3)]
    writer = start(case, "replace", lambda: _replace(target, until))
    readers = [start(case, "read beside replace", lambda seed=seed: _read(target, until, seed)) for seed in seeds]  # type: ignore[misc]
    shell = case.chosen((["win", "db", "0/0", "--json"], ["info", "db", "--json"], ["verify", "db", "--json"]))
    while time.monotonic() < until:
        ended = judged(command(case, shell).end())
        case.count("commands beside replace")
        if ended.status != 0:
            raise BrokenError(
                "other", f"{ended.what} beside replace: status {ended.status}: {ended.message or ended.out[-300:]}"
            )
    for child in (writer, *readers):
        ended = judged(child.end())
        if ended.status:
            kind = "wrong numbers" if "instead of" in ended.err else "other"
            raise BrokenError(kind, f"{ended.what}: {ended.err.strip()[-400:]}")
        case.count("replacements" if child is writer else "reads", int(ended.out or 0))


def _replace(target: Path, until: float) -> int:
    number = 0
    while time.monotonic() < until:
        number += 1
        write(target, number % 2)
    print(number)
    return 0


def _read(target: Path, until: float, seed: int) -> int:
    import madn

    rng = random.Random(seed)
    wins = [Noise(number).wins for number in (0, 1)]
    ids = list(range(len(wins[0])))
    reads = 0
    while time.monotonic() < until:
        try:
            with madn.open_database(target) as db:
                if rng.random() < 0.5:
                    time.sleep(rng.uniform(0, 0.05))
                which = {0, 1}
                for _ in range(rng.randint(1, 5)):
                    some = np.array(rng.choices(ids, k=50))
                    found = db.win_many(some)
                    reads += len(some)
                    which &= {number for number in (0, 1) if np.array_equal(found, wins[number][some])}
                    if not which:
                        return _said([f"{found[:3]} instead of {wins[0][some][:3]} or {wins[1][some][:3]}"])
        except Exception as error:
            return _said([f"a reader failed: {type(error).__name__}: {error}"])
    print(reads)
    return 0


# Fork


def forking(case: Case) -> None:
    """A process forks in the middle of reading, with and without threads: both go on, with right numbers."""
    where, seed = twins(case), case.rng.randrange(2**32)
    _counted(case, "fork while reading", lambda: _forking(where, seed))


def _forking(where: Path, seed: int) -> int:
    import warnings

    import madn

    warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of forks beside threads; people do it
    rng = random.Random(seed)
    wins = Noise(0).wins
    ids = list(range(len(wins)))
    problems: list[str] = []
    reads = 0
    stop = threading.Event()
    db = madn.open_database(where / "0", cache_bytes=rng.choice((0, 1 << 20)))

    def read(chance: random.Random, count: int) -> None:
        nonlocal reads
        for _ in range(count):
            if stop.is_set():
                return
            some = np.array(chance.choices(ids, k=chance.choice((1, 20))))
            found = db.win_many(some)
            reads += len(some)
            if not np.array_equal(found, wins[some]):
                problems.append(f"{found[:3]} instead of {wins[some][:3]}")

    threads = [threading.Thread(target=read, args=(random.Random(i), 10**9)) for i in range(rng.choice((0, 1, 3)))]
    for thread in threads:
        thread.start()
    for _ in range(6):
        read(rng, 5)
        child = os.fork()
        if child == 0:
            try:
                problems.clear()
                read(rng, 20)
                db.close()
                with madn.open_database(where / "1") as other:
                    if other.win_many(np.arange(1))[0] != Noise(1).wins[0]:
                        problems.append("another database gave another number instead of its own")
            except BaseException as error:
                problems.append(f"after a fork: {type(error).__name__}: {error}")
            os._exit(_said(problems))
        if not _ended_well(child):
            problems.append("a process that was forked while others read failed or hung")
            break
    stop.set()
    for thread in threads:
        thread.join()
    print(reads)
    return _said(problems)


def _ended_well(child: int, seconds: float = 15.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return status == 0
        time.sleep(0.005)
    os.kill(child, 9)
    os.waitpid(child, 0)
    os.write(2, b"hung: ")
    return False


# Two at one place


def rivals(case: Case) -> None:
    """Two processes with the same target or scratch directory: one works, the other refuses or comes later."""
    task = case.chosen([task for task in TASKS if task.name.startswith(("solve", "compress"))])
    right = Right.of(case, task)
    other = list(right.args)
    if "scratch" in other and case.rng.random() < 0.4:
        other[other.index("scratch")] = "scratch2"  # only the target is the same
    first = command(case, right.args)
    first.poll(case.rng.uniform(0, right.seconds / 2))
    second = command(case, other)
    endings = [judged(child.end(2 * LIMIT)) for child in (first, second)]
    for ended in endings:
        if ended.status not in {0, 2, 3}:
            raise BrokenError("other", f"{ended.what} beside another: status {ended.status}: {ended.message}")
    if all(ended.status for ended in endings):
        raise BrokenError(
            "lost work", f"two beside each other: neither came to an end: {endings[0].message}; {endings[1].message}"
        )
    right.check_published(case.directory)
    last = judged(command(case, right.now(case.directory)).end())
    right.check_complete(case.directory, last)
