"""Time and memory of solving Pig, beside other methods on the same games: prints one JSON object.

    python benchmarks/pig.py                 about two minutes on two cores
    python benchmarks/pig.py --quick         without the game to 1000

Each game is solved in a process of its own, so that its peak memory can be told; times are medians over the repeats and
include the residual pass. Ratios are of processor time: everything compared has one thread, and a busy machine does not
change them much. The other methods are the C program of the Wubbel article (value iteration, one pair of scores after
the other) and OpenSpiel's `value_iteration` on its `pig`, if it is installed (`pip install open_spiel cvxpy`) or
MADN_OPENSPIEL_PYTHON names a Python that has it.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from hardware import hardware

from madn.games.pig import WUBBEL, Pig, article_table, solve

VARIANTS = ("classic", "exact", "difference")
OPENSPIEL_TARGET = 20
THRESHOLD = 1e-10  # at which OpenSpiel's value iteration stops


def worker(rules: dict[str, Any], threads: int | None) -> dict[str, Any]:
    """Solve once and report what it took."""
    cpu = time.process_time()
    solution = solve(Pig(**rules), threads)
    return {
        "seconds": solution.seconds,
        "cpu_seconds": time.process_time() - cpu,
        "threads": solution.threads,
        "states": solution.states,
        "start": solution.start,
        "residual": solution.residual,
        "smallest_gap": solution.smallest_gap,
        "ties": solution.ties,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def solved(repeats: int, threads: int | None = None, **rules: object) -> dict[str, Any]:
    """The medians of several runs, each in a process of its own."""
    command = [sys.executable, __file__, "--worker", json.dumps([rules, threads])]
    runs = [
        json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(repeats)
    ]
    each = [run["seconds"] for run in runs]
    cpu = median(run["cpu_seconds"] for run in runs)
    return {**rules, **runs[0], "seconds": median(each), "cpu_seconds": cpu, "each_run_seconds": each}


def wubbel(repeats: int) -> dict[str, Any]:
    """Wubbel with the article's C program and with this package, which take turns."""
    table = np.empty((WUBBEL.target + 1,) * 3)
    theirs, ours = [], []
    for _ in range(repeats):
        began = time.process_time()
        updates = article_table(table, 1e-8)
        theirs.append(time.process_time() - began)
        began = time.process_time()
        solution = solve(WUBBEL, 1)
        ours.append(time.process_time() - began)
    inner = slice(0, WUBBEL.target)
    return {
        "article_cpu_seconds": median(theirs),
        "article_updates": updates,
        "article_largest_error": float(np.abs(table[inner, inner, 0] - solution.values).max()),
        "cpu_seconds": median(ours),
        "residual": solution.residual,
        "times_slower": median(a / b for a, b in zip(theirs, ours, strict=True)),
    }


def openspiel(repeats: int) -> dict[str, Any]:
    """OpenSpiel and this package on the same small game, or the reason why that is not possible."""
    python = os.environ.get("MADN_OPENSPIEL_PYTHON", sys.executable)
    needs = "import pyspiel, open_spiel.python.algorithms.value_iteration"
    there = subprocess.run([python, "-c", needs], capture_output=True, text=True, check=False)
    if there.returncode:
        reason = (there.stderr.strip().splitlines() or ["no reason given"])[-1]
        return {"skipped": f"OpenSpiel's value_iteration cannot be imported ({reason}): pip install open_spiel cvxpy"}
    script = Path(__file__).with_name("pig_openspiel.py")
    theirs, ours = [], []
    for _ in range(repeats):
        command = [python, str(script), str(OPENSPIEL_TARGET), str(THRESHOLD)]
        theirs.append(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
        began = time.process_time()
        values = solve(Pig(OPENSPIEL_TARGET), 1).values
        ours.append(time.process_time() - began)
    return {
        "target": OPENSPIEL_TARGET,
        "openspiel_cpu_seconds": median(run["cpu_seconds"] for run in theirs),
        "openspiel_states": theirs[0]["states"],
        "openspiel_threshold": THRESHOLD,
        "cpu_seconds": median(ours),
        "turns_compared": len(theirs[0]["turns"]),
        "largest_difference": max(abs(win - float(values[a, b])) for a, b, win in theirs[0]["turns"]),
        "times_slower": median(a["cpu_seconds"] / b for a, b in zip(theirs, ours, strict=True)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, help="for the game to 1000 (default: all)")
    parser.add_argument("--quick", action="store_true", help="without the game to 1000")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        print(json.dumps(worker(*json.loads(arguments.worker))))
        return
    report = {
        "benchmark": "pig",
        "hardware": hardware(),
        "repeats": arguments.repeats,
        "target_200": [solved(arguments.repeats, variant=variant) for variant in VARIANTS],
        "wubbel": wubbel(arguments.repeats),
        "openspiel": openspiel(1 if arguments.quick else min(arguments.repeats, 3)),
    }
    if not arguments.quick:
        report["target_1000"] = solved(1, arguments.threads, target=1000)
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
