from libc.stdint cimport int16_t, int64_t, uint8_t, uint16_t


cdef enum:
    COLUMNS = 11


cdef class Turns:
    """The turns of one player on one set of open columns, for each structure: states and their programs."""
    cdef int64_t[::1] begin              # structure k has the states begin[k] to begin[k + 1] - 1
    cdef int64_t[::1] first              # this and the next two are what stopping in a state needs: see lanes.h
    cdef uint16_t[::1] kind
    cdef uint8_t[:, ::1] spot
    cdef int16_t[::1] score
    cdef uint16_t** programs
    cdef int64_t[::1] length             # of each program
    cdef int64_t count
    cdef int64_t largest                 # states of the largest structure
    cdef object reach(self, int64_t kinds)
