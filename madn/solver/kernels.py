"""Which build of the sweep kernels this processor runs."""

import os
from types import ModuleType

from madn import _core, _sweep


def choose() -> ModuleType:
    """The AVX2 build where processor and package have it; MADN_KERNELS=portable asks for the other."""
    if os.environ.get("MADN_KERNELS", "") != "portable" and _core.has_avx2():
        try:
            from madn import _sweep_avx2
        except ImportError:  # a build for another kind of processor
            return _sweep
        return _sweep_avx2
    return _sweep


kernels = choose()
