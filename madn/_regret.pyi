from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from madn._core import Game
from madn._players import CompiledPlayer

UNITS: int

class Games:
    open: int
    losses: NDArray[np.int64]
    decisions: NDArray[np.int32]
    plies: int
    def __init__(
        self,
        game: Game,
        player: CompiledPlayer | None,
        own: int,
        other: int,
        seed: int,
        begin: int,
        end: int,
        tie: float,
    ) -> None: ...
    def advance(self, threads: int) -> NDArray[np.int64]: ...
    def asked(self) -> list[tuple[int, int, int, int]]: ...
    def where(self, place: int) -> tuple[int, int]: ...
    def choose(self, place: int, starts: Iterable[int]) -> None: ...
    def choose_best(self, wins: NDArray[np.float64], tie: float) -> None: ...
    def decide(self, wins: NDArray[np.float64], threads: int) -> None: ...
