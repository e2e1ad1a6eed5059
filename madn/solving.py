"""Solve a game and store the solution in one call.

    madn.solve(Rules(pieces=2), out="two").start

`prepare` does everything that can be refused before the work begins: it makes the plan, and checks memory, disk and the
places to write to. `Job.run` carries out the plan. `solve` does both.
"""

import itertools
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import PurePath
from typing import Any

from madn._core import Game
from madn.board import Board
from madn.errors import OutputError, PlanError
from madn.machine import versions
from madn.rules import Rules
from madn.samples import check_sample_file
from madn.sampling import LEAST, SAMPLES, Sampled, Sampler, Sampling, bytes_of, sample_solution, sampler_in
from madn.solver import Plan, Scratch, Solution, make_plan, scratch_directory
from madn.solver import solve as carry_out
from madn.solver.plan import HUGE_GAME, allowed_memory
from madn.solver.scratch import TASK, check_scratch
from madn.store import write_database
from madn.store.blocks import ENCODINGS, PROVED, quantised
from madn.store.encoders import Encoder, PolicyEncoder, ValueEncoder
from madn.store.workplace import check_room, check_writable, disk_of, published
from madn.store.writer import Databases, DatabaseWriter, open_writer, whole_task

Progress = Callable[[float, str], None]
Path = str | os.PathLike[str]
SOLVING = 0.7  # of the work, if the database is written from memory: for the estimate of progress only


@dataclass(frozen=True)
class Result:
    """What a solve found and what it took; `madn solve --json` prints it.

    All probabilities are those of the side to move, before it rolls. `win` is that of `board`, or of the start; `start`
    is None if the start was not solved. `residual` is the largest |V - T(V)| over all positions, where T takes the mean
    over the rolls of the best successor. If bounds were proved, `lower` and `upper` are those of `win`, `width` is the
    largest difference between the two over all positions, and `proof` has the directed sweeps of each component.
    """

    rules: Rules
    positions: int
    components: int
    sweeps: int
    updates: int
    seconds: float
    threads: int
    residual: float
    residual_board: str
    start: float | None
    board: str | None
    win: float
    min: float
    max: float
    min_board: str
    max_board: str
    method: str
    representation: str
    tolerance: float
    sweeps_per_component: list[dict[str, Any]]
    census: dict[str, Any] | None
    out: str | None = None
    sample: str | None = None
    lower: float | None = None
    upper: float | None = None
    width: float | None = None
    width_board: str | None = None
    proof: list[dict[str, Any]] | None = None

    def to_json(self) -> dict[str, Any]:
        """The figures as `madn solve --json` prints them."""
        figures = asdict(self)
        figures["for"] = figures.pop("board")
        return {"pieces": self.rules.pieces, "squares": self.rules.squares, **figures}

    @classmethod
    def from_json(cls, figures: dict[str, Any]) -> "Result":
        """The inverse of `to_json`."""
        fields = {name: value for name, value in figures.items() if name not in {"pieces", "squares", "for", "rules"}}
        return cls(rules=Rules(**figures["rules"]), board=figures["for"], **fields)


def solve(
    rules: Rules,
    out: Path | None = None,
    *,
    bits: int | str | None = None,
    policy: Path | None = None,
    scratch: Path | None = None,
    memory: int | None = None,
    threads: int | None = None,
    tolerance: float | None = None,
    method: str = "tiles",
    board: Board | str | None = None,
    census: bool = False,
    resume: bool = False,
    proved: bool = False,
    sample: Path | None = None,
    samples: int = SAMPLES,
    samples_least: int = LEAST,
    sample_seed: int = 0,
    progress: Progress | None = None,
) -> Result:
    """Solve a game; with `out`, store it as a database there, replacing any database that is there already.

    `bits` rounds what is stored to 8 to 24 bits; games of 1e9 positions and more are rounded to 16 unless it is "full".
    `policy` is a directory for a second database, with the best moves. `scratch` is a directory for what does not fit
    into `memory` (bytes; by default what is free), and for work that can be continued later with `resume`; it is
    emptied when the databases are complete. If one is needed and none is named, a directory beside the database is
    used: work found there is continued, and in the end it is removed. `tolerance` is the residual to reach. With
    `board` only what it can lead to is solved. `census` counts positions by value, and how much the choice of a move is
    worth. With `proved` every value gets a proved lower and a proved upper bound (docs/proof.md); with `scratch`, those
    of the start, or of `board`, are reported, and nothing is stored. `progress` is called with the fraction done, 0 to
    1, and a few words.

    `sample` is a file for positions with their values, which `madn.samples` reads: about `samples` of them, drawn
    uniformly from unfinished games with `sample_seed`, and at least `samples_least` from every run of IDs.
    """
    job = prepare(
        rules,
        out,
        bits=bits,
        policy=policy,
        scratch=scratch,
        memory=memory,
        threads=threads,
        tolerance=tolerance,
        method=method,
        board=board,
        census=census,
        resume=resume,
        proved=proved,
        sample=sample,
        samples=samples,
        samples_least=samples_least,
        sample_seed=sample_seed,
    )
    return job.run(progress)


