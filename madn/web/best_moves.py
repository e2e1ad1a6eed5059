"""Best moves in a form that a browser can read without the decoder for a policy: the piece to move for every roll.

A block has a plane of bytes for each roll, with one byte for each position: how many of the mover's pieces stand on
lower squares than the piece of the best move. It is 0 for a piece from the box, a lost roll, and a game that is over.
"""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from madn.database import Database
from madn.rules import ROLLS
from madn.store import zstd
from madn.store.blocks import HEADER, MAGIC
from madn.store.records import frame_digest

CODE = 64  # in the header of a block, in place of the code of an encoding
LEVEL = 9  # of zstd; docs/web.md has the sizes
POSITION_BYTES = 0.6  # the most that a position took in any game measured


@dataclass(frozen=True, slots=True)
class MovesFile:
    """What was written: the SHA-256 of the file, and for each block its first ID, count, offset, length and digest."""

    sha256: str
    blocks: list[tuple[int, int, int, int, str]]


def write_moves(database: Database, path: str | os.PathLike[str], done: Callable[[int], None]) -> MovesFile:
    """Write the best moves of a database; `done` is called with the number of positions written so far."""
    digest = hashlib.sha256()
    blocks: list[tuple[int, int, int, int, str]] = []
    offset = positions = 0
    with open(path, "wb") as file:
        for first, count in database.ranges():
            frame = _frame(database, first, count)
            blocks.append((first, count, offset, len(frame), frame_digest(frame)))
            file.write(frame)
            digest.update(frame)
            offset += len(frame)
            positions += count
            done(positions)
    return MovesFile(digest.hexdigest(), blocks)


def _frame(database: Database, first: int, count: int) -> bytes:
    ids = np.arange(first, first + count)
    own = database.engine.game.unrank_many(ids)[0]
    planes = (_plane(database, ids, own, roll) for roll in ROLLS)
    header = HEADER.pack(MAGIC, CODE, first, count)
    return zstd.compress_planes(header, planes, len(header) + len(ROLLS) * count, LEVEL)


def _plane(database: Database, ids: NDArray[np.int64], own: NDArray[np.uint64], roll: int) -> bytes:
    start, _, _ = database.engine.best_moves(ids, np.full(len(ids), roll))
    below = (np.uint64(1) << np.maximum(start, 0).astype(np.uint64)) - np.uint64(1)
    numbers: NDArray[np.uint8] = np.bitwise_count(own & below)
    return numbers.tobytes()
