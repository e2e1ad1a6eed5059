"""Blocks, the catalogue and the place where a database is written."""

# A test of a refusal passes what the types forbid.
# mypy: disable-error-code="arg-type, call-arg"

import contextlib
import itertools
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import reference_prediction
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from madn.board import Board
from madn.errors import CorruptBlockError, FormatVersionError, MadnError, ResourceError
from madn.rules import Rules
from madn.store import OutputError, _blocks, blocks, check_writable, workplace, write_database
from madn.store.blocks import ProfileSlice
from madn.store.catalogue import read_catalogue
from madn.store.records import frame_digest, rules_from, rules_rows

TINY = Rules(pieces=1, squares=8)
SMALL = Rules(pieces=2, squares=12)


@dataclass
class Noise:
    """A source of seeded random values, where correct play does not matter."""

    rules: Rules = SMALL
    representation: str = "fixed32"
    seed: int = 1

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        raw = rng.integers(-(2**28), 2**28, self.rules.positions, endpoint=True)
        self.raw = raw.astype("<i4") if self.representation == "fixed32" else 0.5 + raw / 2**29
        self.min_board = self.max_board = Board.start(self.rules)

    def read(self, first: int, out: np.ndarray) -> None:
        out[:] = self.raw[first : first + len(out)]


def rules_of(directory: Path) -> Rules:
    return read_catalogue(directory)[0].rules


@pytest.fixture
def database(tmp_path: Path) -> Path:
    write_database(tmp_path / "db", Noise(), {"seed": 1}, block_positions=1000)
    return tmp_path / "db"


# blocks

NAMES = ("fixed32", "float64", "bits8", "bits13", "bits16", "bits17", "bits24")
PLAIN = ProfileSlice(squares=8, own=0, other=0, first=0)  # a profile without pieces on the main field: no prediction
TABLE = ProfileSlice(squares=12, own=2, other=2, first=30)


@st.composite
def layouts(draw: st.DrawFn) -> ProfileSlice:
    own, other = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    squares = draw(st.integers(own + other + 1, 12))
    return ProfileSlice(squares, own, other, draw(st.integers(0, 5000)))


def any_raw(encoding: blocks.Encoding, count: int, seed: int) -> np.ndarray:
    """Any raw values that an encoding can hold, probabilities or not."""
    data = np.random.default_rng(seed).integers(0, 256, count * np.dtype(encoding.dtype).itemsize, np.uint8)
    raw = data.view(encoding.word)
    if encoding.quantised:
        raw &= raw.dtype.type((1 << encoding.bits) - 1)
    return raw.view(encoding.dtype)


@pytest.mark.parametrize("name", NAMES)
@given(where=layouts(), first=st.integers(0, 2**60), count=st.integers(1, 300), seed=st.integers(0, 99))
def test_decode_undoes_encode(name: str, where: ProfileSlice, first: int, count: int, seed: int) -> None:
    encoding = blocks.ENCODINGS[name]
    values = any_raw(encoding, count, seed)
    kept = values.copy()
    frame = blocks.encode(values, encoding, first, where)
    assert np.array_equal(values.view(np.uint8), kept.view(np.uint8))  # the caller's array is left alone
    decoded = blocks.decode(frame, encoding, first, count, where)
    assert np.array_equal(decoded.view(np.uint8), values.view(np.uint8))


@pytest.mark.parametrize("word", ["u1", "u2", "u4", "u8"])
@given(where=layouts(), count=st.integers(1, 700), seed=st.integers(0, 99))
def test_the_compiled_prediction_and_its_twin_agree(word: str, where: ProfileSlice, count: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, 250, count).astype(word)
    plain, compiled = values.copy(), values.copy()
    reference_prediction.subtract(plain, where)
    _blocks.subtract(compiled, *where)
    assert np.array_equal(plain, compiled)
    reference_prediction.add(plain, where)
    assert np.array_equal(plain, values)
    _blocks.decode(_blocks.split(compiled, compiled.itemsize), decoded := np.empty_like(values), *where)
    assert np.array_equal(decoded, values)


