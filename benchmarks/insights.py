"""The figures of docs/insights.md: what best play looks like, how much luck decides, and surprising positions.

    python benchmarks/insights.py --out docs/results/insights.json               # two pieces, the embedded database
    python benchmarks/insights.py --out docs/results/insights.json --db three    # a solved game of three pieces
    python benchmarks/insights.py --out docs/results/insights.json --db four     # and the positions of four pieces
    python benchmarks/insights.py --out docs/results/insights.json --document docs/insights.md

Each of the first three adds to the file what it computes from games of `optimal` against itself, and keeps what the
file has of other games. With `--games 0` only positions are looked up. The last writes the tables of the document from
the file.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil, sqrt
from pathlib import Path
from statistics import fmean, median
from typing import Any

from hardware import hardware

import madn
from madn import Advisor, Board, Move, MoveValue, Rules, ValueDatabase
from madn.features import FEATURES
from madn.match import play_game
from madn.players import OptimalPlayer
from madn.record import Record

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
PLAYERS_MEASURED = ("random", "fpoc", "fpnpoc", "handful", "card", "estimate")
CERTAIN = 1.645  # standard deviations: the better player is ahead with a probability of 95 %
LARGE = 0.05  # a decision or a roll that matters
BOARDS = ("0/0", "0,43/0", "0,42,43/0", "0,41,42,43/0", "0,39/0")  # four pieces
WRONG_CAPTURES = (("17,25/9,10,19,31", 5), ("4,14,23/5,8,19,32", 5), ("8,22,43/5,7,14,43", 5))
SURPRISES = {  # the move that you would expect instead of the best one, and a likely reason for the latter
    ("17,27,35,43/34,40,42,43", 5): (
        "17-22",
        "the piece on 17 is in danger, but it is the only one that the other side's last piece must still pass",
    ),
    ("14,23,36,43/31,32,42,43", 4): (
        "14-18",
        "the same: 14 keeps its distance in front of the pieces that want to go home",
    ),
    ("15,21,42/30,40,41,43", 5): ("15-20", "the same"),
    ("19,39,42,43/3,34,37,43", 1): (
        "39-40",
        "the other side's A-square is safe from pieces that turn off before it",
    ),
    ("13,19,36,43/10,40,42,43", 6): (
        "36-42",
        "after a 6 you roll again: get behind the last piece instead of going home",
    ),
    ("14,16,20,34/9,41,42,43", 6): ("34-40", "the same"),
    ("0,34,42,43/19,21,36,43", 6): ("34-40", "into danger, with a safe way home open"),
    ("3,34,41,43/27,41,42,43", 5): (
        "34-39",
        "jumps in front of the last piece, in its reach: one more piece that it must pass",
    ),
    ("30,40,42,43/5,40,43", 1): ("40-41", "a step in the finish zone wastes room; the step in danger does not"),
    ("17,25/9,10,19,31", 5): ("25x30", "a capture that lands in front of three"),
}


@dataclass
class Counts:
    """Choices with a kind of move: how many, how often it was best, and what it gained over the best of the others."""

    choices: int = 0
    best: int = 0
    gains: list[float] = field(default_factory=list)

    def add(self, gain: float) -> None:
        """Add a choice in which the moves of the kind were worth this much more than the others."""
        self.choices += 1
        self.best += gain >= 0
        self.gains.append(gain)

    def figures(self, games: int) -> dict[str, Any]:
        """What the document says about these choices."""
        wrong = [-gain for gain in self.gains if gain < 0]
        return {
            "choices": self.choices,
            "a_game_and_side": self.choices / (2 * games),
            "best": self.best / self.choices,
            "mean_gain": fmean(self.gains),
            "cost_where_wrong": fmean(wrong) if wrong else 0.0,
        }


def kind_gain(moves: list[MoveValue[float]], kind: list[Move]) -> float | None:
    """How much more the best move of a kind is worth than the best of the others; None unless there are both."""
    of_kind = [option.win for option in moves if option.move in kind]
    others = [option.win for option in moves if option.move not in kind]
    return max(of_kind) - max(others) if of_kind and others else None


def in_reach(board: Board, move: Move) -> bool:
    """Whether the other side can capture the moved piece with its next roll."""
    return FEATURES["danger"].of(board, move) > 0


def observed(database: ValueDatabase, games: int) -> dict[str, Any]:
    """What happens in games of `optimal` against itself."""
    optimal, start = OptimalPlayer(database), Board.start(database.rules)
    captures, homes = Counts(), Counts()
    kinds = {name: Counts() for name in WRONG}
    spreads: list[float] = []
    ends: Counter[str] = Counter()
    lucks: list[list[float]] = []
    decided: dict[float, list[float]] = {0.75: [], 0.9: []}
    for game in range(games):
        record = play_game(optimal, optimal, start, seed=1, game=game)
        swings, chances = [], []
        for ply, board in zip(record.plies, record.boards, strict=False):
            moves = list(database.moves(board, ply.roll))
            before = database.win(board)
            swings.append(moves[0].win - before)
            chances.append(before)
            if len(moves) == 1:
                continue
            spreads.append(moves[0].win - min(option.win for option in moves))
            starts = sorted(-1 if option.move.start is None else option.move.start for option in moves)
            best = -1 if moves[0].move.start is None else moves[0].move.start
            ends["front"] += best == starts[-1]
            ends["back"] += best == starts[0]
            capturing = [option.move for option in moves if option.move.captures]
            gain = kind_gain(moves, capturing)
            if gain is not None:
                captures.add(gain)
                move = next(option.move for option in moves if option.move.captures)  # the best of them
                assert move.end is not None
                quarter, danger = 4 * board.rules.opposite(move.end) // board.rules.squares + 1, in_reach(board, move)
                holds = quarter == 4, quarter == 1, danger, quarter == 1 and danger
                for counts, one in zip(kinds.values(), holds, strict=True):
                    if one:
                        counts.add(gain)
            gain = kind_gain(moves, [option.move for option in moves if FEATURES["home"].of(board, option.move)])
            if gain is not None:
                homes.add(gain)
        lucks.append(swings)
        for limit, parts in decided.items():
            parts.append(last_doubt(record, chances, limit))
    luck = [swing for swings in lucks for swing in swings]
    squares = [[swing**2 for swing in swings] for swings in lucks]
    quarters = [sum(sum(one[len(one) * k // 4 : len(one) * (k + 1) // 4]) for one in squares) for k in range(4)]
    return {
        "games": games,
        "plies": fmean(map(len, lucks)),
        "decisions_a_side": len(spreads) / (2 * games),
        "captures": captures.figures(games)
        | {"wrong": {name: 1 - one.best / one.choices for name, one in kinds.items()}},
        "homes": homes.figures(games),
        "decisions": {
            "mean": fmean(spreads),
            "median": median(spreads),
            "large": fmean(spread > LARGE for spread in spreads),
            "front_best": ends["front"] / len(spreads),
            "back_best": ends["back"] / len(spreads),
        },
        "luck": {
            "mean": fmean(map(abs, luck)),
            "large_a_game": sum(abs(swing) > LARGE for swing in luck) / games,
            "sum_of_squares": sum(map(sum, squares)) / games,
            "by_quarter": [part / sum(quarters) for part in quarters],
            "decided": {str(limit): fmean(parts) for limit, parts in decided.items()},
        },
    }


def last_doubt(record: Record, chances: list[float], limit: float) -> float:
    """The fraction of the game after which the winner's chance never fell to `limit` again."""
    winner = record.movers[len(record.plies) - 1]  # the side that moved last
    doubts = [
        number
        for number, (mover, chance) in enumerate(zip(record.movers, chances, strict=False), 1)
        if (chance if mover == winner else 1 - chance) <= limit
    ]
    return max(doubts, default=0) / len(chances)


