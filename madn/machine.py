"""Facts about this computer: threads, memory, disk, and which build of a kernel its processor runs."""

import os
import platform
import shutil
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

from madn._machine import MAX_THREADS as MAX_THREADS
from madn._machine import compiler as compiler
from madn._machine import has_avx2 as has_avx2
from madn._machine import openmp as openmp
from madn._machine import usable_threads as usable_threads
from madn.errors import InvalidRulesError, ResourceError

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
    if asked is not None and not 1 <= asked <= MAX_THREADS:
        raise InvalidRulesError(f"threads must be 1 to {MAX_THREADS}, not {asked}")
    return asked or usable_threads()


def available_memory() -> int | None:
    """The memory that can be had without swapping, in bytes; None where the system does not say."""
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
        raise ResourceError(f"{what} needs {_amount(needed)} of memory, and {_amount(room)} are {which}")


def _amount(size: int) -> str:
    return f"{size / 2**30:,.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"


def free_disk(directory: str | os.PathLike[str]) -> int:
    """The bytes that can still be written to the disk of a directory."""
    return shutil.disk_usage(directory).free


def lock_directory(directory: str | os.PathLike[str]) -> int | None:
    """Lock a directory until the descriptor that is returned is closed, however the process ends; None on Windows.

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


def fastest_build(builds: Mapping[str, Build]) -> str:
    """The name of the fastest of these builds of a kernel: `avx2` if it is there, else `portable`.

    MADN_KERNELS=portable asks for the plain one.
    """
    wanted = os.environ.get("MADN_KERNELS", "avx2")
    return wanted if wanted in builds else "portable"


def versions() -> dict[str, str]:
    """What computes here: the versions of madn, Python and numpy, and the compiler of the kernels."""
    return {
        "madn": version("madn"),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "compiler": compiler(),
    }
