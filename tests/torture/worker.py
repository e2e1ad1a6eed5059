"""The process that runs cases, one after the other."""

import os
import shutil
import signal
import time
import traceback
from pathlib import Path

from torture.case import BrokenError, Case, Outcome
from torture.groups import GROUPS
from torture.processes import end_all

CASE_SECONDS = 300


def prepare() -> None:
    """Import in a process that runs cases what its forks need."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import madn.cli
    import madn.games.cantstop
    import madn.solver
    import madn.solving
    import madn.store.catalogue_writer
    import madn.store.verify  # noqa: F401


def _too_long(*_: object) -> None:
    raise BrokenError("hangs", f"the case did not end within {CASE_SECONDS} s")


def run_case(name: str, seed: int, work: str) -> Outcome:
    """Run one case in a directory of its own, with things that the cases of this process share beside it."""
    group = GROUPS[name]
    shared = Path(work) / f"shared-{os.getpid()}"
    directory = Path(work) / f"case-{name}-{seed}"
    for path in (shared, directory):
        path.mkdir(exist_ok=True)
    case = Case(name, seed, directory, shared)
    begin = time.monotonic()
    kind, message = None, ""
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(CASE_SECONDS)
    try:
        group.run(case)
    except BrokenError as failure:
        kind, message = failure.kind, str(failure)
    except Exception:  # an error of the torture itself
        kind, message = "other", f"the case itself failed: {traceback.format_exc()}"
    signal.alarm(0)
    end_all(case)
    _remove(directory, kind is None)
    return Outcome(name, seed, time.monotonic() - begin, dict(case.counted), kind, message, tuple(case.steps))


def _remove(directory: Path, passed: bool) -> None:
    if passed or "MADN_TORTURE_KEEP" not in os.environ:
        shutil.rmtree(directory, ignore_errors=True)
