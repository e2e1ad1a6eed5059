"""A block: the values of consecutive positions as one zstd frame. docs/format.md describes it byte by byte."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from madn.errors import CorruptBlockError
from madn.ranges import checked_int
from madn.rules import Rules
from madn.store import _blocks, zstd

Array = NDArray[Any]

MAGIC = b"madn"
HEADER = struct.Struct("<4sIQI")  # magic, encoding code, first ID, count
BLOCK_POSITIONS = 1 << 15  # positions in a full block; docs/format.md explains the choice
MAX_BLOCK_POSITIONS = 1 << 20  # the most that a reader accepts
LEVEL = 1  # zstd level of a solve; `madn compress --level` goes higher
MARGIN = np.dtype("<u2")  # of the distance of a bound from its value, in steps
MOST_MARGIN = (1 << 16) - 1


@dataclass(frozen=True, slots=True)
class Encoding:
    """How numbers are stored: a block contains raw values, and the probability is `zero + raw / scale`."""

    name: str
    code: int
    bits: int  # of a raw value before compression
    dtype: str  # of a decoded block
    zero: float
    scale: float
    bounds: float = 0.0  # proved bounds are stored with the values, in steps of 1 / bounds; 0: there are none

    @property
    def width(self) -> int:
        """The number of byte planes that the values take in a frame."""
        return (self.bits + 7) // 8

    @property
    def planes(self) -> int:
        """The number of all byte planes in a frame: those of proved bounds come after those of the values."""
        return self.width + (2 * MARGIN.itemsize if self.bounds else 0)

    @property
    def content(self) -> np.dtype[Any]:
        """The type of a block's content: values, and with proved bounds `lower` and `upper` in steps of 1 / bounds."""
        if not self.bounds:
            return np.dtype(self.dtype)
        step = f"<i{self.word.itemsize}"
        return np.dtype([("value", self.dtype), ("lower", step), ("upper", step)])

    def steps(self, raw: Array) -> Array:
        """The step nearest to each value, from which its bounds are counted."""
        return raw if self.dtype == "<i4" else np.rint(raw * self.bounds).astype(np.int64)

    @property
    def word(self) -> np.dtype[Any]:
        """The type of unsigned integer in which the values of a block are predicted and cut into planes."""
        return WORDS[self.dtype]

    @property
    def quantised(self) -> bool:
        """Whether values were rounded to `bits` bits."""
        return self.code >= QUANTISED

    @property
    def tie(self) -> float:
        """Moves whose winning probabilities differ by no more than this count as equal; docs/query.md explains why."""
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
    bits = checked_int("bits", bits, MIN_BITS, MAX_BITS)
    dtype = "<u1" if bits <= 8 else "<u2" if bits <= 16 else "<u4"
    return Encoding(f"bits{bits}", QUANTISED + bits, bits, dtype, 0.0, float((1 << bits) - 1))


FIXED32 = Encoding("fixed32", 1, 32, "<i4", 0.5, float(2**29))
FLOAT64 = Encoding("float64", 2, 64, "<f8", 0.0, 1.0)
POLICY1 = Encoding("policy", 3, 18, "<u4", 0.0, 1.0)  # what version 0.1 wrote instead of POLICY: only read
PROVED32 = Encoding("proved32", 4, 32, "<i4", 0.5, float(2**29), float(2**29))  # as `fixed32`, with proved bounds
PROVED64 = Encoding("proved64", 5, 64, "<f8", 0.0, 1.0, float(2**48))  # as `float64`, with proved bounds
POLICY = Encoding("policy2", 6, 18, "<u4", 0.0, 1.0)  # no values: best moves, see madn.store.policy
POLICIES = (POLICY1, POLICY)
ENCODINGS = {
    encoding.name: encoding
    for encoding in (FIXED32, FLOAT64, PROVED32, PROVED64, *POLICIES, *map(quantised, range(MIN_BITS, MAX_BITS + 1)))
}
PROVED = {FIXED32.name: PROVED32, FLOAT64.name: PROVED64}
ENDS = {  # the words of 0 and of 1: the word of any probability lies between them, even in float64
    name: encoding.raws(np.array([0.0, 1.0])).view(encoding.word).tolist() for name, encoding in ENCODINGS.items()
}
TIES = {FIXED32.name: 1 / FIXED32.scale, FLOAT64.name: 1e-12}
TIES |= {PROVED32.name: TIES[FIXED32.name], PROVED64.name: TIES[FLOAT64.name]}


