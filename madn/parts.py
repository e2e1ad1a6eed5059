"""Parts of a game that are solved on demand: how large they are, solving one, and the cache they are kept in.

A part is all that a pair of finish zones can lead to, finished games included. Whatever can come after one of its
positions is also in it, so a game that has reached a part stays there. In the cache a part is stored as a database.
Unlike other databases it need not be trusted: if it is damaged, or not what its name says, it is removed and solved
again.
"""

import os
import re
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from madn._core import Game
from madn.database import PLIES, Database, Engine, open_database
from madn.errors import (
    CorruptBlockError,
    FormatVersionError,
    MadnError,
    MadnWarning,
    NoValuesError,
    PlanError,
    RulesMismatchError,
)
from madn.machine import lock_directory
from madn.ranking import game_of
from madn.rules import Rules
from madn.solver import Solution
from madn.solver.graph import Pair, components, later_zones
from madn.solver.zones import Zones
from madn.store.workplace import bytes_in, remove_database, remove_leftovers

# The most positions of a part that is solved on demand. Each takes 0.2 µs of processor time (22.8 million took 4.9 s,
# 2.8 million 0.43 s, 26,584 0.16 s), so this is five seconds on one processor, three on two. It is enough when both
# sides have two of four pieces home, or one has three and the other one, and for the whole two-piece game.
POSITIONS = 25_000_000
TOLERANCE = 1e-15
STORED_BYTES, CATALOGUE_BYTES = 6, 1 << 16  # about: for each position, and for the catalogue of a small part
IN_MEMORY = 2 * POSITIONS  # positions kept in memory because they could not be stored; they take 8 to 16 bytes each
BLOCK_BYTES = 64 << 20  # bytes of decoded blocks that an open part keeps in memory
OPEN = 8  # stored parts that are open at the same time
REVISION = 1  # of the values: raise it when a new version of madn may compute different ones
PATIENCE = 60.0  # seconds to wait for another process that is solving
NAME = re.compile(rf"part-{REVISION}-([0-9]+)x([0-9]+)((?:-[a-z_]+)*)-([01]+)-([01]+)")
OURS = re.compile(r"part-[0-9]+-[0-9]+x[0-9]+(?:-[a-z_]+)*-[01]+-[01]+")  # of any revision

Progress = Callable[[float, str], None]
DAMAGE = (CorruptBlockError, FormatVersionError, NoValuesError, RulesMismatchError)


class Values(Protocol):
    """Exact values, from a database or in memory."""

    @property
    def engine(self) -> Engine:
        """The engine that answers from them."""

    @property
    def error(self) -> float | None:
        """The largest error of a value."""

    def win_many(self, boards: NDArray[Any]) -> NDArray[np.float64]:
        """The winning probabilities of position IDs."""

    def close(self) -> None:
        """Release them."""


@dataclass(frozen=True)
class Part:
    """A part of a game: its two finish zones, in ascending order, and how many positions it has.

    How a game starts does not matter here: the `rules` never have `start_in_box`.
    """

    rules: Rules
    zones: Pair
    positions: int = field(compare=False)

    @property
    def board(self) -> str:
        """A board that leads to all of the part and nothing else: every piece that is not home is in the box."""
        sides = [[q for q in range(self.rules.pieces) if zone >> q & 1] for zone in self.zones]
        return "/".join(",".join(str(self.rules.squares + q) for q in side) or "b" for side in sides)

    @property
    def name(self) -> str:
        """The name of its directory in a cache."""
        zones = ("".join(str(zone >> q & 1) for q in range(self.rules.pieces)) for zone in self.zones)
        game = f"{self.rules.pieces}x{self.rules.squares}"
        return "-".join([f"part-{REVISION}", game, *self.rules.house_rules, *zones])

    def within(self, other: "Part") -> bool:
        """Whether this is the other part or contained in it."""
        if self.rules != other.rules:
            return False
        reach = [later_zones(self.rules, zone) for zone in other.zones]
        f, g = self.zones
        return (f in reach[0] and g in reach[1]) or (g in reach[0] and f in reach[1])


def part_of(rules: Rules, own: int, other: int) -> Part | None:
    """The part that begins with a position, given as masks; None if the game is over."""
    zones = sorted((own >> rules.squares, other >> rules.squares))
    if zones[1] == (1 << rules.pieces) - 1:
        return None
    return _part(replace(rules, start_in_box=False), (zones[0], zones[1]))


@lru_cache(1024)
def _part(rules: Rules, zones: Pair) -> Part:
    ranges = zones_of(rules).ranges(components(rules, zones))
    return Part(rules, zones, sum(count for _, count in ranges))


zones_of = lru_cache(8)(Zones)


