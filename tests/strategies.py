"""Hypothesis strategies for rules, boards and rolls, shared by all tests."""

from collections.abc import Iterator
from itertools import combinations

from hypothesis import settings
from hypothesis import strategies as st

from madn.board import Board
from madn.rules import HOUSE_RULES, MAX_PIECES, MAX_SQUARES, MIN_PIECES, MIN_SQUARES, Rules

# The same examples on every machine, and no failure because a machine was busy.
settings.register_profile("madn", deadline=None, derandomize=True)
settings.load_profile("madn")


def all_rules(max_pieces: int = MAX_PIECES, max_squares: int = MAX_SQUARES) -> list[Rules]:
    """Every game of at most this size."""
    return [
        Rules(pieces, squares)
        for pieces in range(MIN_PIECES, max_pieces + 1)
        for squares in range(MIN_SQUARES, max_squares + 1, 2)
    ]


def own_states(rules: Rules) -> Iterator[tuple[int, ...]]:
    """Every set of squares that one side can stand on."""
    for count in range(rules.pieces + 1):
        yield from combinations(range(rules.goal), count)


def all_boards(rules: Rules) -> Iterator[Board]:
    """Every position of a game, by brute force; for small games only."""
    S, home = rules.squares, tuple(range(rules.squares, rules.goal))
    for own in own_states(rules):
        blocked = {rules.opposite(square) for square in own if square < S}
        for other in own_states(rules):
            if blocked.isdisjoint(other) and not own == other == home:
                yield Board(own, other, rules)


rolls = st.integers(1, 6)


def rules(max_pieces: int = MAX_PIECES, max_squares: int = MAX_SQUARES) -> st.SearchStrategy[Rules]:
    """Any game of at most this size, with any house rules."""
    return st.builds(
        Rules,
        pieces=st.integers(MIN_PIECES, max_pieces),
        squares=st.integers(MIN_SQUARES // 2, max_squares // 2).map(lambda half: 2 * half),
        **dict.fromkeys(HOUSE_RULES, st.booleans()),
    )


@st.composite
def boards(draw: st.DrawFn, games: st.SearchStrategy[Rules] | Rules | None = None, finished: bool = True) -> Board:
    """Any position of a game drawn from `games`; without `finished`, only positions still being played."""
    if games is None:
        games = rules()
    game = games if isinstance(games, Rules) else draw(games)
    S, home = game.squares, set(range(game.squares, game.goal))

    def side(free: list[int], may_finish: bool) -> set[int]:
        squares = draw(st.sets(st.sampled_from(free), max_size=game.pieces))
        if squares == home and not may_finish:
            squares.remove(draw(st.sampled_from(sorted(squares))))
        return squares

    own = side(list(range(game.goal)), finished)
    blocked = {game.opposite(square) for square in own if square < S}
    other = side([q for q in range(game.goal) if q not in blocked], finished and own != home)
    return Board(tuple(own), tuple(other), game)
