"""Time of the best-moves kernels on one strip of the three-piece game, for each build: prints one JSON object.

    python benchmarks/census.py                        about twenty seconds
    python benchmarks/census.py --pieces 4 --strip 40  few rows, each as long as those of the four-piece game

The values are random, the worst case: branches that depend on them cannot be predicted. Times are medians over the
repeats, of processor time in one thread.
"""

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from hardware import hardware

from madn import Rules
from madn.solver import kernels
from madn.solver.best_moves import BestMoves
from madn.solver.numbers import FIXED32, FLOAT64, Representation
from madn.solver.sides import TERMINAL, Side


def strip_of(side: Side, strip: int, representation: Representation) -> BestMoves:
    """A side against itself with random values, only a strip and the six before it in memory."""
    n, first, end = side.size, int(side.class_start[strip - 6]), int(side.class_start[strip + 1])
    rng = np.random.default_rng(1)
    start = np.full(n, -1, np.int64)
    start[first:end] = np.arange(end - first) * n
    some = (rng.integers(-(2**28), 2**28, 1 << 20) * (representation.half / 2**28)).astype(representation.dtype)
    L, R = np.resize(some, (end - first) * n), np.resize(some[::-1], (end - first) * n)
    sizes = [1 if f == TERMINAL else Side(side.rules, f).size for f in side.moves.exits]
    exits = [(L[:n], R[:n], np.zeros(size, np.int64)) for size in sizes]
    return BestMoves(side, side, L, R, start, exits, representation)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pieces", type=int, default=3)
    parser.add_argument("--strip", type=int, default=62)
    parser.add_argument("--repeats", type=int, default=11)
    arguments = parser.parse_args()
    side = Side(Rules(arguments.pieces), 0)
    first, end = (int(a) for a in side.class_start[arguments.strip : arguments.strip + 2])
    pairs = (end - first) * side.size
    words = np.empty(pairs, np.uint16)
    answer: dict[str, Any] = {
        "pieces": arguments.pieces,
        "strip": arguments.strip,
        "rows": end - first,
        "columns": side.size,
    }
    answer["options_per_row"] = float(np.diff(side.moves.first[::6])[first:end].mean())
    for representation in (FIXED32, FLOAT64):
        it = strip_of(side, arguments.strip, representation)
        for build in kernels.CHOOSE:
            kernels.best_moves_build = build
            calls: dict[str, Callable[[], object]] = {
                "fill_captures": partial(it.fill_captures, arguments.strip, 1),
                "choose": partial(it.choose, arguments.strip, 1, words),
                "choose_without_words": partial(it.choose, arguments.strip, 1),
            }
            for called, call in calls.items():
                seconds = []
                for _ in range(arguments.repeats):
                    began = time.process_time()
                    call()
                    seconds.append(time.process_time() - began)
                answer[f"{representation}_{build}_{called}_ns_per_pair"] = round(median(seconds) * 1e9 / pairs, 2)
    print(json.dumps(answer | {"hardware": hardware()}, indent=2))


if __name__ == "__main__":
    main()