def _named(name: str) -> Part | None:
    """The part that a directory is named after; None if it is not the name of a part."""
    found = NAME.fullmatch(name)
    if found is None:
        return None
    try:
        house = dict.fromkeys(found[3].split("-")[1:], True)
        rules = Rules(int(found[1]), int(found[2]), **house)
    except (MadnError, TypeError):
        return None
    zones = [sum(int(bit) << q for q, bit in enumerate(text)) for text in (found[4], found[5])]
    if not zones[0] <= zones[1] < (1 << rules.pieces) - 1:
        return None
    part = _part(rules, (zones[0], zones[1]))
    return part if part.name == name else None


class InMemory:
    """A solved part that is in memory only."""

    policy = False  # for the engine, which reads from this: it has values

    def __init__(self, solution: Solution) -> None:
        self.game: Game = game_of(solution.rules)
        self.error = PLIES * float(solution.residual)
        self.engine = Engine(self, solution.plan.representation.tie)
        self._solution = solution

    def win(self, id: int) -> float:
        """The winning probability of a position ID."""
        return float(self.win_many(np.array([id]))[0])

    def win_many(self, boards: NDArray[Any]) -> NDArray[np.float64]:
        """The winning probabilities of position IDs."""
        wins = np.empty(len(boards))
        for at, id in enumerate(boards.tolist()):
            self._solution.read(id, wins[at : at + 1])
        return wins

    wins = win_many  # what readers call it

    def check_open(self) -> None:
        """Do nothing: it is always open."""

    def close(self) -> None:
        """Nothing to close."""


