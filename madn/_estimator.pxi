import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int16_t, int32_t, int64_t, uint32_t, uint64_t

from madn._core cimport MAX_PIECES, MAX_SQUARES, Game, GameTables, finished, is_position
from madn._estimator_rows cimport LEAST_SQUARES, MOST_ACTIVE, SECOND, Inputs, active_rows, bucket_of, inputs_of
from madn._machine cimport check_number, check_shape, checked_threads

cdef extern from "estimator.h":
    enum:
        UNITS_AT_ONCE
    void add_rows(const int16_t* rows, const int32_t* bias, const int16_t* active, int count, int first, int32_t one,
                  int16_t* units) noexcept nogil
    void add_units(const int16_t* second, const int32_t* bias, const int16_t* units, int first,
                   int32_t* sums) noexcept nogil

cdef enum:
    MOST_FIRST = 2048      # units of the first layer
    ONE_BITS = 13          # a unit that is fully on is 2^13
    ONE = 1 << ONE_BITS
    LAST_BITS = 16         # the last layer counts in steps of 2^-16
    RANGE = 16             # log odds are clamped to -16 to 16
    STEP_BITS = ONE_BITS + LAST_BITS - 6    # the curve has 64 points for each unit of log odds
    CURVE = 2 * RANGE * 64 + 2
    WIN_BITS = 31          # a certain win on the curve is 2^31
    BLOCK = 64             # positions that a thread takes at a time
    MOST_SECOND_BITS = 16


cdef struct Layers:
    int first
    int second_bits
    const int16_t* rows          # [rows][first]
    const int32_t* first_bias    # [first]
    const int16_t* second        # [buckets][first / 2][SECOND][2]
    const int32_t* second_bias   # [buckets][SECOND]
    const int32_t* last          # [buckets][SECOND]
    const int64_t* last_bias     # [buckets]
    const uint32_t* curve        # [CURVE]


cdef inline int64_t log_odds(const Layers* n, const int16_t* active, int count, int bucket) noexcept nogil:
    """The output of the network, in steps of 2^-29: all integer arithmetic, so it is the same on every computer."""
    cdef int16_t units[MOST_FIRST]
    cdef int32_t sums[SECOND]
    cdef int j
    cdef int64_t total
    cdef int32_t x
    add_rows(n.rows, n.first_bias, active, count, n.first, ONE, units)
    add_units(n.second + <int64_t>bucket * n.first * SECOND, n.second_bias + bucket * SECOND, units, n.first, sums)
    total = n.last_bias[bucket]
    for j in range(SECOND):
        x = min(max(sums[j], 0) >> n.second_bits, ONE)
        total += <int64_t>x * n.last[bucket * SECOND + j]
    return total


cdef inline double win_of(const Layers* n, int64_t odds) noexcept nogil:
    """The probability for log odds, interpolated between the points of the curve."""
    cdef int64_t end = <int64_t>RANGE << (ONE_BITS + LAST_BITS), place, part
    place = min(max(odds, -end), end) + end
    part = place & ((<int64_t>1 << STEP_BITS) - 1)
    place >>= STEP_BITS
    place = <int64_t>n.curve[place] + ((<int64_t>n.curve[place + 1] - <int64_t>n.curve[place]) * part >> STEP_BITS)
    return <double>place / <double>(<int64_t>1 << WIN_BITS)


