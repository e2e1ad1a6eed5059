"""Solve a game with several processes, on one computer or many, and store it or prove it: `madn solve --cluster`.

    mpiexec -n 4 madn solve --pieces 3 --cluster --out three

All processes run this. Each has its own scratch directory, `process-N` inside the one that is named; process 0 writes
the database. Whatever can be refused is refused before the work begins, in one line from one process.
"""

import atexit
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

from madn.errors import CorruptBlockError, MadnError, OutputError, PlanError, ResourceError
from madn.machine import amount, available_memory, usable_threads, versions
from madn.rules import Rules
from madn.solver import Plan, Scratch, make_plan, scratch_directory
from madn.solver.cluster.plan import ClusterPlan, cluster_plan
from madn.solver.cluster.processes import Processes, mpi_processes, said_elsewhere
from madn.solver.cluster.solve import ClusterSolver
from madn.solver.plan import BASE_MEMORY
from madn.solver.scratch import TASK, check_scratch
from madn.solving import Job, Path, Progress, Result, named_boards, provenance
from madn.store.workplace import check_room, check_writable, published
from madn.store.writer import Databases, open_writer, whole_task

BAD_INPUT, BAD_DATA, INTERRUPTED = 2, 3, 130  # exit statuses

T = TypeVar("T")


@dataclass(frozen=True)
class ClusterResult:
    """What a solve found, and what each process did: bytes sent, seconds of computing and of waiting, memory."""

    result: Result
    processes: list[dict[str, float]]

    def to_json(self) -> dict[str, Any]:
        """The figures as `madn solve --json` prints them."""
        return {**self.result.to_json(), "processes": self.processes}


@dataclass(frozen=True)
class ClusterJob:
    """A solve that all processes have planned and checked: `run` carries it out."""

    processes: Processes
    plan: Plan
    needs: ClusterPlan
    out: str | None  # None if bounds are proved, which are only reported
    chosen: bool  # whether the scratch directory was not named
    where: list[tuple[str, int]]  # the computer and the process ID of each process

    def run(self, progress: Progress | None = None) -> ClusterResult | None:
        """Solve, store, put the database in its place, empty the scratch directories; only process 0 has a result."""
        report = progress or (lambda fraction, text: None)
        begun = os.path.lexists(os.path.join(str(self.plan.scratch), TASK))
        with ExitStack() as stack:
            held: list[Scratch] = []
            try:
                scratch, databases = _agreed(self.processes, lambda: self._open(stack, held))
            except MadnError:
                if held and not begun:  # what was refused leaves nothing behind
                    self._remove(str(self.plan.scratch))
                raise
            with _ending_all(self.processes):
                last = self._publish(scratch, databases, report)
        if self.processes.number > 0:
            return None
        return ClusterResult(Result.from_json(last["result"]), last["processes"])

    def _open(self, stack: ExitStack, held: list[Scratch]) -> tuple[Scratch, Databases | None]:
        """This process's scratch directory; process 0 opens the database too, unless it is in its place already."""
        out = None if self.out is None else os.path.realpath(self.out)
        places = {"out": out, "bits": self.plan.bits, "processes": self.processes.count}
        scratch = stack.enter_context(scratch_directory(self.plan, places, self.again()))
        held.append(scratch)
        if self.processes.number > 0 or self.out is None or (scratch.finished is not None and published(self.out)):
            return scratch, None
        job = Job(self.plan, self.out, None)
        ((path, encoder),) = job.encoders()
        opened = open_writer(path, encoder, job.task(), command=self.again(), keep=True, threads=self.plan.threads)
        return scratch, Databases(stack.enter_context(opened), None)

    def _remove(self, own: str) -> None:
        """Remove the scratch directory of this process, with its plan, and the common one if it was not named."""
        with suppress(OSError):  # it contains other files, or was not made
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(own, TASK))
            os.rmdir(own)
            if self.chosen:
                os.rmdir(os.path.dirname(own))

    def _publish(self, scratch: Scratch, databases: Databases | None, report: Progress) -> dict[str, Any]:
        """Solve what is not solved yet; put the database in its place, and only then empty the scratch directories."""
        last: dict[str, Any] | None = self.processes.first(scratch.finished)
        if last is None:
            last = self._solve(scratch, databases, report)
        if databases is not None:
            databases.publish(last["provenance"], [tuple(board) for board in last["boards"]])
        for turn in (True, False):  # process 0 comes last: while its directory is there, the work can be resumed
            self.processes.everyone(None)
            if turn == (self.processes.number > 0):
                scratch.clear()
                scratch.directory.rmdir()
        self.processes.everyone(None)
        if self.chosen:
            with suppress(OSError):  # it is gone, or contains other files
                scratch.directory.parent.rmdir()
        return last

    def _solve(self, scratch: Scratch, databases: Databases | None, report: Progress) -> dict[str, Any]:
        """Solve; all processes note what is left to publish."""
        room = self.plan.memory_bytes - BASE_MEMORY
        solver = ClusterSolver(scratch, self.processes, databases, room)
        solution = solver.solve(report)
        took = {"sent": self.processes.sent, "computing": solver.computed, "waiting": self.processes.waited}
        every = self.processes.everyone({**took, "memory": solver.largest})
        result = Job(self.plan, self.out, None).result(solution)
        facts = {**provenance(result), "processes": self.processes.count}
        boards = named_boards(solution)
        here = {"result": result.to_json(), "provenance": facts, "boards": boards, "processes": every}
        last: dict[str, Any] = self.processes.first(here)
        scratch.finish(last)
        return last

    def again(self) -> str:
        """The command line that continues this solve after it was stopped."""
        plan = replace(self.plan, scratch=os.path.dirname(str(self.plan.scratch)), scratch_chosen=self.chosen)
        command = Job(plan, self.out, None).command()
        return f"mpiexec -n {self.processes.count} {command} --cluster --resume"


