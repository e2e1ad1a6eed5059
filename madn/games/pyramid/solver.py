"""W and Z of every state: the recursions (3.2)-(3.5) of the paper, from few bars to many."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from madn import machine
from madn.errors import IllegalMoveError, InvalidBoardError, InvalidRulesError, MissingBlockError, ResourceError
from madn.games.pyramid._pyramid import MAX_TIERS, PADDING, Blocks, bounds
from madn.ranges import as_int, checked_int, checked_type, shown

State = tuple[int, ...]
Progress = Callable[[float, str], None]

MIN_TIERS, MOST_TIERS = 2, 100  # of games that are accepted; memory runs out long before
MOST_RUNS = 99_999
BASE_MEMORY = 60 << 20  # Python, numpy and the tables of shapes
CHUNK = 1 << 16  # blocks between two checks for Ctrl-C
TABLE_ROWS = 1 << 14  # rows of a table at a time
NUMBERING = 0.3  # the share of the time that numbering takes


class Action(NamedTuple):
    """Mark bars `first` to `last` of a run of `run` bars; (u1, u2, u3) in the paper."""

    run: int
    first: int
    last: int

    def __str__(self) -> str:
        return f"({self.run},{self.first},{self.last})"


class Value(NamedTuple):
    """W and Z of a state: turns that the player to move and the other player need to win."""

    first: int
    second: int


def start(tiers: int) -> State:
    """The state that a game begins in: one run of each length."""
    return (1,) * check_tiers(tiers)


def limit(tiers: int) -> int:
    """L of the paper: W of the state with one bar, half of all bars; nobody who wins needs more turns."""
    return check_tiers(tiers) * (tiers + 1) // 4


def check_tiers(tiers: int) -> int:
    """Return the number of tiers, or raise InvalidRulesError if there is no such game."""
    return checked_int("tiers", tiers, MIN_TIERS, MOST_TIERS, InvalidRulesError)


def parse_state(text: str, tiers: int) -> State:
    """Read a state such as 1,1,0,1,0: the number of runs of 1 bar, of 2 bars, and so on."""
    parts = checked_type("state", text, str).split(",")
    if len(parts) != check_tiers(tiers):
        raise InvalidBoardError(f"state '{text}': expected {tiers} numbers for {tiers} tiers, found {len(parts)}")
    for part in parts:
        if not (part.isascii() and part.isdigit() and len(part) < 6):
            raise InvalidBoardError(f"state '{text}': '{part}' is not a number of runs")
    return tuple(int(part) for part in parts)


def state_text(state: State) -> str:
    """The text of a state that `parse_state` reads."""
    return ",".join(map(str, checked_state(state)))


def checked_state(state: Sequence[int]) -> State:
    """The state as a tuple of ints; InvalidBoardError if it is not one of any game."""
    try:
        runs = [as_int(number) for number in state]
    except TypeError:
        runs = []
    numbers = tuple(number for number in runs if number is not None and 0 <= number <= MOST_RUNS)
    if not numbers or len(numbers) < len(runs):
        raise InvalidBoardError(f"state {shown(state)}: expected numbers of runs, each 0 to {MOST_RUNS}")
    return numbers


def bars(state: State) -> int:
    """The number of bars left."""
    return sum(length * runs for length, runs in enumerate(checked_state(state), 1))


def is_final(state: State) -> bool:
    """Whether one bar is left: the player to move has lost."""
    return checked_state(state)[0] == 1 and not any(state[1:])


def actions(state: State) -> list[Action]:
    """U(x): all actions in the order of their numbers, only one of each mirrored pair; none in the final state.

    Marking all bars that are left is not among them.
    """
    if is_final(state):
        return []
    alone = sum(state) == 1
    return [
        Action(run, first, last)
        for run, runs in enumerate(state, 1)
        if runs
        for first in range(1, (run + 1) // 2 + 1)
        for last in range(first, run - first + 2)
        if not (alone and last - first + 1 == run)
    ]


def after(state: State, action: Action) -> State:
    """g(x, u): the state that the other player sees."""
    runs = list(checked_state(state))
    run, first, last = checked_type("action", action, Action)
    run = checked_int("run", run, 1, len(runs), IllegalMoveError)
    last = checked_int("last", last, 1, run, IllegalMoveError)
    first = checked_int("first", first, 1, last, IllegalMoveError)
    if not runs[run - 1]:
        raise IllegalMoveError(f"action {action}: state '{state_text(state)}' has no run of {run} bars")
    runs[run - 1] -= 1
    for left in (first - 1, run - last):
        if left:
            runs[left - 1] += 1
    return tuple(runs)


@dataclass(frozen=True)
class Numbering:
    """How many states have to be numbered, and how much memory their values take.

    A vector lists the runs of three bars or more of a state; those within `bounds` get a rank. The level of a vector is
    the number of its bars.
    """

    tiers: int
    counts: list[int]
    """vectors in each level"""
    states: list[int]
    """at least as many as there are states in each level"""

    @classmethod
    def of(cls, tiers: int) -> "Numbering":
        """Count the vectors of a game."""
        room = bounds(check_tiers(tiers))[1].astype(np.int64)
        C, U = room.shape[1], int(room.max()) + tiers + 3
        fits = np.arange(U) <= room[:, :, None]  # [k][c][u]: whether c runs of k bars or more may take room u
        small = np.ones((C, U), np.int64)  # by c and u of the longer runs: ways to add single bars and runs of two
        for k in (1, 2):
            small = np.where(fits[k], small, 0)
            for c in reversed(range(C - 1)):
                small[c, : U - k - 1] += small[c + 1, k + 1 :]
        reached = np.zeros((C, U), np.int64)  # vectors of runs of k bars or more, by c and u
        reached[0, 0] = 1
        for k in range(tiers, 2, -1):
            for c in range(1, C):
                reached[c, k + 1 :] += reached[c - 1, : U - k - 1]
                reached[c] *= fits[k, c]
        levels = sum(range(3, tiers + 1)) + 1
        counts, states = [0] * levels, [0] * levels
        for c, u in np.argwhere(reached).tolist():
            counts[u - c] += int(reached[c, u])
            states[u - c] += int(reached[c, u]) * int(small[c, u])
        return cls(tiers, counts, states)

    def memory_bytes(self, keep: bool) -> int:
        """A lower bound of the memory for a solve: all values, or those of the levels that are needed at one time."""
        span = len(self.states) if keep else self.tiers + 1
        window = max(sum(self.states[low : low + span]) for low in range(len(self.states)))
        return BASE_MEMORY + 12 * sum(self.counts) + 64 * max(self.counts) + 2 * window


def check_memory(tiers: int, keep: bool = True) -> "Numbering":
    """Return the numbering of a game, or raise ResourceError if this machine does not have the memory it needs."""
    if check_tiers(tiers) > MAX_TIERS:
        # One run per tier, of any length up to the whole tier, already gives a Catalan number of states.
        least = math.comb(2 * tiers + 2, tiers + 1) // (tiers + 2)
        raise ResourceError(
            f"{tiers} tiers have at least {least:.1e} states and need {2 * least / 2**30:.1e} GiB of memory"
        )
    numbering = Numbering.of(tiers)
    machine.check_memory(f"a game of {tiers} tiers", numbering.memory_bytes(keep))
    return numbering


class Solution:
    """A solved game: W and Z of its states.

    With `keep` it has all of them; otherwise those that actions lead to from `until` and other states of its level.
    """

    def __init__(self, blocks: Blocks, states: list[int], threads: int) -> None:
        self.tiers = blocks.tiers
        self.limit = limit(self.tiers)
        self.threads = threads
        self.states = sum(states) - 1  # the empty pyramid is not a state
        self.seconds = 0.0
        self._blocks = blocks
        self._sizes = states
        self._levels: list[NDArray[np.uint8] | None] = [None] * len(states)

    def find(self, state: Sequence[int]) -> tuple[int, int]:
        """The level of a state and its number there; InvalidBoardError if it cannot come up in this game."""
        place = self._blocks.find(checked_state(state))
        if place is None or not any(state):
            raise InvalidBoardError(
                f"state '{state_text(tuple(state))}' cannot come up in a game of {self.tiers} tiers"
            )
        return place

    def value(self, state: Sequence[int]) -> Value:
        """W and Z of a state."""
        level, number = self.find(state)
        values = self._levels[level]
        if values is None:
            raise MissingBlockError(f"state '{state_text(tuple(state))}': its value was not kept")
        return Value(255 - int(values[2 * number + 1]), int(values[2 * number]))

    def wins(self, state: State) -> bool:
        """Whether the player to move can be sure of winning."""
        return not is_final(state) and self.value(state).first <= self.limit

    def best_actions(self, state: State) -> list[Action]:
        """The actions that minimise (3.3), in the order of their numbers; none in the final state."""
        turns = [(self.value(after(state, action)).second, action) for action in actions(state)]
        least = min(turns, default=(0, None))[0]
        return [action for second, action in turns if second == least]

    def rows(self) -> Iterator[tuple[State, NDArray[np.uint8], NDArray[np.uint8]]]:
        """All states, a row at a time: the state without its single bars, and W and Z for 0, 1, 2, … single bars.

        The first row begins with the empty pyramid, which is not a state; its W is 0 and its Z is 255.
        """
        for level, values in enumerate(self._levels):
            if values is None:
                raise MissingBlockError(f"the values of level {level} were not kept")
            place = 0
            for number in range(self._blocks.blocks(level)):
                long, lengths = self._blocks.block(level, number)
                for twos, length in enumerate(lengths):
                    pairs = values[place : place + 2 * length]
                    place += 2 * length
                    yield (0, twos, *long), 255 - pairs[1::2], pairs[::2]

    def table(self) -> Iterator[dict[str, NDArray[Any]]]:
        """Every state, as columns, a few thousand at a time: its runs, bars, W and Z, who wins, and the best action.

        The best action is the first of `best_actions`; the final state has none.
        """
        rows: list[tuple[str, int, int, int, str, str]] = []
        for (_, *longer), firsts, seconds in self.rows():
            for ones, (first, second) in enumerate(zip(firsts.tolist(), seconds.tolist(), strict=True)):
                state = (ones, *longer)
                if not any(state):
                    continue
                winner = "first" if not is_final(state) and first <= self.limit else "second"
                best = self.best_actions(state)
                rows.append((state_text(state), bars(state), first, second, winner, str(best[0]) if best else ""))
            if len(rows) >= TABLE_ROWS:
                yield _columns(rows)
                rows = []
        if rows:
            yield _columns(rows)

    def _run(self, top: int, keep: bool, progress: Progress) -> None:
        done, whole = 0, sum(self._sizes[: top + 1])
        for level in range(top + 1):
            if not keep and level > self.tiers:
                self._levels[level - self.tiers - 1] = None
            size = self._sizes[level]
            self._levels[level] = np.empty(2 * size + PADDING, np.uint8)
            blocks = self._blocks.blocks(level)
            for first in range(0, blocks, CHUNK):
                last = min(first + CHUNK, blocks)
                self._blocks.solve(self._levels, level, first, last, self.limit, self.threads)
                share = (done + size * last / blocks) / whole
                progress(NUMBERING + (1 - NUMBERING) * share, f"level {level} of {top}")
            done += size


def _columns(rows: list[tuple[str, int, int, int, str, str]]) -> dict[str, NDArray[Any]]:
    names = ("state", "bars", "first", "second", "winner", "best_action")
    return {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def solve(
    tiers: int,
    *,
    threads: int | None = None,
    keep: bool = True,
    until: State | None = None,
    progress: Progress = lambda fraction, text: None,
) -> Solution:
    """Solve the game with this many tiers; the bits do not depend on the number of threads.

    With `until`, only the levels up to that state are solved. Without `keep`, values are dropped once no later state
    needs them; those that the last level leads to remain.
    """
    workers = machine.chosen_threads(threads)
    numbering = check_memory(tiers, keep)
    began = time.perf_counter()
    blocks = Blocks(tiers)
    sizes, left = [0] * len(numbering.counts), blocks.candidates
    for level in reversed(range(len(sizes))):
        sizes[level] = blocks.lay_out(level, workers)
        left -= numbering.counts[level]
        progress(NUMBERING * (1 - left / blocks.candidates), "numbering")
    solution = Solution(blocks, sizes, workers)
    solution._run(solution.find(start(tiers) if until is None else until)[0], keep, progress)
    solution.seconds = time.perf_counter() - began
    return solution
