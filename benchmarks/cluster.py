"""Processes of a cluster beside threads: time, bytes exchanged, waiting, and a model of large runs fitted to these.

    python benchmarks/cluster.py                    3 pieces on 24 squares, 1, 2 and 4 processes: about a minute
    python benchmarks/cluster.py --squares 40       the three-piece game itself
    python benchmarks/cluster.py --launch "mpiexec --hosts a,b"    on other computers

Prints tables on standard error and one JSON object on standard output. Every process has one thread, so four of them
on two processors take turns. Each solve starts from scratch and writes its database; times are those that it reports.

The model: computing takes the number of updates times the time of one update measured here, shared by the `--threads`
of each computer; the network carries what `madn plan --ranks` counts, times the factor by which that count was off
here; a process computes while it exchanges, so the slower of the two counts; process 0 writes the database alone, as
fast as planned.
"""

import argparse
import json
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hardware import hardware

from madn import Rules
from madn.cli.output import columns, duration, size
from madn.solver.cluster.plan import cluster_plan, cluster_seconds, planned_alone
from madn.solver.estimate import Speed

MEMORY = 192 << 30  # bytes of each computer in the model: five pieces are streamed
MODEL = [(4, 10, 10e9), (4, 10, 1e9), (5, 16, 10e9), (5, 16, 100e9)]  # pieces, processes, bits a second


def run(command: list[str], rules: Rules, folder: Path, tolerance: float) -> dict[str, Any]:
    """Solve once in other processes; return what the solve prints."""
    words = [*command, sys.executable, "-m", "madn", "solve", *shlex.split(rules.options)]
    words += ["--tolerance", str(tolerance), "--bits", "full", "--json", "--out", "db"]
    if "--cluster" in command:  # an option of madn, not of the launcher
        words.remove("--cluster")
        words.append("--cluster")
    done = subprocess.run([*words, "--threads", "1"], cwd=folder, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def plain(rules: Rules, folder: Path, threads: int, tolerance: float) -> dict[str, Any]:
    """Solve with threads, from disk as a cluster does."""
    words = [sys.executable, "-m", "madn", "solve", *shlex.split(rules.options), "--tolerance", str(tolerance)]
    words += ["--bits", "full", "--json", "--out", "db", "--scratch", "work", "--threads", str(threads)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pieces", type=int, default=3)
    parser.add_argument("--squares", type=int, default=24)
    parser.add_argument("--tolerance", type=float, default=1e-6)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--threads", type=int, default=2, help="of each computer in the model")
    parser.add_argument("--launch", default=shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or "mpiexec")
    options = parser.parse_args()
    rules, tolerance = Rules(options.pieces, options.squares), options.tolerance
    runs: list[dict[str, Any]] = []
    for kind, count in [("threads", 1), ("threads", 2)] + [("processes", count) for count in options.processes]:
        with tempfile.TemporaryDirectory() as folder:
            if kind == "threads":
                found = plain(rules, Path(folder), count, tolerance)
            else:
                launch = [*shlex.split(options.launch), "-n", str(count), "--cluster"]
                found = run(launch, rules, Path(folder), tolerance)
        runs.append({"kind": kind, "count": count, **summary(found)})
        print(f"{kind} {count}: {runs[-1]['seconds']:.2f} s", file=sys.stderr)
    model = fitted(rules, tolerance, runs, options.threads)
    print(columns([("", "time", "sweeps", "sent", "computing", "waiting"), *map(row, runs)]), file=sys.stderr)
    print(f"\nan update takes {1e9 * model['update']:.2f} ns of a thread", file=sys.stderr)
    for case in model["cases"]:
        print(said(case), file=sys.stderr)
    print(json.dumps({"rules": rules.options, "hardware": hardware(), "runs": runs, "model": model}, indent=1))


def summary(found: dict[str, Any]) -> dict[str, Any]:
    parts = found.get("processes", [])
    return {
        "seconds": found["seconds"],
        "sweeps": found["sweeps"],
        "updates": found["updates"],
        "sent": sum(part["sent"] for part in parts),
        "computing": [part["computing"] for part in parts],
        "waiting": [part["waiting"] for part in parts],
        "memory": [part["memory"] for part in parts],
    }


def row(run: dict[str, Any]) -> tuple[str, ...]:
    most = [f"{max(run[name]):.2f} s" if run[name] else "" for name in ("computing", "waiting")]
    return (f"{run['count']} {run['kind']}", f"{run['seconds']:.2f} s", str(run["sweeps"]), size(run["sent"]), *most)


def fitted(rules: Rules, tolerance: float, runs: list[dict[str, Any]], threads: int) -> dict[str, Any]:
    """The time of an update, by what factor the count of bytes was off, and what follows for large runs."""
    of_clusters = [run for run in runs if run["kind"] == "processes"]
    update = min(sum(run["computing"]) / run["updates"] for run in of_clusters)
    plan = planned_alone(rules, tolerance=tolerance, threads=1)
    counted = [(run["sent"], cluster_plan(plan, run["count"]).network_bytes) for run in of_clusters if run["sent"]]
    factor = sum(sent for sent, _ in counted) / sum(bytes for _, bytes in counted) if counted else 1.0
    cases = []
    for pieces, count, rate in MODEL:
        large = planned_alone(Rules(pieces), threads=threads, memory=1 << 50)
        needs = cluster_plan(large, count, MEMORY)
        time = cluster_seconds(large, needs, Speed(update / threads), rate / 8 / factor)
        facts = {"pieces": pieces, "processes": count, "bandwidth": rate, "memory_bytes": needs.memory_bytes}
        cases.append({**facts, "threads": threads, "network_bytes": factor * needs.network_bytes, **vars(time)})
    return {"update": update, "network_factor": factor, "cases": cases}


def said(case: dict[str, Any]) -> str:
    where = f"{case['pieces']} pieces, {case['processes']} computers of {case['threads']} threads"
    parts = ", ".join(f"{name} {duration(case[name])}" for name in ("computing", "network", "storing"))
    total = f"about {duration(case['total'])} ({parts}), {size(case['memory_bytes'])} of memory each"
    return f"{where}, {case['bandwidth'] / 1e9:g} Gbit/s: {total}"


if __name__ == "__main__":
    main()