def arrangements(squares: int, pieces: int) -> list[tuple[int, ...]]:
    """The places of the pieces in the string of docs/format.md, by ascending rank."""
    return sorted(itertools.combinations(range(squares), pieces), key=lambda places: places[::-1])


@pytest.mark.parametrize(
    ("squares", "own", "other", "first"), [(7, 2, 2, 0), (7, 2, 2, 133), (6, 0, 3, 4), (6, 3, 1, 9)]
)
def test_each_piece_is_predicted_from_one_square_further_on(squares: int, own: int, other: int, first: int) -> None:
    """The definition: piece after piece, take off what stands where that piece alone is one place lower."""
    order = list(itertools.product(arrangements(squares, own), arrangements(squares - own, other)))[first:]
    rank = {pair: i for i, pair in enumerate(order)}
    values = np.random.default_rng(1).integers(0, 2**32, len(order)).astype("<u4")
    compiled = values.copy()
    _blocks.subtract(compiled, squares, own, other, first)
    for side, piece in [(1, j) for j in range(other)] + [(0, j) for j in range(own)]:
        before = values.copy()
        for i, pair in enumerate(order):
            moved = [list(places) for places in pair]
            moved[side][piece] -= 1
            neighbour = rank.get((tuple(moved[0]), tuple(moved[1])))
            if neighbour is not None:
                values[i : i + 1] -= before[neighbour]
    assert np.array_equal(compiled, values)


WORDS, BYTES = np.zeros(10, "<u4"), np.zeros(40, np.uint8)
WHERE = 8, 2, 2, 0
WRONG_CALLS = {
    "decode: no bytes": lambda: _blocks.decode(b"", WORDS.copy(), *WHERE),
    "decode: no words": lambda: _blocks.decode(BYTES, WORDS[:0].copy(), *WHERE),
    "decode: None for bytes": lambda: _blocks.decode(None, WORDS.copy(), *WHERE),
    "decode: None for words": lambda: _blocks.decode(BYTES, None, *WHERE),
    "decode: too many bytes": lambda: _blocks.decode(bytes(50), WORDS.copy(), *WHERE),
    "decode: not a multiple": lambda: _blocks.decode(bytes(11), WORDS.copy(), *WHERE),
    "decode: other type": lambda: _blocks.decode(BYTES, np.zeros(10), *WHERE),
    "decode: strided": lambda: _blocks.decode(BYTES, np.zeros(20, "<u4")[::2], *WHERE),
    "decode: read-only": lambda: _blocks.decode(BYTES, np.broadcast_to(WORDS, (10,)), *WHERE),
    "decode: two dimensions": lambda: _blocks.decode(BYTES, np.zeros((10, 2), "<u4"), *WHERE),
    "split: no plane": lambda: _blocks.split(WORDS, 0),
    "split: negative planes": lambda: _blocks.split(WORDS, -1),
    "split: too many planes": lambda: _blocks.split(WORDS, 5),
    "split: no words": lambda: _blocks.split(WORDS[:0], 4),
    "split: None": lambda: _blocks.split(None, 4),
    **{
        f"{name}: {wrong}": partial(call, WORDS.copy(), *wrong)
        for name, call in (("subtract", _blocks.subtract), ("decode", partial(_blocks.decode, BYTES)))
        for wrong in (
            (8, -1, 0, 0), (8, 0, -1, 0), (8, 8, 0, 0), (8, 0, 8, 0), (8, 5, 4, 0), (65, 2, 2, 0), (-1, 0, 0, 0),
            (8, 2, 2, -1), (8, 2, 2, 2**63 - 1), (40, 3, 3, 2**63 - 5), (2**31 - 1, 2, 2, 0),
        )
    },
    "subtract: no words": lambda: _blocks.subtract(WORDS[:0].copy(), *WHERE),
    "subtract: None": lambda: _blocks.subtract(None, *WHERE),
}  # fmt: skip


@pytest.mark.parametrize("call", WRONG_CALLS.values(), ids=WRONG_CALLS)
def test_wrong_arguments_of_compiled_functions_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises((ValueError, TypeError)):
        call()


