"""Pictures of German Ludo: the figures of the thesis from our own data, and pictures of values and matches."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch, Rectangle
from numpy.typing import NDArray

from madn.board import Board
from madn.database import Database, open_database
from madn.drawing import GROUND, PAPER, TRACK, idle_sides, layout, seats
from madn.evaluate import Evaluation, evaluate
from madn.match import simulate
from madn.players import PLAYERS, OptimalPlayer, RulePlayer
from madn.plots.style import BLUE, GREEN, GREY, RED, WIDTH
from madn.rules import HOUSE_RULES, Rules
from madn.solver import make_plan, solve
from madn.solver.census import PARTS
from madn.startvalues import CHUNKS, Read, balanced, by_ratio, guessed, spread, sweeps

RATIO = "distance-to-finish ratio (1: won, -1: lost)"


def positions() -> Figure:
    """Bars on a logarithmic scale: how many positions there are for 1 to 6 pieces a side."""
    figure = Figure(figsize=(WIDTH, 4.2))
    axes = figure.add_subplot()
    pieces = range(1, 7)
    counts = [Rules(pieces=number).positions for number in pieces]
    axes.barh(pieces, counts, color=BLUE)
    for number, count in zip(pieces, counts, strict=True):
        shift, side, colour = (-4, "right", "white") if count > counts[-1] / 1e3 else (4, "left", "black")
        axes.annotate(
            f"{count:,}", (count, number), (shift, 0), textcoords="offset points", ha=side, va="center", color=colour
        )
    axes.set(xscale="log", xlim=(100, counts[-1] * 3), xlabel="positions", ylabel="pieces a side")
    axes.invert_yaxis()
    axes.set_title("Positions of German Ludo for two, 40 squares")
    return figure


@cache
def solved(pieces: int) -> Read:
    """Solve a game; return a function that reads the winning probabilities of position IDs."""
    rules = Rules(pieces=pieces)
    wins = np.empty(rules.positions)
    solve(make_plan(rules)).read(0, wins)
    return wins.take


def _named(rules: Rules) -> str:
    pieces = f"{rules.pieces} piece{'s' * (rules.pieces > 1)} a side"
    return pieces if rules.squares == Rules().squares else f"{pieces} on {rules.squares} squares"


def ratios(database: Database | None = None) -> Figure:
    """Figure 4.3: least, mean and largest winning probability by ratio, and how often a ratio occurs."""
    rules = database.rules if database is not None else Rules(pieces=2)
    found = spread(rules, database.win_many if database is not None else solved(2))
    figure = Figure(figsize=(WIDTH, 7.5))
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    for wins, colour, name in ((found.most, BLUE, "largest"), (found.mean, GREEN, "mean"), (found.least, RED, "least")):
        above.plot(found.ratio, 100 * wins, ".", ms=2, color=colour, label=name, rasterized=True)
    above.set(ylabel="winning probability of the side to move (%)", title="(a) winning probability")
    above.legend(markerscale=6, loc="upper left")
    below.plot(found.ratio, found.count, ".", ms=2, color=GREY, rasterized=True)
    below.set(yscale="log", ylabel="positions", title="(b) number of positions with this ratio")
    below.set(xlabel=RATIO, xticks=[-1, -0.5, 0, 0.5, 1])
    for axes in (above, below):
        axes.grid()
    figure.suptitle(f"All open positions by distance-to-finish ratio, {_named(rules)}")
    return figure


def averaged(database: Database | None = None) -> Figure:
    """Figure 4.4: the mean winning probability by ratio, smoothed, with the polynomial of degree 5."""
    games = _games(database)
    figure = Figure(figsize=(WIDTH, 5.6))
    axes = figure.add_subplot()
    x = np.linspace(-1, 1, 201)
    for (rules, read), colour, marker in zip(games.items(), (GREEN, BLUE, RED), "s^o", strict=False):
        found = spread(rules, read)
        chunk = min(CHUNKS.get(rules.pieces, 20_000_000), rules.positions // 80)
        ratio, mean = found.averaged(chunk)
        axes.plot(
            ratio,
            100 * mean,
            marker,
            ms=4,
            color=colour,
            mfc="none",
            label=f"{_named(rules)}, {chunk:,} positions per mark",
        )
        fitted = np.polynomial.polynomial.polyval(x, found.polynomial())
        axes.plot(x, 100 * fitted, "-", color=colour, lw=1)
    axes.plot([], [], "-", color="black", lw=1, label="polynomial of degree 5, fitted to all positions")
    axes.set(xlabel=RATIO, ylabel="winning probability of the side to move (%)", xticks=[-1, -0.5, 0, 0.5, 1])
    axes.grid()
    axes.legend(loc="upper left")
    axes.set_title("Winning probability by distance-to-finish ratio, averaged")
    return figure


def convergence() -> Figure:
    """Figure 5.1: how many positions change in each sweep of the thesis' algorithm, from several start values."""
    figure = Figure(figsize=(WIDTH, 4.2))
    axes = figure.add_subplot()
    one = spread(Rules(pieces=1), solved(1)).polynomial()
    rules = Rules(pieces=2, squares=20)
    for name, polynomial, colour in (
        ("from 0.5 everywhere", np.array([0.5]), BLUE),
        ("from the polynomial of the one-piece game", one, RED),
        ("from its symmetrical part", balanced(one), GREEN),
    ):
        changes = sweeps(rules, guessed(rules, by_ratio(polynomial)))
        axes.plot(range(1, len(changes) + 1), changes, ".-", color=colour, label=f"{name}: {len(changes)} sweeps")
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylim(bottom=0)
    axes.set(xlabel="sweep of the thesis' algorithm", ylabel="positions that changed by more than 1e-6")
    axes.set_title(f"Convergence, 2 pieces a side on 20 squares ({rules.positions:,} positions)")
    axes.grid()
    axes.legend()
    return figure


