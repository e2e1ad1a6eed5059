"""What a visitor to the page sees first: a position in which every roll leaves a choice."""

from madn.board import Board
from madn.rules import Rules

POSITIONS = {2: "12,29/13,35", 3: "4,16,31/0,15,28", 4: "5,17,33,41/0,16,29"}  # by the number of pieces


def opening(rules: Rules) -> Board:
    """The position shown first for a game; for other boards or numbers of pieces, the start position."""
    if rules.squares != Rules().squares or rules.pieces not in POSITIONS:
        return Board.start(rules)
    return Board.parse(POSITIONS[rules.pieces], rules)
