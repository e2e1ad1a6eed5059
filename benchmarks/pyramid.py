"""Time and memory of solving the pyramid game: prints one JSON object.

    python benchmarks/pyramid.py                        about two minutes on two cores
    python benchmarks/pyramid.py --tiers 13 --repeats 1     a quick look

Every run is a process of its own, so that its peak memory can be told; one thread and several take turns. The paper's
recursions in plain Python (tests/reference_pyramid.py) are timed too, on a game that they can solve.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from hardware import hardware

from madn.games.pyramid import solve, start

TWIN_TIERS = 7


def worker(tiers: int, threads: int, keep: bool) -> dict[str, Any]:
    """Solve once and report what it took."""
    cpu = time.process_time()
    solution = solve(tiers, threads=threads, keep=keep)
    return {
        "seconds": solution.seconds,
        "cpu_seconds": time.process_time() - cpu,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "states": solution.states,
        "limit": solution.limit,
        "value": solution.value(start(tiers)),
        "best_actions": [str(action) for action in solution.best_actions(start(tiers))],
    }


def measured(*question: object) -> dict[str, Any]:
    command = [sys.executable, __file__, "--worker", json.dumps(question)]
    answer: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return answer


def twin() -> tuple[int, float]:
    """The number of states and the seconds for the recursions in plain Python."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
    import reference_pyramid as reference

    sys.setrecursionlimit(10_000)
    began = time.perf_counter()
    reference.W((1,) * TWIN_TIERS), reference.Z((1,) * TWIN_TIERS)
    return reference.W.cache_info().currsize, time.perf_counter() - began


def game(tiers: int, threads: int, repeats: int) -> dict[str, Any]:
    """All runs of one game: keeping everything, with several threads and with one, and keeping only what is needed."""
    many, one, short = [], [], []
    for _ in range(repeats):
        many.append(measured(tiers, threads, True))
        one.append(measured(tiers, 1, True))
        short.append(measured(tiers, threads, False))
    if any(run["value"] != many[0]["value"] for run in many + one + short):
        raise SystemExit(f"{tiers} tiers: the runs do not agree")
    seconds = median(run["seconds"] for run in many)
    return {
        "tiers": tiers,
        **{name: many[0][name] for name in ("states", "limit", "value", "best_actions")},
        "seconds": seconds,
        "each_run_seconds": [run["seconds"] for run in many],
        "cpu_seconds": median(run["cpu_seconds"] for run in many),
        "ns_per_state": seconds * 1e9 / many[0]["states"],
        "peak_mib": max(run["peak_mib"] for run in many),
        "scaling_from_one_thread": median(a["seconds"] / b["seconds"] for a, b in zip(one, many, strict=True)),
        "one_thread_cpu_seconds": median(run["cpu_seconds"] for run in one),
        "without_keeping_seconds": median(run["seconds"] for run in short),
        "without_keeping_peak_mib": max(run["peak_mib"] for run in short),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiers", type=int, nargs="+", default=[12, 13, 14])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        print(json.dumps(worker(*json.loads(arguments.worker))))
        return
    games = [game(tiers, arguments.threads, arguments.repeats) for tiers in arguments.tiers]
    states, seconds = twin()
    per_state = seconds * 1e9 / states
    report = {
        "hardware": hardware(),
        "threads": arguments.threads,
        "repeats": arguments.repeats,
        "games": games,
        "plain_python": {
            "tiers": TWIN_TIERS,
            "states": states,
            "seconds": seconds,
            "ns_per_state": per_state,
            "times_slower_per_state": per_state / games[-1]["ns_per_state"],
        },
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
