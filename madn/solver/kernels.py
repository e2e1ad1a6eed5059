"""The solver's kernels in the build that this processor runs: for any processor, or for AVX2."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from madn import machine
from madn.solver import _best_moves, _sweep
from madn.solver.numbers import Values
from madn.solver.tables import SweepTables

Both = tuple[Values, Values]  # the matrices L and R of a component


class Sweeper(Protocol):
    """Sweeps one component; `_sweep.Sweeper` says how."""

    after_capture: Values

    def set_column_exits(self, column_exits: Iterable[Both], first_row: int) -> None:
        """Let moves of the column player to other finish zones lead to these."""

    def restore(self, strip: int) -> None:
        """Fill and copy the captures of a strip that was not computed here."""

    def run(
        self, first: int, end: int, threads: int, examine: bool, skip_below: float = 0.0, rounding: float = 0.0
    ) -> tuple[Any, ...]:
        """Pass over some strips."""


class SweepBuild(Protocol):
    """A build of `_sweep`."""

    def Sweeper(  # noqa: N802  (a class)
        self, tables: SweepTables, L: Values, R: Values, row_exits: Iterable[Both], column_exits: Iterable[Both]
    ) -> Sweeper:
        """The sweeper of a component."""

    def parts_in_order(
        self, counts: NDArray[np.int64], workers: int, together: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """How the chunks of strips are shared out."""


class BestMovesBuild(Protocol):
    """A build of `_best_moves`."""

    def fill_captures(
        self,
        L: Values,
        R: Values,
        start: NDArray[np.int64],
        facing: NDArray[np.uint64],
        square_first: NDArray[np.int32],
        holder: NDArray[np.int32],
        captured: NDArray[np.int32],
        columns: int,
        first_row: int,
        end_row: int,
        threads: int,
    ) -> None:
        """Fill the slots of some rows in which both sides stand on one square."""

    def choose(
        self,
        bases: list[Both],
        start: NDArray[np.int64],
        facing: NDArray[np.uint64],
        first: NDArray[np.int32],
        kind: NDArray[np.int8],
        offset: NDArray[np.int64],
        masks: NDArray[np.uint64],
        first_row: int,
        end_row: int,
        tie: float,
        threads: int,
        words: NDArray[np.uint16] | None = None,
    ) -> tuple[int, int, int, float, tuple[float, int, int, int], tuple[float, int, int]]:
        """Find the best option of every roll for some rows."""


SWEEP_BUILDS: dict[str, SweepBuild] = {"portable": _sweep}
BEST_MOVES_BUILDS: dict[str, BestMovesBuild] = {"portable": _best_moves}
if machine.has_avx2():
    with suppress(ImportError):  # not built on another kind of processor
        from madn.solver import _best_moves_avx2, _sweep_avx2

        SWEEP_BUILDS["avx2"], BEST_MOVES_BUILDS["avx2"] = _sweep_avx2, _best_moves_avx2

name = machine.fastest_build(SWEEP_BUILDS)
sweep = SWEEP_BUILDS[name]
best_moves = BEST_MOVES_BUILDS[name]
