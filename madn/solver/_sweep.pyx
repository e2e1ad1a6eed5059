# cython: embedsignature=True
"""The sweep kernels for any processor."""

include "_sweep.pxi"
include "_component.pxi"
