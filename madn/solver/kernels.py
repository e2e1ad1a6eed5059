"""The solver's kernels in the build that this processor runs."""

from contextlib import suppress
from types import ModuleType

from madn import machine
from madn.solver import _best_moves, _sweep

SWEEP_BUILDS: dict[str, ModuleType] = {"portable": _sweep}
BEST_MOVES_BUILDS: dict[str, ModuleType] = {"portable": _best_moves}
if machine.has_avx2():
    with suppress(ImportError):  # not built for another kind of processor
        from madn.solver import _best_moves_avx2, _sweep_avx2

        SWEEP_BUILDS["avx2"], BEST_MOVES_BUILDS["avx2"] = _sweep_avx2, _best_moves_avx2

name = machine.fastest_build(SWEEP_BUILDS)
sweep = SWEEP_BUILDS[name]
best_moves = BEST_MOVES_BUILDS[name]
