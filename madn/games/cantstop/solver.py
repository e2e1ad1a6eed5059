"""Solving a game: stage by stage (the open columns, fewest first), level by level (total steps, most first)."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from madn import machine
from madn.errors import InvalidRulesError
from madn.games.cantstop import kernels
from madn.games.cantstop._stage import Stage
from madn.games.cantstop.answers import Source
from madn.games.cantstop.checkpoint import Checkpoint
from madn.games.cantstop.numbering import Array, Numbering
from madn.games.cantstop.rules import CantStop
from madn.ranges import MOST_BYTES, as_int, checked_int, checked_type, shown

Progress = Callable[[float, str], None]
NEWTON, PLAIN = "newton", "plain"
PLAIN_CHANGE = 1e-15  # plain iteration ends when no value changes by more than this
LIMIT = {NEWTON: 100, PLAIN: 250}  # iterations of a component; the counters have one byte
MOST_POINTS = 1000  # no turn has this many
BINS = 5  # of Table 2
COUNTED = ("seconds", "components", "passes", "iterations", "most_iterations")


@dataclass
class Solution(Source):
    """The values of all anchors, and how much work they took.

    `values[role]` is laid out as in `numbering`. There is one role, unless a player by the rule of 28 (role 0) plays
    against one who plays optimally (role 1).
    """

    numbering: Numbering
    values: Array
    method: str
    threads: int
    rule: int | None = None
    seconds: float = 0.0
    components: int = 0  # as the paper counts them; with two roles each is counted for both
    passes: int = 0  # roll positions, each counted once for every iteration over it
    iterations: int = 0  # of all components together
    most_iterations: int = 0
    # Table 2: iterations and components by (x, y) in fifths
    table: Array = field(default_factory=lambda: np.zeros((2, BINS, BINS), np.int64))

    @property
    def game(self) -> CantStop:
        """The rules."""
        return self.numbering.game

    def anchor(self, own: tuple[int, ...], other: tuple[int, ...], won: int, lost: int) -> float:
        """The chance of the player to move; see `Source`."""
        return float(self.values[0, self.numbering.index(own, other, lost)])


def needed_memory(game: CantStop, roles: int = 1) -> int:
    """An estimate of the bytes of memory that solving takes; a lower bound for games that are far too large."""
    structures = 1
    for length in game.lengths:
        structures *= length
    if structures > 1 << 22:
        return 4 * roles * structures * structures
    ways = [1, 0, 0, 0]  # squares of one player and 0 to 3 markers, all columns open
    for length in game.lengths:
        ways = [w * length + m * (length * (length + 1) // 2) for w, m in zip(ways, [0, *ways], strict=False)]
    programs = sum(ways) // 2 * (16 + 3 * len(game.rolls))
    return 8 * roles * Numbering(game).size + programs + (100 << 20)


def check_memory(game: CantStop, roles: int = 1, memory: int | None = None) -> None:
    """Raise `ResourceError` if a game is too large for the available memory (or for `memory` bytes)."""
    what = f"{game} Can't Stop with its {game.components:,} components"
    room = None if memory is None else checked_int("memory", memory, 1, MOST_BYTES)
    machine.check_memory(what, needed_memory(game, roles), room)


def solve(
    game: CantStop,
    *,
    threads: int | None = None,
    method: str = NEWTON,
    rule: int | None = None,
    lanes: int = 8,
    build: str | None = None,
    memory: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    keep: bool = False,
    progress: Progress | None = None,
) -> Solution:
    """Solve a game; the bits do not depend on `threads`, `lanes` (8 or 1) and `build`.

    With `rule`, role 0 stops at this many points of the rule of 28 and otherwise moves as well as possible, and role 1
    plays optimally. `checkpoint` is a file to which a long solve saves its state every ten minutes; if it exists, the
    solve resumes. It is removed when the solve is complete; with `keep` it stays, for a caller that first stores the
    solution.
    """
    if method not in LIMIT:
        raise InvalidRulesError(f"method must be {NEWTON} or {PLAIN}, not {method!r}")
    if as_int(lanes) not in {1, 8}:
        raise InvalidRulesError(f"lanes must be 1 or 8, not {shown(lanes)}")
    checked_type("game", game, CantStop)
    rule = None if rule is None else checked_int("rule", rule, 0, MOST_POINTS)
    roles = 1 if rule is None else 2
    check_memory(game, roles, memory)
    numbering = Numbering(game)
    solution = Solution(numbering, np.zeros((roles, numbering.size)), method, machine.chosen_threads(threads), rule)
    keeper = None if checkpoint is None else Checkpoint(checkpoint, f"{game!r} {method} {rule}")
    _work(solution, lanes, build or machine.fastest_build(kernels.BUILDS), keeper, progress)
    if keeper and not keep:
        keeper.remove()
    return solution


def _work(solution: Solution, lanes: int, build: str, keeper: Checkpoint | None, progress: Progress | None) -> None:
    numbering = solution.numbering
    earlier = _restore(solution, keeper.load(solution.values) if keeper else None)
    work = {mask: numbering.work(mask) for mask in numbering.places}
    whole, done = float(sum(map(np.sum, work.values()))), 0.0
    begin, before = time.perf_counter(), solution.seconds
    for number, (mask, levels) in enumerate(work.items()):
        todo = [level for level in range(len(levels) - 1, -1, -1) if (number, -level) > earlier]
        if todo:
            stage = kernels.make_stage(numbering, mask, solution.values, solution.rule or 0, solution.threads, build)
        for level in todo:
            _solve_level(solution, stage, level, lanes)
            solution.seconds = before + time.perf_counter() - begin
            if keeper:
                last = number + 1 == len(work) and level == 0
                keeper.save(solution.values, _state(solution, number, level), now=last)
            if progress:
                progress(float(done + levels[level:].sum()) / whole, f"{mask.bit_count()} open columns")
        done += levels.sum()


def _solve_level(solution: Solution, stage: Stage, level: int, lanes: int) -> None:
    tolerance = -1.0 if solution.method == NEWTON else PLAIN_CHANGE
    limit = LIMIT[solution.method]
    values, partners, iterations, passes = stage.solve_level(level, lanes, tolerance, limit)
    if not len(values):
        return
    x = np.minimum((BINS * values).astype(np.int64), BINS - 1)  # a player's chance with the turn
    y = np.minimum((BINS * (1 - values[partners])).astype(np.int64), BINS - 1)  # and without it
    solution.table[0] += np.bincount(x * BINS + y, iterations, BINS**2).astype(np.int64).reshape(BINS, BINS)
    solution.table[1] += np.bincount(x * BINS + y, minlength=BINS**2).reshape(BINS, BINS)
    solution.components += len(values)
    solution.passes += passes
    solution.iterations += int(iterations.sum(dtype=np.int64))
    solution.most_iterations = max(solution.most_iterations, int(iterations.max()))


def _state(solution: Solution, stage: int, level: int) -> dict[str, Any]:
    counted = {name: getattr(solution, name) for name in COUNTED}
    return {"stage": stage, "level": level, "table": solution.table.tolist(), **counted}


def _restore(solution: Solution, state: dict[str, Any] | None) -> tuple[int, int]:
    """Restore the counts of an earlier run; return the number of its last stage, and minus its last level."""
    if state is None:
        return (-1, 0)
    for name in COUNTED:
        setattr(solution, name, state[name])
    solution.table = np.array(state["table"], np.int64)
    return (state["stage"], -state["level"])
