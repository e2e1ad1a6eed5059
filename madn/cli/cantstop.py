"""`madn cantstop`: solves two-player Can't Stop, stores the solution, and answers questions about a position."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from madn.cli.options import check_output_file, memory_bytes
from madn.cli.output import Rows, attributes, cantstop_game, columns, duration, json_option, percent, plural, show
from madn.cli.progress import ProgressBar
from madn.errors import CorruptBlockError, RulesMismatchError

if TYPE_CHECKING:
    from madn.games.cantstop import Solution
    from madn.games.cantstop.store import Database

RULES = ("sides", "shortest", "difference", "to_win")


@click.command()
@click.option("--sides", type=int, help="Sides of a die, 2 to 6.  [default: 3]")
@click.option("--shortest", type=int, help="Steps of the shortest columns.  [default: 3]")
@click.option("--difference", type=int, help="How many more steps a column has than its outer neighbour.  [default: 2]")
@click.option("--to-win", type=int, help="Columns to win.  [default: 3]")
@click.option("--position", metavar="TEXT", help="Show the chances in a position, such as 4:2/3:1+4:3.")
@click.option("--roll", metavar="DICE", help="List the ways to play a roll, such as 1123, in that position.")
@click.option(
    "--rule",
    type=int,
    metavar="POINTS",
    help="Also play the rule of 28, stopping at this many points, against best play.",
)
@click.option("--out", type=click.Path(), metavar="DIR", help="Write the solution to a database.")
@click.option("--db", type=click.Path(), metavar="DIR", help="Answer from a database instead of solving.")
@click.option("--method", type=click.Choice(["newton", "plain"]), default="newton", show_default=True,
              help="'plain' is Algorithm 2 of the paper: slow, for comparison.")  # fmt: skip
@click.option("--threads", type=int, help="Threads to use.  [default: all]")
@click.option("--memory", metavar="SIZE", callback=memory_bytes,
              help="Memory limit, such as 20G.  [default: free memory]")  # fmt: skip
@click.option("--checkpoint", type=click.Path(path_type=Path), metavar="FILE",
              help="Save a long solve to this file every ten minutes, and resume from it.")  # fmt: skip
@json_option
def cantstop(as_json: bool, **wanted: Any) -> None:
    """Solve two-player Can't Stop exactly, with small dice.

    A position is written OWN/OTHER, the player to move first: COLUMN:STEPS for each column entered, COLUMN:* for a
    column won, - for none; +COLUMN:STEPS,... adds the markers of the current turn. The game starts at -/-.

    Example: madn cantstop --sides 3 --shortest 2

    madn cantstop --db three --position 4:2/3:1+4:3 --roll 1123
    """
    if wanted["roll"] and not wanted["position"]:
        raise click.UsageError("--roll needs --position")
    if wanted["db"] and (wanted["out"] or wanted["rule"] is not None):
        raise click.UsageError("--db answers from a database; --out and --rule need a solve")
    source, facts, rows = _opened(wanted) if wanted["db"] else _solved(wanted)
    text = columns(rows)
    if wanted["position"]:
        text += _with_position(source, wanted, facts)
    show(as_json, facts, text)


def _opened(wanted: dict[str, Any]) -> "tuple[Database, dict[str, Any], Rows]":
    from madn.games.cantstop import open_database

    database = open_database(wanted["db"])
    for name in RULES:
        if wanted[name] not in (None, getattr(database.game, name)):
            option = name.replace("_", "-")
            raise RulesMismatchError(f"{wanted['db']} holds {database.game}, not --{option} {wanted[name]}")
    seconds = database.provenance.get("seconds")
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float)):
        raise CorruptBlockError(f"{wanted['db']}: damaged: provenance 'seconds' is not a number but {seconds!r:.40}")
    return database, *_described(database, seconds)


def _solved(wanted: dict[str, Any]) -> "tuple[Solution, dict[str, Any], Rows]":
    from madn.games.cantstop import CantStop, Position, read_roll, solve, write_database
    from madn.games.cantstop.solver import check_memory
    from madn.store import check_writable

    out, rule = wanted["out"], wanted["rule"]
    game = CantStop(**{name: wanted[name] for name in RULES if wanted[name] is not None})
    if wanted["position"]:
        Position.parse(wanted["position"], game)
    if wanted["roll"]:
        read_roll(wanted["roll"], game)
    check_memory(game, 1 if rule is None else 2, wanted["memory"])
    if out == "":
        raise click.BadParameter("the directory name is empty", param_hint="'--out'")
    if out is not None:
        check_writable(out)
    if wanted["checkpoint"] is not None:
        check_output_file(wanted["checkpoint"], "--checkpoint")
    settings = {name: wanted[name] for name in ("threads", "method", "memory")}
    with ProgressBar("solving") as bar:
        solution = solve(game, progress=bar, checkpoint=wanted["checkpoint"], keep=True, **settings)
    facts, rows = _described(solution, solution.seconds)
    facts |= attributes(solution, "iterations most_iterations passes method threads")
    mean = f"{solution.iterations / solution.components:.2f} a component"
    rows.append(("iterations", f"{mean}, {solution.most_iterations} at most"))
    rows.append(("method", f"{solution.method}, {plural(solution.threads, 'thread')}"))
    if out is not None:
        write_database(out, solution)
        facts["out"] = out
        rows.append(("database", out))
    if wanted["checkpoint"] is not None:
        wanted["checkpoint"].unlink(missing_ok=True)  # not before the solution is stored
    if rule is not None:
        with ProgressBar("the rule of 28") as bar:
            ruled = solve(game, rule=rule, progress=bar, **settings)
        rows += _with_rule(solution, ruled, facts)
    return solution, facts, rows


def _described(source: "Solution | Database", seconds: float | None) -> tuple[dict[str, Any], Rows]:
    """What a solution and a database have in common: the facts, and the table a person sees."""
    game = source.game
    facts = asdict(game) | attributes(game, "components positions")
    facts |= {"first_player": source.first_player, "seconds": seconds}
    rows = [
        ("game", cantstop_game(facts)),
        ("components", f"{game.components:,}"),
        ("positions", f"{game.positions:,}"),
        ("first player", f"{source.first_player:.10f}"),
        ("time", duration(seconds or 0)),
    ]
    return facts, rows


def _with_rule(best: "Solution", ruled: "Solution", facts: dict[str, Any]) -> Rows:
    """Add what the rule of 28 loses against best play, moving first and moving second; return its rows."""
    from madn.games.cantstop.rule28 import chances

    first, second = chances(ruled)
    loss = {"first": best.first_player - first, "second": 1 - best.first_player - second}
    facts["rule"] = {"points": ruled.rule, "first": first, "second": second}
    facts["rule"] |= {f"loss_{who}": lost for who, lost in loss.items()}
    return [
        (f"rule of {ruled.rule}", f"wins {percent(wins)} moving {who}, {percent(loss[who])} less than best play")
        for who, wins in (("first", first), ("second", second))
    ]


def _with_position(source: "Solution | Database", wanted: dict[str, Any], facts: dict[str, Any]) -> str:
    """Add the answer for a position to the facts; return its tables."""
    from madn.games.cantstop import Position, TurnAnswers, read_roll

    position = Position.parse(wanted["position"], source.game)
    turn = TurnAnswers(source, position)
    answer = turn.answer(position)
    listed = attributes(answer, "anchors win stop roll action")
    facts["position"] = {"text": str(position), **listed, "blocked": position.blocked}
    own, other = answer.anchors
    rows = [
        ("position", str(position)),
        ("squares alone", f"{percent(own)} to move, {percent(other)} when it is the opponent's turn"),
    ]
    if any(position.markers):
        blocked = ", ".join(f"column {c}" for c in position.blocked)
        stop = f"not allowed: on the opponent's square in {blocked}" if answer.stop is None else percent(answer.stop)
        rows += [("stop", stop), ("roll", percent(answer.roll)), ("better", answer.action)]
    text = "\n\n" + columns(rows)
    if not wanted["roll"]:
        return text
    roll = read_roll(wanted["roll"], source.game)
    options = turn.moves(position, roll)
    facts["position"]["roll_dice"] = roll
    facts["position"]["moves"] = [
        {**attributes(option.move, "pairing columns"), "position": str(option.move.position), "win": option.win}
        for option in options
    ]
    if not options:
        return f"{text}\n\nNo pair can be played: the turn is lost."
    table = [("+".join(map(str, o.move.pairing)), str(o.move), percent(o.win), str(o.move.position)) for o in options]
    return f"{text}\n\n{columns([('pairing', 'moves in', 'wins', 'position after'), *table], right=[2])}"
