"""Builds the Cython extensions; everything else is in pyproject.toml.

OpenMP is used when the compiler has it. MADN_NO_OPENMP=1 builds without; `madn --version` says which it is.
Some kernels are built twice on x86-64, for any processor and for AVX2; `madn.machine` picks one at run time.
What every extension with memoryviews needs is compiled once, in `madn._shared`: half of the work of the C compiler.
MADN_CFLAGS comes after our own flags: with -O1 it builds in half the time what need not be fast.
"""

import os
import platform
import shlex
import sys
import tempfile
import threading
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    "freethreading_compatible": True,
}
X86_64 = platform.machine().lower() in {"x86_64", "amd64"} and sys.maxsize > 2**32
CROSS_BUILD = "ARCHFLAGS" in os.environ and "arm64" in os.environ["ARCHFLAGS"]
AVX2 = X86_64 and not CROSS_BUILD

# No contraction into fused multiply-add: the same bits from every compiler.
OPTIMISE = {"msvc": ["/O2", "/fp:precise"], "unix": ["-O3", "-g0", "-ffp-contract=off", "-fno-math-errno"]}
WIDE = {"msvc": ["/arch:AVX2"], "unix": ["-mavx2", "-mbmi2", "-mpopcnt"]}
OPENMP_CHOICES = {
    "msvc": [(["/openmp"], [])],
    "unix": [(["-fopenmp"], ["-fopenmp"]), (["-Xpreprocessor", "-fopenmp"], ["-lomp"])],
}
SHARED = "madn._shared"
PROBE = "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n"


class BuildExt(build_ext):
    """Makes the C sources, and adds the compiler's own flags, which are known only once the compiler is."""

    def finalize_options(self):
        super().finalize_options()
        self.cython = threading.Lock()
        self.parallel = self.parallel or True  # as many extensions at once as there are processors

    def build_extensions(self):
        kind = "msvc" if self.compiler.compiler_type == "msvc" else "unix"
        compile_args, link_args = self.openmp_flags(kind)
        wanted = shlex.split(os.environ.get("MADN_CFLAGS", ""))
        for extension in self.extensions:
            wide = WIDE[kind] if extension.name.endswith("_avx2") else []
            extension.extra_compile_args = [*OPTIMISE[kind], *wide, *compile_args, *wanted]
            extension.extra_link_args = link_args
        super().build_extensions()

    def build_extension(self, extension):
        """Cython takes one source at a time, while the compiler works on those before it."""
        with self.cython:
            options = {"compiler_directives": DIRECTIVES, "shared_utility_qualified_name": SHARED}
            (made,) = cythonize([extension], force=self.force, **options)
            extension.sources, extension.depends = made.sources, made.depends
        super().build_extension(extension)

    def openmp_flags(self, kind):
        """Return the first (compile, link) flags with which a small OpenMP program builds, or none."""
        if os.environ.get("MADN_NO_OPENMP", "") not in {"", "0"}:
            print("madn: building without OpenMP, as MADN_NO_OPENMP asks")
            return [], []
        for compile_args, link_args in OPENMP_CHOICES[kind]:
            with tempfile.TemporaryDirectory() as folder:
                source = Path(folder, "probe.c")
                source.write_text(PROBE, encoding="ascii")
                try:
                    objects = self.compiler.compile([str(source)], output_dir=folder, extra_postargs=compile_args)
                    self.compiler.link_executable(objects, "probe", output_dir=folder, extra_postargs=link_args)
                except Exception:
                    continue
                return compile_args, link_args
        print("madn: this compiler has no OpenMP; building single-threaded")
        return [], []


def extensions():
    """One for every .pyx file of the package; those for AVX2 only where the compiler builds for x86-64."""
    for source in sorted(Path("madn").rglob("*.pyx")):
        name = ".".join(source.with_suffix("").parts)
        if AVX2 or not name.endswith("_avx2"):
            yield Extension(name, [source.as_posix()])


setup(
    ext_modules=[Extension(SHARED, ["madn/_shared.c"]), *extensions()],
    cmdclass={"build_ext": BuildExt},
)
