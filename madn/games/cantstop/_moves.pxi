# Can't Stop: where the rolls of a turn lead, encoded as programs; `_turns.pyx` includes this.

cdef enum:
    MARKERS = 3
    LONGEST = 15                 # steps of a column: a square has four bits
    SETS = 1 + 11 + 55 + 165     # of at most three columns
    MASKS = 1 << 11
    ROLLS = 128
    OPTIONS = 6                  # of a roll: three pairs, two choices each
    PROGRAM = 4 + ROLLS * (2 + OPTIONS)
    NO_MEMORY = -1
    WRONG = -2


cdef struct BoardTable:               # the same for all structures
    int columns, rolls, sets
    int weight[ROLLS]            # how many rolls are alike
    int pairs[ROLLS]
    int pair[ROLLS][3][2]
    int mask[SETS]               # the sets of columns, larger ones first
    int length[COLUMNS]
    int place[COLUMNS]           # value of a step in the rule of 28
    int bonus[SETS]
    int64_t* radix               # [mask of columns that get closed][column]
    int64_t* row_first           # [mask]: where its part of `rows` begins
    int64_t* block               # [mask]: (where row 0 of split 0 is stored, cells of a row, kind)
    const int32_t* rows          # 2 * row + (1 if mirrored)
    int64_t row_count


cdef struct RollGroup:           # rolls that allow the same moves
    int rolls, count
    uint16_t option[OPTIONS]     # the states they lead to, ascending, then 0


cdef int64_t number_of(const int8_t* left, const int64_t* base, const int8_t* steps, int mask) noexcept nogil:
    """The number of a state: markers in the columns of `mask`, with steps[c] left in column c."""
    cdef int64_t number = 0
    cdef int c = 0
    while mask >> c:
        if mask >> c & 1:
            number = number * left[c] + steps[c]
        c += 1
    return base[0] + number


cdef inline void play(const int8_t* left, int8_t* steps, int* mask, int column, int by) noexcept nogil:
    if not mask[0] >> column & 1:
        mask[0] |= 1 << column
        steps[column] = left[column]
    steps[column] -= min(by, steps[column])


cdef inline bint playable(const int8_t* left, const int8_t* steps, int mask, int used, int column) noexcept nogil:
    if mask >> column & 1:
        return steps[column] > 0
    return left[column] > 0 and used < MARKERS


cdef int moves(const BoardTable* b, const int8_t* left, const int64_t* base, const int8_t* steps, int mask, int used,
               int roll, uint16_t* option) noexcept nogil:
    """The different states a roll can lead to, ascending; 0 if the turn is lost."""
    cdef int p, k, count = 0, one, two, choices, after, at, later
    cdef int8_t now[COLUMNS]
    cdef uint16_t found
    cdef bint first, second, either
    for p in range(b.pairs[roll]):
        one, two = b.pair[roll][p][0], b.pair[roll][p][1]
        first = playable(left, steps, mask, used, one)
        second = playable(left, steps, mask, used, two)
        if not first and not second:
            continue
        either = (first and second and one != two and used == MARKERS - 1
                  and not mask >> one & 1 and not mask >> two & 1)
        choices = 2 if either else 1
        for k in range(choices):
            memcpy(now, steps, sizeof(now))
            after = mask
            if one == two:
                play(left, now, &after, one, 2)
            else:
                if first and not (either and k == 1):
                    play(left, now, &after, one, 1)
                if second and not (either and k == 0):
                    play(left, now, &after, two, 1)
            found = <uint16_t>number_of(left, &base[after], now, after)
            at = 0
            while at < count and option[at] < found:
                at += 1
            if at < count and option[at] == found:
                continue
            for later in range(count, at, -1):
                option[later] = option[later - 1]
            option[at] = found
            count += 1
    return count


cdef int64_t write_program(const BoardTable* b, const int8_t* left, const int64_t* base, const int8_t* steps, int mask,
                           int used, int64_t state, RollGroup* group, uint16_t* out) noexcept nogil:
    """Write the program of a state; return its length, or -1 if a move does not lead to a smaller number.

    Rolls that allow the same moves are counted together.
    """
    cdef int roll, count, k, size, groups = 0, lost = 0
    cdef int64_t at, begin
    cdef uint16_t option[OPTIONS]
    for roll in range(b.rolls):
        memset(option, 0, sizeof(option))
        count = moves(b, left, base, steps, mask, used, roll, option)
        if count == 0:
            lost += b.weight[roll]
            continue
        if option[count - 1] >= state:
            return -1
        k = 0
        while k < groups and (group[k].count != count or memcmp(group[k].option, option, sizeof(option)) != 0):
            k += 1
        if k == groups:
            group[k].count, group[k].rolls = count, 0
            memcpy(group[k].option, option, sizeof(option))
            groups += 1
        group[k].rolls += b.weight[roll]
    out[0], at = <uint16_t>lost, 1
    for size in range(1, 4):             # one move, two, more
        count, at = 0, at + 1
        begin = at - 1
        for k in range(groups):
            if min(group[k].count, 3) == size:
                count += 1
                out[at] = <uint16_t>group[k].rolls
                if size == 3:
                    at += 1
                    out[at] = <uint16_t>group[k].count
                memcpy(&out[at + 1], group[k].option, group[k].count * sizeof(uint16_t))
                at += 1 + group[k].count
        out[begin] = <uint16_t>count
    return at
