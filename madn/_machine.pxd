cdef enum:
    MOST_THREADS = 1024  # OpenMP does not report an error but ends the process if it cannot start enough threads


cdef inline int checked_threads(int threads) except -1:
    """Return the number of threads for a parallel loop, or raise ValueError if it is out of range."""
    if not 1 <= threads <= MOST_THREADS:
        raise ValueError(f"threads must be 1 to {MOST_THREADS}, not {threads}")
    return threads


cdef inline int check_shape(str name, array, tuple expected) except -1:
    """Raise ValueError unless an array or a memoryview has this shape."""
    if array.shape != expected:
        raise ValueError(f"{name}: expected shape {expected}, found {array.shape}")
    return 0


cdef inline int check_number(str name, long long number, long long low, long long high) except -1:
    """Raise ValueError unless a number is from `low` to `high`."""
    if not low <= number <= high:
        raise ValueError(f"{name} must be {low} to {high}, not {number}")
    return 0
