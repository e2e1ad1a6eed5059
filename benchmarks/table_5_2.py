"""The pairings of Table 5.2 of the thesis with `optimal`, by regret, for any number of pieces.

    python benchmarks/table_5_2.py --pieces 1 2 3 --exact --error 0.02 --out docs/results/table-5-2.json
    python benchmarks/table_5_2.py --pieces 4 --db four --out docs/results/table-5-2.json
    python benchmarks/table_5_2.py --out docs/results/table-5-2.json --table

The first solves the games in a temporary directory; the second takes a database. Both add what is not in the file yet,
with as many games as the requested standard error needs. The last prints tables for docs/results.md.
"""

import argparse
import json
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from math import ceil
from pathlib import Path
from time import perf_counter, process_time
from typing import Any
from unittest.mock import patch

from hardware import hardware

import madn
from madn import Board, Database, Rules
from madn.advisor import estimates_of
from madn.evaluate import evaluate
from madn.match import compiled, regret
from madn.players import PLAYERS, OptimalPlayer, Player
from madn.report import published
from madn.report.ludo import MISTAKEN
from madn.store.reader import BlockReader

FIRST_GAMES = 4_000  # to see how many are needed
TOLERANCE = 1e-7  # of exact results for three pieces: their error is about a hundred times that


def players(pieces: int) -> dict[str, Player]:
    """Who plays against `optimal`; with four pieces also those that play with the mistakes of the thesis."""
    names = ["random", "fpoc", "fpnpoc", *(["estimate"] if estimates_of(Rules(pieces)) else [])]
    found = {name: PLAYERS[name] for name in names}
    return found | ({f"{name}, mistaken": MISTAKEN[name] for name in ("fpoc", "fpnpoc")} if pieces == 4 else {})


def entry(name: str, player: Player, database: Database[float], error: float, threads: int | None) -> dict[str, Any]:
    """The regret of a player, to a standard error of at most `error` percentage points in either order."""
    found = regret(player, database, games=FIRST_GAMES, seed=1, threads=threads)
    largest = max(found.moving_first.standard_error, found.moving_second.standard_error)
    needed = max(FIRST_GAMES, ceil(found.games * (100 * largest / error) ** 2 * 1.05))
    read: list[int] = []
    with patch.object(BlockReader, "load", counted(BlockReader.load, read)):
        began, worked = perf_counter(), process_time()
        found = regret(player, database, games=needed + needed % 2, seed=1, threads=threads)
    return {
        "pieces": database.rules.pieces,
        "player": name,
        "loss": found.loss,
        "standard_error": found.standard_error,
        "decisions": found.decisions,
        "games": found.games,
        "seed": found.seed,
        "win": found.win,
        "moving_first": asdict(found.moving_first) | {"wins": found.first_wins},
        "moving_second": asdict(found.moving_second) | {"wins": found.second_wins},
        "plies_per_game": found.plies / found.games,
        "look_ups_per_game": found.look_ups / found.games,
        "blocks_per_game": len(read) / found.games,
        "blocks": len(set(read)),
        "by_phase": [asdict(part) for part in found.by_phase],
        "by_rule": {rule: asdict(part) for rule, part in found.by_rule.items()},
        "seconds": perf_counter() - began,
        "processor_seconds": process_time() - worked,
    }


def counted(load: Callable[..., Any], read: list[int]) -> Callable[..., Any]:
    """The method that reads a block, with a list that notes which blocks were read."""

    def read_block(reader: BlockReader, table: Any, at: int) -> Any:
        read.append(table.first_block + at)
        return load(reader, table, at)

    return read_block


def exact(player: Player, database: Database[float], threads: int | None) -> dict[str, float]:
    """How often the player wins against `optimal`, computed exactly."""
    start = Board.start(database.rules)
    tolerance = None if database.rules.pieces < 3 else TOLERANCE
    found = evaluate(database.rules, player, OptimalPlayer(database), tolerance, threads)
    first, second = found.first_wins(start), 1 - found.second_wins(start)
    return {"first_wins": first, "second_wins": second, "loss": 0.5 - (first + second) / 2, "residual": found.residual}


