"""What a solve will do and need, said before it starts."""

import math
import os
from dataclasses import dataclass
from pathlib import Path

from madn import _core
from madn.errors import MadnError, ResourceError
from madn.rules import Rules
from madn.solver.components import components, finish_zones

METHODS = ("tiles", "thesis")
MOST_PIECES = 4
SMALL_GAME = 20_000_000  # up to here 64 bits a value cost nothing worth saving
SMALL_TOLERANCE, LARGE_TOLERANCE = 1e-15, 1e-6
FINEST = {"fixed32": 1e-8, "float64": 1e-15}  # the residual each representation reaches
ITEM = {"fixed32": 4, "float64": 8}
BASE_MEMORY = 120 << 20  # Python, numpy and the move tables of the largest game


class PlanError(MadnError, ValueError):
    """The solve asked for makes no sense: an unknown method, a tolerance that cannot be reached."""


@dataclass(frozen=True)
class Plan:
    """What a solve will do; `memory_bytes` is its peak, `disk_bytes` the most its database can take."""

    rules: Rules
    method: str
    representation: str
    tolerance: float
    threads: int
    memory_limit: int | None
    positions: int
    components: int
    largest_component: int
    memory_bytes: int
    disk_bytes: int

    def check_memory(self) -> None:
        """Raise ResourceError if the memory this takes is not there, or more than was allowed."""
        if self.memory_limit is not None and self.memory_bytes > self.memory_limit:
            raise ResourceError(
                f"this solve needs {_giga(self.memory_bytes)} of memory, and {_giga(self.memory_limit)} are allowed"
            )
        free = available_memory()
        if free is not None and self.memory_bytes > free:
            raise ResourceError(
                f"this solve needs {_giga(self.memory_bytes)} of memory and this machine has {_giga(free)} available"
            )


def make_plan(
    rules: Rules,
    *,
    method: str = "tiles",
    tolerance: float | None = None,
    threads: int | None = None,
    memory: int | None = None,
) -> Plan:
    """Work out what solving a game takes; nothing is allocated.

    `tolerance` is the residual to reach: the largest |V - T(V)| over all positions. By default it is 1e-15 for games
    of up to 20 million positions and 1e-6 above. Tolerances of 1e-8 and more are kept as 32-bit fixed-point numbers in
    large games, finer ones as 64-bit floats. `memory` limits the memory in bytes.
    """
    if rules.pieces > MOST_PIECES:
        raise PlanError(f"solving goes up to {MOST_PIECES} pieces, not {rules.pieces}")
    if method not in METHODS:
        raise PlanError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    if threads is not None and threads < 1:
        raise PlanError(f"threads must be at least 1, not {threads}")
    if memory is not None and memory < 1:
        raise PlanError(f"memory must be a positive number of bytes, not {memory}")
    positions = rules.positions
    small = positions <= SMALL_GAME
    if tolerance is None:
        tolerance = SMALL_TOLERANCE if small else LARGE_TOLERANCE
    if not math.isfinite(tolerance) or tolerance < FINEST["float64"]:
        raise PlanError(f"tolerance must be at least {FINEST['float64']:g}, not {tolerance:g}")
    fixed = method == "tiles" and not small and tolerance >= FINEST["fixed32"]
    representation = "fixed32" if fixed else "float64"
    sizes = {f: side_size(rules, f) for f in finish_zones(rules)}
    pairs = components(rules)
    largest = max(component_positions(rules, f, g) for f, g in pairs)
    boxed = {f: sizes[f] - math.comb(rules.squares, rules.pieces - f.bit_count()) for f in sizes}
    needed = (
        positions * ITEM["float64"] if method == "thesis" else _tiles_memory(sizes, boxed, pairs, ITEM[representation])
    )
    return Plan(
        rules=rules,
        method=method,
        representation=representation,
        tolerance=tolerance,
        threads=threads or usable_threads(),
        memory_limit=memory,
        positions=positions,
        components=len(pairs),
        largest_component=largest,
        memory_bytes=needed + BASE_MEMORY,
        disk_bytes=positions * ITEM[representation] + (1 << 20),
    )


def side_size(rules: Rules, finish: int) -> int:
    """The number of states a side has with these finish squares occupied."""
    return sum(math.comb(rules.squares, k) for k in range(rules.pieces - finish.bit_count() + 1))


def component_positions(rules: Rules, f: int, g: int) -> int:
    """The number of positions of a pair of finish zones, either side to move."""
    S, P = rules.squares, rules.pieces
    pairs = sum(
        math.comb(S, m1) * math.comb(S - m1, m2)
        for m1 in range(P - f.bit_count() + 1)
        for m2 in range(min(P - g.bit_count(), S - m1) + 1)
    )
    return pairs if f == g else 2 * pairs


def usable_threads() -> int:
    """The processors this process may use; 1 in a build without OpenMP."""
    if not _core.openmp():
        return 1
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


def available_memory() -> int | None:
    """The memory that can be had without swapping, in bytes; None where the system does not say."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _tiles_memory(sizes: dict[int, int], boxed: dict[int, int], pairs: list[tuple[int, int]], item: int) -> int:
    """The largest sum of what is kept and what is being solved, over the components in their order."""
    kept = peak = 0
    for f, g in pairs:
        rows, columns = sizes[f], sizes[g]
        solving = (2 * rows * columns if f != g else rows * rows + 80 * rows) + 2 * boxed[f] * columns
        results = 0 if f == g == 0 else 2 * rows * columns
        peak = max(peak, kept + solving + results)
        kept += results if f in (0, g) else 2 * results
    return peak * item


def _giga(size: int) -> str:
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"
