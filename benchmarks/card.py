"""What each line of the points card and each rule of the handful is worth: regret with some of them left out.

    python benchmarks/card.py --db three --out docs/results/card.json
    python benchmarks/card.py --db four --games 2000 --out docs/results/card.json
    python benchmarks/card.py --judge card --games 10000 --out docs/results/card.json
    python benchmarks/card.py --judge lines --games 2000 --out docs/results/card.json
    python benchmarks/card.py --out docs/results/card.json --table
    python benchmarks/card.py --out docs/results/card.json --plot docs/card/lines.svg

The first two measure what is not in the file yet, with the values of a database. The next two need no database of four
pieces: their values are those of the estimator, one roll ahead. `--judge` takes a player, a rule file, or `lines` for
the card with some of its lines. The others print tables for docs/card.md and draw the curve.
"""

import argparse
import json
from pathlib import Path
from typing import Any, cast

import numpy as np
from hardware import hardware
from numpy.typing import NDArray

import madn
from madn.advisor import checked_estimates
from madn.match import regret
from madn.players import PLAYERS, Player, RulePlayer, find_player
from madn.store.successors import recomputed

NAMES = ("card", "handful")
OTHERS = ("random", "fpoc", "fpnpoc", "careful")


class OneRollAhead:
    """Stands in for a database of a whole game: the mean, over the rolls, of the estimate after the best move."""

    tie = 0.0

    def __init__(self, rules: madn.Rules) -> None:
        self.rules = rules
        self.estimates = checked_estimates(rules)
        self.engine = self.estimates.engine

    def preload(self, _limit: int) -> None:
        """Do nothing: there is nothing to load."""

    def win_many(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """The values of position IDs."""
        needed, which = np.unique(ids, return_inverse=True)
        return recomputed(needed, self.estimates.win_many, self.rules)[which]

    def win(self, board: madn.Board) -> float:
        """The value of a board."""
        return float(
            self.win_many(self.engine.game.rank_many(*(np.array([mask], np.uint64) for mask in board.masks)))[0]
        )


Values = madn.Database[float] | OneRollAhead


def values_of(database: Values) -> str:
    """Where values come from, as the word used in the results."""
    return "estimate" if isinstance(database, OneRollAhead) else "database"


def variants(name: str) -> dict[str, RulePlayer]:
    """A player with only its first lines, and with each single line left out."""
    whole = PLAYERS[name]
    assert isinstance(whole, RulePlayer)

    def only(label: str, *numbers: int) -> RulePlayer:
        return RulePlayer(label, whole.description, tuple(whole.rules[number] for number in numbers))

    lines = range(len(whole.rules))
    first = {f"first {count}": only(f"{name}-{count}", *lines[:count]) for count in range(len(lines) + 1)}
    return first | {
        f"without {whole.rules[one].feature}": only(f"{name}-no-{one}", *(other for other in lines if other != one))
        for one in lines
    }


def measured(player: str, part: str, rules: Player, database: Values, games: int) -> dict[str, Any]:
    """The regret of one variant."""
    found = regret(rules, cast(madn.Database[float], database), games=games, seed=1)
    return {
        "pieces": database.rules.pieces,
        "values": values_of(database),
        "player": player,
        "part": part,
        "rules": [str(rule) for rule in rules.rules] if isinstance(rules, RulePlayer) else [],
        "loss": found.loss,
        "standard_error": found.standard_error,
        "decisions": found.decisions,
        "games": games,
        "seed": 1,
        "first_wins": found.first_wins,
        "second_wins": found.second_wins,
        "by_phase": [one.loss for one in found.by_phase],
    }


def tables(entries: list[dict[str, Any]]) -> str:
    """What the lines are worth, as tables for docs/card.md: points of winning probability lost against `optimal`."""
    sizes = sorted({one["pieces"] for one in entries})
    found = {(one["pieces"], one["player"], one["part"]): one for one in best_known(entries)}

    def cell(*key: Any) -> str:
        return f"{100 * found[key]['loss']:.2f} ± {100 * found[key]['standard_error']:.2f}" if key in found else ""

    blocks = []
    for name in NAMES:
        whole = PLAYERS[name]
        assert isinstance(whole, RulePlayer)
        lines = ["| | line | " + " | ".join(f"{n} pieces, with it | without it alone" for n in sizes) + " |"]
        lines += ["|---|---|" + "---|---|" * len(sizes)]
        lines += ["| 0 | none | " + " | ".join(cell(n, name, "first 0") + " |" for n in sizes) + " |"]
        for count, rule in enumerate(whole.rules, 1):
            parts = (cell(n, name, part) for n in sizes for part in (f"first {count}", f"without {rule.feature}"))
            lines.append(f"| {count} | `{rule}` | {' | '.join(parts)} |")
        blocks.append("\n".join(lines))
    lines = ["| player | " + " | ".join(f"{n} pieces" for n in sizes) + " |", "|---|" + "---|" * len(sizes)]
    for name in (*OTHERS, *NAMES):
        part = f"first {len(rules_of(name))}" if name in NAMES else "all"
        lines.append(f"| `{name}` | " + " | ".join(cell(n, name, part) for n in sizes) + " |")
    return "\n\n".join([*blocks, "\n".join(lines)])


def best_known(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries, without estimates if there is one from a database."""
    known = {(one["pieces"], one["player"], one["part"]) for one in entries if one["values"] == "database"}
    keys = [(one["pieces"], one["player"], one["part"]) for one in entries]
    return [one for one, key in zip(entries, keys, strict=True) if one["values"] == "database" or key not in known]


def rules_of(name: str) -> tuple[Any, ...]:
    """The rules of a player that comes with the package."""
    player = PLAYERS[name]
    assert isinstance(player, RulePlayer)
    return player.rules


def plot(entries: list[dict[str, Any]], path: Path) -> None:
    """Draw the curve of what is lost with the first lines of the card and of the handful."""
    import matplotlib
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 5), layout="constrained")
    axes = figure.add_subplot()
    colours = {3: "#5a7ca8", 4: "#cf2b24"}
    for pieces, style in ((3, "--"), (4, "-")):
        for name, mark in (("card", "o"), ("handful", "s")):
            here = [one for one in entries if (one["pieces"], one["player"]) == (pieces, name)]
            losses = [100 * one["loss"] for one in here if one["part"].startswith("first")]
            label = f"{name}, {pieces} pieces"
            axes.plot(losses, marker=mark, linestyle=style, color=colours[pieces], label=label,
                      markerfacecolor="white" if name == "handful" else None)  # fmt: skip
    for count, rule in enumerate(rules_of("card"), 1):
        losses = [
            100 * one["loss"]
            for one in entries
            if (one["pieces"], one["player"], one["part"]) == (4, "card", f"first {count}")
        ]
        if losses:
            axes.annotate(rule.feature, (count, losses[0]), (2, 7), textcoords="offset points", fontsize=9, rotation=35)
    for one in entries:
        if one["pieces"] == 4 and one["player"] in ("fpoc", "fpnpoc"):
            axes.axhline(100 * one["loss"], color="#888888", linewidth=0.8)
            axes.annotate(
                one["player"], (8, 100 * one["loss"]), (0, 3), textcoords="offset points", ha="right", color="#666666"
            )
    axes.set(xlabel="lines used", ylabel="behind optimal (percentage points)", ylim=(0, None), xlim=(-0.2, 8.6))
    axes.grid(alpha=0.3)
    axes.legend(loc="upper right")
    axes.set_title("What each line of the card is worth")
    with matplotlib.rc_context({"svg.hashsalt": "madn", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--db", help="database of the game, with values")
    parser.add_argument(
        "--judge", metavar="PLAYER", help="what it loses according to the estimator; `lines` for those of the card"
    )
    parser.add_argument("--games", type=int, default=20_000, help="games for each (default 20,000)")
    parser.add_argument("--out", type=Path, required=True, help="file of results to complete")
    parser.add_argument("--table", action="store_true", help="print what is in the file as tables; compute nothing")
    parser.add_argument("--plot", type=Path, help="draw what is in the file; compute nothing")
    chosen = parser.parse_args()
    results: dict[str, Any] = {"hardware": hardware(), "players": [], "entries": []}
    if chosen.out.exists():
        results = json.loads(chosen.out.read_text(encoding="utf-8"))
    if chosen.table:
        print(tables(results["entries"]))
    elif chosen.plot:
        plot(best_known(results["entries"]), chosen.plot)
    elif chosen.judge and chosen.judge != "lines":
        judge(chosen.judge, chosen.games, results, chosen.out)
    elif chosen.judge:
        complete(results, chosen.out, OneRollAhead(madn.Rules()), chosen.games, ("card",), ())
    else:
        with madn.open_database(chosen.db, values=True) as database:
            complete(results, chosen.out, database, chosen.games, NAMES, OTHERS)


def judge(name: str, games: int, results: dict[str, Any], path: Path) -> None:
    """Print what a player loses with four pieces by the estimator; add it to the results if it is in the package."""
    rules = madn.Rules()
    found = regret(find_player(name, rules), cast(madn.Database[float], OneRollAhead(rules)), games=games, seed=1)
    print(f"{name}: {100 * found.loss:.2f} points, standard error {100 * found.standard_error:.2f}")
    if name in PLAYERS:
        kept = [one for one in results["players"] if (one["player"], one["values"]) != (name, "estimate")]
        one = {"player": name, "pieces": rules.pieces, "values": "estimate", "loss": found.loss}
        one |= {"standard_error": found.standard_error, "games": games, "seed": 1, "decisions": found.decisions}
        one["command"] = f"python benchmarks/card.py --judge {name} --games {games} --out docs/results/card.json"
        results["players"] = [*kept, one]
        write(results, path)


def complete(
    results: dict[str, Any], path: Path, database: Values, games: int, names: tuple[str, ...], others: tuple[str, ...]
) -> None:
    """Measure what is not among the results yet, and players whose rules have changed since."""
    tasks: list[tuple[str, str, Player]] = [
        (name, part, rules) for name in names for part, rules in variants(name).items()
    ]
    tasks += [(name, "all", PLAYERS[name]) for name in others]
    for name, part, rules in tasks:
        texts = [str(rule) for rule in rules.rules] if isinstance(rules, RulePlayer) else []
        key = database.rules.pieces, name, part
        same = [one for one in results["entries"] if (one["pieces"], one["player"], one["part"]) == key]
        if (values_of(database), texts) not in [(one["values"], one["rules"]) for one in same]:
            stale = [one for one in same if one["values"] == values_of(database) or one["rules"] != texts]
            results["entries"] = [one for one in results["entries"] if one not in stale]
            results["entries"].append(measured(name, part, rules, database, games))
            write(results, path)


def write(results: dict[str, Any], path: Path) -> None:
    """Write the results so far."""
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
