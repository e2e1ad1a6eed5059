"""What a player's rules can look at: each feature is a number for a board and one of its legal moves.

Plain Python, slow and obviously right; `madn/_players.pxd` is the compiled twin, which numbers the features in the
order of `FEATURES`.
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


def _safety(board: Board, move: Move) -> int:
    start, end = _ends(move)
    before, after = _risk(board, start, board.other), _risk(board, end, _left(board, move))
    return (1 if _rolled_six(move) else 2) * (3 if _boxed(board) else 1) * (before - after)


def _pursuers(board: Board, move: Move) -> int:
    end, left = _ends(move)[1], _left(board, move)
    theirs = board.rules.opposite(end)
    far = sum(theirs - 2 * DIE <= q < theirs - DIE for q in left) if end < board.rules.squares else 0
    return 3 * _threats(board, end, left) + far


def _targets(board: Board, move: Move) -> int:
    return (3 if _rolled_six(move) else 1) * _chase(board, move)


def _quarry(board: Board, move: Move) -> int:
    return len(_foes(board) & set(range(_ends(move)[1] + 1, board.rules.squares // 2)))


def _between(board: Board, move: Move) -> int:
    return 2 * _quarry(board, move) + (2 if _boxed(board) else 1) * _started(board, _ends(move)[1])


def _stay(board: Board, move: Move) -> int:
    start, end = _ends(move)
    rules, foes = board.rules, _foes(board)
    if start >= rules.squares:
        return int(_boxed(board))
    late = sum(q >= rules.squares for q in board.other) >= rules.pieces - 1
    leaving = start < rules.squares // 2 and any(foe < start for foe in foes)
    return int(late and (leaving or _started(board, end) > 0))


def _square(board: Board, move: Move) -> int:
    start, end = _ends(move)
    half, goal = board.rules.squares // 2, board.rules.squares
    points = 4 * (goal - 2 <= start < goal) - 4 * (goal - 2 <= end < goal) - 6 * (start == 0)
    if len(board.other) < board.rules.pieces:
        points += (half - DIE <= end < half) - 7 * (half <= end <= half + DIE and end < goal) + 7 * (start == half)
    return points


FEATURES: dict[str, Feature] = {
    feature.name: feature
    for feature in (
        Feature("capture", "1 if the move captures", _capture),
        Feature("loot", "how many squares the captured piece had come from its box, 0 without a capture", _loot),
        Feature("passing", "how many pieces of the other side the move jumps over", _passing),
        Feature("front", "the square the move starts from: `prefer front` moves the piece furthest along", _front),
        Feature("home", "1 if the move brings a piece into the finish zone", _home),
        Feature("inside", "1 if the piece is already in the finish zone", _inside),
        Feature(
            "danger", "how many pieces of the other side could capture the moved piece with their next roll", _danger
        ),
        Feature("rescue", "how many could have captured it where it stood", _rescue),
        Feature("exposed", "how many own pieces could be captured with the next roll after the move", _exposed),
        Feature("chase", "how many pieces of the other side stand one to six squares ahead after the move", _chase),
        Feature("spread", "squares between the first and the last own piece on the main field after the move", _spread),
        Feature(
            "seeming-capture",
            "1 if the move captures, or seems to when half the board is added to every square modulo the board: that "
            "puts pieces in the box on the square before the other side's A-square, and finished ones on that A-square "
            "and the squares after it",
            _seeming_capture,
        ),
        Feature(
            "seeming-passing",
            "1 if a piece of the other side stands between start and end, or on the end, all in that side's numbers "
            "modulo the board: moves across its A-square never count, but squares past the entrance to the finish zone "
            "do",
            _seeming_passing,
        ),
        Feature(
            "spoils",
            "0 without a capture, else 1 plus the quarter of its way (1 to 4) that the captured piece was in",
            _spoils,
        ),
        Feature(
            "safety",
            "how many pieces of the other side could capture the piece where it stood, times 1, 2 or 3 (1 on the first "
            "15 of 40 squares, 2 on the next 15), less the same where it lands; only with a 1 to 5 while that side's 6 "
            "must bring a piece out of the box; doubled unless a 6 was rolled; tripled while the mover has pieces in "
            "the box",
            _safety,
        ),
        Feature(
            "pursuers",
            "3 for each piece of the other side that could capture the moved piece with one roll, 1 for each that "
            "stands 7 to 12 squares behind it",
            _pursuers,
        ),
        Feature("targets", "as `chase`, tripled after a 6, which rolls again", _targets),
        Feature(
            "quarry",
            "how many pieces of the other side stand between the moved piece and the other side's A-square, on their "
            "way home",
            _quarry,
        ),
        Feature(
            "between",
            "2 for each piece of the other side between the moved piece and the other side's A-square; for each one on "
            "or past that A-square but behind the moved piece, 2 while the mover has pieces in the box, else 1",
            _between,
        ),
        Feature(
            "stay",
            "1 if the piece is already in the finish zone while the mover has pieces in the box; also if the other "
            "side has at most one piece left outside its finish zone, and the move leaves a square in front of that "
            "piece in the first half of the way, or lands in front of it in the second half",
            _stay,
        ),
        Feature(
            "square",
            "-6 for leaving one's own A-square; -4 for ending on one of the last two squares before the finish zone, 4 "
            "for leaving one of them; and while the other side has pieces in the box, 1 for ending on one of the six "
            "squares before its A-square, -7 for ending on that A-square or one of the six after it, 7 for leaving "
            "that A-square",
            _square,
        ),
    )
}


def _ends(move: Move) -> tuple[int, int]:
    """Start and end as numbers; the box is -1. A lost roll is never compared with another move."""
    if move.end is None:
        raise ValueError("a lost roll has no features")
    return (-1 if move.start is None else move.start), move.end


def _foes(board: Board) -> set[int]:
    """The other side's pieces on the main field, in the mover's numbers."""
    return {board.rules.opposite(q) for q in board.other if q < board.rules.squares}


def _quarter(board: Board, square: int) -> int:
    """The quarter of its way, 1 to 4, that a piece on this main-field square of its own numbers is in."""
    return 4 * square // board.rules.squares + 1


def _stretch(board: Board, square: int) -> int:
    """How far a piece on this main-field square has come, 1 to 3: parts of 15, 15 and 10 squares out of 40."""
    return 1 + (8 * square >= 3 * board.rules.squares) + (4 * square >= 3 * board.rules.squares)


def _boxed(board: Board) -> bool:
    """Whether the mover has pieces in the box."""
    return len(board.own) < board.rules.pieces


def _started(board: Board, end: int) -> int:
    """How many of the other side's pieces stand behind a main-field square and on or past their own A-square."""
    half, goal = board.rules.squares // 2, board.rules.squares
    return sum(half <= foe < end for foe in _foes(board)) if end < goal else 0


