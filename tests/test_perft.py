"""Counts of move sequences guard the rules: the plain and the compiled move generator run the same table.

perft(n) is the number of different ways to play n plies: every roll and every legal move counts once, a lost
turn is a ply, a finished game goes no further. The numbers were first computed by a third program, written
from the thesis' section 2.1 alone on a board of absolute squares.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator

import pytest

from madn import Board, Rules
from madn._core import Game

Successors = Callable[[Hashable], Iterable[tuple[int, str, Hashable]]]
"""All (roll, move, next position) of a position; empty for a finished game."""

TABLE = [
    (Rules(1), "0/0", [6, 36, 216, 1296, 7776, 46656, 279936, 1679610, 10077276, 60458532, 362663646]),
    (Rules(2), "0/0", [6, 36, 221, 1482, 10408, 79726, 637127]),
    (Rules(3), "0/0", [6, 36, 216, 1296, 7981, 51796, 352437]),
    (Rules(4), "0/0", [6, 36, 216, 1296, 7981, 51426, 342972]),
    (Rules(2, 8), "0/0", [6, 36, 219, 1435, 9278, 62681, 415035, 2784721]),
    (Rules(3, 10), "0/0", [6, 36, 216, 1296, 7960, 50770, 330641]),
    (Rules(4, 8), "0/0", [6, 36, 216, 1296, 7944, 50230, 320290]),
    (Rules(4), "0,6,38,41/0,13,33,42", [17, 322, 5278, 94494]),
    (Rules(4), "36,38,39,41/b", [11, 68, 595, 3872, 28709, 186236]),
    (Rules(3), "2,35,42/14,38", [12, 118, 1235, 11276]),
    (Rules(4, 8), "1,3,6,9/0,3,6,10", [14, 162, 1851, 20175]),
    (Rules(6, 12), "0,5,11,14/0,3,13", [7, 58, 706, 8308]),
    (Rules(5, 8), "0/0", [6, 36, 216, 1296, 7944, 50215, 321937]),
    (Rules(5, 8), "1,3,6,9,11/0,3,6,10", [15, 119, 1288, 13909]),
    (Rules(5), "0,6,38,41,44/0,13,33,42", [17, 114, 1729, 30006]),
    (Rules(6, 8), "0/0", [6, 36, 216, 1296, 7945, 50268]),
    (Rules(6, 8), "1,5,7,9,12,13/2,4,8", [13, 169, 1900, 21505]),
    (Rules.house(4), "b/b", [6, 36, 216, 1296, 7776, 46861, 284706, 1747777]),
    (Rules.house(2), "b/b", [6, 36, 216, 1301, 7962, 49413, 317131, 2092042]),
    (Rules.house(3, 10), "b/b", [6, 36, 216, 1296, 7776, 46856, 284763, 1746271]),
    (Rules(2, 8, must_capture=True), "0/0", [6, 36, 219, 1414, 9052, 60188, 393046]),
    (Rules(3, 10, no_jumping=True), "0,9,10/3,7,11", [8, 75, 598, 4875, 37375]),
    (Rules(4, no_jumping=True), "36,38,39,41/b", [9, 57, 440, 2913, 20806, 139124]),
    (Rules(4, must_capture=True), "2,17,23,40/1,7,38", [16, 214, 3194, 40818]),
    (Rules(4, 8, no_jumping=True, must_capture=True), "1,3,6,9/0,3,6,10", [10, 73, 553, 4408]),
]


def plain_successors(board: Hashable) -> Iterator[tuple[int, str, Hashable]]:
    assert isinstance(board, Board)
    for roll in range(1, 7):
        for move in board.legal_moves(roll):
            yield roll, str(move), board.after(move, roll)


def compiled_successors(rules: Rules) -> Successors:
    """The same from own-side moves: the other side only matters for captures and for the turn."""
    S, P, half = rules.squares, rules.pieces, rules.squares // 2
    home = (1 << P) - 1
    game = Game(rules)

    def successors(position: Hashable) -> Iterator[tuple[int, str, Hashable]]:
        assert isinstance(position, tuple)
        own, other = position
        if own >> S == home or other >> S == home:
            return
        for roll in range(1, 7):
            moves = game.own_moves(own, roll, other)
            for after, start, end in moves:
                left = other if end >= S else other & ~(1 << (end + half) % S)
                name = f"{'b' if start < 0 else start}{'-' if left == other else 'x'}{end}"
                yield roll, name, (after, left) if roll == 6 else (left, after)
            if not moves:
                yield roll, "pass", (own, other) if roll == 6 else (other, own)

    return successors


def perft(position: Hashable, plies: int, successors: Successors) -> list[int]:
    """Count the ways to play 0, 1, ... `plies` plies; equal positions are carried on together."""
    positions = Counter({position: 1})
    counts = [1]
    for _ in range(plies):
        following: Counter[Hashable] = Counter()
        for here, ways in positions.items():
            for _, _, there in successors(here):
                following[there] += ways
        positions = following
        counts.append(positions.total())
    return counts


def split(position: Hashable, plies: int, successors: Successors) -> str:
    """One line for each roll and move: how many ways go on below it. Two of these, compared, show a fault."""
    return "\n".join(
        f"  {roll} {move}: {perft(there, plies - 1, successors)[-1]}" for roll, move, there in successors(position)
    )


def check(text: str, counts: list[int], position: Hashable, successors: Successors) -> None:
    found = perft(position, len(counts), successors)
    for plies, expected in enumerate(counts, start=1):
        if found[plies] != expected:
            below = split(position, plies, successors)
            pytest.fail(f"perft({plies}) of {text} is {found[plies]}, not {expected}; by roll and move:\n{below}")


@pytest.mark.parametrize(("rules", "text", "counts"), TABLE)
def test_plain(rules: Rules, text: str, counts: list[int]) -> None:
    check(text, counts, Board.parse(text, rules), plain_successors)


@pytest.mark.parametrize(("rules", "text", "counts"), TABLE)
def test_compiled(rules: Rules, text: str, counts: list[int]) -> None:
    check(text, counts, Board.parse(text, rules).masks, compiled_successors(rules))


@pytest.mark.parametrize(("rules", "text", "counts"), TABLE)
def test_plain_and_compiled_split_alike(rules: Rules, text: str, counts: list[int]) -> None:
    board = Board.parse(text, rules)
    plies = min(len(counts), 3)
    assert split(board, plies, plain_successors) == split(board.masks, plies, compiled_successors(rules))


def test_a_wrong_rule_is_found_and_shown() -> None:
    def no_second_turn(board: Hashable) -> Iterator[tuple[int, str, Hashable]]:
        for roll, move, there in plain_successors(board):
            assert isinstance(there, Board)
            yield roll, move, Board(there.other, there.own, there.rules) if roll == 6 else there

    with pytest.raises(pytest.fail.Exception) as caught:
        check("0/0", TABLE[1][2], Board.start(Rules(2)), no_second_turn)
    assert str(caught.value).startswith("perft(3) of 0/0 is 216, not 221; by roll and move:\n  1 0-1: 36\n")
