from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn._core import Game

def successors(game: Game, first: int, out: NDArray[np.int64]) -> None: ...

class BlockIndex:
    def __init__(
        self, first_ids: NDArray[np.int64], counts: NDArray[np.int64], dtype: Any, zero: float, scale: float
    ) -> None: ...
    def needed(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]: ...

class DecodedBlocks:
    nbytes: int
    def __init__(self, index: BlockIndex) -> None: ...
    def absent(self, blocks: NDArray[np.int64]) -> NDArray[np.int64]: ...
    def add(self, at: int, array: NDArray[Any]) -> None: ...
    def look_up(self, ids: NDArray[np.int64], out: NDArray[np.float64]) -> None: ...

def choose(ids: NDArray[np.int64], wins: NDArray[np.float64], tie: float, out: NDArray[np.uint8]) -> int: ...
def losses(
    ids: NDArray[np.int64],
    wins: NDArray[np.float64],
    weights: NDArray[np.float64],
    zero: float,
    scale: float,
    out: NDArray[np.float64],
) -> None: ...