@given(first=st.integers(0, 2**56), own=st.integers(0, 7), other=st.integers(0, 7), count=st.integers(1, 3000))
def test_any_block_of_any_profile_can_be_predicted(first: int, own: int, other: int, count: int) -> None:
    values = np.arange(count, dtype="<u4")
    _blocks.subtract(values, 64, own, other, first)
    _blocks.decode(_blocks.split(values, 4), decoded := np.empty_like(values), 64, own, other, first)
    assert np.array_equal(decoded, np.arange(count))


def test_a_smooth_table_compresses_better_where_it_lies() -> None:
    where = ProfileSlice(squares=40, own=2, other=1, first=0)  # rows of 38
    rows, columns = np.divmod(np.arange(20_000), 38)
    values = (rows**2 * 40_000 + np.random.default_rng(2).integers(0, 2**24, 38)[columns]).astype("<i4")
    plain, placed = (len(blocks.encode(values, blocks.FIXED32, 0, at)) for at in (PLAIN, where))
    assert placed < plain / 2


def test_fixed32_and_float64_are_probabilities() -> None:
    assert blocks.FIXED32.wins(np.array([-(2**28), 0, 2**28], "<i4")).tolist() == [0.0, 0.5, 1.0]
    assert blocks.FLOAT64.wins(np.array([0.0, 0.1, 1.0])).tolist() == [0.0, 0.1, 1.0]


def test_a_frame_is_what_the_catalogue_says_or_an_error() -> None:
    values = np.arange(50, dtype="<i4")
    frame = blocks.encode(values, blocks.FIXED32, 7, PLAIN)
    for first, count in ((8, 50), (7, 49), (7, 51)):
        with pytest.raises(CorruptBlockError):
            blocks.decode(frame, blocks.FIXED32, first, count, PLAIN)
    with pytest.raises(CorruptBlockError):
        blocks.decode(frame, blocks.FLOAT64, 7, 25, PLAIN)


