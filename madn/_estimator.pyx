# cython: embedsignature=True
"""Values of positions from a network of whole numbers, for any processor."""

include "_estimator.pxi"