def extremes() -> Figure:
    """Figure 5.2: the position that is worst for the side to move, and the best, for 1 to 4 pieces."""
    figure = Figure(figsize=(WIDTH, 14.6))
    for pieces, row in enumerate(figure.subplots(4, 2), 1):
        for axes, name, (board, win) in zip(row, ("worst", "best"), _extreme_boards(pieces), strict=True):
            _draw_board(axes, board)
            title = f"{pieces} piece{'s' * (pieces > 1)}, {name}: {100 * win:.4f} %\n{board}"
            axes.set_title(title, loc="center")
    figure.suptitle("The worst and the best position for the side to move, red")
    return figure


@cache
def _extreme_boards(pieces: int) -> tuple[tuple[Board, float], tuple[Board, float]]:
    """The worst and the best board: one side has all pieces home except the one for its first finish square.

    All positions of these endgames are compared. That no other position is worse or better is known from solves of the
    whole game.
    """
    rules = Rules(pieces=pieces)
    start = Board((), (39, *range(41, 40 + pieces)), rules)
    game = evaluate(rules, None, None, tolerance=1e-6, start=start)
    return game.worst_for_first(), game.best_for_second()


def _draw_board(axes: Axes, board: Board) -> None:
    """Draw the board of `madn.drawing` with discs for pieces; the side to move is red and at the bottom."""
    cells, squares = layout(board.rules), board.rules.squares
    axes.set_axis_off()
    axes.set(aspect="equal", xlim=(-0.9, cells.width - 0.1), ylim=(cells.height - 0.1, -0.9))
    axes.add_patch(Rectangle((-0.9, -0.9), cells.width + 0.8, cells.height + 0.8, fc=GROUND, zorder=0))
    loop = cells.bottom.path[:squares]
    axes.plot(*zip(*loop, loop[0], strict=True), color=TRACK, lw=1, zorder=0.9)
    for cell in loop:
        axes.add_patch(Circle(cell, 0.4, fc=PAPER, ec=TRACK, lw=0.6))
    both = seats(board.own, board.other, board.rules, False)
    for colour, side in [*idle_sides(board.rules), *((seat.colour, seat.side) for seat in both)]:
        columns, rows = zip(*side.box, strict=True)
        corner, width, height = (min(columns), min(rows)), max(columns) - min(columns), max(rows) - min(rows)
        axes.add_patch(FancyBboxPatch(corner, width, height, "round,pad=0.55", fc=colour.fill, ec="none"))
        for cell in (side.path[0], *side.path[squares:], *side.box):
            axes.add_patch(Circle(cell, 0.4, fc=colour.pale, ec=colour.dark, lw=0.6))
    for seat in both:
        taken = [seat.side.path[square] for square in seat.squares] + list(seat.side.box[: seat.boxed])
        for x, y in taken:
            axes.add_patch(Circle((x, y), 0.32, fc=seat.colour.fill, ec=seat.colour.dark, lw=0.8))
            axes.text(x, y, seat.colour.letter, ha="center", va="center", color="white", fontsize=9, weight="bold")


def values(database: Database | None = None) -> Figure:
    """How often each winning probability occurs: for one and two pieces, and for the game of a database."""
    figure = Figure(figsize=(WIDTH, 4.2))
    axes = figure.add_subplot()
    for (rules, read), colour in zip(_games(database).items(), (GREY, BLUE, RED), strict=False):
        counted = (
            database.info()["provenance"].get("census") if database is not None and rules == database.rules else None
        )
        counts = census_counts(counted) or _count(rules, read)
        open_positions = sum(counts)
        name = f"{_named(rules)} ({open_positions:,} positions)"
        axes.stairs([100 * count / open_positions for count in counts], range(PARTS + 1), color=colour, label=name)
    axes.set(xlabel="winning probability of the side to move (%)", ylabel="open positions (% in each step of 1 %)")
    axes.set_ylim(0, 1.3 * axes.get_ylim()[1])  # room for the legend
    axes.set_title("Winning probabilities of all open positions")
    axes.legend(loc="upper left")
    return figure


