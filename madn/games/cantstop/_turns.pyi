from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

class Turns:
    def __init__(
        self,
        left: NDArray[np.int8],
        begin: NDArray[np.int64],
        rolls: list[tuple[int, tuple[tuple[int, int], ...]]],
        sets: Sequence[int],
        lengths: Sequence[int],
        places: Sequence[int],
        bonus: Sequence[int],
        radix: NDArray[np.int64],
        row_first: NDArray[np.int64],
        block: NDArray[np.int64],
        rows: NDArray[np.int32],
        threads: int,
    ) -> None: ...
    def program(self, structure: int) -> NDArray[np.uint16]: ...
