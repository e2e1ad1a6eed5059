"""Mutated databases: an answer is right or an error of ours, never a crash and never another number.

A few thousand by default; MADN_FUZZ=100000 asks for more.
"""

import json
import os
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from damage import damaged
from test_database import TINY, Solved, all_boards
from test_store import Noise

from madn._core import Game
from madn.board import Board
from madn.database import Database, open_database
from madn.errors import (
    CorruptBlockError,
    FormatVersionError,
    MadnError,
    MissingBlockError,
    RulesMismatchError,
)
from madn.rules import Rules
from madn.store import compress_database, verify_database, write_database

ROUNDS = int(os.environ.get("MADN_FUZZ", "3000"))
EXTREMES = (0, 1, -1, 2, 7, 255, 2**31, 2**32, 2**62, 2**63 - 1, -(2**63))
TEXTS = (
    "",
    "x",
    "fixed32",
    "bits16",
    "policy",
    "../catalogue.sqlite",
    "/etc/passwd",
    "values-0001.madn",
    "0/0",
    "[" * 3000,
)
Files = dict[str, bytes]
Mutation = Callable[[Files, np.random.Generator], None]


def spoil(files: Files, rng: np.random.Generator) -> None:
    """One of the damages of torture."""
    name, other = (str(name) for name in rng.choice(sorted(files), 2))
    files[name] = damaged(random.Random(int(rng.integers(2**32))), files[name], files[other])[1]


def swap(files: Files, rng: np.random.Generator) -> None:
    a, b = (str(name) for name in rng.choice(sorted(files), 2))
    files[a], files[b] = files[b], files[a]


def rewrite(files: Files, rng: np.random.Generator) -> None:
    """Put another value into a column of the catalogue, with SQL."""
    connection = sqlite3.connect(":memory:")
    connection.deserialize(files["catalogue.sqlite"])
    tables = ("rules", "provenance", "encodings", "files", "profiles", "blocks", "boards")
    table = str(rng.choice(tables))
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    value = EXTREMES[rng.integers(len(EXTREMES))] if rng.random() < 0.7 else TEXTS[rng.integers(len(TEXTS))]
    try:
        connection.execute(
            f"UPDATE {table} SET {rng.choice(columns)} = ? WHERE rowid IN "
            f"(SELECT rowid FROM {table} LIMIT 1 OFFSET {rng.integers(20)})",
            (value,),
        )
        if rng.random() < 0.1:
            connection.execute(f"DELETE FROM {table} WHERE rowid % 3 = {rng.integers(3)}")
        connection.commit()
    except sqlite3.Error:
        return  # the table is STRICT
    files["catalogue.sqlite"] = connection.serialize()


MUTATIONS: tuple[Mutation, ...] = (spoil, spoil, spoil, spoil, swap, rewrite, rewrite, rewrite)


def fuzz(good: Path, rounds: int, seed: int, ask: Callable[[Database, np.random.Generator], None]) -> None:
    """Mutate a database many times; `ask` raises AssertionError if an answer is wrong."""
    original = {path.name: path.read_bytes() for path in good.iterdir()}
    rng = np.random.default_rng(seed)
    directory = good.with_name("mutated")
    directory.mkdir()
    errors: list[MadnError] = []
    for _ in range(rounds):
        files = dict(original)
        MUTATIONS[rng.integers(len(MUTATIONS))](files, rng)
        for name, data in files.items():
            (directory / name).write_bytes(data)
        assert verify_database(directory).ok == (files == original)
        try:
            with open_database(directory) as db:
                ask(db, rng)
                json.dumps(db.info(), allow_nan=False)
        except (CorruptBlockError, FormatVersionError, MissingBlockError, RulesMismatchError) as error:
            errors.append(error)
    assert len({type(error) for error in errors}) >= 3
    assert [str(error) for error in errors if "\n" in str(error) or len(str(error)) > 500] == []


@pytest.mark.parametrize("bits", [None, 12])
def test_mutated_databases_give_right_answers_or_errors(tmp_path: Path, bits: int | None) -> None:
    write_database(tmp_path / "db", Solved("fixed32"), {"residual": 1e-9}, block_positions=60)
    if bits:
        compress_database(tmp_path / "db", tmp_path / "packed", bits=bits)
    good = tmp_path / ("packed" if bits else "db")
    ids = np.arange(TINY.positions)
    with open_database(good) as db:
        wins = db.win_many(ids)
    boards = all_boards()

    def ask(db: Database, rng: np.random.Generator) -> None:
        for i in rng.integers(0, len(ids), 2).tolist():
            assert db.win(boards[i]) == wins[i]
        assert np.array_equal(db.win_many(ids), wins)

    fuzz(good, ROUNDS // 3, 11, ask)


def test_mutated_policies_give_right_moves_or_errors(tmp_path: Path) -> None:
    rules = Rules(2, 8)
    write_database(tmp_path / "db", Noise(rules), {"residual": 1e-9}, block_positions=500)
    compress_database(tmp_path / "db", tmp_path / "policy", "policy")
    game = Game(Rules(2, 8))
    boards = [Board.from_masks(*game.unrank(i), rules) for i in range(rules.positions)]
    boards = [board for board in boards if len(board.legal_moves(3)) > 1]
    with open_database(tmp_path / "policy") as db:
        best = {board: db.best_move(board, 3) for board in boards}

    def ask(db: Database, rng: np.random.Generator) -> None:
        for i in rng.integers(0, len(boards), 12).tolist():
            assert db.best_move(boards[i], 3) == best[boards[i]]

    fuzz(tmp_path / "policy", ROUNDS // 3, 13, ask)


def test_mutated_databases_are_compressed_rightly_or_not_at_all(tmp_path: Path) -> None:
    write_database(tmp_path / "db", Solved("fixed32"), {}, block_positions=60)
    original = {path.name: path.read_bytes() for path in (tmp_path / "db").iterdir()}
    with open_database(tmp_path / "db") as db:
        wins = db.win_many(np.arange(TINY.positions))
    boards = all_boards()
    rng = np.random.default_rng(12)
    made = 0
    for _ in range(ROUNDS // 30):
        files = dict(original)
        MUTATIONS[rng.integers(len(MUTATIONS))](files, rng)
        for name, data in files.items():
            (tmp_path / "db" / name).write_bytes(data)
        try:
            compress_database(tmp_path / "db", tmp_path / "new")
        except MadnError:
            continue
        made += 1
        with open_database(tmp_path / "new") as db:
            stored = [i for i, board in enumerate(boards) if db.get_win(board) is not None]
            assert np.array_equal(db.win_many(np.array(stored, np.int64)), wins[stored])
    assert made > 0
