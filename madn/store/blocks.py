"""A block: the values of consecutive positions as one zstd frame. docs/format.md says it byte by byte."""

import itertools
import struct
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray

from madn.errors import CorruptBlockError

Array = NDArray[Any]

MAGIC = b"madn"
HEADER = struct.Struct("<4sIQII")  # magic, encoding code, first ID, count, stride
BLOCK_POSITIONS = 1 << 15  # positions in a full block: 128 KiB of fixed32, decoded in about 0.3 ms
MAX_BLOCK_POSITIONS = 1 << 20  # what a reader accepts
LEVEL = 3  # zstd level of a solve; `madn compress --level` goes higher


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a number is stored: `raw` is what a block holds, and the probability is `zero + raw / scale`."""

    name: str
    code: int
    width: int  # bytes of a raw value inside the frame
    dtype: str  # of a decoded block
    zero: float
    scale: float

    @property
    def bits(self) -> int:
        """Bits of a raw value before compression."""
        return 8 * self.width

    def win(self, raw: float) -> float:
        """The probability that a raw value stands for."""
        return self.zero + raw / self.scale

    def wins(self, raw: Array) -> NDArray[np.float64]:
        """The probabilities that raw values stand for."""
        return np.asarray(self.zero + raw / self.scale, dtype=np.float64)


FIXED32 = Encoding("fixed32", 1, 4, "<i4", 0.5, float(2**29))
FLOAT64 = Encoding("float64", 2, 8, "<f8", 0.0, 1.0)
ENCODINGS = {encoding.name: encoding for encoding in (FIXED32, FLOAT64)}


def encode(values: Array, encoding: Encoding, first_id: int, stride: int = 0, level: int = LEVEL) -> bytes:
    """Return the frame of a block: differences of neighbours, cut into planes of bytes, compressed.

    With `stride` the value that many positions earlier is subtracted first (the same place in the row above).
    """
    bits = np.ascontiguousarray(values, dtype=encoding.dtype).view(_unsigned(encoding))
    if stride:
        bits = np.concatenate([bits[:stride], bits[stride:] - bits[:-stride]])
    digits = np.diff(bits, prepend=bits.dtype.type(0)) + _balance(encoding)
    planes = digits.view(np.uint8).reshape(len(digits), encoding.width).T
    header = HEADER.pack(MAGIC, encoding.code, first_id, len(values), stride)
    compressor = zstandard.ZstdCompressor(level=level, write_checksum=True, write_content_size=True)
    return compressor.compress(header + planes.tobytes())


def decode(frame: bytes, encoding: Encoding, first_id: int, count: int) -> Array:
    """Return the raw values of a frame that should hold `count` positions from `first_id` on.

    Raises `CorruptBlockError` if the frame is anything else. The frame may come from a stranger: nothing
    larger than those values is ever allocated.
    """
    content = _decompress(frame, HEADER.size + count * encoding.width)
    magic, code, its_id, its_count, stride = HEADER.unpack_from(content)
    if (magic, code, its_id, its_count) != (MAGIC, encoding.code, first_id, count):
        raise CorruptBlockError("the block is not the one that the catalogue says it is")
    if stride >= count:
        raise CorruptBlockError("the stride of the block is longer than the block")
    planes = np.frombuffer(content, np.uint8, offset=HEADER.size).reshape(encoding.width, count)
    bits = _join(planes, encoding)
    np.cumsum(bits, dtype=bits.dtype, out=bits)
    if stride:
        _add_rows(bits, stride)
    return bits.view(encoding.dtype)


def _unsigned(encoding: Encoding) -> np.dtype[Any]:
    return np.dtype(f"<u{encoding.width}")


def _balance(encoding: Encoding) -> Any:
    """0x80 in every byte: with it added, small differences of either sign leave the upper planes constant."""
    return _unsigned(encoding).type(int("80" * encoding.width, 16))


def _join(planes: Array, encoding: Encoding) -> Array:
    """The differences whose balanced bytes are these planes, least significant plane first."""
    joined = np.empty((planes.shape[1], encoding.width), np.uint8)
    for place, plane in enumerate(planes):
        joined[:, place] = plane
    bits = joined.view(_unsigned(encoding)).ravel()
    bits -= _balance(encoding)
    return bits


def _add_rows(bits: Array, stride: int) -> None:
    """Undo the subtraction of the row above, in place."""
    whole = len(bits) // stride * stride
    table = bits[:whole].reshape(-1, stride)
    if len(table) > 100:
        np.cumsum(table, axis=0, dtype=bits.dtype, out=table)
    else:  # a few long rows: several times faster than numpy's way through the columns
        for above, row in itertools.pairwise(table):
            row += above
    bits[whole:] += bits[whole - stride : len(bits) - stride]


_local = threading.local()


def _decompress(frame: bytes, size: int) -> bytes:
    """Decompress a frame that must come to exactly `size` bytes."""
    try:
        claimed = zstandard.get_frame_parameters(frame)
        if claimed.content_size != size:
            raise CorruptBlockError(f"the frame claims {claimed.content_size} bytes, not {size}")
        if not claimed.has_checksum or claimed.dict_id:
            raise CorruptBlockError("the frame has no checksum")
        if not hasattr(_local, "decompressor"):
            _local.decompressor = zstandard.ZstdDecompressor()
        content: bytes = _local.decompressor.decompress(frame, max_output_size=size, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise CorruptBlockError(f"the frame does not decompress: {error}") from None
    if len(content) != size:
        raise CorruptBlockError(f"the frame holds {len(content)} bytes, not {size}")
    return content
