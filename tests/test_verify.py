"""Checking databases: damage of every kind is found, and deep checks recompute what is stored."""

import hashlib
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from test_database import TINY, Solved, all_boards, solved
from test_store import Noise

from madn._core import Game
from madn.board import Board
from madn.rules import Rules
from madn.store import verify_database, write_database
from madn.store.catalogue_writer import write_sums
from madn.store.reader import open_reader
from madn.store.records import BlockFile
from madn.store.successors import recomputed


@pytest.fixture
def database(tmp_path: Path) -> Path:
    write_database(tmp_path / "db", Solved(), {"residual": 1e-15}, block_positions=25)
    return tmp_path / "db"


def test_a_good_database_is_good(database: Path) -> None:
    told: list[float] = []
    report = verify_database(database, progress=lambda part, text: told.append(part))
    assert report.ok
    assert report.damaged == []
    assert report.positions == TINY.positions
    assert report.blocks == len(told)
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert (report.residual, report.residual_board) == (None, None)


def test_every_flipped_byte_is_found(tmp_path: Path) -> None:
    write_database(tmp_path / "db", Solved("fixed32"), {})
    tried = 0
    for path in sorted((tmp_path / "db").iterdir()):
        data = bytearray(path.read_bytes())
        with open(path, "r+b", buffering=0) as file:
            for place, byte in enumerate(data):
                file.seek(place)
                file.write(bytes([byte ^ 1 << place % 8]))
                assert not verify_database(tmp_path / "db").ok, (path.name, place)
                file.seek(place)
                file.write(bytes([byte]))
                tried += 1
    assert tried == sum(path.stat().st_size for path in (tmp_path / "db").iterdir())
    assert verify_database(tmp_path / "db").ok


def resealed(database: Path) -> None:
    """Make the digests right again, as someone would who changes a database on purpose."""
    with sqlite3.connect(database / "catalogue.sqlite") as connection:
        rows = connection.execute("SELECT file, name, bytes, sha256 FROM files").fetchall()
    write_sums(database, [BlockFile(*row) for row in rows])


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE blocks SET digest = 'x' WHERE block = 1",
        "UPDATE files SET sha256 = 'x'",
        "UPDATE encodings SET max_error = -1.0",
        "UPDATE boards SET win = win + 1e-9 WHERE name = 'start'",
        "UPDATE boards SET offset = offset + 1 WHERE name = 'best'",
        "UPDATE boards SET block = 0 WHERE name = 'worst'",
        "UPDATE boards SET id = id + 1 WHERE name = 'start'",
        "UPDATE boards SET board = '9,9/0' WHERE name = 'start'",
        "UPDATE blocks SET count = count - 1 WHERE block = 2",
        "UPDATE blocks SET length = length - 1 WHERE block = 2",
        "UPDATE profiles SET positions = positions + 1 WHERE profile = 2",
        "DELETE FROM blocks WHERE block = 3",
        "DELETE FROM encodings",
        "INSERT INTO files VALUES (1, 'values-0001.madn', 0, 'x')",
    ],
)
def test_rows_that_lie_are_found_though_the_digests_are_right(database: Path, statement: str) -> None:
    with sqlite3.connect(database / "catalogue.sqlite") as connection:
        connection.execute(statement)
    resealed(database)
    report = verify_database(database)
    assert not report.ok
    assert all("\n" not in line for line in report.damaged)


@pytest.mark.parametrize("name", ["catalogue.sqlite", "SHA256SUMS", "values-0000.madn"])
@pytest.mark.parametrize("damage", ["missing", "cut", "longer", "link"])
def test_files_that_are_not_there_or_not_whole_are_found(
    database: Path, name: str, damage: str, tmp_path: Path
) -> None:
    path = database / name
    data = path.read_bytes()
    path.unlink()
    if damage == "link":
        (tmp_path / "aside").write_bytes(data)
        path.symlink_to(tmp_path / "aside")
    elif damage != "missing":
        path.write_bytes(data[:-1] if damage == "cut" else data + b"x")
    assert any(name in line for line in verify_database(database).damaged)


@pytest.mark.parametrize("damage", ["missing", "cut", "link"])
def test_a_file_that_cannot_be_read_is_named_once(tmp_path: Path, damage: str) -> None:
    write_database(tmp_path / "db", Noise(Rules(2, 8)), {}, block_positions=100)
    path = tmp_path / "db" / "values-0000.madn"
    data = path.read_bytes()
    path.unlink()
    if damage == "link":
        (tmp_path / "aside").write_bytes(data)
        path.symlink_to(tmp_path / "aside")
    elif damage == "cut":
        path.write_bytes(data[:-1000])
    report = verify_database(tmp_path / "db")
    assert len(report.damaged) == 1
    assert report.damaged[0].startswith(f"{path}: ")
    assert report.damaged[0].endswith(f"; {report.blocks} blocks cannot be read")
    assert report.blocks > 20
    assert report.positions == 0
    if damage == "cut":
        sizes = f"catalogue says {len(data)} bytes, file has {len(data) - 1000}"
        assert f"{path}: size mismatch: {sizes};" in report.damaged[0]


