"""The game solved from its definition with `Board` alone: the readable twin of the compiled solver."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import TypeVar

import numpy as np

from madn import Board, Rules
from madn._core import Game

Number = TypeVar("Number", float, Fraction)
Roll = tuple[int, list[tuple[int, bool]]]  # how often it comes up, and where it leads: (ID, same side rolls again)
Choices = list[Roll]


@cache
def positions(rules: Rules) -> tuple[list[Board], list[Choices]]:
    """All boards by ID, and where each roll can lead (nowhere when the game is over)."""
    game = Game(rules)
    boards = [Board.from_masks(*game.unrank(i), rules) for i in range(game.positions)]
    choices = []
    for board in boards:
        rolls = []
        for roll, weight in enumerate(board.roll_weights(), 1):
            moves = board.legal_moves(roll)
            rolls.append((weight, [(game.rank(*board.after(move, roll).masks), roll == 6) for move in moves]))
        choices.append(rolls if board.winner is None else [])
    return boards, choices


def backup(values: Sequence[Number], choices: Choices) -> Number:
    """T(V) of one position: the mean over the rolls of the best choice."""
    best = [weight * max(values[i] if again else 1 - values[i] for i, again in roll) for weight, roll in choices]
    return sum(best[1:], best[0]) / sum(weight for weight, _ in choices)


@cache
def solve(rules: Rules, tolerance: float = 1e-15, sweeps: int = 2000) -> list[float]:
    """Plain value iteration, in place."""
    boards, choices = positions(rules)
    values = [0.5 if b.winner is None else float(b.winner == "own") for b in boards]
    for _ in range(sweeps):
        change = 0.0
        for i, rolls in enumerate(choices):
            if rolls:
                new = backup(values, rolls)
                change = max(change, abs(new - values[i]))
                values[i] = new
        if change <= tolerance:
            return values
    raise AssertionError(f"no convergence in {sweeps} sweeps")


def best_replies(rules: Rules, near: Sequence[float]) -> tuple[list[int], list[list[tuple[int, int, bool]]]]:
    """The open positions, and for each the best choice of every roll by approximate values, with the roll's weight."""
    _, choices = positions(rules)
    still_open = [i for i, rolls in enumerate(choices) if rolls]
    best = [
        [(weight, *max(roll, key=lambda c: near[c[0]] if c[1] else 1 - near[c[0]])) for weight, roll in choices[i]]
        for i in still_open
    ]
    return still_open, best


def linear_system(
    rules: Rules, near: Sequence[float], number: Callable[[int], Number]
) -> tuple[list[int], list[list[Number]]]:
    """Rows of total V = weighted sum of the chosen successors, the constant last, for the best moves by near values."""
    boards, _ = positions(rules)
    still_open, best = best_replies(rules, near)
    place = {i: k for k, i in enumerate(still_open)}
    rows = []
    for i, replies in zip(still_open, best, strict=True):
        row = [number(0)] * (len(still_open) + 1)
        row[place[i]] += sum(weight for weight, _, _ in replies)
        for weight, j, again in replies:
            sign = weight if again else -weight
            row[-1] += 0 if again else weight
            if j in place:
                row[place[j]] -= sign
            elif boards[j].winner == "own":
                row[-1] += sign
        rows.append(row)
    return still_open, rows


def evaluate(rules: Rules, near: Sequence[float]) -> list[float]:
    """The values under the moves that are best by approximate values: a linear system, solved directly."""
    still_open, rows = linear_system(rules, near, float)
    system = np.array(rows)
    values = [float(board.winner == "own") for board in positions(rules)[0]]
    for i, value in zip(still_open, np.linalg.solve(system[:, :-1], system[:, -1]), strict=True):
        values[i] = float(value)
    return values


def exact(rules: Rules) -> list[Fraction]:
    """The values as fractions: the best moves of an approximate solution, their linear system, and the proof.

    Solves V = T(V) exactly for the fixed choice of moves, then checks that no other move is better: then V is the
    fixed point of T itself, and there is only one.
    """
    boards, choices = positions(rules)
    values = [Fraction(b.winner == "own") for b in boards]
    still_open, rows = linear_system(rules, solve(rules), Fraction)
    for i, value in zip(still_open, eliminate(rows), strict=True):
        values[i] = value
    for i in still_open:
        if backup(values, choices[i]) != values[i]:
            raise ValueError(f"the moves at {boards[i]} are not the best")
    return values


def eliminate(rows: list[list[Fraction]]) -> list[Fraction]:
    """Gauss-Jordan on an augmented matrix."""
    n = len(rows)
    for k in range(n):
        pivot = next(i for i in range(k, n) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        scale = rows[k][k]
        rows[k] = [x / scale if x else x for x in rows[k]]
        for i in range(n):
            if i != k and rows[i][k]:
                factor = rows[i][k]
                rows[i] = [x - factor * y if y else x for x, y in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]
