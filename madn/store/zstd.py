"""zstd frames: always with a checksum and the content size. Nothing else in `madn.store` imports `zstandard`."""

import threading
from collections.abc import Iterable

import zstandard

from madn.errors import CorruptBlockError
from madn.ranges import checked_int

MOST_LEVEL = 22
_local = threading.local()


def checked_level(level: int) -> int:
    """The level of compression as an int; InvalidNumberError if there is no such level."""
    return checked_int("level", level, 1, MOST_LEVEL)


def compress(content: bytes, level: int) -> bytes:
    """Compress some bytes into a frame."""
    return _compressor(level).compress(content)


def compress_planes(header: bytes, planes: Iterable[bytes], size: int, level: int) -> bytes:
    """Compress a header and planes, `size` bytes in all, into a frame; each plane ends a zstd block.

    Each plane has its own statistics, so a zstd block that spans two of them compresses worse.
    """
    frame = _compressor(level).compressobj(size=size)
    parts = [frame.compress(header)]
    for plane in planes:
        parts += [frame.compress(plane), frame.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)]
    return b"".join([*parts, frame.flush()])


def content_size(frame: bytes) -> int:
    """The number of bytes that a frame claims to decompress to."""
    return _parameters(frame).content_size


def decompress(frame: bytes, size: int) -> bytes:
    """Decompress a frame that must come to exactly `size` bytes; otherwise raise `CorruptBlockError`.

    The frame may come from an untrusted source: no more than `size` bytes are allocated.
    """
    claimed = _parameters(frame)
    if claimed.content_size != size:
        raise CorruptBlockError(f"zstd frame claims {claimed.content_size} bytes, expected {size}")
    if claimed.dict_id:
        raise CorruptBlockError(f"zstd frame needs dictionary {claimed.dict_id}, expected none")
    if not claimed.has_checksum:
        raise CorruptBlockError("zstd frame has no checksum")
    if not hasattr(_local, "decompressor"):
        _local.decompressor = zstandard.ZstdDecompressor()
    try:
        content: bytes = _local.decompressor.decompress(frame, max_output_size=size, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise CorruptBlockError(f"zstd frame is damaged: {error}") from None
    if len(content) != size:
        raise CorruptBlockError(f"zstd frame holds {len(content)} bytes, expected {size}")
    return content


def _compressor(level: int) -> zstandard.ZstdCompressor:
    return zstandard.ZstdCompressor(level=level, write_checksum=True, write_content_size=True)


def _parameters(frame: bytes) -> zstandard.FrameParameters:
    try:
        return zstandard.get_frame_parameters(frame)
    except zstandard.ZstdError as error:
        raise CorruptBlockError(f"not a zstd frame: {error}") from None
