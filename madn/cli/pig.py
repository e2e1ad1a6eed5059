"""`madn pig`: solves the dice race Pig, answers for a state, and plays two strategies against each other."""

import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from madn.cli.output import Rows, attributes, columns, duration, json_option, percent, plural, show
from madn.cli.progress import ProgressBar
from madn.cli.tables import check_table_file, write_table

if TYPE_CHECKING:
    from madn.games.pig import Pig, Solution, Strategy

VARIANTS = ("classic", "exact", "difference")
State = tuple[int, int, int]


def read_state(_ctx: click.Context, param: click.Parameter, value: str | None) -> State | None:
    """Read OWN,OTHER,TURN; the callback of an option."""
    if value is None:
        return None
    parts = re.fullmatch(r"(-?[0-9]{1,9}),(-?[0-9]{1,9}),(-?[0-9]{1,9})", value)
    if parts is None:
        raise click.BadParameter(f"{value!r} is not OWN,OTHER,TURN, three whole numbers like 30,40,20", param=param)
    return int(parts[1]), int(parts[2]), int(parts[3])


@click.command()
@click.option("--target", type=int, default=200, show_default=True, help="Points to reach: 2 to 1000.")
@click.option("--faces", type=int, default=6, show_default=True, help="Faces of the die: 2 to 1000.")
@click.option("--losing-face", type=int, default=1, show_default=True, help="The face that loses the turn.")
@click.option("--variant", type=click.Choice(VARIANTS), default="classic", show_default=True, help="How a game is won.")
@click.option("--mercy", is_flag=True, help="The losing face scores one point.")
@click.option(
    "--state", metavar="OWN,OTHER,TURN", callback=read_state, help="Say whether to roll or hold in this state."
)
@click.option(
    "--duel",
    "players",
    nargs=2,
    metavar="A B",
    help="Compute the result of strategy A against B: optimal, turns, best or hold-K.",
)
@click.option("--table", type=click.Path(path_type=Path), help="Write all states to this .parquet or .csv file.")
@click.option("--threads", type=int, help="Threads to use.  [default: 1 for short games, all for long ones]")
@json_option
def pig(
    state: State | None,
    players: tuple[str, str] | None,
    table: Path | None,
    threads: int | None,
    as_json: bool,
    **rules: Any,
) -> None:
    """Solve the dice race Pig.

    In a turn a player rolls as often as it likes. Holding adds the points of the turn to the score; the losing
    face ends the turn, and its points are lost. In the variant classic, the first to reach the target wins; in
    exact, the target must be hit exactly, and a roll past it loses the turn; in difference, the winner is paid
    the points that the loser is short of the target. Wubbel is --target 50 --losing-face 6.

    A state is the score of the player with the die, the other's score, and the points of the turn. For --duel,
    hold-K holds at K points, turns needs the fewest turns, and best is the best reply to the other strategy.

    Example: madn pig --state 30,40,20
    """
    from madn.games.pig import Pig, solve

    game = Pig(**rules)
    if state is not None:
        game.check_state(*state)
    if players is not None:
        _check_players(players)
    if table is not None:
        check_table_file(table)
    with ProgressBar("solving") as bar:
        solution = solve(game, threads, bar)
    facts, rows = _solved(solution)
    if state is not None:
        rows += _with_state(solution, state, facts)
    if players is not None:
        rows += _with_duel(solution, players, facts)
    if table is not None:
        rows += write_table(table, solution, asdict(game), facts)
    show(as_json, facts, columns(rows))


def _amount(game: "Pig", value: float) -> str:
    return f"{value:.6f}" if game.variant == "difference" else percent(value)


def _solved(solution: "Solution") -> tuple[dict[str, Any], Rows]:
    """The solution: its facts, and the table a person sees."""
    game = solution.game
    mercy = ", which scores a point" if game.mercy else ""
    facts = asdict(game) | attributes(
        solution, "start states residual smallest_gap smallest_gap_state ties seconds threads"
    )
    if solution.ties == solution.states:
        facts |= {"smallest_gap": None, "smallest_gap_state": None}
    rows = [
        ("game", f"{game.variant}, to {game.target}, {game.faces}-sided die, {game.losing_face} loses the turn{mercy}"),
        ("start", f"{_amount(game, solution.start)} for the player who begins"),
        ("states", f"{solution.states:,} with a choice"),
        ("residual", f"{solution.residual:.1e}"),
        ("time", f"{duration(solution.seconds)}, {plural(solution.threads, 'thread')}"),
    ]
    return facts, rows


def _with_state(solution: "Solution", state: State, facts: dict[str, Any]) -> Rows:
    """Add the answer for a state to the facts; return its rows."""
    answer = solution.ask(*state)
    name = "value" if solution.game.variant == "difference" else "win"
    facts |= {"state": state, name: answer.value, **attributes(answer, "roll hold action")}
    rows = [("", ""), ("state", "{} against {}, {} in hand".format(*state))]
    rows += [
        (name, "not allowed" if value is None else _amount(solution.game, value))
        for name, value in (("roll", answer.roll), ("hold", answer.hold))
    ]
    return [*rows, ("action", answer.action)]


def _check_players(players: tuple[str, str]) -> None:
    for player in players:
        if not re.fullmatch(r"optimal|turns|best|hold-[0-9]{1,9}", player):
            raise click.BadParameter(f"{player!r} is not one of optimal, turns, best, hold-K", param_hint="'--duel'")
    if players == ("best", "best"):
        raise click.BadParameter("only one of the two can be best, the best reply to the other", param_hint="'--duel'")


def _strategy(solution: "Solution", player: str) -> "Strategy":
    from madn.games.pig import Strategy, fewest_turns

    if player == "optimal":
        return solution.strategy
    if player == "turns":
        return fewest_turns(solution.game)[0]
    return Strategy.hold_at(solution.game, int(player.removeprefix("hold-")))


def _with_duel(solution: "Solution", players: tuple[str, str], facts: dict[str, Any]) -> Rows:
    """Add the result of a duel to the facts; return its rows."""
    from madn.games.pig import best_response, duel

    known = {player: _strategy(solution, player) for player in players if player != "best"}
    first, second = (
        known[player] if player in known else best_response(known[other], solution.threads)
        for player, other in (players, players[::-1])
    )
    result = duel(first, second, solution.threads)
    facts |= {"players": players, **attributes(result, "starting replying average endless")}
    rows = [("", ""), (players[0], f"against {players[1]}")]
    names = {"begins": result.starting, "replies": result.replying, "average": result.average}
    rows += [(name, _amount(solution.game, value)) for name, value in names.items()]
    return [*rows, ("endless", percent(result.endless))] if result.endless else rows