def skill() -> dict[str, dict[str, float]]:
    """What players lose against `optimal`, by pieces: measured by table_5_2.py and for the card, see docs/results."""
    players, card = (
        json.loads((RESULTS / name).read_text(encoding="utf-8")) for name in ("table-5-2.json", "card.json")
    )
    found: dict[str, dict[str, float]] = {str(pieces): {} for pieces in (2, 3, 4)}
    for one in (*card["players"], *players["entries"]):  # those of table_5_2.py come from more games
        if one["player"] in PLAYERS_MEASURED and str(one["pieces"]) in found:
            found[str(one["pieces"])][one["player"]] = one["loss"]
    return found


def games_to_tell(loss: float) -> int:
    """Games after which a player who loses this much is behind `optimal` with a probability of 95 %.

    This is the normal approximation for wins with a probability of 1/2 - loss.
    """
    return ceil((CERTAIN * sqrt(0.25 - loss**2) / loss) ** 2)


def best_moves(source: Advisor | ValueDatabase, board: str, roll: int) -> dict[str, Any]:
    """The moves of a position with their values, best first."""
    moves = {str(option.move): option.win for option in source.moves(board, roll)}
    return {"board": board, "roll": roll, "moves": moves}


def ask_positions(database: ValueDatabase, results: dict[str, Any]) -> None:
    """Values and best moves of the positions of the document."""
    results["wins"] = {board: database.win(board) for board in BOARDS}
    results["positions"] = {
        f"{board} {roll}": best_moves(database, board, roll) for board, roll in (*WRONG_CAPTURES, *SURPRISES)
    }


