"""Torture in the normal suite: a short run of every group, a check that it can fail, and its document."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from damage import DAMAGES
from torture import btree, report
from torture.case import KINDS, BrokenError, Case
from torture.groups import GROUPS
from torture.kills import check_work
from torture.processes import Ended, judged
from torture.tasks import different

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
SEED = 1
RECORDED = pytest.mark.skipif(not report.RESULTS.exists(), reason="no run of torture is recorded yet")
CASES = {"kills": 2, "unfinished": 4, "published": 12, "cache": 4, "races": 4, "forged": 10, "clients": 1, "numbers": 4}


@pytest.mark.skipif(sys.platform == "win32", reason="forks and signals are for Unix")
@pytest.mark.parametrize("group", GROUPS)
def test_a_short_run(group: str, tmp_path: Path) -> None:
    """A few cases with a fixed seed, in processes of their own: this one may have threads that a fork would lose."""
    command = [sys.executable, "-m", "torture", "3", str(SEED), "--only", group, "--cases", str(CASES[group])]
    command += ["--json", str(tmp_path / "found.json"), "--directory", str(tmp_path), "--jobs", "1"]
    ended = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (found,) = json.loads((tmp_path / "found.json").read_text())["torture"]
    assert found["cases"] == CASES[group]
    assert set(found["broken"]) == set(KINDS)
    assert [path.name for path in tmp_path.iterdir()] == ["found.json"], "a run leaves nothing behind"


# It can fail


@pytest.mark.parametrize(
    ("kind", "ended"),
    [
        ("tracebacks", Ended("madn win", 1, "", "Traceback (most recent call last):\n  File x\nKeyError: 'y'\n")),
        ("crashes", Ended("madn win", -11, "", "")),
        ("crashes", Ended("madn win", 134, "", "terminate called\n")),
        ("other", Ended("madn win", 3, "", "madn: one\nmadn: two\n")),
        ("other", Ended("madn win", 2, "", "usage\n")),
        ("other", Ended("madn info", 0, "a\x1b[31mred", "")),
        ("other", Ended("madn info", 0, "caf\udce9", "")),
        ("other", Ended("madn win --json", 0, '{"win": NaN}', "")),
        ("other", Ended("madn win --json", 0, "win", "")),
    ],
)
def test_bad_behaviour_is_seen(kind: str, ended: Ended) -> None:
    with pytest.raises(BrokenError) as broken:
        judged(ended)
    assert broken.value.kind == kind


def test_good_behaviour_is_not() -> None:
    judged(Ended("madn win --json", 0, '{"win": 0.5}', ""))
    judged(Ended("madn win", 3, "", "madn: db: no such database\n"))
    judged(Ended("madn solve", -9, "", "", sent=9))
    judged(Ended("madn solve", 130, "", ""))


def test_other_numbers_and_less_work_are_seen() -> None:
    with pytest.raises(BrokenError, match="it: b: 3 instead of 2") as broken:
        different("it", {"a": 1, "b": 2}, {"a": 1, "b": 3})
    assert broken.value.kind == "wrong numbers"
    check_work({"components": 3}, {"components": 3}, "madn solve")
    with pytest.raises(BrokenError, match="2 components, there were 3") as broken:
        check_work({"components": 3}, {"components": 2}, "madn solve")
    assert broken.value.kind == "lost work"


def test_a_case_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    data, other = bytes(range(256)) * 9, b"1, 2, 3\n4, 5, 6\n" * 9
    for damage in DAMAGES:
        first, second = (damage(Case("x", 5, tmp_path, tmp_path).rng, data, other) for _ in range(2))
        assert first == second
        changed = [damage(Case("x", seed, tmp_path, tmp_path).rng, data, other) != data for seed in range(9)]
        assert any(changed), damage.__name__


def test_pages_that_list_each_other_hold_more_rows_than_the_file(tmp_path: Path) -> None:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(tmp_path / "db")) as db:
        db.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
        db.execute("INSERT INTO t VALUES (1), (2)")
        db.commit()
        (root,) = db.execute("SELECT rootpage FROM sqlite_master").fetchone()
    data = btree.endless((tmp_path / "db").read_bytes(), root, 2)
    (tmp_path / "db").write_bytes(data)
    with closing(sqlite3.connect(tmp_path / "db")) as db:
        rows = sum(1 for _ in db.execute("SELECT a FROM t"))
    assert rows > 10 * len(data) ** 0.5
    assert rows % 2 == 0


# Its document


@RECORDED
def test_the_table_is_that_of_the_results() -> None:
    assert report.written_table() == report.markdown(json.loads(report.RESULTS.read_text(encoding="utf-8")))


def test_every_promise_names_tests_that_exist() -> None:
    text = report.DOCUMENT.read_text(encoding="utf-8")
    promises = [
        row for row in text.partition("| promise |")[2].partition("\n\n")[0].splitlines() if row.startswith("| ")
    ]
    assert len(promises) >= 10
    for row in promises:
        named = re.findall(r"`(test_\w+\.py)::(\w+)`", row)
        assert named, f"no test for: {row[:80]}"
        for file, name in named:
            tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
            assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, (
                f"{file}::{name}"
            )


@RECORDED
def test_nothing_was_broken_in_the_results() -> None:
    """What the document shows is a run of at least an hour in which everything held."""
    run = json.loads(report.RESULTS.read_text(encoding="utf-8"))
    assert run["failures"] == []
    assert all(not any(row["broken"].values()) for row in run["torture"])
    assert run["minutes"] >= 60
    assert {row["group"] for row in run["torture"]} >= set(GROUPS)
