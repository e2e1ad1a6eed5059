"""The cost of a position as the game grows: 1, 2 and 3 pieces, and a fixed part of the four-piece game.

    python benchmarks/scale.py                about two minutes on two cores
    python benchmarks/scale.py --repeats 1    a quick look

Prints one JSON object on standard output, and a table on standard error that also has the time and memory of version
0.1 (docs/results/scale-0.1.json, from another machine). Each solve runs in memory, in a process of its own, to a
residual of 1e-6 with 32-bit values; times are medians over the repeats.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("GOMP_SPINCOUNT", "2000")  # as the command line does, before anything loads OpenMP

from hardware import hardware

from madn import Rules
from madn.cli.output import columns
from madn.solver import make_plan, solve
from madn.solver.footprint import side_size
from madn.solver.numbers import FIXED32

PART = "42,43/0"  # nothing has moved on one side, two pieces have arrived at the end on the other
CASES = [(1, None), (2, None), (3, None), (4, PART)]
EARLIER = Path(__file__).parents[1] / "docs/results/scale-0.1.json"


def worker(pieces: int, board: str | None, threads: int) -> dict[str, Any]:
    """Solve once and report what it took."""
    plan = replace(make_plan(Rules(pieces), threads=threads, tolerance=1e-6, board=board), representation=FIXED32)
    cpu = time.process_time()
    solution = solve(plan)
    values = 0  # in both matrices, over all sweeps: a sweep reads and writes each value at least once
    for (f, g), (_, sweeps) in zip(plan.pairs, solution.sweeps_per_component, strict=True):
        size = side_size(plan.rules, f) * side_size(plan.rules, g)
        values += sweeps * (size if f == g else 2 * size)
    return {
        "pieces": pieces,
        "board": board,
        "positions": plan.positions,
        "updates": solution.updates,
        "seconds": solution.seconds,
        "cpu_seconds": time.process_time() - cpu,
        "ns_per_update": solution.seconds * 1e9 / solution.updates,
        "ns_per_position": solution.seconds * 1e9 / plan.positions,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "bytes_read_and_written": 2 * 4 * values,
        "residual": solution.residual,
    }


def measured(pieces: int, board: str | None, threads: int, repeats: int) -> dict[str, Any]:
    """The medians of several runs, each in a process of its own."""
    question = json.dumps([pieces, board, threads])
    runs = []
    for _ in range(repeats):
        done = subprocess.run(
            [sys.executable, __file__, "--worker", question], capture_output=True, text=True, check=True
        )
        runs.append(json.loads(done.stdout))
    timed = ("seconds", "cpu_seconds", "ns_per_update", "ns_per_position")
    return {**runs[0], **{name: median(run[name] for run in runs) for name in timed}}


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as a table for people."""
    head = (
        "game",
        "positions",
        "updates",
        "seconds",
        "ns/update",
        "ns/position",
        "MiB",
        "GB moved",
        "0.1: ns/update",
        "MiB",
    )
    earlier = json.loads(EARLIER.read_text(encoding="utf-8"))["games"]
    before = {(game["pieces"], game["board"]): game for game in earlier}
    lines = [
        (
            f"{row['pieces']} pieces" + (f", from {row['board']}" if row["board"] else ""),
            f"{row['positions']:,}",
            f"{row['updates']:,}",
            f"{row['seconds']:.3f}",
            f"{row['ns_per_update']:.1f}",
            f"{row['ns_per_position']:.1f}",
            f"{row['peak_bytes'] / 2**20:.0f}",
            f"{row['bytes_read_and_written'] / 1e9:.2f}",
            f"{before[row['pieces'], row['board']]['ns_per_update']:.1f}",
            f"{before[row['pieces'], row['board']]['peak_bytes'] / 2**20:.0f}",
        )
        for row in rows
    ]
    return columns([head, *lines], right=range(1, len(head)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        print(json.dumps(worker(*json.loads(arguments.worker))))
        return
    rows = [measured(pieces, board, arguments.threads, arguments.repeats) for pieces, board in CASES]
    print(table(rows), file=sys.stderr)
    print(json.dumps({"hardware": hardware(), "repeats": arguments.repeats, "games": rows}, indent=2))


if __name__ == "__main__":
    main()