def prepare(
    rules: Rules,
    out: Path | None = None,
    *,
    policy: Path | None = None,
    sample: Path | None = None,
    samples: int = SAMPLES,
    samples_least: int = LEAST,
    sample_seed: int = 0,
    **settings: Any,
) -> "Job":
    """Plan a solve and check that it can be done; takes the arguments of `solve`. Nothing is written yet."""
    if sample is not None and not os.fspath(sample):
        raise OutputError("sample: the name of a file is missing")
    plan = planned(rules, out, policy=policy, sampled=sample is not None, **settings)
    _check_apart({"--out": out, "--policy": policy, "--scratch": plan.scratch, "--sample": sample})
    if plan.scratch is not None:
        check_scratch(plan.scratch)
    plan.check_memory()
    sampling = None
    if sample is not None:
        sampling = Sampling(os.fspath(sample), samples, samples_least, sample_seed).checked()
        check_sample_file(sample)
    if plan.proved and plan.scratch is not None and not (out is policy is sample is None):
        raise PlanError(
            "bounds that are proved from a scratch directory are only reported: do not name anything to store"
        )
    job = Job(plan, None if out is None else os.fspath(out), None if policy is None else os.fspath(policy), sampling)
    for path, encoder in job.encoders():
        check_writable(path, whole_task(job.task(), encoder))
    check_room(_room(plan, out, policy, sampling))
    return job


def planned(
    rules: Rules,
    out: Path | None = None,
    *,
    policy: Path | None = None,
    scratch: Path | None = None,
    board: Board | str | None = None,
    census: bool = False,
    resume: bool = False,
    sampled: bool = False,
    **settings: Any,
) -> Plan:
    """The plan of a solve, as `solve` would carry it out; whether it can be done is not checked.

    If a scratch directory is needed and none is named, one beside the database is chosen: for games that are large or
    do not fit into memory, for results that need a scratch directory, and if there is unfinished work.
    """
    for path, name in ((out, "out"), (policy, "policy"), (scratch, "scratch")):
        if path is not None and not os.fspath(path):
            raise OutputError(f"{name}: the name of a directory is missing")
    wanted = {**settings, "board": None if board is None else str(board), "census": census}
    if policy is not None:
        wanted |= {"choices": True, "values": out is not None or census or sampled}
    needs_scratch = census or policy is not None
    place = out if out is not None else policy
    in_memory_only = wanted.get("method") == "thesis" or wanted.get("proved")
    if scratch is not None or place is None or in_memory_only:
        named = None if scratch is None else os.fspath(scratch)
        return make_plan(rules, scratch=named, resume=resume, **wanted)
    beside = f"{os.fspath(place).rstrip(os.sep)}.scratch"
    begun = os.path.lexists(os.path.join(beside, TASK))
    if not (begun or needs_scratch or resume):
        in_memory = make_plan(rules, **wanted)
        if in_memory.positions < HUGE_GAME and in_memory.memory_bytes <= allowed_memory(in_memory.memory_limit):
            return in_memory
    plan = make_plan(rules, scratch=beside, resume=resume or begun, **wanted)
    return replace(plan, scratch_chosen=True)


def _check_apart(places: Mapping[str, Path | None]) -> None:
    """Raise `OutputError` if two of the directories are the same, or one is inside another."""
    named = [(name, path, os.path.realpath(path)) for name, path in places.items() if path is not None]
    for (one, path, inner), (other, outside, outer) in itertools.permutations(named, 2):
        if inner == outer:
            raise OutputError(f"{path}: the same directory for {one} and {other}; each needs one of its own")
        if outer in map(str, PurePath(inner).parents):
            raise OutputError(f"{path}: {one} is inside {outside}, the directory for {other}; choose directories apart")


