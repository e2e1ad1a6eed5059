"""What `madn solve` tells and stores of a solution."""

import platform
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from madn.cli.output import columns, duration, percent, plural

if TYPE_CHECKING:
    from madn.solver import Plan, Solution
    from madn.store.receiver import Databases


def result(solution: "Solution") -> dict[str, Any]:
    """The figures of a solution, as JSON has them."""
    plan = solution.plan
    return {
        "pieces": plan.rules.pieces,
        "squares": plan.rules.squares,
        "positions": plan.positions,
        "components": plan.components,
        "sweeps": solution.sweeps,
        "updates": solution.updates,
        "seconds": solution.seconds,
        "threads": solution.threads,
        "residual": solution.residual,
        "residual_board": str(solution.residual_board),
        "start": solution.start,
        "for": plan.board,
        "win": solution.win,
        "min": solution.min,
        "max": solution.max,
        "min_board": str(solution.min_board),
        "max_board": str(solution.max_board),
        "method": plan.method,
        "representation": plan.representation,
        "tolerance": plan.tolerance,
        "sweeps_per_component": [
            {"component": name, "sweeps": sweeps} for name, sweeps in solution.sweeps_per_component
        ],
        "census": solution.census.written() if solution.census else None,
    }


def result_table(found: Mapping[str, Any]) -> str:
    """The figures of a solution for a person."""
    board = found["for"]
    rows = [
        ("for" if board else "start", f"{percent(found['win'])}  {board or '0/0'}"),
        ("smallest", f"{percent(found['min'])}  {found['min_board']}"),
        ("largest", f"{percent(found['max'])}  {found['max_board']}"),
        ("residual", f"{found['residual']:.2g}  {found['residual_board']}"),
        ("sweeps", f"{found['sweeps']:,}, {found['updates']:,} position updates"),
        ("time", f"{duration(found['seconds'])}, {plural(found['threads'], 'thread')}"),
    ]
    return columns(rows)


def provenance(solution: "Solution") -> dict[str, Any]:
    """How the values were made, for the catalogue; the boards it names are in a table of their own."""
    import numpy

    import madn
    from madn.machine import compiler

    elsewhere = {"pieces", "squares", "positions", "start", "min", "max", "min_board", "max_board", "win"}
    versions = {"madn": madn.__version__, "python": platform.python_version(), "numpy": numpy.__version__}
    return {
        "command": "solve",
        "versions": {**versions, "compiler": compiler()},
        **{name: value for name, value in result(solution).items() if name not in elsewhere and value is not None},
    }


def named_boards(solution: "Solution") -> list[tuple[str, str, int, float]]:
    """The start, the best and the worst board: name, board, ID, value."""
    from madn._core import Game
    from madn.board import Board

    rules = solution.rules
    game = Game(rules)
    named = [("best", solution.max_board, solution.max), ("worst", solution.min_board, solution.min)]
    if solution.start is not None:
        named.insert(0, ("start", Board.start(rules), solution.start))
    return [(name, str(board), game.rank(*board.masks), win) for name, board, win in named]


def open_databases(
    stack: ExitStack, plan: "Plan", out: str | None, policy: str | None, complete: bool = False
) -> "Databases":
    """The databases that the solve fills, as far as an earlier run filled them.

    If they are complete, only those that were not put in their place.
    """
    from madn.store.blocks import ENCODINGS, quantised
    from madn.store.growing import Maker, PolicyMaker, ValueMaker, growing_database
    from madn.store.receiver import Databases
    from madn.store.workplace import published

    given = ENCODINGS[plan.representation]
    encoding = given if plan.bits is None else quantised(plan.bits)
    makers: list[tuple[str | None, Maker]] = [
        (out, ValueMaker(plan.rules, given, encoding)),
        (policy, PolicyMaker(plan.rules)),
    ]
    grown = [
        stack.enter_context(growing_database(path, plan.rules, maker, plan.task(), threads=plan.threads))
        if path is not None and not (complete and published(path))
        else None
        for path, maker in makers
    ]
    return Databases(*grown)
