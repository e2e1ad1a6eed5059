from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn._core import Game

def decode_into(game: Game, first: int, data: Any, out: NDArray[np.uint8]) -> int: ...
