"""The journal of a writer: what it writes, and which blocks are done, so that another process can resume.

A line is JSON and a digest of it and of all lines before it. Where a line was changed, moved, repeated or removed, the
digests no longer match, neither there nor in any later line.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from typing import Any, BinaryIO


class Journal:
    """The lines of a file, or of a buffer in memory if the work will not be resumed."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = b""  # of the last line
        self._end = 0  # of what `cut` keeps

    def lines(self) -> Iterator[Any]:
        """The contents of the lines, from the first one on, as long as their digests match."""
        self._file.seek(0)
        self._digest, self._end = b"", 0
        while line := self._file.readline():
            text, _, digest = line.rpartition(b" ")
            chained = self._chained(text)
            if digest != chained + b"\n":
                return
            yield json.loads(text)
            self._digest, self._end = chained, self._file.tell()

    def cut(self) -> None:
        """Remove the line that `lines` yielded last and all after it; if it yielded all, whatever does not match."""
        self._file.seek(self._end)
        self._file.truncate()

    def append(self, content: Any) -> None:
        """Add a line; it survives the end of this process."""
        text = json.dumps(content, sort_keys=True).encode()
        self._digest = self._chained(text)
        self._file.write(text + b" " + self._digest + b"\n")
        self._file.flush()

    def _chained(self, text: bytes) -> bytes:
        return hashlib.blake2b(self._digest + text, digest_size=16).hexdigest().encode()

    def flush_to_disk(self) -> None:
        """Wait until all lines are on disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()
