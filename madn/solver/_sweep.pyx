# cython: embedsignature=True
"""The sweep kernels, compiled for any processor."""

include "sweep_structs.pxi"
include "sweep_arithmetic.pxi"
include "sweep_captures.pxi"
include "sweep_schedule.pxi"
include "sweep_choices.pxi"
include "sweep_component.pxi"
include "sweep_passes.pxi"
