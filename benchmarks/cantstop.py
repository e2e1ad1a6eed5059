"""Time and memory of solving Can't Stop, and eight lanes compared with one: prints one JSON object.

    python benchmarks/cantstop.py                 (3,2), (3,3) and (4,1): about five minutes on two free cores
    python benchmarks/cantstop.py --games 3,2 --lanes-game 3,2 --repeats 1     a quick look

Every solve runs in a process of its own, so that its peak memory can be told. Processor seconds are printed beside
elapsed seconds: on a machine that others use, they say more. Eight lanes, one lane and the portable build alternate
within this one run, on one thread.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from statistics import median
from typing import Any

from hardware import hardware

from madn.games.cantstop import CantStop, solve

TARGETS = {"3,2": 1.0, "3,3": 8.0, "4,1": 60.0}  # seconds on two threads


def worker(name: str, threads: int, lanes: int, build: str | None) -> dict[str, Any]:
    """Solve once and report what it took."""
    cpu = time.process_time()
    solution = solve(CantStop(*map(int, name.split(","))), threads=threads, lanes=lanes, build=build)
    cpu = time.process_time() - cpu
    return {
        "seconds": solution.seconds,
        "cpu_seconds": cpu,
        "components": solution.components,
        "iterations": solution.iterations,
        "passes": solution.passes,
        "cpu_ns_per_pass": cpu * 1e9 / solution.passes,
        "first_player": solution.first_player,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def solved(*question: object) -> dict[str, Any]:
    command = [sys.executable, __file__, "--worker", json.dumps(question)]
    answer: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return answer


def game_report(name: str, threads: int, repeats: int) -> dict[str, Any]:
    runs = [solved(name, threads, 8, None) for _ in range(repeats)]
    seconds = median(run["seconds"] for run in runs)
    return {
        **runs[0],
        "seconds": seconds,
        "cpu_seconds": median(run["cpu_seconds"] for run in runs),
        "cpu_ns_per_pass": median(run["cpu_ns_per_pass"] for run in runs),
        "ns_per_pass": seconds * 1e9 / runs[0]["passes"],
        "each_run_seconds": [run["seconds"] for run in runs],
        "target_seconds": TARGETS.get(name),
    }


def lanes_report(name: str, repeats: int) -> dict[str, Any]:
    """Processor time of one thread: with eight lanes, with one lane, and with eight in the portable build."""
    ways = {"eight_lanes": (8, None), "one_lane": (1, None), "eight_lanes_portable": (8, "portable")}
    times: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(repeats):
        for way, (lanes, build) in ways.items():
            times[way].append(solved(name, 1, lanes, build)["cpu_ns_per_pass"])
    ratios = [one / eight for one, eight in zip(times["one_lane"], times["eight_lanes"], strict=True)]
    return {
        "game": name,
        "cpu_ns_per_pass": {way: median(found) for way, found in times.items()},
        "one_lane_against_eight": median(ratios),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--games", nargs="+", default=list(TARGETS))
    parser.add_argument("--lanes-game", default="3,3")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        print(json.dumps(worker(*json.loads(arguments.worker))))
        return
    report = {
        "hardware": hardware(),
        "threads": arguments.threads,
        "repeats": arguments.repeats,
        "games": {name: game_report(name, arguments.threads, arguments.repeats) for name in arguments.games},
        "lanes": lanes_report(arguments.lanes_game, arguments.repeats),
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
