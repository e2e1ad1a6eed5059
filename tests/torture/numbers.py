"""Nasty numbers for every option of every command, and for every function that takes numbers.

The walkers are those of the tests (tests/nasty_numbers.py): here some of their calls are chosen by chance, each in a
process of its own, and options are spoilt two at a time.
"""

import random
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from madn.errors import MadnError
from torture.case import BrokenError, Case
from torture.processes import Ended, judged, program, run, start

CALLS = 6  # in a case
SECONDS = 40.0
MEMORY = 3 << 30


def numbers(case: Case) -> None:
    """A few calls of one command or one function, or some hundreds of calls of kernels."""
    if case.rng.random() < 0.1 and find_spec("fuzz_kernels") is not None:
        _kernels(case)
        return
    walkers: Any = import_module("nasty_numbers")
    directory = case.directory
    for name, *options in (("two",), ("proved", "--proved")):
        run(case, ("solve", "--pieces", "1", "--squares", "8", "--out", str(directory / name), *options, "--json"))
    _write_record(case, directory)
    if case.rng.random() < 0.5:
        _commands(case, walkers, directory)
    else:
        _functions(case, walkers, directory)


def _write_record(case: Case, directory: Path) -> None:
    args = (
        "play",
        "random",
        "fpoc",
        "--pieces",
        "1",
        "--squares",
        "8",
        "--seed",
        "1",
        "--out",
        str(directory / "game.txt"),
    )
    run(case, args)


def _commands(case: Case, walkers: Any, directory: Path) -> None:
    name = case.chosen(sorted(walkers.COMMANDS))
    good, *spoilt = list(walkers.nasty_commands(name, directory))
    for _ in range(CALLS if spoilt else 0):
        what, args = case.chosen(spoilt)
        if case.rng.random() < 0.4 and len(args) > len(good[1]):  # a second option, spoilt as well
            _, other = case.chosen(spoilt)
            args = [*args, *other[len(good[1]) :]]
        ended = _bounded(case, f"madn {name} {what}", lambda args=args: walkers_main(args))
        case.count("commands")
        said = [line for line in ended.err.splitlines() if line.startswith("madn: ")]
        if ended.status not in walkers.STATUSES or (ended.status and len(said) != 1):
            raise BrokenError("other", f"{args}: status {ended.status}: {ended.err[-200:]!r}"[:900])


def walkers_main(args: list[str]) -> int:
    """`madn ARGS`, where a server that could start does not."""
    import madn.web.serve
    from madn.cli import main

    vars(madn.web.serve)["serve"] = lambda app, listening, *_: listening.close()
    return main(args)


def _functions(case: Case, walkers: Any, directory: Path) -> None:
    name = case.chosen(sorted(walkers.calls(directory)))
    seed = case.rng.randrange(2**32)

    def work() -> int:
        chance = random.Random(seed)
        spoilt = list(walkers.nasty_calls(name, directory))[1:]
        for what, call in chance.choices(spoilt, k=CALLS) if spoilt else []:
            print(ascii(what), flush=True)
            try:
                call()
            except MadnError as error:
                if "\n" in str(error):
                    print(f"more than one line: {error!r}")
                    return 1
        return 0

    ended = _bounded(case, name, work)
    case.count("calls", CALLS)
    if ended.status:
        raise BrokenError("other", f"{name}: {ended.out.strip()[-300:]}")


def _kernels(case: Case) -> None:
    """Compiled functions with spoilt arguments: tests/fuzz_kernels.py with a seed and a number of calls."""
    seed, count = case.rng.randrange(2**31), 500
    path = import_module("fuzz_kernels").__file__ or ""
    case.log(f"fuzz_kernels.py {seed} {count}")
    ended = program(case, "fuzz_kernels.py", [path, str(case.directory), str(seed), str(count)]).end(240)
    case.count("calls of kernels", count)
    last = (ended.out.splitlines() or [""])[-1]
    if ended.status:
        kind = "crashes" if ended.status < 0 else "other"
        raise BrokenError(kind, f"status {ended.status} at {last[:300]!a}: {ended.err[-300:]!a}")


def _bounded(case: Case, what: str, work: Any) -> Ended:
    case.log(ascii(what))
    child = start(case, ascii(what), work, memory=MEMORY)
    return judged(child.end(SECONDS))