def prepare_cluster(
    rules: Rules, out: Path | None, *, scratch: Path | None = None, processes: Processes | None = None, **settings: Any
) -> ClusterJob:
    """Plan a solve by all processes and check that each can do its part; nothing is written yet."""
    together = processes or mpi_processes()
    place, own = _agreed(together, lambda: _places(together, out, scratch, settings.get("proved", False)))
    begun = os.path.lexists(os.path.join(own, TASK))
    anywhere = any(together.everyone(begun))
    resume = settings.pop("resume", False) or (anywhere and scratch is None)

    def planned() -> Plan:
        if resume and not anywhere:
            raise PlanError(f"{place}: there is nothing to resume; to begin, run the same command without --resume")
        return _plan(together, rules, own, resume and begun, settings)

    plan = _agreed(together, planned)
    _check_alike(together, plan)
    where = together.everyone((platform.node(), os.getpid()))
    room = [limit for limit in together.everyone(_memory_limit(plan, together)[0]) if limit is not None]

    def checked() -> ClusterJob:
        needs = cluster_plan(plan, together.count, min(room, default=None))  # what one has to stream, all do
        target = None if out is None else os.fspath(out)
        return _checked(ClusterJob(together, plan, needs, target, scratch is None, where))

    return _agreed(together, checked)


def refuse(message: str) -> None:
    """Make all processes end because this one was given bad arguments; raises an error as `prepare_cluster` does."""

    def refused() -> None:
        raise PlanError(message)

    _agreed(mpi_processes(), refused)


def _places(processes: Processes, out: Path | None, scratch: Path | None, proved: bool) -> tuple[str, str]:
    """The common scratch directory, and that of this process."""
    for path, name in ((out, "out"), (scratch, "scratch")):
        if path is not None and not os.fspath(path):
            raise OutputError(f"{name}: the name of a directory is missing")
    if proved and out is not None:
        raise PlanError("bounds that are proved by a cluster are only reported: do not name anything to store")
    if out is None and not proved:
        raise OutputError("a cluster stores what it solves: --out DIR says where")
    if out is None and scratch is None:
        raise PlanError("a cluster proves bounds from disk: --scratch DIR says where")
    place = os.fspath(scratch) if scratch is not None else f"{os.fspath(out or '').rstrip(os.sep)}.scratch"
    return place, os.path.join(place, f"process-{processes.number}")


