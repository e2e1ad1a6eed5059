"""The one writer of databases, for all games.

A database is written in the workplace of its target, and nobody sees it before `publish`. An encoder
(`madn.store.encoders`: `ValueEncoder`, `PolicyEncoder`; Can't Stop has its own) turns content into frames on a few
threads; the writer cuts content into blocks, stores the frames in the order they came, and lists them by ID in the
catalogue.

(a) A source that can read any range of IDs is written in ID order by one call:

    write_database(path, source, provenance, progress, bits=None, threads=2)

(b) Runs of IDs may arrive in any order while a solve goes on; the positions of each run arrive in ascending order:

    with open_writer(path, ValueEncoder(rules, given, encoding), task, keep=True, threads=2) as writer:
        if not writer.has(first_of_run, size_of_run):                       # stored by an earlier process
            writer.take(first_of_run, size_of_run, first, content)          # unchanged until `flush`
        writer.flush()                                                      # all of it is stored now
        writer.publish(provenance, boards)                                  # boards: (name, text, ID, win)

`task` is a mapping of all that the content depends on. With one, the writer keeps a journal (`madn.store.journal`): a
line with the task, then a line for each block. If the process is interrupted, another one with the same task resumes
after the last intact line; with `keep`, also if the process fails. A writer with another task is refused; `command` is
the command line that resumes the work. `writer.measured` has what was measured while encoding.

`Databases(values, policy)` combines a writer of values and one of best moves (either may be None) into the `Receiver`
of `madn.solver.id_order`, to which a solve from disk hands its positions.
"""

import io
import itertools
import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from madn._core import Game
from madn.board import Board
from madn.errors import CorruptBlockError, MadnError
from madn.machine import chosen_threads
from madn.ranges import checked_int
from madn.rules import Rules
from madn.store import blocks
from madn.store.blocks import ENCODINGS, Array, quantised
from madn.store.encoders import Contents, EncodedBlock, Encoder, Measured, NamedBoard, StoredBlock, ValueEncoder
from madn.store.frames import FrameFiles, writing
from madn.store.journal import Journal
from madn.store.records import CATALOGUE, frame_digest
from madn.store.workplace import Workplace, workplace

Progress = Callable[[float, str], None]
WAITING = 64  # blocks that may wait to be encoded


@contextmanager
def open_writer(
    path: str | os.PathLike[str],
    encoder: Encoder,
    task: Mapping[str, Any] | None = None,
    *,
    command: str = "",
    keep: bool = False,
    threads: int = 2,
    block_positions: int = blocks.BLOCK_POSITIONS,
) -> Iterator["DatabaseWriter"]:
    """Begin a database at `path`, or resume one with the same `task`; the docstring of this module says more."""
    threads = chosen_threads(threads)
    with (
        workplace(path, whole_task(task, encoder), command, keep) as work,
        closing(DatabaseWriter(path, work, encoder, task is not None, threads, block_positions)) as writer,
    ):
        yield writer


def whole_task(task: Mapping[str, Any] | None, encoder: Encoder) -> dict[str, Any] | None:
    """All that a database depends on, in the form that JSON gives back; None if the work will not be resumed."""
    return None if task is None else json.loads(json.dumps({**task, **encoder.task}))


