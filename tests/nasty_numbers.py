"""Every number that a user can give, replaced by nasty ones: options of commands, parameters of functions.

Run as a program it prints what went wrong, one line each: `python nasty_numbers.py DIR command solve`, or
`python nasty_numbers.py DIR functions madn.match`. It is a process of its own, so that a crash is seen.
"""

import dataclasses
import importlib
import inspect
import io
import math
import re
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any, cast

import click
import numpy as np

import madn
from madn import Board, MadnError, Rules
from madn.cli import commands, main
from madn.ranges import shown

RIGHT = "as it should be"
SECONDS = 20  # that a call may take
STATUSES = {0, 2, 3}
TINY = Rules(1, 8)
GAME = "--pieces 1 --squares 8"
ORDINARY = ["-1", "0", "1", "7", "101", "65536"]
TEXTS = [
    *ORDINARY,
    "-0",
    "1.5",
    "1e400",
    "-1e400",
    "nan",
    "inf",
    "-inf",
    "",
    " ",
    "x",
    "1_0",
    "\u0663",
    "0x10",
    "9" * 5000,
]
TEXTS += [str(sign * (1 << bits) + more) for bits in (31, 32, 63, 64) for sign in (1, -1) for more in (-1, 0)]
NUMBERS: list[Any] = [
    -1,
    0,
    2**31,
    -(2**31) - 1,
    2**63,
    -(2**63) - 1,
    2**64,
    10**400,
    -(10**5000),
    True,
    False,
    2.5,
    1.0,
]
NUMBERS += [math.nan, math.inf, -math.inf, "7", "", b"7", [], [1], {}, object(), 1j, np.True_, np.float32(0.5)]
NUMBERS += [np.int8(-1), np.uint64(2**64 - 1), np.int64(2), np.array(2), np.array([1, 2]), np.datetime64("2020"), Rules]

Prepared = Callable[[], tuple[Callable[..., Any], dict[str, Any]]]

# Quick calls. {two} is a database, {new} a directory that does not exist.
COMMANDS = {
    "analyse": "{two} 0/0",
    "analyse-game": "{record} --db {two}",
    "best-move": "{two} 0/0 6",
    "cantstop": "--sides 2 --shortest 1 --to-win 2 --position -/- --roll 1122",
    "compress": "{two} {new} --bits 12",
    "export": "{two} {new}.csv --profile 1,0,1,0 --sample 5",
    "export-web": "{new}-site --db {two} --db-at https://example.org/two",
    "info": "{two}",
    "match": f"random fpoc {GAME} --games 1 --board 0/0",
    "moves": f"0/0 6 {GAME}",
    "pig": "--target 10 --state 0,0,2 --duel optimal hold-5",
    "plan": f"{GAME} --for 0/0 --memory 1G",
    "play": f"random fpoc {GAME}",
    "players": "",
    "plot": "positions --out {new}.svg",
    "pyramid": "--tiers 3 --tree",
    "rank": f"0/0 {GAME}",
    "reproduce": "--only wubbel",
    "serve": "{two}",
    "solve": f"{GAME} --for 0/0 --memory 1G --out {{new}} --bits 8",
    "unrank": f"0 {GAME}",
    "verify": "{two} --deep --sample 5",
    "win": "{two} 0/0",
}


def nasty_commands(name: str, directory: Path) -> Iterator[tuple[str, list[str]]]:
    """A command with each of its options and arguments that is not a path replaced in turn."""
    command = commands.commands[name]
    places = {"two": directory / "two", "new": directory / "new", "record": directory / "game.txt"}
    good = COMMANDS[name].format(**places).split()
    yield RIGHT, [name, *good]
    arguments = [param for param in command.params if isinstance(param, click.Argument)]
    for param in command.params:
        if isinstance(param.type, click.Path) or (isinstance(param, click.Option) and param.is_flag):
            continue
        for text in TEXTS:
            if isinstance(param, click.Option):
                yield f"{param.opts[0]} {text[:30]!r}", [name, *good, param.opts[0], *[text] * param.nargs]
            elif text[:1] != "-":
                at = arguments.index(cast(click.Argument, param))
                yield f"{param.name} {text[:30]!r}", [name, *good[:at], text, *good[at + 1 :]]


