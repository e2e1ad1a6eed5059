"""Times the numbering of positions: round trips (unrank, then rank) of random IDs, on one core.

Prints one JSON object. Rates are medians over several runs, in round trips per second.
"""

import argparse
import json
from collections.abc import Callable
from statistics import median
from time import perf_counter

import numpy as np
from hardware import hardware

from madn import Rules
from madn._core import Game

VECTOR, SCALAR = 1_000_000, 20_000


def seconds(work: Callable[[], object], runs: int) -> float:
    """The median time of several runs, after one to warm up."""
    work()
    times = []
    for _ in range(runs):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return median(times)


def measure(pieces: int, squares: int, runs: int) -> dict[str, object]:
    """The rates for one game; SystemExit if a round trip does not come back to its ID."""
    game = Game(Rules(pieces, squares))
    ids = np.random.default_rng(0).integers(0, game.positions, VECTOR)
    few = ids[:SCALAR].tolist()
    own, other = game.unrank_many(ids)
    if not np.array_equal(game.rank_many(own, other), ids):
        raise SystemExit(f"game of {pieces} pieces on {squares} squares is not a bijection")
    round_trip = seconds(lambda: game.rank_many(*game.unrank_many(ids)), runs)
    unrank = seconds(lambda: game.unrank_many(ids), runs)
    rank = seconds(lambda: game.rank_many(own, other), runs)
    scalar = seconds(lambda: [game.rank(*game.unrank(z)) for z in few], runs)
    return {
        "pieces": pieces,
        "squares": squares,
        "positions": game.positions,
        "round_trips_per_second": round(VECTOR / round_trip),
        "unrank_ns": round(unrank / VECTOR * 1e9, 1),
        "rank_ns": round(rank / VECTOR * 1e9, 1),
        "scalar_round_trips_per_second": round(SCALAR / scalar),
    }


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=11, help="runs to take the median of (default 11)")
    runs = parser.parse_args().runs
    games = [measure(pieces, 40, runs) for pieces in range(1, 7)]
    standard = games[3]["round_trips_per_second"]
    report = {
        "benchmark": "game",
        "hardware": hardware(),
        "threads": 1,
        "runs": runs,
        "round_trips_per_second": standard,
        "games": games,
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
