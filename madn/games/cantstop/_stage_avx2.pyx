# cython: embedsignature=True
"""The Can't Stop kernels for processors with AVX2."""

include "_stage.pxi"
