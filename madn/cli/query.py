"""Commands that query a database: `info`, `win`, `best-move`, `analyse`."""

import textwrap
from typing import TYPE_CHECKING, Any

import click

import madn
from madn.board import Board
from madn.cli.asking import advisor_for, question_argument, source_fields, source_text, weakest
from madn.cli.options import database_argument, rules_options
from madn.cli.output import (
    cantstop_game,
    chance,
    columns,
    json_option,
    painted,
    percent,
    plus_minus,
    print_json,
    show,
    size,
)
from madn.errors import IllegalMoveError, RulesMismatchError
from madn.rules import Rules

if TYPE_CHECKING:
    from madn.database import Analysis, MoveValue, RollValue


@click.command()
@database_argument
@json_option
def info(db: str, as_json: bool) -> None:
    """Describe a database: what it contains and how it was made.

    Example: madn info two
    """
    try:
        with madn.open_database(db) as database:
            facts = {"game": "ludo", **database.info()}
        game = str(Rules(**facts["rules"]))
    except RulesMismatchError:  # Can't Stop is the other game with databases
        from madn.games.cantstop import open_database

        facts = open_database(db).info()
        game = f"Can't Stop: {cantstop_game(facts['rules'])}"
    rows = [("game", game)]
    rows += [(name, f"{facts[name]:,}") for name in ("components", "positions", "blocks") if name in facts]
    rows += [("size", size(facts["bytes"])), ("format", facts["format"]), ("values", facts["values"])]
    if facts["game"] == "ludo":
        rows += [("bits", f"{facts['bits_per_position']:.3f} per position"), *_measured(facts)]
        rows += [(name, f"{percent(board['win'])}  {board['board']}") for name, board in facts["boards"].items()]
    else:
        rows.append(("first player", f"{facts['first_player']:.10f}"))
    made = [(name, _short(value)) for name, value in facts["provenance"].items()]
    show(as_json, facts, f"{columns(rows)}\n\nHow it was made:\n{columns([row for row in made if row[1]])}")


