"""The estimator in plain Python: what a network sees of a position, and what it makes of it, in whole numbers."""

from collections.abc import Iterator, Mapping
from typing import Any

from madn import Board, Rules

ONE = 1 << 13


def parts_of_the_board(rules: Rules, stretch: int) -> int:
    return -(-rules.squares // stretch)


def rows_of(board: Board, distances: int, stretch: int) -> Iterator[tuple[str, bool, tuple[int, ...]]]:
    """The rows that a board adds up: their kind, whether they belong to the mover, and which of the kind."""
    rules = board.rules
    S = rules.squares
    for mover, side, foes in ((True, board.own, board.other), (False, board.other, board.own)):
        zone = sum(1 << (square - S) for square in side if square >= S)
        boxed, foes_boxed = rules.pieces - len(side), rules.pieces - len(foes)
        yield "zone", mover, (int(rules.no_jumping), zone)
        yield "box", mover, (int(rules.three_rolls), boxed)
        if foes_boxed and S // 2 in side:
            yield "entered", mover, (foes_boxed - 1,)
        for square in side:
            if square < S:
                yield "square", mover, (square,)
                for foe in foes:
                    distance = rules.opposite(foe) - square if foe < S else 0
                    if 0 < distance <= distances:
                        yield "attack", mover, (distance - 1, foe // stretch)
                        if rules.must_capture:
                            yield "duty", mover, (distance - 1,)
    yield "rules", True, (rules.three_rolls + 2 * rules.no_jumping + 4 * rules.must_capture,)


def row_numbers(board: Board, distances: int, stretch: int) -> list[int]:
    """The same as numbers of rows, sorted."""
    rules = board.rules
    P, parts = rules.pieces, parts_of_the_board(rules, stretch)
    sizes = {
        "square": (rules.squares,),
        "zone": (2, 1 << P),
        "box": (2, P + 1),
        "entered": (P,),
        "attack": (distances, parts),
        "duty": (distances,),
        "rules": (8,),
    }
    first, start = 0, {}
    for kind, size in sizes.items():
        whole = size[0] * (size[1] if len(size) > 1 else 1)
        for mover in (True, False):
            start[kind, mover] = first
            first += whole
    found = []
    for kind, mover, place in rows_of(board, distances, stretch):
        width = sizes[kind][1] if len(place) > 1 else 1
        found.append(start[kind, mover] + place[0] * width + (place[1] if len(place) > 1 else 0))
    return sorted(found)


def win(board: Board, distances: int, stretch: int, second_bits: int, arrays: Mapping[str, Any]) -> float:
    """The mover's chance."""
    if board.winner is not None:
        return 1.0 if board.winner == "own" else 0.0
    lists = {name: array.tolist() for name, array in arrays.items()}
    S = board.rules.squares
    home = [sum(square >= S for square in side) for side in (board.own, board.other)]
    bucket = home[0] * board.rules.pieces + home[1]
    units = list(lists["first_bias"])
    for row in row_numbers(board, distances, stretch):
        units = [unit + number for unit, number in zip(units, lists["rows"][row], strict=True)]
    units = [min(max(unit, 0), ONE) for unit in units]
    odds = lists["last_bias"][bucket]
    for j, bias in enumerate(lists["second_bias"][bucket]):
        total = bias + sum(unit * row[j] for unit, row in zip(units, lists["second"][bucket], strict=True))
        odds += min(max(total, 0) >> second_bits, ONE) * lists["last"][bucket][j]
    odds = min(max(odds, -(16 << 29)), 16 << 29) + (16 << 29)
    place, part = odds >> 23, odds & ((1 << 23) - 1)
    low, high = lists["curve"][place : place + 2]
    return float((low + ((high - low) * part >> 23)) / (1 << 31))
