"""Solves a whole game from disk, and prints what that took and what it found as one JSON object.

    python benchmarks/whole_game.py --out four --scratch scratch --memory 11G                values: half an hour
    python benchmarks/whole_game.py --policy moves --scratch scratch --memory 11G            best moves alone
    python benchmarks/whole_game.py --proved --scratch scratch --memory 20G                  bounds, nothing stored
    python benchmarks/whole_game.py --pieces 3 --memory 300M --out three --scratch scratch   a trial: minutes

This is `madn solve --bits 16 --resume`, with `--census`, `--policy` or `--proved` if you ask for them, plus a meter. It
can be stopped and started again: the times of all its processes add up. Disk is measured twice a minute. For the
standard game the figures of version 0.1, from docs/results/four-pieces.json, are printed too, in a table on standard
error and as "before" in the object.
"""

import argparse
import json
import os
import resource
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

os.environ.setdefault("GOMP_SPINCOUNT", "2000")  # as the command line does, before anything loads OpenMP

from hardware import hardware

from madn import MadnError, Rules
from madn.cli.options import memory_bytes
from madn.cli.output import columns
from madn.cli.progress import ProgressBar
from madn.solving import prepare
from madn.store.records import SUMS
from madn.store.workplace import part_of

EARLIER = Path(__file__).parents[1] / "docs/results/four-pieces.json"  # the run of version 0.1
PEAKS = ("peak_bytes", "peak_disk_bytes")
TOTALS = ("seconds", "cpu_seconds", *PEAKS, "bytes_read", "bytes_written")  # over the processes, but for the peaks


class Meter:
    """Counts time, memory and traffic over all processes that worked on a run, and notes them in a file."""

    def __init__(self, path: Path, bar: ProgressBar, directories: list[Path]) -> None:
        self.path, self.bar, self.directories = path, bar, directories
        self.disk = 0
        self.components: dict[str, float] = {}
        self.earlier = json.loads(path.read_text(encoding="ascii")) if path.exists() else []
        self.begin = self.noted = self.told = time.monotonic()

    def __call__(self, fraction: float, text: str) -> None:
        self.bar(fraction, text)
        now = time.monotonic()
        self.components[text] = self.components.get(text, 0) + now - self.told
        self.told = now
        if now - self.noted > 30:
            self.note()

    def note(self) -> list[dict[str, Any]]:
        """Write down what this process has used so far, and for how long the progress has named each component."""
        self.noted = time.monotonic()
        self.disk = max(self.disk, sum(map(directory_bytes, self.directories)))
        traffic = dict(line.split(": ") for line in Path("/proc/self/io").read_text(encoding="ascii").splitlines())
        processes = [
            *self.earlier,
            {
                "seconds": self.noted - self.begin,
                "cpu_seconds": time.process_time(),
                "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                "peak_disk_bytes": self.disk,
                "bytes_read": int(traffic["rchar"]),
                "bytes_written": int(traffic["wchar"]),
                "components": {text: round(seconds, 1) for text, seconds in self.components.items()},
            },
        ]
        self.path.write_text(json.dumps(processes), encoding="ascii")
        return processes


def directory_bytes(path: Path) -> int:
    """What the files of a directory occupy; some may be removed meanwhile."""
    total = 0
    for entry in os.scandir(path) if path.exists() else ():
        with suppress(FileNotFoundError):
            total += os.lstat(entry.path).st_blocks * 512
    return total


def files(path: str) -> dict[str, Any]:
    """The size of a database, and the SHA-256 of each file of blocks: the same for the same bits."""
    sums = (line.split("  ") for line in (Path(path) / SUMS).read_text(encoding="ascii").splitlines())
    blocks = {name: digest for digest, name in sums if name.endswith(".madn")}
    return {"bytes": sum(entry.stat().st_size for entry in os.scandir(path)), "sha256": blocks}


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Solve the game and return the figures."""
    job = prepare(
        Rules(arguments.pieces),
        arguments.out,
        policy=arguments.policy,
        scratch=arguments.scratch,
        memory=memory_bytes(None, None, arguments.memory),
        bits=None if arguments.proved else 16,
        census=arguments.census,
        proved=arguments.proved,
        resume=(Path(arguments.scratch) / "plan.json").exists(),
    )
    with ProgressBar("solving") as bar:
        targets = [Path(path) for path in (job.out, job.policy) if path]
        directories = [Path(arguments.scratch), *targets, *map(part_of, targets)]
        meter = Meter(Path(f"{arguments.scratch}.meter"), bar, directories)
        result = job.run(meter)
        processes = meter.note()
    census, positions = result.census or {}, result.positions
    stored = {name: files(path) for name, path in (("bits16", job.out), ("policy", job.policy)) if path}
    planned = ("memory_bytes", "scratch_bytes", "disk_bytes", "peak_bytes")
    found = {
        "hardware": hardware(),
        "planned": {name: getattr(job.plan, name) for name in planned},
        "processes": processes,
        **{name: (max if name in PEAKS else sum)(part[name] for part in processes) for name in TOTALS},
        **{name: {"bits_per_position": 8 * size["bytes"] / positions, **size} for name, size in stored.items()},
    }
    if census:
        found["share_of_rolls_with_a_choice"] = census["decisions"] / census["positions"] / 6
        found["share_of_decisions_with_one_best_move"] = census["unique"] / census["decisions"]
        found["mean_cost_of_the_second_best_move"] = census["cost"] / census["decisions"]
    found["result"] = result.to_json()
    if Rules(arguments.pieces) == Rules():
        found["before"] = figures(json.loads(EARLIER.read_text(encoding="utf-8")))
    return found


def figures(run: dict[str, Any]) -> dict[str, float]:
    """The figures by which two runs are compared."""
    names = ("seconds", "cpu_seconds", "peak_bytes", "bytes_read", "bytes_written")
    planned = {f"planned_{name}": run["planned"][name] for name in ("memory_bytes", "scratch_bytes")}
    return {**{name: run[name] for name in names}, **planned, "updates": run["result"]["updates"]}


def table(found: dict[str, Any]) -> str:
    """The figures of this run beside those of version 0.1, as a table for people."""
    now, before = figures(found), found["before"]
    rows = [(name, f"{before[name]:,.0f}", f"{now[name]:,.0f}", f"{now[name] / before[name]:.2f}") for name in now]
    return columns([("figure", "version 0.1", "now", "ratio"), *rows], right=range(1, 4))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pieces", type=int, default=4)
    parser.add_argument("--out", help="directory for a database of values, or --policy, or both")
    parser.add_argument("--policy", help="directory for a database of best moves")
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--memory", default="11G")
    parser.add_argument("--census", action="store_true", help="count positions by value and compare moves: more memory")
    parser.add_argument("--proved", action="store_true", help="find proved bounds; nothing is stored")
    try:
        found = run(parser.parse_args())
        if "before" in found:
            print(table(found), file=sys.stderr)
        print(json.dumps(found, indent=2))
    except MadnError as error:
        print(f"whole_game: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
