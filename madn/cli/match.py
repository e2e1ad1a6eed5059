"""`madn match`: two players against each other, by playing games or exactly; `madn players`: a list of players."""

import textwrap
from dataclasses import asdict
from itertools import product
from typing import TYPE_CHECKING, Any

import click

from madn.board import Board
from madn.cli.asking import player_source, say_what_optimal_plays
from madn.cli.options import database_option, rules_options
from madn.cli.output import attributes, columns, json_option, percent, plural, print_json, show
from madn.cli.progress import ProgressBar
from madn.errors import NoAnswerError
from madn.rules import Rules

if TYPE_CHECKING:
    from madn.advisor import Advisor
    from madn.database import Database
    from madn.players import Player
    from madn.regret import Loss


@click.command()
@click.argument("first", metavar="[A", required=False)
@click.argument("second", metavar="B]", required=False)
@rules_options
@click.option("--games", type=int, help="Games to play.  [default: 100,000; 10,000 for --table and --regret]")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the games.")
@click.option("--exact", is_flag=True, help="Compute the result instead of playing; up to 3 pieces.")
@click.option("--regret", is_flag=True, help="Measure what A's decisions lose; B must be optimal.")
@click.option("--table", is_flag=True, help="Play all players against each other.")
@click.option("--board", "start", help="Start from this board, A to move.")
@click.option("--threads", type=int, help="Threads to use.  [default: all]")
@database_option
@json_option
def match(
    first: str | None,
    second: str | None,
    rules: Rules,
    games: int | None,
    seed: int,
    exact: bool,
    regret: bool,
    table: bool,
    start: str | None,
    threads: int | None,
    db: str | None,
    as_json: bool,
) -> None:
    """Play a match between player A, who moves first, and player B.

    A and B are names of players (madn players lists them) or paths of rule files. The same seed gives the same
    games on any number of threads. With --exact no games are played: the probabilities are computed, and a
    player can also be 'best', the best reply to the other. With --regret, A and optimal take turns to begin, and
    A's loss against optimal is the sum of what its decisions lose: far fewer games give the same precision.

    Example: madn match fpoc random --pieces 2 --exact
    """
    from madn.players import find_player

    board = Board.start(rules) if start is None else Board.parse(start, rules)
    if bool(first and second) == table or (table and first):
        raise click.UsageError("give two players, or --table")
    if exact and games is not None:
        raise click.UsageError("--exact plays no games: leave out --games")
    if regret and (exact or table or second != "optimal"):
        raise click.UsageError("--regret needs a player A, optimal as B, and neither --exact nor --table")
    played = None if exact else games if games is not None else 10_000 if table or regret else 100_000
    with player_source(db, rules) as source:
        if table:
            _print_table(_all_players(board, source), board, played, seed, threads, as_json)
            return
        if regret:
            player = find_player(first or "", rules, source)
            database = source.whole(board)
            if database is None:
                raise NoAnswerError(
                    f"regret needs exact values of every position {board} can lead to; {source.way_on(board)}"
                )
            _print_regret(player, database, board, played or 0, seed, threads, as_json)
            return
        one, two = (
            None if exact and name == "best" else find_player(name or "", rules, source) for name in (first, second)
        )
        say_what_optimal_plays(board, one, two)
        found = _result(one, two, board, played, seed, threads)
    rows: list[tuple[str, object]] = [("game", rules), ("first", first), ("second", second), ("board", board)]
    if exact:
        rows += [("first wins", percent(found["exact"])), ("as second", percent(found["as_second"]))]
        rows += [("residual", f"{found['residual']:.1e}")]
    else:
        wins = f"{percent(found['first_wins'])}, standard error {percent(found['standard_error'])}"
        rows += [("games", f"{found['games']:,}, {found['plies_per_game']:.1f} plies each"), ("seed", seed)]
        rows += [("first wins", wins)]
    head = {"rules": asdict(rules), "first": first, "second": second, "board": str(board)}
    show(as_json, {**head, **found}, columns(rows))


def _all_players(board: Board, source: "Advisor") -> "dict[str, Player]":
    """The players that can play this game: `optimal` only if it is, `estimate` only if there is an estimator."""
    from madn.players import PLAYERS, EstimatePlayer, OptimalPlayer

    players = {name: OptimalPlayer(source) if name == OptimalPlayer.name else one for name, one in PLAYERS.items()}
    if source.whole(board) is None:
        del players[OptimalPlayer.name]
    if source.estimates is None:
        del players[EstimatePlayer.name]
    return players


def _result(
    first: "Player | None", second: "Player | None", board: Board, games: int | None, seed: int, threads: int | None
) -> dict[str, Any]:
    """The result of this many games; if `games` is None, or a player is (the best reply), the exact result."""
    from madn.evaluate import evaluate
    from madn.match import simulate

    if games is None or first is None or second is None:
        with ProgressBar("computing") as progress:
            found = evaluate(board.rules, first, second, threads=threads, progress=progress, start=board)
        wins = found.first_wins(board), 1 - found.second_wins(Board(board.other, board.own, board.rules))
        return {"exact": wins[0], "as_second": wins[1], **attributes(found, "residual sweeps")}
    with ProgressBar("playing") as progress:
        result = simulate(first, second, board, games, seed, threads, progress)
    counted = attributes(result, "first_wins games standard_error")
    return {**counted, "plies_per_game": result.plies / games, "seed": seed}


