"""The pyramid game from the paper's formulas alone: the readable twin of `madn.games.pyramid`."""

from functools import cache

State = tuple[int, ...]
Action = tuple[int, int, int]


def limit(p: int) -> int:
    """L, below Example 3.1."""
    return sum(range(1, p + 1)) // 2


def actions(x: State) -> list[Action]:
    """U(x): the union of the U_n with x_n >= 1, without marking everything when one run is all there is."""
    allowed = []
    for n in range(1, len(x) + 1):
        if x[n - 1] >= 1:
            for u2 in range(1, n + 1):
                for u3 in range(1, n + 1):
                    if u2 < n / 2 + 1 and u2 <= u3 <= n - u2 + 1:
                        allowed.append((n, u2, u3))
    if x[0] == 0 and sum(x[1:]) == 1:
        n = x.index(1) + 1
        allowed.remove((n, 1, n))
    return allowed


def g(x: State, u: Action) -> State:
    """The transition g(x, u), case by case as printed."""
    u1, u2, u3 = u
    after = []
    for i in range(1, len(x) + 1):
        if i == u1:
            after.append(x[i - 1] - 1)
        elif i == u2 - 1 == u1 - u3:
            after.append(x[i - 1] + 2)
        elif i in (u2 - 1, u1 - u3):
            after.append(x[i - 1] + 1)
        else:
            after.append(x[i - 1])
    return tuple(after)


def final(x: State) -> bool:
    return x[0] == 1 and sum(x) == 1


@cache
def W(x: State) -> int:  # noqa: N802
    """(3.2) and (3.3)."""
    return limit(len(x)) if final(x) else min(Z(g(x, u)) + 1 for u in actions(x))


@cache
def Z(x: State) -> int:  # noqa: N802
    """(3.4) and (3.5)."""
    return 0 if final(x) else max(W(g(x, u)) for u in actions(x))


@cache
def states(p: int) -> frozenset[State]:
    """Everything that can come up in a game, found by playing."""
    found = {(1,) * p}
    new = list(found)
    while new:
        x = new.pop()
        for u in [] if final(x) else actions(x):
            y = g(x, u)
            if y not in found:
                found.add(y)
                new.append(y)
    return frozenset(found)
