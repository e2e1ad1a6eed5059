"""Writing a database anew in another encoding, block by block."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from madn.board import Board
from madn.errors import CorruptBlockError, MadnError, MissingBlockError, OutputError
from madn.store import blocks, policy
from madn.store.blocks import MAX_BITS, MIN_BITS, POLICY, Encoding, quantised
from madn.store.catalogue import read_catalogue
from madn.store.frames import FrameFiles, in_order, writing
from madn.store.move_values import MoveValues
from madn.store.prediction import layout
from madn.store.reader import BlockReader, Group, open_reader
from madn.store.records import CATALOGUE, Block, BlockTable, NamedBoard, StoredEncoding, frame_digest
from madn.store.schema import FORMAT
from madn.store.workplace import workplace

Progress = Callable[[float, str], None]
LEVEL = 9  # of zstd: docs/format.md says why
MIN_LEVEL, MAX_LEVEL = 1, 22
CACHE_BYTES = 1 << 30  # of decoded blocks, where the values of moves are looked up


@dataclass(frozen=True, slots=True)
class Made:
    """What is known of a block that was made: a line of the journal, with its row."""

    error: float = 0.0  # the largest that was added to a value
    loss: float = 0.0  # the sum over its positions of what playing from the rounded values loses
    max_loss: float | None = 0.0  # the largest of that; None if it was not measured
    max_loss_id: int = 0
    decisions: int = 0  # in a policy


def compress_database(
    src: str | os.PathLike[str],
    dst: str | os.PathLike[str],
    store: str = "values",
    bits: int | None = None,
    level: int = LEVEL,
    progress: Progress | None = None,
    *,
    threads: int = 2,
    cache_bytes: int = CACHE_BYTES,
) -> dict[str, Any]:
    """Write the database `src` anew at `dst`: its values, rounded to `bits` bits or as they are, or its policy.

    `src` is only read. Work that was interrupted goes on where it stopped. Returns `bytes_before` and
    `bytes_after` of the whole directories, `bits_per_position` of the new one, and `max_error`, the largest
    difference of a stored value from the solution (of a policy: of the values that it was made from).

    With `bits`, also `max_loss`, `max_loss_board` and `mean_loss`: the winning probability lost when one turn
    is played from the rounded values, over all positions, measured in the values of `src`; None if moves lead
    to positions that `src` does not have, or if the decoded values of `src` do not fit into `cache_bytes`. For a
    policy, also `decisions` and `bits_per_decision`; if the values do not fit, it takes much longer.
    """
    _check_arguments(store, bits, level)
    source, target = Path(os.path.realpath(src)), Path(os.path.realpath(dst))
    if source == target or source in target.parents:
        raise OutputError(f"{dst}: the new database cannot be where the old one is")
    _, table = read_catalogue(Path(src))
    with closing(open_reader(Path(src), cache_bytes=0)) as reader:
        if reader.policy:
            raise MadnError(f"{src}: it stores best moves only; compress the database of values that it came from")
        work = _Compression(reader, table, store, bits, level, cache_bytes)
        with workplace(dst, work.task()) as place, writing(dst), closing(FrameFiles(place.part)) as files:
            work.run(place.journal, files, progress, threads)
            files.close()
            work.write_catalogue(place.part, files)
            place.publish()
    after = _directory_bytes(target)
    return {
        "bytes_before": _directory_bytes(source),
        "bytes_after": after,
        "bits_per_position": 8 * after / max(int(table.count.sum()), 1),
        "max_error": max((stored.max_error for stored in work.stored()), default=0.0),
        **work.measured(),
        **({"bits_per_decision": 8 * after / max(work.decisions, 1)} if store == "policy" else {}),
    }


def _check_arguments(store: str, bits: int | None, level: int) -> None:
    if store not in ("values", "policy"):
        raise MadnError(f"a database can store 'values' or 'policy', not {store!r}")
    if store == "policy" and bits is not None:
        raise MadnError("bits are for values; a policy stores none")
    if bits is not None and not (type(bits) is int and MIN_BITS <= bits <= MAX_BITS):
        raise MadnError(f"bits must be a whole number from {MIN_BITS} to {MAX_BITS}, not {bits!r}")
    if not (type(level) is int and MIN_LEVEL <= level <= MAX_LEVEL):
        raise MadnError(f"level must be a whole number from {MIN_LEVEL} to {MAX_LEVEL}, not {level!r}")


def _directory_bytes(directory: Path) -> int:
    return sum(entry.stat(follow_symlinks=False).st_size for entry in os.scandir(directory))


class _Compression:
    """The work on one new database: what is done, and what the catalogue will say of it."""

    def __init__(
        self, reader: BlockReader, table: BlockTable, store: str, bits: int | None, level: int, cache_bytes: int
    ) -> None:
        self.reader = reader
        self.group = Group(reader.catalogue, table)
        self.table = table
        self.store = store
        self.bits = bits
        self.level = level
        self.rows: list[Block] = []
        self.made: list[Made] = []
        self.moves = MoveValues(reader, table, cache_bytes) if bits is not None or store == "policy" else None

    def task(self) -> str:
        """All that the result depends on, as one line."""
        with open(self.reader.directory / CATALOGUE, "rb") as file:
            source = hashlib.file_digest(file, "sha256").hexdigest()
        facts = {"compress": source, "format": FORMAT, "store": self.store, "bits": self.bits, "level": self.level}
        return json.dumps(facts, sort_keys=True)

    def encoding(self, at: int) -> Encoding:
        """The new encoding of a block."""
        if self.store == "policy":
            return POLICY
        return self.group.encodings[at] if self.bits is None else quantised(self.bits)

    def run(self, journal: Path, files: FrameFiles, progress: Progress | None, threads: int) -> None:
        """Adopt the blocks that an earlier run has made, make the others, and note each in the journal."""
        total = len(self.table)
        for row, made in self._noted(journal):
            if not files.adopt(row.length, row.digest):
                break
            self.rows.append(row)
            self.made.append(made)
        files.cut()
        with open(journal, "r+b") as notes:
            for _ in range(1 + len(self.rows)):
                notes.readline()
            notes.truncate(notes.tell())
            jobs = (partial(self._encode, at) for at in range(len(self.rows), total))
            for frame, made in in_order(jobs, threads):
                file, offset = files.append(frame)
                row = self._row(len(self.rows), file, offset, frame)
                files.flush()
                notes.write(json.dumps([asdict(row), asdict(made)]).encode() + b"\n")
                notes.flush()
                self.rows.append(row)
                self.made.append(made)
                if progress:
                    progress(len(self.rows) / total, f"block {len(self.rows)} of {total}")

    def _row(self, at: int, file: int, offset: int, frame: bytes) -> Block:
        profile, rank, count = (int(c[at]) for c in (self.table.profile, self.table.first_rank, self.table.count))
        name = self.encoding(at).name
        return Block(at, profile, rank, count, file, offset, len(frame), name, frame_digest(frame))

    def _noted(self, journal: Path) -> Iterator[tuple[Block, Made]]:
        """The blocks in the journal, as far as it can be read."""
        with open(journal, "rb") as notes:
            notes.readline()
            for line, _ in zip(notes, range(len(self.table)), strict=False):
                try:
                    row, made = json.loads(line if line.endswith(b"\n") else b"")
                    block, known = Block(**row), Made(**made)
                except (ValueError, TypeError):
                    return  # the last line, cut off
                yield block, known

    def _encode(self, at: int) -> tuple[bytes, Made]:
        """The frame of a block in its new encoding, and what is known of it."""
        old, new = self.group.encodings[at], self.encoding(at)
        first, count = self.group.first_ids[at], self.group.counts[at]
        raw = self.reader.load(self.group, at)
        if not blocks.probabilities(raw, old):
            raise CorruptBlockError(f"{self.reader.directory}: block {at}: a value is not a probability")
        if self.store == "policy":
            assert self.moves is not None
            frame, decisions = policy.encode(self.moves.choices(first, count), first, self.reader.game, self.level)
            return frame, Made(decisions=decisions)
        made = Made()
        if new != old:
            wins = old.wins(raw)
            raw = new.raws(wins)
            made = replace(self._lost(first, count, new), error=float(np.abs(new.wins(raw) - wins).max()))
        catalogue = self.reader.catalogue
        where = layout(catalogue.rules, catalogue.profiles[self.table.profile[at]], int(self.table.first_rank[at]))
        return blocks.encode(raw, new, first, where, self.level), made

    def _lost(self, first: int, count: int, new: Encoding) -> Made:
        """What the positions of a block lose when they are played from values in a new encoding."""
        assert self.moves is not None
        if not self.moves.fits:
            return Made(max_loss=None)
        try:
            losses = self.moves.losses(first, count, new)
        except MissingBlockError:
            return Made(max_loss=None)
        worst = int(np.argmax(losses))
        return Made(loss=float(losses.sum()), max_loss=float(losses[worst]), max_loss_id=first + worst)

    @property
    def decisions(self) -> int:
        """The decisions of a policy."""
        return sum(made.decisions for made in self.made)

    def measured(self) -> dict[str, Any]:
        """What was measured on the way: the decisions of a policy, or what rounding loses."""
        if self.store == "policy":
            return {"decisions": self.decisions}
        if self.bits is None:
            return {}
        if any(made.max_loss is None for made in self.made):
            return {"max_loss": None, "max_loss_board": None, "mean_loss": None}
        worst = max(self.made, key=lambda made: made.max_loss or 0.0, default=Made())
        rules = self.reader.catalogue.rules
        return {
            "max_loss": worst.max_loss,
            "max_loss_board": str(Board.from_masks(*self.reader.game.unrank(worst.max_loss_id), rules)),
            "mean_loss": sum(made.loss for made in self.made) / max(int(self.table.count.sum()), 1),
        }

    def stored(self) -> list[StoredEncoding]:
        """The encodings of the new database with their largest errors, those of the old one included."""
        before = max((stored.max_error for stored in self.reader.catalogue.encodings), default=0.0)
        added: dict[str, float] = {}
        for row, made in zip(self.rows, self.made, strict=True):
            added[row.encoding] = max(added.get(row.encoding, 0.0), made.error)
        return [StoredEncoding(blocks.ENCODINGS[name], before + error) for name, error in sorted(added.items())]

    def write_catalogue(self, part: Path, files: FrameFiles) -> None:
        """Write the catalogue and the digests: as before, but for the blocks and what was done to them."""
        from madn.store.catalogue_writer import write_catalogue, write_sums

        old = self.reader.catalogue
        done = {"store": self.store, "bits": self.bits, "level": self.level, **self.measured()}
        before = old.provenance.get("compressed", [])
        provenance = {**old.provenance, "compressed": [*(before if isinstance(before, list) else []), done]}
        boards = [self._board(board) for board in old.boards]
        write_catalogue(part / CATALOGUE, old.rules, provenance, self.stored(), files.done, self.rows, boards)
        write_sums(part, files.done)

    def _board(self, board: NamedBoard) -> NamedBoard:
        """A named board with its value as it is now stored; beside a policy, as it was."""
        if board.block is None:
            return board
        if not 0 <= board.block < len(self.table):
            raise CorruptBlockError(f"{self.reader.directory}: named board {board.name!r} has no such block")
        new = self.encoding(board.block)
        if new in (self.group.encodings[board.block], POLICY):
            return board
        return replace(board, win=new.win(new.raws(np.array([self.reader.win(board.id)]))[0].item()))
