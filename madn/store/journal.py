"""The journal of a writer: what it writes, and which blocks are done, so that another process can go on.

A line is JSON and a digest of it and of all lines before: one that was changed, moved, repeated or taken out does not
fit, and neither does any line after it.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from typing import Any, BinaryIO


class Journal:
    """Lines of a file, or of memory where nobody goes on."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = b""  # of the last line
        self._end = 0  # of what `cut` leaves

    def lines(self) -> Iterator[Any]:
        """What the lines say, from the first one on, as far as they fit."""
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
        """Remove the line that `lines` gave last and all after it, or what does not fit if it gave all."""
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