def test_a_flipped_byte_is_said_with_both_digests(database: Path) -> None:
    path = database / "values-0000.madn"
    data = bytearray(path.read_bytes())
    with sqlite3.connect(database / "catalogue.sqlite") as connection:
        ((listed,),) = connection.execute("SELECT sha256 FROM files").fetchall()
    data[7] ^= 1
    path.write_bytes(data)
    found = hashlib.sha256(data).hexdigest()
    damaged = verify_database(database).damaged
    assert damaged[0] == f"SHA-256 mismatch in {path}: catalogue says {listed}, file has {found}"
    assert damaged[1].startswith(f"{database}: block 0: SHA-256 mismatch: catalogue says ")


def test_foreign_files_and_places_without_a_database_are_said(database: Path, tmp_path: Path) -> None:
    (database / "notes.txt").write_text("mine")
    assert verify_database(database).damaged == [f"{database / 'notes.txt'}: not part of the database"]
    assert verify_database(tmp_path / "nothing").damaged == [f"{tmp_path / 'nothing'}: no such database"]


def test_values_that_are_no_probabilities_are_found(tmp_path: Path) -> None:
    source = Solved("fixed32")
    source.raw[77] = 2**28 + 1
    write_database(tmp_path / "db", source, {})
    assert "not a probability" in verify_database(tmp_path / "db").damaged[0]


def test_deep_recomputes_every_position(database: Path) -> None:
    report = verify_database(database, deep=True)
    assert report.ok
    assert report.residual is not None
    assert report.residual < 1e-14


def test_deep_finds_the_one_wrong_value(tmp_path: Path) -> None:
    source = Solved()
    number = Game(Rules(1, 8)).rank(1 << 3, 1 << 5)
    source.raw[number] += 1e-3
    write_database(tmp_path / "db", source, {"residual": 1e-15})
    report = verify_database(tmp_path / "db", deep=True)
    assert report.residual == pytest.approx(1e-3, rel=0.2)
    assert report.residual_board == Board.parse("3/5", TINY)
    assert "residual" in report.damaged[0]
    assert verify_database(tmp_path / "db").ok  # nothing is damaged, it was solved wrongly


def test_a_sample_is_part_of_the_whole_and_seeded(tmp_path: Path) -> None:
    write_database(tmp_path / "db", Noise(Rules(2, 8)), {})
    whole = verify_database(tmp_path / "db", deep=True)
    parts = [verify_database(tmp_path / "db", deep=True, sample=50, seed=seed) for seed in (1, 1, 2)]
    assert whole.residual is not None
    assert parts[0] == parts[1]
    assert parts[0].residual != parts[2].residual
    for part in parts:
        assert part.residual is not None
        assert 0 < part.residual <= whole.residual


@pytest.mark.parametrize("rules", [TINY, Rules(2, 8), Rules(3, 8)])
def test_recomputed_is_the_mean_over_rolls_of_the_best_move(tmp_path: Path, rules: Rules) -> None:
    """Compared with the reader's game, board by board, for values that mean nothing."""
    write_database(tmp_path / "db", Noise(rules), {}, block_positions=300)
    game = Game(rules)
    reader = open_reader(tmp_path / "db")
    ids = np.random.default_rng(3).integers(0, rules.positions, 300)
    found = recomputed(ids, reader.wins, rules)
    for number, win in zip(ids.tolist(), found.tolist(), strict=True):
        board = Board.from_masks(*game.unrank(number), rules)
        if board.winner:
            assert win == (board.winner == "own")
            continue
        mean = 0.0
        for roll in range(1, 7):
            nexts = [reader.win(game.rank(*board.after(m, roll).masks)) for m in board.legal_moves(roll)]
            mean += max(nexts if roll == 6 else [1 - value for value in nexts]) / 6
        assert win == pytest.approx(mean, abs=1e-12)
    reader.close()


def test_the_plain_solution_is_a_fixed_point() -> None:
    def wins(ids: np.ndarray) -> np.ndarray:
        return np.array([solved()[all_boards()[i]] for i in ids.tolist()])

    ids = np.arange(TINY.positions)
    assert np.abs(recomputed(ids, wins, TINY) - wins(ids)).max() < 1e-14
