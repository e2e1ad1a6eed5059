from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn.solver.tables import SweepTables

_Compared = tuple[int, int, float, tuple[float, int, int, int]]

class Sweeper:
    after_capture: NDArray[Any]
    @property
    def late(self) -> bool: ...
    def __init__(
        self,
        tables: SweepTables,
        L: NDArray[Any],
        R: NDArray[Any],
        row_exits: Iterable[tuple[NDArray[Any], NDArray[Any]]],
        column_exits: Iterable[tuple[NDArray[Any], NDArray[Any]]],
        after_capture: NDArray[Any] | None = None,
    ) -> None: ...
    def set_column_exits(self, column_exits: Iterable[tuple[NDArray[Any], NDArray[Any]]], first_row: int) -> None: ...
    def restore(self, strip: int) -> None: ...
    def place_captures(
        self,
        strip: int,
        first: int,
        end: int,
        left: NDArray[Any],
        right: NDArray[Any],
        threads: int,
        slots: bool = True,
        pairs: bool = True,
    ) -> None: ...
    def edge_sizes(self, first: int, end: int) -> tuple[int, int]: ...
    def run(
        self,
        first: int,
        end: int,
        threads: int,
        examine: bool,
        skip_below: float = 0.0,
        rounding: float = 0.0,
        edge_in: NDArray[Any] | None = None,
        edge_out: NDArray[Any] | None = None,
    ) -> tuple[Any, ...]: ...
    def choose(
        self,
        strip: int,
        first_group: int,
        end_group: int,
        tie: float,
        words_l: NDArray[np.uint16],
        words_r: NDArray[np.uint16],
    ) -> tuple[_Compared, _Compared]: ...

def parts_in_order(
    counts: NDArray[np.int64], workers: int, together: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]: ...
