"""The inner loops of encoding and decoding a block: planes of bytes, and predicting a value from its neighbours.

Within a run (one profile, one pair of finish zones), positions with the same own main squares are consecutive: a row,
ordered by the rank of the other side's main squares. Rows are ordered by the rank of the own main squares. In the
string of a combination (docs/format.md) piece 1 has the lowest place and moves fastest. With piece j on place q, the
C(q, j - 1) arrangements of the pieces below it are neighbours: a chunk. The first C(q - 1, j - 1) of them leave place
q - 1 free, and the chunk before consists of exactly these arrangements with piece j on q - 1. So one subtraction of
arrays predicts them from that chunk. Done for each piece of both sides, this leaves only what depends on all of them
together, which is small.
"""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef enum:
    MAX_SQUARES = 64
    MAX_PIECES = 8

ctypedef fused word:
    uint8_t
    uint16_t
    uint32_t
    uint64_t

cdef int64_t MOST_RANKS = <int64_t>1 << 56     # more than any profile has: nothing below overflows
cdef int64_t CHOOSE[MAX_SQUARES + 1][MAX_PIECES + 1]


cdef void fill_table() noexcept:
    cdef int n, k
    for n in range(MAX_SQUARES + 1):
        CHOOSE[n][0] = 1
        for k in range(1, MAX_PIECES + 1):
            CHOOSE[n][k] = 0 if n == 0 else CHOOSE[n - 1][k - 1] + CHOOSE[n - 1][k]


fill_table()


