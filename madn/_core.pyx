"""The compiled game, for Python: the moves of a side, and position IDs, for one set of rules.

The code itself is inline in `_core.pxd`, so that kernels can use it without a call. The twin of the moves in plain
Python is `madn/board.py`, that of the numbering is `tests/reference_ranking.py`.
"""

from operator import index as whole_number

import numpy as np

from libc.string cimport memset

from madn.rules import Rules

cdef enum:
    MAX_STATES = 1 << 25    # of a move table: more than any side has, and few enough to count their moves in 32 bits

cdef void fill_combinations(GameTables* t) noexcept:
    """Fill the tables that rank and unrank combinations of up to 6 of 40 squares."""
    cdef int n, k, i, start = 0
    cdef int64_t rank
    cdef uint64_t top = <uint64_t>1 << (MAX_SQUARES - 1)
    for n in range(64):
        t.choose[0][n] = 1
        for k in range(1, MAX_PIECES + 1):
            t.choose[k][n] = 0 if n == 0 else t.choose[k][n - 1] + t.choose[k - 1][n - 1]
    for k in range(1, MAX_PIECES + 1):
        for n in range(MAX_SQUARES):
            t.summand[MAX_PIECES + k][MAX_SQUARES - 1 - n] = t.choose[k][n]
    for k in range(DIRECT + 1):
        t.combination_start[k] = start
        start += t.choose[k][MAX_SQUARES]
    t.combination[0] = 0
    for k in range(1, DIRECT + 1):    # ordered by the highest position n, then by the others
        i = t.combination_start[k]
        for n in range(MAX_SQUARES):
            for rank in range(t.choose[k - 1][n]):
                t.combination[i] = top >> n | t.combination[t.combination_start[k - 1] + rank]
                i += 1
    for k in range(DIRECT + 1, MAX_PIECES + 1):
        while t.choose[k][MAX_SQUARES] >> t.guess_shift[k] >= GUESSES:
            t.guess_shift[k] += 1
        n = k - 1
        for i in range(GUESSES):
            rank = <int64_t>i << t.guess_shift[k]
            while n < MAX_SQUARES - 1 and rank >= t.choose[k][n + 1]:
                n += 1
            t.guess[k][i] = <uint8_t>n


cdef void fill_finish_zones(GameTables* t) noexcept:
    """Fill the tables of finish-zone arrangements: square j of P is string position P-1-j."""
    cdef int P = t.pieces, zone, j, ones, rank
    for zone in range(1 << P):
        ones = rank = 0
        for j in range(P - 1, -1, -1):
            if zone >> j & 1:
                ones += 1
                rank += t.choose[ones][P - 1 - j]
        t.finish_ones[zone] = <uint8_t>ones
        t.finish_rank[zone] = <uint8_t>rank
        t.finish_zone[ones][rank] = <uint8_t>zone


cdef void fill_profiles(GameTables* t) noexcept:
    """Fill the tables of abstract profiles: first IDs, and how many IDs each arrangement has."""
    cdef int P = t.pieces, S = t.squares, p1, f1, p2, f2, number = 0, bucket
    cdef int64_t total = 0
    cdef Profile* profile
    memset(t.index, -1, sizeof(t.index))
    for p1 in range(P + 1):
        for f1 in range(p1 + 1):
            for p2 in range(P + 1):
                for f2 in range(p2 + 1):
                    if f1 == P and f2 == P or p1 - f1 + p2 - f2 > S:
                        continue
                    profile = &t.profiles[number]
                    profile.m1, profile.f1 = <int8_t>(p1 - f1), <int8_t>f1
                    profile.m2, profile.f2 = <int8_t>(p2 - f2), <int8_t>f2
                    profile.first = t.first[number] = total
                    profile.affm = t.choose[profile.m2][S - profile.m1]
                    profile.aff = profile.affm * t.choose[profile.m1][S]
                    profile.af = profile.aff * t.choose[f2][P]
                    profile.af_inverse = <uint64_t>-1 // <uint64_t>profile.af
                    profile.aff_inverse = <uint64_t>-1 // <uint64_t>profile.aff
                    profile.affm_inverse = <uint64_t>-1 // <uint64_t>profile.affm
                    t.index[profile.m1][f1][profile.m2][f2] = <int16_t>number
                    total += profile.af * t.choose[f1][P]
                    number += 1
    t.profile_count = number
    t.first[number] = t.positions = total
    while total >> t.bucket_shift >= BUCKETS:
        t.bucket_shift += 1
    number = 0
    for bucket in range(BUCKETS):
        while number < t.profile_count - 1 and <int64_t>bucket << t.bucket_shift >= t.first[number + 1]:
            number += 1
        t.bucket[bucket] = <int16_t>number


