import numpy as np
from numpy.typing import NDArray

from madn._core import Game

class Network:
    def __init__(
        self,
        game: Game,
        distances: int,
        stretch: int,
        second_bits: int,
        rows: NDArray[np.int16],
        first_bias: NDArray[np.int32],
        second: NDArray[np.int16],
        second_bias: NDArray[np.int32],
        last: NDArray[np.int32],
        last_bias: NDArray[np.int64],
        curve: NDArray[np.uint32],
    ) -> None: ...
    def wins(self, own: NDArray[np.uint64], other: NDArray[np.uint64], threads: int = 1) -> NDArray[np.float64]: ...

def active(game: Game, distances: int, stretch: int, own: int, other: int) -> list[int]: ...
def row_count(pieces: int, squares: int, distances: int, stretch: int) -> int: ...