def _print_regret(
    player: "Player",
    database: "Database[Any]",
    board: Board,
    games: int,
    seed: int,
    threads: int | None,
    as_json: bool,
) -> None:
    """Print what a player loses against optimal: the sums, then by phase and by the rule that decided."""
    from madn.match import regret

    with ProgressBar("playing") as progress:
        found = regret(player, database, start=board, games=games, seed=seed, threads=threads, progress=progress)
    orders = {
        "moving_first": (found.moving_first, found.first_wins),
        "moving_second": (found.moving_second, found.second_wins),
    }
    if as_json:
        print_json(
            {
                **{"rules": asdict(board.rules), "first": player.name, "second": "optimal", "board": str(board)},
                **attributes(found, "loss standard_error decisions games seed"),
                "plies_per_game": found.plies / found.games,
                **{name: {**asdict(loss), "wins": wins} for name, (loss, wins) in orders.items()},
                "by_phase": [{"pieces_home": home, **asdict(loss)} for home, loss in enumerate(found.by_phase)],
                "by_rule": [{"rule": rule, **asdict(loss)} for rule, loss in found.by_rule.items()],
            }
        )
        return
    each = found.total.per_decision
    rows: list[tuple[str, object]] = [("game", board.rules), ("player", player.name), ("against", "optimal")]
    rows += [("board", board), ("games", f"{found.games:,}, half begun by each, {found.plies / found.games:.1f} plies")]
    rows += [("seed", seed), ("loss", f"{percent(found.loss)}, standard error {percent(found.standard_error)}")]
    for name, (loss, wins) in orders.items():
        lost = f"{percent(loss.loss)}, standard error {percent(loss.standard_error)}"
        rows += [(name.replace("_", " "), f"{lost}; wins {percent(wins)}")]
    decisions = f"{found.decisions:,}, {found.decisions / found.games:.1f} a game"
    rows += [("decisions", f"{decisions}; each loses {percent(each)}")]
    parts = [_losses("pieces home", {str(home): loss for home, loss in enumerate(found.by_phase)})]
    parts += [_losses("decided by", found.by_rule)] if found.by_rule else []
    click.echo("\n\n".join([columns(rows), *parts]))


def _losses(head: str, losses: "dict[str, Loss]") -> str:
    """A table of what parts of the decisions lose, in percentage points."""
    rows = [[head, "decisions", "loss", "error", "a decision"]]
    rows += [
        [name, f"{loss.decisions:,}", *(f"{100 * x:.4f}" for x in (loss.loss, loss.standard_error, loss.per_decision))]
        for name, loss in losses.items()
        if loss.decisions
    ]
    return columns(rows, right=range(1, 5))


def _print_table(
    players: "dict[str, Player]", board: Board, games: int | None, seed: int, threads: int | None, as_json: bool
) -> None:
    """Every player against every other and itself; the player in the row moves first."""
    cells = [
        {"first": first, "second": second, **_result(players[first], players[second], board, games, seed, threads)}
        for first, second in product(players, players)
    ]
    if as_json:
        head = {"rules": asdict(board.rules), "board": str(board), "players": list(players)}
        print_json({**head, **({"games": games, "seed": seed} if games else {}), "matches": cells})
        return
    name = "first_wins" if games else "exact"
    rows = [["", *players]]
    rows += [[row, *(f"{100 * cell[name]:.2f}" for cell in cells if cell["first"] == row)] for row in players]
    click.echo(columns(rows, right=range(1, len(rows))))
    click.echo(f"\nPercentage of games won by the player in the row, who moves first: {board.rules}, {board}.")
    if games:
        most = max(cell["standard_error"] for cell in cells)
        click.echo(f"{plural(games, 'game')} per entry, seed {seed}, standard error at most {100 * most:.2f}.")


@click.command()
@json_option
def players(as_json: bool) -> None:
    """List the players, and the features that rules can use.

    Example: madn players
    """
    from madn.features import FEATURES
    from madn.players import PLAYERS

    if as_json:
        listed = [attributes(one, "name description") | {"rules": _rule_texts(one)} for one in PLAYERS.values()]
        print_json({"players": listed, "features": [attributes(f, "name meaning") for f in FEATURES.values()]})
        return
    for player in PLAYERS.values():
        click.echo(_entry(player.name, player.description))
    click.echo("\nA rule file lists 'prefer FEATURE' and 'avoid FEATURE' in order of priority. Features:")
    for feature in FEATURES.values():
        click.echo(_entry(feature.name, feature.meaning))


def _rule_texts(player: "Player") -> list[str] | None:
    from madn.players import RulePlayer

    if not isinstance(player, RulePlayer):
        return None
    return [*map(str, player.rules), *(["random"] if player.draws else [])]


def _entry(name: str, text: str) -> str:
    """A name with its description below."""
    return f"{name}\n{textwrap.fill(text, 79, initial_indent='    ', subsequent_indent='    ')}"
