"""`tools/test --torture [MINUTES] [SEED]`: choose cases, run them, say what held."""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

from torture import report
from torture.case import Group, Outcome
from torture.groups import GROUPS
from torture.worker import prepare, run_case

MINUTES = 5.0
SHOWN = 10  # failures that are shown in full


def main() -> int:
    """Run torture for some minutes, or one case; 1 if a promise was broken."""
    asked = _arguments()
    os.environ.setdefault("GOMP_SPINCOUNT", "2000")  # as the command line does, but a fork cannot
    groups = [GROUPS[name] for name in asked.only] if asked.only else list(GROUPS.values())
    work = Path(tempfile.mkdtemp(prefix="madn-torture-", dir=asked.directory))
    begin = time.monotonic()
    try:
        if asked.case is not None:
            outcomes = [run_case(group.name, asked.case, str(work)) for group in groups]
            for outcome in outcomes:
                print("\n".join(outcome.steps))
        else:
            outcomes = _run(groups, asked, work)
    finally:
        if not asked.keep:
            shutil.rmtree(work, ignore_errors=True)
    run = report.facts(groups, outcomes, asked.seed, time.monotonic() - begin)
    failures = [outcome for outcome in outcomes if outcome.kind is not None]
    for failure in failures[:SHOWN]:
        print(f"\n{described(failure)}")
    if len(failures) > SHOWN:
        print(f"\n... and {len(failures) - SHOWN} more; --json lists them all")
    print(f"\n{report.table(run)}")
    if asked.json:
        Path(asked.json).write_text(json.dumps(run, indent=2) + "\n", encoding="utf-8")
    if asked.record:
        report.write(run)
    return 1 if failures else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools/test --torture", description=__doc__)
    parser.add_argument("minutes", nargs="?", type=float, default=MINUTES, help=f"how long; {MINUTES:g} by default")
    parser.add_argument("seed", nargs="?", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--only", action="append", choices=list(GROUPS), help="this group; may be given several times")
    parser.add_argument("--case", type=int, help="one case, by the number that a failure prints")
    parser.add_argument("--cases", type=int, help="so many cases of each group at most")
    parser.add_argument(
        "--jobs", type=int, default=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    )
    parser.add_argument("--json", metavar="FILE", help="write what was found to this file")
    parser.add_argument("--record", action="store_true", help="write docs/results/torture.json and docs/reliability.md")
    parser.add_argument("--directory", help="where to work; temporary files by default")
    parser.add_argument("--keep", action="store_true", help="leave the files of the cases there")
    return parser.parse_args()


def _run(groups: list[Group], asked: argparse.Namespace, work: Path) -> list[Outcome]:
    """Run cases on a few processes until the time is over, always of the group that had least of its share."""
    end = time.monotonic() + 60 * asked.minutes
    next_word = time.monotonic() + 30
    spent = {group.name: 0.0 for group in groups}
    begun = {group.name: 0 for group in groups}
    outcomes: list[Outcome] = []
    running: dict[Future[Outcome], tuple[str, int]] = {}
    print(f"seed {asked.seed}, {asked.minutes:g} minutes, {', '.join(spent)}", flush=True)
    pool, broken_pool = _pool(asked.jobs), False
    while True:
        left = [g for g in groups if asked.cases is None or begun[g.name] < asked.cases]
        while left and not broken_pool and len(running) < asked.jobs and time.monotonic() < end:
            group = min(left, key=lambda g: (spent[g.name] / g.weight, begun[g.name]))
            seed = random.Random(f"{asked.seed} {group.name} {begun[group.name]}").randrange(2**32)
            begun[group.name] += 1
            spent[group.name] += 0.1  # until it is known
            running[pool.submit(run_case, group.name, seed, str(work))] = (group.name, seed)
            left = [g for g in groups if asked.cases is None or begun[g.name] < asked.cases]
        if not running:
            break
        done, _ = wait(running, timeout=5, return_when=FIRST_COMPLETED)
        for future in done:
            name, seed = running.pop(future)
            try:
                outcome = future.result()
            except BrokenProcessPool:  # that of another case, perhaps: all that were running are over
                outcome = Outcome(
                    name, seed, 0.0, {}, "crashes", "the process that ran the case, or one beside it, died"
                )
                broken_pool = True
            outcomes.append(outcome)
            spent[name] += outcome.seconds
            if outcome.kind is not None:
                print(f"BROKEN {described(outcome, short=True)}", flush=True)
        if broken_pool and not running:
            pool, broken_pool = _pool(asked.jobs), False
        if time.monotonic() > next_word:
            next_word = time.monotonic() + 30
            broken = sum(outcome.kind is not None for outcome in outcomes)
            print(f"{(end - time.monotonic()) / 60:5.1f} min left, {len(outcomes)} cases, {broken} broken", flush=True)
    pool.shutdown()
    return outcomes


def _pool(jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=prepare)


def described(outcome: Outcome, short: bool = False) -> str:
    """A failure, and how to repeat it."""
    again = f"tools/test --torture --only {outcome.group} --case {outcome.seed}"
    if short:
        return f"{outcome.kind}: {outcome.message.strip()[:300]}  [{again}]"
    steps = "".join(f"\n    {step}" for step in outcome.steps[-12:])
    return f"{outcome.kind}: {outcome.message.strip()}\n  repeat: {again}\n  steps:{steps}"


if __name__ == "__main__":
    sys.exit(main())
