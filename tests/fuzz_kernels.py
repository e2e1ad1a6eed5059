"""Calls of compiled functions, recorded from real use and spoilt at random: an exception or a result, never a crash.

    python fuzz_kernels.py DIR SEED COUNT [NAME]

records calls of every function and method that the stubs of the kernels declare, then repeats COUNT of them with one or
two arguments changed (of functions whose name has NAME in it), and says on standard output which call is being made:
the last line is the one that crashed. Exceptions that a kernel could not raise are failures too.
"""

import ast
import dataclasses
import importlib
import random
import re
import signal
import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

SECONDS = 60  # that a call may take
KEPT = 6  # calls recorded of each function
LARGEST = 1 << 22  # bytes of an array that is recorded
PACKAGES = ("madn", "madn.solver", "madn.store", "madn.games.pig", "madn.games.pyramid", "madn.games.cantstop")
NUMBERS = [
    -1,
    0,
    1,
    2,
    3,
    7,
    64,
    127,
    255,
    1000,
    2**31 - 1,
    2**31,
    -(2**31),
    2**32,
    2**62,
    2**63 - 1,
    -(2**63),
    2**64,
    -(2**70),
]
OTHERS: list[Any] = [
    None,
    True,
    2.5,
    float("nan"),
    float("inf"),
    -1e308,
    "x",
    b"",
    (),
    [],
    {},
    object(),
    [None],
    np.int64(3),
]
OTHERS += [np.zeros(0), np.zeros((1, 1)), np.zeros(3, np.uint64), np.array(1), np.array([None]), np.zeros(2, "M8[s]")]

SOURCES = Path(__file__).resolve().parent.parent

Call = tuple[Any, tuple[Any, ...], dict[str, Any]]
recorded: dict[str, list[Call]] = {}
seen: dict[str, int] = {}


def kernels() -> Iterator[tuple[str, ast.Module]]:
    """The kernels that have stubs beside them, with these."""
    for package in PACKAGES:
        folder = Path(importlib.import_module(package).__file__ or "").parent
        for kernel in sorted({path.name.split(".")[0] for path in folder.glob("_*.so")}):
            # A build for wider instructions has the interface of the portable one.
            stub = SOURCES.joinpath(*package.split("."), f"{re.sub('_avx(2|512)$', '', kernel)}.pyi")
            if stub.exists():  # not what Cython adds
                yield f"{package}.{kernel}", ast.parse(stub.read_text(encoding="utf-8"))


