"""What this build and this processor can do; the rest of the package learns it from `madn.machine`."""

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

    /* What the wide kernels are built for: AVX2 with BMI2 and POPCNT, and AVX-512 F, BW, DQ and VL besides. */
    #if defined(_MSC_VER) && !defined(__clang__) && defined(_M_X64)
    #include <immintrin.h>
    static int madn_cpu_has(int bits_of_leaf_7, unsigned long long registers) {
        int info[4];
        __cpuid(info, 0);
        if (info[0] < 7) return 0;
        __cpuidex(info, 1, 0);
        if (!(info[2] & (1 << 27)) || !(info[2] & (1 << 23)) || (_xgetbv(0) & registers) != registers) return 0;
        __cpuidex(info, 7, 0);
        return (info[1] & bits_of_leaf_7) == bits_of_leaf_7;
    }
    static int madn_has_avx2(void) { return madn_cpu_has(1 << 5 | 1 << 8, 6); }
    static int madn_has_avx512(void) {
        return madn_has_avx2() && madn_cpu_has((int)(1u << 16 | 1u << 17 | 1u << 30 | 1u << 31), 0xe6);
    }
    #elif defined(__x86_64__)
    static int madn_has_avx2(void) {
        __builtin_cpu_init();
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")
            && __builtin_cpu_supports("popcnt");
    }
    static int madn_has_avx512(void) {
        return madn_has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
            && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    }
    #else
    static int madn_has_avx2(void) { return 0; }
    static int madn_has_avx512(void) { return 0; }
    #endif
    """
    const char* MADN_COMPILER
    bint madn_openmp() noexcept nogil
    int madn_max_threads() noexcept nogil
    bint madn_has_avx2() noexcept nogil
    bint madn_has_avx512() noexcept nogil


MAX_THREADS = MOST_THREADS


def openmp():
    """Whether this build runs loops in parallel."""
    return madn_openmp()


def usable_threads():
    """The processors this process may use, or OMP_NUM_THREADS; 1 in a build without OpenMP."""
    return madn_max_threads()


def has_avx2():
    """Whether this processor can run the kernels built for AVX2: AVX2, BMI2 and POPCNT."""
    return madn_has_avx2()


def has_avx512():
    """Whether this processor can run the kernels built for AVX-512: F, BW, DQ and VL, and what those for AVX2 need."""
    return madn_has_avx512()


def compiler():
    """The compiler that this package was built with."""
    return MADN_COMPILER.decode("ascii", "replace")
