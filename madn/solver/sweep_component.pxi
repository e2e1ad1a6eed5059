# The extension type around the loops: it checks the tables, points into them and runs strips in parallel.

from madn.solver.numbers import aligned_zeros
from madn.solver.tables import LANES as LANES_OF_TABLES
from madn.solver.tables import SweepTables

if LANES_OF_TABLES != LANES:
    raise ImportError(f"the kernels have {LANES} lanes, the tables {LANES_OF_TABLES}")


cdef class Sweeper:
    """The two matrices of a pair of finish zones, and the passes over them.

    `tables` are the `madn.solver.tables.SweepTables` of the pair. L and R are its matrices; `row_exits` and
    `column_exits` are those of the components that moves of either side lead to, each as (L, R). The values that
    captures lead to are kept in the array `after_capture`, or in a new one if there is none.
    """

    cdef Tables t
    cdef object tables, L, R, row_exits, column_exits     # they own the memory that `t` points into
    cdef bint wide
    cdef readonly object after_capture     # the values that captures lead to: all that the next sweep needs of the last
    cdef object scratch, aside, in_order
    cdef object by_strip         # [strip, group]: how much it moved in its last pass
    cdef object moved, pending   # [chunk, group]: the same by chunk; how much its inputs moved since it was computed
    cdef object counts           # [strip]: how many chunks
    cdef int largest_strip, most_chunks, columns

    def __init__(self, tables, L, R, row_exits, column_exits, after_capture=None):
        cdef Tables* t = &self.t
        if not isinstance(tables, SweepTables):
            raise TypeError(f"tables must be SweepTables, not {type(tables).__name__}")
        self.tables, self.L, self.R = tables, L, R
        self.wide = checked(L, None).dtype == np.float64
        row_exits, column_exits = list(row_exits), list(column_exits)
        both = [(len(checked(left, L)), len(checked(right, L))) for left, right in row_exits]
        tables.check((len(L), len(checked(R, L))), both, sizes(column_exits, L))
        t.mirrored, t.refill, t.must_capture = tables.mirrored, tables.refill, tables.must_capture
        t.late, t.first_group, t.end_group = tables.late, tables.first_group, tables.end_group
        t.first_column, t.end_column = tables.first_column, tables.end_column
        t.row_lands, t.col_lands = uint64(tables.row_lands), uint64(tables.col_lands)
        t.pieces, t.squares, t.ring, t.widest = tables.pieces, tables.squares, tables.ring, tables.widest
        t.strips, t.groups, t.kinds_of_turns = tables.strips, tables.groups, tables.turns
        t.row_class, t.col_class = int32(tables.row_class), int32(tables.col_class)
        t.group_class, t.first_chunk = int32(tables.group_class), int32(tables.first_chunk)
        t.start_l, t.start_r, t.need = int64(tables.start_l), int64(tables.start_r), int32(tables.need)
        t.row_first, t.row_count, t.row_kind = int32(tables.row_first), int8(tables.row_count), int8(tables.row_kind)
        t.row_offset, t.row_turn, t.row_turns = int64(tables.row_offset), int8(tables.row_turn), turns(tables.row_turns)
        t.row_pips, t.row_facing = int32(tables.row_pips), uint64(tables.row_facing)
        t.row_captured, t.row_boxed = int32(tables.row_captured), int32(tables.row_boxed)
        t.col_first, t.col_count = int32(tables.col_first), int8(tables.col_count)
        t.col_offset, t.col_turn, t.col_turns = int32(tables.col_offset), int8(tables.col_turn), turns(tables.col_turns)
        t.col_masks, t.slot = uint64(tables.col_masks), int32(tables.slot)
        t.exits, t.classes, t.exit_class = tables.exits, len(tables.col_class) - LANES - 1, int32(tables.exit_class)
        t.exit_start, t.exit_slot = int64(tables.exit_start), int32(tables.exit_slot)
        t.hold_group, t.hold_state = int32(tables.hold_group), int32(tables.hold_state)
        t.boxed_group, t.boxed_state = int32(tables.boxed_group), int32(tables.boxed_state)
        t.boxed_with = int32(tables.boxed_with)
        t.capture_start, t.capture_class = int64(tables.capture_start), int32(tables.capture_class)
        if after_capture is None:
            after_capture = np.zeros(tables.captures + LANES, L.dtype)
        if len(checked(after_capture, L)) < tables.captures + LANES:
            raise ValueError(f"{len(after_capture)} values are no room for {tables.captures} and a vector")
        self.after_capture = after_capture
        t.after_capture = address(self.after_capture)
        for kind in range(MAX_KINDS):
            t.row_exit_l[kind] = t.row_exit_r[kind] = t.col_exit_l[kind] = t.col_exit_r[kind] = NULL
        for kind, (left, right) in enumerate(row_exits, 1):
            t.row_exit_l[kind], t.row_exit_r[kind] = address(left), address(right)
        self.row_exits = row_exits
        self.set_column_exits(column_exits, 0)
        self.counts = np.diff(tables.first_chunk[:t.strips + 1])
        self.most_chunks = int(self.counts.max())
        self.by_strip = np.zeros((t.strips, t.groups))
        self.moved = np.zeros((int(self.counts.sum()), t.groups))
        self.pending = np.full(self.moved.shape, np.inf)
        self.largest_strip = int(np.diff(tables.row_class[:t.strips + 1]).max())
        self.columns = tables.end_column - tables.first_column
        self.in_order = np.arange(self.largest_strip, dtype=np.int32)

    @property
    def late(self):
        """Whether this is a panel: the values that the row player's captures lead to come from outside, a sweep old."""
        return self.t.late

    def set_column_exits(self, column_exits, int first_row):
        """Let the column player's moves to other finish zones lead to these vectors, which begin with `first_row`."""
        column_exits = list(column_exits)
        if first_row < 0 or len(sizes(column_exits, self.L)) >= MAX_KINDS:
            raise ValueError(f"{len(column_exits)} column exits from row {first_row} on")
        self.t.exit_row = first_row
        for kind, (left, right) in enumerate(column_exits):
            self.t.col_exit_l[kind], self.t.col_exit_r[kind] = address(left), address(right)
        self.column_exits = column_exits

    def restore(self, int strip):
        """Fill and copy captures for a strip that was not computed here, as is done when one is computed."""
        if not 0 <= strip < self.t.strips or self.t.late:
            raise ValueError(f"there is no strip {strip}, only 0 to {self.t.strips - 1}, or captures are late")
        if self.wide:
            restore_strip[double](self, strip, self.L, self.R)
        else:
            restore_strip[int32_t](self, strip, self.L, self.R)

    def place_captures(self, int strip, int first, int end, left, right, int threads, bint slots=True,
                       bint pairs=True):
        """Let captures lead to new values of the boxed columns number first..end-1 in the rows of a strip.

        `left` and `right` have these values, row after row, with the row player and the column player to move. `slots`
        says whether to fill the slots of the row player's captures, which must be in memory; `pairs` whether to set the
        pairs that the column player's captures lead to.
        """
        cdef Tables* t = &self.t
        self.check_late(strip, strip + 1)
        if not 0 <= first <= end <= t.boxed_group[t.groups]:
            raise ValueError(f"boxed columns {first} to {end} of {t.boxed_group[t.groups]}")
        for values in (left, right):
            if not isinstance(values, np.ndarray) or values.dtype != self.L.dtype or values.ndim != 1 \
                    or len(values) != (t.row_class[strip + 1] - t.row_class[strip]) * (end - first):
                raise ValueError(f"not the values of {end - first} columns for each row of strip {strip}")
        threads = checked_threads(threads)
        if len(left) == 0:
            return
        if self.wide:
            place_strip[double](self, strip, first, end, left, right, self.L, self.R, threads, slots, pairs)
        else:
            place_strip[int32_t](self, strip, first, end, left, right, self.L, self.R, threads, slots, pairs)

    cdef int check_late(self, int first, int end) except -1:
        """Raise ValueError unless this is a panel that has strips first..end-1."""
        if not self.t.late or not 0 <= first < end <= self.t.strips:
            raise ValueError(f"strips {first} to {end} of {self.t.strips}, or captures are not late")
        if self.t.mirrored and self.t.row_class[end] > self.t.end_column:
            raise ValueError(f"strip {end - 1} has no columns here")
        return 0

    cdef int check_edge(self, values, int64_t size) except -1:
        """Raise ValueError unless this is a writeable array of `size` values of the right type."""
        if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype != self.L.dtype \
                or not values.flags.c_contiguous or not values.flags.writeable or len(values) != size:
            raise ValueError(f"an edge is not an array of {size} values")
        return 0

    def edge_sizes(self, int first, int end):
        """How many values `run` takes in `edge_in` and gives in `edge_out` for strips first..end-1."""
        cdef Tables* t = &self.t
        if not 0 <= first < end <= t.strips:
            raise ValueError(f"strips {first} to {end} of {t.strips}")
        cdef int before = t.group_class[t.first_group], last = t.group_class[t.end_group]
        cdef int reach = max(first, min(end, before)) if t.mirrored else end    # later strips begin here
        cdef int64_t chunks = t.first_chunk[end] - t.first_chunk[first]
        cdef int64_t taken = t.first_chunk[reach] - t.first_chunk[first]
        return (2 * LANES * taken * (t.col_class[before] - t.col_class[max(0, before - DIE)]),
                2 * LANES * chunks * (t.col_class[last] - t.col_class[max(0, last - DIE)]))

    def run(self, int first, int end, int threads, bint examine, double skip_below=0.0, double rounding=0.0,
            edge_in=None, edge_out=None):
        """Pass over strips first..end-1 and return what was found, in stored units.

        `edge_in` has the six classes of columns before those computed here, as another process left them in its
        `edge_out`; here `edge_out` is filled with the last six classes.

        A sweep returns (largest change of what captures lead to, positions computed). An examination, which changes
        nothing, returns three extremes (six times the residual, least value, largest value), each as (value, row,
        column, column moves).
        """
        if not 0 <= first < end <= self.t.strips:
            raise ValueError(f"strips {first} to {end} of {self.t.strips}")
        if self.t.late:
            self.check_late(first, end)
        elif edge_in is not None or edge_out is not None:
            raise ValueError("there are no edges where all columns are computed")
        sizes_of_edges = self.edge_sizes(first, end)
        if self.t.late and sizes_of_edges[0] > 0 or edge_in is not None:
            self.check_edge(edge_in, sizes_of_edges[0])
        if edge_out is not None:
            self.check_edge(edge_out, sizes_of_edges[1])
        threads = checked_threads(threads)
        rows = range(self.t.row_class[first], self.t.row_class[end])
        self.tables.check_columns(rows, self.t.exit_row, sizes(self.column_exits, self.L))
        if self.scratch is None or len(self.scratch) < threads:
            room = 2 * (TOGETHER * self.t.ring + self.t.widest) * LANES
            self.scratch = aligned_zeros(threads * room, self.L.dtype).reshape(threads, room)
            chunks = self.most_chunks if self.t.mirrored else 1
            self.aside = np.zeros((2, 2, chunks, self.largest_strip * LANES), self.L.dtype)
        if self.wide:
            return run_strips[double](self, self.L, self.R, self.scratch, self.aside, first, end, threads, examine,
                                      skip_below, rounding, edge_in, edge_out)
        return run_strips[int32_t](self, self.L, self.R, self.scratch, self.aside, first, end, threads, examine,
                                   skip_below, rounding, edge_in, edge_out)

    def choose(self, int strip, int first_group, int end_group, double tie, uint16_t[::1] words_l not None,
               uint16_t[::1] words_r not None):
        """Find the best moves of a strip that has been computed, in some groups of columns, either side to move.

        Row after row, `words_l` gets the row player's choices and `words_r` the column player's, for those columns of
        these groups that are kept with the strip: 2 bits for each roll, those of roll 1 lowest, for the last option
        within `tie` of the best; 0 where there is no position. In a mirrored component the column player's choices in
        the rows' own class are not written. Calls for other groups may run at the same time.

        Returns for the row player, then for the column player, in stored units and for positions only: the number of
        decisions, the number of those in which no other option is within the tie of the best, the sum of all margins
        (best minus second-best), and the largest margin as (value, row, column, roll); -1 means none.
        """
        cdef Tables* t = &self.t
        cdef Chosen chosen
        if not 0 <= strip < t.strips or not 0 <= first_group <= end_group <= t.groups:
            raise ValueError(f"groups {first_group} to {end_group} of {t.groups} in strip {strip} of {t.strips}")
        if t.late:
            raise ValueError("choices are found where all columns are computed")
        if t.pieces > MOST_OF_A_ROLL or not 0 <= tie < 1 << 30:
            raise ValueError(f"{t.pieces} pieces, tie {tie:g}: choices go up to {MOST_OF_A_ROLL} pieces")
        rows = range(t.row_class[strip], t.row_class[strip + 1])
        self.tables.check_columns(rows, t.exit_row, sizes(self.column_exits, self.L))
        memset(&chosen, 0, sizeof(Chosen))
        chosen.row_moves.margin = chosen.column_moves.margin = -1
        chosen.row, chosen.tie = rows.start, tie
        chosen.column = t.col_class[max(t.group_class[first_group], strip if t.mirrored else 0)]
        chosen.width = max(0, t.col_class[t.group_class[end_group]] - chosen.column)
        if min(words_l.shape[0], words_r.shape[0]) < max(1, len(rows) * chosen.width):
            raise ValueError(f"{words_l.shape[0]} words for {len(rows)} rows of {chosen.width} columns")
        chosen.words_l, chosen.words_r = &words_l[0], &words_r[0]
        rings = aligned_zeros(2 * t.ring * LANES, self.L.dtype)
        if self.wide:
            return choose_strip[double](t, strip, first_group, end_group, self.L, self.R, rings, &chosen)
        return choose_strip[int32_t](t, strip, first_group, end_group, self.L, self.R, rings, &chosen)


