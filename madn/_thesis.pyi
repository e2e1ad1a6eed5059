import numpy as np
from numpy.typing import NDArray

from madn._core import Ranking

def run(
    ranking: Ranking, x: NDArray[np.float64], first: int, end: int, threads: int, write: bool
) -> tuple[float, int, int]: ...
def start_values(ranking: Ranking, x: NDArray[np.float64], value: float) -> None: ...
