"""Times the answers of a database of the three-piece game and measures its size. Prints one JSON object.

    madn solve --pieces 3 --out three
    madn compress three three16 --bits 16
    madn compress three three-policy --store policy
    python benchmarks/query.py three --bits16 three16 --policy three-policy

    python benchmarks/query.py --without-database

Times are medians: of single calls for one answer, of whole runs for the first answer and for a million. Cold
means that the database has just been opened and no block has been decoded; the files are in the system's cache.

The estimators of the package are timed too, on one thread: `wins_per_second` over random positions, in processor time,
with each build of the kernel; `first_answer_ms` from importing `madn.estimator` in a new process to the first value.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
from hardware import hardware

from madn import Advisor, Board, Rules, open_database
from madn._core import Game
from madn.database import Database
from madn.estimator import DATA, NETWORKS, file_name, find_estimator, read_model
from madn.parts import part_of

TARGETS = {
    "win_us": 15,
    "best_move_us": 60,
    "analyse_us": 250,
    "first_answer_ms": 20,
    "win_many_per_second": 1_000_000,  # at least
    "estimator_wins_per_second": 300_000,  # at least
    "estimator_first_answer_ms": 300,
    "first_estimate_ms": 300,
    "first_cached_ms": 300,
}
ESTIMATED = next(pieces for pieces in (4, 3) if find_estimator(Rules(pieces)))  # pieces of the game that is estimated
PARTS = ("12,41,42,43/5,41,42,43", "12,40,42/5,40,42", "12,40,41/5,42,43", "12/5,40,42,43")  # of four pieces


def boards_of(db: Database, count: int, near: int) -> list[Board]:
    """Random boards of open games, within a stretch of `near` IDs."""
    game = Game(db.rules)
    rng = np.random.default_rng(1)
    middle = db.rules.positions // 2
    found: list[Board] = []
    while len(found) < count:
        board = Board.from_masks(*game.unrank(middle + int(rng.integers(near))), db.rules)
        if board.winner is None:
            found.append(board)
    return found


def microseconds(ask: Callable[[Board], object], boards: list[Board]) -> float:
    """The median time of one call, after each was made once, so that all blocks needed have been decoded."""
    for board in boards:
        ask(board)
    times = []
    for board in boards:
        start = perf_counter()
        ask(board)
        times.append(perf_counter() - start)
    return median(times) * 1e6


def answers(path: str, count: int, near: int, values: bool) -> dict[str, float]:
    """The times of single answers with a warm cache."""
    with open_database(path) as db:
        boards = boards_of(db, count, near)
        rolls = np.random.default_rng(2).integers(1, 7, count).tolist()
        roll_of = dict(zip(boards, rolls, strict=True))
        found = {
            "best_move_us": microseconds(lambda board: db.best_move(board, roll_of[board]), boards),
            "analyse_us": microseconds(db.analyse, boards),
        }
        if values:
            found = {"win_us": microseconds(db.win, boards), **found}
    return {name: round(value, 2) for name, value in found.items()}


def first_answer(path: str, board: Board, values: bool, runs: int) -> float:
    """Milliseconds from opening a database to its first answer, which needs one block or a few."""
    times = []
    for _ in range(runs):
        start = perf_counter()
        with open_database(path) as db:
            if values:
                db.win(board)
            else:
                db.best_move(board, 3)
            times.append(perf_counter() - start)
    return round(median(times) * 1e3, 2)


def many(path: str, count: int, runs: int) -> dict[str, float]:
    """Random positions, a million at once, from a database that was just opened and again from its cache."""
    cold: list[float] = []
    warm: list[float] = []
    busy = []
    for run in range(runs):
        with open_database(path, cache_bytes=1 << 30) as db:
            ids = np.random.default_rng(run).integers(0, db.rules.positions, count)
            begin = process_time()
            for times in (cold, warm):
                start = perf_counter()
                db.win_many(ids)
                times.append(perf_counter() - start)
                busy.append(process_time() - begin)
    return {
        "win_many_per_second": round(count / median(cold)),
        "win_many_cpu_seconds": round(median(busy[::2]), 3),  # of all threads; a busy machine does not change it
        "win_many_warm_per_second": round(count / median(warm)),
    }


FIRST = """
from time import perf_counter, process_time
begin = perf_counter(), process_time()
import sys, madn
with madn.Advisor(madn.Rules(int(sys.argv[1])), cache=sys.argv[2]) as advisor:
    win = advisor.win(sys.argv[3])
    print(perf_counter() - begin[0], process_time() - begin[1], win.source)
