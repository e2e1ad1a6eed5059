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
