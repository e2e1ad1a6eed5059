"""What a solve will do and need, worked out before it starts."""

import sys
from dataclasses import asdict, dataclass
from typing import Any

from madn.board import Board
from madn.errors import PlanError, ResourceError
from madn.machine import MAX_THREADS, amount, available_memory, check_memory, usable_threads
from madn.ranges import MOST_BYTES, checked_float, checked_int
from madn.rules import Rules
from madn.solver.footprint import (
    component_positions,
    disk_peak,
    disk_to_prove,
    memory_by_parts,
    memory_in_one,
    memory_proved,
    memory_to_hand_over,
    memory_to_prove,
)
from madn.solver.graph import Pair, components
from madn.solver.numbers import FIXED32, FLOAT64, Representation
from madn.solver.zones import Zones

METHODS = ("tiles", "thesis")
MOST_CHOICES = 4  # the most pieces for which best moves are found: words have 2 bits a roll
SMALL_GAME = 20_000_000  # positions up to which 64 bits a value cost too little to matter
SMALL_TOLERANCE, LARGE_TOLERANCE = 1e-15, 1e-6
PROVABLE = {FIXED32.name: 1e-5, FLOAT64.name: 1e-12}  # the largest tolerance whose bounds fit into 16 bits
MARGINS = 0.75  # bytes per position, approximately, that proved bounds take in a database
POLICY_BYTES = 0.3  # per position, at most, in a database of best moves
STORED = {True: 0.75, False: 0.65}  # a database's approximate share of the bytes of its values, whole or rounded
MIN_BITS, MAX_BITS = 8, 24
HUGE_GAME = 1_000_000_000  # positions from which on values are rounded when stored, unless `bits` says otherwise
HUGE_BITS, ALL_BITS = 16, "full"
BASE_MEMORY = 120 << 20  # Python, numpy and the move tables of the largest game


@dataclass(frozen=True)
class Plan:
    """What a solve will do and what it needs.

    `memory_bytes` is its peak memory, `disk_bytes` approximately the size of its databases. `scratch_bytes` is the most
    that scratch files take, `peak_bytes` the most that scratch files and databases take together. `bits` is set if
    values are rounded to that many bits when they are stored.

    `pairs` are the components in the order in which they are solved. Those in `streamed` do not fit into the memory
    allowed and pass through it from the directory `scratch`, which was named by the user unless `scratch_chosen`.
    `board` is set if only what it can lead to is solved. With `census`, positions are counted by value, and best moves
    are compared with second-best ones. With `choices`, best moves are stored. Without `values`, the values of positions
    are not stored. With `proved`, each position gets a lower and an upper value too.
    """

    rules: Rules
    method: str
    representation: Representation
    tolerance: float
    threads: int
    memory_limit: int | None
    positions: int
    components: int
    largest_component: int
    memory_bytes: int
    disk_bytes: int
    pairs: tuple[Pair, ...]
    streamed: frozenset[Pair] = frozenset()
    scratch: str | None = None
    scratch_bytes: int = 0
    peak_bytes: int = 0
    scratch_chosen: bool = False
    resume: bool = False
    board: str | None = None
    census: bool = False
    choices: bool = False
    values: bool = True
    bits: int | None = None
    proved: bool = False

    @property
    def policy_bytes(self) -> int:
        """How much of `disk_bytes` a database of best moves takes."""
        return int(self.positions * POLICY_BYTES) if self.choices else 0

    @property
    def best_moves(self) -> bool:
        """Whether best moves are found, to be stored or counted."""
        return self.census or self.choices

    def task(self) -> dict[str, Any]:
        """All that the values depend on."""
        return {
            "rules": asdict(self.rules),
            "tolerance": self.tolerance,
            "representation": self.representation.name,
            "components": [list(pair) for pair in self.pairs],
        }

    def boards(self) -> list[Board]:
        """The boards whose values are reported: the one that was asked for, and the start if it is solved."""
        asked = [Board.parse(self.board, self.rules)] if self.board is not None else []
        return asked + ([Board.start(self.rules)] if (0, 0) in self.pairs else [])

    def check_memory(self) -> None:
        """Raise ResourceError if this takes more memory than is available or allowed."""
        try:
            for allowed in (self.memory_limit, None):
                check_memory("this solve", self.memory_bytes, allowed)
        except ResourceError as error:
            if self.scratch is not None or self.proved or self.method == "thesis":
                raise
            least = make_plan(self.rules, tolerance=self.tolerance, board=self.board, memory=1, scratch=".")
            needs = f"{amount(least.memory_bytes)} and at most {amount(least.scratch_bytes)} of disk"
            raise ResourceError(f"{error}; with --scratch DIR it needs {needs}") from None


def allowed_memory(limit: int | None) -> int:
    """How many bytes of memory a solve may take: the given limit, or what is free."""
    return limit or available_memory() or sys.maxsize


