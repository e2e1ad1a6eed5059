"""A database in the making that takes positions part by part, in whatever order a solve comes to them.

It lies in the workplace of its target, with a journal that has a line for each block. A process that was stopped is
followed by one that goes on after the last line. The blocks lie in the files in the order they came; the catalogue
lists them by ID.
"""

import json
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any, NamedTuple, Protocol

import numpy as np

from madn._core import Game
from madn.errors import MadnError
from madn.rules import DIE, Rules
from madn.store import blocks, policy
from madn.store.blocks import POLICY, Array, Encoding
from madn.store.frames import FrameFiles, writing
from madn.store.prediction import layout
from madn.store.records import CATALOGUE, Block, NamedBoard, StoredEncoding, frame_digest, profile_rows
from madn.store.schema import FORMAT
from madn.store.workplace import Workplace, workplace

POLICY_LEVEL = 1  # of zstd: what the coder leaves hardly gets smaller
WAITING = 64  # blocks that may wait to be encoded


class Made(NamedTuple):
    """A frame, the largest error that its values have, and how many decisions it holds."""

    frame: bytes
    error: float
    decisions: int


class Maker(Protocol):
    """Makes the frames of a database."""

    @property
    def encoding(self) -> Encoding:
        """How the positions are stored."""
        ...

    def make(self, profile: tuple[int, int, int, int], rank: int, first_id: int, content: Array) -> Made:
        """The frame of a block."""
        ...


class ValueMaker:
    """Stores values, as they are or rounded."""

    def __init__(self, rules: Rules, given: Encoding, encoding: Encoding, level: int = blocks.LEVEL) -> None:
        self.rules, self.given, self.encoding, self.level = rules, given, encoding, level

    def make(self, profile: tuple[int, int, int, int], rank: int, first_id: int, content: Array) -> Made:
        """The frame of a block."""
        error = 0.0
        if self.encoding != self.given:
            wins = self.given.wins(content)
            content = self.encoding.raws(wins)
            error = float(np.abs(self.encoding.wins(content) - wins).max())
        where = layout(self.rules, profile, rank)
        return Made(blocks.encode(content, self.encoding, first_id, where, self.level), error, 0)


class PolicyMaker:
    """Stores best moves, from words of 2 bits a roll."""

    encoding = POLICY

    def __init__(self, rules: Rules, level: int = POLICY_LEVEL) -> None:
        self.game, self.level = Game(rules), level

    def make(self, profile: tuple[int, int, int, int], rank: int, first_id: int, content: Array) -> Made:
        """The frame of a block."""
        choices = (content[:, None] >> (2 * np.arange(DIE, dtype=np.uint16)) & np.uint16(3)).astype(np.uint8)
        frame, decisions = policy.encode(choices, first_id, self.game, self.level)
        return Made(frame, 0.0, decisions)


@contextmanager
def growing_database(
    path: str | os.PathLike[str],
    rules: Rules,
    maker: Maker,
    task: Mapping[str, Any],
    *,
    threads: int = 2,
    block_positions: int = blocks.BLOCK_POSITIONS,
) -> Iterator["GrowingDatabase"]:
    """Begin a database at `path`, or go on with one that has the same `task`: all that its content depends on.

    What there is stays for the next process if this one fails. Nobody sees the database before `publish`.
    """
    line = json.dumps({**task, "encoding": maker.encoding.name, "format": FORMAT}, sort_keys=True)
    with (
        workplace(path, line, keep=True) as place,
        writing(path),
        closing(GrowingDatabase(place, rules, maker, threads, block_positions)) as database,
    ):
        yield database


