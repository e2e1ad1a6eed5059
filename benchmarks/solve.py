"""Time and memory of solving, compared with the thesis' own method and the machine's limits: prints one JSON object.

    python benchmarks/solve.py                 about eight minutes on two cores
    python benchmarks/solve.py --repeats 1     a quick look

Everything is measured side by side in this one run; times are medians over the repeats.
"""

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any

import numpy as np

os.environ.setdefault("GOMP_SPINCOUNT", "2000")  # as the command line does, before anything loads OpenMP

from hardware import hardware

from madn import Rules
from madn._core import Game
from madn.solver import _thesis, make_plan, solve

THESIS_SWEEPS = {1: 39, 2: 67, 3: 105}  # to changes of 1e-6 (thesis, section 5.1)


def worker(pieces: int, threads: int, tolerance: float | None) -> dict[str, Any]:
    """Solve once and report what it took; this runs in its own process, so that its peak memory can be told."""
    plan = make_plan(Rules(pieces), threads=threads, tolerance=tolerance)
    cpu = time.process_time()
    solution = solve(plan)
    values = 2 * sum(  # of both matrices: a sweep reads and writes each value at least once
        count * size for (_, count), size in zip(solution.sweeps_per_component, slots(plan.rules), strict=True)
    )
    return {
        "seconds": solution.seconds,
        "cpu_seconds": time.process_time() - cpu,
        "updates": solution.updates,
        "ns_per_update": solution.seconds * 1e9 / solution.updates,
        "residual": solution.residual,
        "tolerance": plan.tolerance,
        "representation": plan.representation.name,
        "planned_mib": plan.memory_bytes / 2**20,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "sweeps_per_component": dict(solution.sweeps_per_component),
        "bytes_read_and_written": 2 * values * plan.representation.itemsize,
    }


def slots(rules: Rules) -> list[int]:
    """Values of one matrix of each component."""
    from madn.solver.footprint import side_size
    from madn.solver.graph import components

    sizes = [(f, g, side_size(rules, f) * side_size(rules, g)) for f, g in components(rules)]
    return [n if f != g else n // 2 for f, g, n in sizes]


def solved(pieces: int, threads: int, tolerance: float | None = None) -> dict[str, Any]:
    question = json.dumps([pieces, threads, tolerance])
    done = subprocess.run([sys.executable, __file__, "--worker", question], capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def copy_bandwidth(threads: int) -> float:
    """Bytes read plus bytes written per second by a plain copy of arrays far larger than the caches."""
    size = 1 << 28
    source, target = np.ones(size, np.uint8), np.ones(size, np.uint8)
    parts = np.linspace(0, size, threads + 1).astype(int)
    best = 0.0
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(5):
            began = time.perf_counter()
            list(
                pool.map(
                    lambda k: np.copyto(target[parts[k] : parts[k + 1]], source[parts[k] : parts[k + 1]]),
                    range(threads),
                )
            )
            best = max(best, 2 * size / (time.perf_counter() - began))
    return best


def arithmetic(threads: int) -> float:
    """Bytes hashed per second by threads that share nothing and need no memory: how the cores alone scale."""
    block = bytes(1 << 14)

    def work(_: int) -> None:
        for _ in range(10_000):
            hashlib.sha256(block)

    with ThreadPoolExecutor(threads) as pool:
        began = time.perf_counter()
        list(pool.map(work, range(threads)))
        return threads * 10_000 * len(block) / (time.perf_counter() - began)


def side_by_side(count: int) -> float:
    """Seconds for this many one-thread solves of three pieces that run at the same time, each in its own process."""
    with ThreadPoolExecutor(count) as pool:
        return max(float(run["seconds"]) for run in pool.map(lambda _: solved(3, 1), range(count)))


def thesis_sweep(pieces: int, threads: int) -> float:
    """Seconds for one sweep of Algorithm 3 over all positions."""
    game = Game(Rules(pieces, 40))
    x = np.empty(game.positions)
    _thesis.start_values(game, x, 0.5)
    began = time.perf_counter()
    _thesis.run(game, x, 0, game.positions, threads, True)
    return time.perf_counter() - began


def two_pieces_from_the_shell() -> float:
    """Seconds for `madn solve --pieces 2`, from start-up to exit."""
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-P", "-m", "madn", "solve", "--pieces", "2", "--json"], capture_output=True, check=True
    )
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        print(json.dumps(worker(*json.loads(arguments.worker))))
        return
    threads, many, one, shell, bandwidth = arguments.threads, [], [], [], []
    apart, cores = [], []
    for _ in range(arguments.repeats):
        many.append(solved(3, threads))
        one.append(solved(3, 1))
        apart.append(threads * one[-1]["seconds"] / side_by_side(threads))
        cores.append(arithmetic(threads) / arithmetic(1))
        shell.append(two_pieces_from_the_shell())
        bandwidth.append(copy_bandwidth(threads))
    sweep = thesis_sweep(3, threads)  # once: it takes two minutes
    counted = solve(make_plan(Rules(2), method="thesis", tolerance=1e-6, threads=1)).sweeps
    seconds = median(run["seconds"] for run in many)
    thesis_seconds = THESIS_SWEEPS[3] * sweep
    moved = many[0]["bytes_read_and_written"] / seconds
    report = {
        "hardware": hardware(),
        "threads": threads,
        "repeats": arguments.repeats,
        "three_pieces": {**many[0], "seconds": seconds, "ns_per_update": seconds * 1e9 / many[0]["updates"]},
        "three_pieces_each_run_seconds": [run["seconds"] for run in many],
        "scaling_from_one_thread": median(a["seconds"] / b["seconds"] for a, b in zip(one, many, strict=True)),
        "scaling_each_run": [a["seconds"] / b["seconds"] for a, b in zip(one, many, strict=True)],
        "scaling_of_separate_solves": median(apart),
        "scaling_of_hashing_without_memory": median(cores),
        "thesis": {
            "sweep_seconds_three_pieces": sweep,
            "sweeps_two_pieces_counted": counted,
            "sweeps_two_pieces_printed": THESIS_SWEEPS[2],
            "sweeps_three_pieces_printed": THESIS_SWEEPS[3],
            "seconds_three_pieces": thesis_seconds,
            "times_slower": thesis_seconds / seconds,
        },
        "copy_bytes_per_second": median(bandwidth),
        "share_of_copy_bandwidth": moved / median(bandwidth),
        "two_pieces_with_start_up_seconds": median(shell),
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
