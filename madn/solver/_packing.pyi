from typing import Any

import numpy as np
from numpy.typing import NDArray

class Tiles:
    counts: NDArray[np.int64]
    def __init__(
        self,
        facing: NDArray[np.uint64],
        row_class: NDArray[np.int32],
        masks: NDArray[np.uint64],
        col_class: NDArray[np.int32],
        mirrored: bool,
        threads: int,
    ) -> None: ...
    def pack(
        self,
        strip: int,
        L: NDArray[Any],
        R: NDArray[Any],
        start_l: NDArray[np.int64],
        start_r: NDArray[np.int64],
        first: int,
        last: int,
        out: NDArray[np.uint8],
    ) -> int: ...
    def unpack(
        self,
        strip: int,
        packed: NDArray[np.uint8],
        L: NDArray[Any],
        R: NDArray[Any],
        start_l: NDArray[np.int64],
        start_r: NDArray[np.int64],
        first: int,
        last: int,
    ) -> int: ...
    def unpack_half(
        self,
        strip: int,
        packed: NDArray[np.uint8],
        matrix: NDArray[Any],
        start: NDArray[np.int64],
        first: int,
        last: int,
    ) -> int: ...
    def pack_pairs(
        self, strip: int, column_class: int, pairs: NDArray[Any], out: NDArray[np.uint8], round: bool
    ) -> int: ...
    def unpack_pairs(self, strip: int, column_class: int, packed: NDArray[np.uint8], pairs: NDArray[Any]) -> int: ...

PAD: int
STORED_BYTES: dict[np.dtype[Any], int]

def spread(
    low: NDArray[np.uint8], high: NDArray[np.uint8], counts: NDArray[np.int64], widths: NDArray[np.uint8]
) -> None: ...
def widen(packed: NDArray[np.uint8], widths: NDArray[np.uint8], counts: NDArray[np.int64], divisor: int) -> None: ...
def round_values(values: NDArray[Any], threads: int) -> None: ...
