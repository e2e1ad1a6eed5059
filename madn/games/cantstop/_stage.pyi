import numpy as np
from numpy.typing import NDArray

from madn.games.cantstop._turns import Turns

class Stage:
    def __init__(
        self,
        turns: Turns,
        packed: NDArray[np.uint64],
        mirror: NDArray[np.int32],
        total: NDArray[np.int64],
        placement: NDArray[np.int32],
        column: NDArray[np.int32],
        shift: NDArray[np.int64],
        row: NDArray[np.int32],
        values: NDArray[np.float64],
        place: int,
        cells: int,
        threshold: int,
        scale: float,
        threads: int,
    ) -> None: ...
    def solve_level(
        self, level: int, lanes: int, tolerance: float, limit: int
    ) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.uint8], int]: ...
