import numpy as np
from numpy.typing import ArrayLike, NDArray

SECOND_UNITS: int

class Fitter:
    weights: NDArray[np.float32]
    steps: int
    def __init__(
        self, pieces: int, squares: int, distances: int, stretch: int, first: int, weights: ArrayLike
    ) -> None: ...
    def run(
        self,
        own: NDArray[np.uint64],
        other: NDArray[np.uint64],
        flags: NDArray[np.uint8],
        targets: NDArray[np.float32],
        weights: NDArray[np.float32],
        wins: NDArray[np.float32],
        rate: float,
        step: bool,
        threads: int,
    ) -> None: ...
