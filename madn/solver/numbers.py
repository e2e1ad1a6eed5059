"""How the solver keeps a number: in 32-bit fixed point or in 64-bit floats."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Values: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class Representation:
    """A value is a winning probability less one half, counted in steps of `1 / unit`.

    `half` is one half in these steps. `finest` is the smallest residual that can be reached. Moves whose values differ
    by no more than `tie` steps are equal. `shift` is added to values that leave the solver: fixed-point numbers stay as
    they are, floats become probabilities. `sweeps` and `cost` serve estimates only: the sweeps that a component takes,
    and the time of an update.
    """

    name: str
    dtype: Any
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
        """The winning probability that a value stands for which has left the solver."""
        return value if self.shift else 0.5 + value / self.unit

    def zeros(self, size: int) -> Values:
        """An array of zeros."""
        return np.zeros(size, self.dtype)

    def won(self, size: int, own: bool) -> Values:
        """The values, as they leave the solver, of games that the own side, or else the other side, has won."""
        return np.full(size, self.shift + (self.half if own else -self.half), self.dtype)


# Six fixed32 values add up inside 32 bits.
FIXED32 = Representation("fixed32", np.int32, 1 << 28, finest=1e-8, tie=1.0, shift=0.0, sweeps=12, cost=0.8)
FLOAT64 = Representation("float64", np.float64, 0.5, finest=1e-15, tie=1e-12, shift=0.5, sweeps=22, cost=1.25)
