"""The graph of components: pairs of finish zones, the order to solve them in, and which needs which.

A finish zone is the set of its occupied squares, bit i for finish square i. Pieces in it only move forward and never
leave it, so a move either stays in its pair of finish zones or leads to a more advanced one.
"""

import itertools
from collections.abc import Collection
from functools import cache

import numpy as np

from madn._core import Game
from madn.rules import DIE, Rules

Pair = tuple[int, int]


def finish_zones(rules: Rules) -> range:
    """All occupations of a finish zone except the full one."""
    return range((1 << rules.pieces) - 1)


@cache
def exits(rules: Rules, finish: int) -> tuple[int, ...]:
    """The finish zones that one move leads to from this one, ascending; the full one is left out.

    Which pieces can enter the finish zone or move inside it depends on the pieces there and on the six squares before
    it. So it is enough to look at states whose other pieces stand on those squares or right behind them.
    """
    S, P = rules.squares, rules.pieces
    near = range(max(0, S - DIE - P), S)
    states = [sum(1 << q for q in squares) for squares in itertools.combinations(near, P - finish.bit_count())]
    _, after, _ = Game(rules).move_table(np.array(states, np.uint64) | np.uint64(finish << S))
    reached = {int(zone) for zone in np.unique(after >> np.uint64(S))}
    return tuple(sorted(reached & set(finish_zones(rules)) - {finish}))


@cache
def later_zones(rules: Rules, finish: int) -> frozenset[int]:
    """The finish zones that a side can reach from this one, itself included; the full one is left out."""
    return frozenset({finish}).union(*(later_zones(rules, zone) for zone in exits(rules, finish)))


def components(rules: Rules, start: Pair = (0, 0)) -> list[Pair]:
    """The pairs of finish zones to solve, most advanced first, each with its larger side first.

    Only those that can be reached from a position with the finish zones `start`: by default all.
    """

    def advance(zone: int) -> tuple[int, int]:
        return zone.bit_count(), sum(i for i in range(rules.pieces) if zone >> i & 1)

    def order(pair: Pair) -> tuple[int, int, Pair]:
        (n1, s1), (n2, s2) = advance(pair[0]), advance(pair[1])
        return -(n1 + n2), -(s1 + s2), pair

    zones = sorted(finish_zones(rules), key=advance)
    reach = [later_zones(rules, zone) for zone in start]
    pairs = ((f, g) for i, f in enumerate(zones) for g in zones[i:])
    return sorted((p for p in pairs if any(p[k] in reach[0] and p[1 - k] in reach[1] for k in range(2))), key=order)


@cache
def needed(rules: Rules, pair: Pair) -> frozenset[frozenset[int]]:
    """The finish zones of the components that a move of either side leads to from this one."""
    return frozenset(frozenset((x, g)) for f, g in (pair, pair[::-1]) for x in exits(rules, f))


def users(rules: Rules, pair: Pair, pairs: Collection[Pair]) -> list[Pair]:
    """The pairs from which a move of either side leads to this one."""
    return [user for user in pairs if frozenset(pair) in needed(rules, user)]


def pair_text(rules: Rules, pair: Pair) -> str:
    """A component as people write it: both finish zones, `o` for a piece, `.` for a free square."""
    return "/".join("".join("o" if zone >> i & 1 else "." for i in range(rules.pieces)) for zone in pair)
