"""The states of one side that share a finish zone, in the order the sweeps visit them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from madn._core import Game
from madn.rules import DIE, Rules, Turn

TERMINAL = -1  # the exit to "all pieces finished"


@dataclass(frozen=True)
class Side:
    """All states whose finish squares are exactly `finish` (bit i for finish square i), fewest pips first.

    Pips are what is left to walk: `squares - q` for a piece on main-field square q, `squares + 1` for a boxed one.
    Every move that stays in this `Side` lowers them by the roll (by 1 out of the box); losing a piece to a capture
    raises them.
    """

    rules: Rules
    finish: int

    @cached_property
    def masks(self) -> NDArray[np.uint64]:
        """The main-field squares of each state as a bit mask, by ascending pips.

        Of these, states with the same number of options for each roll stand together, so that the kernel's branches are
        predicted (8 % faster).
        """
        layers = [np.zeros(1, np.uint64)]
        for _ in range(self.open_pieces):
            fewer = layers[-1]
            bits = [np.uint64(1 << q) for q in range(self.rules.squares)]
            layers.append(np.concatenate([fewer[fewer < bit] | bit for bit in bits]))
        masks = np.concatenate(layers)
        first, _, _ = Game(self.rules).move_table(masks | np.uint64(self.finish << self.rules.squares))
        choices = np.diff(first).reshape(-1, DIE).T
        return np.ascontiguousarray(masks[np.lexsort((masks, *choices, self._pips(masks)))])

    @property
    def open_pieces(self) -> int:
        """How many pieces are not in the finish zone."""
        return self.rules.pieces - self.finish.bit_count()

    def _pips(self, masks: NDArray[np.uint64]) -> NDArray[np.int32]:
        total = np.full(len(masks), (self.rules.squares + 1) * self.open_pieces, np.int32)
        for q in range(self.rules.squares):
            total -= (masks >> np.uint64(q) & np.uint64(1)).astype(np.int32) * (q + 1)
        return total

    @property
    def size(self) -> int:
        """The number of states."""
        return len(self.masks)

    @cached_property
    def pips(self) -> NDArray[np.int32]:
        """The pips of each state, ascending."""
        return self._pips(self.masks)

    @cached_property
    def class_start(self) -> NDArray[np.int32]:
        """State `class_start[p]` is the first with at least p pips; one entry more than there are classes."""
        top = (self.rules.squares + 1) * self.open_pieces
        return np.searchsorted(self.pips, np.arange(top + 2)).astype(np.int32)

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        order = np.argsort(self.masks)
        return self.masks[order], order

    @cached_property
    def whole_masks(self) -> NDArray[np.uint64]:
        """All squares of each state as a bit mask, those of the finish zone included."""
        return self.masks | np.uint64(self.finish << self.rules.squares)

    def index(self, masks: NDArray[np.uint64]) -> NDArray[np.int32]:
        """The state of each main-field mask; the masks must be states of this side."""
        ordered, order = self._sorted
        return order[np.searchsorted(ordered, masks)].astype(np.int32)

    @cached_property
    def facing(self) -> NDArray[np.uint64]:
        """The main-field squares of each state in the other side's numbers."""
        half, S = np.uint64(self.rules.squares // 2), self.rules.squares
        return (self.masks << half | self.masks >> half) & np.uint64((1 << S) - 1)

    @cached_property
    def without(self) -> NDArray[np.int32]:
        """`without[i, k]`: state i with the piece on the k-th lowest square of `facing[i]` sent back to the box."""
        P, half = self.rules.pieces, np.uint64(self.rules.squares // 2)
        full = np.uint64((1 << self.rules.squares) - 1)
        out = np.zeros((self.size, P), np.int32)
        rest = self.facing.copy()
        for k in range(P):
            bit = rest & (~rest + np.uint64(1))
            own = (bit << half | bit >> half) & full
            out[:, k] = self.index(self.masks ^ own)
            rest ^= bit
        return out

    @cached_property
    def holders(self) -> list[NDArray[np.int32]]:
        """For each square: the states that hold it, ascending."""
        return [np.flatnonzero(self.masks & np.uint64(1 << q)).astype(np.int32) for q in range(self.rules.squares)]

    @cached_property
    def boxed(self) -> NDArray[np.int32]:
        """The states with a piece in the box, ascending: what a capture leads to."""
        return np.flatnonzero(np.bitwise_count(self.masks) < self.open_pieces).astype(np.int32)

    @cached_property
    def boxed_index(self) -> NDArray[np.int32]:
        """The place of each state in `boxed`, or -1."""
        out = np.full(self.size, -1, np.int32)
        out[self.boxed] = np.arange(len(self.boxed))
        return out

    @cached_property
    def boxed_with(self) -> NDArray[np.int32]:
        """`boxed_with[i, q]`: state boxed[i] with a piece from the box on square q, or -1 if that square is taken."""
        out = np.full((len(self.boxed), self.rules.squares), -1, np.int32)
        for q in range(self.rules.squares):
            bit = np.uint64(1 << q)
            free = np.flatnonzero((self.masks[self.boxed] & bit) == 0)
            out[free, q] = self.index(self.masks[self.boxed[free]] | bit)
        return out

    @cached_property
    def moves(self) -> "Moves":
        """Where each state can go for each roll."""
        return Moves.of(self)


@dataclass(frozen=True)
class Moves:
    """The moves of a side: for state i and roll r the options `first[6i+r-1] : first[6i+r]`.

    Option o leads to state `row[o]` of the side itself (`kind[o] == 0`) or of the finish zone `exits[kind[o] - 1]`, and
    lands on square `end[o]`. `turns[turn[i]]` says how often each roll comes up, and what a lost one does.
    """

    first: NDArray[np.int32]
    kind: NDArray[np.int8]
    row: NDArray[np.int32]
    end: NDArray[np.int8]
    exits: tuple[int, ...]
    turn: NDArray[np.int8]
    turns: tuple[Turn, ...]

    @classmethod
    def of(cls, side: Side) -> "Moves":
        """Build the table of a side."""
        rules = side.rules
        S, P = rules.squares, rules.pieces
        first, after, end = Game(rules).move_table(side.whole_masks)
        finish = (after >> np.uint64(S)).astype(np.int64)
        main = after & np.uint64((1 << S) - 1)
        reached = sorted({int(f) for f in np.unique(finish)} - {side.finish})
        done = (1 << P) - 1
        exits = tuple(TERMINAL if f == done else f for f in reached)
        kind = np.zeros(len(after), np.int8)
        row = np.zeros(len(after), np.int32)
        inside = finish == side.finish
        row[inside] = side.index(main[inside])
        for number, f in enumerate(reached, 1):
            there = finish == f
            kind[there] = number
            if f != done:
                row[there] = Side(rules, f).index(main[there])
        playable, which = np.unique(np.diff(first).reshape(-1, DIE) > 0, axis=0, return_inverse=True)
        turns = sorted({rules.turn(rolls) for rolls in playable.tolist()})
        kinds = np.array([turns.index(rules.turn(rolls)) for rolls in playable.tolist()], np.int8)
        return cls(first, kind, row, end, exits, kinds[which.ravel()], tuple(turns))
