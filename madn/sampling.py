"""Drawing positions from a game while it is solved.

Which positions are drawn depends on the rules, the seed and the numbers asked for, and on nothing else: each run of IDs
is cut into as many equal parts as samples are drawn from it, and a position is drawn from each part. So the samples
among some positions of a run are known without the others, in whatever order they come.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from madn.errors import ResourceError
from madn.ranges import checked_int, checked_seed
from madn.rules import Rules
from madn.samples import PIECE, WIN, Header, Stratum, write_samples
from madn.solver import Plan, Receiver, Solution
from madn.solver.figures import damaged, read_figures, write_figures, writing_to
from madn.solver.numbers import FIXED32, FLOAT64
from madn.solver.zones import Zones

SAMPLES, LEAST = 1_000_000, 200
MOST_SAMPLES = 10**9
READ = 1 << 22  # positions that are read at a time from a solution in memory
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Sampling:
    """How many positions to draw, from which seed, and the file to write them to.

    About `samples` are drawn uniformly from all open positions, and at least `least` from each run of IDs, or the whole
    run if it is smaller.
    """

    path: str
    samples: int = SAMPLES
    least: int = LEAST
    seed: int = 0

    def checked(self) -> "Sampling":
        """Return the same with its numbers checked; an error names the number that is out of range."""
        samples = checked_int("samples", self.samples, 1, MOST_SAMPLES)
        least = checked_int("samples_least", self.least, 0, MOST_SAMPLES)
        return Sampling(self.path, samples, least, checked_seed(self.seed))

    def task(self) -> dict[str, Any]:
        """What the work of a solve depends on besides the values."""
        numbers = {"samples": self.samples, "samples_least": self.least, "sample_seed": self.seed}
        return {"sample": os.path.realpath(self.path), **numbers}

    def options(self) -> dict[str, Any]:
        """The options of `madn solve` that ask for this."""
        numbers = {"samples": self.samples, "samples_least": self.least, "sample_seed": self.seed}
        return {"sample": self.path, **numbers}

    def strata(self, rules: Rules, pairs: tuple[tuple[int, int], ...]) -> tuple[Stratum, ...]:
        """The runs of IDs of these components, and how many samples each gives."""
        wanted = {frozenset(pair) for pair in pairs}
        runs = [run for run in Zones(rules).runs if frozenset((run.own, run.other)) in wanted]
        whole = sum(run.size for run in runs)
        counts = [max(-(-self.samples * run.size // whole), self.least) for run in runs]
        return tuple(
            Stratum(run.first, run.size, run.size if 2 * count > run.size else count)
            for run, count in zip(runs, counts, strict=True)
        )


def bytes_of(strata: tuple[Stratum, ...]) -> int:
    """The disk space that samples take while they are drawn and put in their place."""
    return sum(part.count for part in strata) * 24 + (1 << 16)


def drawn(seed: int, part: Stratum, begin: int, end: int) -> NDArray[np.int64]:
    """The IDs of the samples `begin` to `end - 1` of a run, ascending.

    The run is cut into `count` parts of equal length; a position that lies across the end of a part belongs to both
    parts in proportion. Every position is drawn `count / size` times on average.
    """
    number = np.arange(begin, end, dtype=np.uint64)
    size = np.uint64(part.size)
    if part.size == part.count:
        return (number + np.uint64(part.first)).astype(np.int64)
    key = _mixed(np.array([seed], np.uint64) + GOLDEN) ^ _mixed(np.array([part.first], np.uint64))
    chance = _mixed(key + number * GOLDEN) >> np.uint64(34)  # of 2^30
    place = (number * size + (chance * size >> np.uint64(30))) // np.uint64(part.count)
    return (place + np.uint64(part.first)).astype(np.int64)


def _mixed(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The mixing function of splitmix64."""
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return z ^ z >> np.uint64(31)


