"""Rewriting a database in another encoding, block by block."""

import hashlib
import os
import shlex
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from madn.board import Board
from madn.errors import MadnError, MissingBlockError, OutputError
from madn.ranges import MOST_BYTES, checked_int
from madn.store import zstd
from madn.store.blocks import MAX_BITS, MIN_BITS, Encoding, quantised
from madn.store.catalogue import read_catalogue
from madn.store.encoders import EncodedBlock, Encoder, Measured, PolicyEncoder, ValueEncoder
from madn.store.move_values import MoveValues
from madn.store.reader import BlockReader, open_reader
from madn.store.records import CATALOGUE, BlockTable
from madn.store.workplace import bytes_in
from madn.store.writer import DatabaseWriter, open_writer

Progress = Callable[[float, str], None]
LEVEL = 9  # of zstd; docs/format.md explains the choice
CACHE_BYTES = 1 << 30  # of decoded blocks, in which the values of moves are looked up


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
    """Rewrite the database `src` at `dst`: its values, rounded to `bits` bits or unchanged, or its policy.

    `src` is only read. Interrupted work resumes where it stopped. Returns `bytes_before` and `bytes_after` of the whole
    directories, `bits_per_position` of the new one, and `max_error`, the largest difference between a stored value and
    the solution (for a policy, between a value that it was made from and the solution).

    With `bits` it also returns `max_loss`, `max_loss_board` and `mean_loss`: the winning probability that a position
    loses when one turn is played from the rounded values, over all positions, measured in the values of `src`. They are
    None if moves lead to positions that `src` does not have, or if the decoded values of `src` do not fit into
    `cache_bytes`. For a policy it also returns `decisions` and `bits_per_decision`; if the values do not fit, it takes
    much longer.
    """
    bits, level = _checked_arguments(store, bits, level)
    cache_bytes = checked_int("cache_bytes", cache_bytes, 0, MOST_BYTES)
    source, target = Path(os.path.realpath(src)), Path(os.path.realpath(dst))
    if source == target or source in target.parents:
        raise OutputError(f"{dst}: the new database cannot be inside {src}, the one being read")
    _, table = read_catalogue(Path(src))
    with closing(open_reader(Path(src), cache_bytes=0)) as reader:
        if reader.policy:
            raise MadnError(f"{src}: stores best moves, not values; compress the database it was made from")
        work = _Compression(reader, table, store, bits, level, cache_bytes)
        before = max((stored.max_error for stored in reader.catalogue.encodings), default=0.0)
        boards = [(board.name, board.board, board.id, board.win) for board in reader.catalogue.boards]
        with open_writer(dst, work.encoder, work.task(), command=work.command(src, dst), threads=threads) as writer:
            work.write(writer, progress)
            measured, figures = writer.measured, work.figures(writer.measured)
            writer.publish(work.provenance(figures), boards, before)
    after = bytes_in(target)
    return {
        "bytes_before": bytes_in(source),
        "bytes_after": after,
        "bits_per_position": 8 * after / max(int(table.count.sum()), 1),
        "max_error": before + measured.error,
        **figures,
        **({"bits_per_decision": 8 * after / max(measured.decisions, 1)} if store == "policy" else {}),
    }


def _checked_arguments(store: str, bits: int | None, level: int) -> tuple[int | None, int]:
    if store not in ("values", "policy"):
        raise MadnError(f"store must be 'values' or 'policy', not {store!r}")
    if store == "policy" and bits is not None:
        raise MadnError("bits are for values; a policy has none")
    bits = None if bits is None else checked_int("bits", bits, MIN_BITS, MAX_BITS)
    return bits, zstd.checked_level(level)


