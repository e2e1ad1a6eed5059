from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LIMITS: tuple[int, int]

class Kernel:
    def __init__(
        self, target: int, faces: int, losing: int, exact: bool, paid: bool, mercy: bool, dead: Sequence[bool]
    ) -> None: ...
    @property
    def waves(self) -> int: ...
    def solve(self, values: NDArray[np.float64], after: NDArray[np.float64], wave: int, threads: int) -> None: ...
    def meet(
        self,
        rolls: NDArray[np.float64],
        waits: NDArray[np.float64],
        mine: NDArray[np.uint8] | None,
        theirs: NDArray[np.uint8],
        win: float,
        loss: float,
        never: float,
        wave: int,
        threads: int,
    ) -> None: ...
    def check_rows(
        self,
        values: NDArray[np.float64],
        after: NDArray[np.float64],
        tie: float,
        first: int,
        end: int,
        threads: int,
    ) -> tuple[float, float, int, int, int, int]: ...
    def turn(
        self,
        values: NDArray[np.float64],
        after: NDArray[np.float64],
        tie: float,
        a: int,
        b: int,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]: ...
    def decide(
        self,
        values: NDArray[np.float64] | None,
        after: NDArray[np.float64],
        tie: float,
        bits: NDArray[np.uint8],
        a: int,
        threads: int,
    ) -> None: ...
    def fewest_turns(self) -> tuple[NDArray[np.float64], NDArray[np.uint8]]: ...
