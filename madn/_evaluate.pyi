from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn._players import CompiledPlayer
from madn.evaluate import SideTables

Exit = tuple[NDArray[Any], NDArray[Any], int]

class Evaluator:
    columns: int
    def __init__(
        self,
        pieces: int,
        must_capture: bool,
        a: SideTables,
        b: SideTables,
        L: NDArray[Any],
        R: NDArray[Any],
        a_exits: Sequence[Exit],
        b_exits: Sequence[Exit],
        a_sets: NDArray[np.uint32] | None,
        b_sets: NDArray[np.uint32] | None,
    ) -> None: ...
    def sweep(self, begin: int, end: int, threads: int, examine: bool) -> float: ...

def fill(
    player: CompiledPlayer,
    movers: NDArray[np.uint64],
    others: NDArray[np.uint64],
    out: NDArray[np.uint32],
    threads: int,
) -> None: ...
