"""What this build and this processor can do; `madn.machine` tells it to the rest of the package."""

cdef extern from *:
    """
    #ifdef _OPENMP
    #include <omp.h>
    static int madn_openmp(void) { return 1; }
    static int madn_max_threads(void) { return omp_get_max_threads(); }
    #else
    static int madn_openmp(void) { return 0; }
    static int madn_max_threads(void) { return 1; }
    #endif

    #define MADN_TEXT(x) #x
    #define MADN_NUMBER(x) MADN_TEXT(x)
    #if defined(_MSC_VER) && !defined(__clang__)
    #define MADN_COMPILER "MSVC " MADN_NUMBER(_MSC_FULL_VER)
    #elif defined(__clang__)
    #define MADN_COMPILER __VERSION__
    #else
    #define MADN_COMPILER "GCC " __VERSION__
    #endif

    /* AVX2 with BMI2 and POPCNT: what the wide kernels are built for. */
    #if defined(_MSC_VER) && !defined(__clang__) && defined(_M_X64)
    #include <immintrin.h>
    static int madn_has_avx2(void) {
        int info[4];
        __cpuid(info, 0);
        if (info[0] < 7) return 0;
        __cpuidex(info, 1, 0);
        if (!(info[2] & (1 << 27)) || !(info[2] & (1 << 23)) || (_xgetbv(0) & 6) != 6) return 0;
        __cpuidex(info, 7, 0);
        return (info[1] & (1 << 5)) && (info[1] & (1 << 8));
    }
    #elif defined(__x86_64__)
    static int madn_has_avx2(void) {
        __builtin_cpu_init();
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")
            && __builtin_cpu_supports("popcnt");
    }
    #else
    static int madn_has_avx2(void) { return 0; }
    #endif
    """
    const char* MADN_COMPILER
    bint madn_openmp() noexcept nogil
    int madn_max_threads() noexcept nogil
    bint madn_has_avx2() noexcept nogil


MAX_THREADS = MOST_THREADS


def openmp():
    """Whether this build runs loops in parallel."""
    return madn_openmp()


def usable_threads():
    """The processors this process may use, or OMP_NUM_THREADS; 1 in a build without OpenMP."""
    return madn_max_threads()


def has_avx2():
    """Whether this processor can run the wide kernels: AVX2, BMI2 and POPCNT."""
    return madn_has_avx2()


def compiler():
    """The compiler this package was built with."""
    return MADN_COMPILER.decode("ascii", "replace")