def _rolled_six(move: Move) -> bool:
    start, end = _ends(move)
    return start < 0 or end - start == DIE


def _risk(board: Board, square: int, other: tuple[int, ...]) -> int:
    """How many pieces could legally capture on a square with one roll, times the stretch that a piece there is on."""
    rules = board.rules
    if not 0 <= square < rules.squares:
        return 0
    theirs, boxed = rules.opposite(square), len(other) < rules.pieces
    reach = DIE - 1 if boxed else DIE  # a 6 must bring a piece out of the box
    entering = boxed and theirs == 0 and 0 not in other
    return _stretch(board, square) * (sum(theirs - reach <= q < theirs for q in other) + entering)


def _left(board: Board, move: Move) -> tuple[int, ...]:
    """The squares of the other side after the move."""
    taken = board.rules.opposite(_ends(move)[1]) if move.captures else None
    return tuple(square for square in board.other if square != taken)


def _after(board: Board, move: Move) -> set[int]:
    """The squares of the mover after the move."""
    return set(board.own) - {move.start} | {_ends(move)[1]}


def _threats(board: Board, square: int, other: tuple[int, ...]) -> int:
    """How many pieces of the other side stand one to six squares behind, plus 1 if one can enter on this square."""
    rules = board.rules
    if square >= rules.squares:
        return 0
    theirs = rules.opposite(square)
    entering = theirs == 0 and len(other) < rules.pieces
    return sum(theirs - DIE <= q < theirs for q in other) + entering
