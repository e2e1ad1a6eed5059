"""Crocce and Mordecki, "Optimal minimax strategy in a dice game": Pig to 200 in three variants."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from madn.games.pig import Pig, Solution, Strategy, best_response, duel, fewest_turns, solve
from madn.report import Fact, Paper, Progress, quiet

PAPER = Paper("Pig")
TARGET, FACES = 200, 6


def facts(full: bool, progress: Progress = quiet) -> Iterator[Fact]:
    """Every statement of the paper that can be computed, in its order."""
    yield from _classic(solve(Pig(TARGET, FACES)))
    yield from _exact(solve(Pig(TARGET, FACES, variant="exact")))
    yield from _difference(solve(Pig(TARGET, FACES, variant="difference")))


def holds_and_choices(strategy: Strategy) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Two tables [own, other, turn]: where the strategy holds, and where there is a choice that play can reach."""
    game = strategy.game
    scores = np.arange(game.target)
    faces = [face for face in range(1, game.faces + 1) if face != game.losing_face]
    reached = np.zeros(game.target, bool)
    reached[0] = True
    for turn in scores[1:]:
        reached[turn] = any(turn >= face and reached[turn - face] for face in faces)
    choice = (scores > 0) & reached & (scores < game.target - scores[:, None])
    choices = np.broadcast_to(choice[:, None, :], (game.target,) * 3)
    holds = np.unpackbits(strategy.bits, axis=-1, count=game.target, bitorder="little").astype(bool)
    return holds & choices, choices


def first_holds(holds: NDArray[np.bool_], scores: int) -> tuple[int, int, int]:
    """The smallest turn score at which to hold: at 0:0, and its range while both scores are below `scores`."""
    first = holds[:scores, :scores].argmax(axis=-1)
    return int(first[0, 0]), int(first.min()), int(first.max())


