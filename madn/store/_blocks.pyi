from typing import Any

import numpy as np
from numpy.typing import NDArray

def decode(
    planes: Any, out: NDArray[Any], least: int, most: int, squares: int, own: int, other: int, first: int
) -> bool: ...
def split(words: NDArray[Any], width: int) -> NDArray[np.uint8]: ...
def subtract(x: NDArray[Any], squares: int, own: int, other: int, first: int) -> None: ...
