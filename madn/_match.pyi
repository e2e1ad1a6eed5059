import numpy as np
from numpy.typing import NDArray

from madn._core import Game
from madn._players import CompiledPlayer

def play_many(
    first: CompiledPlayer,
    second: CompiledPlayer,
    own: int,
    other: int,
    seed: int,
    begin: int,
    end: int,
    threads: int,
) -> tuple[int, int]: ...
def play_one(
    first: CompiledPlayer, second: CompiledPlayer, own: int, other: int, seed: int, number: int
) -> list[tuple[int, int, int]]: ...

class Games:
    open: int
    counted: tuple[int, int]
    def __init__(
        self,
        game: Game,
        first: CompiledPlayer | None,
        second: CompiledPlayer | None,
        own: int,
        other: int,
        seed: int,
        begin: int,
        end: int,
    ) -> None: ...
    def advance(self, threads: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]]: ...
    def choose(self, starts: NDArray[np.int8]) -> None: ...