def _games(database: Database | None) -> dict[Rules, Read]:
    """The games to compare: one piece, two pieces, and that of a database."""
    games = {Rules(n): solved(n) for n in (1, 2)}
    if database is not None:
        games[database.rules] = database.win_many
    return games


def census_counts(written: object) -> list[int] | None:
    """The histogram of a census in the provenance of a database, if there is one."""
    counts = written.get("histogram") if isinstance(written, dict) else None
    if not isinstance(counts, list) or len(counts) != PARTS:
        return None
    return counts if all(isinstance(count, int) and count >= 0 for count in counts) and any(counts) else None


def _count(rules: Rules, read: Read) -> list[int]:
    """How many open positions have a value in each of the parts, counted by reading all positions."""
    counts = np.zeros(PARTS, np.int64)
    for first in range(0, rules.positions, 1 << 22):
        found = read(np.arange(first, min(first + (1 << 22), rules.positions)))
        found = found[(found > 0) & (found < 1)]
        counts += np.bincount(np.minimum(found * PARTS, PARTS - 1).astype(np.int64), minlength=PARTS)
    return [int(count) for count in counts]


GAMES = 10_000  # of each pairing in the cross table, for a standard error of half a per cent


def _matches(database: Database) -> tuple[list[str], NDArray[np.float64]]:
    """`optimal` and the players with rules, and how often (in %) each beats each of them when moving first."""
    players = [OptimalPlayer(database), *(player for player in PLAYERS.values() if isinstance(player, RulePlayer))]
    start = Board.start(database.rules)
    table = [[100 * simulate(a, b, start, GAMES, seed=1).first_wins for b in players] for a in players]
    return [player.name for player in players], np.array(table)


@cache
def _embedded_matches() -> tuple[list[str], NDArray[np.float64]]:
    with open_database() as database:
        return _matches(database)


def house_rules() -> Figure:
    """Two pieces, all combinations of house rules: what moving first is worth, and what two players lose."""
    games = [Rules(2, **dict(zip(HOUSE_RULES, on, strict=True))) for on in product((False, True), repeat=4)]
    names = [str(game).removeprefix("2 pieces, 40 squares").removeprefix(", ") or "printed rules" for game in games]
    figure = Figure(figsize=(WIDTH, 5.2))
    left, right = figure.subplots(1, 2, sharey=True)
    places = range(len(games))
    left.plot([100 * _start_wins(game)[0] for game in games], places, "o", color=RED)
    left.set(xlabel="games won by the side that moves first (%)", xlim=(50, 51.3))
    for name, colour in (("random", GREY), ("fpoc", BLUE)):
        lost = [50 - 50 * sum(_start_wins(game, name)) for game in games]
        right.plot(lost, places, "o", color=colour)
        right.annotate(name, (lost[0], 0), (0, 8), textcoords="offset points", ha="center", color=colour)
    right.set(xlabel="lost against the best reply (%)", xlim=(0, 20))
    left.set_yticks(places, names)
    left.set_ylim(len(games) - 0.4, -1.3)
    for axes in (left, right):
        axes.grid()
    figure.suptitle("House rules, 2 pieces a side")
    return figure


def _start_wins(rules: Rules, name: str = "") -> tuple[float, float]:
    """How often a player beats the best reply from the start of a game, moving first and moving second."""
    start = Board.start(rules)
    values = replace(rules, start_in_box=False)  # a game with the same values
    game, board = _evaluated(values, name), Board(start.own, start.other, values)
    return game.first_wins(board), 1 - game.second_wins(board)


@cache
def _evaluated(rules: Rules, name: str) -> Evaluation:
    return evaluate(rules, PLAYERS[name] if name else None, None, tolerance=1e-6)


def cross_table(database: Database | None = None) -> Figure:
    """All players against each other as a heat map, for two pieces or the game of a database."""
    names, table = _embedded_matches() if database is None else _matches(database)
    rules = Rules(pieces=2) if database is None else database.rules
    figure = Figure(figsize=(WIDTH, 6.6))
    axes = figure.add_subplot()
    image = axes.imshow(table, cmap="RdGy_r", vmin=10, vmax=90)
    for (i, j), win in np.ndenumerate(table):
        axes.text(j, i, f"{win:.0f}", ha="center", va="center", color="white" if abs(win - 50) > 21 else "black")
    axes.set_xticks(range(len(names)), names, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="second player", ylabel="first player")
    axes.set_title(f"{_named(rules)}: how often the first player wins, {GAMES:,} games each")
    figure.colorbar(image, label="games won by the first player (%)", shrink=0.8)
    return figure
