"""Databases that grow beside a solve: any order, any cut, any stop, and the same content."""

import sqlite3
from contextlib import AbstractContextManager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_store import Noise

from madn import MadnError, Rules, open_database
from madn.errors import CorruptBlockError, OutputError
from madn.solver.zones import Run, Zones
from madn.store import verify_database, write_database
from madn.store.blocks import FIXED32, quantised
from madn.store.encoders import ValueEncoder
from madn.store.writer import DatabaseWriter, open_writer

RULES = Rules(2, 8)
RUNS = Zones(RULES).runs
SOURCE = Noise(RULES)
BLOCK = 70
START = Zones(RULES).game.rank(1, 1)


class StoppedError(Exception):
    pass


def opened(path: Path, **changes: Any) -> AbstractContextManager[DatabaseWriter]:
    encoder = changes.pop("encoder", ValueEncoder(RULES, FIXED32))
    return open_writer(path, encoder, {"solve": 1}, command="go on", keep=True, block_positions=BLOCK, **changes)


def give(database: DatabaseWriter, run: Run, cuts: list[int]) -> None:
    edges = [0, *sorted(cut % (run.size + 1) for cut in cuts), run.size]
    for begin, end in pairwise(edges):
        values = SOURCE.raw[run.first + begin : run.first + end].copy()
        database.take(run.first, run.size, run.first + begin, values)


def digests(path: Path) -> list[tuple[int, int, int, str]]:
    rows = sqlite3.connect(path / "catalogue.sqlite")
    return rows.execute("SELECT profile, first_rank, count, digest FROM blocks ORDER BY block").fetchall()


def stopped(path: Path, stop: int) -> None:
    """Give some runs and part of the last, and stop."""
    with opened(path) as database:
        for run in RUNS[:stop]:
            give(database, run, [33])
            database.flush()
        give(database, RUNS[-1], [40])  # not settled
        raise StoppedError


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database whose runs came in the order of their IDs, each in one piece."""
    path: Path = tmp_path_factory.mktemp("plain") / "db"
    with opened(path) as database:
        for run in RUNS:
            give(database, run, [])
        database.publish({}, [("start", "0/0", START, float(FIXED32.wins(SOURCE.raw[START : START + 1])[0]))])
    return path


def test_it_holds_what_it_was_given(plain: Path) -> None:
    assert verify_database(plain).ok
    with open_database(plain) as db:
        found = db.win_many(np.arange(RULES.positions))
    assert (found == FIXED32.wins(SOURCE.raw)).all()


@settings(max_examples=10)
@given(data=st.data())
def test_order_and_cuts_do_not_matter(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory, plain: Path
) -> None:
    path = tmp_path_factory.mktemp("growing") / "db"
    cuts = {run: data.draw(st.lists(st.integers(0, 500), max_size=3)) for run in RUNS}
    threads = data.draw(st.integers(1, 3))
    with opened(path, threads=threads) as database:
        for run in data.draw(st.permutations(RUNS)):
            assert not database.has(run.first, run.size)
            give(database, run, cuts[run])
            database.flush()
            assert database.has(run.first, run.size)
        database.publish({}, [])
    assert digests(path) == digests(plain)
    assert verify_database(path).ok


@settings(max_examples=10)
@given(stops=st.lists(st.integers(0, len(RUNS)), min_size=1, max_size=4), damaged=st.booleans(), data=st.data())
def test_stops_do_not_matter(
    stops: list[int], damaged: bool, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory, plain: Path
) -> None:
    path = tmp_path_factory.mktemp("stopped") / "db"
    part = path.with_name(".db.madn-part")
    for stop in stops:
        with pytest.raises(StoppedError):
            stopped(path, stop)
        assert not path.exists()
        if damaged and (part / "journal").exists():  # the last lines of the journal, or of the blocks, are lost
            file = part / data.draw(st.sampled_from(["journal", "values-0000.madn"]))
            if file.exists():
                whole = file.read_bytes()
                file.write_bytes(whole[: data.draw(st.integers(len(whole) // 2, len(whole)))])
    with opened(path) as database:
        for run in RUNS:
            give(database, run, [10, 50])
        database.publish({}, [])
    assert digests(path) == digests(plain)
    assert verify_database(path).ok
    assert not part.exists()


def test_the_journal_of_another_database_is_refused(tmp_path: Path) -> None:
    for name in ("db", "other"):
        with pytest.raises(StoppedError):
            stopped(tmp_path / name, 5)
    journals = [tmp_path / f".{name}.madn-part" / "journal" for name in ("db", "other")]
    journals[0].write_bytes(journals[1].read_bytes())
    with pytest.raises(CorruptBlockError, match=r"this is the journal of \.other\.madn-part"), opened(tmp_path / "db"):
        pytest.fail("it was opened")
    assert journals[0].read_bytes() == journals[1].read_bytes()


def test_another_task_is_refused_and_the_work_stays(tmp_path: Path, plain: Path) -> None:
    with pytest.raises(StoppedError):
        stopped(tmp_path / "db", 5)
    part = {path.name: path.read_bytes() for path in (tmp_path / ".db.madn-part").iterdir()}
    other = opened(tmp_path / "db", encoder=ValueEncoder(RULES, FIXED32, quantised(16)))
    with pytest.raises(OutputError, match="unfinished work of another command: `go on` resumes it"), other:
        pytest.fail("it was opened")
    with pytest.raises(OutputError, match="unfinished work"):
        write_database(tmp_path / "db", SOURCE, {})
    assert {path.name: path.read_bytes() for path in (tmp_path / ".db.madn-part").iterdir()} == part
    with opened(tmp_path / "db") as database:
        assert database.has(RUNS[3].first, RUNS[3].size)
        for run in RUNS:
            give(database, run, [])
        database.publish({}, [])
    assert digests(tmp_path / "db") == digests(plain)


def test_nothing_is_left_of_work_that_did_not_begin(tmp_path: Path) -> None:
    with pytest.raises(StoppedError), opened(tmp_path / "db"):
        raise StoppedError
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_follow_is_refused(tmp_path: Path) -> None:
    run = max(RUNS, key=lambda run: run.size)
    with opened(tmp_path / "db") as database:
        with pytest.raises(ValueError, match="are missing"):
            database.take(run.first, run.size, run.first + 1, SOURCE.raw[:10])
        database.take(run.first, run.size, run.first, SOURCE.raw[:10])
        with pytest.raises(MadnError, match="is incomplete"):
            database.publish({}, [])


def test_rounding_on_the_way(tmp_path: Path) -> None:
    """The same blocks as from a source that rounds, and an error that says how far values are off."""
    coarse = quantised(10)
    with opened(tmp_path / "grown", encoder=ValueEncoder(RULES, FIXED32, coarse)) as database:
        for run in RUNS:
            give(database, run, [20])
        database.publish({}, [("start", "0/0", START, float(FIXED32.wins(SOURCE.raw[START : START + 1])[0]))])
    write_database(tmp_path / "written", SOURCE, {}, bits=10)
    exact = FIXED32.wins(SOURCE.raw)
    for name in ("grown", "written"):
        assert verify_database(tmp_path / name).ok
        with open_database(tmp_path / name) as db:
            found = db.win_many(np.arange(RULES.positions))
            error = np.abs(found - exact).max()
            assert (found == coarse.wins(coarse.raws(exact))).all()
            assert 0 < error <= 0.5 / 1023 * (1 + 1e-9)
        stored = sqlite3.connect(tmp_path / name / "catalogue.sqlite").execute("SELECT max_error FROM encodings")
        assert stored.fetchone()[0] == pytest.approx(error, rel=1e-12)
