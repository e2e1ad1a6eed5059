import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int16_t, int64_t, uint8_t, uint64_t

from madn._core cimport madn_popcount
from madn._estimator_rows cimport MOST_ACTIVE, SECOND, Inputs, active_rows, bucket_of, inputs_of
from madn._machine cimport check_number, check_shape, checked_threads

cdef extern from "fitting.h":
    enum:
        MOST_FIRST
    ctypedef struct Weights:
        int first
        float* rows
        float* first_bias
        float* second
        float* second_bias
        float* last
        float* last_bias
    float fit_position(const Weights* w, Weights* g, const int16_t* rows, int count, int bucket, float target,
                       float weight) noexcept nogil
    void fit_step(float* weights, float* gradients, float* mean, float* square, int64_t begin, int64_t end,
                  int64_t count, int shards, float rate, float mean_left, float square_left, float scale) noexcept nogil

cdef enum:
    SHARDS = 2             # parts of a batch, each with its own gradient: the sum does not depend on the threads
    MOST_SHAPES = 8
    SLICES = 64            # parts of the weights that are updated in parallel


cdef Weights weights_at(float* all, int64_t rows, int first, int buckets) noexcept nogil:
    """Where the parts of a network begin in one array."""
    cdef Weights w
    w.first = first
    w.rows = all
    w.first_bias = w.rows + rows * first
    w.second = w.first_bias + first
    w.second_bias = w.second + <int64_t>buckets * first * SECOND
    w.last = w.second_bias + buckets * SECOND
    w.last_bias = w.last + buckets * SECOND
    return w


SECOND_UNITS = SECOND


cdef class Fitter:
    """A network that is being fitted by Adam, for games with this number of pieces and squares.

    `weights` is the whole network in one float32 array: rows and biases of the first layer, then for every bucket the
    second layer (by units of the first), then all their biases, then the last layer likewise.
    """

    cdef readonly object weights
    cdef readonly int steps
    cdef object gradients, means, squared
    cdef int pieces, squares, distances, stretch, first, buckets
    cdef int64_t count, rows

    def __init__(self, int pieces, int squares, int distances, int stretch, int first, weights):
        check_number("pieces", pieces, 1, 6)
        check_number("squares", squares, 8, 40)
        check_number("distances", distances, 1, 40)
        check_number("stretch", stretch, 1, 40)
        check_number("first", first, 32, MOST_FIRST)
        if first % 32:
            raise ValueError(f"first must be a multiple of 32, not {first}")
        self.pieces, self.squares, self.distances, self.stretch = pieces, squares, distances, stretch
        self.first, self.buckets = first, pieces * pieces
        self.rows = inputs_of(pieces, squares, distances, stretch, 0).rows
        self.count = self.rows * first + first + self.buckets * (<int64_t>first * SECOND + 2 * SECOND + 1)
        self.weights = np.array(weights, np.float32)
        check_shape("weights", self.weights, (self.count,))
        self.gradients = np.zeros(SHARDS * self.count, np.float32)
        self.means, self.squared = np.zeros(self.count, np.float32), np.zeros(self.count, np.float32)
        self.steps = 0

    def run(self, const uint64_t[::1] own, const uint64_t[::1] other, const uint8_t[::1] flags,
            const float[::1] targets, const float[::1] weights, float[::1] wins, float rate, bint step, int threads):
        """Put the values of positions into `wins`; with `step`, also change the weights to fit `targets` better."""
        cdef int64_t n = own.shape[0], k, begin, end
        for name, array in (("other", other), ("flags", flags), ("targets", targets), ("weights", weights),
                            ("wins", wins)):
            check_shape(name, array, (n,))
        threads = checked_threads(threads)
        self._check(own, other, flags)
        cdef float[::1] all = self.weights, gradients = self.gradients, means = self.means, squared = self.squared
        cdef Inputs kinds[8]
        for k in range(8):
            kinds[k] = inputs_of(self.pieces, self.squares, self.distances, self.stretch, <int>k)
        cdef Weights w = weights_at(&all[0], self.rows, self.first, self.buckets), g
        cdef const Inputs* games = kinds
        cdef int64_t count = self.count
        if n == 0:
            return
        for k in prange(SHARDS, num_threads=threads, schedule="static", chunksize=1, nogil=True):
            run_shard(games, w, &gradients[k * count], self.rows, self.buckets, &own[0], &other[0], &flags[0],
                      &targets[0], &weights[0], &wins[0], n * k // SHARDS, n * (k + 1) // SHARDS, step)
        if not step:
            return
        self.steps += 1
        cdef float mean_left = <float>(1.0 - 0.9 ** self.steps), square_left = <float>(1.0 - 0.999 ** self.steps)
        cdef float scale = <float>(1.0 / n)
        for k in prange(SLICES, num_threads=threads, schedule="static", nogil=True):
            fit_step(&all[0], &gradients[0], &means[0], &squared[0], count * k // SLICES, count * (k + 1) // SLICES,
                     count, SHARDS, rate, mean_left, square_left, scale)

    cdef int _check(self, const uint64_t[::1] own, const uint64_t[::1] other, const uint8_t[::1] flags) except -1:
        """Raise ValueError unless all are positions of unfinished games: rows are selected by what is in them."""
        cdef int64_t i, bad = -1
        cdef Inputs g = inputs_of(self.pieces, self.squares, self.distances, self.stretch, 0)
        with nogil:
            for i in range(own.shape[0]):
                if flags[i] > 7 or not fits(&g, own[i]) or not fits(&g, other[i]):
                    bad = i
                    break
        if bad >= 0:
            raise ValueError(f"position {bad}: {own[bad]:#x}, {other[bad]:#x}, {flags[bad]} is not an open game")
        return 0


cdef bint fits(const Inputs* g, uint64_t state) noexcept nogil:
    return (state >> (g.squares + g.pieces)) == 0 and madn_popcount(state) <= g.pieces \
        and madn_popcount(state >> g.squares) < g.pieces


cdef void run_shard(const Inputs* games, Weights w, float* gradient, int64_t rows, int buckets, const uint64_t* own,
                    const uint64_t* other, const uint8_t* flags, const float* targets, const float* weights,
                    float* wins, int64_t begin, int64_t end, bint step) noexcept nogil:
    cdef int16_t active[MOST_ACTIVE]
    cdef Weights g = weights_at(gradient, rows, w.first, buckets)
    cdef int64_t i
    cdef int n, bucket
    for i in range(begin, end):
        n = active_rows(&games[flags[i]], own[i], other[i], active)
        bucket = bucket_of(&games[flags[i]], own[i], other[i])
        wins[i] = fit_position(&w, &g if step else NULL, active, n, bucket, targets[i], weights[i])
