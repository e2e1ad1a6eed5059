import numpy as np
from numpy.typing import NDArray

from madn._core import Game

def run(
    game: Game, x: NDArray[np.float64], first: int, end: int, threads: int, write: bool
) -> tuple[float, int, int]: ...
def start_values(game: Game, x: NDArray[np.float64], value: float) -> None: ...