class ProfileSlice(NamedTuple):
    """Where a block lies in its profile: main squares, pieces of each side on them, the rank of its first value."""

    squares: int
    own: int
    other: int
    first: int


def profile_slice(rules: Rules, profile: tuple[int, int, int, int], first_rank: int) -> ProfileSlice:
    """Where a block that begins at a rank of a profile lies."""
    p1, f1, p2, f2 = profile
    return ProfileSlice(rules.squares, p1 - f1, p2 - f2, first_rank)


def encode(content: Array, encoding: Encoding, first_id: int, where: ProfileSlice, level: int = LEVEL) -> bytes:
    """Return the frame of a block: the differences from the predictions, cut into byte planes and compressed."""
    parts = [(np.array(content["value"] if encoding.bounds else content, encoding.dtype), encoding.width)]
    if encoding.bounds:
        parts += [(margins, MARGIN.itemsize) for margins in _margins(content, encoding)]
    planes: list[bytes] = []
    for values, width in parts:
        words = values.view(f"<u{values.itemsize}")
        _blocks.subtract(words, *where)
        planes += [plane.tobytes() for plane in _blocks.split(words, width).reshape(width, -1)]
    header = HEADER.pack(MAGIC, encoding.code, first_id, len(content))
    return zstd.compress_planes(header, iter(planes), HEADER.size + len(content) * encoding.planes, level)


def _margins(content: Array, encoding: Encoding) -> Iterator[Array]:
    """The distances of the bounds from the values, below and above; `ValueError` if one is negative or too large."""
    steps = encoding.steps(content["value"])
    for name, margins in (("lower", steps - content["lower"]), ("upper", content["upper"] - steps)):
        if margins.min() < 0 or margins.max() > MOST_MARGIN:
            raise ValueError(f"{name} bounds are {margins.min()} to {margins.max()} steps from their values")
        yield margins.astype(MARGIN)


def decode(frame: bytes, encoding: Encoding, first_id: int, count: int, where: ProfileSlice) -> Array:
    """Return the raw values of a frame that should hold `count` positions from `first_id` on.

    Raises `CorruptBlockError` if the frame is anything else. The frame may come from an untrusted source: nothing
    larger than those values is ever allocated.
    """
    return _values(_planes(frame, encoding, first_id, count), encoding, count, where)


def decode_bounds(frame: bytes, encoding: Encoding, first_id: int, count: int, where: ProfileSlice) -> Array:
    """Like `decode`, but with the bounds: an array of type `encoding.content`."""
    planes = _planes(frame, encoding, first_id, count)
    out = np.empty(count, encoding.content)
    out["value"] = _values(planes, encoding, count, where)
    steps = encoding.steps(out["value"])
    at, size = count * encoding.width, count * MARGIN.itemsize
    for name, sign in (("lower", -1), ("upper", 1)):
        margins = np.empty(count, MARGIN)
        _blocks.decode(planes[at : at + size], margins, 0, MOST_MARGIN, *where)
        out[name] = steps + sign * margins.astype(steps.dtype)
        at += size
    least, most = (round((end - encoding.zero) * encoding.bounds) for end in (0.0, 1.0))
    if out["lower"].min() < least or out["upper"].max() > most:
        raise CorruptBlockError("a bound is not a probability")
    return out


def _planes(frame: bytes, encoding: Encoding, first_id: int, count: int) -> memoryview:
    content = zstd.decompress(frame, HEADER.size + count * encoding.planes)
    check_header(content, encoding, first_id, count)
    return memoryview(content)[HEADER.size :]


def _values(planes: memoryview, encoding: Encoding, count: int, where: ProfileSlice) -> Array:
    words = np.empty(count, encoding.word)
    least, most = ENDS[encoding.name]
    if not _blocks.decode(planes[: count * encoding.width], words, least, most, *where):
        raise CorruptBlockError("a value is not a probability")
    return words.view(encoding.dtype)


def check_header(content: bytes, encoding: Encoding, first_id: int, count: int) -> None:
    """Raise `CorruptBlockError` unless a decompressed frame begins as the catalogue says."""
    found, expected = HEADER.unpack_from(content), (MAGIC, encoding.code, first_id, count)
    if found != expected:
        raise CorruptBlockError(f"block header is {found}, expected {expected}")
