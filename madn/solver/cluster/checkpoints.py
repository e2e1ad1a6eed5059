"""What a process writes down between sweeps: two checkpoints that take turns, and a small file that says which count.

A checkpoint counts when all processes have it. It is on disk everywhere before any process notes it, and the one before
stays until all have noted the new one, so there is always one that all have.
"""

import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from madn.solver.cluster.processes import Processes
from madn.solver.figures import damaged, read_figures, write_figures, writing_to
from madn.solver.graph import Pair
from madn.solver.numbers import Values
from madn.solver.scratch import Scratch


class Checkpoints:
    """The checkpoints that one process has of one component."""

    def __init__(self, scratch: Scratch, pair: Pair, processes: Processes) -> None:
        self.scratch, self.processes = scratch, processes
        self.state = scratch.path(pair, "state")
        self.files = [scratch.path(pair, f"captures{number}") for number in range(2)]
        figures = read_figures(self.state, scratch.task)
        self.noted: list[dict[str, Any]] = figures["checkpoints"] if figures is not None else []
        self.panels: list[list[int]] | None = figures["panels"] if figures is not None else None

    def write(self, progress: Mapping[str, Any], arrays: Iterable[Values], panels: Sequence[Sequence[int]]) -> None:
        """Write a checkpoint; it counts when this returns."""
        number = (self.noted[-1]["file"] + 1) % 2 if self.noted else 0
        path = self.files[number]
        sums = []
        with writing_to(path), open(path, "wb") as file:
            for values in arrays:
                file.write(values.data)
                sums.append([len(values), zlib.crc32(values.data)])
            file.flush()
            os.fsync(file.fileno())
        self.processes.everyone(None)
        self.noted = [*self.noted[-1:], {"file": number, "progress": dict(progress), "sums": sums}]
        known = {"checkpoints": self.noted, "panels": [list(panel) for panel in panels]}
        write_figures(self.state, self.scratch.task, known)

    def newest(self) -> dict[str, Any] | None:
        """The newest checkpoint that all processes have, or None; all forget those that came after it."""
        every = self.processes.everyone([noted["progress"]["sweeps"] for noted in self.noted])
        common = set(every[0]).intersection(*every[1:])
        self.noted = [noted for noted in self.noted if noted["progress"]["sweeps"] <= max(common, default=-1)]
        return self.noted[-1] if common else None

    def read(self, noted: Mapping[str, Any], dtype: Any) -> Iterator[Values]:
        """Read the arrays of a checkpoint, one after the other."""
        path = self.files[noted["file"]]
        if not path.exists():
            raise damaged(path, "missing")
        with open(path, "rb") as file:
            for size, expected in noted["sums"]:
                values = np.fromfile(file, dtype, size)
                found = zlib.crc32(values.data)
                if len(values) != size or found != expected:
                    raise damaged(path, f"checksum expected {expected:08x}, found {found:08x}")
                yield values

    def remove(self) -> None:
        """Remove everything, now that the component is solved."""
        for path in (self.state, *self.files):
            path.unlink(missing_ok=True)
