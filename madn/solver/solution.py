"""A solved game: its figures, and its values in the thesis' numbering."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from madn import _readout
from madn._core import Ranking
from madn.board import Board
from madn.rules import Rules
from madn.solver.components import HALF, Matrices
from madn.solver.plan import Plan
from madn.solver.sides import Side


class Place(NamedTuple):
    """A value in stored units and the pair of states that has it."""

    value: float
    row: int
    column: int
    column_moves: bool


class Found(NamedTuple):
    """What a reading pass found: six times the largest |V - T(V)|, the least and the largest value, minus one half."""

    residual: Place
    least: Place
    most: Place

    def merged(self, new: "Found") -> "Found":
        """The more extreme of both; the earlier one where they are equal."""
        return Found(
            new.residual if new.residual.value > self.residual.value else self.residual,
            new.least if new.least.value < self.least.value else self.least,
            new.most if new.most.value > self.most.value else self.most,
        )


@dataclass(frozen=True)
class Extremes:
    """The largest residual, the smallest and the largest value of a game, as probabilities, and where they are."""

    residual: float
    residual_board: Board
    min: float
    min_board: Board
    max: float
    max_board: Board

    @classmethod
    def of(cls, found: Found, unit: float, board_at: Callable[[Place], Board]) -> "Extremes":
        """Turn places of a component into boards."""
        return cls(
            found.residual.value / 6 / unit,
            board_at(found.residual),
            0.5 + found.least.value / unit,
            board_at(found.least),
            0.5 + found.most.value / unit,
            board_at(found.most),
        )

    def merged(self, new: "Extremes") -> "Extremes":
        """The more extreme of both; the earlier one where they are equal."""
        r = new if new.residual > self.residual else self
        low = new if new.min < self.min else self
        high = new if new.max > self.max else self
        return Extremes(r.residual, r.residual_board, low.min, low.min_board, high.max, high.max_board)


class Values(Protocol):
    """The value of every position, by ID."""

    def read(self, first: int, out: NDArray[Any]) -> None:
        """Fill `out` with the values of the IDs from `first` on."""


@dataclass(frozen=True)
class Solution:
    """A solved game. All probabilities are those of the side to move, before it rolls.

    `residual` is the largest |V - T(V)| over all positions, measured after the last sweep by a pass that only reads;
    T takes the mean over the rolls of the best successor. `sweeps` is the largest number any component needed.
    """

    plan: Plan
    sweeps: int
    sweeps_per_component: list[tuple[str, int]]
    updates: int
    seconds: float
    start: float
    extremes: Extremes
    values: Values

    @property
    def rules(self) -> Rules:
        """The rules of the game."""
        return self.plan.rules

    @property
    def representation(self) -> str:
        """How `read` gives values: 'fixed32' (0.5 + v / 2**29) or 'float64'."""
        return self.plan.representation

    @property
    def threads(self) -> int:
        """How many threads worked."""
        return self.plan.threads

    @property
    def residual(self) -> float:
        """The largest |V - T(V)| over all positions."""
        return self.extremes.residual

    @property
    def residual_board(self) -> Board:
        """The position with the largest residual."""
        return self.extremes.residual_board

    @property
    def min(self) -> float:
        """The smallest winning probability of an open position."""
        return self.extremes.min

    @property
    def min_board(self) -> Board:
        """A position that has it."""
        return self.extremes.min_board

    @property
    def max(self) -> float:
        """The largest winning probability of an open position."""
        return self.extremes.max

    @property
    def max_board(self) -> Board:
        """A position that has it."""
        return self.extremes.max_board

    def read(self, first: int, out: NDArray[Any]) -> None:
        """Fill `out` with the values of IDs first, first + 1, …: int32 for 'fixed32', probabilities for 'float64'."""
        self.values.read(first, out)


class MatrixValues:
    """Values kept as matrices, read in the thesis' numbering."""

    def __init__(
        self,
        rules: Rules,
        representation: str,
        sides: dict[int, Side],
        solved: dict[tuple[int, int], Matrices],
    ) -> None:
        self.rules, self.representation, self.sides, self.solved = rules, representation, sides, solved
        self.ranking = Ranking(rules.pieces, rules.squares)
        self.shift = 0.5 if representation == "float64" else 0.0
        self._orders: dict[tuple[int, int], NDArray[np.int32]] = {}
        self._zones = {
            k: sorted(
                (f for f in range(1 << rules.pieces) if f.bit_count() == k),
                key=lambda f: [f >> i & 1 for i in range(rules.pieces)],
            )
            for k in range(rules.pieces + 1)
        }

    def read(self, first: int, out: NDArray[Any]) -> None:
        """Fill `out` with the values of the IDs from `first` on."""
        filled = 0
        while filled < len(out):
            filled += self._read_zone(first + filled, out[filled:])

    def win(self, board: Board) -> float:
        """The winning probability of one position."""
        value = np.zeros(1, np.float64 if self.representation == "float64" else np.int32)
        self.read(self.ranking.rank(*board.masks), value)
        return float(value[0]) if self.representation == "float64" else 0.5 + float(value[0]) / 2**29

    def _read_zone(self, id: int, out: NDArray[Any]) -> int:
        """Fill as much of `out` as one pair of finish zones of one profile has from this ID on."""
        p1, f1, p2, f2 = self.ranking.profile(id)
        m1, m2 = p1 - f1, p2 - f2
        zones1, zones2 = self._zones[f1], self._zones[f2]
        size = self.rules.profile_size(p1, f1, p2, f2)
        per_pair = size // (len(zones1) * len(zones2))
        pair, skip = divmod(id - self.ranking.first(p1, f1, p2, f2), per_pair)
        own, other = zones1[pair // len(zones2)], zones2[pair % len(zones2)]
        out = out[: per_pair - skip]
        done = (1 << self.rules.pieces) - 1
        if own == done or other == done:
            half = HALF[self.representation]
            out[:] = self.shift + (half if own == done else -half)
            return len(out)
        rows, columns = self.sides[own], self.sides[other]
        row_order, column_order = self._order(own, m1), self._order(other, m2)
        here = self.solved.get((own, other))
        there = self.solved[other, own] if here is None else here
        from_column = np.full(rows.size, columns.size, np.int32) if here is None else here.first
        _readout.copy_rows(
            there.L,
            there.start,
            from_column,
            there.R,
            there.start,
            rows.turned,
            row_order,
            columns.masks,
            column_order,
            per_pair // len(row_order),
            skip,
            out,
            self.shift,
        )
        return len(out)

    def _order(self, finish: int, pieces: int) -> NDArray[np.int32]:
        """The states of a side with so many pieces on the main field, by the rank of their combination."""
        key = finish, pieces
        if key not in self._orders:
            side, S = self.sides[finish], self.rules.squares
            count = np.bitwise_count(side.masks)
            states = np.flatnonzero(count == pieces)
            mirrored = np.zeros(len(states), np.uint64)  # square s is position S-1-s of the string
            for q in range(S):
                mirrored |= (side.masks[states] >> np.uint64(q) & np.uint64(1)) << np.uint64(S - 1 - q)
            self._orders[key] = states[np.argsort(mirrored)].astype(np.int32)
        return self._orders[key]
