"""Solves a whole game from disk, takes its census, and prints what it took and what it found as one JSON object.

    python benchmarks/whole_game.py --out four --scratch scratch                           the standard game: an hour
    python benchmarks/whole_game.py --pieces 3 --memory 500M --out three --scratch scratch   a trial: minutes

It does what `madn solve --census --bits 16` does and more: a 64th of the positions is also coded as best moves and as
whole values, to see how large those databases would be. It can be stopped and started again; the times add up.
"""

import argparse
import json
import os
import resource
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

os.environ.setdefault("GOMP_SPINCOUNT", "2000")  # as the command line does, before anything loads OpenMP

import numpy as np
from hardware import hardware

from madn import Rules
from madn.cli.options import memory_bytes
from madn.cli.progress import ProgressBar
from madn.cli.solved import named_boards, provenance, result
from madn.solver import Plan, make_plan, solve
from madn.store.blocks import BLOCK_POSITIONS, ENCODINGS, Array, quantised
from madn.store.growing import GrowingDatabase, Made, Maker, PolicyMaker, ValueMaker, growing_database
from madn.store.receiver import Databases
from madn.store.records import profile_rows

SPANS, SPAN = 16, 1 << 20  # one span in so many is in the samples, and the IDs of one
BLOCKS = 4  # one block of these in so many is made


def in_sample(first: int) -> bool:
    """Whether the positions from an ID on are in the samples."""
    return first // SPAN % SPANS == 0


class Sample:
    """Makes some blocks of a database and keeps only their sizes: a line of a file for each, so that it can go on."""

    def __init__(self, path: Path, rules: Rules, maker: Maker, pool: ThreadPoolExecutor) -> None:
        self.path, self.maker, self.pool = path, maker, pool
        self.profiles = list(rules.profiles())
        self.first_ids = np.array([row["first_id"] for row in profile_rows(rules)], np.int64)
        self.waiting: list[tuple[int, int, Future[Made]]] = []

    def take(self, first_of_run: int, size_of_run: int, first: int, content: Array) -> None:
        """Make the blocks that lie in this part of a run as they would lie in a database."""
        end = first + len(content)
        for at in range(first + (first_of_run - first) % BLOCK_POSITIONS, end, BLOCK_POSITIONS):
            count = min(BLOCK_POSITIONS, first_of_run + size_of_run - at)
            if at + count <= end and at // BLOCK_POSITIONS % BLOCKS == 0:
                number = int(np.searchsorted(self.first_ids, at, "right")) - 1
                place = self.profiles[number], at - int(self.first_ids[number]), at
                block = content[at - first : at - first + count]
                self.waiting.append((at, count, self.pool.submit(self.maker.make, *place, block)))

    def flush(self) -> None:
        """Note the blocks that were taken."""
        with open(self.path, "a", encoding="ascii") as file:
            for at, count, job in self.waiting:
                made = job.result()
                print(json.dumps([at, count, len(made.frame), made.decisions]), file=file)
        self.waiting.clear()

    def report(self, positions: int) -> dict[str, Any]:
        """What the blocks take, and what those of so many positions would."""
        lines = self.path.read_text(encoding="ascii").splitlines()
        blocks = {at: rest for at, *rest in map(json.loads, lines)}  # a component may have been handed over twice
        count, size, decisions = (sum(column) for column in zip(*blocks.values(), strict=True))
        return {
            "blocks": len(blocks),
            "positions": count,
            "bits_per_position": 8 * size / count,
            "estimated_bytes": round(size / count * positions),
            **({"bits_per_decision": 8 * size / decisions} if decisions else {}),
        }


class WithSamples(Databases):
    """A database, and samples of two others."""

    def __init__(self, values: GrowingDatabase, whole: Sample, policy: Sample) -> None:
        super().__init__(values, None)
        self.whole, self.policy_sample = whole, policy

    def wants_choices(self, first: int) -> bool:
        return in_sample(first)

    def take(self, first_of_run: int, size_of_run: int, first: int, values: Array) -> None:
        super().take(first_of_run, size_of_run, first, values)
        if in_sample(first):
            self.whole.take(first_of_run, size_of_run, first, values)

    def take_choices(self, first_of_run: int, size_of_run: int, first: int, words: Array) -> None:
        self.policy_sample.take(first_of_run, size_of_run, first, words)

    def flush(self) -> None:
        super().flush()
        self.whole.flush()
        self.policy_sample.flush()


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
    rounded = ValueMaker(plan.rules, given, quantised(plan.bits or 16))
    grown = growing_database(out, plan.rules, rounded, plan.task(), threads=plan.threads)
    pool = stack.enter_context(ThreadPoolExecutor(plan.threads))
    makers: list[tuple[str, Maker]] = [
        ("whole", ValueMaker(plan.rules, given, given)),
        ("policy", PolicyMaker(plan.rules)),
    ]
    samples = (Sample(Path(f"{out}.{name}"), plan.rules, maker, pool) for name, maker in makers)
    return WithSamples(stack.enter_context(grown), *samples)


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
        samples = {
            "whole": databases.whole.report(plan.positions),
            "policy": databases.policy_sample.report(plan.positions),
        }
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
