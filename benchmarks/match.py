"""Times matches: games per second of players with rules, regret, and an exact evaluation beside a solve.

Prints one JSON object. Times are medians over several runs; evaluation and solve take turns in the same run.
"""

import argparse
import json
from statistics import median
from time import perf_counter, process_time

from hardware import hardware

from madn import Board, Rules, open_database
from madn.evaluate import evaluate
from madn.match import regret, simulate
from madn.players import PLAYERS
from madn.solver import make_plan, solve

PAIRS = [("random", "fpoc"), ("fpoc", "fpnpoc"), ("careful", "hunter")]


def games(count: int, threads: int, runs: int) -> list[dict[str, object]]:
    """Four-piece games per second of some pairings."""
    found = []
    for first, second in PAIRS:
        times, plies = [], 0
        for seed in range(runs):
            began = perf_counter()
            plies = simulate(PLAYERS[first], PLAYERS[second], Board.start(), count, seed, threads).plies
            times.append(perf_counter() - began)
        seconds = median(times)
        found.append(
            {
                "first": first,
                "second": second,
                "threads": threads,
                "games_per_second": round(count / seconds),
                "ns_per_ply": round(1e9 * seconds / plies, 1),
                "seconds_for_a_million": round(1e6 * seconds / count, 1),
            }
        )
    return found


def regrets(count: int, threads: int, runs: int, path: str | None) -> list[dict[str, object]]:
    """Games per second with regret, and how many results of games would be as precise as one game with regret."""
    found = []
    with open_database(path, values=True) as database:
        regret(PLAYERS["random"], database, games=1000)  # decodes what fits into memory
        for name in ("random", "fpoc", "fpnpoc"):
            times, measured = [], None
            for seed in range(runs):
                began = process_time()
                measured = regret(PLAYERS[name], database, games=count, seed=seed, threads=threads)
                times.append(process_time() - began)
            assert measured is not None
            w = (measured.first_wins + measured.second_wins) / 2
            found.append(
                {
                    "player": name,
                    "rules": str(database.rules),
                    "games_per_processor_second": round(count / median(times)),
                    "look_ups_per_game": round(measured.look_ups / count, 1),
                    "standard_deviation_points": round(100 * measured.standard_error * count**0.5, 2),
                    "results_as_precise_as_a_game": round(w * (1 - w) / count / measured.standard_error**2, 1),
                }
            )
    return found


def exact(pieces: int, runs: int, threads: int) -> dict[str, object]:
    """The time of an exact evaluation of two players and that of a solve, which take turns."""
    rules = Rules(pieces=pieces)
    evaluations, solves = [], []
    for _ in range(runs):
        began = perf_counter()
        solve(make_plan(rules, threads=threads))
        solves.append(perf_counter() - began)
        began = perf_counter()
        found = evaluate(rules, PLAYERS["fpoc"], PLAYERS["random"], threads=threads)
        evaluations.append(perf_counter() - began)
    return {
        "pieces": pieces,
        "threads": threads,
        "evaluation_seconds": round(median(evaluations), 3),
        "residual": found.residual,
        "solve_seconds": round(median(solves), 3),
        "ratio": round(median(evaluations) / median(solves), 2),
    }


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3, help="runs to take the median of (default 3)")
    parser.add_argument("--games", type=int, default=100_000, help="games of a run (default 100,000)")
    parser.add_argument("--pieces", type=int, default=2, help="pieces of the largest exact evaluation (default 2)")
    parser.add_argument("--threads", type=int, default=2, help="threads of the exact evaluation (default 2)")
    parser.add_argument("--db", help="database to measure regret with (default: the two-piece game of the package)")
    args = parser.parse_args()
    answer = {
        "hardware": hardware(),
        "games": games(args.games, 1, args.runs),
        "regret": regrets(args.games, 1, args.runs, args.db),
        "exact": [exact(pieces, args.runs, args.threads) for pieces in range(1, args.pieces + 1)],
    }
    print(json.dumps(answer, indent=2))


if __name__ == "__main__":
    main()
