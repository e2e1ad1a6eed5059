# cython: embedsignature=True
"""The Can't Stop kernels for any processor."""

include "_stage.pxi"