class DatabaseWriter:
    """Takes the positions of a run of IDs in ascending order, and runs in any order; see `open_writer`."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        work: Workplace,
        encoder: Encoder,
        resumable: bool,
        threads: int,
        block_positions: int,
    ) -> None:
        self.path, self.target, self.encoder, self.block_positions = path, work.target, encoder, block_positions
        self.on_stored: Callable[[int], None] | None = None  # called with the number of stored blocks
        self.measured = Measured()
        self.blocks = 0
        self._workplace = work
        self._files = FrameFiles(work.part)
        self._errors: dict[str, float] = {}  # the largest error of each encoding
        self._stored: dict[int, int] = {}  # by the first ID of a run: how many of its positions are in blocks
        self._rest: dict[int, Array] = {}  # ... and the content that came after those, less than a block
        self._waiting: deque[tuple[int, int, int, Future[EncodedBlock]]] = deque()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="madn-encode")
        with writing(path):
            self._journal = Journal(open(work.journal, "r+b") if resumable else io.BytesIO())  # noqa: SIM115
            if not resumable:
                self._journal.append("nobody goes on with this")
            self._adopt()

    def _adopt(self) -> None:
        """Take over the blocks that an earlier process has stored."""
        for block in self._journal_blocks():
            if not self._files.adopt(block.length, block.digest):
                break
            self._count(block)
        self._files.cut()
        self._journal.cut()

    def _journal_blocks(self) -> Iterator[StoredBlock]:
        """The blocks in the journal, as long as the digests of its lines match."""
        for *columns, measured in itertools.islice(self._journal.lines(), 1, None):
            yield StoredBlock._make([*columns, Measured._make(measured)])

    def _count(self, block: StoredBlock) -> None:
        self._stored[block.run] = self._stored.get(block.run, 0) + block.positions
        self._errors[block.encoding] = max(self._errors.get(block.encoding, 0.0), block.measured.error)
        self.measured = self.measured.merge(block.measured) if self.blocks else block.measured
        self.blocks += 1

    @property
    def positions(self) -> int:
        """How many positions are stored."""
        return sum(self._stored.values())

    def has(self, first_of_run: int, size_of_run: int) -> bool:
        """Whether all positions of a run are stored."""
        return self._stored.get(first_of_run, 0) == size_of_run

    def take(self, first_of_run: int, size_of_run: int, first: int, content: Array) -> None:
        """Take the positions from an ID on; `content` must not change before `flush`."""
        rest = self._rest.pop(first_of_run, content[:0])
        begin = first_of_run + self._stored.get(first_of_run, 0)  # of the next block
        begin += sum(count for run, _, count, _ in self._waiting if run == first_of_run)
        skip = max(0, begin + len(rest) - first)  # stored by an earlier process
        if skip >= len(content):
            if len(rest):
                self._rest[first_of_run] = rest
            return
        if first + skip != begin + len(rest):
            raise ValueError(f"expected position {begin + len(rest)} next, not {first}: those between are missing")
        content = content[skip:]
        end, at = first_of_run + size_of_run, 0
        while True:
            count = min(self.block_positions, end - begin)
            missing = count - len(rest)
            if count == 0 or len(content) - at < missing:
                break
            piece = content[at : at + missing]
            block = np.concatenate([rest, piece]) if len(rest) else piece
            self.add(first_of_run, begin, count, partial(self.encoder.encode, begin, block))
            rest, at, begin = rest[:0], at + missing, begin + count
        if at < len(content):
            self._rest[first_of_run] = np.concatenate([rest, content[at:]])

    def add(self, run: int, first: int, count: int, encode: Callable[[], EncodedBlock]) -> None:
        """Store the block that `encode` makes on another thread: `count` positions of a run from an ID on."""
        self._waiting.append((run, first, count, self._pool.submit(encode)))
        if len(self._waiting) > WAITING:
            self._store_oldest()

    def _store_oldest(self) -> None:
        """Write the block that has waited longest, so that it survives the end of this process."""
        run, first, count, job = self._waiting.popleft()
        frame, encoding, measured = job.result()
        with writing(self.path):
            file, offset = self._files.append(frame)
            block = StoredBlock(run, first, count, file, offset, len(frame), frame_digest(frame), encoding, measured)
            self._files.flush()
            self._journal.append(block)
        self._count(block)
        if self.on_stored:
            self.on_stored(self.blocks)

    def flush(self) -> None:
        """Wait until all full blocks that were taken are stored."""
        while self._waiting:
            self._store_oldest()

    def flush_to_disk(self) -> None:
        """Wait until all stored blocks are on disk, with the journal that lists them."""
        with writing(self.path):
            self._files.flush_to_disk()
            self._journal.flush_to_disk()

    def close(self) -> None:
        """Close the files; they stay."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._journal.close()
        self._files.close()

    def publish(self, provenance: Mapping[str, Any], boards: Iterable[NamedBoard] = (), max_error: float = 0.0) -> None:
        """Write the catalogue and replace the target with the database.

        `boards` are (name, text, position ID, winning probability); `max_error` is the largest error that the values
        already had when they were given.
        """
        from madn.store.catalogue_writer import write_catalogue, write_sums  # readers do not need sqlite-utils

        self.flush()
        for run in self._rest:
            raise MadnError(f"{self.target}: the run of positions from ID {run} on is incomplete")
        with writing(self.path):
            self._files.close()
            stored = sorted(self._journal_blocks(), key=lambda block: block.first)
            if len(stored) != self.blocks:
                expected = f"expected intact lines for {self.blocks} blocks, found {len(stored)}"
                raise CorruptBlockError(f"{self._workplace.journal}: damaged: {expected}")
            self._journal.close()
            errors = {name: max_error + error for name, error in self._errors.items()}
            contents = Contents(provenance, self._files.done, stored, errors, list(boards))
            part = self._workplace.part
            write_catalogue(part / CATALOGUE, self.encoder.schema, self.encoder.rows(contents))
            write_sums(part, self._files.done)
            self._workplace.publish()


