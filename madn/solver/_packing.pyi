from typing import Any

import numpy as np
from numpy.typing import NDArray

def count(
    facing: NDArray[np.uint64],
    row_class: NDArray[np.int32],
    masks: NDArray[np.uint64],
    col_class: NDArray[np.int32],
    mirrored: bool,
    threads: int,
) -> NDArray[np.int64]: ...
def pack(
    L: NDArray[Any],
    R: NDArray[Any],
    start: NDArray[np.int64],
    facing: NDArray[np.uint64],
    masks: NDArray[np.uint64],
    row: int,
    end: int,
    col_class: NDArray[np.int32],
    first: int,
    counts: NDArray[np.int64],
    out: NDArray[Any],
) -> int: ...
def unpack(
    packed: NDArray[Any],
    L: NDArray[Any] | None,
    R: NDArray[Any] | None,
    start: NDArray[np.int64],
    facing: NDArray[np.uint64],
    masks: NDArray[np.uint64],
    row: int,
    end: int,
    col_class: NDArray[np.int32],
    first: int,
    last: int,
    counts: NDArray[np.int64],
) -> int: ...
