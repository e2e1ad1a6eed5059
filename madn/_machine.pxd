cdef enum:
    MOST_THREADS = 1024  # OpenMP does not fail but ends the process if it cannot start as many as it is asked for


cdef inline int checked_threads(int threads) except -1:
    """Return the number of threads of a parallel loop, or raise ValueError."""
    if not 1 <= threads <= MOST_THREADS:
        raise ValueError(f"threads must be 1 to {MOST_THREADS}, not {threads}")
    return threads