def make_plan(
    rules: Rules,
    *,
    method: str = "tiles",
    tolerance: float | None = None,
    threads: int | None = None,
    memory: int | None = None,
    board: str | None = None,
    scratch: str | None = None,
    resume: bool = False,
    census: bool = False,
    choices: bool = False,
    values: bool = True,
    bits: int | str | None = None,
    proved: bool = False,
) -> Plan:
    """Work out what solving a game takes; nothing is allocated.

    `tolerance` is the residual to reach: the largest |V - T(V)| over all positions. By default it is 1e-15 for games
    of up to 20 million positions and 1e-6 for larger ones. With tolerances of 2e-7 and more, values of large games are
    32-bit fixed-point numbers; otherwise they are 64-bit floats. `memory` limits the memory in bytes. With `board` only
    the positions whose finish zones that board can lead to are solved. `scratch` is a directory for components that are
    larger than the memory, and for work that can be continued later with `resume`; a `census` and `choices`, which are
    best moves to be stored, need it too. Without `values`, only best moves are stored. Values of games of 1e9 positions
    and more are rounded to 16 bits when they are stored; `bits` is another number of bits, or "full". With `proved`,
    bounds of every value are found: in memory, to be stored in full, or from `scratch`, only to be reported.
    """
    if method not in METHODS:
        raise PlanError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    if threads is not None:
        threads = checked_int("threads", threads, 1, MAX_THREADS, PlanError)
    if memory is not None:
        memory = checked_int("memory", memory, 1, MOST_BYTES, PlanError)
    if bits is not None and not (isinstance(bits, str) and bits == ALL_BITS):
        bits = checked_int("bits", bits, MIN_BITS, MAX_BITS, PlanError)
    if method == "thesis" and (board is not None or scratch is not None):
        raise PlanError("method thesis solves whole games in memory: it takes neither a board nor a scratch directory")
    if resume and scratch is None:
        raise PlanError("to resume, the scratch directory of the earlier run is needed")
    best_moves = census or choices
    if best_moves and scratch is None:
        raise PlanError("a census and best moves need a scratch directory: name one")
    if best_moves and rules.pieces > MOST_CHOICES:
        raise PlanError(f"a census and best moves are possible with up to {MOST_CHOICES} pieces, not {rules.pieces}")
    if proved and (method == "thesis" or isinstance(bits, int)):
        raise PlanError("bounds are proved by method tiles and stored in full: leave out bits")
    if proved and best_moves:
        raise PlanError("bounds are not proved together with a census or best moves: take those from a database")
    start = Board.parse(board, rules) if board is not None else None
    if start is not None and start.winner is not None:
        raise PlanError(f"{board}: the game is over, there is nothing to solve")
    own, other = start.masks if start else (0, 0)
    pairs = components(rules, (own >> rules.squares, other >> rules.squares))
    positions = sum(count for _, count in Zones(rules).ranges(pairs)) if start else rules.positions
    small = positions <= SMALL_GAME
    if bits is None and positions >= HUGE_GAME and not proved:
        bits = HUGE_BITS
    rounded = bits if isinstance(bits, int) else None
    if tolerance is None:
        tolerance = SMALL_TOLERANCE if small else LARGE_TOLERANCE
    tolerance = checked_float("tolerance", tolerance, FLOAT64.finest, 1, PlanError)
    fixed = method == "tiles" and not small and tolerance >= FIXED32.finest
    representation = FIXED32 if fixed else FLOAT64
    if proved and tolerance > (most := PROVABLE[representation.name]):
        raise PlanError(f"to prove bounds, this game must be solved to {most:g} or finer, not {tolerance:g}")
    if proved and scratch is not None and representation != FIXED32:
        raise PlanError(f"games of up to {SMALL_GAME:,} positions, and fine tolerances, are proved without scratch")
    item = representation.itemsize
    threads = threads or usable_threads()
    streamed: frozenset[Pair] = frozenset()
    if method == "thesis":
        needed = positions * FLOAT64.itemsize
    elif scratch is None:
        needed = (memory_proved if proved else memory_in_one)(rules, pairs) * item
    else:
        limit = (allowed_memory(memory) - BASE_MEMORY) // item
        needed, streamed = memory_by_parts(rules, pairs, limit, threads)
        after = (
            memory_to_prove(rules, pairs, threads) if proved else memory_to_hand_over(rules, pairs, best_moves, threads)
        )
        needed = max(needed, after) * item
    each = (item if rounded is None else rounded / 8) * STORED[rounded is None] + MARGINS * proved
    database = int(positions * (each * values + POLICY_BYTES * choices)) + (1 << 20)
    scratch_bytes, peak_bytes = 0, database
    if scratch is not None and proved:
        database, scratch_bytes = 0, disk_to_prove(rules, pairs)
        peak_bytes = scratch_bytes
    elif scratch is not None:
        scratch_bytes, peak_bytes = (
            disk_peak(
                rules,
                pairs,
                streamed,
                item=item,
                stored=representation.stored,
                database=each,
                values=values,
                choices=choices,
            )
            for each in (0, database / positions)
        )
    return Plan(
        rules=rules,
        method=method,
        representation=representation,
        tolerance=tolerance,
        threads=threads,
        memory_limit=memory,
        positions=positions,
        components=len(pairs),
        largest_component=max(component_positions(rules, f, g) for f, g in pairs),
        memory_bytes=needed + BASE_MEMORY,
        disk_bytes=database,
        pairs=tuple(pairs),
        streamed=streamed,
        scratch=scratch,
        scratch_bytes=scratch_bytes,
        peak_bytes=peak_bytes,
        resume=resume,
        board=board,
        census=census,
        choices=choices,
        values=values and not (proved and scratch is not None),
        bits=rounded,
        proved=proved,
    )
