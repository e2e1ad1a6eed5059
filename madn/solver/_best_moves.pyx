# cython: embedsignature=True
"""The best moves of many positions, for any processor."""

include "_best_moves.pxi"
