"""The prediction of `madn.store._blocks` in plain numpy: slow and obviously right."""

from collections.abc import Iterator
from math import comb
from typing import Any

from numpy.typing import NDArray

from madn.store.blocks import ProfileSlice


def subtract(x: NDArray[Any], where: ProfileSlice) -> None:
    """Replace the values of a block, unsigned integers, by what is left when each is predicted."""
    for pairs in _passes(where, len(x)):
        for start, end, lag in reversed(pairs):
            x[start:end] -= x[start - lag : end - lag]


def add(x: NDArray[Any], where: ProfileSlice) -> None:
    """Undo `subtract`."""
    for pairs in reversed(_passes(where, len(x))):
        for start, end, lag in pairs:
            x[start:end] += x[start - lag : end - lag]


def _passes(where: ProfileSlice, count: int) -> list[list[tuple[int, int, int]]]:
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