class _Compression:
    """The work on one new database."""

    def __init__(
        self, reader: BlockReader, table: BlockTable, store: str, bits: int | None, level: int, cache_bytes: int
    ) -> None:
        self.reader, self.table = reader, table
        self.store, self.bits, self.level = store, bits, level
        self.rules = reader.catalogue.rules
        self.moves = MoveValues(reader, table, cache_bytes) if bits is not None or store == "policy" else None
        self.policy_encoder = PolicyEncoder(self.rules, level)
        new = None if bits is None else quantised(bits)
        self.value_encoders = {
            stored.encoding: ValueEncoder(self.rules, stored.encoding, new, level)
            for stored in reader.catalogue.encodings
        }
        values = next(iter(self.value_encoders.values()), None)  # None: an empty database has no encoding
        self.encoder: Encoder = self.policy_encoder if store == "policy" or values is None else values

    def task(self) -> dict[str, Any]:
        """Everything that the result depends on."""
        with open(self.reader.directory / CATALOGUE, "rb") as file:
            source = hashlib.file_digest(file, "sha256").hexdigest()
        return {"compress": source, "store": self.store, "bits": self.bits, "level": self.level}

    def command(self, src: str | os.PathLike[str], dst: str | os.PathLike[str]) -> str:
        """The command line for this work."""
        words = ["madn", "compress", os.fspath(src), os.fspath(dst), "--store", self.store, "--level", str(self.level)]
        return shlex.join(words + ([] if self.bits is None else ["--bits", str(self.bits)]))

    def write(self, writer: DatabaseWriter, progress: Progress | None) -> None:
        """Store the blocks that an earlier process has not stored."""
        total = len(self.table)
        if progress is not None:
            writer.on_stored = lambda done: progress(done / total, f"block {done} of {total}")
        for at, (first, count) in enumerate(zip(self.table.first_ids, self.table.counts, strict=True)):
            if not writer.has(first, count):
                writer.add(first, first, count, partial(self._encode, at))
        writer.flush()

    def _encode(self, at: int) -> EncodedBlock:
        """Re-encode a block."""
        first, count, old = self.table.first_ids[at], self.table.counts[at], self.table.encodings[at]
        raw = self.reader.load_content(self.table, at)
        if self.store == "policy":
            assert self.moves is not None
            return self.policy_encoder.encode_choices(first, self.moves.choices(first, count))
        encoder = self.value_encoders[old]
        encoded = encoder.encode(first, raw)
        if encoder.encoding == old:
            return encoded
        loss = self._loss(first, count, encoder.encoding)
        return encoded._replace(measured=loss._replace(error=encoded.measured.error))

    def _loss(self, first: int, count: int, new: Encoding) -> Measured:
        """What the positions of a block lose when one turn is played from values in the new encoding."""
        assert self.moves is not None
        if not self.moves.fits:
            return Measured(max_loss=None)
        try:
            losses = self.moves.losses(first, count, new)
        except MissingBlockError:
            return Measured(max_loss=None)
        worst = int(np.argmax(losses))
        return Measured(loss=float(losses.sum()), max_loss=float(losses[worst]), max_loss_id=first + worst)

    def figures(self, measured: Measured) -> dict[str, Any]:
        """What was measured while encoding: the decisions of a policy, or what rounding loses."""
        if self.store == "policy":
            return {"decisions": measured.decisions}
        if self.bits is None:
            return {}
        if measured.max_loss is None:
            return {"max_loss": None, "max_loss_board": None, "mean_loss": None}
        return {
            "max_loss": measured.max_loss,
            "max_loss_board": str(Board.from_masks(*self.reader.game.unrank(measured.max_loss_id), self.rules)),
            "mean_loss": measured.loss / max(int(self.table.count.sum()), 1),
        }

    def provenance(self, figures: dict[str, Any]) -> dict[str, Any]:
        """The provenance of the source, with what was done now added."""
        old = self.reader.catalogue.provenance
        earlier = old.get("compressed", [])
        done = {"store": self.store, "bits": self.bits, "level": self.level, **figures}
        return {**old, "compressed": [*(earlier if isinstance(earlier, list) else []), done]}