def declared(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The functions and methods of a stub with parameters: (class, or nothing; name)."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "Protocol" for base in node.bases):
            continue  # for the type checker only
        parts = node.body if isinstance(node, ast.ClassDef) else [node]
        for part in parts:
            if isinstance(part, ast.FunctionDef):
                owner = node.name if isinstance(node, ast.ClassDef) else ""
                if len(part.args.args) > bool(owner):
                    yield owner, part.name


def keep(name: str, what: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Record a call: the first few, and then some of the later ones."""
    calls = recorded.setdefault(name, [])
    seen[name] = seen.get(name, 0) + 1
    place = len(calls) if len(calls) < KEPT else random.randrange(seen[name])
    if place < KEPT and size(arguments) <= LARGEST:
        calls[place : place + 1] = [(what, copied(arguments), copied(named))]


def size(value: Any) -> int:
    """The bytes of the arrays in a value."""
    return (
        value.nbytes
        if isinstance(value, np.ndarray)
        else sum(map(size, value))
        if isinstance(value, tuple | list)
        else 0
    )


def copied(value: Any) -> Any:
    """The value with arrays of its own."""
    if isinstance(value, np.ndarray):
        return value.copy(order="K") if value.flags.writeable or not value.flags.c_contiguous else value
    if isinstance(value, tuple | list) and type(value) in (tuple, list):
        return type(value)(map(copied, value))
    return {name: copied(part) for name, part in value.items()} if isinstance(value, dict) else value


def watch() -> None:
    """Have all kernels record how they are called."""
    every = [
        (path, tree, importlib.import_module(path)) for path, tree in kernels()
    ]  # they look each other's classes up
    for path, tree, module in every:
        methods: dict[str, list[str]] = {}
        for owner, name in declared(tree):
            if owner:
                methods.setdefault(owner, []).append(name)
            else:
                put(getattr(module, name), watched(getattr(module, name), f"{path}.{name}"))
        for owner, names in methods.items():
            put(getattr(module, owner), watched_class(getattr(module, owner), f"{path}.{owner}", names))


def put(old: Any, new: Any) -> None:
    """Put something in the place of a function or class of a kernel, wherever it has been imported."""
    for name in [name for name in sys.modules if name.startswith("madn")]:
        members = vars(sys.modules[name])
        for table in (members, *(value for value in members.values() if type(value) is dict)):
            for key in [key for key, value in table.items() if value is old]:
                table[key] = new


def watched(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function, recording its calls."""

    def call(*arguments: Any, **named: Any) -> Any:
        keep(name, function, arguments, named)
        return function(*arguments, **named)

    return call


def watched_class(kind: Any, name: str, methods: list[str]) -> Any:
    """A subclass that records how it is made and called."""

    def new(cls: Any, *arguments: Any, **named: Any) -> Any:
        keep(f"{name}.__init__", kind, arguments, named)
        return kind.__new__(cls, *arguments, **named)

    def init(self: Any, *arguments: Any, **named: Any) -> None:
        if kind.__init__ is not object.__init__:
            kind.__init__(self, *arguments, **named)

    def method(part: str) -> Callable[..., Any]:
        def call(self: Any, *arguments: Any, **named: Any) -> Any:
            keep(f"{name}.{part}", getattr(kind, part).__get__(self), arguments, named)
            return getattr(kind, part)(self, *arguments, **named)

        return call

    members: dict[str, Any] = {part: method(part) for part in methods if part != "__init__"}
    members |= {"__new__": new, "__init__": init}
    return type(kind.__name__, (kind,), members)


def use(directory: Path) -> None:
    """Real use of everything that is compiled, on small boards."""
    from disk import disk_plan, proving_plan, solve_on_disk

    import madn
    from madn import Board, Rules, _match, _regret, fitting
    from madn.cluster import prepare_cluster
    from madn.estimator import Shape
    from madn.evaluate import evaluate
    from madn.games import cantstop, pig, pyramid
    from madn.games.cantstop import kernels as stages
    from madn.games.cantstop.numbering import Numbering
    from madn.match import compiled, regret, simulate
    from madn.players import PLAYERS, OptimalPlayer
    from madn.proof import check_proof
    from madn.solver import kernels as sweeps
    from madn.solver import make_plan
    from madn.solver.cluster.processes import Processes
    from madn.solver.plan import BASE_MEMORY
    from madn.store import compress_database, verify_database

    small = Rules(2, 8)
    plain, rounded, moves, scratch = (directory / name for name in ("plain", "rounded", "moves", "scratch"))
    madn.solve(small, out=plain, threads=2)
    madn.solve(small, method="thesis", tolerance=1e-6)
    planned = make_plan(small, tolerance=1e-6, scratch=str(directory), memory=BASE_MEMORY + 1, census=True)
    how: dict[str, Any] = {"census": True, "tolerance": 1e-6, "memory": planned.memory_bytes, "policy": moves}
    for build in sweeps.SWEEPERS:
        sweeps.build, sweeps.best_moves_build = build, build if build in sweeps.CHOOSE else "portable"
        madn.solve(small, out=directory / "streamed", scratch=scratch, **how)
        solve_on_disk(disk_plan(small, directory / f"streamed-{build}"))
        prepare_cluster(small, directory / f"panels-{build}", processes=Processes()).run()
    madn.solve(Rules(3, 8), out=directory / "three", scratch=scratch)  # some exits are not reached with a 6
    compress_database(plain, rounded, bits=12)
    compress_database(plain, directory / "policy", store="policy")
    verify_database(plain, deep=True)
    verify_database(moves, deep=True)
    verify_database(Path(__file__).with_name("policy-0.1"))
    for build in sweeps.SWEEPERS:
        sweeps.build = build
        madn.solve(small, out=directory / "proved", proved=True)
    solve_on_disk(proving_plan(small, directory / "proving"))
    check_proof(directory / "proved")
    check_proof(directory / "proved", sample=20)
    start = Board.start(small)
    for path in (plain, moves):
        with madn.open_database(path) as database:
            database.preload()
            database.moves(start, 6), database.best_move(start, 6), database.analyse(start)
            database.best_moves([start] * 3, [1, 6, 2])
    with madn.open_database(plain) as database:
        database.win(start), database.win_many(np.arange(50))
        optimal, fpoc = OptimalPlayer(database), PLAYERS["fpoc"]
        simulate(optimal, fpoc, start, 20, threads=2)
        regret(fpoc, database, games=20, threads=2)
        regret(lambda board, roll, moves: moves[0], database, games=20)
        evaluate(small, optimal, fpoc, tolerance=1e-3, threads=2)
        evaluate(small, None, fpoc, tolerance=1e-3)
        one = compiled(fpoc, small)
        assert one is not None
        _match.play_one(one, one, 1, 1, 1, 1)
        asked = _match.Games(one.game, None, one, 1, 1, 1, 0, 9)
        asked.choose(database.engine.best_moves(*asked.advance(1)[:2])[0])
        games = _regret.Games(one.game, None, 1, 1, 1, 0, 9, 0.0)
        games.choose_best(np.full(len(games.advance(1)), 0.5), 0.0)
        games.where(0)
        one.choices(1, 1, 6)
    madn.unrank_many(madn.rank_many(np.array([[1, 1]]), small), small)
    game = importlib.import_module("madn._core").Game(small)
    number = game.rank(1, 1)
    game.unrank(number), game.first(*game.profile(number)), game.own_moves(1, 6)
    for variant in ("classic", "exact", "difference"):
        solution = pig.solve(pig.Pig(12, variant=variant), threads=2)
        solution.ask(1, 2, 3)
        pig.duel(pig.best_response(solution.strategy), pig.fewest_turns(solution.game)[0])
    pig.article_table(np.zeros((6, 6, 6)), 1e-3)
    solved = pyramid.solve(5, threads=2)
    solved.value((1, 1, 1, 1, 1)), list(solved.rows())
    board = cantstop.CantStop(2, 2, 1, 2)
    options: list[dict[str, Any]] = [{}, {"rule": 5}, {"method": "plain", "lanes": 1}]
    for build, settings in product(stages.BUILDS, options):
        cantstop.solve(board, threads=2, build=build, **settings)
    stages.make_turns(Numbering(board), 7, np.array([0, 1], np.int32), 1)[0].program(0)
    for kernel, fitter in zip(("_estimator", "_estimator_avx2"), fitting.FITTERS, strict=False):
        module = importlib.import_module(f"madn.{kernel}")
        shape = Shape(2, 8, 6, 4, 32, 12)
        masks, flags, numbers = np.ones(3, np.uint64), np.zeros(3, np.uint8), np.zeros(3, np.float32)
        fitting.build = fitter
        positions = fitting.Positions(masks, masks, flags, numbers)
        fitted = fitting.whole_numbers(shape, fitting.fit(shape, positions, fitting.Settings(9)), {})
        fitted.network(small, fitter).wins(masks, masks, 2)
        module.active(game, 6, 4, 1, 1), module.row_count(2, 8, 6, 4)
    for kernel in ("_sweep", "_sweep_avx2", "_sweep_avx512")[: len(sweeps.SWEEPERS)]:
        importlib.import_module(f"madn.solver.{kernel}").parts_in_order(np.arange(9, dtype=np.int64), 2, 4)
        sweepers = (call[0].__self__ for call in recorded[f"madn.solver.{kernel}.Sweeper.run"])
        next(sweeper for sweeper in sweepers if not sweeper.late).restore(0)  # those of a panel have nothing to restore


class Spoiler:
    """Spoils arguments, by a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def call(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any], str]:
        """The arguments with one or two of them spoilt, and which."""
        changed, by_name = list(copied(arguments)), copied(named)
        places: list[Any] = [*range(len(changed)), *by_name]
        done = []
        for place in self.random.sample(places, min(len(places), self.random.choice((1, 1, 2)))):
            where: Any = by_name if isinstance(place, str) else changed
            where[place] = self.value(where[place])
            done.append(f"{place} = {described(where[place])}")
        return tuple(changed), by_name, ", ".join(done)

    def value(self, good: Any) -> Any:
        """A spoilt version of a value."""
        pick = self.random.choice
        if self.random.random() < 0.12:
            return pick(OTHERS)
        if isinstance(good, np.ndarray):
            return self.array(good)
        if isinstance(good, bool):
            return pick([not good, *OTHERS])
        if isinstance(good, int):
            return pick([good - 1, good + 1, -good, 2 * good, *NUMBERS, *map(np.int64, (0, -1, 2))])
        if isinstance(good, float):
            return pick([0.0, -good, 2.0, -1.0, 1e-300, 1e300, float("nan"), float("inf"), -float("inf")])
        if isinstance(good, bytes | memoryview):
            data = bytearray(good)
            if data and pick((True, False)):
                data[self.random.randrange(len(data))] ^= 1 << self.random.randrange(8)
            return bytes(data[: self.random.randrange(len(data) + 1)]) if pick((True, False)) else bytes(data)
        if dataclasses.is_dataclass(good) and not isinstance(good, type):
            name = pick([field.name for field in dataclasses.fields(good)])
            try:
                return dataclasses.replace(good, **{name: self.value(getattr(good, name))})
            except Exception:  # refused before it is given
                return None
        if type(good) in (tuple, list) and good:
            place = self.random.randrange(len(good))
            return pick([good[:place] + good[place + 1 :], good + good[place : place + 1], self.inside(good, place)])
        return pick(OTHERS)

    def inside(self, good: Any, place: int) -> Any:
        """A sequence with one of its elements spoilt."""
        return type(good)([*good[:place], self.value(good[place]), *good[place + 1 :]])

    def array(self, good: np.ndarray[Any, Any]) -> Any:
        """A spoilt version of an array: most often with a few other numbers in it."""
        wrong = good.copy()
        if self.random.random() < 0.6 and good.size and good.dtype.kind in "iufb":
            if good.dtype.kind == "f":
                numbers: list[Any] = [0.0, -1.0, 2.0, 1e300, float("nan"), float("inf"), -float("inf")]
            else:
                limits = (0, 1) if good.dtype.kind == "b" else (np.iinfo(good.dtype).min, np.iinfo(good.dtype).max)
                numbers = [min(max(number, limits[0]), limits[1]) for number in (*NUMBERS, good.size)]
            for _ in range(self.random.choice((1, 1, 3, good.size))):
                wrong.flat[self.random.randrange(good.size)] = self.random.choice(numbers)
            return wrong
        wrong.flags.writeable = self.random.random() < 0.9
        kinds = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", ">u8", ">i4", "?"]
        ways: list[Callable[[], Any]] = [
            lambda: wrong[:-1], lambda: np.concatenate([wrong, wrong[-1:]]), lambda: wrong[None], lambda: wrong.ravel(),
            lambda: wrong.T, lambda: wrong[..., None], lambda: wrong[..., :0], lambda: wrong[:0], lambda: wrong[::-1],
            lambda: wrong[::2], lambda: np.stack([wrong, wrong], -1)[..., 0], lambda: wrong.tolist(),
            lambda: wrong.astype(self.random.choice(kinds)), lambda: wrong,
        ]  # fmt: skip
        return self.random.choice(ways)() if wrong.ndim else wrong


def described(value: Any) -> str:
    """A value in a line of the log."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    try:
        return " ".join(repr(value).split())[:80]
    except ValueError:
        return "a long number"


def main() -> int:
    """Record, then fuzz; the number of exceptions that could not be raised."""
    directory, seed, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    random.seed(seed)
    watch()
    use(directory)
    names = {f"{path}.{owner}{'.' * bool(owner)}{name}" for path, tree in kernels() for owner, name in declared(tree)}
    missing = sorted(names - set(recorded))
    if missing:
        print(f"never called: {', '.join(missing)}")
        return 1
    lost: list[str] = []
    sys.unraisablehook = lambda found: lost.append(f"{found.exc_value!r} in {found.object!r}")
    spoiler, wanted = Spoiler(seed), "".join(sys.argv[4:5])
    chosen = sorted(name for name in recorded if wanted in name and recorded[name])
    raised = 0
    np.seterr(all="ignore")
    for number in range(count):
        name = chosen[number % len(chosen)]
        what, arguments, named = spoiler.random.choice(recorded[name])
        changed, by_name, done = spoiler.call(arguments, named)
        print(f"{number} {name}: {done}", flush=True)
        signal.alarm(SECONDS)  # ends the process
        try:
            what(*changed, **by_name)
        except Exception:  # any will do
            raised += 1
        signal.alarm(0)
        if lost:
            print(f"could not be raised: {lost[0]}")
            return 1
    print(f"{count} calls of {len(chosen)} functions, {raised} refused")
    return 0


if __name__ == "__main__":
    sys.exit(main())
