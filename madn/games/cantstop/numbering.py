"""How the components of a game are numbered: where the value of each is stored, and the tables that the kernels need.

Components are grouped by their open columns (a mask). A player's squares in the open columns are a placement, and
placements are ranked by total steps, then in lexicographic order. The value of a component, for the player to move,
is an entry of a matrix: rows are placements of the player who waits, columns those of the player to move. There is one
matrix for each number of columns that the waiting player has won. Mirrored masks share their matrices, and of two
mirrored rows one is kept.
"""

from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn.games.cantstop.rules import MARKERS, CantStop

Array = NDArray[Any]


class Placements:
    """The placements of one player's squares in the open columns, by rank."""

    def __init__(self, game: CantStop, mask: int) -> None:
        lengths = [length if mask >> c & 1 else 1 for c, length in enumerate(game.lengths)]
        squares = np.indices(lengths, np.int8).reshape(len(lengths), -1).T
        totals = squares.sum(1, dtype=np.int64)
        order = np.argsort(totals, kind="stable")
        self.squares: Array = np.ascontiguousarray(squares[order])
        self.rank: Array = np.empty(len(order), np.int32)  # by the number of a placement in mixed radix
        self.rank[order] = np.arange(len(order), dtype=np.int32)
        self.total: Array = np.searchsorted(totals[order], np.arange(totals.max() + 2)).astype(np.int64)
        radix = np.append(np.cumprod(lengths[:0:-1])[::-1], 1).astype(np.int64)
        self.radix: Array = np.array([r if mask >> c & 1 else 0 for c, r in enumerate(radix)], np.int64)

    def __len__(self) -> int:
        return len(self.squares)

    def ranks(self, squares: Array) -> Array:
        """The ranks of placements; their squares in other columns are ignored."""
        found: Array = self.rank[squares @ self.radix]
        return found

    @property
    def packed(self) -> Array:
        """The placements with four bits for each column."""
        shifts = np.arange(0, 4 * self.squares.shape[1], 4, dtype=np.uint64)
        packed: Array = (self.squares.astype(np.uint64) << shifts).sum(1, dtype=np.uint64)
        return packed


class Numbering:
    """The numbering of one game; its tables are made when they are first asked for."""

    def __init__(self, game: CantStop) -> None:
        self.game = game
        self.placements = cache(partial(Placements, game))  # by their open columns
        self.mirror, self.kept_rows = cache(self._mirror), cache(self._kept_rows)
        self.places: dict[int, int] = {}  # where each mask with matrices begins, in the order of solving
        self.size = 0  # the number of values of one role
        for mask in self.masks():
            self.places[mask] = self.size
            self.size += len(self.splits(mask)) * self.rows(mask) * self.columns(mask)

    def masks(self) -> list[int]:
        """The masks of open columns of an open game, fewest columns first; of two mirror images the smaller one."""
        every = 1 << self.game.columns
        found = [mask for mask in range(1, every) if mask <= self.mirrored(mask) and len(self.splits(mask))]
        return sorted(found, key=lambda mask: (mask.bit_count(), mask))

    def splits(self, mask: int) -> range:
        """The numbers of columns that a player may have won when these columns are open."""
        return self.game.splits(self.game.columns - mask.bit_count())

    def mirrored(self, mask: int) -> int:
        """The mask with left and right exchanged."""
        return int(f"{mask:0{self.game.columns}b}"[::-1], 2)

    def columns(self, mask: int) -> int:
        """The number of placements in the open columns."""
        return int(np.prod([length for c, length in enumerate(self.game.lengths) if mask >> c & 1], dtype=object))

    def rows(self, mask: int) -> int:
        """The number of placements that are kept as rows: of mirrored ones only the first."""
        every = self.columns(mask)
        if mask != self.mirrored(mask):
            return every
        left = mask & ((1 << self.game.sides) - 1)  # with the middle column
        return (every + self.columns(left)) // 2

    def work(self, mask: int) -> Array:
        """The roll positions of each level (total steps of both players), over all matrices of a mask.

        The number is exact if the open columns are not symmetric; if they are, it is half of all positions, as if none
        were its own mirror image.
        """
        ways = [np.ones(1), *[np.zeros(1)] * MARKERS]  # [markers of the player to move][level]: how many
        for length in (length for c, length in enumerate(self.game.lengths) if mask >> c & 1):
            plain, marked = np.zeros((2, 2 * length - 1))
            for own, other in product(range(length), repeat=2):
                if own != other or own == 0:
                    plain[own + other] += 1
                    marked[own + other] += length - own
            fewer = [np.zeros_like(ways[0]), *ways[:-1]]
            ways = [np.convolve(w, plain) + np.convolve(f, marked) for w, f in zip(ways, fewer, strict=True)]
        positions: Array = np.sum(ways, 0) * (len(self.splits(mask)) / (2 if mask == self.mirrored(mask) else 1))
        return positions

    def _mirror(self, mask: int) -> Array:
        """The rank of the mirror image of each placement among the placements of the mirrored mask."""
        return self.placements(self.mirrored(mask)).ranks(self.placements(mask).squares[:, ::-1])

    def _kept_rows(self, mask: int) -> Array:
        """The row of each placement of a mask with matrices, -1 for those whose mirror image is kept instead."""
        kept = np.ones(len(self.placements(mask)), bool)
        if mask == self.mirrored(mask):
            kept = np.arange(len(kept)) <= self.mirror(mask)
        return np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)

    def lookup_rows(self, mask: int) -> Array:
        """For any mask, by mixed radix: 2 * row, plus 1 if row and columns are those of the mirror image."""
        if mask not in self.places:
            found = 2 * self.mirror(mask) + 1
        else:
            rows = self.kept_rows(mask)
            found = 2 * rows
            lost = np.flatnonzero(rows < 0)
            found[lost] = 2 * rows[self.mirror(mask)[lost]] + 1
        by_radix: Array = found[self.placements(mask).rank]
        return by_radix

    def index(self, own: tuple[int, ...], other: tuple[int, ...], lost: int) -> int:
        """Where a value is stored, by the squares of mover and opponent and the number of columns the opponent won."""
        columns = enumerate(zip(own, other, self.game.lengths, strict=True))
        mask = sum(1 << c for c, (x, y, length) in columns if length not in (x, y))
        both = self.placements(mask).ranks(np.array([own, other]))
        if mask not in self.places:
            both, mask = self.mirror(mask)[both], self.mirrored(mask)
        rows = self.kept_rows(mask)
        if rows[both[1]] < 0:
            both = self.mirror(mask)[both]
        row = (lost - self.splits(mask)[0]) * self.rows(mask) + int(rows[both[1]])
        return self.places[mask] + row * self.columns(mask) + int(both[0])
