"""The thesis: German Ludo for two (positions, Tables 5.1 and 5.2, iterations of its algorithm)."""

from collections.abc import Iterator
from itertools import permutations
from math import sqrt

from madn.board import Board
from madn.evaluate import evaluate
from madn.match import simulate
from madn.players import PLAYERS, Rule, RulePlayer
from madn.report import Fact, Paper, Progress, published, quiet, same_digits
from madn.rules import Rules
from madn.solver import make_plan, solve

PAPER = Paper("thesis")
MANY_THREADS = (
    "one thread here, in the order of the IDs; with 48 threads, as in the thesis, the order of the updates, and with "
    "it the number of iterations, is a matter of chance"
)


def facts(full: bool, progress: Progress = quiet) -> Iterator[Fact]:
    """Counts, Table 5.1 for 1 and 2 pieces, iterations, and Table 5.2 with fewer games.

    With `full` also Table 5.1 for 3 pieces and the extremes for 4, and a million games for each pairing, as in the
    thesis.
    """
    numbers = published()["madn"]
    count = numbers["position_count"]["4"]
    ours = Rules(pieces=4).positions
    yield PAPER.number("positions with 4 pieces", count, ours, "formula (4.1) prints C(P,f1) twice; one is C(P,f2)")
    for pieces in (1, 2, 3) if full else (1, 2):
        yield from _table_5_1(pieces, numbers["table_5_1_percent"][str(pieces)], progress)
    for pieces in (1, 2):
        printed = numbers["iterations_1e-6"][str(pieces)]
        threads = 1 if pieces < 3 else None  # with several, their timing can change the sweeps by one
        sweeps = solve(make_plan(Rules(pieces=pieces), method="thesis", tolerance=1e-6, threads=threads)).sweeps
        note = "" if sweeps == printed else MANY_THREADS
        yield PAPER.number(f"iterations to 1e-6, {pieces} pieces", printed, sweeps, note)
    yield from _table_5_2(numbers["table_5_2_percent"], 1_000_000 if full else 20_000, progress)
    if full:
        yield from _four_piece_extremes(numbers["table_5_1_percent"]["4"], progress)


def _table_5_1(pieces: int, printed: dict[str, float], progress: Progress) -> Iterator[Fact]:
    solution = solve(make_plan(Rules(pieces=pieces)), progress=progress)
    for name, value in (("min", solution.min), ("max", solution.max), ("start", solution.win)):
        percent = 100 * value
        agrees = same_digits(percent, printed[name], 4)
        note = "" if agrees else "the thesis stopped at a largest change of 1e-6, which leaves the last digit open"
        yield PAPER.number(
            f"Table 5.1, {pieces} pieces: {name} in %", printed[name], round(percent, 8), note, agrees=agrees
        )


PRINTED_GAMES = 1_000_000  # of each entry of Table 5.2
SEEMS, UNSEEN, FRONT = Rule("seeming-capture"), Rule("seeming-passing", avoid=True), Rule("front")
MISTAKEN = {  # how the players of the thesis seem to have played: docs/results.md
    "random": PLAYERS["random"],
    "fpoc": RulePlayer("fpoc", "Sees pieces that are not there.", (SEEMS, FRONT)),
    "fpnpoc": RulePlayer("fpnpoc", "Sees them too, and fails to see others it jumps over.", (SEEMS, UNSEEN, FRONT)),
}


def _table_5_2(printed: dict[str, dict[str, float]], games: int, progress: Progress) -> Iterator[Fact]:
    """The pairings without the optimal player, which needs a four-piece database."""
    for players, where in ((PLAYERS, "Table 5.2"), (MISTAKEN, "Table 5.2, played with mistakes")):
        for first, second in permutations(("random", "fpoc", "fpnpoc"), 2):
            result = simulate(players[first], players[second], Board.start(), games, seed=1, progress=progress)
            value, error = printed[first][second], 100 * result.standard_error
            note = f"{games:,} games, standard error {100 * result.standard_error:.3f}"
            if players is PLAYERS and "fpnpoc" in (first, second):
                note += "; the thesis seems to have measured mistakes of its program: docs/results.md"
            what = f"{where}: {first} against {second} in %"
            errors = (error, error * sqrt(games / PRINTED_GAMES))
            yield PAPER.measured(what, value, 100 * result.first_wins, errors, 4, note)


def _four_piece_extremes(printed: dict[str, float], progress: Progress) -> Iterator[Fact]:
    """The worst and the best position of four pieces: they are in an endgame that can be computed by itself."""
    rules = Rules(pieces=4)
    game = evaluate(rules, None, None, start=Board.parse("b/39,41,42,43", rules), progress=progress)
    for name, (board, win) in (("min", game.worst_for_first()), ("max", game.best_for_second())):
        percent = 100 * win
        what = f"Table 5.1, 4 pieces: {name} in %"
        note = f"at {board}, among all positions of this endgame, residual {game.residual:.1e}"
        if not same_digits(percent, printed[name], 4):
            note += "; the thesis stopped at a largest change of 1e-6, which leaves the last digit open"
        yield PAPER.number(what, printed[name], round(percent, 6), note, agrees=same_digits(percent, printed[name], 4))
