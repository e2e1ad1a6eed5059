"""Keeping the state of a long solve in a file, so that one that was stopped can go on."""

import json
import os
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from madn.errors import CorruptBlockError
from madn.games.cantstop.layout import Array

PAUSE = 600.0  # seconds between two writes


class Checkpoint:
    """A file with the values so far and what was counted; it is replaced in one step.

    `task` is one line that says all the result depends on: a file of another task is not read but refused.
    """

    def __init__(self, path: str | os.PathLike[str], task: str, pause: float = PAUSE) -> None:
        self.path, self.task, self.pause = Path(path), task, pause
        self.next = time.monotonic() + pause

    def load(self, values: Array) -> dict[str, Any] | None:
        """Fill in the values of an earlier run and return what it had counted; None if there was none."""
        if not self.path.exists():
            return None
        try:
            with np.load(self.path, allow_pickle=False) as found:
                state: dict[str, Any] = json.loads(str(found["state"]))
                if state.pop("task") != self.task:
                    raise CorruptBlockError(f"{self.path}: a checkpoint of another solve")
                values[...] = found["values"]
        except (OSError, ValueError, KeyError, AttributeError, zipfile.BadZipFile) as error:
            if isinstance(error, CorruptBlockError):
                raise
            raise CorruptBlockError(f"{self.path}: not a checkpoint, or damaged: {error}") from None
        return state

    def save(self, values: Array, state: dict[str, Any]) -> None:
        """Write, if the last time is long enough ago."""
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
        """The work is done."""
        self.path.unlink(missing_ok=True)
