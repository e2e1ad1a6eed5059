"""Looking up the values of all moves of a block of positions in the database, to choose the best ones."""

import threading
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from madn._core import Game
from madn.errors import MadnError
from madn.rules import DIE
from madn.store import _successors
from madn.store._successors import BlockIndex, DecodedBlocks
from madn.store.blocks import Encoding
from madn.store.reader import BlockReader
from madn.store.records import BlockTable
from madn.store.successors import roll_weights

AT_ONCE = 1 << 15  # positions whose moves are looked up at a time


class MoveValues:
    """The moves of positions and their values, from a database. Threads may share it.

    At most `cache_bytes` of decoded blocks stay in memory. This should be enough for a profile and the same profile
    with the sides exchanged; with less, blocks are decoded again and again.
    """

    def __init__(self, reader: BlockReader, table: BlockTable, cache_bytes: int) -> None:
        if len(reader.catalogue.encodings) != 1:
            raise MadnError(f"{reader.directory}: expected one encoding, found {len(reader.catalogue.encodings)}")
        rules = reader.catalogue.rules
        self._reader = reader
        self._table = table
        self._game = Game(rules)
        self._cache_bytes = cache_bytes
        self._lock = threading.Lock()
        self._sizes = table.count * self.encoding.word.itemsize
        self._index = BlockIndex(
            table.first_id, table.count, self.encoding.dtype, self.encoding.zero, self.encoding.scale
        )
        self._decoded = DecodedBlocks(self._index)

    @property
    def encoding(self) -> Encoding:
        """How the values are stored."""
        return self._reader.catalogue.encodings[0].encoding

    @property
    def fits(self) -> bool:
        """Whether all values fit into the cache."""
        return bool(self._sizes.sum() <= self._cache_bytes)

    def choices(self, first: int, count: int) -> NDArray[np.uint8]:
        """The best choice of `count` positions from an ID on, for each roll; 0 where there is no decision."""
        choices = np.empty((count, DIE), np.uint8)
        for start, ids, wins in self._moves(first, count):
            _successors.choose(ids, wins, self.encoding.tie, choices[start : start + len(ids)])
        return choices

    def losses(self, first: int, count: int, new: Encoding) -> NDArray[np.float64]:
        """The winning probability that each position loses when one turn is played from values rounded to `new`."""
        losses = np.empty(count)
        for start, ids, wins in self._moves(first, count):
            own, _ = self._game.unrank_many(np.arange(first + start, first + start + len(ids)))
            weights = roll_weights(own, self._game)
            likely = weights / weights.sum(axis=1, keepdims=True)
            _successors.losses(ids, wins, likely, new.zero, new.scale, losses[start : start + len(ids)])
        return losses

    def _moves(self, first: int, count: int) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.float64]]]:
        """For up to `AT_ONCE` positions at a time: the index of the first, the IDs after all moves, their values."""
        for start in range(0, count, AT_ONCE):
            ids = np.empty((min(AT_ONCE, count - start), DIE, self._game.rules.pieces), np.int64)
            _successors.successors(self._game, first + start, ids)
            wins = np.zeros(ids.shape)
            needed, missing = self._index.needed(ids.reshape(-1))
            if missing >= 0:
                raise self._reader.missing(missing)
            for some in self._portions(needed):
                self._load(some).look_up(ids.reshape(-1), wins.reshape(-1))
            yield start, ids, wins

    def _portions(self, needed: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Cut a list of blocks into portions that fit into the cache; each has at least one block."""
        ends = np.cumsum(self._sizes[needed])
        start = 0
        while start < len(needed):
            before = ends[start - 1] if start else 0
            end = max(int(np.searchsorted(ends, before + self._cache_bytes, "right")), start + 1)
            yield needed[start:end]
            start = end

    def _load(self, some: NDArray[np.int64]) -> DecodedBlocks:
        """The blocks in memory, after these were added; a thread with an older set may go on using that."""
        with self._lock:
            absent = self._decoded.absent(some)
            if self._decoded.nbytes + self._sizes[absent].sum() > self._cache_bytes:
                self._decoded, absent = DecodedBlocks(self._index), some
            for at in absent.tolist():
                self._decoded.add(at, self._reader.load(self._table, at))
            return self._decoded
