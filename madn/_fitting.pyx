# cython: embedsignature=True
"""Fitting a network to values of positions, for any processor."""

include "_fitting.pxi"
