"""What house rules do to the game: every combination solved, played and compared with the printed rules.

Prints one JSON object for each game as soon as it is done, or writes all of them to a file with --out; what is in the
file already is not computed again. Games that differ only in their start have the same solution. Databases are written
to a temporary directory and removed.

A game that takes too long to be solved here can be given as a database, with what `madn solve --json` printed about it;
its losses and lengths then come from regret, which needs few games:

    python benchmarks/house_rules.py --db house --solved house.json [--printed four] --out docs/results/house-rules.json
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import product
from math import sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
from hardware import hardware

import madn
from madn import Board, Database, Rules
from madn._match import play_many
from madn.evaluate import evaluate
from madn.match import compiled, regret
from madn.players import PLAYERS, OptimalPlayer
from madn.rules import HOUSE_RULES, ROLLS
from madn.solving import Result

SLICES = 10  # of the games: their spread gives the standard errors
CACHE_BYTES = 1 << 30  # a sample of positions reads from all blocks
SAMPLE = 20_000  # positions that are compared with the printed rules if there are more


def combinations(pieces: int) -> Iterator[Rules]:
    """The printed rules, then all other combinations."""
    for chosen in product((False, True), repeat=len(HOUSE_RULES)):
        yield Rules(pieces, **dict(zip(HOUSE_RULES, chosen, strict=True)))


def played(first: Any, second: Any, start: Board, games: int, threads: int) -> dict[str, float]:
    """Games of two compiled players: how often the first wins, how long they are, and the standard errors of both."""
    size = games // SLICES
    slices = [play_many(first, second, *start.masks, 1, n * size, (n + 1) * size, threads) for n in range(SLICES)]
    wins, plies = ([count / size for count in counts] for counts in zip(*slices, strict=True))
    return {
        "first_wins": mean(wins),
        "first_wins_error": stdev(wins) / sqrt(SLICES),
        "plies": mean(plies),
        "plies_error": stdev(plies) / sqrt(SLICES),
    }


def losses(start: Board, optimal: OptimalPlayer, best: Any, name: str, games: int, threads: int) -> dict[str, Any]:
    """What a player loses against `optimal` (compiled: `best`), mean of both orders: exact up to two pieces."""
    rules, player = start.rules, PLAYERS[name]
    if rules.pieces <= 2:
        game = evaluate(rules, player, optimal, threads=threads)
        first, second = game.first_wins(start), 1 - game.second_wins(start)
        return {"loss": 0.5 - (first + second) / 2, "exact": True, "standard_error": 0.0}
    other = compiled(player, rules)
    one, two = played(other, best, start, games, threads), played(best, other, start, games, threads)
    error = sqrt(one["first_wins_error"] ** 2 + two["first_wins_error"] ** 2) / 2
    loss = 0.5 - (one["first_wins"] + 1 - two["first_wins"]) / 2
    return {"loss": loss, "exact": False, "standard_error": error}


def changed(printed: Database, database: Database) -> dict[str, Any]:
    """In how many decisions of the printed rules the best move changes, over all positions or a sample."""
    positions = database.rules.positions
    sampled = positions > SAMPLE
    ids = np.random.default_rng(1).choice(positions, SAMPLE, replace=False) if sampled else np.arange(positions)
    decisions = differ = 0
    for id in ids.tolist():
        board = madn.unrank(id, printed.rules)
        if board.winner is not None:
            continue
        here = Board(board.own, board.other, database.rules)
        for roll in ROLLS:
            if len(board.legal_moves(roll)) > 1:
                decisions += 1
                differ += printed.best_move(board, roll) != database.best_move(here, roll)
    share = differ / max(decisions, 1)  # one piece has no choice
    error = 0.0 if not sampled else sqrt(share * (1 - share) / decisions)
    return {"decisions": decisions, "changed": differ, "share": share, "standard_error": error}


def examined(solved: Result, printed: Path, wanted: list[Rules], games: int, threads: int) -> Iterator[dict[str, Any]]:
    """Everything about those games that are `wanted` of a group that differs only in the start."""
    rules = solved.rules
    with (
        madn.open_database(solved.out, cache_bytes=CACHE_BYTES) as database,
        madn.open_database(printed, cache_bytes=CACHE_BYTES) as other,
    ):
        optimal = OptimalPlayer(database)
        best = compiled(optimal, rules)
        changes = changed(other, database)
        for game in wanted:
            start = Board.parse(str(Board.start(game)), rules)
            length = played(best, best, start, games, threads)
            yield {
                "rules": asdict(game),
                "start": database.win(start),
                "smallest": solved.min,
                "smallest_board": str(solved.min_board),
                "largest": solved.max,
                "largest_board": str(solved.max_board),
                "sweeps": solved.sweeps,
                "residual": solved.residual,
                "seconds": solved.seconds,
                "plies": length["plies"],
                "plies_error": length["plies_error"],
                "games": games,
                "random": losses(start, optimal, best, "random", games, threads),
                "fpoc": losses(start, optimal, best, "fpoc", games, threads),
                "best_moves": changes,
            }


def given(path: str, solved: dict[str, Any], printed: str | None, games: int, threads: int) -> dict[str, Any]:
    """Everything about a game that is already solved, from its database."""
    with madn.open_database(path, cache_bytes=CACHE_BYTES) as database:
        found = {
            name: regret(PLAYERS[name], database, games=games, seed=1, threads=threads) for name in ("random", "fpoc")
        }
        best = regret(OptimalPlayer(database), database, games=games, seed=1, threads=threads)
        result = {
            "rules": asdict(database.rules),
            "start": solved["start"],
            "smallest": solved["min"],
            "smallest_board": solved["min_board"],
            "largest": solved["max"],
            "largest_board": solved["max_board"],
            "sweeps": solved["sweeps"],
            "residual": solved["residual"],
            "seconds": solved["seconds"],
            "plies": best.plies / best.games,
            "games": games,
        }
        for name, one in found.items():
            result[name] = {"loss": one.loss, "exact": False, "standard_error": one.standard_error}
        if printed is not None:
            with madn.open_database(printed, cache_bytes=CACHE_BYTES) as other:
                result["best_moves"] = changed(other, database)
    return result


def table(games: list[dict[str, Any]]) -> str:
    """The results as a table for docs/results.md; of one-piece games that are the same, only the first."""
    lines = [
        "| pieces | house rules | start | smallest | largest | sweeps | plies | random loses | fpoc loses | changed |"
    ]
    lines.append("|" + "---|" * 10)
    for game in games:
        rules = game["rules"]
        if rules["pieces"] == 1 and (rules["no_jumping"] or rules["must_capture"]):
            continue
        on = ", ".join(name.replace("_", " ") for name in HOUSE_RULES if rules[name]) or "none"
        lost = [
            f"{100 * found['loss']:.2f}" + ("" if found["exact"] else f" ± {100 * found['standard_error']:.2f}")
            for found in (game["random"], game["fpoc"])
        ]
        values = [f"{100 * game[name]:.4f}" for name in ("start", "smallest", "largest")]
        plies = f"{game['plies']:.2f}" + (f" ± {game['plies_error']:.2f}" if "plies_error" in game else "")
        changes = f"{100 * game['best_moves']['share']:.2f}" if "best_moves" in game else ""
        cells = [str(rules["pieces"]), on, *values, str(game["sweeps"]), plies, *lost, changes]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def add(results: dict[str, Any], game: dict[str, Any], out: Path | None) -> None:
    """Write the file of results with one more game, replacing an older entry, or print the game."""
    others = [one for one in results["games"] if one["rules"] != game["rules"]]
    results["games"] = sorted([*others, game], key=lambda one: list(one["rules"].values()))
    if out:
        out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    else:
        print(json.dumps(game), flush=True)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pieces", type=int, nargs="+", default=[1, 2, 3], help="sizes of the game (default 1 2 3)")
    parser.add_argument("--games", type=int, default=200_000, help="games of a simulation (default 200,000)")
    parser.add_argument("--threads", type=int, default=1, help="threads (default 1)")
    parser.add_argument("--out", type=Path, help="file of results to complete")
    parser.add_argument("--db", help="a database to examine, instead of solving games")
    parser.add_argument("--solved", type=Path, help="what `madn solve --json` printed about that database")
    parser.add_argument("--printed", help="a database of the printed rules to compare its best moves with")
    parser.add_argument("--table", action="store_true", help="print what is in the file as a table; compute nothing")
    chosen = parser.parse_args()
    results: dict[str, Any] = {"hardware": hardware(), "games": []}
    if chosen.out and chosen.out.exists():
        results = json.loads(chosen.out.read_text(encoding="utf-8"))
    if chosen.table:
        print(table(results["games"]))
        return
    if chosen.db:
        solved = json.loads(chosen.solved.read_text(encoding="utf-8"))
        add(results, given(chosen.db, solved, chosen.printed, chosen.games, chosen.threads), chosen.out)
        return
    for pieces in chosen.pieces:
        done = [game["rules"] for game in results["games"]]
        missing = [rules for rules in combinations(pieces) if asdict(rules) not in done]
        with tempfile.TemporaryDirectory() as scratch:
            printed = Path(scratch, "printed")
            if missing:
                madn.solve(Rules(pieces), out=printed, threads=chosen.threads)
            for rules in dict.fromkeys(replace(rules, start_in_box=False) for rules in missing):
                wanted = [game for game in missing if replace(game, start_in_box=False) == rules]
                with tempfile.TemporaryDirectory(dir=scratch) as place:
                    solved = madn.solve(rules, out=Path(place, "db"), threads=chosen.threads)
                    for game in examined(solved, printed, wanted, chosen.games, chosen.threads):
                        add(results, game, chosen.out)


if __name__ == "__main__":
    main()