cdef class Network:
    """A network for one game, made of whole numbers; `madn.estimator` reads them from a file.

    The units of the first layer are sums of `rows` and `first_bias`, in steps of 2^-13, clamped to 0 to 1. There are
    several second layers, chosen by the pieces at home; their units are sums of the first layer's units weighted by
    `second`, in steps of 2^-(13 + second_bits), clamped likewise. The log odds are the sum of these units weighted by
    `last`, in steps of 2^-29. `curve` has the probabilities, in steps of 2^-31, for log odds from -16 to 16 and for one
    step beyond.
    """

    cdef Layers layers
    cdef Inputs inputs
    cdef const GameTables* tables
    cdef Game game
    cdef tuple arrays

    def __init__(self, Game game not None, int distances, int stretch, int second_bits, const int16_t[:, ::1] rows,
                 const int32_t[::1] first_bias, const int16_t[:, :, ::1] second, const int32_t[:, ::1] second_bias,
                 const int32_t[:, ::1] last, const int64_t[::1] last_bias, const uint32_t[::1] curve):
        rules = game.rules
        cdef int P = rules.pieces, H
        check_number("distances", distances, 1, MAX_SQUARES)
        check_number("stretch", stretch, 1, MAX_SQUARES)
        check_number("second_bits", second_bits, 0, MOST_SECOND_BITS)
        flags = rules.three_rolls + 2 * rules.no_jumping + 4 * rules.must_capture
        self.inputs = inputs_of(P, rules.squares, distances, stretch, flags)
        H = first_bias.shape[0]
        check_number("units of the first layer", H, 1, MOST_FIRST)
        if H % UNITS_AT_ONCE:
            raise ValueError(f"the first layer has {H} units, not a multiple of {UNITS_AT_ONCE}")
        check_shape("rows", rows, (self.inputs.rows, H))
        check_shape("second", second, (P * P, H, SECOND))
        check_shape("second_bias", second_bias, (P * P, SECOND))
        check_shape("last", last, (P * P, SECOND))
        check_shape("last_bias", last_bias, (P * P,))
        check_shape("curve", curve, (CURVE,))
        _check_sums(*map(np.asarray, (rows, first_bias, second, second_bias, last, last_bias, curve)), MOST_ACTIVE)
        self.game, self.tables = game, &game.tables
        cdef const int16_t[::1] pairs = np.asarray(second).reshape(-1, 2, SECOND).transpose(0, 2, 1).ravel()
        self.arrays = rows, first_bias, pairs, second_bias, last, last_bias, curve
        self.layers.first, self.layers.second_bits = H, second_bits
        self.layers.rows, self.layers.first_bias, self.layers.second = &rows[0, 0], &first_bias[0], &pairs[0]
        self.layers.second_bias, self.layers.last = &second_bias[0, 0], &last[0, 0]
        self.layers.last_bias, self.layers.curve = &last_bias[0], &curve[0]

    def wins(self, const uint64_t[::1] own, const uint64_t[::1] other, int threads=1):
        """The mover's chances of winning in many positions, before the roll, as float64; 1 or 0 in a finished game."""
        cdef int64_t n = own.shape[0], k, bad = -1
        check_shape("other", other, (n,))
        threads = checked_threads(threads)
        wins = np.empty(n)
        if n == 0:
            return wins
        for k in range(n):
            if not is_position(self.tables, own[k], other[k]):
                raise ValueError(f"position {k}: {own[k]:#x}, {other[k]:#x} is not a position of {self.game.rules}")
        cdef double[::1] out = wins
        cdef const Layers* layers = &self.layers
        cdef const Inputs* inputs = &self.inputs
        cdef const GameTables* tables = self.tables
        for k in prange((n + BLOCK - 1) // BLOCK, num_threads=threads, schedule="static", nogil=True):
            fill(layers, inputs, tables, &own[0], &other[0], k * BLOCK, min(n, (k + 1) * BLOCK), &out[0])
        return wins


cdef void fill(const Layers* layers, const Inputs* inputs, const GameTables* tables, const uint64_t* own,
               const uint64_t* other, int64_t begin, int64_t end, double* out) noexcept nogil:
    cdef int16_t active[MOST_ACTIVE]
    cdef int64_t i
    cdef int count
    for i in range(begin, end):
        if finished(tables, own[i]):
            out[i] = 1.0
        elif finished(tables, other[i]):
            out[i] = 0.0
        else:
            count = active_rows(inputs, own[i], other[i], active)
            out[i] = win_of(layers, log_odds(layers, active, count, bucket_of(inputs, own[i], other[i])))


def _check_sums(rows, first_bias, second, second_bias, last, last_bias, curve, active):
    """Raise ValueError if a sum could overflow its type for any position."""
    most = np.abs(rows.astype(np.int64)).max() * active + np.abs(first_bias.astype(np.int64)).max()
    if most >= 2 ** 31:
        raise ValueError(f"the first layer can reach {most}, more than 32 bits hold")
    most = (np.abs(second.astype(np.int64)).sum(axis=1) * ONE + np.abs(second_bias.astype(np.int64))).max()
    if most >= 2 ** 31:
        raise ValueError(f"the second layer can reach {most}, more than 32 bits hold")
    most = max(int(np.max(last_bias)), -int(np.min(last_bias)))
    if most >= 2 ** 61:
        raise ValueError(f"the last layer can reach {most}, more than 62 bits hold")
    if (np.diff(curve.astype(np.int64)) < 0).any() or int(curve.max()) > <int64_t>1 << WIN_BITS:
        raise ValueError("the curve does not ascend from 0 to 1")


def active(Game game not None, int distances, int stretch, own, other):
    """The rows of the first layer that are added up for a position; a row may occur more than once."""
    cdef int16_t found[MOST_ACTIVE]
    cdef Inputs inputs
    cdef int n, k
    cdef uint64_t mine = own, theirs = other
    rules = game.rules
    check_number("distances", distances, 1, MAX_SQUARES)
    check_number("stretch", stretch, 1, MAX_SQUARES)
    if not is_position(&game.tables, mine, theirs):
        raise ValueError(f"{own:#x}, {other:#x} is not a position of {rules}")
    flags = rules.three_rolls + 2 * rules.no_jumping + 4 * rules.must_capture
    inputs = inputs_of(rules.pieces, rules.squares, distances, stretch, flags)
    n = active_rows(&inputs, mine, theirs, found)
    return [found[k] for k in range(n)]


def row_count(int pieces, int squares, int distances, int stretch):
    """How many rows the first layer has."""
    check_number("pieces", pieces, 1, MAX_PIECES)
    check_number("squares", squares, LEAST_SQUARES, MAX_SQUARES)
    check_number("distances", distances, 1, MAX_SQUARES)
    check_number("stretch", stretch, 1, MAX_SQUARES)
    return inputs_of(pieces, squares, distances, stretch, 0).rows
