"""Where a solve on disk hands its positions to: a database of values, one of best moves, or both."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn.store.growing import GrowingDatabase


class Databases:
    """The databases that grow beside a solve."""

    def __init__(self, values: GrowingDatabase | None, policy: GrowingDatabase | None) -> None:
        self.values, self.policy = values, policy
        self.all = [database for database in (values, policy) if database is not None]

    def wants_choices(self, first: int) -> bool:
        """Whether best moves are stored: of all positions, or of none."""
        return self.policy is not None

    def has(self, first_of_run: int, size_of_run: int) -> bool:
        """Whether all positions of a run are stored."""
        return all(database.has(first_of_run, size_of_run) for database in self.all)

    def take(self, first_of_run: int, size_of_run: int, first: int, values: NDArray[Any]) -> None:
        """Store values."""
        if self.values:
            self.values.take(first_of_run, size_of_run, first, values)

    def take_choices(self, first_of_run: int, size_of_run: int, first: int, words: NDArray[np.uint16]) -> None:
        """Store best moves."""
        if self.policy:
            self.policy.take(first_of_run, size_of_run, first, words)

    def flush(self) -> None:
        """Be done with all that was taken."""
        for database in self.all:
            database.flush()

    def publish(self, provenance: Mapping[str, Any], boards: Iterable[tuple[str, str, int, float]]) -> None:
        """Complete the databases."""
        named = list(boards)
        for database in self.all:
            database.publish(provenance, named)
