"""Whether this computer can carry out a solve, and the alternatives, with their figures."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from madn.board import Board
from madn.machine import available_memory
from madn.rules import Rules
from madn.solver import Plan, make_plan
from madn.solver.estimate import Speed, seconds
from madn.solver.numbers import FIXED32
from madn.solver.plan import MOST_CHOICES
from madn.solving import planned
from madn.store.workplace import disk_of


@dataclass(frozen=True)
class Way:
    """A solve and what it takes; `disk_bytes` counts databases and scratch files together."""

    what: str
    command: str
    memory_bytes: int
    disk_bytes: int
    seconds: float
    fits: bool


@dataclass(frozen=True)
class Room:
    """What this computer has: free memory, or as much of it as is allowed, and free disk."""

    memory: int | None
    disk: int

    @classmethod
    def here(cls, place: str | os.PathLike[str], memory: int | None = None) -> "Room":
        """The room on this computer at the moment, on the disk that holds `place`."""
        free = available_memory()
        allowed = memory if free is None or memory is None else min(free, memory)
        return cls(free if allowed is None else allowed, disk_of(place).free)

    def holds(self, memory: int, disk: int) -> bool:
        """Whether there is this much."""
        return (self.memory is None or memory <= self.memory) and disk <= self.disk


def ways(plan: Plan, room: Room, speed: Speed) -> list[Way]:
    """Alternatives to the solve of a plan: from disk, best moves only, a part of the game, fewer pieces."""
    if plan.method == "thesis":
        return []
    rules, limit = plan.rules, room.memory or plan.memory_bytes
    usual = make_plan(rules, board=plan.board)
    settings: dict[str, Any] = {"board": plan.board, "memory": limit, "threads": plan.threads}
    if plan.tolerance != usual.tolerance:
        settings["tolerance"] = plan.tolerance
    name = f"{rules.pieces}-pieces"

    def begun(rules: Rules) -> str:
        return f"madn solve {rules.options.replace(f' --squares {Rules().squares}', '')}"  # goes without saying

    def way(what: str, rules: Rules = rules, name: str = name, best_moves: bool = False, **changes: Any) -> Way:
        chosen = {**settings, **changes}
        other = planned(rules, None if best_moves else name, policy=name if best_moves else None, **chosen)
        words = [begun(rules)]
        words += [f"--for {chosen['board']}"] if chosen["board"] else []
        words += [f"--tolerance {chosen['tolerance']}"] if "tolerance" in chosen else []
        command = " ".join([*words, "--policy" if best_moves else "--out", name])
        return described(what, command, other)

    def described(what: str, command: str, other: Plan) -> Way:
        needed = other.memory_bytes, other.peak_bytes
        return Way(what, command, *needed, seconds(other, speed), room.holds(*needed))

    def proved() -> Way:
        words = [begun(rules), "--proved", *([f"--for {plan.board}"] if plan.board else [])]
        other = make_plan(rules, proved=True, scratch=".", **settings)
        return described("proved from disk, bounds of the start only", f"{' '.join(words)} --scratch {name}", other)

    def largest(smaller: Iterator[Way]) -> list[Way]:
        return [first] if (first := next((way for way in smaller if way.fits), None)) else []

    found = [way("from disk")] if plan.scratch is None else []
    if plan.proved and plan.scratch is None and plan.representation == FIXED32:
        found.insert(0, proved())
    if rules.pieces <= MOST_CHOICES:
        found.append(way("best moves only", best_moves=True))
    if plan.board is None:
        found += largest(way(f"what {board} can lead to", board=board) for board in _later_boards(rules))
    fewer = (replace(rules, pieces=pieces) for pieces in range(rules.pieces - 1, 0, -1))
    found += largest(way(_pieces(less), less, f"{less.pieces}-pieces", board=None) for less in fewer)
    return found


def _pieces(rules: Rules) -> str:
    return "1 piece" if rules.pieces == 1 else f"{rules.pieces} pieces"


def _later_boards(rules: Rules) -> Iterator[str]:
    """Boards with less and less left to play: more and more pieces are home, of one side and the other in turn."""
    last = rules.squares + rules.pieces
    for home in range(1, 2 * rules.pieces - 1):
        own, other = (home + 1) // 2, home // 2
        sides = [[0, *range(last - count, last)] for count in (own, other)]
        yield str(Board.parse("/".join(",".join(map(str, side)) for side in sides), rules))
