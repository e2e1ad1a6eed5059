from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn._core import Ranking

def encode(ranking: Ranking, first: int, choices: NDArray[np.uint8]) -> tuple[bytes, int]: ...
def decode_into(ranking: Ranking, first: int, data: Any, out: NDArray[np.uint8]) -> int: ...
