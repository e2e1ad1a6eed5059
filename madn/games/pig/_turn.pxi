# Pig: one turn, computed backwards from many points in hand to none; `_pig.pyx` includes this.

cdef enum:
    MOST_TARGET = 1000
    MOST_FACES = 1000
    MOST_ROUNDS = 1000   # of improving decisions; two or three are usual

cdef double SLACK = 1e-15   # decisions change only for a relative gain above this: less is just rounding


cdef struct Table:
    int target
    int faces
    int losing           # the face that ends the turn
    bint exact           # past the target the turn is lost
    bint paid            # the winner is paid what the loser lacks; otherwise winning is worth 1
    bint mercy           # the losing face scores one point
    double total         # what both players' values add up to
    uint8_t dead[MOST_TARGET]   # scores from which the target cannot be reached any more


cdef struct Turn:
    double v[MOST_TARGET + MOST_FACES + 1]   # value at each turn score; v[0] is that of the whole turn
    double q[MOST_TARGET + MOST_FACES + 1]   # probability of losing the turn from there
    double roll[MOST_TARGET]                 # value of rolling
    uint8_t hold[MOST_TARGET]                # the decisions


cdef inline double scale(const Table* g, double value) noexcept nogil:
    """What differences are relative to: for a probability the value itself, for a payment the largest possible one."""
    return g.target if g.paid else fabs(value) + 1e-300


cdef inline int backwards(const Table* g, int faces, int losing, int need, double win, double s, const double* h,
                          double sign, double margin, Turn* turn) noexcept nogil:
    """Go backwards through a turn that needs `need` points; return how many decisions changed.

    `h[t]` is the value of holding with t points, `win` that of reaching the target, `s` that of losing the turn.
    The player whose turn it is wants the value to be large (`sign` 1) or small (-1). A decision changes if the other
    one is better by more than `margin`, relative to the value: with 0 the best one is taken, with infinity the
    decisions in `turn` are kept.
    """
    cdef int t, k, changed = 0
    cdef bint hold
    cdef double value, lost, limit, base = s, base_lost = 1
    for t in range(need, need + faces):
        turn.v[t] = win
        turn.q[t] = 0
        if g.exact and t > need:
            turn.v[t] = s
            turn.q[t] = 1
    if g.mercy:
        base = win if need == 1 else h[1]
        base_lost = 0
    for t in range(need - 1, -1, -1):
        value = base
        lost = base_lost
        for k in range(t + faces, t + losing, -1):   # the newest value last, so that the sum need not wait for it
            value += turn.v[k]
            lost += turn.q[k]
        for k in range(t + losing - 1, t, -1):
            value += turn.v[k]
            lost += turn.q[k]
        value /= faces
        lost /= faces
        turn.roll[t] = value
        if t > 0:
            limit = margin * scale(g, value)
            hold = sign * (h[t] - value) > (-limit if turn.hold[t] else limit)
            changed += hold != turn.hold[t]
            turn.hold[t] = hold
            if hold:
                value = h[t]
                lost = 0
        turn.v[t] = value
        turn.q[t] = lost
    return changed


cdef int play(const Table* g, int need, double win, double s, const double* h, double sign, double margin,
              Turn* turn) noexcept nogil:
    """As `backwards`, but for common dice the compiler can unroll the loops over the faces."""
    if g.faces == 6 and g.losing == 1:
        return backwards(g, 6, 1, need, win, s, h, sign, margin, turn)
    if g.faces == 6 and g.losing == 6:
        return backwards(g, 6, 6, need, win, s, h, sign, margin, turn)
    return backwards(g, g.faces, g.losing, need, win, s, h, sign, margin, turn)


cdef double reply(const Table* g, int need, double win, const double* h, double c, double d, double x, bint fresh,
                  Turn* turn) noexcept nogil:
    """The value x of a turn with the best decisions, if losing it is worth c + d x; `x` is a first guess.

    Newton's method: x as a function of c + d x is convex and piecewise linear, so each step gives the value of better
    decisions than the last, until there are none.
    """
    cdef int changed, step
    for step in range(MOST_ROUNDS):
        changed = play(g, need, win, c + d * x, h, 1, 0 if fresh and step == 0 else SLACK, turn)
        x += (turn.v[0] - x) / (1 - d * turn.q[0])
        if changed == 0 and step > 0:   # the decisions are the best ones at their own value
            return x
    return INFINITY


cdef inline double gain(const Table* g, int other) noexcept nogil:
    """What winning is worth when the other player has this score."""
    return g.target - other if g.paid else 1


cdef int best_turn(const Table* g, const double* values, const double* after, int a, int b, double margin,
                   Turn* turn) noexcept nogil:
    """Fill in the best turn of a player who has a against b; return the sign of its values.

    The values are those of the player who is behind: the sign is -1 if that is the other one. With `values` NULL they
    are those of the player who rolls.
    """
    cdef int n = g.target
    memset(turn.hold, 0, sizeof(turn.hold))
    if a <= b or values == NULL or g.dead[a] or g.dead[b]:
        play(g, n - a, gain(g, b), after[b * n + a], &after[b * n + a], 1, margin, turn)
        return 1
    play(g, n - a, g.total - gain(g, b), values[b * n + a], &values[b * n + a], -1, margin, turn)
    return -1
