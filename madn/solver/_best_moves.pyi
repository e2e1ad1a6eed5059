from typing import Any

import numpy as np
from numpy.typing import NDArray

def fill_captures(
    L: NDArray[Any],
    R: NDArray[Any],
    start: NDArray[np.int64],
    facing: NDArray[np.uint64],
    square_first: NDArray[np.int32],
    holder: NDArray[np.int32],
    captured: NDArray[np.int32],
    columns: int,
    first_row: int,
    end_row: int,
    threads: int,
) -> None: ...
def choose(
    bases: list[tuple[NDArray[Any], NDArray[Any]]],
    start: NDArray[np.int64],
    facing: NDArray[np.uint64],
    first: NDArray[np.int32],
    kind: NDArray[np.int8],
    offset: NDArray[np.int64],
    lands: NDArray[np.uint64] | None,
    masks: NDArray[np.uint64],
    first_row: int,
    end_row: int,
    tie: float,
    threads: int,
    words: NDArray[np.uint16] | None = None,
) -> tuple[int, int, float, tuple[float, int, int, int]]: ...
