"""`madn analyse-game`: what each roll and each move of a recorded game was worth."""

from dataclasses import asdict

import click

from madn.cli.asking import player_source
from madn.cli.options import database_option
from madn.cli.output import chance, columns, json_option, percent, print_json


@click.command("analyse-game")
@click.argument("file", type=click.Path())
@database_option
@json_option
def analyse_game(file: str, db: str | None, as_json: bool) -> None:
    """Show what each move of a recorded game cost, and how lucky each roll was.

    FILE is a game record saved by madn play. Luck is how much a roll, followed by its best move, changed the
    mover's chance of winning; cost is how much better the best move would have been than the one played. Without
    a database of the game these are estimates until the endgame.

    Example: madn analyse-game game.txt
    """
    from madn.record import read_record
    from madn.review import analyse_game

    record = read_record(file)
    with player_source(db, record.rules) as source:
        review = analyse_game(record, source)
    sides = {name: getattr(review, name) for name in ("first", "second")}
    if as_json:
        moves = [asdict(m) | {"move": str(m.move), "best": str(m.best), "after": m.after} for m in review.moves]
        sums = {name: asdict(side) for name, side in sides.items()}
        head = {"rules": asdict(record.rules), "result": record.result, "start": review.start, "end": review.end}
        print_json({**head, "moves": moves, **sums})
        return
    rows: list[tuple[object, ...]] = [("move", "by", "roll", "played", "best", "before", "luck", "cost")]
    for m in review.moves:
        best, cost = (m.best, percent(m.cost)) if m.cost else ("", "")
        rows.append((m.number, m.mover, m.roll, m.move, best, chance(m.before, m.exact), signed(m.luck), cost))
    click.echo(f"{record.rules}: {record.first} against {record.second}, {record.result}\n")
    click.echo(columns(rows, right=[0, 2, 5, 6, 7]) + "\n")
    rows = [("", "name", "luck", "cost", "choices", "errors")]
    rows += [(who, s.name[:40], signed(s.luck), percent(s.cost), s.choices, s.errors) for who, s in sides.items()]
    click.echo(columns(rows, right=[2, 3, 4, 5]))
    chances = f"{percent(review.start)} at the start, {percent(review.end)} at the end"
    click.echo(f"\nThe first player's chance of winning: {chances}.")
    if not all(m.exact for m in review.moves):
        click.echo("Numbers marked 'about' are estimates; sums with them do not quite add up.")


def signed(change: float) -> str:
    """A change of a probability with its sign."""
    return f"{100 * change:+.4f} %"