def test_every_flipped_bit_of_a_frame_is_found() -> None:
    values = np.cumsum(np.arange(300, dtype="<i4"))
    frame = blocks.encode(values, blocks.FIXED32, 7, TABLE)
    for bit in range(8 * len(frame)):
        flipped = bytearray(frame)
        flipped[bit // 8] ^= 1 << bit % 8
        try:
            decoded = blocks.decode(bytes(flipped), blocks.FIXED32, 7, 300, TABLE)
        except CorruptBlockError:
            continue
        assert np.array_equal(decoded, values)  # a bit of the frame that means nothing
        assert frame_digest(bytes(flipped)) != frame_digest(frame)


def test_frames_cut_off_joined_or_without_checksum_are_refused() -> None:
    values = np.arange(50, dtype="<i4")
    frame = blocks.encode(values, blocks.FIXED32, 0, PLAIN)
    content = zstandard.ZstdDecompressor().decompress(frame)
    bare = zstandard.ZstdCompressor(write_checksum=False).compress(content)
    for wrong in (b"", frame[:-1], frame + b"x", frame + frame, bare, content):
        with pytest.raises(CorruptBlockError):
            blocks.decode(wrong, blocks.FIXED32, 0, 50, PLAIN)


def test_a_frame_that_claims_an_enormous_size_is_refused_at_once() -> None:
    bomb = zstandard.ZstdCompressor(write_checksum=True).compress(bytes(50_000_000))
    with pytest.raises(CorruptBlockError, match="claims 50000000 bytes"):
        blocks.decode(bomb, blocks.FIXED32, 0, 50, PLAIN)


# the catalogue


def test_blocks_cover_every_position_once_and_stay_in_their_profiles(database: Path) -> None:
    catalogue, table = read_catalogue(database)
    assert catalogue.rules == SMALL
    assert table.count.max() == 1000
    ends = table.first_id + table.count
    assert table.first_id[0] == 0
    assert ends[-1] == SMALL.positions
    assert np.array_equal(table.first_id[1:], ends[:-1])


def test_the_catalogue_is_pleasant_to_read_and_strict(database: Path) -> None:
    with sqlite3.connect(database / "catalogue.sqlite") as connection:
        for view in ("about", "block_list", "profile_sizes", "profile_places", "named_boards"):
            assert connection.execute(f"SELECT * FROM {view}").fetchall()
        assert connection.execute("SELECT name, board FROM named_boards WHERE board = '0/0'").fetchall()
        stored = connection.execute("SELECT sum(positions), sum(stored), sum(blocks) FROM profile_sizes").fetchone()
        assert stored[:2] == (SMALL.positions, SMALL.positions)
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute("UPDATE blocks SET offset = 'nowhere'")
        tables = connection.execute("SELECT name, strict FROM pragma_table_list WHERE schema = 'main'").fetchall()
        assert {name for name, strict in tables if strict} >= {"rules", "blocks", "profiles", "boards"}


def test_named_boards_say_where_they_are(database: Path) -> None:
    catalogue, table = read_catalogue(database)
    start = next(board for board in catalogue.boards if board.name == "start")
    assert start.block is not None
    assert table.first_id[start.block] + start.offset == start.id
    assert start.win == 0.5 + Noise().raw[start.id] / 2**29


def test_sha256sums_are_those_of_the_files(database: Path) -> None:
    run = subprocess.run(["sha256sum", "--check", "SHA256SUMS"], cwd=database, capture_output=True, check=False)
    assert run.returncode == 0


def tamper(database: Path, *statements: str) -> None:
    with sqlite3.connect(database / "catalogue.sqlite") as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE blocks SET offset = 9223372036854775807 WHERE block = 3",
        "UPDATE blocks SET offset = -1 WHERE block = 0",
        "UPDATE blocks SET length = 9223372036854775807 WHERE block = 3",
        "UPDATE blocks SET length = 0 WHERE block = 3",
        "UPDATE blocks SET count = 9223372036854775807 WHERE block = 3",
        "UPDATE blocks SET count = 0 WHERE block = 3",
        "UPDATE blocks SET first_rank = 1 WHERE block = 3",
        "UPDATE blocks SET first_rank = -1 WHERE block = 3",
        "UPDATE blocks SET profile = 999 WHERE block = 3",
        "UPDATE blocks SET profile = -1 WHERE block = 3",
        "UPDATE blocks SET file = 7 WHERE block = 3",
        "UPDATE blocks SET block = 1000000 WHERE block = 3",
        "UPDATE files SET bytes = bytes + 1",
        "UPDATE files SET name = '../db/values-0000.madn'",
        "UPDATE files SET name = '/etc/passwd'",
        "UPDATE profiles SET first_id = 5 WHERE profile = 0",
        "DELETE FROM profiles WHERE profile = 3",
        "UPDATE rules SET value = 1 WHERE name = 'pieces'",
        "UPDATE rules SET value = 4000000 WHERE name = 'squares'",
        "DELETE FROM rules",
        "UPDATE encodings SET scale = 2.0",
        "UPDATE provenance SET value = '{'",
        "DROP TABLE boards",
        "PRAGMA application_id = 1",
        "ALTER TABLE blocks RENAME TO b2",
    ],
)
def test_a_catalogue_that_lies_is_refused(database: Path, statement: str) -> None:
    tamper(database, statement)
    with pytest.raises(CorruptBlockError) as caught:
        read_catalogue(database)
    assert "\n" not in str(caught.value)


def test_a_view_in_place_of_a_table_is_refused(database: Path) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
    tamper(database, "ALTER TABLE blocks RENAME TO b2", f"CREATE VIEW blocks AS {endless}")
    with pytest.raises(CorruptBlockError, match="table blocks is missing"):
        read_catalogue(database)


