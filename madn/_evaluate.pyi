from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn._players import CompiledPlayer

class Component:
    columns: int
    def __init__(
        self,
        pieces: int,
        a: Mapping[str, Any],
        b: Mapping[str, Any],
        L: NDArray[Any],
        R: NDArray[Any],
        a_exits: Sequence[tuple[NDArray[Any], NDArray[Any], int]],
        b_exits: Sequence[tuple[NDArray[Any], NDArray[Any], int]],
        a_policy: NDArray[np.uint32] | None,
        b_policy: NDArray[np.uint32] | None,
    ) -> None: ...
    def sweep(self, begin: int, end: int, threads: int, examine: bool) -> float: ...

def fill(
    player: CompiledPlayer,
    a_states: NDArray[np.uint64],
    b_states: NDArray[np.uint64],
    column_moves: bool,
    out: NDArray[np.uint32],
    threads: int,
) -> None: ...
