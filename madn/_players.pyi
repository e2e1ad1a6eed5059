from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from madn._core import Game

RULES: int
FEATURES: int

class CompiledPlayer:
    game: Game
    def __init__(
        self,
        game: Game,
        rules: Sequence[tuple[int, int, bool]] = (),
        draws: bool = False,
        values: NDArray[Any] | None = None,
        tie: float = 0.0,
    ) -> None: ...
    def choices(self, own: int, other: int, roll: int) -> list[tuple[int, int]]: ...