def percent(part: float, decimals: int = 1) -> str:
    """A share or a probability."""
    return f"{100 * part:.{decimals}f}"


def tables(results: dict[str, Any]) -> dict[str, str]:
    """The tables of docs/insights.md, by name; `tests/test_insights.py` compares them with the document."""
    games = results["games"]

    def table(*rows: tuple[str, Callable[[dict[str, Any]], str]]) -> str:
        heads = ["", *(f"{pieces} pieces" for pieces in sorted(games))]
        body = [[name, *(known(cell, games[pieces]) for pieces in sorted(games))] for name, cell in rows]
        return lines(heads, body)

    def known(cell: Callable[[dict[str, Any]], str], game: dict[str, Any]) -> str:
        try:
            return cell(game)
        except KeyError:  # an older measurement does not have this figure
            return ""

    def wrong(kind: str) -> Callable[[dict[str, Any]], str]:
        return lambda game: f"{percent(game['captures']['wrong'][kind])} %"

    return {
        "captures": table(
            ("games", lambda game: f"{game['games']:,}"),
            ("such choices per game and side", lambda game: f"{game['captures']['a_game_and_side']:.1f}"),
            ("capturing is best", lambda game: f"{percent(game['captures']['best'])} %"),
            ("mean cost where it is wrong", lambda game: f"{percent(game['captures']['cost_where_wrong'])} points"),
            *((f"wrong {text}", wrong(kind)) for kind, text in WRONG.items()),
        ),
        "homes": table(
            ("such choices per game and side", lambda game: f"{game['homes']['a_game_and_side']:.1f}"),
            ("going home is best", lambda game: f"{percent(game['homes']['best'], 0)} %"),
            ("mean gain", lambda game: f"{percent(game['homes']['mean_gain'], 2)} points"),
        ),
        "first": table(("the side that moves first wins", lambda game: f"{percent(game['start'], 2)} %")),
        "decisions": table(
            ("decisions per game and side", lambda game: f"{game['decisions_a_side']:.0f}"),
            ("from the worst to the best move, mean", lambda game: f"{percent(game['decisions']['mean'])} points"),
            ("from the worst to the best move, median", lambda game: f"{percent(game['decisions']['median'])} points"),
            ("decisions worth more than 5 points", lambda game: f"{percent(game['decisions']['large'], 0)} %"),
            ("the piece furthest along is best", lambda game: f"{percent(game['decisions']['front_best'], 0)} %"),
            ("the piece furthest behind is best", lambda game: f"{percent(game['decisions']['back_best'], 0)} %"),
        ),
        "luck": table(
            ("games", lambda game: f"{game.get('luck_games') or game['games']:,}"),
            ("rolls in a game, both sides", lambda game: f"{game['plies']:.0f}"),
            ("mean change by a roll", lambda game: f"{percent(game['luck']['mean'])} points"),
            ("rolls per game that change more than 5 points", lambda game: f"{game['luck']['large_a_game']:.1f}"),
            (
                "share of all luck in each quarter of the game",
                lambda game: ", ".join(percent(part, 0) for part in game["luck"]["by_quarter"]) + " %",
            ),
            ("the winner is above 75 % for good after", lambda game: f"{decided(game, '0.75')} of the rolls"),
            ("above 90 % for good after", lambda game: f"{decided(game, '0.9')} of the rolls"),
        ),
        "skill": skill_table(results["skill"]),
        "wrong": lines(
            ["position and roll", "best", "capture"],
            [position_row(results["positions"][f"{board} {roll}"], capture=True) for board, roll in WRONG_CAPTURES],
        ),
        "surprises": lines(
            ["best move", "position and roll", "best", "instead", "a likely reason"],
            [surprise_row(number, results) for number in range(1, len(SURPRISES) + 1)],
        ),
        "wins": lines(
            ["position", "chance of winning", "command"],
            [[f"`{board}`", f"{percent(win, 2)} %", f"`madn win {board}`"] for board, win in results["wins"].items()],
        ),
    }