"""


def first_without(name: str, pieces: int, cache: str, board: str, source: str, runs: int) -> dict[str, float]:
    """Milliseconds from the first line of Python to an answer without a database, in processes of their own."""
    times = []
    for _ in range(runs):
        command = [sys.executable, "-c", FIRST, str(pieces), cache, board]
        *seconds, found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        if found != source:
            raise ValueError(f"{board}: {found}, expected {source}")
        times.append([float(text) * 1e3 for text in seconds])
    elapsed, busy = (round(median(column), 1) for column in zip(*times, strict=True))
    return {f"{name}_ms": elapsed, f"{name}_cpu_ms": busy}  # a busy machine does not change the second


def without_database(runs: int, count: int) -> dict[str, Any]:
    """The time of answers without a database: estimates, solving parts of the four-piece game, and the cache."""
    found: dict[str, Any] = {**first_without("first_estimate", ESTIMATED, "none", "0/0", "estimate", runs)}
    with tempfile.TemporaryDirectory() as directory:
        for board in PARTS:
            cache = f"{directory}/{len(found)}"
            part = part_of(Rules(), *Board.parse(board).masks)
            begin, busy = perf_counter(), process_time()
            with Advisor(cache=cache) as advisor:
                advisor.win(board)
                seconds, processor = perf_counter() - begin, process_time() - busy
                after = [option.board for roll in advisor.analyse(board).rolls for option in roll.moves]
                boards = [b for b in after if b.winner is None] * (count // len(after) + 1)
                found[board] = {
                    "positions": part.positions if part else 0,
                    "solved_seconds": round(seconds, 3),
                    "solved_cpu_seconds": round(processor, 3),
                    "cache_bytes": sum(file.stat().st_size for file in Path(cache).glob("*/*")),
                    "win_us": round(microseconds(advisor.win, boards), 2),
                    "analyse_us": round(microseconds(advisor.analyse, boards), 2),
                }
            found[board] |= first_without("first_cached", 4, cache, board, "solved", runs)
    with Advisor(Rules(ESTIMATED), limit=0) as advisor:
        start = Board.start(advisor.rules)
        found["estimate_win_us"] = round(microseconds(advisor.win, [start] * count), 2)
        found["estimate_analyse_us"] = round(microseconds(advisor.analyse, [start] * count), 2)
    return found


def weights(path: str) -> dict[str, Any]:
    """The size of a database, catalogue included, and what was measured when it was made."""
    with open_database(path) as db:
        info = db.info()
    names = (
        "values",
        "bytes",
        "bits_per_position",
        "bits_per_decision",
        "decisions",
        "max_error",
        "max_loss",
        "mean_loss",
    )
    found = {name: info[name] for name in names if name in info}
    return {**found, "bytes_per_position": round(info["bits_per_position"] / 8, 4)}


FIRST = """
from time import perf_counter, process_time
began = perf_counter()
from madn.estimator import find_estimator
from madn.rules import Rules
find_estimator(Rules({pieces})).win(1, 1)
print((perf_counter() - began) * 1e3, process_time() * 1e3)
"""


def estimators(count: int, runs: int) -> dict[str, Any]:
    """The models of the package: positions per second, single answers, the first answer, and their size."""
    found: dict[str, Any] = {}
    for pieces in (2, 3, 4):
        rules = Rules(pieces)
        estimator, path = find_estimator(rules), DATA / file_name(pieces)
        if estimator is None:
            continue
        ids = np.random.default_rng(1).integers(0, rules.positions, count)
        own, other = Game(rules).unrank_many(ids)
        speed = {}
        for build in NETWORKS:
            network = read_model(path).network(rules, build)
            times = []
            for _ in range(runs):
                begin = process_time()
                network.wins(own, other)
                times.append(process_time() - begin)
            speed[build] = round(count / median(times))
        boards = [Board.from_masks(int(a), int(b), rules) for a, b in zip(own[:2000], other[:2000], strict=True)]
        new = [sys.executable, "-P", "-c", FIRST.format(pieces=pieces)]
        first = [[float(ms) for ms in subprocess.check_output(new, text=True).split()] for _ in range(runs)]
        found[str(pieces)] = {
            "error": estimator.error,
            "bytes": path.stat().st_size,
            "wins_per_second": speed,
            "win_us": round(microseconds(lambda board: estimator.win(*board.masks), boards), 2),  # noqa: B023
            "first_answer_ms": round(median(wall for wall, _ in first), 1),
            "first_answer_cpu_ms": round(median(cpu for _, cpu in first), 1),  # of the whole process
        }
    return found


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("values", nargs="?", help="the database as it was solved; without it only the estimators")
    parser.add_argument("--bits16", help="the same database in 16 bits")
    parser.add_argument("--policy", help="its best moves")
    parser.add_argument("--without-database", action="store_true", help="time answers without a database, too")
    parser.add_argument("--runs", type=int, default=5, help="runs to take the median of (default 5)")
    parser.add_argument("--boards", type=int, default=2000, help="boards that are asked one by one (default 2000)")
    settings = parser.parse_args()
    near = 200_000  # IDs: a few blocks, and all blocks that their moves lead to
    report: dict[str, Any] = {"benchmark": "query", "hardware": hardware(), "targets": TARGETS}
    report["estimators"] = estimators(200_000, settings.runs)
    if settings.without_database:
        report["without_database"] = without_database(settings.runs, settings.boards)
    if settings.values is None:
        print(json.dumps(report, indent=2))
        return
    with open_database(settings.values) as db:
        board = boards_of(db, 1, near)[0]
    for name in ("values", "bits16", "policy"):
        path = getattr(settings, name)
        if path is None:
            continue
        values = name != "policy"
        report[name] = {
            **weights(path),
            **answers(path, settings.boards, near, values),
            "first_answer_ms": first_answer(path, board, values, 4 * settings.runs),
            **(many(path, 1_000_000, settings.runs) if values else {}),
        }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
