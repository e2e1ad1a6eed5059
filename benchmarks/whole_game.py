"""Solves a whole game from disk, takes its census, and prints what it took and what it found as one JSON object.

    python benchmarks/whole_game.py --out four --scratch scratch                             the standard game: an hour
    python benchmarks/whole_game.py --pieces 3 --memory 500M --out three --scratch scratch   a trial: minutes

It is `madn solve --census --bits 16 --resume` with a meter beside it. It can be stopped and started again: the times of
all processes add up.
"""

import argparse
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("GOMP_SPINCOUNT", "2000")  # as the command line does, before anything loads OpenMP

from hardware import hardware

from madn import MadnError, Rules
from madn.cli.options import memory_bytes
from madn.cli.progress import ProgressBar
from madn.solving import prepare


class Meter:
    """Counts time, memory and traffic over all processes that worked on a run; notes them in a file."""

    def __init__(self, path: Path, bar: ProgressBar) -> None:
        self.path, self.bar = path, bar
        self.earlier = json.loads(path.read_text(encoding="ascii")) if path.exists() else []
        self.begin = self.noted = time.monotonic()

    def __call__(self, fraction: float, text: str) -> None:
        self.bar(fraction, text)
        if time.monotonic() - self.noted > 30:
            self.note()

    def note(self) -> list[dict[str, float]]:
        """Write down how far this process has come."""
        self.noted = time.monotonic()
        traffic = dict(line.split(": ") for line in Path("/proc/self/io").read_text(encoding="ascii").splitlines())
        processes = [
            *self.earlier,
            {
                "seconds": self.noted - self.begin,
                "cpu_seconds": time.process_time(),
                "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                "bytes_read": int(traffic["rchar"]),
                "bytes_written": int(traffic["wchar"]),
            },
        ]
        self.path.write_text(json.dumps(processes), encoding="ascii")
        return processes


def directory_bytes(path: str) -> int:
    return sum(entry.stat().st_size for entry in os.scandir(path))


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Solve the game; the figures."""
    job = prepare(
        Rules(arguments.pieces),
        arguments.out,
        policy=arguments.policy,
        scratch=arguments.scratch,
        memory=memory_bytes(None, None, arguments.memory),
        bits=16,
        census=True,
        resume=(Path(arguments.scratch) / "plan.json").exists(),
    )
    with ProgressBar("solving") as bar:
        meter = Meter(Path(f"{arguments.out}.meter"), bar)
        result = job.run(meter)
        processes = meter.note()
    census, positions = result.census or {}, result.positions
    sizes = {name: directory_bytes(path) for name, path in (("bits16", job.out), ("policy", job.policy)) if path}
    planned = ("memory_bytes", "scratch_bytes", "disk_bytes")
    return {
        "hardware": hardware(),
        "planned": {name: getattr(job.plan, name) for name in planned},
        "processes": processes,
        **{name: sum(part[name] for part in processes) for name in processes[0] if name != "peak_bytes"},
        "peak_bytes": max(part["peak_bytes"] for part in processes),
        **{name: {"bytes": size, "bits_per_position": 8 * size / positions} for name, size in sizes.items()},
        "share_of_rolls_with_a_choice": census["decisions"] / census["positions"] / 6,
        "share_of_decisions_with_one_best_move": census["unique"] / census["decisions"],
        "mean_cost_of_the_second_best_move": census["cost"] / census["decisions"],
        "result": result.to_json(),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pieces", type=int, default=4)
    parser.add_argument("--out", required=True)
    parser.add_argument("--policy", help="directory for a database of best moves")
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--memory", default="20G")
    try:
        print(json.dumps(run(parser.parse_args()), indent=2))
    except MadnError as error:
        print(f"whole_game: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