cdef str state_fault(const GameTables* t, mask):
    """Say why a mask is not a state of one side; an empty string if it is."""
    cdef int P = t.pieces, S = t.squares
    if mask < 0 or mask.bit_length() > S + P:
        return f"{mask:#x} has squares outside 0 to {S + P - 1}"
    if mask.bit_count() > P:
        return f"{mask:#x} has {mask.bit_count()} pieces, the game has {P}"
    return ""


cdef str fault(const GameTables* t, own, other):
    """Say why two masks are not a position."""
    for side, mask in (("own", own), ("other", other)):
        wrong = state_fault(t, mask)
        if wrong:
            return f"{side} {wrong}"
    shared = facing(t, own) & other
    if shared:
        return f"both sides have a piece on the same square: {madn_lowest(shared)} as the other side counts"
    return "both sides have finished"


cdef int64_t checked_id(const GameTables* t, id) except -1:
    """Return an ID as a number, or raise ValueError."""
    id = whole_number(id)
    if not 0 <= id < t.positions:
        raise ValueError(f"ID {id} is outside 0 to {t.positions - 1}")
    return id


cdef tuple profile_tuple(const GameTables* t, int number):
    cdef const Profile* profile = &t.profiles[number]
    return profile.m1 + profile.f1, profile.f1, profile.m2 + profile.f2, profile.f2


cdef object checked_array(str name, array, dtype):
    """Return a contiguous array of this type, or raise ValueError."""
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
        found = f"{array.ndim}-d {array.dtype}" if isinstance(array, np.ndarray) else type(array).__name__
        raise ValueError(f"{name} must be a 1-d {np.dtype(dtype).name} array, not {found}")
    return np.ascontiguousarray(array)


