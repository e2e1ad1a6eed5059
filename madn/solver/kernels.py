"""Which build of the sweep kernels this processor runs."""

import os
from typing import Any

from madn import _core, _sweep


def available() -> dict[str, Any]:
    """The builds that run here: `portable` always, `avx2` where processor and package have it."""
    found: dict[str, Any] = {"portable": _sweep}
    if _core.has_avx2():
        try:
            from madn import _sweep_avx2
        except ImportError:  # a build for another kind of processor
            return found
        found["avx2"] = _sweep_avx2
    return found


def choose() -> str:
    """The fastest build that runs here; MADN_KERNELS=portable asks for the plain one."""
    wanted = os.environ.get("MADN_KERNELS", "avx2")
    return wanted if wanted in available() else "portable"


name = choose()
kernels = available()[name]