class Parts:
    """Solved parts: those in a directory, and in memory those that could not be stored. Threads may share it.

    The directory may grow to `most_bytes`; the parts used longest ago are removed first. Processes may share it: one at
    a time solves and stores, and the others wait for it. With `directory` None nothing is stored. A solve uses as many
    threads as `threads` says, or all. Up to `OPEN` stored parts are open at the same time, each with up to
    `block_bytes` of decoded blocks.
    """

    def __init__(
        self, directory: Path | None, most_bytes: int, threads: int | None = None, block_bytes: int = BLOCK_BYTES
    ) -> None:
        self.directory, self.most_bytes, self.threads, self.block_bytes = directory, most_bytes, threads, block_bytes
        self.stores = directory is not None  # False once storing has failed
        self._open: dict[Part, Values] = {}  # the most recently used last
        self._closed: set[Part] = set()  # stored parts that were closed to make room for others
        self._changing = threading.Lock()  # held while `_open` or `_closed` changes
        self._damaged: set[Part] = set()  # stored parts that must not be opened again
        self._solving = threading.Lock()

    def opened(self, part: Part) -> Values | None:
        """The values of a part if it is open, or was closed to make room for others: then it is opened again."""
        with self._changing:
            found = part if part in self._open else next((one for one in self._open if part.within(one)), None)
            if found is not None:
                values = self._open[found] = self._open.pop(found)
                return values
            found = next((one for one in self._closed if part.within(one)), None)
        if found is None:
            return None
        try:
            return self._from_directory(found)
        except MadnError:  # it was removed meanwhile, or is damaged: the next solve of it replaces it
            with self._changing:
                self._closed.discard(found)
            return None

    def known(self, part: Part) -> Values | None:
        """The values of a part, if it is open or in the directory."""
        values = self.opened(part)
        if values is not None or self.directory is None:
            return values
        for one in sorted(self._stored(), key=lambda one: one.positions):
            if part.within(one) and one not in self._damaged:
                try:
                    return self._from_directory(one)
                except DAMAGE:
                    continue  # the next solve of it replaces it
        return None

    def get(self, part: Part, progress: Progress) -> Values:
        """The values of a part, which is solved if they are not known.

        Raises `PlanError` or `ResourceError` if it cannot be solved here.
        """
        values = self.known(part)
        if values is not None:
            return values
        with self._solving:  # one at a time: each solve uses all processors
            values = self.known(part)
            return self._solve(part, progress) if values is None else values

    def renew(self, part: Part, damaged: Values, progress: Progress) -> Values:
        """New values for a part whose stored ones are damaged: from a larger stored part, or from solving it again.

        A larger part may turn out to be damaged too; the caller then calls this again.
        """
        with self._solving:
            with self._changing:
                wrong = {one for one, values in self._open.items() if values is damaged}
                stored = _named(damaged.path.name) if isinstance(damaged, Database) else None
                if stored is not None:
                    wrong.add(stored)  # it may have been closed meanwhile to make room for others
                for one in wrong:
                    self._open.pop(one, None)
                self._closed -= wrong
            self._damaged |= wrong
            for one in wrong:
                self._remove(one.name)
            damaged.close()
            values = self.known(part)
            return self._solve(part, progress, keep=True) if values is None else values

    def close(self) -> None:
        """Close all parts that are open."""
        with self._changing:
            self._closed.clear()
            while self._open:
                self._open.popitem()[1].close()

    def _solve(self, part: Part, progress: Progress, keep: bool = False) -> Values:
        """Solve and store a part; the values returned are the stored ones, or with `keep` those in memory.

        If they cannot be stored, they stay in memory too.
        """
        with self._directory(progress) as directory:
            if directory is not None and (values := self.known(part)) is not None:
                return values  # another process has solved it meanwhile
            from madn.solving import prepare

            job = prepare(part.rules, board=part.board, tolerance=TOLERANCE, threads=self.threads)
            if directory is not None:
                job = replace(job, out=os.fspath(directory / part.name))
            solution = job.solved(progress)
            if directory is not None:
                try:
                    self._check_room(part)
                    remove_leftovers(directory, OURS)  # no other process is writing here now
                    remove_database(directory / part.name)  # it is damaged, or it would have been opened
                    job.store(solution, progress)
                    self._damaged.discard(part)
                    progress(1.0, "")
                    self._evict(part)
                    if not keep:
                        return self._from_directory(part)
                except (MadnError, OSError) as error:
                    self._warn(error)
        progress(1.0, "")
        held = InMemory(solution)
        self._keep(part, held)
        return held

    @contextmanager
    def _directory(self, progress: Progress) -> Iterator[Path | None]:
        """The directory, locked for this process; None if it cannot be written."""
        if self.directory is None or not self.stores:
            yield None
            return
        lock = None
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = self._locked(self.directory, progress)
        except OSError as error:
            self._warn(error)
            yield None
            return
        try:
            yield self.directory
        finally:
            if lock is not None:
                os.close(lock)

    def _locked(self, directory: Path, progress: Progress) -> int | None:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return lock_directory(os.path.realpath(directory))
            except BlockingIOError:
                if time.monotonic() > end:
                    raise TimeoutError(None, f"another process has been solving for {PATIENCE:.0f} s") from None
            progress(0.0, "another process is solving")
            time.sleep(0.05)

    def _warn(self, error: Exception) -> None:
        """Stop storing parts, with a warning that says why."""
        self.stores = False
        reason = getattr(error, "strerror", None) or str(error)
        text = f"{self.directory}: solved parts are not kept: {reason}; set MADN_CACHE to use another directory"
        warnings.warn(text, MadnWarning, stacklevel=2)

    def _stored(self) -> Iterator[Part]:
        """The parts in the directory, judging by their names."""
        with suppress(OSError):
            for name in os.listdir(self.directory):
                part = _named(name)
                if part is not None:
                    yield part

    def _path(self, part: Part) -> Path:
        if self.directory is None:
            raise ValueError("there is no cache directory")
        return self.directory / part.name

    def _from_directory(self, part: Part) -> Database:
        """Open a stored part, or raise the error that says what is wrong with it."""
        path = self._path(part)
        database = open_database(path, values=True, cache_bytes=self.block_bytes)
        try:
            if database.rules != part.rules:
                raise RulesMismatchError(f"{path}: holds {database.rules}")
            if len(database) != part.positions or part.board not in database:
                raise CorruptBlockError(f"{path}: holds {len(database)} positions, expected {part.positions}")
        except MadnError:
            database.close()
            raise
        with suppress(OSError):
            os.utime(path)  # so that it counts as recently used
        self._keep(part, database)
        return database

    def _remove(self, name: str) -> None:
        """Remove a stored part, if it is one; whoever has it open can go on reading."""
        if self.directory is not None:
            with suppress(OSError, MadnError):
                remove_database(self.directory / name)

    def _check_room(self, part: Part) -> None:
        """Raise `PlanError` if a part by itself is larger than the directory may be."""
        needed = STORED_BYTES * part.positions + CATALOGUE_BYTES
        if needed > self.most_bytes:
            raise PlanError(f"{needed:,} bytes are needed, but MADN_CACHE_SIZE allows {self.most_bytes:,}")

    def _evict(self, newest: Part) -> None:
        """Remove the parts that the newest one contains, those of other revisions, then those used longest ago."""
        directory = self._path(newest).parent
        found = []
        for name in os.listdir(directory):
            if OURS.fullmatch(name) and name != newest.name:
                part = _named(name)
                if part is None or part.within(newest):
                    self._remove(name)
                else:
                    found.append((os.stat(directory / name).st_mtime, name))
        room = self.most_bytes - bytes_in(directory / newest.name)
        for _, name in sorted(found, reverse=True):  # the most recently used first
            room -= bytes_in(directory / name)
            if room < 0:
                self._remove(name)

    def _keep(self, part: Part, values: Values) -> None:
        """Keep a part open, and drop those used longest ago while there are too many.

        A dropped part is closed once nobody reads it any more.
        """
        with self._changing:
            self._open[part] = values
            self._closed.discard(part)
            held = [one for one, found in self._open.items() if isinstance(found, InMemory)]
            while len(held) > 1 and sum(one.positions for one in held) > IN_MEMORY:
                del self._open[held.pop(0)]
            stored = [one for one, found in self._open.items() if isinstance(found, Database)]
            for one in stored[:-OPEN]:
                del self._open[one]
                self._closed.add(one)
