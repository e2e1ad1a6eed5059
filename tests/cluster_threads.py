"""Processes of a cluster that are threads of this one: what they say to each other goes through queues."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

import madn.cluster
from madn.cluster import ClusterResult, prepare_cluster
from madn.errors import OtherProcessError
from madn.rules import Rules
from madn.solver import Plan
from madn.solver.cluster.plan import ClusterPlan, cluster_plan
from madn.solver.cluster.processes import Processes
from madn.solver.footprint import can_stream


def stream_all() -> None:
    """Have every component streamed that can be, whatever memory there is."""

    def streaming(plan: Plan, processes: int, limit: int | None = None) -> ClusterPlan:
        streamed = frozenset(pair for pair in plan.pairs if can_stream(plan.rules, *pair))
        return replace(cluster_plan(plan, processes, limit), streamed=streamed)

    vars(madn.cluster)["cluster_plan"] = streaming


class Together:
    """What the threads share."""

    def __init__(self, count: int) -> None:
        self.barrier = threading.Barrier(count, timeout=60)
        self.said: list[Any] = [None] * count
        self.messages: dict[tuple[int, int, int], SimpleQueue[NDArray[Any]]] = defaultdict(SimpleQueue)
        for source in range(count):
            for to in range(count):
                for kind in range(4):
                    self.messages[source, to, kind] = SimpleQueue()


class ThreadProcesses(Processes):
    """One of them."""

    def __init__(self, number: int, count: int, together: Together) -> None:
        super().__init__()
        self.number, self.count, self.together = number, count, together

    def send(self, to: int, kind: int, values: NDArray[Any]) -> None:
        self.sent += values.nbytes
        self.together.messages[self.number, to, kind].put(values.copy())

    def expect(self, source: int, kind: int, values: NDArray[Any]) -> Callable[[], bool]:
        queue = self.together.messages[source, self.number, kind]

        def arrived() -> bool:
            if queue.empty():
                assert not self.together.barrier.broken
                return False
            come = queue.get()
            assert come.nbytes == values.nbytes
            np.copyto(values, come)
            return True

        return arrived

    def everyone(self, value: Any) -> list[Any]:
        self.together.said[self.number] = value
        self.together.barrier.wait()
        said = list(self.together.said)
        self.together.barrier.wait()
        return said


def solve_in_threads(count: int, rules: Rules, out: Path | None, **settings: Any) -> ClusterResult:
    """Solve a game with so many threads; the first error of one ends all."""
    together = Together(count)

    def work(number: int) -> ClusterResult | None:
        try:
            processes = ThreadProcesses(number, count, together)
            return prepare_cluster(rules, out, processes=processes, **{"threads": 1, **settings}).run()
        except BaseException:
            time.sleep(0.2)  # the others may be on their way out of the barrier
            together.barrier.abort()
            raise

    with ThreadPoolExecutor(count) as pool:
        jobs = [pool.submit(work, number) for number in range(count)]
    errors = [error for job in jobs if (error := job.exception()) is not None]
    if errors:  # others only say that there was one
        raise min(errors, key=lambda error: isinstance(error, threading.BrokenBarrierError | OtherProcessError))
    results = [job.result() for job in jobs]
    assert results[0] is not None
    assert results[1:] == [None] * (count - 1)
    return results[0]