def _room(
    plan: Plan, out: Path | None, policy: Path | None, sampling: Sampling | None
) -> Iterator[tuple[Sequence[Path], int]]:
    """What is to be written where, in bytes; scratch files and databases on the same disk need less together."""
    sizes = {out: plan.disk_bytes - plan.policy_bytes, policy: plan.policy_bytes}
    databases = [(path, size) for path, size in sizes.items() if path is not None]
    places = [path for path in (plan.scratch, out, policy) if path is not None]
    planned_together = databases and (out is not None or not plan.values)
    if plan.scratch is not None and planned_together and len({disk_of(path).device for path in places}) == 1:
        yield places, plan.peak_bytes
    else:
        if plan.scratch is not None:
            yield (plan.scratch,), plan.scratch_bytes
        yield from (((path,), size) for path, size in databases)
    if sampling is not None:
        yield (sampling.path,), bytes_of(sampling.strata(plan.rules, plan.pairs))


@dataclass(frozen=True)
class Job:
    """A solve that has been planned and checked: `run` carries it out."""

    plan: Plan
    out: str | None
    policy: str | None
    sampling: Sampling | None = None

    def run(self, progress: Progress | None = None) -> Result:
        """Solve, store, put the databases in their places, and empty the scratch directory."""
        report = progress or (lambda fraction, text: None)
        return self._from_memory(report) if self.plan.scratch is None else self._from_disk(report)

    def _from_memory(self, report: Progress) -> Result:
        """Solve, then write the database."""
        solution = self.solved(report)
        if self.sampling is not None:
            sample_solution(self.sampling, solution)
        if self.out is not None:
            self.store(solution, report)
        return self.result(solution)

    def solved(self, report: Progress) -> Solution:
        """Solve in memory, and store nothing yet."""
        share = 1.0 if self.out is None else SOLVING
        return carry_out(self.plan, lambda fraction, text: report(share * fraction, text))

    def store(self, solution: Solution, report: Progress) -> None:
        """Write the database of a solution that is in memory."""
        if self.out is None:
            raise OutputError("out: the name of a directory is missing")
        facts, rest = provenance(self.result(solution)), 1 - SOLVING
        bits = self.plan.bits
        write_database(self.out, solution, facts, lambda part, text: report(SOLVING + rest * part, text), bits=bits)

    def _from_disk(self, report: Progress) -> Result:
        """Solve, and let the databases grow with every component that is solved.

        Once everything is stored, what is left to do is noted in the scratch directory, so that a run stopped after
        that is completed by the next one.
        """
        places = {name: None if path is None else os.path.realpath(path) for name, path in self._places().items()}
        stored = {**places, "bits": self.plan.bits, **(self.sampling.task() if self.sampling else {})}
        with ExitStack() as stack, scratch_directory(self.plan, stored, self.again()) as scratch:
            last = scratch.finished
            databases = self._databases(stack, complete=last is not None)
            sampler = self._sampler(stack, scratch)
            complete = databases.complete(self.plan.positions) and (sampler is None or sampler.complete())
            if last is None or not complete:
                receiver = databases if sampler is None else Sampled(databases, sampler)
                solution = carry_out(self.plan, report, receiver, scratch)
                result = self.result(solution)
                last = {"result": result.to_json(), "provenance": provenance(result), "boards": named_boards(solution)}
                scratch.finish(last)
            return self._publish(databases, sampler, scratch, last)

    def _publish(self, databases: Databases, sampler: Sampler | None, scratch: Scratch, last: dict[str, Any]) -> Result:
        """Put databases and samples in their places, and only then empty the scratch directory."""
        databases.publish(last["provenance"], [tuple(board) for board in last["boards"]])
        if sampler is not None:
            sampler.publish()
            sampler.close()
        scratch.clear()
        if self.plan.scratch_chosen:
            scratch.directory.rmdir()
        return Result.from_json(last["result"])

    def _sampler(self, stack: ExitStack, scratch: Scratch) -> Sampler | None:
        """What draws samples from the solve, with those that an earlier run drew."""
        if self.sampling is None:
            return None
        return stack.enter_context(sampler_in(scratch.directory, self.sampling, self.plan, scratch.task))

    def _databases(self, stack: ExitStack, complete: bool) -> Databases:
        """The databases that the solve fills, with what an earlier run has put into them.

        If they are complete, only those that are not in their places yet.
        """
        writers: dict[str, DatabaseWriter] = {}
        for path, encoder in self.encoders():
            if not (complete and published(path)):
                opened = open_writer(
                    path, encoder, self.task(), command=self.again(), keep=True, threads=self.plan.threads
                )
                writers[path] = stack.enter_context(opened)
        return Databases(*(writers.get(path) if path is not None else None for path in self._places().values()))

    def _places(self) -> dict[str, str | None]:
        return {"out": self.out, "policy": self.policy}

    def encoders(self) -> Iterator[tuple[str, Encoder]]:
        """Where the databases are written, and how."""
        plan = self.plan
        given = (PROVED if plan.proved else ENCODINGS)[plan.representation.name]
        if self.out is not None:
            yield self.out, ValueEncoder(plan.rules, given, given if plan.bits is None else quantised(plan.bits))
        if self.policy is not None:
            yield self.policy, PolicyEncoder(plan.rules)

    def task(self) -> dict[str, Any] | None:
        """All that the databases depend on besides how they are written; None if writing them cannot be resumed."""
        return None if self.plan.scratch is None else self.plan.task()

    def command(self) -> str:
        """The command line of this solve."""
        plan = self.plan
        words = ["madn", "solve"]
        options = {
            **asdict(plan.rules),
            "tolerance": plan.tolerance,
            "for": plan.board,
            "memory": plan.memory_limit,
            "scratch": None if plan.scratch_chosen else plan.scratch,
            "out": self.out,
            "bits": plan.bits,
            "policy": self.policy,
            "census": plan.census,
            "proved": plan.proved,
            **(self.sampling.options() if self.sampling else {}),
        }
        for name, value in options.items():
            if value not in (None, False):
                words += [f"--{name.replace('_', '-')}"] + ([] if value is True else [str(value)])
        return shlex.join(words)

    def again(self) -> str:
        """The command line that continues this solve after it was stopped."""
        return self.command() + ("" if self.plan.scratch_chosen else " --resume")

    def result(self, solution: Solution) -> Result:
        """What is reported about a solution."""
        plan = self.plan
        per_component = [{"component": name, "sweeps": sweeps} for name, sweeps in solution.sweeps_per_component]
        shared = {name: getattr(solution, name) for name in ("sweeps", "updates", "seconds", "win", "start")}
        planned = ("rules", "positions", "components", "threads", "board", "method", "tolerance")
        shared |= {name: getattr(plan, name) for name in planned}
        return Result(
            **shared,
            **solution.extremes(),
            representation=plan.representation.name,
            sweeps_per_component=per_component,
            census=asdict(solution.census) if solution.census else None,
            out=self.out,
            sample=None if self.sampling is None else self.sampling.path,
            **self._proof(solution),
        )

    def _proof(self, solution: Solution) -> dict[str, Any]:
        """What is reported about proved bounds."""
        if solution.bounds is None:
            return {}
        lower, upper = solution.bounds.interval(self.plan.boards()[0])
        widest = max(solution.proofs, key=lambda proof: proof.width)
        proof = [{**part._asdict(), "board": str(part.board)} for part in solution.proofs]
        board = str(widest.board)
        return {"lower": lower, "upper": upper, "width": widest.width, "width_board": board, "proof": proof}


def provenance(result: Result) -> dict[str, Any]:
    """How the values were made, for the catalogue; what has tables of its own there is left out."""
    elsewhere = {"pieces", "squares", "rules", "positions", "start", "win", "out", "sample"}
    elsewhere |= {"min", "max", "min_board", "max_board", "lower", "upper"}
    facts = {name: value for name, value in result.to_json().items() if name not in elsewhere and value is not None}
    return {"command": "solve", "versions": versions(), **facts}


def named_boards(solution: Solution) -> list[tuple[str, str, int, float]]:
    """The start, the best and the worst board: name, board, ID, value."""
    game = Game(solution.rules)
    named = [("best", solution.max_board, solution.max), ("worst", solution.min_board, solution.min)]
    if solution.start is not None:
        named.insert(0, ("start", Board.start(solution.rules), solution.start))
    return [(name, str(board), game.rank(*board.masks), win) for name, board, win in named]