class GrowingDatabase:
    """Takes positions of a run of IDs in ascending order, and runs in any order."""

    def __init__(self, place: Workplace, rules: Rules, maker: Maker, threads: int, block_positions: int) -> None:
        self.place, self.rules, self.maker, self.block_positions = place, rules, maker, block_positions
        self.profiles = list(rules.profiles())
        self.first_ids = np.array([row["first_id"] for row in profile_rows(rules)], np.int64)
        self.files = FrameFiles(place.part)
        self.decisions = 0
        self.error = 0.0
        self._stored: dict[int, int] = {}  # by the first ID of a run: how many of its positions are in blocks
        self._rest: dict[int, Array] = {}  # ... and what came after them
        self._waiting: deque[tuple[int, int, int, Future[Made]]] = deque()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="madn-encode")
        self._notes = open(place.journal, "r+b")  # noqa: SIM115  (until close)
        self._adopt()

    def _adopt(self) -> None:
        """Take over the blocks that an earlier process has finished."""
        self._notes.readline()
        end = self._notes.tell()
        while line := self._notes.readline():
            try:
                note = Note(*json.loads(line if line.endswith(b"\n") else b""))
            except (ValueError, TypeError):
                break  # the last line, cut off
            if not self.files.adopt(note.length, note.digest):
                break
            self._count(note)
            end = self._notes.tell()
        self.files.cut()
        self._notes.seek(end)
        self._notes.truncate()

    def _count(self, note: "Note") -> None:
        self._stored[note.run] = self._stored.get(note.run, 0) + note.positions
        self.error = max(self.error, note.error)
        self.decisions += note.decisions

    def has(self, first_of_run: int, size_of_run: int) -> bool:
        """Whether all positions of a run are stored."""
        return self._stored.get(first_of_run, 0) == size_of_run

    def take(self, first_of_run: int, size_of_run: int, first: int, content: Array) -> None:
        """Take the positions from an ID on; `content` must not change before `flush`."""
        rest = self._rest.pop(first_of_run, content[:0])
        have = first_of_run + self._stored.get(first_of_run, 0)  # where the next block begins
        have += sum(count for run, _, count, _ in self._waiting if run == first_of_run)
        skip = max(0, have + len(rest) - first)
        if skip >= len(content):
            if len(rest):
                self._rest[first_of_run] = rest
            return
        if first + skip != have + len(rest):
            raise ValueError(f"positions {have + len(rest)} to {first} are missing")
        content = content[skip:]
        end, at = first_of_run + size_of_run, 0
        while True:
            count = min(self.block_positions, end - have)
            missing = count - len(rest)
            if count == 0 or len(content) - at < missing:
                break
            piece = content[at : at + missing]
            self._submit(first_of_run, have, np.concatenate([rest, piece]) if len(rest) else piece)
            rest, at, have = rest[:0], at + missing, have + count
        if at < len(content):
            self._rest[first_of_run] = np.concatenate([rest, content[at:]])

    def _submit(self, run: int, first: int, content: Array) -> None:
        number = int(np.searchsorted(self.first_ids, first, "right")) - 1
        rank = first - int(self.first_ids[number])
        job = self._pool.submit(self.maker.make, self.profiles[number], rank, first, content)
        self._waiting.append((run, first, len(content), job))
        if len(self._waiting) > WAITING:
            self._finish_one()

    def _finish_one(self) -> None:
        run, first, count, job = self._waiting.popleft()
        made = job.result()
        file, offset = self.files.append(made.frame)
        note = Note(run, first, count, file, offset, len(made.frame), frame_digest(made.frame), *made[1:])
        self._notes.write(json.dumps(note).encode() + b"\n")
        self._count(note)

    def flush(self) -> None:
        """Be done with all that was taken; it survives the end of this process."""
        while self._waiting:
            self._finish_one()
        self.files.flush()
        self._notes.flush()

    def close(self) -> None:
        """Let go of the files; they stay."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._notes.close()
        self.files.close()

    def publish(self, provenance: Mapping[str, Any], boards: Iterable[tuple[str, str, int, float]]) -> None:
        """Write the catalogue and put the database in its place. `boards` are (name, board, ID, value)."""
        from madn.store.catalogue_writer import write_catalogue, write_sums  # readers do without sqlite-utils

        self.flush()
        if self._rest:
            raise MadnError(f"{self.place.target}: a part of the positions has no end")
        self.files.close()
        rows = self._rows()
        stored = [StoredEncoding(self.maker.encoding, self.error)]
        part = self.place.part
        named = [self._named(rows, *board) for board in boards]
        write_catalogue(part / CATALOGUE, self.rules, provenance, stored, self.files.done, rows, named)
        write_sums(part, self.files.done)
        self.place.publish()

    def _rows(self) -> list[Block]:
        """The blocks by ascending ID, from the journal."""
        self._notes.seek(0)
        self._notes.readline()
        notes = sorted((Note(*json.loads(line)) for line in self._notes), key=lambda note: note.first)
        profile = np.searchsorted(self.first_ids, [note.first for note in notes], "right") - 1
        name = self.maker.encoding.name
        return [
            Block(
                number, int(p), note.first - int(self.first_ids[p]), note.positions, note.file, note.offset,
                note.length, name, note.digest,
            )
            for number, (p, note) in enumerate(zip(profile, notes, strict=True))
        ]  # fmt: skip

    def _named(self, rows: list[Block], name: str, board: str, id: int, win: float) -> NamedBoard:
        encoding = self.maker.encoding
        if encoding.quantised:
            win = encoding.win(encoding.raws(np.array([win]))[0].item())
        for block in rows:
            first = int(self.first_ids[block.profile]) + block.first_rank
            if first <= id < first + block.count:
                return NamedBoard(name, board, id, win, block.block, id - first)
        return NamedBoard(name, board, id, win, None, None)


class Note(NamedTuple):
    """A line of the journal: a block."""

    run: int
    first: int
    positions: int
    file: int
    offset: int
    length: int
    digest: str
    error: float
    decisions: int
