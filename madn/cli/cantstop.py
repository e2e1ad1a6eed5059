"""`madn cantstop`: solves two-player Can't Stop, stores the solution, answers for a position."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from madn.cli.options import check_output_file, memory_bytes
from madn.cli.output import cantstop_game, columns, duration, json_option, percent, plural, print_json
from madn.cli.progress import ProgressBar
from madn.errors import RulesMismatchError

if TYPE_CHECKING:
    from madn.games.cantstop import Answer, CantStop, MoveValue, Solution
    from madn.games.cantstop.store import Database

RULES = {"sides": 3, "shortest": 3, "difference": 2, "to_win": 3}


@click.command()
@click.option("--sides", type=int, help="Sides of a die, 2 to 6.  [default: 3]")
@click.option("--shortest", type=int, help="Steps of the shortest columns.  [default: 3]")
@click.option("--difference", type=int, help="Steps a column has more than its outer neighbour.  [default: 2]")
@click.option("--to-win", type=int, help="Columns to win.  [default: 3]")
@click.option("--position", metavar="TEXT", help="Answer for a position, such as 4:2/3:1+4:3.")
@click.option("--roll", metavar="DICE", help="List the ways to play a roll, such as 1123, in that position.")
@click.option(
    "--rule",
    type=int,
    metavar="POINTS",
    help="Also play the rule of 28, stopping at so many points, against best play.",
)
@click.option("--out", type=click.Path(), metavar="DIR", help="Write the solution to a database.")
@click.option("--db", type=click.Path(), metavar="DIR", help="Answer from a database instead of solving.")
@click.option("--method", type=click.Choice(["newton", "plain"]), default="newton", show_default=True,
              help="'plain' is Algorithm 2 of the paper: slow, for comparison.")  # fmt: skip
@click.option("--threads", type=int, help="Threads to use.  [default: all]")
@click.option("--memory", metavar="SIZE", callback=memory_bytes, help="Memory to stay within.  [default: what is free]")
@click.option("--checkpoint", type=click.Path(path_type=Path), metavar="FILE",
              help="Save a long solve here every ten minutes, and resume from it.")  # fmt: skip
@json_option
def cantstop(as_json: bool, **wanted: Any) -> None:
    """Solve two-player Can't Stop with small dice, exactly.

    A position is OWN/OTHER, the player to move first: COLUMN:STEPS for each column entered, COLUMN:* for a column
    won, - for none; +COLUMN:STEPS,... adds the markers of the current turn. The game starts at -/-.

    Example: madn cantstop --sides 3 --shortest 2

    madn cantstop --db three --position 4:2/3:1+4:3 --roll 1123
    """
    if wanted["roll"] and not wanted["position"]:
        raise click.UsageError("--roll needs a --position")
    if wanted["db"] and (wanted["out"] or wanted["rule"] is not None):
        raise click.UsageError("--db answers from a database; --out and --rule need a solve")
    found = _from_database(wanted) if wanted["db"] else _solved(wanted, as_json)
    answer, rows = found
    if as_json:
        print_json(answer)
    else:
        click.echo(rows)


def _from_database(wanted: dict[str, Any]) -> tuple[dict[str, Any], str]:
    from madn.games.cantstop import open_database

    database = open_database(wanted["db"])
    for name in RULES:
        if wanted[name] not in (None, getattr(database.game, name)):
            option = name.replace("_", "-")
            raise RulesMismatchError(f"{wanted['db']} holds {database.game}, not --{option} {wanted[name]}")
    made = database.provenance
    fields = _facts(database.game, database.first_player, made.get("seconds"))
    rows = _rows(fields)
    return _with_position(database, wanted, fields, rows)


def _solved(wanted: dict[str, Any], as_json: bool) -> tuple[dict[str, Any], str]:
    from madn.games.cantstop import CantStop, Position, read_roll, solve, write_database
    from madn.games.cantstop.solver import check_memory

    game = CantStop(**{name: value if wanted[name] is None else wanted[name] for name, value in RULES.items()})
    if wanted["position"]:
        Position.parse(wanted["position"], game)
    if wanted["roll"]:
        read_roll(wanted["roll"], game)
    check_memory(game, 1 if wanted["rule"] is None else 2, wanted["memory"])
    if wanted["out"] is not None:
        _check_out(wanted["out"])
    if wanted["checkpoint"] is not None:
        check_output_file(wanted["checkpoint"], "--checkpoint")
    settings = {name: wanted[name] for name in ("threads", "method", "memory", "checkpoint")}
    with ProgressBar("solving") as bar:
        solution = solve(game, progress=bar, **settings)
    fields = _facts(game, solution.first_player, solution.seconds)
    fields |= {
        "iterations": solution.iterations,
        "most_iterations": solution.most_iterations,
        "passes": solution.passes,
        "method": solution.method,
        "threads": solution.threads,
    }
    rows = _rows(fields)
    rows.append(
        (
            "iterations",
            f"{solution.iterations / solution.components:.2f} a component, {solution.most_iterations} at most",
        )
    )
    rows.append(("method", f"{solution.method}, {plural(solution.threads, 'thread')}"))
    if wanted["out"] is not None:
        write_database(wanted["out"], solution)
        fields["out"] = wanted["out"]
        rows.append(("database", wanted["out"]))
    if wanted["rule"] is not None:
        with ProgressBar("the rule of 28") as bar:
            ruled = solve(game, rule=wanted["rule"], progress=bar, **{**settings, "checkpoint": None})
        fields["rule"] = _rule(solution, ruled)
        rows += _rule_rows(fields["rule"])
    return _with_position(solution, wanted, fields, rows)


def _check_out(out: str) -> None:
    from madn.store import check_writable

    if not out:
        raise click.BadParameter("the directory name is empty", param_hint="'--out'")
    check_writable(out)


def _facts(game: "CantStop", first_player: float, seconds: float | None) -> dict[str, Any]:
    return {
        "sides": game.sides,
        "shortest": game.shortest,
        "difference": game.difference,
        "to_win": game.to_win,
        "components": game.components,
        "positions": game.positions,
        "first_player": first_player,
        "seconds": seconds,
    }


def _rows(fields: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        ("game", cantstop_game(fields)),
        ("components", f"{fields['components']:,}"),
        ("positions", f"{fields['positions']:,}"),
        ("first player", f"{fields['first_player']:.10f}"),
        ("time", duration(fields["seconds"] or 0)),
    ]


def _rule(best: "Solution", ruled: "Solution") -> dict[str, Any]:
    """What the rule of 28 loses against best play, moving first and moving second."""
    from madn.games.cantstop.rule28 import chances

    first, second = chances(ruled)
    return {
        "points": ruled.rule,
        "first": first,
        "second": second,
        "loss_first": best.first_player - first,
        "loss_second": 1 - best.first_player - second,
    }


def _rule_rows(rule: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (
            f"rule of {rule['points']}",
            f"wins {percent(rule[who])} moving {who}, {percent(rule[f'loss_{who}'])} less than best play",
        )
        for who in ("first", "second")
    ]


def _with_position(
    source: "Solution | Database", wanted: dict[str, Any], fields: dict[str, Any], rows: list[tuple[str, str]]
) -> tuple[dict[str, Any], str]:
    """Add the answer for a position, if there is one to answer for."""
    text = columns(rows)
    if not wanted["position"]:
        return fields, text
    from madn.games.cantstop import Position, TurnAnswers, read_roll

    position = Position.parse(wanted["position"], source.game)
    component = TurnAnswers(source, position)
    answer = component.answer(position)
    fields["position"] = _position(answer)
    text += "\n\n" + columns(_position_rows(answer))
    if wanted["roll"]:
        roll = read_roll(wanted["roll"], source.game)
        options = component.moves(position, roll)
        fields["position"]["roll_dice"] = list(roll)
        fields["position"]["moves"] = [_move(option) for option in options]
        text += "\n\n" + _move_table(options)
    return fields, text


def _position(answer: "Answer") -> dict[str, Any]:
    return {
        "text": str(answer.position),
        "anchors": list(answer.anchors),
        "win": answer.win,
        "stop": answer.stop,
        "roll": answer.roll,
        "action": answer.action,
        "blocked": answer.position.blocked,
    }


def _position_rows(answer: "Answer") -> list[tuple[str, str]]:
    own, other = answer.anchors
    rows = [
        ("position", str(answer.position)),
        ("squares alone", f"{percent(own)} to move, {percent(other)} when it is the opponent's turn"),
    ]
    if any(answer.position.markers):
        blocked = ", ".join(f"column {c}" for c in answer.position.blocked)
        stop = f"not allowed: the opponent is there in {blocked}" if answer.stop is None else percent(answer.stop)
        rows += [("stop", stop), ("roll", percent(answer.roll)), ("better", answer.action)]
    return rows


def _move(option: "MoveValue") -> dict[str, Any]:
    move = option.move
    return {
        "pairing": list(move.pairing),
        "columns": list(move.columns),
        "position": str(move.position),
        "win": option.win,
    }


def _move_table(options: "list[MoveValue]") -> str:
    if not options:
        return "No pair can be played: the turn is lost."
    rows = [("+".join(map(str, o.move.pairing)), str(o.move), percent(o.win), str(o.move.position)) for o in options]
    return columns([("pairing", "moves in", "wins", "position after"), *rows], right=[2])
