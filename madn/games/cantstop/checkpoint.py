"""The state of a long solve in a file, so that a solve that was stopped can go on."""

import json
import os
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from madn.errors import CorruptBlockError
from madn.games.cantstop.numbering import Array

PAUSE = 600.0  # seconds between two writes


class Checkpoint:
    """A file with the values so far and the counts that go with them; it is replaced in one step.

    `task` is one line that says all that the result depends on; the file of another task is refused.
    """

    def __init__(self, path: str | os.PathLike[str], task: str, pause: float = PAUSE) -> None:
        self.path, self.task, self.pause = Path(path), task, pause
        self.next = time.monotonic() + pause

    def load(self, values: Array) -> dict[str, Any] | None:
        """Fill in the values of an earlier process and return its counts; None if there is no checkpoint."""
        if not self.path.exists():
            return None
        try:
            with np.load(self.path, allow_pickle=False) as arrays:
                state: dict[str, Any] = json.loads(str(arrays["state"]))
                task = state.pop("task")
                if task != self.task:
                    raise CorruptBlockError(f"{self.path}: a checkpoint of another solve: {task}, expected {self.task}")
                values[...] = arrays["values"]
        except (OSError, ValueError, KeyError, AttributeError, zipfile.BadZipFile) as error:
            if isinstance(error, CorruptBlockError):
                raise
            raise CorruptBlockError(f"{self.path}: not a checkpoint, or damaged: {error}") from None
        return state

    def save(self, values: Array, state: dict[str, Any]) -> None:
        """Write the file, if `pause` seconds have passed since the last time."""
        if time.monotonic() < self.next:
            return
        part = self.path.with_name(f".{self.path.name}.part")
        with open(part, "wb") as file:
            np.savez(file, values=values, state=np.array(json.dumps({"task": self.task, **state})))
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, self.path)
        self.next = time.monotonic() + self.pause

    def remove(self) -> None:
        """Remove the file: the solve is complete."""
        self.path.unlink(missing_ok=True)
