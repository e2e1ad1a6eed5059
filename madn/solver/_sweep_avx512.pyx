# cython: embedsignature=True
"""The sweep kernels for processors with AVX-512: the same source, compiled with wider instructions."""

include "sweep_structs.pxi"
include "sweep_arithmetic.pxi"
include "sweep_captures.pxi"
include "sweep_schedule.pxi"
include "sweep_choices.pxi"
include "sweep_component.pxi"
include "sweep_passes.pxi"