def _measured(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """What was measured when the database was compressed."""
    rows = []
    if "bits_per_decision" in facts:
        rows.append(("decisions", f"{facts['decisions']:,}, {facts['bits_per_decision']:.3f} bits each"))
    if facts["max_error"]:
        rows.append(("largest error", f"{facts['max_error']:.2g}"))
    if isinstance(facts.get("max_loss"), float) and isinstance(facts.get("mean_loss"), float):
        rows.append(("largest loss", f"{facts['max_loss']:.2g}"))
        rows.append(("mean loss", f"{facts['mean_loss']:.2g}"))
    return rows


def _short(value: object) -> str:
    """A provenance value on one line; empty for a list, which only --json shows."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {part}" for name, part in value.items())
    if isinstance(value, list):
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@click.command()
@question_argument()
@rules_options
@json_option
def win(question: tuple[str | None, str], rules: Rules, as_json: bool) -> None:
    """Give the probability that the side to move wins.

    The probability is the one before the roll, with best play by both sides. Without DB, --pieces and the house
    rules choose the game. The answer then comes from a database in one of the usual places (see docs/query.md),
    from a part of the game that is solved in a few seconds and kept, or from an estimate, which is marked as such.

    Example: madn win 0/0
    """
    db, board = question
    with advisor_for(db, rules) as advisor:
        found = advisor.win(board)
        database = advisor.proved(board)
        bounds = {} if database is None else dict(zip(("lower", "upper"), database.bounds(board), strict=True))
        number = plus_minus(**bounds) if bounds else chance(found, found.exact)
        lines = [number, *([source_text(advisor, found, board)] if db is None else [])]
        answer = {"board": board, "win": float(found), **bounds, **source_fields(found, advisor.rules)}
        show(as_json, answer, "\n".join(lines))


@click.command("best-move")
@question_argument("ROLL")
@click.option("--why", is_flag=True, help="Explain how the best move differs from the second best.")
@click.option("--chosen", metavar="MOVE", help="With --why: compare the best move with this one.")
@click.option("--language", type=click.Choice(["en", "de"]), default="en", help="Language of --why.  [default: en]")
@rules_options
@json_option
def best_move(
    question: tuple[str | None, str, str], why: bool, chosen: str | None, language: str, rules: Rules, as_json: bool
) -> None:
    """Give the best move for a roll.

    All legal moves are listed, best first, each with the probability that the mover wins after it, and the
    board as the next player to roll sees it. A database of best moves has no probabilities. DB is optional, as
    for madn win. --why adds a sentence or two on how two moves differ: what the next roll can do, and by how
    many percentage points one is better.

    Example: madn best-move 0,5,10,15/0,3 4 --why
    """
    from madn.database import proved_best

    db, board, roll = question[0], question[1], int(question[2])
    if chosen is not None and not why:
        raise click.UsageError("--chosen needs --why")
    with advisor_for(db, rules) as advisor:
        moves = advisor.moves(board, roll)
        if not moves:
            raise IllegalMoveError(f"board '{board}': the game is over: there are no moves")
        best, least, listed = moves[0], weakest(moves), [_fields(move) for move in moves]
        rows = [(move.move, chance(move.win, move.exact), move.board) for move in moves]
        table = columns([("move", "wins", "board after"), *rows], right=[1])
        proved = proved_best(moves)
        words = {None: [], True: ["The best move is proved."], False: ["The best move is not proved."]}[proved]
        words += [source_text(advisor, least, board)] if db is None else []
        below = "\n\n" + "\n".join(words) if words else ""
        answer = {"board": board, "roll": roll, "move": str(best.move), "win": best.win}
        answer |= {"moves": listed} if proved is None else {"proved": proved, "moves": listed}
        if why:
            from madn.why import explain

            answer["why"] = explain(Board.parse(board, advisor.rules), roll, moves, chosen).sentences(language)
            below = f"\n\n{textwrap.fill(' '.join(answer['why']), 79, break_on_hyphens=False)}{below}"
        show(as_json, {**answer, **source_fields(least, advisor.rules)}, table + below)


@click.command()
@question_argument()
@rules_options
@json_option
def analyse(question: tuple[str | None, str], rules: Rules, as_json: bool) -> None:
    """Draw a board and show what every move for every roll is worth.

    The moves for a roll are listed best first, each with the probability that the mover wins after it. The drawing
    numbers the squares as the side to move does. DB is optional, as for madn win.

    Example: madn analyse 0/0
    """
    db, board = question
    with advisor_for(db, rules) as advisor:
        analysis = advisor.analyse(board)
        below = source_text(advisor, analysis, board) if db is None else ""
    if as_json:
        rolls = [
            {
                "roll": r.roll,
                "move": str(r.moves[0].move),
                "win": r.win,
                **_proved(r),
                "moves": list(map(_fields, r.moves)),
            }
            for r in analysis.rolls
        ]
        answer = {
            "board": board,
            "win": analysis.win,
            **_bounds(analysis),
            "tries": analysis.board.tries,
            "rolls": rolls,
        }
        print_json({**answer, **source_fields(analysis, analysis.board.rules)})
        return
    click.echo(painted(analysis.board.ascii()))
    if analysis.win is None:
        click.echo("\nThis database stores best moves, not winning probabilities.")
    else:
        proved = analysis.lower is not None and analysis.upper is not None
        number = plus_minus(**_bounds(analysis)) if proved else chance(analysis.win, analysis.exact)
        click.echo(f"\nRed wins {number} of the time.")
    if analysis.rolls:
        named = [(str(r.roll), r) for r in analysis.rolls]
        if analysis.board.tries > 1:
            named = [("no 6 in three rolls", analysis.rolls[0]), ("a 6 in three rolls", analysis.rolls[-1])]
        most = max(len(r.moves) for _, r in named)
        # Marked once, in the head: four moves with their numbers fill a line.
        heads = ("best move", "other moves") if analysis.exact else ("best (estimated)", "others (estimated)")
        rows = [("roll", heads[0], *[heads[1], "", "", "", ""][: most - 1])]
        rows += [(name, *(_worth(r.moves[n]) if n < len(r.moves) else "" for n in range(most))) for name, r in named]
        click.echo("\n" + columns(rows, right=[0]))
    if below:
        click.echo(f"\n{below}")


def _worth(move: "MoveValue") -> str:
    """A move and the probability that the mover wins after it."""
    return (
        str(move.move)
        if move.win is None
        else f"{move.move!s:5}  {chance(move.win, move.exact).removeprefix('about ')}"
    )


def _fields(move: "MoveValue") -> dict[str, Any]:
    return {"move": str(move.move), "win": move.win, **_bounds(move), "board": str(move.board), "exact": move.exact}


def _bounds(answer: "MoveValue | Analysis") -> dict[str, Any]:
    """The proved bounds of an answer, if it has any."""
    return {} if answer.lower is None else {"lower": answer.lower, "upper": answer.upper}


def _proved(roll: "RollValue") -> dict[str, Any]:
    """Whether the best move for a roll is proved to be best, if there are proved bounds."""
    return {} if roll.proved is None else {"proved": roll.proved}
