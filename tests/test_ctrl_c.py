"""Ctrl-C at any moment: one line, status 130, nothing lost and nothing left over."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import Run, process

from madn.cli import commands, progress
from madn.solving import SOLVING


def test_ctrl_c_before_the_command_begins(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: object, **settings: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "main", interrupted)
    assert run("players") == (130, "", "madn: interrupted\n")


SWALLOWED = """
import os, signal, sys, time, weakref
signal.signal(signal.SIGINT, signal.default_int_handler)  # the tests may run in the background, where it is ignored
from madn import __main__ as program
from madn import cli

class Thing:
    def __del__(self):
        pass


def work():
    things = weakref.WeakValueDictionary()
    thing = things["it"] = Thing()
    calls = []
    sys.setprofile(lambda frame, event, _: event == "call" and frame.f_code.co_name == sys.argv[1]
        and not calls and (calls.append(1), os.kill(os.getpid(), signal.SIGINT)))
    del thing
    sys.setprofile(None)
    time.sleep(5)
    return 0

cli.main = work
sys.exit(program.run())
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
@pytest.mark.parametrize("function", ["remove", "__del__"])  # the callback of a weak reference, and a finalizer
def test_ctrl_c_is_not_lost_where_python_swallows_it(function: str) -> None:
    command = [sys.executable, "-c", SWALLOWED, function]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


MISUNDERSTOOD = """
import os, signal, sys, numpy
signal.signal(signal.SIGINT, signal.default_int_handler)
from madn import __main__ as program
from madn import cli


def work():
    calls = []
    sys.setprofile(lambda frame, event, _: event == "call" and frame.f_code.co_name == "_promote_fields"
        and not calls and (calls.append(1), os.kill(os.getpid(), signal.SIGINT)))
    things = numpy.zeros(3, "i4,i4")
    print(calls or "nothing", things == things[:, None].astype("i8,i4"))
    return 0

cli.main = work
sys.exit(program.run())
"""


def test_ctrl_c_that_a_library_takes_for_an_error_of_its_own() -> None:
    """numpy compares structured arrays with the help of Python, and says TypeError if that is interrupted."""
    done = subprocess.run(
        [sys.executable, "-c", MISUNDERSTOOD], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


LOCKED = """
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from madn import __main__ as program
from madn import cli


def work():
    condition, calls = threading.Condition(), []
    sys.setprofile(lambda frame, event, _: event == "return" and frame.f_code.co_name == "__enter__"
        and not calls and (calls.append(1), os.kill(os.getpid(), signal.SIGINT)))
    try:
        with condition:
            sys.setprofile(None)
        time.sleep(5)
    except KeyboardInterrupt:
        free = []
        other = threading.Thread(target=lambda: free.append(condition.acquire(timeout=1)))
        other.start()
        other.join()
        print(free, flush=True)  # the end of the process is sudden
        if sys.argv[1] == "waiting":
            os.kill(os.getpid(), signal.SIGINT)
            with condition:
                condition.wait()
        raise
    return 0

cli.main = work
sys.exit(program.run())
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
@pytest.mark.parametrize("then", ["ends", "waiting"])
def test_ctrl_c_leaves_no_lock_taken_and_ends_a_process_that_waits(then: str) -> None:
    done = subprocess.run([sys.executable, "-c", LOCKED, then], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "[True]\n", "")


@pytest.mark.parametrize("where", ["madn.solving.carry_out", "madn.solving.write_database"])
def test_ctrl_c_is_status_130_and_leaves_nothing(
    where: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*args: object, **settings: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(where, interrupted)
    status, out, err = run("solve", "--pieces", 1, "--out", tmp_path / "db", "--json")
    assert (status, out) == (130, "")
    assert err.splitlines()[-1] == "madn: interrupted"
    assert not list(tmp_path.iterdir())


def test_ctrl_c_while_blocks_are_written_keeps_the_old_database(
    run: Run, small_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(small_path, tmp_path / "db")
    before = {path.name: path.read_bytes() for path in (tmp_path / "db").iterdir()}

    def interrupted(bar: progress.ProgressBar, fraction: float, text: str = "") -> None:
        if fraction > SOLVING:  # it writes
            raise KeyboardInterrupt

    monkeypatch.setattr(progress.ProgressBar, "__call__", interrupted)
    assert run("solve", "--pieces", 1, "--out", tmp_path / "db")[0] == 130
    assert [path.name for path in tmp_path.iterdir()] == ["db"]
    assert {path.name: path.read_bytes() for path in (tmp_path / "db").iterdir()} == before


def heed_ctrl_c() -> None:
    """A shell that starts the tests in the background has them ignore Ctrl-C, and their children too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


INTERRUPTED_IMPORT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from madn import __main__ as program

class Finder:
    left = int(sys.argv.pop(1))
    def find_spec(self, *name):
        Finder.left -= 1
        if Finder.left == 0:
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Finder())
sys.exit(program.run())
"""


def test_ctrl_c_while_modules_are_imported_is_silent(small_path: Path) -> None:
    """Whichever module it is: click and the commands, or numpy and the kernels when the command runs."""

    def stopped(before: int) -> tuple[int, str, str]:
        command = [sys.executable, "-c", INTERRUPTED_IMPORT, str(before), "win", str(small_path), "0/0"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    assert stopped(100_000)[0] == 0
    assert {before: stopped(before) for before in range(1, 300, 13)} == dict.fromkeys(range(1, 300, 13), (130, "", ""))


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
@pytest.mark.parametrize("method", ["tiles", "thesis"])
def test_ctrl_c_ends_a_long_solve(method: str, tmp_path: Path) -> None:
    """How soon it is heard: `test_a_pass_is_cut_into_short_slices`."""
    game = ("--pieces", 3, "--squares", 30, "--tolerance", "1e-12", "--method", method)
    with process("solve", *game, "--out", tmp_path / "db", preexec_fn=heed_ctrl_c) as solving:
        try:
            assert solving.stderr is not None
            assert solving.stderr.readline().startswith("game")  # the plan: the work begins
            time.sleep(0.5)
            solving.send_signal(signal.SIGINT)
            out, err = solving.communicate(timeout=60)
        finally:
            solving.kill()
    assert (solving.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "madn: interrupted"
    assert not list(tmp_path.iterdir())
