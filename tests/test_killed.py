"""`madn solve --out` killed at random moments: there is the old database or a complete new one, never half of one."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_compress import contents
from test_store import Noise, rules_of

from madn.rules import Rules
from madn.store import verify_database, write_database

OLD, NEW = Rules(1, 8), Rules(2, 12)
# A fresh process that forks: a child of this one could inherit OpenMP threads that are not there.
FORKS = f"""
import os, signal, sys, time
from madn.cli import main
import madn.solver, madn.store.catalogue_writer
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        os._exit(main("solve --pieces {NEW.pieces} --squares {NEW.squares} --threads 1 --out new".split()))
    begin = time.perf_counter()
    if float(line) >= 0:
        time.sleep(float(line))
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print(time.perf_counter() - begin, flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("old", [True, False])
def test_a_solve_killed_at_random_moments_leaves_no_half_database(tmp_path: Path, old: bool) -> None:
    target = tmp_path / "new"

    def begin_with_the_old_one() -> None:
        if old:
            write_database(target, Noise(OLD), {})
        else:
            for name in contents(target) if target.exists() else ():
                (target / name).unlink()
            if target.exists():
                target.rmdir()

    forks = subprocess.Popen(
        [sys.executable, "-c", FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    with forks:
        assert forks.stdin is not None
        assert forks.stdout is not None

        def solve(kill_after: float) -> float:
            forks.stdin.write(f"{kill_after}\n")  # type: ignore[union-attr]
            forks.stdin.flush()  # type: ignore[union-attr]
            return float(forks.stdout.readline())  # type: ignore[union-attr]

        solve(-1)
        usual = solve(-1)
        assert rules_of(target) == NEW
        begin_with_the_old_one()
        before = contents(target) if old else {}
        rng = np.random.default_rng(3)
        outcomes = {"old": 0, "new": 0}
        for kills in range(200):
            if kills >= 25 and min(outcomes.values()) > 0:
                break
            solve(rng.uniform(0, usual * (0.5 + kills / 20)))  # a busy machine may need longer than it did just now
            now = contents(target) if target.exists() else {}
            if now == before:
                outcomes["old"] += 1
                continue
            outcomes["new"] += 1
            assert rules_of(target) == NEW
            report = verify_database(target)
            assert report.ok, report.damaged
            begin_with_the_old_one()
        solve(-1)
        forks.stdin.close()
    assert verify_database(target).ok
    assert rules_of(target) == NEW
    assert not [name for name in os.listdir(tmp_path) if name.endswith(("madn-part", "madn-old"))]
    assert min(outcomes.values()) > 0, outcomes
