"""OpenSpiel's `value_iteration` on its own `pig`; run by benchmarks/pig.py, in a Python that has OpenSpiel and cvxpy.

    python benchmarks/pig_openspiel.py TARGET THRESHOLD

Prints one JSON object: processor seconds, the number of states, and [own score, other score, winning probability] of
the states in which player 0 begins a turn. In this game, too, a 1 loses the turn; it also allows holding with nothing
in hand, which changes no value.
"""

import json
import re
import sys
import threading
import time

import pyspiel
from open_spiel.python.algorithms import value_iteration


def main() -> None:
    target, threshold = int(sys.argv[1]), float(sys.argv[2])
    game = pyspiel.load_game(f"pig(players=2,winscore={target},horizon=1000000)")
    began = time.process_time()
    values = value_iteration.value_iteration(game, depth_limit=-1, threshold=threshold, cyclic_game=True)
    seconds = time.process_time() - began
    turns = []
    for state, value in values.items():
        scores = re.match(r"Scores: (\d+) (\d+), Turn total: 0\nCurrent player: 0\n", state)
        if scores and int(scores[1]) < target and int(scores[2]) < target:
            turns.append([int(scores[1]), int(scores[2]), (value + 1) / 2])
    print(json.dumps({"cpu_seconds": seconds, "states": len(values), "turns": turns}))


if __name__ == "__main__":
    sys.setrecursionlimit(10**6)  # it walks through the game depth first
    threading.stack_size(1 << 29)
    walk = threading.Thread(target=main)
    walk.start()
    walk.join()
