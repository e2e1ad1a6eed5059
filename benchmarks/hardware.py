"""Describes the machine a benchmark ran on; every benchmark prints this beside its numbers."""

import os
import platform
from pathlib import Path

import numpy as np

from madn import machine


def hardware() -> dict[str, str | int | float | bool | None]:
    """Processor, memory and the versions that matter for speed; None for what this system does not tell."""
    return {
        "cpu": cpu_model(),
        "cores": cores(),
        "memory_gib": memory_gib(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "compiler": machine.compiler(),
        "openmp": machine.openmp(),
        "avx2": machine.has_avx2(),
        "avx512": machine.has_avx512(),
    }


def cpu_model() -> str | None:
    """The processor's name: from a file on Linux, from `platform` on other systems."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or None


def cores() -> int | None:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def memory_gib() -> float | None:
    """The memory of the machine in GiB."""
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, ValueError, OSError):
        return None
