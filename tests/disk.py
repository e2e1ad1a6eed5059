"""Solving from disk in tests: plans that stream what they can, and a receiver that keeps everything."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn import Rules
from madn.solver import Plan, Receiver, Solution, make_plan, scratch_directory, solve
from madn.solver.footprint import can_stream
from madn.solver.numbers import FIXED32, FLOAT64, Representation


class Collector:
    """A receiver that keeps all values, and best moves if they come, in memory; it outlives stops of a solve."""

    def __init__(self, rules: Rules, representation: Representation = FLOAT64) -> None:
        self.values = np.full(rules.positions, -9, representation.dtype)
        self.words = np.full(rules.positions, 0xFFFF, np.uint16)
        self.next: dict[tuple[str, int], int] = {}

    def has(self, first_of_run: int, size_of_run: int) -> bool:
        return bool((self.values[first_of_run : first_of_run + size_of_run] != -9).all())

    def _expect(self, kind: str, first_of_run: int, size_of_run: int, first: int, count: int) -> None:
        assert first in (self.next.get((kind, first_of_run), first_of_run), first_of_run), "runs ascend"
        assert first + count <= first_of_run + size_of_run
        self.next[kind, first_of_run] = first + count

    def take(self, first_of_run: int, size_of_run: int, first: int, values: NDArray[Any]) -> None:
        self._expect("values", first_of_run, size_of_run, first, len(values))
        self.values[first : first + len(values)] = values

    def take_choices(self, first_of_run: int, size_of_run: int, first: int, words: NDArray[Any]) -> None:
        assert (self.words[first : first + len(words)] == 0xFFFF).all(), "once"
        assert self.next.get(("words", first_of_run), first_of_run) <= first, "runs ascend"
        assert first + len(words) <= first_of_run + size_of_run
        self.next["words", first_of_run] = first + len(words)
        self.words[first : first + len(words)] = words

    def flush(self) -> None:
        pass

    def flush_to_disk(self) -> None:
        pass


def values_of(solution: Solution) -> NDArray[Any]:
    out = np.empty(solution.rules.positions, solution.plan.representation.dtype)
    solution.read(0, out)
    return out


def solve_on_disk(
    plan: Plan, progress: Callable[[float, str], None] | None = None, receiver: Receiver | None = None
) -> Solution:
    """Carry out a plan in its scratch directory, and leave that as it is; resumes only what was begun."""
    assert plan.scratch is not None
    begun = (Path(plan.scratch) / "plan.json").exists()
    with scratch_directory(replace(plan, resume=plan.resume and begun)) as scratch:
        return solve(plan, progress, receiver, scratch)


def values_from_disk(plan: Plan) -> NDArray[Any]:
    collector = Collector(plan.rules, plan.representation)
    solve_on_disk(plan, None, collector)
    return collector.values


def disk_plan(rules: Rules, scratch: Path, **changes: Any) -> Plan:
    """A plan on disk with everything streamed that can be."""
    plan = make_plan(rules, scratch=str(scratch), **changes)
    return replace(plan, streamed=frozenset(pair for pair in plan.pairs if can_stream(rules, *pair)))


def proving_plan(rules: Rules, scratch: Path, resume: bool = False, **changes: Any) -> Plan:
    """A plan on disk that proves a small game as if it were a large one."""
    plan = disk_plan(rules, scratch, tolerance=1e-6, resume=resume)
    return replace(plan, representation=FIXED32, proved=True, values=False, **changes)


class StoppedError(Exception):
    """Raised by a test to stop a solve."""
