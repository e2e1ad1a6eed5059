from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MAX_TIERS: int
PADDING: int

class Blocks:
    def __init__(
        self,
        tiers: int,
        ways: NDArray[np.uint32],
        most: NDArray[np.int16],
        room: NDArray[np.int16],
        counts: Sequence[int],
    ) -> None: ...
    @property
    def tiers(self) -> int: ...
    @property
    def kinds(self) -> int: ...
    @property
    def candidates(self) -> int: ...
    def lay_out(self, level: int, threads: int) -> int: ...
    def blocks(self, level: int) -> int: ...
    def solve(
        self,
        levels: Sequence[NDArray[np.uint8] | None],
        level: int,
        begin: int,
        end: int,
        limit: int,
        threads: int,
    ) -> None: ...
    def block(self, level: int, number: int) -> tuple[tuple[int, ...], list[int]]: ...
    def find(self, state: Sequence[int]) -> tuple[int, int] | None: ...