class Source(Protocol):
    """Where values come from; a `Solution` is one.

    A source of only part of a game also has `ranges()`: the (first ID, count) of what it can read, ascending. A source
    of rounded values also has `max_error`, the largest error among them.
    """

    @property
    def rules(self) -> Rules:
        """The rules of the game."""

    @property
    def representation(self) -> str:
        """The encoding that `read` fills in: 'fixed32' or 'float64', or 'bits16' and the like."""

    @property
    def min_board(self) -> Board:
        """The board with the smallest winning probability in a game that is not over; its name is `worst`."""

    @property
    def max_board(self) -> Board:
        """The board with the largest winning probability in a game that is not over; its name is `best`."""

    def read(self, first: int, out: Array) -> None:
        """Fill `out` with the raw values of the IDs from `first` on."""


def write_database(
    path: str | os.PathLike[str],
    source: Source,
    provenance: Mapping[str, Any],
    progress: Progress | None = None,
    *,
    bits: int | None = None,
    block_positions: int = blocks.BLOCK_POSITIONS,
    level: int = blocks.LEVEL,
    threads: int = 2,
) -> None:
    """Write all values of a source, as they are or rounded to `bits`, as a database at `path`, replacing any there.

    `provenance` says how the values were made: names and any values that JSON can represent. Nobody sees the new
    database before it is complete and on disk.
    """
    block_positions = checked_int("block_positions", block_positions, 1, blocks.MAX_BLOCK_POSITIONS)
    given = ENCODINGS[source.representation]
    encoder = ValueEncoder(source.rules, given, None if bits is None else quantised(bits), level)
    ranges = list(source.ranges()) if hasattr(source, "ranges") else [(0, source.rules.positions)]
    pieces = list(_pieces(encoder.game, ranges, block_positions))
    with open_writer(path, encoder, threads=threads, block_positions=block_positions) as writer:
        if progress is not None:
            writer.on_stored = lambda done: progress(done / len(pieces), f"block {done} of {len(pieces)}")
        for first, count in pieces:
            values = np.empty(count, given.content)
            source.read(first, values)
            writer.take(first, count, first, values)
        writer.publish(provenance, _boards(source, encoder.game, ranges), float(getattr(source, "max_error", 0.0)))


def _pieces(game: Game, ranges: list[tuple[int, int]], block_positions: int) -> Iterator[tuple[int, int]]:
    """Cut ranges of IDs into blocks, (first ID, count) each: never across profiles, never across a gap."""
    starts = [*(game.first(*profile) for profile in game.profiles()), game.positions]
    for begin, end in itertools.pairwise(starts):
        for range_first, range_count in ranges:
            stop = min(range_first + range_count, end)
            for first in range(max(range_first, begin), stop, block_positions):
                yield first, min(block_positions, stop - first)


def _boards(source: Source, game: Game, ranges: list[tuple[int, int]]) -> Iterator[NamedBoard]:
    """The start, the best and the worst board, as far as the source has them."""
    given = ENCODINGS[source.representation]
    named = {"start": Board.start(source.rules), "best": source.max_board, "worst": source.min_board}
    for name, board in named.items():
        id = game.rank(*board.masks)
        if any(first <= id < first + count for first, count in ranges):
            raw = np.empty(1, given.dtype)
            source.read(id, raw)
            yield name, str(board), id, given.win(raw[0].item())


class Databases:
    """The databases that a solve from disk fills: one of values, one of best moves, or both."""

    def __init__(self, values: DatabaseWriter | None, policy: DatabaseWriter | None) -> None:
        self.values, self.policy = values, policy
        self.writers = [writer for writer in (values, policy) if writer is not None]

    def has(self, first_of_run: int, size_of_run: int) -> bool:
        """Whether all positions of a run are stored."""
        return all(writer.has(first_of_run, size_of_run) for writer in self.writers)

    def take(self, first_of_run: int, size_of_run: int, first: int, values: NDArray[Any]) -> None:
        """Store values."""
        if self.values:
            self.values.take(first_of_run, size_of_run, first, values)

    def take_choices(self, first_of_run: int, size_of_run: int, first: int, words: NDArray[np.uint16]) -> None:
        """Store best moves."""
        if self.policy:
            self.policy.take(first_of_run, size_of_run, first, words)

    def flush(self) -> None:
        """Wait until all that was taken is stored."""
        for writer in self.writers:
            writer.flush()

    def flush_to_disk(self) -> None:
        """Wait until all that is stored is on disk."""
        for writer in self.writers:
            writer.flush_to_disk()

    def complete(self, positions: int) -> bool:
        """Whether each database has this many positions stored."""
        return all(writer.positions == positions for writer in self.writers)

    def publish(self, provenance: Mapping[str, Any], boards: Iterable[NamedBoard]) -> None:
        """Complete the databases."""
        named = list(boards)
        for writer in self.writers:
            writer.publish(provenance, named)
