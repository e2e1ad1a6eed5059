from typing import Any

import numpy as np
from numpy.typing import NDArray

class Checker:
    positions: int
    def __init__(self, pieces: int, squares: int, three_rolls: bool, no_jumping: bool, must_capture: bool) -> None: ...
    def needed(self, ids: NDArray[np.int64]) -> NDArray[np.int64]: ...
    def check(
        self,
        ids: NDArray[np.int64],
        low: NDArray[Any],
        high: NDArray[Any],
        one: int,
        known: NDArray[np.int64],
        threads: int = 1,
    ) -> tuple[int, int, int, int, int, NDArray[np.int64]]: ...
