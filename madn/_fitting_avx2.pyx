# cython: embedsignature=True
"""Fitting a network to values of positions, for AVX2: the same source, compiled with wider instructions."""

include "_fitting.pxi"
