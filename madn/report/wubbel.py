"""Breitner, "Würfeln mit Wubbel": the dice race to 50 from a contest of the Linux-Magazin."""

import time
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from madn.games.pig import WUBBEL, Solution, article_table, best_response, duel, solve
from madn.report import Fact, Paper, Progress, quiet

PAPER = Paper("Wubbel")
GOAL = WUBBEL.target
EPS = 1e-8  # of the printed program


def facts(full: bool, progress: Progress = quiet) -> Iterator[Fact]:
    """Every statement of the article that can be computed, in its order."""
    solution = solve(WUBBEL)
    start = round(100 * solution.start, 6)
    yield PAPER.claim("the player who begins has an advantage", start > 50, f"wins {start} %")
    ends, ends_in_hand = recursion_ends(0), recursion_ends(1)
    yield PAPER.claim(
        "with the mercy point, formula (2) ends",
        ends,
        "saving with nothing in hand leads from (e, g, 0) to (g, e, 0) and back; if saving needs points in hand it "
        + ("ends" if ends_in_hand else "does not end either"),
    )
    calls, states = mercy_calls(42, 42, 0)
    yield PAPER.number(
        "calls of formula (2) with the mercy point for P(42, 42, 0)",
        4_169_474,
        calls,
        f"saving only with points in hand; {states} different states. No reading we tried gives the printed number: "
        f"P(45, 45, 0) takes {mercy_calls(45, 45, 0)[0]:,}",
    )
    printed, corrected = functional_residual(solution, False), functional_residual(solution, True)
    yield PAPER.number(
        "P is a fixed point of the functional F: largest |F(P) - P|",
        0,
        round(printed, 6),
        "F is printed with p(g, e + u, 0) for a save, where formula (1) has 1 - P(g, e + u, 0); with the latter the "
        f"difference is {corrected:.1e}",
        agrees=printed < 1e-12,
    )
    slack = contraction_slack()
    yield PAPER.claim("the weights d_u satisfy both inequalities", slack > 0, f"by at least {slack:.1e}")
    yield from _program(solution)
    yield from _decisions(solution)
    reply = duel(best_response(solution.strategy), solution.strategy)
    yield PAPER.number(
        "no strategy is stronger",
        0.5,
        round(reply.average, 12),
        "what the best response to it wins, averaged over who begins",
        agrees=round(reply.average, 12) <= 0.5,
    )


def recursion_ends(fewest_to_save: int) -> bool:
    """Whether formula (2) with the mercy point comes to an end for P(42, 42, 0): no state needs itself."""
    done: dict[tuple[int, int, int], bool] = {}

    def ends(e: int, g: int, u: int) -> bool:
        if g >= GOAL or e + u >= GOAL:
            return True
        if (e, g, u) not in done:
            done[e, g, u] = False  # while it is being computed
            needed = [(e, g, u + face) for face in range(1, 6)] + [(g, e + 1, 0)]
            needed += [(g, e + u, 0)] if u >= fewest_to_save else []
            done[e, g, u] = all(ends(*state) for state in needed)
        return done[e, g, u]

    return ends(42, 42, 0)


def functional_residual(solution: Solution, corrected: bool) -> float:
    """The largest |F(P) - P| over all states with points in hand, for F as printed or corrected."""
    worst = 0.0
    for e in range(GOAL):
        for g in range(GOAL):
            turn = solution.turn(e, g)
            lost, length = turn.hold[0], GOAL - e
            p = np.concatenate([turn.value, np.ones(5)])
            roll = (sum(p[face : face + length] for face in range(1, 6)) + lost) / 6
            save = turn.hold if corrected else 1 - turn.hold  # 1 - turn.hold is p(g, e + u, 0)
            worst = max(worst, float(np.abs(np.maximum(save, roll) - turn.value)[1:].max(initial=0)))
    return worst


def mercy_calls(e: int, g: int, u: int) -> tuple[int, int]:
    """How often the recursion of formula (2) calls P without a table, and for how many different states."""
    known: dict[tuple[int, int, int], int] = {}

    def calls(e: int, g: int, u: int) -> int:
        if g >= GOAL or e + u >= GOAL:
            return 1
        if (e, g, u) not in known:
            save = calls(g, e + u, 0) if u else 0
            roll = sum(calls(e, g, u + face) for face in range(1, 6)) + calls(g, e + 1, 0)
            known[e, g, u] = 1 + save + roll
        return known[e, g, u]

    return calls(e, g, u), len(known)


def contraction_slack() -> float:
    """The least margin by which the article's weights satisfy the two inequalities that make F a contraction."""
    weights = [Fraction(1)] + [Fraction(1, 6) * Fraction(7, 6) ** (u - 1) for u in range(1, 6)]
    while len(weights) <= GOAL:
        weights.append((7 * weights[-1] - weights[-6]) / 6)
    rest = 6 - sum(weights)  # all d'_u add up to 6: each is the sum of the five before it, divided by 6
    d = weights[:1] + [weight + rest / 600 for weight in weights[1:]]
    first = d[0] - sum(d) / 6
    others = [d[u] - sum(d[max(0, u - 5) : u]) / 6 for u in range(1, GOAL + 1)]
    return float(min(first, *others))


def _program(solution: Solution) -> Iterator[Fact]:
    table = np.empty((GOAL + 1,) * 3)
    began = time.process_time()
    updates = article_table(table, EPS)
    seconds = time.process_time() - began
    error = float(np.abs(table[:GOAL, :GOAL, 0] - solution.values).max())
    wrong = 0
    for e in range(GOAL):
        for g in range(GOAL):
            p = np.concatenate([table[e, g, : GOAL - e], np.ones(5)])
            roll = (sum(p[face : face + GOAL - e] for face in range(1, 6)) + 1 - table[g, e, 0]) / 6
            wrong += int(((1 - table[g, e:GOAL, 0] > roll) != solution.strategy.decisions(e, g))[1:].sum())
    yield PAPER.number(
        "processor seconds of the printed C program",
        "less than 1",
        round(seconds, 2),
        f"{updates:,} values computed; it stops at changes of {EPS:g}, the largest error is {error:.1e}, and "
        f"{wrong} of {solution.states:,} actions differ. Solving the game exactly takes {solution.seconds:.3f} s",
        agrees=seconds < 1,
    )


def _decisions(solution: Solution) -> Iterator[Fact]:
    holds = solution.strategy.decisions(0, 24)
    saved = [int(u) for u in np.flatnonzero(holds)]
    low, middle = [u for u in saved if u < 18], [u for u in (18, 19, 20) if not holds[u]]
    yield PAPER.number("at 0:24, save with", [16, 17], low)
    yield PAPER.number("at 0:24, roll again with", [18, 19, 20], middle)
    again = [u for u in range(21, GOAL) if not holds[u]]
    yield PAPER.number(
        "at 0:24, always save from",
        21,
        f"21 to {again[0] - 1}" if again else 21,
        f"with {again[0]} to {again[-1]} it is best to roll once more" if again else "",
        agrees=not again,
    )
    pairs = [(e, g) for e in range(GOAL) for g in range(GOAL)]
    bumpy = sum(bool((np.diff(solution.strategy.decisions(e, g)[1:].astype(int)) < 0).any()) for e, g in pairs)
    yield PAPER.claim(
        "the decision is not monotone",
        bumpy > 0,
        f"at {bumpy} of {len(pairs):,} pairs of scores, having more points in hand turns a save into a roll",
    )