cdef const int8_t* int8(const int8_t[::1] array) except NULL:
    return &array[0]


cdef const int32_t* int32(const int32_t[::1] array) except NULL:
    return &array[0]


cdef const int64_t* int64(const int64_t[::1] array) except NULL:
    return &array[0]


cdef const uint64_t* uint64(const uint64_t[::1] array) except NULL:
    return &array[0]


cdef const TurnWeights* turns(const double[:, ::1] array) except NULL:
    return <const TurnWeights*>&array[0, 0]


cdef void* address(array) except NULL:
    """Return a pointer to the values; the caller keeps the array alive."""
    cdef double[::1] wide
    cdef int32_t[::1] narrow
    if array.dtype == np.float64:
        wide = array
        return &wide[0]
    narrow = array
    return &narrow[0]


cdef object checked(array, like):
    """Return an array; raise ValueError unless the kernels can use its values and its type is that of `like`."""
    if not isinstance(array, np.ndarray) or array.ndim != 1 or not array.flags.c_contiguous or len(array) < LANES:
        raise ValueError("values must be contiguous 1-d arrays with room for a vector at their end")
    if array.dtype not in (np.int32, np.float64) or like is not None and array.dtype != like.dtype:
        raise ValueError(f"values of type {array.dtype} cannot be used here")
    return array


cdef list sizes(pairs, like):
    """How many values the shorter array of each pair has."""
    return [min(len(checked(left, like)), len(checked(right, like))) for left, right in pairs]
