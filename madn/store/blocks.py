"""A block: the values of consecutive positions as one zstd frame. docs/format.md says it byte by byte."""

import struct
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from madn.errors import CorruptBlockError
from madn.rules import Rules
from madn.store import _blocks, zstd

Array = NDArray[Any]

MAGIC = b"madn"
HEADER = struct.Struct("<4sIQI")  # magic, encoding code, first ID, count
BLOCK_POSITIONS = 1 << 15  # positions in a full block; docs/format.md says why
MAX_BLOCK_POSITIONS = 1 << 20  # what a reader accepts
LEVEL = 1  # zstd level of a solve; `madn compress --level` goes higher


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a number is stored: `raw` is what a block holds, and the probability is `zero + raw / scale`."""

    name: str
    code: int
    bits: int  # of a raw value before compression
    dtype: str  # of a decoded block
    zero: float
    scale: float

    @property
    def width(self) -> int:
        """Planes of bytes in a frame."""
        return (self.bits + 7) // 8

    @property
    def word(self) -> np.dtype[Any]:
        """The unsigned integers that a block is computed in."""
        return WORDS[self.dtype]

    @property
    def quantised(self) -> bool:
        """Whether values were rounded to `bits` bits."""
        return self.code >= QUANTISED

    @property
    def tie(self) -> float:
        """Moves whose winning probabilities differ by no more than this count as equal; docs/query.md says why."""
        return TIES.get(self.name, 0.0)

    def win(self, raw: float) -> float:
        """The probability that a raw value stands for."""
        return self.zero + raw / self.scale

    def wins(self, raw: Array) -> NDArray[np.float64]:
        """The probabilities that raw values stand for."""
        return np.asarray(self.zero + raw / np.float64(self.scale), dtype=np.float64)

    def raws(self, wins: NDArray[np.float64]) -> Array:
        """The raw values nearest to these probabilities."""
        raw = (wins - self.zero) * self.scale
        return raw.astype(self.dtype) if self.dtype == "<f8" else np.rint(raw).astype(self.dtype)


MIN_BITS, MAX_BITS = 8, 24
WORDS = {dtype: np.dtype(f"<u{dtype[2]}") for dtype in ("<u1", "<u2", "<u4", "<i4", "<f8")}
QUANTISED = 256  # the code of B bits is QUANTISED + B


def quantised(bits: int) -> Encoding:
    """The encoding that rounds a probability to a multiple of 1 / (2**bits - 1)."""
    dtype = "<u1" if bits <= 8 else "<u2" if bits <= 16 else "<u4"
    return Encoding(f"bits{bits}", QUANTISED + bits, bits, dtype, 0.0, float((1 << bits) - 1))


FIXED32 = Encoding("fixed32", 1, 32, "<i4", 0.5, float(2**29))
FLOAT64 = Encoding("float64", 2, 64, "<f8", 0.0, 1.0)
POLICY = Encoding("policy", 3, 18, "<u4", 0.0, 1.0)  # no values: best moves, see madn.store.policy
ENCODINGS = {
    encoding.name: encoding for encoding in (FIXED32, FLOAT64, POLICY, *map(quantised, range(MIN_BITS, MAX_BITS + 1)))
}
TIES = {FIXED32.name: 1 / FIXED32.scale, FLOAT64.name: 1e-12}


class ProfileSlice(NamedTuple):
    """Where a block lies in its profile: main squares, pieces of both sides on them, the rank of its first value."""

    squares: int
    own: int
    other: int
    first: int


def profile_slice(rules: Rules, profile: tuple[int, int, int, int], first_rank: int) -> ProfileSlice:
    """Where a block that begins at a rank of a profile lies."""
    p1, f1, p2, f2 = profile
    return ProfileSlice(rules.squares, p1 - f1, p2 - f2, first_rank)


def encode(values: Array, encoding: Encoding, first_id: int, where: ProfileSlice, level: int = LEVEL) -> bytes:
    """Return the frame of a block: what the prediction leaves, cut into planes of bytes, compressed."""
    words = np.array(values, dtype=encoding.dtype).view(encoding.word)
    _blocks.subtract(words, *where)
    planes = _blocks.split(words, encoding.width).reshape(encoding.width, -1)
    header = HEADER.pack(MAGIC, encoding.code, first_id, len(words))
    return zstd.compress_planes(header, (plane.tobytes() for plane in planes), HEADER.size + planes.size, level)


def decode(frame: bytes, encoding: Encoding, first_id: int, count: int, where: ProfileSlice) -> Array:
    """Return the raw values of a frame that should hold `count` positions from `first_id` on.

    Raises `CorruptBlockError` if the frame is anything else. The frame may come from a stranger: nothing
    larger than those values is ever allocated.
    """
    content = zstd.decompress(frame, HEADER.size + count * encoding.width)
    check_header(content, encoding, first_id, count)
    words = np.empty(count, encoding.word)
    _blocks.decode(memoryview(content)[HEADER.size :], words, *where)
    return words.view(encoding.dtype)


def check_header(content: bytes, encoding: Encoding, first_id: int, count: int) -> None:
    """Raise `CorruptBlockError` unless a decompressed frame begins as the catalogue says."""
    found, expected = HEADER.unpack_from(content), (MAGIC, encoding.code, first_id, count)
    if found != expected:
        raise CorruptBlockError(f"block header is {found}, expected {expected}")


def probabilities(raw: Array, encoding: Encoding) -> bool:
    """Whether all raw values stand for numbers from 0 to 1."""
    wins = encoding.wins(raw)
    return bool(((wins >= 0) & (wins <= 1)).all())
