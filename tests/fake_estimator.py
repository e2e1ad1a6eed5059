"""An estimator for tests: a rough guess from how far both sides have come."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from madn.rules import Rules


@dataclass(frozen=True)
class FakeEstimator:
    """The chance grows with the squares that the own side is ahead."""

    rules: Rules
    error: float = 0.05

    def win(self, own: int, other: int) -> float:
        """The guess for one position."""
        ahead = self._walked(own) - self._walked(other)
        return 0.5 + 0.45 * ahead / (self.rules.pieces * (self.rules.squares + self.rules.pieces))

    def wins(self, own: NDArray[np.uint64], other: NDArray[np.uint64]) -> NDArray[np.float64]:
        """The guesses for many."""
        return np.array([self.win(*masks) for masks in zip(own.tolist(), other.tolist(), strict=True)])

    def _walked(self, mask: int) -> int:
        return sum(square + 1 for square in range(mask.bit_length()) if mask >> square & 1)
