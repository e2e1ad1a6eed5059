"""The state of a long solve in a file, from which a solve that was stopped can resume."""

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from madn.errors import CorruptBlockError
from madn.games.cantstop.numbering import Array
from madn.machine import flush

PAUSE = 600.0  # seconds between two writes
LONGEST = 1 << 24  # bytes of a line


class Checkpoint:
    """A file with the counts so far, the values that go with them, and a digest of both; it is replaced in one step.

    It has two lines, the digest and JSON, followed by the values. `task` is one line with everything that the result
    depends on; the file of another task is refused.
    """

    def __init__(self, path: str | os.PathLike[str], task: str, pause: float = PAUSE) -> None:
        self.path, self.task, self.pause = Path(path), task, pause
        self.next = time.monotonic() + pause

    def load(self, values: Array) -> dict[str, Any] | None:
        """Fill in the values of an earlier process and return its counts; None if there is no checkpoint."""
        if not self.path.exists():
            return None
        with open(self.path, "rb") as file:
            expected, text = (file.readline(LONGEST).rstrip(b"\n") for _ in range(2))
            try:
                state: dict[str, Any] = json.loads(text)
                task = state.pop("task")
            except (ValueError, TypeError, KeyError, AttributeError):
                raise self._refused("not a checkpoint, or damaged: no line says what is being solved") from None
            if task != self.task:
                raise self._refused(f"a checkpoint of another solve: {task}, expected {self.task}")
            size = file.readinto(values.view(np.uint8).data)
            if size != values.nbytes or file.read(1):
                raise self._refused(f"damaged: expected {values.nbytes:,} bytes of values")
        found = _digest(text, values)
        if found != expected:
            raise self._refused(
                f"damaged: digest expected {expected.decode('ascii', 'replace')}, found {found.decode()}"
            )
        return state

    def _refused(self, reason: str) -> CorruptBlockError:
        return CorruptBlockError(f"{self.path}: {reason}; to start over, remove this file")

    def save(self, values: Array, state: dict[str, Any], now: bool = False) -> None:
        """Write the file, now or if `pause` seconds have passed since the last time."""
        if not now and time.monotonic() < self.next:
            return
        part = self.path.with_name(f".{self.path.name}.part")
        text = json.dumps({"task": self.task, **state}).encode()
        with open(part, "wb") as file:
            file.write(_digest(text, values) + b"\n" + text + b"\n")
            file.write(values.view(np.uint8).data)
        flush(part)
        os.replace(part, self.path)
        flush(self.path.parent)
        self.next = time.monotonic() + self.pause

    def remove(self) -> None:
        """Remove the file: the solve is complete."""
        self.path.unlink(missing_ok=True)


def _digest(text: bytes, values: Array) -> bytes:
    digest = hashlib.sha256(text)
    digest.update(values.view(np.uint8).data)
    return digest.hexdigest().encode()
