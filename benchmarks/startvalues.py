"""Sweeps from different start values (thesis, section 4.2): prints a table, then one JSON object.

    python benchmarks/startvalues.py               about ten minutes on two cores
    python benchmarks/startvalues.py --pieces 2    only up to two pieces: a minute

For the thesis' algorithm: sweeps until no value changes by more than 1e-6. For method `tiles`: the most sweeps that any
component needs for a residual of 1e-6 with 32-bit values, and the position updates of all sweeps, which is what counts
there: components differ in size, and in the smaller ones tiles that have settled are left alone. Guesses are fitted to
the game with one piece less, as they would be in practice; for one piece, to the game itself. "Solved, to two digits"
is not a guess but a bound for all guesses. "Estimator" means the values of `madn.estimator` for the game itself.
`guess_seconds` is the processor time for computing the guesses, which is part of their cost.

    python benchmarks/startvalues.py --pieces 3 --for 0,42/0,42          only what a position can lead to
    python benchmarks/startvalues.py --pieces 4 --for 0,40,41/0,40,41    the whole game is too large for this
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from time import process_time
from typing import Any

import numpy as np

os.environ.setdefault("GOMP_SPINCOUNT", "2000")  # as the command line does, before anything loads OpenMP

from hardware import hardware

from madn import Rules
from madn._core import Game
from madn.cli.output import columns
from madn.estimator import Estimator, find_estimator
from madn.solver import make_plan, solve
from madn.solver.components import InMemory, Matrices
from madn.solver.convergence import Convergence
from madn.solver.numbers import FIXED32
from madn.solver.sides import Side
from madn.startvalues import (
    Distances,
    Guess,
    Wins,
    balanced,
    by_ratio,
    distances,
    guessed,
    open_positions,
    spread,
    sweeps,
)

CASES = [Rules(1), Rules(2, 20), Rules(2), Rules(3), Rules(4)]
THESIS_UP_TO = 2  # pieces: with three, a sweep of the thesis' algorithm takes minutes
SOLVED = "solved, to two digits"


def by_race(rules: Rules, wins: Wins) -> Guess:
    """A guess by who is ahead in a race and by how much, fitted to the winning probabilities of all open positions.

    The spread that dice add to a walk grows with the square root of its length, so a lead is measured in square roots
    of what is left to walk. The log odds are fitted as a curve of that lead, with a term for having the turn.
    """
    ids, own, other = map(np.concatenate, zip(*open_positions(Game(rules)), strict=True))
    values = np.asarray(wins, np.float64)[ids]
    terms = _race_terms(own, other)
    fitted, *_ = np.linalg.lstsq(terms, np.log(values / (1 - values)), rcond=None)

    def guess(own: Distances, other: Distances) -> Wins:
        odds: Wins = np.exp(_race_terms(own, other) @ fitted)
        return odds / (1 + odds)

    return guess


def _race_terms(own: Distances, other: Distances) -> Wins:
    left = np.sqrt(own.astype(np.float64) + other)
    lead = (other - own) / left
    return np.stack([lead, np.abs(lead) * lead, lead**3, 1 / left], 1)


def guesses(rules: Rules, threads: int) -> Iterator[tuple[str, Guess | Estimator | None]]:
    """What a solve could begin with if the solution of this game is not known."""
    smaller = replace(rules, pieces=max(1, rules.pieces - 1))
    plan = make_plan(smaller, threads=threads)
    stored = np.empty(smaller.positions, plan.representation.dtype)
    solve(plan).read(0, stored)
    wins = stored if plan.representation.shift else 0.5 + stored / plan.representation.unit
    polynomial = spread(smaller, wins.take).polynomial()
    yield "0.5", None
    yield "polynomial", by_ratio(polynomial)
    yield "its symmetrical part", by_ratio(balanced(polynomial))
    yield "race", by_race(smaller, wins)
    yield "estimator", find_estimator(rules)


def fill(component: InMemory, guess: Guess) -> None:
    """Put guesses into the matrices of a component, and into what else the kernel keeps."""
    rows, columns, m = component.rows, component.columns, component.values
    own, other = (distances(s.masks | np.uint64(s.finish << s.rules.squares), s.rules) for s in (rows, columns))
    unit = component.representation.unit
    for a in range(rows.size):
        first, begin = int(m.first[a]), int(m.start[a] + m.first[a])
        theirs = other[first:]
        mine = np.full(len(theirs), own[a], np.int32)
        m.L[begin : begin + len(theirs)] = np.rint((guess(mine, theirs) - 0.5) * unit)
        m.R[begin : begin + len(theirs)] = np.rint((0.5 - guess(theirs, mine)) * unit)
    restore(component)


def fill_estimated(component: InMemory, estimator: Estimator) -> None:
    """Put the values of an estimator into the matrices of a component, half of each if it is mirrored."""
    rows, columns, m = component.rows, component.columns, component.values
    unit, zone = component.representation.unit, np.uint64(rows.rules.squares)
    mine, theirs = (side.masks | np.uint64(side.finish) << zone for side in (rows, columns))
    for a in range(rows.size):
        first, begin = int(m.first[a]), int(m.start[a])
        places = first + np.flatnonzero(columns.masks[first:] & rows.facing[a] == 0)
        others = theirs[places]
        own = np.full(len(others), mine[a], np.uint64)
        m.L[begin + places] = np.rint((estimator.wins(own, others) - 0.5) * unit)
        m.R[begin + places] = np.rint((0.5 - estimator.wins(others, own)) * unit)
    restore(component)


def restore(component: InMemory) -> None:
    for strip in range(component.strips):
        component.sweeper.restore(strip)


def tiles(rules: Rules, guess: Guess | Estimator | str | None, threads: int, board: str | None) -> dict[str, Any]:
    """Solve one component after the other, each from a guess."""
    plan = replace(make_plan(rules, tolerance=1e-6, threads=threads, board=board), representation=FIXED32)
    sides = {f: Side(rules, f) for pair in plan.pairs for f in pair}
    solved: dict[tuple[int, int], Matrices] = {}
    most, updates, seconds = 0, 0, 0.0
    for f, g in plan.pairs:
        component = InMemory(sides[f], sides[g], plan.representation, solved, threads)
        if guess == SOLVED:
            list(Convergence(component, plan).run())
            unit = plan.representation.unit / 100
            for matrix in (component.values.L, component.values.R):
                matrix[:] = np.rint(np.rint(matrix / unit) * unit)
            rounded = InMemory(sides[f], sides[g], plan.representation, solved, threads)
            rounded.values.L[:], rounded.values.R[:] = component.values.L, component.values.R
            component = rounded
            restore(component)
        began = process_time()
        if isinstance(guess, Estimator):
            fill_estimated(component, guess)
        elif callable(guess):
            fill(component, guess)
        seconds += process_time() - began
        convergence = Convergence(component, plan)
        list(convergence.run())
        most, updates = max(most, convergence.sweeps), updates + convergence.updates
        solved |= component.matrices(both=False)
    return {"sweeps": most, "updates": updates, "guess_seconds": round(seconds, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pieces", type=int, default=3, help="the largest game")
    parser.add_argument("--threads", type=int, default=2, help="for method tiles")
    parser.add_argument("--for", dest="board", help="only what this position of the largest game can lead to")
    arguments = parser.parse_args()
    found = []
    for rules in CASES:
        if rules.pieces > arguments.pieces or (arguments.board and rules != Rules(arguments.pieces)):
            continue
        for name, guess in [*guesses(rules, arguments.threads), (SOLVED, SOLVED)]:
            if name == "estimator" and guess is None:
                continue  # there is no estimator for this game
            row: dict[str, Any] = {"pieces": rules.pieces, "squares": rules.squares, "start": name}
            if rules.pieces <= THESIS_UP_TO and guess != SOLVED and not isinstance(guess, Estimator):
                x = guessed(rules, guess if callable(guess) else by_ratio(np.array([0.5])))
                row["thesis_sweeps"] = len(sweeps(rules, x))
            row |= tiles(rules, guess, arguments.threads, arguments.board)
            found.append(row)
            print(row, file=sys.stderr)
    heads = ["pieces", "squares", "start", "thesis_sweeps", "sweeps", "updates", "guess_seconds"]
    print(columns([heads, *([str(row.get(head, "")) for head in heads] for row in found)]), file=sys.stderr)
    print(json.dumps({"hardware": hardware(), "rows": found}, indent=2))


if __name__ == "__main__":
    main()