def test_too_old_and_too_new_are_said_differently(database: Path) -> None:
    tamper(database, "PRAGMA user_version = 2")
    with pytest.raises(FormatVersionError, match="too new"):
        read_catalogue(database)
    tamper(database, "PRAGMA user_version = 0")
    with pytest.raises(FormatVersionError, match="too old"):
        read_catalogue(database)
    tamper(database, "PRAGMA user_version = 1", "INSERT INTO rules VALUES ('flying', 1)")
    with pytest.raises(FormatVersionError, match="flying"):
        read_catalogue(database)
    tamper(database, "DELETE FROM rules WHERE name = 'flying'", "UPDATE encodings SET name = 'wavelets'")
    with pytest.raises(FormatVersionError, match="wavelets"):
        read_catalogue(database)


@dataclass(frozen=True)
class HouseRules(Rules):
    """Rules as they may be one day."""

    flying: bool = False
    dice: int = 1


def test_a_rule_that_a_catalogue_does_not_have_is_off() -> None:
    old = {"pieces": 2, "squares": 12}
    assert rules_from(old, HouseRules) == HouseRules(2, 12)
    assert rules_from(old | {"flying": 0, "dice": 2}, HouseRules) == HouseRules(2, 12, dice=2)
    flying = rules_from(old | {"flying": 1}, HouseRules)
    assert flying == HouseRules(2, 12, flying=True)
    assert flying.flying is True
    assert str(flying) == "2 pieces, 12 squares, flying"


def test_rules_come_back_as_they_were_written() -> None:
    for rules in (HouseRules(2, 12), HouseRules(1, 8, flying=True), HouseRules(4, 40, flying=True, dice=3)):
        rows = {row["name"]: row["value"] for row in rules_rows(rules)}
        assert all(type(value) is int for value in rows.values())
        assert rules_from(rows, HouseRules) == rules
    assert rules_rows(HouseRules(2, 12)) == rules_rows(SMALL), "a rule that is off is not written"


def test_rules_that_cannot_be_are_refused() -> None:
    for rows, words in (
        ({"squares": 12}, "rule 'pieces' is missing"),
        ({"pieces": 2}, "rule 'squares' is missing"),
        ({"pieces": 2, "squares": 12, "flying": 2}, "rule 'flying' is 2, expected 0 or 1"),
        ({"pieces": 9, "squares": 12}, "pieces must be 1 to 6, not 9"),
    ):
        with pytest.raises(CorruptBlockError, match=words):
            rules_from(rows, HouseRules)
    with pytest.raises(FormatVersionError, match="rule 'swimming' is too new for this madn"):
        rules_from({"pieces": 2, "squares": 12, "swimming": 0}, HouseRules)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE blocks SET count = 0 WHERE block = 3", "block 3: count 0 is out of range 1 to 1,048,576"),
        ("UPDATE blocks SET profile = 999 WHERE block = 3", "block 3: profile 999 is out of range 0 to "),
        ("UPDATE blocks SET offset = -1 WHERE block = 2", "block 2: offset -1 is out of range 0 to "),
        ("UPDATE blocks SET file = 7 WHERE block = 3", "block 3: file 7 is out of range 0 to 0"),
        ("UPDATE blocks SET block = 1000000 WHERE block = 3", "block 3 is missing"),
        ("UPDATE encodings SET scale = 2.0", "are \\[1, 32, 0.5, 2.0\\], expected \\[1, 32, 0.5, 536870912.0\\]"),
        (
            "UPDATE profiles SET first_id = 5 WHERE profile = 4",
            r"row 4 is \(4, .*, expected \(4, .* for 2 pieces, 12 sq",
        ),
        ("PRAGMA application_id = 1", "application_id is 0x1, expected 0x4d41444e"),
    ],
)
def test_what_is_wrong_with_a_catalogue_is_said(database: Path, statement: str, words: str) -> None:
    tamper(database, statement)
    with pytest.raises(CorruptBlockError, match=f"catalogue.sqlite: .*{words}"):
        read_catalogue(database)


