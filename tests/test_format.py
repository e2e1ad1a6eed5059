"""A reader written from docs/format.md alone: it shares no code with madn and agrees on every position."""

import sqlite3
import struct
from math import comb
from pathlib import Path

import numpy as np
import pytest
import zstandard
from test_store import Noise

from madn.database import open_database
from madn.rules import Rules
from madn.store import compress_database, write_database

# begin of the reader


def chunks(places, pieces, piece, base):
    """All (first rank, L) of a piece whose place is at least one above its lowest, from the formula."""
    for q in range(pieces - 1, places):
        start = base + comb(q, pieces)
        if pieces > piece:
            yield from chunks(q, pieces - 1, piece, start)
        elif q >= piece:
            yield start, comb(q - 1, piece - 1)


def undo(x, first, places, pieces, unit, modulus):
    """Step 2 for one side; one of its arrangements lasts `unit` positions."""
    period = comb(places, pieces) * unit
    for piece in range(pieces, 0, -1):
        for base in range(first - first % period, first + len(x), period):
            for start, length in chunks(places, pieces, piece, 0):
                lag, begin = length * unit, base + start * unit - first
                for i in range(max(begin, lag), min(begin + lag, len(x))):
                    x[i] = (x[i] + x[i - lag]) % modulus


def values(directory):
    """Yield (first ID, probabilities) block by block."""
    catalogue = sqlite3.connect(f"file:{directory}/catalogue.sqlite?mode=ro", uri=True)
    if catalogue.execute("PRAGMA user_version").fetchone() != (1,):
        raise SystemExit("another format")
    squares = dict(catalogue.execute("SELECT name, value FROM rules"))["squares"]
    rows = catalogue.execute(
        "SELECT p1 - f1, p2 - f2, first_id + first_rank, first_rank, count, files.name, offset, length, code,"
        " bits, zero, scale FROM blocks JOIN profiles USING (profile) JOIN files USING (file)"
        " JOIN encodings ON encodings.name = encoding ORDER BY block"
    )
    for own, other, first_id, rank, n, name, offset, length, code, bits, zero, scale in rows:
        with open(f"{directory}/{name}", "rb") as file:
            file.seek(offset)
            content = zstandard.ZstdDecompressor().decompress(file.read(length))
        if struct.unpack_from("<4sIQI", content) != (b"madn", code, first_id, n):
            raise SystemExit("not the block it should be")
        width = (bits + 7) // 8
        modulus, balance = 1 << 8 * width, int("80" * width, 16)
        planes = [content[20 + n * k : 20 + n * (k + 1)] for k in range(width)]
        x = [(sum(b << 8 * k for k, b in enumerate(word)) - balance) % modulus for word in zip(*planes, strict=True)]
        row = comb(squares - own, other)
        undo(x, rank, squares, own, row, modulus)
        undo(x, rank, squares - own, other, 1, modulus)
        if code == 1:
            x = [v - (v >> 31 << 32) for v in x]
        elif code == 2:
            x = list(struct.unpack(f"<{n}d", struct.pack(f"<{n}Q", *x)))
        yield first_id, [zero + v / scale for v in x]


# end of the reader


def test_the_reader_has_at_most_80_lines() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    reader = text.split("# begin of the reader")[1].split("# end of the reader")[0]
    assert len([line for line in reader.splitlines() if line.strip()]) <= 80


def agree(directory: Path) -> int:
    """Compare the readers on every position; return how many there are."""
    seen = 0
    with open_database(directory) as db:
        for first, wins in values(directory):
            assert first == seen
            assert np.array_equal(db.win_many(np.arange(first, first + len(wins))), wins)
            seen += len(wins)
        assert seen == db.rules.positions
    return seen


def test_both_readers_agree_on_every_position_of_the_two_piece_game() -> None:
    with open_database() as db:
        assert agree(db.path) == 747_435


@pytest.mark.parametrize("encoding", ["fixed32", "float64", "bits8", "bits13", "bits24"])
def test_both_readers_agree_on_every_encoding(tmp_path: Path, encoding: str) -> None:
    full = encoding if encoding in ("fixed32", "float64") else "float64"
    write_database(tmp_path / "db", Noise(Rules(3, 8), full), {}, block_positions=777)
    if encoding != full:
        compress_database(tmp_path / "db", tmp_path / "new", bits=int(encoding[4:]))
        agree(tmp_path / "new")
    else:
        agree(tmp_path / "db")