cdef class Game:
    """The compiled form of `Rules`: what every kernel works from.

    It lists the moves of one side, and it numbers positions as the thesis does: each position has one ID, from 0 to
    `positions - 1`. A position is two masks, of the side to move and of the other side; bit q is square q in that
    side's own numbers.
    """

    def __cinit__(self, rules):
        if not isinstance(rules, Rules):
            raise TypeError(f"a game is made from Rules, not from {type(rules).__name__}")
        self.rules = rules
        self.tables.pieces, self.tables.squares = rules.pieces, rules.squares
        self.tables.three_rolls, self.tables.no_jumping = rules.three_rolls, rules.no_jumping
        self.tables.must_capture = rules.must_capture
        self.tables.main = (<uint64_t>1 << self.tables.squares) - 1
        self.tables.home = (<uint64_t>1 << self.tables.pieces) - 1
        fill_combinations(&self.tables)
        fill_finish_zones(&self.tables)
        fill_profiles(&self.tables)

    def __repr__(self):
        return f"Game({self.rules!r})"

    def __reduce__(self):
        return Game, (self.rules,)

    @property
    def positions(self):
        """How many positions the game has, finished ones included."""
        return self.tables.positions

    def rank(self, own, other):
        """Return the ID of a position."""
        own, other = whole_number(own), whole_number(other)
        fits = own >= 0 and other >= 0 and (own | other).bit_length() <= 64
        if not fits or not is_position(&self.tables, own, other):
            raise ValueError(fault(&self.tables, own, other))
        return encode(&self.tables, own, other)

    def unrank(self, id):
        """Return the masks (own, other) of an ID."""
        cdef uint64_t own, other
        decode(&self.tables, checked_id(&self.tables, id), &own, &other)
        return own, other

    def rank_many(self, own, other):
        """Return the IDs of many positions, as an int64 array, given two uint64 arrays of the same length."""
        own, other = checked_array("own", own, np.uint64), checked_array("other", other, np.uint64)
        if len(own) != len(other):
            raise ValueError(f"own has {len(own)} masks, other has {len(other)}")
        ids = np.empty(len(own), np.int64)
        cdef const uint64_t[::1] own_view = own, other_view = other
        cdef int64_t[::1] id_view = ids
        cdef const GameTables* t = &self.tables
        cdef int64_t i, bad = -1
        with nogil:
            for i in range(id_view.shape[0]):
                if not is_position(t, own_view[i], other_view[i]):
                    bad = i
                    break
                id_view[i] = encode(t, own_view[i], other_view[i])
        if bad >= 0:
            raise ValueError(f"position {bad}: {fault(&self.tables, int(own[bad]), int(other[bad]))}")
        return ids

    def unrank_many(self, ids):
        """Return the masks of many IDs, as two uint64 arrays (own, other), given an int64 array."""
        ids = checked_array("ids", ids, np.int64)
        own, other = np.empty(len(ids), np.uint64), np.empty(len(ids), np.uint64)
        cdef const int64_t[::1] id_view = ids
        cdef uint64_t[::1] own_view = own, other_view = other
        cdef const GameTables* t = &self.tables
        cdef int64_t i, bad = -1
        with nogil:
            for i in range(id_view.shape[0]):
                if <uint64_t>id_view[i] >= <uint64_t>t.positions:
                    bad = i
                    break
                decode(t, id_view[i], &own_view[i], &other_view[i])
        if bad >= 0:
            raise ValueError(f"ids[{bad}] = {ids[bad]} is outside 0 to {t.positions - 1}")
        return own, other

    def profile(self, id):
        """Return the abstract profile (p1, f1, p2, f2) of an ID: for each side, pieces out and pieces home."""
        return profile_tuple(&self.tables, profile_at(&self.tables, checked_id(&self.tables, id)))

    def profiles(self):
        """Return all abstract profiles that have positions, in the order of their IDs."""
        return [profile_tuple(&self.tables, number) for number in range(self.tables.profile_count)]

    def first(self, p1, f1, p2, f2):
        """Return the first ID of an abstract profile."""
        cdef int P = self.tables.pieces, number = -1
        if 0 <= f1 <= p1 <= P and 0 <= f2 <= p2 <= P:
            number = self.tables.index[p1 - f1][f1][p2 - f2][f2]
        if number < 0:
            raise ValueError(f"no position has the profile ({p1}, {f1}, {p2}, {f2})")
        return self.tables.first[number]

    def own_moves(self, state, roll, other=0):
        """Return the moves of one side for a roll as (after, start, end), by ascending start; -1 is the box.

        `state` is the mask of the squares that the side occupies, in its own numbers. An empty list is a lost roll. The
        state of the `other` side, in its own numbers, matters only if there is a duty to capture.
        """
        cdef OwnMove moves[MAX_CHOICES]
        cdef int i, count
        cdef uint32_t legal
        state, roll, other = whole_number(state), whole_number(roll), whole_number(other)
        if not 1 <= roll <= DIE:
            raise ValueError(f"a roll is 1 to {DIE}, not {roll}")
        for mask in (state, other):
            fault = state_fault(&self.tables, mask)
            if fault:
                raise ValueError(f"state {fault}")
        count = own_moves(&self.tables, state, roll, moves)
        legal = legal_options(&self.tables, moves, count, other)
        return [(moves[i].after, moves[i].start, moves[i].end) for i in range(count) if legal >> i & 1]

    def move_table(self, states):
        """Return (first, after, end), the moves of many states of one side, given a uint64 array of masks.

        For `states[i]` and roll r the moves have the indices `first[6 * i + r - 1]` to `first[6 * i + r] - 1`, by
        ascending start: `after` is the state after a move, `end` the square it lands on. A lost roll has no moves.
        """
        states = checked_array("states", states, np.uint64)
        cdef const uint64_t[::1] view = states
        cdef Py_ssize_t n = view.shape[0], i
        cdef int32_t total = 0
        cdef int roll, k, j
        cdef OwnMove moves[MAX_CHOICES]
        for i in range(n):
            if view[i] >> (self.tables.squares + self.tables.pieces) or madn_popcount(view[i]) > self.tables.pieces:
                raise ValueError(f"states[{i}] {state_fault(&self.tables, int(view[i]))}")
        if n > MAX_STATES:
            raise ValueError(f"{n} states are more than a table can have, {MAX_STATES}")
        first = np.zeros(DIE * n + 1, np.int32)
        after = np.empty(DIE * n * self.tables.pieces, np.uint64)
        end = np.empty(DIE * n * self.tables.pieces, np.int8)
        cdef int32_t[::1] first_view = first
        cdef uint64_t[::1] after_view = after
        cdef int8_t[::1] end_view = end
        with nogil:
            for i in range(n):
                for roll in range(1, DIE + 1):
                    k = own_moves(&self.tables, view[i], roll, moves)
                    for j in range(k):
                        after_view[total] = moves[j].after
                        end_view[total] = moves[j].end
                        total += 1
                    first_view[DIE * i + roll] = total
        return first, after[:total].copy(), end[:total].copy()
