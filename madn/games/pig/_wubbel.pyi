import numpy as np
from numpy.typing import NDArray

def article_table(table: NDArray[np.float64], eps: float) -> int: ...
