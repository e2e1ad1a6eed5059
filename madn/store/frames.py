"""Writing frames one after another into numbered files."""

import hashlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from madn.errors import MadnError, ResourceError
from madn.store.records import BlockFile, block_file_name, frame_digest

FILE_BYTES = 1 << 30  # once a file has this many bytes, the next frame begins a new one


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn a failure to write, such as a full disk, into a one-line ResourceError."""
    try:
        yield
    except MadnError:
        raise
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise ResourceError(f"{path}: cannot be written, nothing was changed: {reason}") from error


class FrameFiles:
    """Frames one after another in numbered files of about `FILE_BYTES`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.done: list[BlockFile] = []
        self._file: BinaryIO | None = None

    def append(self, frame: bytes) -> tuple[int, int]:
        """Write a frame; return the number of its file and its offset there."""
        file = self._current()
        file.write(frame)
        return self._count(frame)

    def adopt(self, length: int, digest: str) -> bool:
        """Take over the next frame that an earlier process wrote; False if it is missing or damaged."""
        file = self._current()
        start = file.tell()
        frame = file.read(length)
        if frame_digest(frame) != digest:
            file.seek(start)
            return False
        self._count(frame)
        return True

    def cut(self) -> None:
        """Remove whatever follows the frames that were adopted."""
        if self._file is not None:
            self._file.truncate()
        later = len(self.done) + (self._file is not None)
        while (path := self.directory / block_file_name(later)).exists():
            path.unlink()
            later += 1

    def flush(self) -> None:
        """Hand what was written to the operating system, so that it survives the end of this process."""
        if self._file is not None:
            self._file.flush()

    def flush_to_disk(self) -> None:
        """Wait until what was written is on disk."""
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())

    def _current(self) -> BinaryIO:
        if self._file is None:
            path = self.directory / block_file_name(len(self.done))
            self._file = open(path, "r+b" if path.exists() else "x+b")  # noqa: SIM115
            self._bytes, self._sha256 = 0, hashlib.sha256()
        return self._file

    def _count(self, frame: bytes) -> tuple[int, int]:
        address = len(self.done), self._bytes
        self._sha256.update(frame)
        self._bytes += len(frame)
        if self._bytes >= FILE_BYTES:
            self.close()
        return address

    def close(self) -> None:
        """Finish the current file."""
        if self._file is not None:
            self.flush_to_disk()
            self._file.close()
            self._file = None
            name = block_file_name(len(self.done))
            self.done.append(BlockFile(len(self.done), name, self._bytes, self._sha256.hexdigest()))
