"""Processes of madn that are started, watched, killed and judged.

A command usually runs in a fork of this process, which has everything imported: that takes milliseconds. This process
must therefore never solve anything itself: a fork does not inherit the threads of OpenMP. Some commands run in a new
interpreter instead, so that signals meet imports too.
"""

import json
import os
import re
import resource
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import madn.__main__ as command_line
from torture.case import BrokenError, Case

LIMIT = 60.0  # seconds that any command on a small board may take on a busy computer
MEMORY = 3 << 30  # bytes of address space that a command may take beyond what this process has
INTERRUPTED = 130
STATUSES = {0, 1, 2, 3, INTERRUPTED}
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and new line


@dataclass(frozen=True)
class Ended:
    """A process that has ended: its status (minus the signal that killed it), what it printed, and who killed it."""

    what: str
    status: int
    out: str
    err: str
    sent: int | None = None  # the signal that we sent

    @property
    def message(self) -> str:
        """The line that says what went wrong."""
        lines = self.err.splitlines()
        return lines[-1] if lines else ""


class Child:
    """A process at work; its output goes to files."""

    def __init__(self, what: str, pid: int, stem: Path) -> None:
        self.what, self.pid, self.stem = what, pid, stem
        self.begin = time.monotonic()
        self.sent: int | None = None
        self._status: int | None = None

    def poll(self, seconds: float = 0.0) -> bool:
        """Wait for its end, so long at most; whether it has ended."""
        end = time.monotonic() + seconds
        while self._status is None:
            found, status = os.waitpid(self.pid, os.WNOHANG)
            if found:
                self._status = os.waitstatus_to_exitcode(status)
            elif (left := end - time.monotonic()) <= 0:
                return False
            elif hasattr(os, "pidfd_open"):
                self._wait(left)
            else:
                time.sleep(min(0.005, left))
        return True

    def _wait(self, seconds: float) -> None:
        descriptor = os.pidfd_open(self.pid)
        try:
            select.select([descriptor], [], [], seconds)
        finally:
            os.close(descriptor)

    def send(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self._status is None:
            self.sent = number
            os.kill(self.pid, number)

    def end(self, limit: float = LIMIT) -> Ended:
        """Wait until it has ended; a process that takes too long is killed, and has failed."""
        if not self.poll(limit):
            os.kill(self.pid, signal.SIGABRT if "PYTHONFAULTHANDLER" in os.environ else signal.SIGKILL)
            self.poll(10)
            raise BrokenError("hangs", f"{self.what} did not end within {limit:.0f} s{self._said()}")
        assert self._status is not None
        return Ended(self.what, self._status, self._written(".out"), self._written(".err"), self.sent)

    def _written(self, suffix: str) -> str:
        """What it wrote; nothing if it was killed before it could open its files."""
        path = self.stem.with_suffix(suffix)
        return path.read_text(errors="surrogateescape") if path.exists() else ""

    def _said(self) -> str:
        err = self._written(".err")
        return f"; it said {err[-300:]!r}" if err else ""


_number = 0


def _watched(case: Case, child: Child) -> Child:
    case.children.append(child)
    return child


def end_all(case: Case) -> None:
    """Kill what a case left running."""
    for child in case.children:
        if not child.poll():
            child.send(signal.SIGKILL)
            child.poll(10)


def start(case: Case, what: str, work: Callable[[], int | None], *, memory: int | None = MEMORY) -> Child:
    """Do some work in a fork of this process. Its status is what the work returns, or 1 after a traceback."""
    stem = _stem(case)
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return _watched(case, Child(what, pid, stem))
    _child(work, stem, case.directory, memory)


def _child(work: Callable[[], int | None], stem: Path, directory: Path, memory: int | None) -> NoReturn:
    status: int | None = 1
    try:
        for number, suffix in ((1, ".out"), (2, ".err")):
            os.dup2(os.open(stem.with_suffix(suffix), os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        command_line.take_ctrl_c()  # as the program does
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.alarm(0)
        os.chdir(directory)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory is not None:
            limit = _address_space() + memory
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        status = work()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except KeyboardInterrupt as signal_met:
        if _in_package(signal_met):
            traceback.print_exc()
        else:  # it met this function, before or after the work
            status = INTERRUPTED
    except BaseException:
        if command_line.interrupted:  # as the program does
            status = INTERRUPTED
        else:
            traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):
            pass
        os._exit(status or 0)


def _in_package(error: KeyboardInterrupt) -> bool:
    """Whether Ctrl-C met a line of the package. The last frame does not count: it is that of the handler."""
    frames = traceback.extract_tb(error.__traceback__)[:-1]
    return any(f"{os.sep}madn{os.sep}" in frame.filename for frame in frames)


def _address_space() -> int:
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 1 << 33


def _stem(case: Case) -> Path:
    global _number
    _number += 1
    logs = case.directory / "logs"
    logs.mkdir(exist_ok=True)
    return logs / f"{_number}.x"


def command(case: Case, args: Sequence[str], *, fresh: bool = False, memory: int | None = MEMORY) -> Child:
    """Start `madn ARGS` in the directory of the case, in a fork or in a fresh interpreter."""
    what = "madn " + " ".join(args)
    case.log(what + (" (fresh)" if fresh else ""))
    if not fresh:
        return start(case, what, lambda: _main(args), memory=memory)
    return program(case, what, ["-m", "madn", *args])


def program(case: Case, what: str, args: Sequence[str]) -> Child:
    """Start a Python program in a fresh interpreter, in the directory of the case."""
    stem = _stem(case)
    with open(stem.with_suffix(".out"), "wb") as out, open(stem.with_suffix(".err"), "wb") as err:
        process = subprocess.Popen(
            [sys.executable, *args], stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=case.directory
        )
    process.returncode = 0  # `Child` waits for it
    return _watched(case, Child(what, process.pid, stem))


def _main(args: Sequence[str]) -> int:
    from madn.cli import main

    return main(list(args))


def run(case: Case, args: Sequence[str], *, limit: float = LIMIT, memory: int | None = MEMORY) -> Ended:
    """Run `madn ARGS` to its end, and judge how it behaved."""
    ended = command(case, args, memory=memory).end(limit)
    case.count("commands")
    return judged(ended)


def call(case: Case, what: str, work: Callable[[], int | None], *, limit: float = LIMIT, kind: str = "other") -> Ended:
    """Do some work of Python in a fork. It must end with 0; what it prints to standard error says why it did not."""
    case.log(what)
    ended = start(case, what, work).end(limit)
    judged(ended)
    if ended.status != 0:
        raise BrokenError(kind, f"{what}: {ended.err.strip()[-500:]}")
    return ended


def judged(ended: Ended) -> Ended:
    """What holds for every process: no crash, no traceback, one line if it fails, nothing raw on a terminal, JSON."""
    for text in (ended.out, ended.err):
        if "Traceback (most recent call last)" in text or "Exception ignored" in text:
            raise BrokenError("tracebacks", f"{ended.what}: {_last_lines(text)}")
    if ended.status < 0 and -ended.status != ended.sent:
        raise BrokenError(
            "crashes", f"{ended.what}: killed by {signal.Signals(-ended.status).name}: {ended.err[-300:]!r}"
        )
    if ended.status >= 0 and ended.status not in STATUSES:
        raise BrokenError("crashes", f"{ended.what}: exit status {ended.status}: {ended.err[-300:]!r}")
    for name, text in (("standard output", ended.out), ("standard error", ended.err)):
        if found := CONTROL.search(text):
            raise BrokenError(
                "other", f"{ended.what}: {found[0]!r} on {name}: {text[max(0, found.start() - 60) :][:120]!r}"
            )
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise BrokenError("other", f"{ended.what}: {name} is not UTF-8")
    _judge_words(ended)
    return ended


def _judge_words(ended: Ended) -> None:
    words = ended.what.split()
    if words[0] != "madn" or ended.status < 0:
        return
    if ended.status in {2, 3, 130}:
        said = [line for line in ended.err.splitlines() if line.startswith("madn: ")]
        if len(said) != 1 and not (ended.status == 130 and not ended.err.strip()):
            raise BrokenError(
                "other", f"{ended.what}: status {ended.status} with {len(said)} lines that say why: {ended.err!r}"
            )
    elif "--json" in words:
        strict_json(ended.what, ended.out)


def strict_json(what: str, text: str) -> Any:
    """What a JSON text says; `BrokenError` if it is none, or has numbers that JSON does not have."""

    def refuse(constant: str) -> float:
        raise ValueError(f"{constant} is not JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except ValueError as error:
        raise BrokenError("other", f"{what}: not JSON: {error}: {text[:200]!r}") from None


def _last_lines(text: str) -> str:
    """Where a traceback ended, and its error."""
    lines = text[max(text.find("Traceback (most"), text.find("Exception ignored"), 0) :].splitlines()
    end = next((at for at, line in enumerate(lines) if at and not line.startswith(" ")), len(lines) - 1)
    return " | ".join(line.strip() for line in lines[max(end - 2, 0) : end + 1])
