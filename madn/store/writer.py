"""Writing a database: values in, blocks and catalogue out."""

import hashlib
import os
import sqlite3
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np

from madn._core import Ranking
from madn.errors import MadnError, ResourceError
from madn.rules import Rules
from madn.store import blocks
from madn.store.blocks import ENCODINGS, Encoding
from madn.store.catalogue import CATALOGUE, Block, BlockFile, NamedBoard, StoredEncoding, block_file_name
from madn.store.catalogue_writer import write_catalogue, write_sums
from madn.store.place import workplace

FILE_BYTES = 1 << 30  # a new file begins when this many bytes are in the last
Progress = Callable[[float, str], None]


class Side(Protocol):
    """What the writer needs of a board: its text and its masks."""

    @property
    def masks(self) -> tuple[int, int]:
        """The squares of the side to move and of the other, as bit masks."""
        ...


class Source(Protocol):
    """Where values come from; a `Solution` is one.

    `min_board` and `max_board` are the boards named worst and best. A source of part of the game has
    `ranges()` too: the (first ID, count) of what it can read, ascending.
    """

    @property
    def rules(self) -> Rules:
        """The rules of the game."""
        ...

    @property
    def representation(self) -> str:
        """The encoding that `read` fills in: 'fixed32' or 'float64'."""
        ...

    @property
    def min_board(self) -> Side:
        """The board with the smallest winning probability of an open game."""
        ...

    @property
    def max_board(self) -> Side:
        """The board with the largest winning probability of an open game."""
        ...

    def read(self, first: int, out: blocks.Array) -> None:
        """Fill `out` with the raw values of the IDs from `first` on."""
        ...


@dataclass(frozen=True, slots=True)
class Span:
    """Positions that become one block."""

    profile: int
    first_rank: int
    first_id: int
    count: int
    stride: int


def write_database(
    path: str | os.PathLike[str],
    source: Source,
    provenance: Mapping[str, Any],
    progress: Progress | None = None,
    *,
    block_positions: int = blocks.BLOCK_POSITIONS,
    level: int = blocks.LEVEL,
    threads: int = 2,
) -> None:
    """Write everything `source` knows as a database at `path`, in place of a database that may be there.

    `provenance` says how the values were made: names and anything that JSON can hold. Nobody sees the new
    database before it is complete and on disk.
    """
    encoding = ENCODINGS[source.representation]
    rules = source.rules
    spans = list(_spans(rules, getattr(source, "ranges", None), block_positions))
    with workplace(path) as place, writing(path), closing(FrameFiles(place.part)) as files:
        rows: list[Block] = []
        for span, frame in _frames(source, encoding, spans, level, threads):
            number, offset = files.append(frame)
            rows.append(
                Block(
                    len(rows), span.profile, span.first_rank, span.count, number, offset, len(frame),
                    encoding.name, frame_digest(frame),
                )
            )  # fmt: skip
            if progress:
                progress(len(rows) / len(spans), f"block {len(rows)} of {len(spans)}")
        files.close()
        boards = _named_boards(source, encoding, spans)
        stored = [StoredEncoding(encoding, 0.0)]
        write_catalogue(place.part / CATALOGUE, rules, provenance, stored, files.done, rows, boards)
        write_sums(place.part, files.done)
        place.publish()


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn failures to write, such as a full disk, into one line of ours."""
    try:
        yield
    except MadnError:
        raise
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise ResourceError(f"{path}: writing failed, nothing was changed: {reason}") from error


def frame_digest(frame: bytes) -> str:
    """The digest of a block in the catalogue: the first half of the SHA-256 of its frame, in hexadecimal."""
    return hashlib.sha256(frame).hexdigest()[:32]


def _spans(
    rules: Rules, ranges: Callable[[], Iterable[tuple[int, int]]] | None, block_positions: int
) -> Iterator[Span]:
    """Cut what a source has into blocks: never across profiles, never across a gap."""
    wanted = list(ranges()) if ranges else [(0, rules.positions)]
    profile_first = 0
    for number, (p1, f1, p2, f2) in enumerate(rules.profiles()):
        size = rules.profile_size(p1, f1, p2, f2)
        row = comb(
            rules.squares - (p1 - f1), p2 - f2
        )  # arrangements of the other side for one of the own side
        for range_first, range_count in wanted:
            first = max(range_first, profile_first)
            end = min(range_first + range_count, profile_first + size)
            for start in range(first, end, block_positions):
                count = min(block_positions, end - start)
                yield Span(number, start - profile_first, start, count, row if row < count else 0)
        profile_first += size


def _frames(
    source: Source, encoding: Encoding, spans: list[Span], level: int, threads: int
) -> Iterator[tuple[Span, bytes]]:
    """Read and encode block after block, in order: reading on this thread, encoding on `threads` others."""
    waiting: deque[tuple[Span, Future[bytes]]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for span in spans:
                values = np.empty(span.count, encoding.dtype)
                source.read(span.first_id, values)
                job = pool.submit(blocks.encode, values, encoding, span.first_id, span.stride, level)
                waiting.append((span, job))
                if len(waiting) > 2 * threads:
                    done, job = waiting.popleft()
                    yield done, job.result()
            while waiting:
                done, job = waiting.popleft()
                yield done, job.result()
        finally:
            for _, job in waiting:
                job.cancel()


class FrameFiles:
    """Frames one after the other in numbered files of about `FILE_BYTES`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.done: list[BlockFile] = []
        self._file: BinaryIO | None = None

    def append(self, frame: bytes) -> tuple[int, int]:
        """Write a frame; return the number of its file and its offset there."""
        if self._file is None:
            self._file = open(self.directory / block_file_name(len(self.done)), "xb")  # noqa: SIM115
            self._bytes, self._sha256 = 0, hashlib.sha256()
        place = len(self.done), self._bytes
        self._file.write(frame)
        self._sha256.update(frame)
        self._bytes += len(frame)
        if self._bytes >= FILE_BYTES:
            self.close()
        return place

    def close(self) -> None:
        """Finish the current file."""
        if self._file is not None:
            self._file.close()
            self._file = None
            name = block_file_name(len(self.done))
            self.done.append(BlockFile(len(self.done), name, self._bytes, self._sha256.hexdigest()))


def _named_boards(source: Source, encoding: Encoding, spans: list[Span]) -> Iterator[NamedBoard]:
    """The start, the best and the worst board with their values and places."""
    ranking = Ranking(source.rules.pieces, source.rules.squares)
    masks = {"start": ((1, 1), "0/0")}
    masks |= {
        name: (board.masks, str(board))
        for name, board in (("best", source.max_board), ("worst", source.min_board))
    }
    for name, ((own, other), text) in masks.items():
        number = ranking.rank(own, other)
        place = next((i for i, s in enumerate(spans) if 0 <= number - s.first_id < s.count), None)
        if place is None:
            continue  # not in this part of the game
        raw = np.empty(1, encoding.dtype)
        source.read(number, raw)
        win = encoding.win(raw[0].item())
        if not 0 <= win <= 1:
            raise MadnError(f"board {text}: the value {win!r} is not a probability")
        yield NamedBoard(name, text, number, win, place, number - spans[place].first_id)
