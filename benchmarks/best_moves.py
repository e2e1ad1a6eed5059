"""Time to find best moves with each build, and to encode them: prints one JSON object.

    python benchmarks/best_moves.py                        about a minute
    python benchmarks/best_moves.py --pieces 4 --strip 40  few rows, each as long as those of the four-piece game
    python benchmarks/best_moves.py --policy DB            encodes those of DB, a database of best moves, old or new

Moves are found on one strip, from random values. That is the worst case: branches that depend on them cannot be
predicted. The moves that are encoded are in blocks drawn at random from DB, or from a part of the three-piece game that
is solved for this. Times are medians over the repeats, of processor time in one thread; `encode_wall` is wall time on
two threads.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from hardware import hardware

import madn
from madn import Rules
from madn.solver import kernels
from madn.solver.best_moves import BestMoves
from madn.solver.numbers import FIXED32, FLOAT64, Representation
from madn.solver.sides import TERMINAL, Side
from madn.store import policy
from madn.store.blocks import POLICY
from madn.store.catalogue import read_catalogue
from madn.store.encoders import PolicyEncoder
from madn.store.reader import open_reader

PART = "42/0"  # 20 million positions


def strip_of(side: Side, strip: int, representation: Representation) -> BestMoves:
    """A side against itself with random values; only a strip and the six before it are in memory."""
    n, first, end = side.size, int(side.class_start[strip - 6]), int(side.class_start[strip + 1])
    rng = np.random.default_rng(1)
    start = np.full(n, -1, np.int64)
    start[first:end] = np.arange(end - first) * n
    some = (rng.integers(-(2**28), 2**28, 1 << 20) * (representation.half / 2**28)).astype(representation.dtype)
    L, R = np.resize(some, (end - first) * n), np.resize(some[::-1], (end - first) * n)
    sizes = [1 if f == TERMINAL else Side(side.rules, f).size for f in side.moves.exits]
    exits = [(L[:n], R[:n], np.zeros(size, np.int64)) for size in sizes]
    return BestMoves(side, side, L, R, start, exits, representation)


def encoding(database: Path, blocks: int, repeats: int) -> dict[str, Any]:
    """The time to encode and decode blocks of a database of best moves, drawn with probability by their positions."""
    reader, table = open_reader(database, cache_bytes=0), read_catalogue(database)[1]
    encoder = PolicyEncoder(reader.catalogue.rules)
    share = table.count / table.count.sum()
    chosen = np.random.default_rng(1).choice(len(table), min(blocks, len(table)), replace=False, p=share)
    words = [reader.load(table, at) for at in chosen.tolist()]
    pairs = [np.bitwise_or.reduce([(w >> 3 * k & 3) << 2 * k for k in range(6)]).astype(np.uint16) for w in words]
    first = table.first_id[chosen].tolist()
    frames = [encoder.encode(*block).frame for block in zip(first, pairs, strict=True)]
    calls: dict[str, Callable[[int], object]] = {
        "encode": lambda at: encoder.encode(first[at], pairs[at]),
        "decode": lambda at: policy.decode(frames[at], POLICY, first[at], len(words[at]), reader.game),
        "read_as_stored": lambda at: reader.load(table, int(chosen[at])),
    }
    took = {called: np.empty((repeats, len(words))) for called in calls}
    walls = []
    for repeat in range(repeats):
        for at in range(len(words)):
            for called, call in calls.items():
                began = time.process_time()
                call(at)
                took[called][repeat, at] = time.process_time() - began
        with ThreadPoolExecutor(2) as pool:
            began = time.perf_counter()
            list(pool.map(calls["encode"], range(len(words))))
            walls.append(time.perf_counter() - began)
    positions = int(table.count[chosen].sum())
    stored = sum(int(table.length[at]) for at in chosen)
    medians = {called: float(np.median(seconds, axis=0).sum()) for called, seconds in took.items()}
    return {
        "positions": positions,
        **{f"{called}_ns": round(seconds / positions * 1e9, 1) for called, seconds in medians.items()},
        "encode_wall_ns": round(median(walls) / positions * 1e9, 1),
        "bits_per_position": round(8 * sum(map(len, frames)) / positions, 4),
        "bits_per_position_as_stored": round(8 * stored / positions, 4),
        "stored": reader.catalogue.encodings[0].encoding.name,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pieces", type=int, default=3)
    parser.add_argument("--strip", type=int, default=62)
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--policy", type=Path, help="a database of best moves to encode")
    parser.add_argument("--blocks", type=int, default=40, help="how many of its blocks")
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
                answer[f"{representation.name}_{build}_{called}_ns_per_pair"] = round(median(seconds) * 1e9 / pairs, 2)
    with tempfile.TemporaryDirectory() as directory:
        if arguments.policy is None:
            arguments.policy = Path(directory) / "policy"
            scratch = Path(directory) / "scratch"
            madn.solve(Rules(3), policy=arguments.policy, scratch=scratch, board=PART, tolerance=1e-6)
        answer["encoding"] = encoding(arguments.policy, arguments.blocks, arguments.repeats)
    print(json.dumps(answer | {"hardware": hardware()}, indent=2))


if __name__ == "__main__":
    main()