def test_a_catalogue_that_is_a_link_or_missing_or_noise_is_refused(database: Path, tmp_path: Path) -> None:
    catalogue = database / "catalogue.sqlite"
    catalogue.rename(tmp_path / "elsewhere")
    with pytest.raises(CorruptBlockError, match="no database here"):
        read_catalogue(database)
    catalogue.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CorruptBlockError, match="ordinary file"):
        read_catalogue(database)
    catalogue.unlink()
    for noise in (b"", b"hello", b"SQLite format 3\0" + bytes(5000)):
        catalogue.write_bytes(noise)
        with pytest.raises(CorruptBlockError):
            read_catalogue(database)


@pytest.fixture(scope="module")
def catalogue_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    directory = tmp_path_factory.mktemp("tiny")
    write_database(directory / "db", Noise(TINY), {})
    return (directory / "db" / "catalogue.sqlite").read_bytes()


@settings(max_examples=300, deadline=None)
@given(position=st.integers(0, 10**9), value=st.integers(0, 255))
def test_a_catalogue_with_one_other_byte_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, catalogue_bytes: bytes, position: int, value: int
) -> None:
    directory = tmp_path_factory.getbasetemp()
    data = bytearray(catalogue_bytes)
    data[position % len(data)] = value
    (directory / "catalogue.sqlite").write_bytes(data)
    with contextlib.suppress(CorruptBlockError, FormatVersionError):
        read_catalogue(directory)


# where it is written


