from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from madn._core import Ranking

RULES: int
FEATURES: int

class Policy:
    pieces: int
    squares: int
    def __init__(
        self,
        pieces: int,
        squares: int,
        rules: Sequence[tuple[int, int]] = (),
        draws: bool = False,
        ranking: Ranking | None = None,
        values: NDArray[Any] | None = None,
    ) -> None: ...
    def choices(self, own: int, other: int, roll: int) -> list[tuple[int, int]]: ...
