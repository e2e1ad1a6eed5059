"""Solves a whole game from disk, takes its census, and prints what it took and what it found as one JSON object.

    python benchmarks/whole_game.py --out four --scratch scratch                           the standard game: an hour
    python benchmarks/whole_game.py --pieces 3 --memory 500M --out three --scratch scratch   a trial: minutes

It does what `madn solve --census --bits 16` does and more: every 32nd block is also coded as best moves and as whole
values, to see how large those databases would be. It can be stopped and started again; the times add up.
"""

import argparse
import json
import os
import resource
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

os.environ.setdefault("GOMP_SPINCOUNT", "2000")  # as the command line does, before anything loads OpenMP

from hardware import hardware

from madn import Rules
from madn.cli.options import memory_bytes
from madn.cli.progress import ProgressBar
from madn.cli.solved import named_boards, provenance, result
from madn.solver import Plan, make_plan, solve
from madn.store.blocks import BLOCK_POSITIONS, ENCODINGS, Array, quantised
from madn.store.growing import GrowingDatabase, Made, Maker, PolicyMaker, ValueMaker, growing_database
from madn.store.receiver import Databases

SAMPLE = 32  # one block in so many


class Sampled:
    """Makes one block in SAMPLE, and nothing of the others."""

    def __init__(self, maker: Maker) -> None:
        self.maker, self.encoding = maker, maker.encoding

    def make(self, profile: tuple[int, int, int, int], rank: int, first_id: int, content: Array) -> Made:
        if first_id // BLOCK_POSITIONS % SAMPLE:
            return Made(b"", 0.0, 0)
        made = self.maker.make(profile, rank, first_id, content)
        return Made(made.frame, 0.0, made.decisions)


class WithSamples(Databases):
    """A database, and samples of two others."""

    def __init__(self, values: GrowingDatabase, whole: GrowingDatabase, policy: GrowingDatabase) -> None:
        super().__init__(values, policy)
        self.whole = whole
        self.all = [values, whole, policy]

    def take(self, first_of_run: int, size_of_run: int, first: int, values: Array) -> None:
        super().take(first_of_run, size_of_run, first, values)
        self.whole.take(first_of_run, size_of_run, first, values)


def sampled(database: GrowingDatabase) -> dict[str, Any]:
    """What the blocks of a sample take, and what all blocks would take."""
    database.settle()
    lines = database.place.journal.read_text(encoding="ascii").splitlines()[1:]
    notes = [json.loads(line) for line in lines]
    positions = sum(note[2] for note in notes if note[5])
    size, decisions = sum(note[5] for note in notes), sum(note[8] for note in notes)
    return {
        "blocks": sum(1 for note in notes if note[5]),
        "of_blocks": len(notes),
        "bits_per_position": 8 * size / positions,
        "estimated_bytes": round(size / positions * sum(note[2] for note in notes)),
        **({"bits_per_decision": 8 * size / decisions} if decisions else {}),
    }


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


def open_databases(stack: ExitStack, plan: Plan, out: Path) -> WithSamples:
    """The database at `out`, and the two samples beside it."""
    given = ENCODINGS[plan.representation]
    makers: list[tuple[str, Maker]] = [
        ("", ValueMaker(plan.rules, given, quantised(plan.bits or 16))),
        ("-whole-sample", Sampled(ValueMaker(plan.rules, given, given))),
        ("-policy-sample", Sampled(PolicyMaker(plan.rules))),
    ]
    return WithSamples(
        *(
            stack.enter_context(
                growing_database(f"{out}{suffix}", plan.rules, maker, plan.task(), threads=plan.threads)
            )
            for suffix, maker in makers
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pieces", type=int, default=4)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--memory", default="20G")
    arguments = parser.parse_args()
    memory = memory_bytes(None, None, arguments.memory)
    plan = make_plan(
        Rules(arguments.pieces), scratch=arguments.scratch, memory=memory, resume=True, census=True, bits=16
    )
    with ExitStack() as stack:
        databases = open_databases(stack, plan, arguments.out)
        meter = Meter(Path(f"{arguments.out}.meter"), stack.enter_context(ProgressBar("solving")))
        solution = solve(plan, meter, databases)
        samples = {"whole": sampled(databases.whole), "policy": sampled(databases.policy)}
        databases.values.publish(provenance(solution), named_boards(solution))
        processes = meter.note()
        solution.clear_scratch()
        solution.close()
    stored = sum(entry.stat().st_size for entry in os.scandir(arguments.out))
    census = solution.census
    print(
        json.dumps(
            {
                "hardware": hardware(),
                "planned": {
                    "memory_bytes": plan.memory_bytes,
                    "scratch_bytes": plan.scratch_bytes,
                    "disk_bytes": plan.disk_bytes,
                },
                "processes": processes,
                "seconds": sum(part["seconds"] for part in processes),
                "cpu_seconds": sum(part["cpu_seconds"] for part in processes),
                "peak_bytes": max(part["peak_bytes"] for part in processes),
                "bytes_written": sum(part["bytes_written"] for part in processes),
                "bytes_read": sum(part["bytes_read"] for part in processes),
                "bits16": {"bytes": stored, "bits_per_position": 8 * stored / plan.positions},
                "samples": samples,
                "share_of_rolls_with_a_choice": census.decisions / census.positions / 6,
                "share_of_decisions_with_one_best_move": census.unique / census.decisions,
                "mean_cost_of_the_second_best_move": census.cost / census.decisions,
                "result": result(solution),
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