def decode(const uint8_t[::1] planes not None, word[::1] out not None, word least, word most, int squares, int own,
           int other, int64_t first):
    """Undo `subtract` and `split`: fill `out` with the words of a block, given its byte planes.

    Returns whether all of them are from `least` to `most`; if `most` is smaller, that range goes up from `least` and
    wraps around to 0. The range must be all words, or at most half of them.
    """
    cdef Py_ssize_t n = out.shape[0]
    cdef int width
    cdef bint inside
    cdef word span = <word>(most - least)
    if span != <word>-1 and span >> (8 * sizeof(word) - 1):
        raise ValueError(f"{least} to {most} are more than half, but not all, of the words of {sizeof(word)} bytes")
    if n == 0 or planes.shape[0] % n or not 1 <= planes.shape[0] // n <= <Py_ssize_t>sizeof(word):
        raise ValueError(f"{planes.shape[0]} bytes are not 1 to {sizeof(word)} planes of {n} words")
    check_slice(n, squares, own, other, first)
    width = <int>(planes.shape[0] // n)
    with nogil:
        join(&planes[0], &out[0], n, width)
        passes(&out[0], n, squares, own, other, first, True)
        if width < <int>sizeof(word):
            keep_low(&out[0], n, width)
        inside = span == <word>-1 or none_beyond(&out[0], n, least, span)
    return inside


cdef inline uint64_t balance(int width) noexcept nogil:
    """0x80 in every byte: with this added, the upper planes of small differences are constant, whatever their sign."""
    return <uint64_t>0x8080808080808080u >> (8 * (8 - width))


cdef inline void keep_low(word* x, Py_ssize_t n, int width) noexcept nogil:
    """Clear the bytes that have no plane."""
    cdef word mask = <word>((<uint64_t>1 << (8 * width)) - 1)
    cdef Py_ssize_t i
    for i in range(n):
        x[i] &= mask


cdef inline bint none_beyond(const word* x, Py_ssize_t n, word least, word span) noexcept nogil:
    """Whether all words are from `least` to `span` above it, where `span` is less than half of all words.

    A distance is too large if its highest bit is set, or that of `span` minus the distance. This needs no comparison of
    unsigned words, which the oldest vector instructions do not have.
    """
    cdef word bits = 0
    cdef Py_ssize_t i
    for i in range(n):
        bits |= <word>(x[i] - least) | <word>(span - <word>(x[i] - least))
    return not bits >> (8 * sizeof(word) - 1)


cdef inline void join(const uint8_t* planes, word* out, Py_ssize_t n, int width) noexcept nogil:
    """Put words together from their byte planes, lowest first, and subtract the balance."""
    cdef word surplus = <word>balance(width)
    cdef int level
    cdef Py_ssize_t i
    if width == 4:
        join_four(planes, out, n, surplus)
        return
    for i in range(n):
        out[i] = <word>(planes[i] - surplus)
    for level in range(1, width):
        planes += n
        for i in range(n):
            out[i] = <word>(out[i] + (<word>planes[i] << (8 * level)))


cdef inline void join_four(const uint8_t* planes, word* out, Py_ssize_t n, word surplus) noexcept nogil:
    """As `join` for the most common width, in one pass over the words."""
    cdef const uint8_t* b = planes + n
    cdef const uint8_t* c = planes + 2 * n
    cdef const uint8_t* d = planes + 3 * n
    cdef Py_ssize_t i
    cdef uint32_t total
    for i in range(n):
        total = <uint32_t>planes[i] | <uint32_t>b[i] << 8 | <uint32_t>c[i] << 16 | <uint32_t>d[i] << 24
        out[i] = <word>(total - surplus)


def split(const word[::1] words not None, int width):
    """Return the byte planes, least significant first, of the words with the balance added to each."""
    cdef Py_ssize_t n = words.shape[0], i
    cdef int level
    if n == 0 or not 1 <= width <= <int>sizeof(word):
        raise ValueError(f"{n} words of {sizeof(word)} bytes do not have {width} planes")
    planes = np.empty(n * width, np.uint8)
    cdef uint8_t[::1] view = planes
    cdef uint8_t* plane
    cdef word surplus = <word>balance(width)
    with nogil:
        for level in range(width):
            plane = &view[level * n]
            for i in range(n):
                plane[i] = <uint8_t>(<word>(words[i] + surplus) >> (8 * level))
    return planes


def subtract(word[::1] x not None, int squares, int own, int other, int64_t first):
    """Replace each word of a block by its difference from the prediction of its neighbours."""
    check_slice(x.shape[0], squares, own, other, first)
    with nogil:
        passes(&x[0], x.shape[0], squares, own, other, first, False)


cdef int check_slice(Py_ssize_t count, int squares, int own, int other, int64_t first) except -1:
    if count == 0 or not 0 <= first <= MOST_RANKS or not 0 <= own < MAX_PIECES or not 0 <= other < MAX_PIECES \
            or not own + other <= squares <= MAX_SQUARES:
        raise ValueError(f"{count} words from rank {first} on are not a block of a profile with {own} and {other}"
                         f" pieces on {squares} squares")
    return 0


cdef void passes(word* x, int64_t n, int squares, int own, int other, int64_t first, bint undo) noexcept nogil:
    """Subtract the predictions by all pieces of both sides, or undo that."""
    cdef int64_t row = CHOOSE[squares - own][other]
    cdef int64_t table = row * CHOOSE[squares][own]
    if undo:
        over_pieces(x, first, first + n, squares, own, table, row, undo)
    over_pieces(x, first, first + n, squares - own, other, row, 1, undo)
    if not undo:
        over_pieces(x, first, first + n, squares, own, table, row, undo)


cdef void over_pieces(word* x, int64_t first, int64_t end, int squares, int pieces, int64_t period,
                      int64_t unit, bint undo) noexcept nogil:
    """All pieces of one side, whose arrangements repeat after `period` positions and last for `unit` positions each."""
    cdef int64_t base = first - first % period
    cdef int step, piece
    cdef int together = 2 if undo and unit == 1 and pieces >= 2 else 0     # pieces 1 and 2 in a single pass
    while base < end:
        for step in range(1, pieces + 1 - together):
            piece = pieces + 1 - step if undo else step
            over_chunks(x, first, end, squares, pieces, piece, base, unit, undo)
        if together:
            add_runs(x, first, end, squares, pieces, base)
        base += period


cdef void add_runs(word* x, int64_t first, int64_t end, int squares, int pieces, int64_t base) noexcept nogil:
    """Undo pieces 2 and 1 where arrangements are neighbours: half of the decoding time is spent here."""
    cdef int q, i
    cdef int64_t start
    cdef word total
    cdef word[MAX_SQUARES] above         # the run before, with piece 2 undone
    cdef word* run
    if pieces > 2:
        for q in range(pieces - 1, squares):
            start = base + CHOOSE[q][pieces]
            if start >= end:
                return
            if start + CHOOSE[q][pieces - 1] > first:
                add_runs(x, first, end, q, pieces - 1, start)
        return
    for i in range(squares):
        above[i] = 0
    for q in range(1, squares):
        start = base + CHOOSE[q][2]
        if start >= end:
            return
        run = x + (start - first)
        total = 0
        for i in range(<int>max(first - start, 0), <int>min(<int64_t>q, end - start)):
            above[i] = <word>(above[i] + run[i])
            total = <word>(total + above[i])
            run[i] = total


cdef void over_chunks(word* x, int64_t first, int64_t end, int squares, int pieces, int piece, int64_t base,
                      int64_t unit, bint undo) noexcept nogil:
    """One piece of the `pieces` on `squares` places, whose arrangements begin at rank `base`."""
    cdef int step, q
    cdef int64_t start, lag
    if pieces > piece:
        for q in range(pieces - 1, squares):
            start = base + CHOOSE[q][pieces] * unit
            if start >= end:
                return
            if start + CHOOSE[q][pieces - 1] * unit > first:
                over_chunks(x, first, end, q, pieces - 1, piece, start, unit, undo)
        return
    if piece == 1 and unit == 1:
        over_run(x, max(base - first, 0), min(base + squares, end) - first, undo)
        return
    for step in range(piece, squares):
        q = step if undo else squares + piece - 1 - step
        lag = CHOOSE[q - 1][piece - 1] * unit
        start = base + CHOOSE[q][piece] * unit
        if undo and start >= end:
            return
        if not undo and start + lag <= first:
            return
        over_chunk(x, max(start, first + lag) - first, min(start + lag, end) - first, lag, undo)


cdef inline void over_run(word* x, int64_t start, int64_t end, bint undo) noexcept nogil:
    """Neighbouring words: the prediction is the word before."""
    cdef int64_t i
    cdef word total
    if undo:
        if start < end:
            total = x[start]
            for i in range(start + 1, end):
                total = <word>(total + x[i])
                x[i] = total
    else:
        for i in range(end - 1, start, -1):
            x[i] = <word>(x[i] - x[i - 1])


cdef inline void over_chunk(word* x, int64_t start, int64_t end, int64_t lag, bint undo) noexcept nogil:
    """A chunk that is predicted from the one `lag` words before it."""
    cdef int64_t i
    cdef word* to = x + start
    cdef const word* source = x + start - lag
    if undo:
        for i in range(end - start):
            to[i] = <word>(to[i] + source[i])
    else:
        for i in range(end - start):
            to[i] = <word>(to[i] - source[i])
