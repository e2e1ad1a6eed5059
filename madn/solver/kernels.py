"""The solver's kernels in the build that this processor runs: for any processor, for AVX2, or for AVX-512.

All builds have the same interface, that of the stubs of `_sweep` and `_best_moves`; the type checker enforces it.
"""

from contextlib import suppress

from madn import machine
from madn.solver import _best_moves, _sweep

SWEEPERS = {"portable": _sweep.Sweeper}
FILL_CAPTURES = {"portable": _best_moves.fill_captures}
CHOOSE = {"portable": _best_moves.choose}
if machine.has_avx2():
    with suppress(ImportError):  # not built on another kind of processor
        from madn.solver import _best_moves_avx2, _sweep_avx2

        SWEEPERS["avx2"] = _sweep_avx2.Sweeper
        FILL_CAPTURES["avx2"], CHOOSE["avx2"] = _best_moves_avx2.fill_captures, _best_moves_avx2.choose
if machine.has_avx512():
    with suppress(ImportError):
        from madn.solver import _sweep_avx512

        SWEEPERS["avx512"] = _sweep_avx512.Sweeper

build = machine.fastest_build(SWEEPERS)
best_moves_build = machine.fastest_build(CHOOSE)
