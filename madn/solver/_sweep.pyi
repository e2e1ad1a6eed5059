from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn.solver.sides import Side

WIDTH: int

class Component:
    after_capture: NDArray[Any]
    def __init__(
        self,
        rows: Side,
        columns: Side,
        L: NDArray[Any],
        R: NDArray[Any],
        start: NDArray[np.int64],
        row_offset: NDArray[np.int64],
        column_offset: NDArray[np.int64],
        row_exits: list[tuple[NDArray[Any], NDArray[Any]]],
        column_exits: list[tuple[NDArray[Any], NDArray[Any]]],
        slot: NDArray[np.int32],
        group_class: NDArray[np.int32],
        ring: int,
        mirrored: bool,
        refill: bool = False,
    ) -> None: ...
    def set_column_exits(self, column_exits: list[tuple[NDArray[Any], NDArray[Any]]], first_row: int) -> None: ...
    def restore(self, strip: int) -> None: ...
    def run(
        self, first: int, end: int, threads: int, examine: bool, skip_below: float = 0.0, rounding: float = 0.0
    ) -> tuple[Any, ...]: ...

def parts_in_order(
    counts: NDArray[np.int64], workers: int, together: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]: ...
