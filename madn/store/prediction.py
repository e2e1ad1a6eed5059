"""Predicting a value from the same board with one piece a square further on.

Inside a profile the arrangements of the other side's main squares come one after the other (a row), and rows
follow each other by the rank of the own main squares. In the string of a combination (docs/format.md) piece 1
has the lowest place and moves fastest. Where piece j stands on place q, the C(q, j - 1) arrangements of the
pieces below it are neighbours: a chunk. The first C(q - 1, j - 1) of them leave place q - 1 free, and the
chunk before is exactly these with piece j on q - 1. So one subtraction of arrays predicts a chunk from it.

Done for each piece of both sides this leaves only what depends on all of them together, which is small.
This is the plain version; `madn.store._blocks` does the same, compiled.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb
from typing import Any

from numpy.typing import NDArray

from madn.rules import Rules


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a block lies in its profile: main squares, pieces on them, the rank of its first value."""

    squares: int
    own: int
    other: int
    first: int


def layout(rules: Rules, profile: tuple[int, int, int, int], first_rank: int) -> Layout:
    """The layout of the block of a profile that begins at a rank."""
    p1, f1, p2, f2 = profile
    return Layout(rules.squares, p1 - f1, p2 - f2, first_rank)


def subtract(x: NDArray[Any], where: Layout) -> None:
    """Replace the values of a block, unsigned integers, by what is left when each is predicted."""
    for pairs in _passes(where, len(x)):
        for start, end, lag in reversed(pairs):
            x[start:end] -= x[start - lag : end - lag]


def add(x: NDArray[Any], where: Layout) -> None:
    """Undo `subtract`."""
    for pairs in reversed(_passes(where, len(x))):
        for start, end, lag in pairs:
            x[start:end] += x[start - lag : end - lag]


def _passes(where: Layout, count: int) -> list[list[tuple[int, int, int]]]:
    """For each piece: all (start, end, lag) with x[start:end] predicted from `lag` before, ascending."""
    first, end = where.first, where.first + count
    row = comb(where.squares - where.own, where.other)
    table = row * comb(where.squares, where.own)
    passes = []
    for squares, pieces, period, unit in (
        (where.squares - where.own, where.other, row, 1),
        (where.squares, where.own, table, row),
    ):
        for piece in range(1, pieces + 1):
            found = []
            for base in range(first - first % period, end, period):
                for chunk, length in _chunks(squares, pieces, piece):
                    start, lag = base + chunk * unit, length * unit
                    inside = max(start, first + lag), min(start + lag, end)
                    if inside[0] < inside[1]:
                        found.append((inside[0] - first, inside[1] - first, lag))
            passes.append(found)
    return passes


def _chunks(squares: int, pieces: int, piece: int, base: int = 0) -> Iterator[tuple[int, int]]:
    """The chunks of a piece that have one before them: first rank, and how many of it are predicted."""
    for q in range(pieces - 1, squares):
        start = base + comb(q, pieces)
        if pieces > piece:
            yield from _chunks(q, pieces - 1, piece, start)
        elif q >= piece:
            yield start, comb(q - 1, piece - 1)
