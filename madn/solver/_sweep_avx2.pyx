# cython: embedsignature=True
"""The sweep kernels for processors with AVX2: the same text, compiled with wider instructions."""

include "_sweep.pxi"
include "_component.pxi"
