# cython: embedsignature=True
"""The best moves of many positions, for processors with AVX2: the same source, compiled with wider instructions."""

include "_best_moves.pxi"