def _plan(processes: Processes, rules: Rules, own: str, resume: bool, settings: Mapping[str, Any]) -> Plan:
    """The plan of a solve; raise PlanError for what a cluster does not do."""
    wanted = {name: value for name, value in settings.items() if not name.startswith("sample")}
    for name in ("policy", "sample"):
        if settings.get(name) is not None:
            raise PlanError(f"a cluster does not write --{name}: take it from the database once that is complete")
    wanted.pop("policy", None)
    if wanted.pop("census", False) or wanted.get("method", "tiles") != "tiles":
        raise PlanError("a cluster solves only by method tiles, without --census")
    if wanted.get("threads") is None:
        wanted["threads"] = max(1, usable_threads() // processes.neighbours)
    return replace(make_plan(rules, scratch=own, resume=resume, **wanted), streamed=frozenset())


def _check_alike(processes: Processes, plan: Plan) -> None:
    """Raise PlanError in process 0, and OtherProcessError in the others, unless all were given the same."""
    here = {"version": versions()["madn"], "byteorder": sys.byteorder, **asdict(plan.rules)}
    here |= {"tolerance": plan.tolerance, "values": plan.representation.name, "for": plan.board, "bits": plan.bits}
    here |= {"proved": plan.proved}
    every = processes.everyone(here)
    for number, there in enumerate(every):
        for name, value in every[0].items():
            if there[name] == value:
                continue
            if processes.number > 0:
                raise said_elsewhere(BAD_INPUT)
            raise PlanError(
                f"process {number} of {processes.count} has {name} {there[name]}, process 0 has {value}:"
                " all must be given the same"
            )


def _checked(job: ClusterJob) -> ClusterJob:
    """Raise an error unless this process has room for its part; processes on one computer share memory and disk."""
    plan, needs, processes = job.plan, job.needs, job.processes
    memory = max(needs.memory_bytes, needs.rows_bytes if processes.number == 0 else 0)
    allowed, which = _memory_limit(plan, processes)
    if allowed is not None and memory > allowed:
        advice = "with more processes, on more computers, each needs less"
        advice += "; panels are not streamed to prove bounds" if plan.proved else ""
        raise ResourceError(f"its part needs {amount(memory)} of memory, and {amount(allowed)} are {which}; {advice}")
    check_scratch(str(plan.scratch))
    rooms: list[tuple[list[str], int]] = [([str(plan.scratch)], needs.scratch_bytes * processes.neighbours)]
    if processes.number == 0 and job.out is not None:
        ((path, encoder),) = Job(plan, job.out, None).encoders()
        check_writable(path, whole_task(plan.task(), encoder))
        rooms.append(([job.out], plan.disk_bytes))
    check_room(rooms)
    streamed, scratch = needs.streamed, needs.scratch_bytes
    return replace(job, plan=replace(plan, memory_bytes=memory, scratch_bytes=scratch, streamed=streamed))


def _memory_limit(plan: Plan, processes: Processes) -> tuple[int | None, str]:
    """How much memory this process may take, if that is known, and whether that is what is allowed or available."""
    if plan.memory_limit is not None:
        return plan.memory_limit, "allowed"
    free = available_memory()
    return None if free is None else free // processes.neighbours, "available"


def _agreed(processes: Processes, work: Callable[[], T]) -> T:
    """Do something in all processes; if it fails in any, it fails in all, and the first of those says why."""
    problem: tuple[str, int] | None = None
    failure: MadnError | None = None
    try:
        value = work()
    except MadnError as error:
        failure, problem = error, (str(error), _status(error))
    every = processes.everyone(problem)
    failed = [number for number, said in enumerate(every) if said is not None]
    if not failed:
        return value
    if failure is None or processes.number != failed[0]:
        raise said_elsewhere(every[failed[0]][1])
    if every == [problem] * processes.count:
        raise failure
    where = f"process {processes.number} of {processes.count} on {platform.node()}"
    raise type(failure)(f"{where}: {failure}") from None


@contextmanager
def _ending_all(processes: Processes) -> Iterator[None]:
    """If this process fails, end the others too once it has said why; otherwise they would wait for it for ever."""
    try:
        yield
    except BaseException as error:
        status = INTERRUPTED if isinstance(error, KeyboardInterrupt) else _status(error)
        atexit.register(processes.abort, status)
        if status == INTERRUPTED and processes.number > 0:  # most likely all were, and process 0 says so
            atexit.register(time.sleep, 0.5)
            raise said_elsewhere(status) from None
        raise


def _status(error: BaseException) -> int:
    """The exit status that the command line gives to an error."""
    bad_input = isinstance(error, MadnError) and not isinstance(error, CorruptBlockError | ResourceError)
    return BAD_INPUT if bad_input else BAD_DATA