def tables(entries: list[dict[str, Any]]) -> str:
    """The results as tables for docs/results.md."""
    printed = published()["madn"]["table_5_2_percent"]
    lines = ["| pieces | player | loss | exact | moving first wins | exact | thesis | moving second | exact | thesis |"]
    lines.append("|" + "---|" * 10)
    for one in entries:
        name, known = one["player"].split(",")[0], one.get("exact", {})
        thesis = ["", ""]
        if one["pieces"] == 4 and name in printed["optimal"]:
            thesis = [f"{printed[name]['optimal']:.2f}", f"{100 - printed['optimal'][name]:.2f}"]
        sides = [one, one["moving_first"], one["moving_second"]]
        ours = [percent(side.get("wins", side["loss"]), side["standard_error"]) for side in sides]
        right = [f"{100 * known[part]:.3f}" if known else "" for part in ("loss", "first_wins", "second_wins")]
        cells = [str(one["pieces"]), f"`{name}`{one['player'][len(name) :]}", ours[0], right[0]]
        cells += [ours[1], right[1], thesis[0], ours[2], right[2], thesis[1]]
        lines.append(f"| {' | '.join(cells)} |")
    phases = max(len(one["by_phase"]) for one in entries)
    lines += ["", f"| pieces | player | {' | '.join(map(str, range(phases)))} |", "|" + "---|" * (phases + 2)]
    for one in entries:
        parts = [f"{100 * part['loss']:.2f}" for part in one["by_phase"]] + [""] * (phases - len(one["by_phase"]))
        lines.append(f"| {one['pieces']} | {one['player']} | {' | '.join(parts)} |")
    lines += [
        "",
        "| pieces | player | decided by | decisions per game | loss | per decision |",
        "|---|---|---|---|---|---|",
    ]
    for one in entries:
        for rule, part in one["by_rule"].items():
            if part["decisions"]:
                each = f"{part['decisions'] / one['games']:.2f}", f"{100 * part['per_decision']:.3f}"
                loss = percent(part["loss"], part["standard_error"])
                lines.append(f"| {one['pieces']} | {one['player']} | {rule} | {each[0]} | {loss} | {each[1]} |")
    return "\n".join(lines)


def percent(value: float, error: float) -> str:
    """A probability in per cent with its standard error."""
    return f"{100 * value:.2f} ± {100 * error:.2f}"


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pieces", type=int, nargs="+", default=[1, 2, 3], help="sizes of the game (default 1 2 3)")
    parser.add_argument("--db", help="database of the game; without one it is solved")
    parser.add_argument(
        "--error", type=float, default=0.1, help="largest standard error of an order, in points (default 0.1)"
    )
    parser.add_argument("--exact", action="store_true", help="compute exact results too: minutes for three pieces")
    parser.add_argument("--threads", type=int, help="threads (default: all)")
    parser.add_argument("--out", type=Path, help="file of results to complete")
    parser.add_argument("--table", action="store_true", help="print what is in the file as tables; compute nothing")
    chosen = parser.parse_args()
    results: dict[str, Any] = {"hardware": hardware(), "entries": []}
    if chosen.out and chosen.out.exists():
        results = json.loads(chosen.out.read_text(encoding="utf-8"))
    if chosen.table:
        print(tables(results["entries"]))
        return
    for pieces in chosen.pieces:
        with tempfile.TemporaryDirectory() as scratch:
            if not chosen.db:
                madn.solve(Rules(pieces), out=Path(scratch, "db"), threads=chosen.threads)
            with madn.open_database(chosen.db or Path(scratch, "db"), values=True) as database:
                for name, player in players(pieces).items():
                    same = [one for one in results["entries"] if (one["pieces"], one["player"]) == (pieces, name)]
                    one = same[0] if same else entry(name, player, database, chosen.error, chosen.threads)
                    if not same:
                        results["entries"].append(one)
                        results["entries"].sort(key=lambda one: one["pieces"])
                    if chosen.exact and "exact" not in one and compiled(player, database.rules):
                        one["exact"] = exact(player, database, chosen.threads)
                    if chosen.out:
                        chosen.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
                    elif not same:
                        print(json.dumps(one), flush=True)


if __name__ == "__main__":
    main()
