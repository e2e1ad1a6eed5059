# cython: embedsignature=True
"""Values of positions from a network of whole numbers, for AVX2: the same source, compiled with wider instructions."""

include "_estimator.pxi"
