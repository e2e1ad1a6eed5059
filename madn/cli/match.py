"""`madn match`: two players against each other, by playing games or exactly; `madn players`: lists them."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from madn.board import Board
from madn.cli.options import database_option, rules_options
from madn.cli.output import columns, json_option, percent, plural, print_json
from madn.cli.progress import ProgressBar
from madn.rules import Rules

if TYPE_CHECKING:
    from madn.players import Player


@click.command()
@click.argument("first", metavar="[A", required=False)
@click.argument("second", metavar="B]", required=False)
@rules_options
@click.option("--games", type=click.IntRange(1, 10**9), help="Games to play.  [default: 100,000; for --table 10,000]")
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), default=1, show_default=True, help="Seed of the games.")
@click.option("--exact", is_flag=True, help="Compute the result instead of playing; up to 3 pieces.")
@click.option("--table", is_flag=True, help="Play all players against each other.")
@click.option("--board", "start", help="Start from this board, A to move.")
@click.option("--threads", type=click.IntRange(1), help="Threads to use.  [default: all]")
@database_option
@json_option
def match(
    first: str | None,
    second: str | None,
    rules: Rules,
    games: int | None,
    seed: int,
    exact: bool,
    table: bool,
    start: str | None,
    threads: int | None,
    db: str | None,
    as_json: bool,
) -> None:
    """Let player A, who moves first, play against B.

    A and B are names of players (madn players lists them) or paths of rule files. The same seed gives the same
    games on any number of threads. With --exact no games are played: the probabilities are computed, and a
    player can also be 'best', the best reply to the other.

    Example: madn match fpoc random --pieces 2 --exact
    """
    from madn.players import find_player

    board = Board.start(rules) if start is None else Board.parse(start, rules)
    if bool(first and second) == table or (table and first):
        raise click.UsageError("give two players, or --table")
    if exact and games:
        raise click.UsageError("--exact plays no games: leave out --games")
    with _database(db) as database:
        if table:
            names = _all_names(rules, database)
            players = {name: find_player(name, rules, database) for name in names}
            _print_table(players, board, games or 10_000, seed, exact, threads, as_json)
            return
        one, two = (
            None if exact and name == "best" else find_player(name or "", rules, database) for name in (first, second)
        )
        if exact:
            found = _exact(one, two, board, threads)
        elif one and two:
            found = _played(one, two, board, games or 100_000, seed, threads)
    answer = {"rules": asdict(rules), "first": first, "second": second, "board": str(board), **found}
    if as_json:
        print_json(answer)
        return
    wins = answer["exact"] if exact else answer["first_wins"]
    rows: list[tuple[str, object]] = [("game", rules), ("first", first), ("second", second), ("board", board)]
    if exact:
        rows += [("first wins", percent(wins)), ("as second", percent(answer["as_second"]))]
        rows += [("residual", f"{answer['residual']:.1e}")]
    else:
        rows += [("games", f"{answer['games']:,}, {answer['plies_per_game']:.1f} plies each"), ("seed", seed)]
        rows += [("first wins", f"{percent(wins)}, standard error {percent(answer['standard_error'])}")]
    click.echo(columns(rows))


def _database(path: str | None) -> Any:
    """The database at that path, or none, as a context manager."""
    from contextlib import nullcontext

    from madn.database import open_database

    return nullcontext() if path is None else open_database(path)


def _all_names(rules: Rules, database: Any) -> list[str]:
    """The players that can play this game: `optimal` only with a database of it."""
    from madn.players import PLAYERS, OptimalPlayer

    optimal = OptimalPlayer(database)
    return [name for name in PLAYERS if name != "optimal" or optimal.database.rules == rules]


def _played(
    first: "Player", second: "Player", board: Board, games: int, seed: int, threads: int | None
) -> dict[str, Any]:
    from madn.match import simulate

    with ProgressBar("playing") as progress:
        result = simulate(first, second, board, games, seed, threads, progress)
    return {
        "first_wins": result.first_wins,
        "games": result.games,
        "standard_error": result.standard_error,
        "plies_per_game": result.plies / result.games,
        "seed": seed,
    }


def _exact(first: "Player | None", second: "Player | None", board: Board, threads: int | None) -> dict[str, Any]:
    from madn.evaluate import evaluate

    with ProgressBar("computing") as progress:
        found = evaluate(board.rules, first, second, threads=threads, progress=progress, start=board)
    return {
        "exact": found.first_wins(board),
        "as_second": 1 - found.second_wins(Board(board.other, board.own, board.rules)),
        "residual": found.residual,
        "sweeps": found.sweeps,
    }


def _print_table(
    players: "dict[str, Player]",
    board: Board,
    games: int,
    seed: int,
    exact: bool,
    threads: int | None,
    as_json: bool,
) -> None:
    """Everyone against everyone; the player of the row moves first."""
    cells = []
    for first in players.values():
        for second in players.values():
            found = (
                _exact(first, second, board, threads) if exact else _played(first, second, board, games, seed, threads)
            )
            cells.append({"first": first.name, "second": second.name, **found})
    if as_json:
        head = {"rules": asdict(board.rules), "board": str(board), "players": list(players)}
        print_json({**head, "matches": cells} if exact else {**head, "games": games, "seed": seed, "matches": cells})
        return
    name = "exact" if exact else "first_wins"
    rows = [["", *players]]
    for number, first_name in enumerate(players):
        row = cells[number * len(players) : (number + 1) * len(players)]
        rows.append([first_name, *(f"{100 * cell[name]:.2f}" for cell in row)])
    click.echo(columns(rows, right=range(1, len(rows))))
    click.echo(f"\nPercentage of games won by the player of the row, who moves first: {board.rules}, {board}.")
    if not exact:
        most = max(cell["standard_error"] for cell in cells)
        click.echo(f"{plural(games, 'game')} per entry, seed {seed}, standard error at most {100 * most:.2f}.")


@click.command()
@json_option
def players(as_json: bool) -> None:
    """List the players, and the features a rule can use.

    Example: madn players
    """
    from madn.features import FEATURES
    from madn.players import PLAYERS

    if as_json:
        print_json(
            {
                "players": [
                    {"name": player.name, "description": player.description, "rules": _rule_texts(player)}
                    for player in PLAYERS.values()
                ],
                "features": [{"name": f.name, "meaning": f.meaning} for f in FEATURES.values()],
            }
        )
        return
    for player in PLAYERS.values():
        click.echo(f"{player.name}\n    " + "\n    ".join(_wrapped(player.description)))
    click.echo("\nA rule file says 'prefer FEATURE' or 'avoid FEATURE', most important first. Features:")
    for feature in FEATURES.values():
        click.echo(f"{feature.name}\n    " + "\n    ".join(_wrapped(feature.meaning)))


def _rule_texts(player: "Player") -> list[str] | None:
    from madn.players import RulePlayer

    if not isinstance(player, RulePlayer):
        return None
    return [*map(str, player.rules), *(["random"] if player.draws else [])]


def _wrapped(text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(text, 90)