def run_command(arguments: list[str], right: bool) -> str:
    """Run a command; return what is wrong with how it ended."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main(arguments)
    lines = err.getvalue().splitlines()
    if status not in ({0} if right else STATUSES):
        return f"status {status}: {lines[-1:]}"
    if status and not (lines and lines[-1].startswith("madn: ") and "Traceback" not in err.getvalue()):
        return f"status {status} without a line that says why: {lines[-1:]}"
    return ""


MODULES = (
    "madn", "madn.machine", "madn.match", "madn.evaluate", "madn.players", "madn.ranking", "madn.record",
    "madn.startvalues", "madn.solver", "madn.store",
    "madn.games.pig", "madn.games.pyramid", "madn.games.pyramid.tree", "madn.games.cantstop",
)  # fmt: skip
NUMERIC = re.compile(r"\b(int|float|SupportsIndex)\b|numpy._typing|ArrayLike")
PLAIN = {  # arithmetic on numbers that are checked elsewhere, and the machinery of the solver
    "madn.Advisor.get_win", "madn.machine.amount", "madn.machine.check_memory", "madn.players.checked_choices",
    "madn.Database.get_win", "madn.Rules.finished", "madn.Rules.opposite", "madn.Rules.profile_size",
    "madn.evaluate.memory_needed", "madn.match.Die", "madn.match.Die.draw", "madn.match.Result.agrees",
    "madn.players.Player.choices", "madn.solver.Solution.read", "madn.startvalues.Spread.averaged",
    "madn.startvalues.Spread.polynomial", "madn.store.Source.read", "madn.store.check_writable",
    "madn.games.cantstop.CantStop.splits", "madn.games.cantstop.Solution.anchor", "madn.games.pyramid.Solution",
}  # fmt: skip
MACHINERY = ("madn.solver.Receiver.", "madn.solver.Scratch.")


def public(path: str) -> Iterator[tuple[str, Any]]:
    """The functions, constructors and methods of a module, by name; not constructors that only keep what they get."""
    module = importlib.import_module(path)
    listed = getattr(module, "__all__", None) or [
        n for n, v in vars(module).items() if getattr(v, "__module__", "") == path
    ]
    for name in listed:
        found = getattr(module, name)
        if name.startswith("_") or not str(getattr(found, "__module__", "")).startswith("madn"):
            continue
        if inspect.isfunction(found):
            yield f"{path}.{name}", found
        elif inspect.isclass(found):
            own = vars(found)
            if "__post_init__" in own or ("__init__" in own and not dataclasses.is_dataclass(found)):
                yield f"{path}.{name}", found
            methods = {n: getattr(m, "__func__", m) for n, m in own.items() if not n.startswith("_")}
            yield from ((f"{path}.{name}.{n}", method) for n, method in methods.items() if inspect.isfunction(method))


def numeric(function: Any) -> list[str]:
    """The parameters of a function that are numbers, or tuples of numbers; all, of a function of another game."""
    parameters = inspect.signature(function).parameters.values()
    if function.__module__.startswith("madn.games."):
        return [p.name for p in parameters if p.annotation not in {p.empty, bool} and p.name != "progress"]
    return [
        p.name
        for p in parameters
        if p.annotation is not p.empty and NUMERIC.search(str(p.annotation)) and "Callable" not in str(p.annotation)
    ]


def functions() -> dict[str, list[str]]:
    """The public functions with parameters that are numbers, and these."""
    every = {name: numeric(function) for path in MODULES for name, function in public(path)}
    return {n: p for n, p in every.items() if p and n not in PLAIN and not n.startswith(MACHINERY)}


def calls(directory: Path) -> dict[str, Prepared]:
    """A quick right call of each of these functions: what to call, and with what."""
    from madn import evaluate, machine, match, players, ranking, record, solver, startvalues, store
    from madn.games import cantstop, pig, pyramid
    from madn.games.pyramid import tree

    advisor = madn.Advisor(TINY, cache=directory / "cache")
    two, new, board = directory / "two", directory / "new", Board.start(TINY)
    ruled, optimal = players.PLAYERS["fpoc"], players.PLAYERS["optimal"]
    small, race, triple = cantstop.CantStop(2, 1, 2, 2), pig.Pig(10), (1, 1, 1)
    start = cantstop.Position.parse("-/-", small)
    chosen = players.FunctionPlayer("mine", "Mine.", lambda board, roll, moves: moves[0])
    here = {"own": 1, "other": 2}
    solved: dict[str, Callable[[], Any]] = {
        "game": lambda: pig.solve(race),
        "tiers": lambda: pyramid.solve(3),
    }
    empty, state = (0,) * small.columns, {"state": triple}

    def of(key: str, method: str, **values: Any) -> Prepared:
        return lambda: (getattr(solved[key](), method), values)

    def call(function: Callable[..., Any], **values: Any) -> Prepared:
        return lambda: (function, values)

    def database() -> madn.Database:
        return madn.open_database(two)

    def answers() -> cantstop.TurnAnswers:
        return cantstop.TurnAnswers(cantstop.solve(small), start)

    return {
        "madn.Advisor": call(madn.Advisor, rules=TINY, cache=directory / "cache", limit=10**6),
        "madn.Advisor.best_move": call(advisor.best_move, board="0/0", roll=6),
        "madn.Advisor.moves": call(advisor.moves, board="0/0", roll=6),
        "madn.Board": call(Board, own=(0,), other=(0,), rules=TINY),
        "madn.Board.from_masks": call(Board.from_masks, own=1, other=1, rules=TINY),
        "madn.Board.legal_moves": call(board.legal_moves, roll=6),
        "madn.Board.after": call(board.after, move="0-6", roll=6),
        "madn.Database.best_move": lambda: (database().best_move, {"board": "0/0", "roll": 6}),
        "madn.Database.best_moves": lambda: (database().best_moves, {"boards": ["0/0"], "rolls": 6}),
        "madn.Database.preload": lambda: (database().preload, {"most": 1}),
        "madn.Database.moves": lambda: (database().moves, {"board": "0/0", "roll": 6}),
        "madn.Database.proved_best": lambda: (
            madn.open_database(directory / "proved").proved_best,
            {"board": "0/0", "roll": 6},
        ),
        "madn.Database.with_bounds": lambda: (
            madn.open_database(directory / "proved").with_bounds,
            {"moves": database().moves("0/0", 6), "roll": 6},
        ),
        "madn.Game.legal_moves": lambda: (madn.Game(TINY).legal_moves, {"roll": 6}),
        "madn.Game.play": lambda: (madn.Game(TINY).play, {"seed": 1}),
        "madn.Game.push": lambda: (madn.Game(TINY).push, {"roll": 6, "move": "0-6"}),
        "madn.Move": call(madn.Move, start=1, end=2),
        "madn.Rules": call(Rules, pieces=1, squares=8),
        "madn.Rules.house": call(Rules.house, pieces=1, squares=8),
        "madn.explain": lambda: (madn.explain, {"board": board, "roll": 6, "moves": database().moves(board, 6)}),
        "madn.open_database": call(madn.open_database, path=two, cache_bytes=1),
        "madn.solve": call(madn.solve, rules=TINY, bits=8, memory=2**30, threads=1, tolerance=1e-6),
        "madn.unrank": call(madn.unrank, id=1, rules=TINY),
        "madn.machine.chosen_threads": call(machine.chosen_threads, asked=1),
        "madn.match.play_game": call(match.play_game, first=ruled, second=ruled, start=board, seed=1, game=1),
        "madn.match.simulate": call(match.simulate, first=ruled, second=ruled, start=board, games=1, seed=1, threads=1),
        "madn.match.regret": lambda: (
            match.regret,
            {"player": ruled, "database": database(), "games": 4, "seed": 1, "threads": 1},
        ),
        "madn.evaluate.evaluate": call(
            evaluate.evaluate, rules=TINY, first=ruled, second=ruled, tolerance=1e-6, threads=1
        ),
        "madn.players.Player.choose": call(ruled.choose, board=board, roll=6),
        "madn.players.legal_moves": call(players.legal_moves, board=board, roll=6),
        "madn.players.RulePlayer.choices": call(ruled.choices, board=board, roll=6),
        "madn.players.FunctionPlayer.choices": call(chosen.choices, board=board, roll=6),
        "madn.players.EstimatePlayer.choices": call(players.PLAYERS["estimate"].choices, board=board, roll=6),
        "madn.players.OptimalPlayer.choices": call(optimal.choices, board=Board.start(Rules(2)), roll=6),
        "madn.ranking.unrank": call(ranking.unrank, id=1, rules=TINY),
        "madn.record.Ply": call(record.Ply, roll=6, move=madn.Move(0, 6)),
        "madn.record.Record.played": call(record.Record(board, "a", "b").played, roll=6, move=madn.Move(0, 6)),
        "madn.startvalues.sweeps": lambda: (
            startvalues.sweeps,
            {"rules": TINY, "x": np.full(TINY.positions, 0.5), "tolerance": 1e-6, "threads": 1},
        ),
        "madn.solver.make_plan": call(solver.make_plan, rules=TINY, tolerance=1e-6, threads=1, memory=2**30, bits=8),
        "madn.store.compress_database": call(
            store.compress_database, src=two, dst=new, bits=12, level=1, threads=1, cache_bytes=2**20
        ),
        "madn.store.verify_database": call(store.verify_database, path=two, deep=True, sample=5, seed=1),
        "madn.store.write_database": lambda: (
            store.write_database,
            {"path": new, "source": solver.solve(solver.make_plan(TINY)), "provenance": {}, "bits": 8}
            | {"block_positions": 100, "level": 1, "threads": 1},
        ),
        "madn.games.pig.Pig": call(pig.Pig, target=10, faces=6, losing_face=1, variant="classic"),
        "madn.games.pig.Pig.check_state": call(race.check_state, **here, turn=3),
        **{
            f"madn.games.pig.Solution.{name}": of("game", name, **here, turn=3)
            for name in ("value", "win", "action", "ask")
        },
        "madn.games.pig.Solution.turn": of("game", "turn", **here),
        "madn.games.pig.Strategy.holds": call(pig.Strategy.hold_at(race, 5).holds, **here, turn=3),
        "madn.games.pig.Strategy.decisions": call(pig.Strategy.hold_at(race, 5).decisions, **here),
        "madn.games.pig.Strategy.hold_at": call(pig.Strategy.hold_at, game=race, points=5),
        "madn.games.pig.Strategy.table": call(pig.Strategy.table, game=race, holds=[[[True]]]),
        "madn.games.pig.Strategy": call(pig.Strategy, game=race, bits=pig.Strategy.hold_at(race, 5).bits),
        "madn.games.pig.fewest_turns": call(pig.fewest_turns, game=race),
        "madn.games.pig.best_response": call(pig.best_response, strategy=pig.Strategy.hold_at(race, 5), threads=1),
        "madn.games.pig.duel": call(
            pig.duel, first=pig.Strategy.hold_at(race, 5), second=pig.Strategy.hold_at(race, 4)
        ),
        "madn.games.pig.solve": call(pig.solve, game=race, threads=1),
        "madn.games.pyramid.Numbering.of": call(pyramid.Numbering.of, tiers=3),
        **{
            f"madn.games.pyramid.Solution.{n}": of("tiers", n, **state)
            for n in ("find", "value", "wins", "best_actions")
        },
        **{
            f"madn.games.pyramid.{name}": call(getattr(pyramid, name), **state)
            for name in ("actions", "bars", "is_final", "state_text")
        },
        "madn.games.pyramid.after": call(pyramid.after, state=triple, action=pyramid.Action(3, 1, 2)),
        **{f"madn.games.pyramid.{n}": call(getattr(pyramid, n), tiers=3) for n in ("check_memory", "limit", "start")},
        "madn.games.pyramid.parse_state": call(pyramid.parse_state, text="1,1,1", tiers=3),
        "madn.games.pyramid.tree.as_svg": lambda: (tree.as_svg, {"tree": tree.strategy(pyramid.solve(3), triple)}),
        "madn.games.pyramid.tree.as_text": lambda: (tree.as_text, {"tree": tree.strategy(pyramid.solve(3), triple)}),
        "madn.games.pyramid.solve": call(pyramid.solve, tiers=3, threads=1, until=triple),
        "madn.games.pyramid.tree.checked_depth": call(tree.checked_depth, depth=2),
        "madn.games.pyramid.tree.strategy": lambda: (
            tree.strategy,
            {"solution": pyramid.solve(3), **state, "depth": 2},
        ),
        "madn.games.cantstop.CantStop": call(cantstop.CantStop, sides=2, shortest=1, difference=2, to_win=2),
        "madn.games.cantstop.Position": call(cantstop.Position, own=empty, other=empty, markers=empty, game=small),
        "madn.games.cantstop.Position.parse": call(cantstop.Position.parse, text="-/-", game=small),
        "madn.games.cantstop.TurnAnswers": lambda: (
            cantstop.TurnAnswers,
            {"source": cantstop.solve(small), "position": start},
        ),
        "madn.games.cantstop.TurnAnswers.answer": lambda: (answers().answer, {"position": start}),
        "madn.games.cantstop.read_roll": call(cantstop.read_roll, text="1122", game=small),
        "madn.games.cantstop.open_database": call(cantstop.open_database, path=directory / "stop"),
        "madn.games.cantstop.Position.moves": call(start.moves, roll=(1, 1, 2, 2)),
        "madn.games.cantstop.TurnAnswers.moves": lambda: (answers().moves, {"position": start, "roll": (1, 1, 2, 2)}),
        "madn.games.cantstop.solve": call(cantstop.solve, game=small, threads=1, rule=5, lanes=8, memory=2**30),
        "madn.games.cantstop.write_database": lambda: (
            cantstop.write_database,
            {"path": new, "solution": cantstop.solve(small), "level": 3, "threads": 1},
        ),
    }


def nasty_calls(name: str, directory: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """A function with each of its numbers replaced in turn."""
    function, good = calls(directory)[name]()
    yield RIGHT, partial(function, **good)
    for place in (place for place in functions()[name] if place in good and place != "path"):
        wrong = [*NUMBERS, *([value] for value in NUMBERS), *((value,) * 3 for value in NUMBERS)]
        for value in wrong:
            yield f"{place} = {shown(value)}", partial(function, **{**good, place: value})


def run_call(call: Callable[[], Any], right: bool) -> str:
    """Call; return what is wrong with how it ended."""
    try:
        call()
    except MadnError as error:
        return "" if "\n" not in str(error) and not right else f"{error}"
    return ""


def walk(kind: str, name: str, directory: Path) -> Iterator[str]:
    """Run everything; what went wrong, one line each."""

    def too_long(_number: int, _frame: Any) -> None:
        raise TimeoutError(f"not done after {SECONDS} seconds")

    signal.signal(signal.SIGALRM, too_long)
    for what, nasty in nasty_commands(name, directory) if kind == "command" else nasty_calls(name, directory):
        signal.alarm(SECONDS)
        try:
            run = run_command if isinstance(nasty, list) else run_call
            problem = run(nasty, what == RIGHT)  # type: ignore[arg-type]
        except BaseException as error:  # everything: this is what is looked for
            where = traceback.extract_tb(error.__traceback__)[-1]
            problem = f"{type(error).__name__}: {str(error)[:80]} ({where.filename}:{where.lineno})"
        signal.alarm(0)
        if problem:
            yield f"{name} {what}: {problem}"


if __name__ == "__main__":
    import madn.solver.estimate
    import madn.web.serve

    some = madn.solver.estimate.Speed(1e-9)
    setattr(madn.solver.estimate, "measured", lambda threads, method="tiles": some)  # noqa: B010  (takes a moment)
    madn.web.serve.serve = lambda app, listening, proxies=(): listening.close()  # a right port would be served for ever
    names = [sys.argv[3]] if sys.argv[2] == "command" else [n for n, _ in public(sys.argv[3]) if n in functions()]
    for name in names:
        for line in walk(sys.argv[2], name, Path(sys.argv[1])):
            print(line)
