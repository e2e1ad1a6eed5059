"""What a rule of a player can look at: for a board and one of its legal moves, a number each.

Plain Python, slow and obviously right; `madn/_players.pxd` is the compiled twin. The order of `FEATURES` is that of the
numbers the compiled code knows them by.
"""

from collections.abc import Callable
from dataclasses import dataclass

from madn.board import Board, Move
from madn.rules import DIE


@dataclass(frozen=True, slots=True)
class Feature:
    """A number for a move; `prefer` keeps the moves where it is largest, `avoid` those where it is smallest."""

    name: str
    meaning: str
    of: Callable[[Board, Move], int]


def _capture(board: Board, move: Move) -> int:
    return int(move.captures)


def _loot(board: Board, move: Move) -> int:
    return board.rules.opposite(move.end) + 1 if move.captures and move.end is not None else 0


def _passing(board: Board, move: Move) -> int:
    start, end = _ends(move)
    return 0 if start < 0 else len(_foes(board) & set(range(start + 1, end)))


def _front(board: Board, move: Move) -> int:
    return _ends(move)[0]


def _home(board: Board, move: Move) -> int:
    start, end = _ends(move)
    return int(start < board.rules.squares <= end)


def _inside(board: Board, move: Move) -> int:
    return int(_ends(move)[0] >= board.rules.squares)


def _danger(board: Board, move: Move) -> int:
    return _threats(board, _ends(move)[1], _left(board, move))


def _rescue(board: Board, move: Move) -> int:
    start = _ends(move)[0]
    return 0 if start < 0 else _threats(board, start, board.other)


def _exposed(board: Board, move: Move) -> int:
    left = _left(board, move)
    return sum(_threats(board, square, left) > 0 for square in _after(board, move))


def _chase(board: Board, move: Move) -> int:
    end = _ends(move)[1]
    return len(_foes(board) & set(range(end + 1, min(end + DIE, board.rules.squares - 1) + 1)))


def _spread(board: Board, move: Move) -> int:
    main = [square for square in _after(board, move) if square < board.rules.squares]
    return max(main) - min(main) if main else 0


def _seeming_capture(board: Board, move: Move) -> int:
    S, end = board.rules.squares, _ends(move)[1]
    boxed = [-1] * (board.rules.pieces - len(board.other))
    return int(end < S and end in {(q + S // 2) % S for q in (*boxed, *board.other)})


def _seeming_passing(board: Board, move: Move) -> int:
    S, (start, end) = board.rules.squares, _ends(move)
    if start < 0:
        return 0
    first, last = (start + S // 2) % S, (end + S // 2) % S
    return int(any(first < q <= last for q in board.other))


def _spoils(board: Board, move: Move) -> int:
    end = _ends(move)[1]
    return 1 + _quarter(board, board.rules.opposite(end)) if move.captures else 0


def _escape(board: Board, move: Move) -> int:
    return _rescue(board, move) if _ends(move)[0] >= board.rules.squares // 2 else 0


def _targets(board: Board, move: Move) -> int:
    start, end = _ends(move)
    rules, again = board.rules, start < 0 or end - start == DIE
    near = _foes(board) & set(range(end + 1, end + DIE + 1))
    return (1 + again) * sum(_quarter(board, rules.opposite(square)) for square in near)


def _ahead(board: Board, move: Move) -> int:
    end = _ends(move)[1]
    return len(_foes(board) & set(range(end + DIE + 1, end + 2 * DIE + 1)))


def _crossing(board: Board, move: Move) -> int:
    start, end = _ends(move)
    return int(start < board.rules.squares // 2 <= end and len(_left(board, move)) < board.rules.pieces)


def _doorstep(board: Board, move: Move) -> int:
    last = range(board.rules.squares - 2, board.rules.squares)
    start, end = _ends(move)
    return (end in last) - (start in last)


FEATURES: dict[str, Feature] = {
    feature.name: feature
    for feature in (
        Feature("capture", "1 if the move captures", _capture),
        Feature("loot", "how far the captured piece had come (squares from its box), 0 without a capture", _loot),
        Feature("passing", "how many pieces of the other side the move jumps over", _passing),
        Feature("front", "the square the move starts from: `prefer front` moves the piece furthest along", _front),
        Feature("home", "1 if the move brings a piece into the finish zone", _home),
        Feature("inside", "1 if the piece stands in the finish zone already", _inside),
        Feature(
            "danger", "how many pieces of the other side could capture the moved piece with their next roll", _danger
        ),
        Feature("rescue", "how many could have captured it where it stood", _rescue),
        Feature("exposed", "how many own pieces could be captured with the next roll after the move", _exposed),
        Feature("chase", "how many pieces of the other side stand one to six squares in front after the move", _chase),
        Feature("spread", "squares between the first and the last own piece on the main field after the move", _spread),
        Feature(
            "seeming-capture",
            "1 if the move captures or seems to: half the board added, modulo the board, puts pieces in the box on the "
            "square before the other side's A-square, and finished ones on the squares from there on",
            _seeming_capture,
        ),
        Feature(
            "seeming-passing",
            "1 if a piece of the other side stands between start and end, or on the end, all in its numbers, modulo "
            "the board: never across its A-square, but beyond the way into the finish zone",
            _seeming_passing,
        ),
        Feature(
            "spoils", "0 without a capture, else 1 and the quarter of its way (1 to 4) the captured piece was in", _spoils
        ),
        Feature("escape", "as `rescue`, for a piece in the second half of its way, else 0", _escape),
        Feature(
            "targets",
            "for pieces of the other side one to six squares in front after the move, the quarters of their ways that "
            "they are in, added up; twice that after a 6",
            _targets,
        ),
        Feature("ahead", "how many pieces of the other side stand 7 to 12 squares in front after the move", _ahead),
        Feature(
            "crossing",
            "1 if the move comes to the other side's A-square or passes it while that side has pieces in the box",
            _crossing,
        ),
        Feature(
            "doorstep", "1 if the move ends on one of the last two main-field squares, -1 if it starts there", _doorstep
        ),
    )
}


def _ends(move: Move) -> tuple[int, int]:
    """Start and end as numbers; the box is -1. A lost turn is never compared with another move."""
    if move.end is None:
        raise ValueError("a lost turn has no features")
    return (-1 if move.start is None else move.start), move.end


def _foes(board: Board) -> set[int]:
    """The other side's pieces on the main field, in the mover's numbers."""
    return {board.rules.opposite(q) for q in board.other if q < board.rules.squares}


def _quarter(board: Board, square: int) -> int:
    """The quarter of its way, 1 to 4, that a piece on this main-field square of its own numbers is in."""
    return 4 * square // board.rules.squares + 1


def _left(board: Board, move: Move) -> tuple[int, ...]:
    """The squares of the other side after the move."""
    taken = board.rules.opposite(_ends(move)[1]) if move.captures else None
    return tuple(square for square in board.other if square != taken)


def _after(board: Board, move: Move) -> set[int]:
    """The squares of the mover after the move."""
    return set(board.own) - {move.start} | {_ends(move)[1]}


def _threats(board: Board, square: int, other: tuple[int, ...]) -> int:
    """How many pieces of the other side stand one to six squares behind; one more if it can enter on this square."""
    rules = board.rules
    if square >= rules.squares:
        return 0
    theirs = rules.opposite(square)
    entering = theirs == 0 and len(other) < rules.pieces
    return sum(theirs - DIE <= q < theirs for q in other) + entering