def _classic(solution: Solution) -> Iterator[Fact]:
    states, strategy = solution.states, solution.strategy
    holds, _ = holds_and_choices(strategy)
    sixes = 2 * (-(-TARGET // FACES) - 1) + 1
    yield PAPER.number(
        "a 6 rolled 70 times in a row ends every game",
        70,
        sixes,
        f"{sixes} are enough: whenever they hold, one of the two players gets {-(-TARGET // FACES)} of them",
        agrees=sixes <= 70,
    )
    reply = duel(best_response(strategy), strategy)
    yield PAPER.number(
        "the optimal strategy wins at least half of the games, whatever the other does",
        0.5,
        round(1 - reply.average, 12),
        "against the best response to it, averaged over who begins",
        agrees=round(1 - reply.average, 12) >= 0.5,
    )
    yield PAPER.number(
        "states in which an action must be given",
        "about 4 000 000",
        states,
        "own and other score 0 to 199, turn score 1 to 199 minus the own score; for one player",
        agrees=round(states, -6) == 4_000_000,
    )
    start, least, most = first_holds(holds, 40)
    yield PAPER.number(
        "at low scores: roll below 20 points, stop from 20 on",
        20,
        start,
        f"at 0:0 the first stop is {start}; it lies between {least} and {most} while both scores are below 40",
        agrees=start == least == most == 20,
    )
    gains = [5 * turn + sum(range(2, FACES + 1)) - 6 * turn for turn in range(1, 40)]  # six times the gain of a roll
    most_points = 1 + next(i for i, gain in enumerate(gains) if gain <= 0)
    yield PAPER.number(
        "the largest expected turn score (Roters): stop from 20 points on",
        20,
        most_points,
        "with exactly 20, rolling and stopping are worth the same",
    )
    counts = holds.sum(axis=(0, 2))
    falling = bool((np.diff(counts) <= 0).all())
    listed = [f"{counts[score]:,}" for score in (0, 150, 180, 185)]
    yield PAPER.claim(
        "the larger the opponent's score, the riskier the strategy",
        falling,
        f"the number of states with a stop never increases: {', '.join(listed)} for 0, 150, 180, 185",
    )
    last = int(np.flatnonzero(counts).max())
    yield PAPER.number(
        "the opponent's score from which every state rolls",
        187,
        last + 1,
        f"sharp: at {last} there are still {counts[last]} states with a stop",
    )
    turns, expected = fewest_turns(solution.game)
    result = duel(strategy, turns)
    yield PAPER.number(
        "wins in % against fewest expected turns (Haigh and Roters)",
        52,
        round(100 * result.average, 6),
        f"10 000 000 games there, computed here: {100 * result.starting:.4f} if it begins, {100 * result.replying:.4f} "
        f"otherwise. The other strategy needs {expected[0]:.4f} turns",
        agrees=round(100 * result.average) == 52,
    )
    yield _gap(solution, 1e-8)


def _exact(solution: Solution) -> Iterator[Fact]:
    game, strategy = solution.game, solution.strategy
    holds, choices = holds_and_choices(strategy)
    losing = [face for face in range(1, FACES + 1) if face == game.losing_face or 180 + 16 + face > TARGET]
    yield PAPER.number("exact variant: faces that lose the turn at 180 + 16", [1, 5, 6], losing)
    dead = game.dead_scores()
    yield PAPER.claim(
        "exact variant: the game is transient",
        not dead,
        f"no roll scores from {dead[0]}: at ({dead[0]},{dead[0]}) nobody can finish. Optimal play never goes there",
    )
    start, least, most = first_holds(holds, 40)
    yield PAPER.number(
        "exact variant, far from the target: stop if the turn score is above 20",
        "similar to",
        start,
        f"at 0:0 the first stop is {start}; it lies between {least} and {most} while both scores are below 40",
        agrees=least >= 19 and most <= 23,
    )
    counts = holds.sum(axis=(0, 2))
    alive = [other for other in range(TARGET) if other not in dead]
    fewest = min(alive, key=lambda other: int(counts[other]))
    yield PAPER.claim(
        "exact variant: the strategy never becomes so risky",
        bool(counts[alive].all()),
        f"every score that can still win has states with a stop against it, at least {counts[fewest]:,} (at {fewest})",
    )
    chances = [_chance_in_a_turn(need) for need in range(1, TARGET + 1)]
    best = max(range(TARGET), key=chances.__getitem__)
    yield PAPER.number(
        "exact variant: the probability of winning in any turn is at most 1/6",
        round(1 / 6, 6),
        round(chances[best], 6),
        f"1/6 bounds a roll, not a turn: with {best + 1} points missing, rolling on wins with probability "
        f"{chances[best]:.6f}",
        agrees=chances[best] <= 1 / 6,
    )
    rolls = {}
    for total in range(180, TARGET):
        own = np.arange(total)
        open_ = choices[own, :, total - own][:, alive]
        rolls[total] = int((open_ & ~holds[own, :, total - own][:, alive]).sum())
    widest = max(range(180, 199), key=rolls.__getitem__)
    yield PAPER.number(
        "exact variant: score plus turn score with the larger roll zone",
        194,
        widest,
        f"states that roll: {', '.join(f'{rolls[total]:,} on {total}' for total in (192, 193, 194, 195))}; on 194 it "
        "is best to stop almost everywhere. (199, from which no roll scores, is left out.)",
    )
    yield _gap(solution, 1e-9)


def _gap(solution: Solution, printed: float) -> Fact:
    gap = solution.smallest_gap
    return Paper("published.json").number(
        f"{solution.game.variant} variant: smallest gap between rolling and holding, about",
        printed,
        float(f"{gap:.3g}"),
        f"in the state {','.join(map(str, solution.smallest_gap_state))}",
        agrees=printed / 2 < gap < 2 * printed,
    )


def _chance_in_a_turn(need: int) -> float:
    """The probability of scoring exactly this many points in one turn by rolling on."""
    chance = np.zeros(need + FACES + 1)
    chance[need] = 1
    for turn in range(need - 1, -1, -1):
        chance[turn] = chance[turn + 2 : turn + FACES + 1].sum() / FACES
    return float(chance[0])


def _difference(solution: Solution) -> Iterator[Fact]:
    holds, _ = holds_and_choices(solution.strategy)
    stops = np.flatnonzero(holds.any(axis=(1, 2)))
    near = int(stops.max()) + 1
    low = int(np.flatnonzero(holds[:, :181].any(axis=(1, 2))).max()) + 1
    yield PAPER.claim(
        "difference variant: near the target it rolls whatever the opponent's score",
        near < TARGET,
        f"true for own scores: from {near} on every state rolls, against scores up to 180 from {low} on. Not true if "
        f"the turn score counts: at 0 + 199 points against 0 the action is to {solution.action(0, 0, 199)}",
    )
