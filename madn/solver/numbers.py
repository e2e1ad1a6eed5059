"""How the solver represents a number: in 32-bit fixed point or as a 64-bit float."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Values: TypeAlias = NDArray[Any]


LINE = 64  # bytes of a cache line


def aligned_zeros(size: int, dtype: Any) -> Values:
    """An array of zeros that begins on a cache line, so that no vector of the ring lies in two lines."""
    item = np.dtype(dtype).itemsize
    room = np.zeros(size + LINE // item, dtype)
    first = -(room.ctypes.data // item) % (LINE // item)
    return room[first : first + size]


@dataclass(frozen=True)
class Representation:
    """A value is a winning probability minus one half, counted in steps of `1 / unit`.

    A solved value takes `stored` bytes on disk. `half` is one half in these steps. `finest` is the smallest residual
    that can be reached. Moves whose values differ by no more than `tie` steps count as equal. `shift` is added to
    values that leave the solver: fixed-point numbers stay as they are, floats become probabilities. `sweeps` and `cost`
    are for estimates only: the sweeps that a component takes, and the relative time of an update.
    """

    name: str
    dtype: Any
    stored: int
    half: float
    finest: float
    tie: float
    shift: float
    sweeps: int
    cost: float

    @property
    def unit(self) -> float:
        """Steps from 0 to 1."""
        return 2.0 * self.half

    @property
    def itemsize(self) -> int:
        """Bytes of a value."""
        return int(np.dtype(self.dtype).itemsize)

    def probability(self, value: float) -> float:
        """The winning probability that a value which has left the solver stands for."""
        return value if self.shift else 0.5 + value / self.unit

    def zeros(self, size: int) -> Values:
        """An array of zeros for the kernels."""
        return aligned_zeros(size, self.dtype)

    def won(self, size: int, own: bool) -> Values:
        """The values, as they leave the solver, of games that the own side, or else the other side, has won."""
        return np.full(size, self.shift + (self.half if own else -self.half), self.dtype)


# The sum of six fixed32 values fits into 32 bits. Solved values are multiples of 32 steps (`_packing.pyx`).
FIXED32 = Representation("fixed32", np.int32, 3, 1 << 28, finest=2e-7, tie=1.0, shift=0.0, sweeps=12, cost=0.8)
# Whole numbers in 64-bit floats, for bounds: sums of six are exact.
STEPS48 = Representation("steps48", np.float64, 8, 1 << 47, finest=1e-14, tie=1.0, shift=0.0, sweeps=22, cost=1.25)
FLOAT64 = Representation("float64", np.float64, 8, 0.5, finest=1e-15, tie=1e-12, shift=0.5, sweeps=22, cost=1.25)
