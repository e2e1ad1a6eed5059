"""A block of best moves: the number of the best move for each decision, in a compact code.

A choice is the number of a move among the legal ones, by ascending start. For the coder, the six choices of a position
are one number with a byte for each roll, roll 1 in the lowest; to be looked up, they are a word with 3 bits for each
roll. `madn.store._policy` codes them; docs/format.md explains how.
"""

from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from madn._core import Game
from madn.errors import CorruptBlockError
from madn.rules import DIE
from madn.store import _mixed_policy, _policy, zstd
from madn.store.blocks import HEADER, MAGIC, POLICY, POLICY1, Encoding, check_header

SHIFT = 3  # bits of a choice in a word
CHOICE = (1 << SHIFT) - 1


def encode(choices: NDArray[np.uint64], first_id: int, game: Game, level: int) -> tuple[bytes, int]:
    """Return the frame of a block of choices, and how many decisions it contains."""
    data, decisions = _policy.encode(game, first_id, choices)
    return zstd.compress(HEADER.pack(MAGIC, POLICY.code, first_id, len(choices)) + data, level), decisions


def decode(frame: bytes, encoding: Encoding, first_id: int, count: int, game: Game) -> NDArray[np.uint32]:
    """Return the words of a frame that should hold `count` positions from `first_id` on.

    Raises `CorruptBlockError` if the frame is anything else. The frame may come from an untrusted source: whatever its
    bytes are, every choice is the number of a legal move.
    """
    size, most = zstd.content_size(frame), HEADER.size + most_bytes(count, game.rules.pieces)
    if not HEADER.size <= size <= most:
        raise CorruptBlockError(f"zstd frame claims {size} bytes, out of range {HEADER.size} to {most}")
    content = zstd.decompress(frame, size)
    check_header(content, encoding, first_id, count)
    data = memoryview(content)[HEADER.size :]
    if encoding == POLICY1:
        mixed = np.empty((count, DIE), np.uint8)
        decisions, choices = _mixed_policy.decode_into(game, first_id, data, mixed), joined(mixed)
    else:
        choices = np.empty(count, np.uint64)
        decisions = _policy.decode_into(game, first_id, data, choices)
    if decisions < 0:
        raise CorruptBlockError(f"code of {size - HEADER.size} bytes does not end with the last of {count} positions")
    return _policy.pack(choices)


def most_bytes(count: int, pieces: int) -> int:
    """More bytes than the choices of a block can need: 12 bits for each yes-or-no event."""
    return 64 + count * DIE * (pieces - 1) * 3 // 2


def joined(choices: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The choices of each position as one number, from an array (positions, rolls)."""
    lanes = np.zeros((len(choices), 8), np.uint8)
    lanes[:, :DIE] = choices
    return lanes.view("<u8")[:, 0].astype(np.uint64)


@overload
def choice(word: int, roll: int) -> int: ...
@overload
def choice(word: NDArray[np.uint32], roll: NDArray[np.int64]) -> NDArray[np.int64]: ...
def choice(word: Any, roll: Any) -> Any:
    """The choice that a word stores for a roll; with arrays, those of many words for their rolls."""
    return word >> SHIFT * (roll - 1) & CHOICE