def tree(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


def test_the_same_values_give_the_same_blocks_whatever_the_threads(tmp_path: Path) -> None:
    for threads in (1, 3):
        write_database(tmp_path / str(threads), Noise(), {}, threads=threads, block_positions=500)
    one, three = ((tmp_path / name / "values-0000.madn").read_bytes() for name in "13")
    assert one == three


def test_check_writable_leaves_nothing(tmp_path: Path) -> None:
    check_writable(tmp_path / "db")
    assert tree(tmp_path) == []
    with pytest.raises(ResourceError, match="bytes are needed"):
        workplace.check_room([(tmp_path / "db", 1 << 60)])
    assert tree(tmp_path) == []


@pytest.mark.parametrize("kind", ["file", "foreign", "notes", "no parent", "parent is a file", "nul"])
def test_places_that_cannot_be_used_are_refused_and_left_alone(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "db"
    if kind == "file":
        target.write_text("mine")
    elif kind == "foreign":
        target.mkdir()
        (target / "catalogue.sqlite").write_text("mine")
    elif kind == "notes":
        write_database(target, Noise(TINY), {})
        (target / "notes.txt").write_text("mine")
    elif kind == "no parent":
        target = tmp_path / "a" / "b"
    elif kind == "parent is a file":
        (tmp_path / "a").write_text("mine")
        target = tmp_path / "a" / "b"
    else:
        target = tmp_path / "a\0b"
    before = tree(tmp_path)
    for attempt in (check_writable, lambda path: write_database(path, Noise(TINY), {})):
        with pytest.raises(OutputError) as caught:
            attempt(target)
        assert "\n" not in str(caught.value)
    assert tree(tmp_path) == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_directory_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError):
        check_writable(tmp_path / "db")


@pytest.mark.parametrize("exchange", [True, False])
def test_a_database_is_replaced(tmp_path: Path, exchange: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not exchange:
        monkeypatch.setattr(workplace, "_exchange", lambda a, b: False)
    for rules in (SMALL, TINY, SMALL):
        write_database(tmp_path / "db", Noise(rules), {})
        assert rules_of(tmp_path / "db") == rules
        assert [path.name for path in tmp_path.iterdir()] == ["db"]


def test_an_empty_directory_is_a_place(tmp_path: Path) -> None:
    (tmp_path / "db").mkdir()
    write_database(tmp_path / "db", Noise(TINY), {})
    assert rules_of(tmp_path / "db") == TINY


def test_a_link_to_a_database_keeps_being_one(tmp_path: Path) -> None:
    write_database(tmp_path / "real", Noise(SMALL), {})
    (tmp_path / "link").symlink_to("real")
    write_database(tmp_path / "link", Noise(TINY), {})
    assert (tmp_path / "link").is_symlink()
    assert rules_of(tmp_path / "real") == TINY


def test_a_failing_source_changes_nothing(tmp_path: Path) -> None:
    class Failing(Noise):
        def read(self, first: int, out: np.ndarray) -> None:
            if first > 2000:
                raise KeyboardInterrupt
            super().read(first, out)

    write_database(tmp_path / "db", Noise(TINY), {})
    with pytest.raises(KeyboardInterrupt):
        write_database(tmp_path / "db", Failing(SMALL), {}, block_positions=100)
    assert rules_of(tmp_path / "db") == TINY
    assert [path.name for path in tmp_path.iterdir()] == ["db"]


def test_a_full_disk_is_one_line_and_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("madn.store.frames.FrameFiles.append", full)
    with pytest.raises(ResourceError, match="No space left"):
        write_database(tmp_path / "db", Noise(TINY), {})
    assert tree(tmp_path) == []


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with workplace.workplace(tmp_path / "db"), pytest.raises(OutputError, match="another process"):
        check_writable(tmp_path / "db")
    check_writable(tmp_path / "db")


def test_what_a_killed_writer_left_is_cleared_or_recovered(tmp_path: Path) -> None:
    write_database(tmp_path / "db", Noise(TINY), {})
    (tmp_path / ".db.madn-part").mkdir()
    (tmp_path / ".db.madn-part" / "values-0000.madn").write_bytes(b"half")
    (tmp_path / "db").rename(tmp_path / ".db.madn-old")  # killed between two renames
    before = tree(tmp_path)
    check_writable(tmp_path / "db")
    assert tree(tmp_path) == before, "only a writer clears or recovers"
    with workplace.workplace(tmp_path / "db"):
        pass
    assert rules_of(tmp_path / "db") == TINY
    assert [path.name for path in tmp_path.iterdir()] == ["db"]


def killed_at(point: int, target: Path, exchange: bool) -> bool:
    """Write a database in a process of its own that dies at the given step; say whether it died."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    steps = itertools.count(1)

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **keywords: Any) -> Any:
            if next(steps) == point:
                os._exit(9)
            return function(*arguments, **keywords)

        return run

    status = 1
    try:
        os.rename, os.mkdir = counted(os.rename), counted(os.mkdir)
        for name in ("_flush", "_remove"):
            setattr(workplace, name, counted(getattr(workplace, name)))
        workplace._exchange = counted(workplace._exchange if exchange else lambda a, b: False)
        write_database(target, Noise(TINY), {})
        status = 0
    finally:
        os._exit(status)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("exchange", [True, False])
def test_killed_at_every_step_of_publishing_one_database_is_there(tmp_path: Path, exchange: bool) -> None:
    target = tmp_path / "db"
    outcomes = []
    for point in itertools.count(1):
        write_database(target, Noise(SMALL), {})
        died = killed_at(point, target, exchange)
        if exchange and sys.platform == "linux":  # no moment without a database
            assert rules_of(target) in (SMALL, TINY)
        with workplace.workplace(target):
            pass
        outcomes.append(rules_of(target))
        assert [path.name for path in tmp_path.iterdir()] == ["db"]
        if not died:
            break
    assert len(outcomes) > 5
    assert outcomes[0] == SMALL
    assert outcomes[-1] == TINY


def test_a_value_that_is_no_probability_is_not_stored(tmp_path: Path) -> None:
    source = Noise(TINY, "float64")
    source.raw[:] = 1.5
    with pytest.raises(MadnError, match="not a probability"):
        write_database(tmp_path / "db", source, {})


def test_disks_that_are_too_small_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch" / "000.values").write_bytes(b"x" * 600)
    (tmp_path / ".db.madn-part").mkdir()
    (tmp_path / ".db.madn-part" / "values-0000.madn").write_bytes(b"x" * 50)
    free = 1000
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=free))
    needs = [(tmp_path / "scratch", 1200), (tmp_path / "db", 450)]
    workplace.check_room(needs)  # 600 and 400 are still to be written
    free = 999
    with pytest.raises(ResourceError, match=r"scratch, .*db: 1,000 bytes are needed, 999 are free on this disk"):
        workplace.check_room(needs)
