"""Which build of a kernel this processor runs: some are compiled twice, for any processor and for AVX2."""

import os
from importlib import import_module
from typing import Any

from madn import _core


def available(name: str) -> dict[str, Any]:
    """The builds of `madn.NAME` that run here: `portable` always, `avx2` where processor and package have it."""
    found: dict[str, Any] = {"portable": import_module(f"madn.{name}")}
    if _core.has_avx2():
        try:
            found["avx2"] = import_module(f"madn.{name}_avx2")
        except ImportError:  # a build for another kind of processor
            return found
    return found


def choose(name: str) -> str:
    """The fastest build that runs here; MADN_KERNELS=portable asks for the plain one."""
    wanted = os.environ.get("MADN_KERNELS", "avx2")
    return wanted if wanted in available(name) else "portable"
