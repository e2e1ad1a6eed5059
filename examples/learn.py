"""Learn to play by playing against oneself, and compare with the truth.

    python examples/learn.py [GAMES] [SEED] [PICTURE]      needs the extra madn[envs], and madn[plots] for a picture

Temporal differences, as in TD-Gammon but with a table: every board has a value, the estimated chance of the side to
move. After each roll the value of the board moves a little towards the best value that this roll can reach. An agent
plays the move that looks best, or now and then any other. The environment plays; the exact solution is the judge.
"""

import random
import sys
from collections.abc import Iterator
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

import madn
from madn import Board, Rules, ValueDatabase, envs
from madn.envs.episode import action_of
from madn.evaluate import evaluate
from madn.players import OptimalPlayer, Player

RULES = Rules(pieces=2, squares=8)
CURIOSITY = 0.1  # how often an agent tries something else


class Learner:
    """A value for each board, by its ID, and how often the board was seen."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.values = np.full(rules.positions, 0.5)
        self.visits = np.zeros(rules.positions)
        for board in (madn.unrank(number, rules) for number in range(rules.positions)):
            if board.winner is not None:
                self.values[madn.rank(board)] = board.winner == "own"
        self._known: dict[bytes, tuple[int, bool, list[tuple[int, int]]]] = {}

    def look(self, seen: NDArray[Any]) -> tuple[int, dict[int, float]]:
        """The ID of the board that an agent sees, and what each of its actions is worth by the values so far."""
        key = seen.tobytes()
        if key not in self._known:
            self._known[key] = self._read(seen)
        board, again, after = self._known[key]
        return board, {action: self.values[id] if again else 1 - self.values[id] for action, id in after}

    def _read(self, seen: NDArray[Any]) -> tuple[int, bool, list[tuple[int, int]]]:
        own, other, _, rolls = np.split(seen, np.cumsum([self.rules.goal, self.rules.goal, 2]))
        board = Board(tuple(np.flatnonzero(own)), tuple(np.flatnonzero(other)), self.rules)
        roll = int(np.argmax(rolls)) + 1
        after = [(action_of(move), madn.rank(board.after(move, roll))) for move in board.legal_moves(roll)]
        return madn.rank(board), roll == 6, after

    def best(self, seen: NDArray[Any], mask: NDArray[Any]) -> int:
        """The action that looks best: the policy."""
        worth = self.look(seen)[1]
        return max(worth, key=worth.__getitem__)

    def update(self, board: int, target: float) -> None:
        """Move the value of a board towards a target, less and less."""
        self.visits[board] += 1
        self.values[board] += (target - self.values[board]) / self.visits[board] ** 0.7


def learn(rules: Rules, games: int, seed: int) -> Iterator[tuple[int, Learner]]:
    """Play games; yields the learner after 0, 1, 2, 4, 8, ... of them, and after the last."""
    env, learner, chance = envs.aec(rules), Learner(rules), random.Random(seed)
    env.reset(seed=seed)
    for game in range(games):
        if game & (game - 1) == 0:
            yield game, learner
        env.reset()
        for _ in env.agent_iter():
            seen, _, over, _, _ = env.last()
            if over:
                env.step(None)
                continue
            board, worth = learner.look(seen)
            learner.update(board, max(worth.values()))
            curious = chance.random() < CURIOSITY
            env.step(chance.choice(list(worth)) if curious else max(worth, key=worth.__getitem__))
    yield games, learner


def loss(player: Player, optimal: OptimalPlayer, rules: Rules) -> float:
    """The winning probability that a player loses against best play, mean of both orders; exact."""
    start = Board.start(rules)
    as_first = evaluate(rules, player, optimal, start=start).first_wins(start)
    as_second = 1 - evaluate(rules, optimal, player, start=start).first_wins(start)
    return 0.5 - (as_first + as_second) / 2


def curve(database: ValueDatabase, games: int, seed: int) -> Iterator[tuple[int, float, float]]:
    """After so many games: what the policy loses against best play, and how far its values are from the exact ones."""
    truth = database.win_many(np.arange(len(database)))
    for played, learner in learn(database.rules, games, seed):
        behind = loss(envs.player(learner.best), OptimalPlayer(database), database.rules)
        yield played, behind, sqrt(np.mean((learner.values - truth) ** 2))


def main(games: int = 16384, seed: int = 1, picture: str | None = None) -> None:
    """Learn, print the curve, and draw it if a file is named."""
    with TemporaryDirectory() as folder:
        madn.solve(RULES, out=Path(folder, "truth"))
        with madn.open_database(Path(folder, "truth"), values=True) as database:
            print(f"{RULES}, seed {seed}; in points (hundredths of a win)\n")
            print("  games  behind best play  error of the values")
            rows = []
            for played, behind, error in curve(database, games, seed):
                rows.append((played, 100 * behind))
                print(f"{played:>7}  {100 * behind:>16.3f}  {100 * error:>19.2f}", flush=True)
    if picture:
        draw(rows, picture)


def draw(rows: list[tuple[int, float]], file: str) -> None:
    """Draw what the policy loses against best play."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(*zip(*rows[1:], strict=True), marker="o", markersize=4, color="#14599c")
    axes.axhline(rows[0][1], color="#b3241d", linestyle="--", linewidth=1)
    axes.annotate(
        "before the first game", (rows[1][0], rows[0][1]), (0, 4), textcoords="offset points", color="#b3241d"
    )
    axes.set(xscale="log", ylim=(0, 1.2 * rows[0][1]), xlabel="games played", ylabel="points behind best play")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)
    figure.savefig(file)


if __name__ == "__main__":
    given = dict(zip(("games", "seed"), map(int, sys.argv[1:3]), strict=False))
    main(**given, picture=sys.argv[3] if len(sys.argv) > 3 else None)
