"""Commands that need no database: `moves`, `rank`, `unrank`."""

import click

import madn
from madn.board import Board
from madn.cli.options import board_argument, roll_argument, rules_options
from madn.cli.output import columns, json_option, show
from madn.rules import Rules


@click.command()
@board_argument
@roll_argument
@rules_options
@json_option
def moves(board: str, roll: int, rules: Rules, as_json: bool) -> None:
    """List the legal moves of a board for a roll.

    A move is written as its start and end squares, in the mover's numbers: 12-17 moves a piece, b-0 takes one
    out of the box, 12x17 captures, and pass is a lost roll. The board after a move is shown as the next player
    to roll sees it: the same side after a 6, the other side otherwise.

    Example: madn moves 3,17/0 4 --pieces 2
    """
    position = Board.parse(board, rules)
    options = [(str(move), str(position.after(move, roll))) for move in position.legal_moves(roll)]
    listed = [{"move": move, "board": after} for move, after in options]
    table = columns([("move", "board after"), *options]) if options else "The game is over: there are no moves."
    show(as_json, {"board": board, "roll": roll, "moves": listed}, table)


@click.command()
@board_argument
@rules_options
@json_option
def rank(board: str, rules: Rules, as_json: bool) -> None:
    """Give the number of a position in the thesis' numbering.

    Example: madn rank 0/0 --pieces 2
    """
    _show_place(Board.parse(board, rules), as_json)


@click.command()
@click.argument("id", type=int)
@rules_options
@json_option
def unrank(id: int, rules: Rules, as_json: bool) -> None:
    """Give the position that has this number in the thesis' numbering.

    Example: madn unrank 1234 --pieces 2
    """
    _show_place(madn.unrank(id, rules), as_json)


def _show_place(board: Board, as_json: bool) -> None:
    """Print the place of a board in the numbering."""
    from madn._core import Game

    game = Game(board.rules)
    number = game.rank(*board.masks)
    profile = game.profile(number)
    offset = number - game.first(*profile)
    rows = [
        ("board", str(board)),
        ("ID", f"{number} of 0 to {game.positions - 1}"),
        ("profile", "{} out of the box, {} finished / {} out, {} finished".format(*profile)),
        ("offset", f"{offset} in its profile"),
    ]
    show(as_json, {"board": str(board), "id": number, "profile": profile, "offset": offset}, columns(rows))
