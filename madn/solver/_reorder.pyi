from typing import Any

import numpy as np
from numpy.typing import NDArray

def transpose(
    matrix: NDArray[Any],
    rows: int,
    columns: int,
    out: NDArray[Any],
    first: int = 0,
    stride: int = 0,
    threads: int = 1,
) -> None: ...
def unfold(
    L: NDArray[Any],
    R: NDArray[Any],
    start: NDArray[np.int64],
    first: NDArray[np.int32],
    full_l: NDArray[Any],
    full_r: NDArray[Any],
    threads: int = 1,
) -> None: ...
def copy_rows(
    here: NDArray[Any],
    start: NDArray[np.int64],
    from_column: NDArray[np.int32],
    there: NDArray[Any],
    transposed_start: NDArray[np.int64],
    row_squares: NDArray[np.uint64],
    rows: NDArray[np.int32],
    column_masks: NDArray[np.uint64],
    columns: NDArray[np.int32],
    width: int,
    skip: int,
    out: NDArray[Any],
    shift: float,
) -> int: ...
def place_rows(
    values: NDArray[Any],
    stride: int,
    rows: NDArray[np.int32],
    squares: NDArray[np.uint64],
    columns: NDArray[np.int32],
    masks: NDArray[np.uint64],
    section: NDArray[np.int32],
    place: NDArray[np.int64],
    out: NDArray[Any],
    threads: int,
) -> None: ...
def count_values(values: NDArray[Any], counts: NDArray[np.int64]) -> None: ...