class Sampler:
    """Takes the values of a solve as they come and keeps those that are drawn in a file, each at its place.

    `file` is on disk, with its checksums in a second file, whenever `flush_to_disk` returns, so a later process with
    the same task can continue.
    """

    def __init__(self, sampling: Sampling, plan: Plan, file: Path, task: str) -> None:
        self.sampling, self.plan, self.file, self.task = sampling, plan, file, task
        self.strata = sampling.strata(plan.rules, plan.pairs)
        self.count = sum(part.count for part in self.strata)
        ends = np.cumsum([part.count for part in self.strata]).tolist()
        self._by_run = {part.first: (part, end - part.count) for part, end in zip(self.strata, ends, strict=True)}
        self._filled: dict[int, int] = {}  # how many samples of a run were taken, in this process
        self._noted = file.with_suffix(".samples-sums")
        with writing_to(file):
            file.touch()
            self._file = open(file, "r+b", buffering=0)  # noqa: SIM115
            self._file.truncate(self.count * WIN.itemsize)
        noted = read_figures(self._noted, task) or {}
        self._sums: dict[str, int] = noted.get("sums", {})  # by the first ID of a run, once it is complete

    def close(self) -> None:
        """Close the file, which stays on disk."""
        self._file.close()

    def has(self, first_of_run: int) -> bool:
        """Whether all samples of a run are there, unchanged."""
        if first_of_run not in self._by_run:
            return True  # finished games: nothing is drawn
        return self._sums.get(str(first_of_run)) == self._checksum(first_of_run)

    def complete(self) -> bool:
        """Whether all samples are there."""
        return all(self.has(part.first) for part in self.strata)

    def take(self, first_of_run: int, first: int, values: NDArray[Any]) -> None:
        """Take what is drawn from the values of the IDs from `first` on, in stored units."""
        if first_of_run not in self._by_run:
            return
        part, place = self._by_run[first_of_run]
        offset = first - first_of_run
        begin = max(0, offset * part.count // part.size - 1)
        end = min(part.count, (offset + len(values)) * part.count // part.size + 2)
        ids = drawn(self.sampling.seed, part, begin, end)
        begin, end = (begin + int(np.searchsorted(ids, id)) for id in (first, first + len(values)))
        ids = drawn(self.sampling.seed, part, begin, end)
        raw = values[ids - first]
        wins = raw if raw.dtype == FLOAT64.dtype else 0.5 + raw / FIXED32.unit
        with writing_to(self.file):
            self._file.seek((place + begin) * WIN.itemsize)
            rest = memoryview(wins.astype(WIN).tobytes())
            while rest:
                rest = rest[self._file.write(rest) :]
        self._filled[first_of_run] = self._filled.get(first_of_run, 0) + end - begin

    def flush_to_disk(self) -> None:
        """Wait until all that was taken is on disk."""
        full = [run for run, filled in self._filled.items() if filled >= self._by_run[run][0].count]
        if not full:
            return
        with writing_to(self.file):
            os.fsync(self._file.fileno())
        for run in full:
            self._sums[str(run)] = self._checksum(run)
            del self._filled[run]
        write_figures(self._noted, self.task, {"sums": self._sums})

    def publish(self) -> str:
        """Write the file of samples; return its SHA-256."""
        plan, path = self.plan, self.sampling.path
        options = {"for": plan.board, "tolerance": plan.tolerance, **self.sampling.options(), "sample": "FILE"}
        words = [f"--{name.replace('_', '-')} {value}" for name, value in options.items() if value is not None]
        command = f"madn solve {plan.rules.options} {' '.join(words)}"
        header = Header(plan.rules, self.count, plan.tolerance, self.sampling.seed, command, strata=self.strata)
        return write_samples(path, header, self._ids(), self._wins())

    def _ids(self) -> Iterator[NDArray[np.int64]]:
        for part in self.strata:
            for begin in range(0, part.count, PIECE):
                yield drawn(self.sampling.seed, part, begin, min(part.count, begin + PIECE))

    def _wins(self) -> Iterator[NDArray[np.float64]]:
        for part in self.strata:
            checksum = 0
            for piece in self._pieces(part.first):
                checksum = crc32(piece, checksum)
                yield np.frombuffer(piece, WIN)
            if self._sums.get(str(part.first)) != checksum:
                raise damaged(self.file, f"checksum mismatch in the samples of the run from ID {part.first} on")

    def _checksum(self, first_of_run: int) -> int:
        checksum = 0
        for piece in self._pieces(first_of_run):
            checksum = crc32(piece, checksum)
        return checksum

    def _pieces(self, first_of_run: int) -> Iterator[bytes]:
        part, place = self._by_run[first_of_run]
        for begin in range(0, part.count, PIECE):
            count = min(PIECE, part.count - begin)
            self._file.seek((place + begin) * WIN.itemsize)
            yield self._file.read(count * WIN.itemsize)


class Sampled:
    """The receiver of a solve whose positions are sampled; it passes everything on to another receiver."""

    def __init__(self, receiver: Receiver, sampler: Sampler) -> None:
        self.receiver, self.sampler = receiver, sampler

    def has(self, first_of_run: int, size_of_run: int) -> bool:
        """Whether all of a run was taken."""
        return self.receiver.has(first_of_run, size_of_run) and self.sampler.has(first_of_run)

    def take(self, first_of_run: int, size_of_run: int, first: int, values: NDArray[Any]) -> None:
        """Take values."""
        self.sampler.take(first_of_run, first, values)
        self.receiver.take(first_of_run, size_of_run, first, values)

    def take_choices(self, first_of_run: int, size_of_run: int, first: int, words: NDArray[np.uint16]) -> None:
        """Take best moves."""
        self.receiver.take_choices(first_of_run, size_of_run, first, words)

    def flush(self) -> None:
        """Finish with all the arrays that were taken."""
        self.receiver.flush()

    def flush_to_disk(self) -> None:
        """Wait until all that was taken is on disk."""
        self.sampler.flush_to_disk()
        self.receiver.flush_to_disk()


@contextmanager
def sampler_in(directory: Path, sampling: Sampling, plan: Plan, task: str) -> Iterator[Sampler]:
    """The sampler of a solve from disk; its files are in the scratch directory."""
    sampler = Sampler(sampling, plan, directory / "000.samples", task)
    try:
        yield sampler
    finally:
        sampler.close()


def sample_solution(sampling: Sampling, solution: Solution) -> str:
    """Draw from a solution in memory and write the file; return its SHA-256."""
    target = os.path.realpath(sampling.path)
    try:
        place = tempfile.TemporaryDirectory(dir=os.path.dirname(target), prefix=f".{os.path.basename(target)}.madn-")
    except OSError as error:
        raise ResourceError(f"{sampling.path}: cannot be written: {error.strerror or error}") from error
    dtype = FIXED32.dtype if solution.representation == FIXED32.name else FLOAT64.dtype
    with place as directory, sampler_in(Path(directory), sampling, solution.plan, "") as sampler:
        for part in sampler.strata:
            for first in range(part.first, part.first + part.size, READ):
                values = np.empty(min(READ, part.first + part.size - first), dtype)
                solution.read(first, values)
                sampler.take(part.first, first, values)
        sampler.flush_to_disk()
        return sampler.publish()
