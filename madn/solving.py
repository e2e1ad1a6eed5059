"""Solve a game and store the solution, as one call.

    madn.solve(Rules(pieces=2), out="two").start

`prepare` does everything that can be refused before the work begins: it makes the plan, and checks memory, disk and the
places to write to. `Job.run` carries the plan out. `solve` is both.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any

from madn._core import Game
from madn.board import Board
from madn.errors import OutputError
from madn.machine import versions
from madn.rules import Rules
from madn.solver import Plan, Scratch, Solution, make_plan, scratch_directory
from madn.solver import solve as carry_out
from madn.solver.scratch import check_scratch
from madn.store import write_database
from madn.store.blocks import ENCODINGS, quantised
from madn.store.encoders import Encoder, PolicyEncoder, ValueEncoder
from madn.store.workplace import check_room, check_writable, published
from madn.store.writer import Databases, open_writer

Progress = Callable[[float, str], None]
Path = str | os.PathLike[str]
POLICY_BYTES = 0.2  # a position, at the most, in a database of best moves
SOLVING = 0.7  # of the work, when the database is written from memory: for the estimate of progress only


@dataclass(frozen=True)
class Result:
    """What a solve found and what it took; `madn solve --json` prints it.

    All probabilities are those of the side to move, before it rolls. `win` is that of `board`, or of the start; `start`
    is None if the start was not solved. `residual` is the largest |V - T(V)| over all positions, where T takes the mean
    over the rolls of the best successor.
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
    bits: int | None = None,
    policy: Path | None = None,
    scratch: Path | None = None,
    memory: int | None = None,
    threads: int | None = None,
    tolerance: float | None = None,
    method: str = "tiles",
    board: Board | str | None = None,
    census: bool = False,
    resume: bool = False,
    progress: Progress | None = None,
) -> Result:
    """Solve a game; with `out`, store it as a database there, in place of a database that may be there.

    `bits` rounds what is stored to 8 to 24 bits. `policy` is a directory for a second database, of the best moves.
    `scratch` is a directory for what does not fit into `memory` (bytes), and for work that can be taken up again with
    `resume`; it is emptied when the databases are complete. `tolerance` is the residual to reach. With `board` only
    what it can lead to is solved. `census` counts positions by value and what the choice of a move is worth. `progress`
    is called with the part that is done, 0 to 1, and a few words.
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
    )
    return job.run(progress)


def prepare(
    rules: Rules,
    out: Path | None = None,
    *,
    policy: Path | None = None,
    scratch: Path | None = None,
    board: Board | str | None = None,
    census: bool = False,
    **settings: Any,
) -> "Job":
    """Plan a solve and check that it can be done; takes what `solve` takes. Nothing is written yet."""
    for path, name in ((out, "out"), (policy, "policy"), (scratch, "scratch")):
        if path is not None and not os.fspath(path):
            raise OutputError(f"{name}: the name of a directory is missing")
    for path in (out, policy):
        if path is not None:
            check_writable(path)
    if scratch is not None:
        check_scratch(scratch)
    plan = make_plan(
        rules,
        scratch=None if scratch is None else os.fspath(scratch),
        board=None if board is None else str(board),
        census=census or policy is not None,
        **settings,
    )
    plan.check_memory()
    check_room((path, size) for path, size in _room(plan, out, policy) if path is not None)
    return Job(plan, None if out is None else os.fspath(out), None if policy is None else os.fspath(policy))


def _room(plan: Plan, out: Path | None, policy: Path | None) -> Iterator[tuple[Path | None, int]]:
    yield plan.scratch, plan.scratch_bytes
    yield out, plan.disk_bytes
    yield policy, int(plan.positions * POLICY_BYTES)


@dataclass(frozen=True)
class Job:
    """A solve that is planned and checked: `run` carries it out."""

    plan: Plan
    out: str | None
    policy: str | None

    def run(self, progress: Progress | None = None) -> Result:
        """Solve, store, put the databases in their places, and empty the scratch directory."""
        report = progress or (lambda fraction, text: None)
        return self._from_memory(report) if self.plan.scratch is None else self._from_disk(report)

    def _from_memory(self, report: Progress) -> Result:
        """Solve, then write the database."""
        share = 1.0 if self.out is None else SOLVING
        rest = 1 - share
        solution = carry_out(self.plan, lambda fraction, text: report(share * fraction, text))
        result = self._result(solution)
        if self.out is not None:
            facts, bits = provenance(result), self.plan.bits
            write_database(self.out, solution, facts, lambda part, text: report(share + rest * part, text), bits=bits)
        return result

    def _from_disk(self, report: Progress) -> Result:
        """Solve, and let the databases grow with every component that is solved.

        What is left to do once everything is stored is noted in the scratch directory: a run that is stopped then is
        completed by the next one.
        """
        with ExitStack() as stack, scratch_directory(self.plan) as scratch:
            last = scratch.finished
            databases = self._databases(stack, complete=last is not None)
            if last is None:
                solution = carry_out(self.plan, report, databases, scratch)
                result = self._result(solution)
                last = {"result": result.to_json(), "provenance": provenance(result), "boards": named_boards(solution)}
                databases.flush()
                scratch.finish(last)
            return self._publish(databases, scratch, last)

    def _publish(self, databases: Databases, scratch: Scratch, last: dict[str, Any]) -> Result:
        """Put the databases in their places, and only then empty the scratch directory."""
        databases.publish(last["provenance"], [tuple(board) for board in last["boards"]])
        scratch.clear()
        return Result.from_json(last["result"])

    def _databases(self, stack: ExitStack, complete: bool) -> Databases:
        """The databases that the solve fills, as far as an earlier run filled them.

        If they are complete, only those that were not put in their place.
        """
        plan = self.plan
        given = ENCODINGS[plan.representation.name]
        encoding = given if plan.bits is None else quantised(plan.bits)
        encoders: list[tuple[str | None, Encoder]] = [
            (self.out, ValueEncoder(plan.rules, given, encoding)),
            (self.policy, PolicyEncoder(plan.rules)),
        ]
        writers = [
            stack.enter_context(open_writer(path, encoder, plan.task(), keep=True, threads=plan.threads))
            if path is not None and not (complete and published(path))
            else None
            for path, encoder in encoders
        ]
        return Databases(*writers)

    def _result(self, solution: Solution) -> Result:
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
        )


def provenance(result: Result) -> dict[str, Any]:
    """How the values were made, for the catalogue; what has tables of its own there is left out."""
    elsewhere = {"pieces", "squares", "rules", "positions", "start", "win", "out"}
    elsewhere |= {"min", "max", "min_board", "max_board"}
    facts = {name: value for name, value in result.to_json().items() if name not in elsewhere and value is not None}
    return {"command": "solve", "versions": versions(), **facts}


def named_boards(solution: Solution) -> list[tuple[str, str, int, float]]:
    """The start, the best and the worst board: name, board, ID, value."""
    game = Game(solution.rules)
    named = [("best", solution.max_board, solution.max), ("worst", solution.min_board, solution.min)]
    if solution.start is not None:
        named.insert(0, ("start", Board.start(solution.rules), solution.start))
    return [(name, str(board), game.rank(*board.masks), win) for name, board, win in named]
