# cython: embedsignature=True
"""The best moves of many positions, compiled for any processor."""

include "_best_moves.pxi"
