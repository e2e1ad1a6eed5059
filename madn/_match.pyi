from madn._choice import Policy

def play_many(
    first: Policy, second: Policy, own: int, other: int, seed: int, begin: int, end: int, threads: int
) -> tuple[int, int]: ...
def play_one(
    first: Policy, second: Policy, own: int, other: int, seed: int, number: int
) -> list[tuple[int, int, int]]: ...