def position_row(found: dict[str, Any], instead: str = "", capture: bool = False) -> list[str]:
    """A position with its command, the best move and another move."""
    moves = found["moves"]
    best = max(moves, key=moves.__getitem__)
    other = next(move for move in moves if "x" in move) if capture else instead
    shown = [f"`{move}` {percent(moves[move])} %" for move in (best, other)]
    return [f"`madn best-move {found['board']} {found['roll']}`", *shown]


def surprise_row(number: int, results: dict[str, Any]) -> list[str]:
    """One of the surprising positions, with its picture and a reason."""
    (board, roll), (instead, reason) = list(SURPRISES.items())[number - 1]
    row = position_row(results["positions"][f"{board} {roll}"], instead)
    best = row[1].split("`")[1]
    picture = f'<img src="insights/{number}.svg" width="200" alt="{board}, {best} marked">'
    return [picture, *row, reason]


def written(text: str, results: dict[str, Any]) -> str:
    """The document with the tables of the results, each below a comment with its name."""
    for name, table in tables(results).items():
        parts = re.split(rf"(?<=<!-- {name} -->\n\n)(?:\|.*\n)+", text)
        if len(parts) != 2:
            raise SystemExit(f"the document has {len(parts) - 1} places for the table {name!r}")
        text = f"{parts[0]}{table}\n{parts[1]}"
    return text


def lines(heads: list[str], body: list[list[str]]) -> str:
    """A table in Markdown."""
    return "\n".join("| " + " | ".join(row) + " |" for row in (heads, ["---"] * len(heads), *body)).replace(
        "|  |", "| |"
    )


def decided(game: dict[str, Any], limit: str) -> str:
    """The fraction of a game after which the winner's chance stays above a limit."""
    return f"{percent(game['luck']['decided'][limit], 0)} %"


def skill_table(losses: dict[str, dict[str, float]]) -> str:
    """What players lose, and how many games it takes to show it."""
    heads, body = ["player"], []
    for pieces in sorted(losses):
        heads += [f"{pieces} pieces, points lost", "games to tell"]
    for name in PLAYERS_MEASURED:
        row = [f"`{name}`"]
        for pieces in sorted(losses):
            loss = losses[pieces].get(name)
            row += ["", ""] if loss is None else [percent(loss, 2), f"{games_to_tell(loss):,}"]
        body.append(row)
    return lines(heads, body)


WRONG = {
    "last quarter": "if the captured piece was in its last quarter",
    "just out": "if it was in its first quarter",
    "in reach": "if the capturing piece lands in reach of others",
    "just out and in reach": "if both: first quarter, and in reach",
}


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--db", help="database with values of the game to look at (default: that of two pieces)")
    parser.add_argument("--games", type=int, default=6_000, help="games of optimal against itself (default 6,000)")
    parser.add_argument("--out", type=Path, required=True, help="file of results to complete")
    parser.add_argument("--document", type=Path, help="write the tables of this document; compute nothing")
    chosen = parser.parse_args()
    results: dict[str, Any] = {"games": {}, "skill": {}, "wins": {}, "positions": {}}
    if chosen.out.exists():
        results = json.loads(chosen.out.read_text(encoding="utf-8"))
    if chosen.document:
        text = written(chosen.document.read_text(encoding="utf-8"), results)
        chosen.document.write_text(text, encoding="utf-8")
        return
    results |= {"hardware": hardware(), "skill": skill()}
    with madn.open_database(chosen.db, values=True) as database:
        if chosen.games:
            figures = observed(database, chosen.games) | {"start": database.win(Board.start(database.rules))}
            results["games"][str(database.rules.pieces)] = figures
        if database.rules == Rules():
            ask_positions(database, results)
    chosen.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
