"""Writing a database: values in, blocks and catalogue out."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from madn._core import Game
from madn.errors import MadnError
from madn.rules import Rules
from madn.store import blocks
from madn.store.blocks import ENCODINGS, Encoding, quantised
from madn.store.frames import FrameFiles, in_order, writing
from madn.store.prediction import Layout, layout
from madn.store.records import CATALOGUE, Block, NamedBoard, StoredEncoding, frame_digest
from madn.store.workplace import workplace

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
    `ranges()` too: the (first ID, count) of what it can read, ascending. A source of rounded values has
    `max_error`, the largest error of them.
    """

    @property
    def rules(self) -> Rules:
        """The rules of the game."""
        ...

    @property
    def representation(self) -> str:
        """The encoding that `read` fills in: 'fixed32' or 'float64', or 'bits16' and the like."""
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


class Rounded:
    """A source whose values are rounded to so many bits."""

    def __init__(self, source: Source, bits: int) -> None:
        self.source, self.encoding = source, quantised(bits)
        self.given = ENCODINGS[source.representation]
        self.rules, self.min_board, self.max_board = source.rules, source.min_board, source.max_board
        self.representation = self.encoding.name
        self.max_error = 0.0  # of what was read so far
        if hasattr(source, "ranges"):
            self.ranges = source.ranges

    def read(self, first: int, out: blocks.Array) -> None:
        """Fill `out` with the rounded values of the IDs from `first` on."""
        exact = np.empty(len(out), self.given.dtype)
        self.source.read(first, exact)
        wins = self.given.wins(exact)
        out[:] = self.encoding.raws(wins)
        self.max_error = max(self.max_error, float(np.abs(self.encoding.wins(out) - wins).max()))


@dataclass(frozen=True, slots=True)
class Span:
    """Positions that become one block."""

    profile: int
    first_rank: int
    first_id: int
    count: int
    where: Layout


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
    from madn.store.catalogue_writer import write_catalogue, write_sums  # readers do without sqlite-utils

    encoding = ENCODINGS[source.representation]
    rules = source.rules
    spans = list(_spans(rules, getattr(source, "ranges", None), block_positions))
    with workplace(path) as place, writing(path), closing(FrameFiles(place.part)) as files:
        rows: list[Block] = []
        for span, frame in zip(spans, _frames(source, encoding, spans, level, threads), strict=True):
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
        stored = [StoredEncoding(encoding, float(getattr(source, "max_error", 0.0)))]
        write_catalogue(place.part / CATALOGUE, rules, provenance, stored, files.done, rows, boards)
        write_sums(place.part, files.done)
        place.publish()


def _spans(
    rules: Rules, ranges: Callable[[], Iterable[tuple[int, int]]] | None, block_positions: int
) -> Iterator[Span]:
    """Cut what a source has into blocks: never across profiles, never across a gap."""
    wanted = list(ranges()) if ranges else [(0, rules.positions)]
    profile_first = 0
    for number, profile in enumerate(rules.profiles()):
        size = rules.profile_size(*profile)
        for range_first, range_count in wanted:
            first = max(range_first, profile_first)
            end = min(range_first + range_count, profile_first + size)
            for start in range(first, end, block_positions):
                count = min(block_positions, end - start)
                rank = start - profile_first
                yield Span(number, rank, start, count, layout(rules, profile, rank))
        profile_first += size


def _frames(source: Source, encoding: Encoding, spans: list[Span], level: int, threads: int) -> Iterator[bytes]:
    """Read and encode block after block: reading on this thread, encoding on `threads` others."""

    def jobs() -> Iterator[Callable[[], bytes]]:
        for span in spans:
            values = np.empty(span.count, encoding.dtype)
            source.read(span.first_id, values)
            yield partial(blocks.encode, values, encoding, span.first_id, span.where, level)

    return in_order(jobs(), threads)


def _named_boards(source: Source, encoding: Encoding, spans: list[Span]) -> Iterator[NamedBoard]:
    """The start, the best and the worst board with their values and places."""
    game = Game(source.rules)
    masks = {"start": ((1, 1), "0/0")}
    masks |= {
        name: (board.masks, str(board)) for name, board in (("best", source.max_board), ("worst", source.min_board))
    }
    for name, ((own, other), text) in masks.items():
        number = game.rank(own, other)
        place = next((i for i, s in enumerate(spans) if 0 <= number - s.first_id < s.count), None)
        if place is None:
            continue  # not in this part of the game
        raw = np.empty(1, encoding.dtype)
        source.read(number, raw)
        win = encoding.win(raw[0].item())
        if not 0 <= win <= 1:
            raise MadnError(f"board {text}: the value {win!r} is not a probability")
        yield NamedBoard(name, text, number, win, place, number - spans[place].first_id)
