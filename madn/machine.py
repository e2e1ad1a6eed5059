"""Facts about this computer: threads, memory, disk, and which build of a kernel its processor runs."""

import os
import platform
import shutil
import sys
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

from madn._machine import MAX_THREADS as MAX_THREADS
from madn._machine import compiler as compiler
from madn._machine import has_avx2 as has_avx2
from madn._machine import has_avx512 as has_avx512
from madn._machine import openmp as openmp
from madn._machine import usable_threads as usable_threads
from madn.errors import InvalidRulesError, ResourceError
from madn.ranges import checked_int

if sys.platform != "win32":
    import fcntl

Build = TypeVar("Build")


def processors() -> int:
    """The processors this process may use, whether or not this build has OpenMP."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


def chosen_threads(asked: int | None) -> int:
    """The number of threads asked for, or all usable ones; raises `InvalidRulesError` unless that many can start."""
    return usable_threads() if asked is None else checked_int("threads", asked, 1, MAX_THREADS, InvalidRulesError)


def available_memory() -> int | None:
    """The memory available without swapping, in bytes; None where the system does not say."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def check_memory(what: str, needed: int, allowed: int | None = None) -> None:
    """Raise `ResourceError` if `what` needs more memory, in bytes, than is allowed, or else available."""
    room = available_memory() if allowed is None else allowed
    if room is not None and needed > room:
        which = "available" if allowed is None else "allowed"
        raise ResourceError(f"{what} needs {amount(needed)} of memory, but only {amount(room)} is {which}")


def amount(size: int) -> str:
    """A number of bytes for a person, in units of 1024."""
    return f"{size / 2**30:,.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"


class OtherPrograms:
    """How many processors other programs keep busy from now on; needs Linux."""

    def __init__(self) -> None:
        self.began = time.monotonic(), _busy_seconds(), time.process_time()

    def processors(self) -> float:
        """The mean since this was made; 0 where the system does not say."""
        since, busy, own = self.began
        elapsed, now = time.monotonic() - since, _busy_seconds()
        if busy is None or now is None or elapsed == 0:
            return 0.0
        return max(0.0, (now - busy) - (time.process_time() - own)) / elapsed


def _busy_seconds() -> float | None:
    """The processor time of all programs since the system started, with what other virtual machines took from it."""
    try:
        words = Path("/proc/stat").read_text(encoding="ascii").split()
        user, nice, system, _, _, irq, softirq, steal = (int(word) for word in words[1:9])
        return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError):
        return None


def free_disk(directory: str | os.PathLike[str]) -> int:
    """The bytes that can still be written to the disk of a directory."""
    return shutil.disk_usage(directory).free


def flush(path: str | os.PathLike[str]) -> None:
    """Wait until a file or directory is on disk."""
    if sys.platform == "win32" and os.path.isdir(path):
        return  # directories cannot be flushed there
    descriptor = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lock_directory(directory: str | os.PathLike[str]) -> int | None:
    """Lock a directory until the returned descriptor is closed, however the process ends; None on Windows.

    Raises BlockingIOError if another process has it.
    """
    if sys.platform == "win32":
        return None
    lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise
    return lock


BUILDS = ("avx512", "avx2", "portable")  # of kernels, fastest first


def fastest_build(builds: Mapping[str, Build]) -> str:
    """The name of the fastest of these builds of a kernel, at most the one that MADN_KERNELS names."""
    wanted = os.environ.get("MADN_KERNELS", BUILDS[0])
    slower = BUILDS[BUILDS.index(wanted) if wanted in BUILDS else 0 :]
    return next(name for name in slower if name in builds)


def versions() -> dict[str, str]:
    """What runs here: the versions of madn, Python and numpy, and the compiler of the kernels."""
    return {
        "madn": version("madn"),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "compiler": compiler(),
    }
