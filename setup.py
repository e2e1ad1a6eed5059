"""Builds the Cython extensions; everything else is in pyproject.toml.

OpenMP is used when the compiler has it. MADN_NO_OPENMP=1 builds without; `madn --version` says which it is.
Some kernels are built twice on x86-64, for any processor and for AVX2; `madn.machine` picks one at run time.
What every extension with memoryviews needs is compiled once, in `madn._shared`: half of the work of the C compiler.
MADN_CFLAGS comes after our own flags: with -O1 it builds in half the time what need not be fast.
MADN_STRICT=1 makes every warning of Cython and of the C compiler an error.
MADN_DEBUG=1 checks every index and puts AddressSanitizer and UBSan into the C code; `tools/test --debug` runs it.
"""

import os
import platform
import shlex
import sys
import tempfile
import threading
from pathlib import Path

from Cython.Build import cythonize
from Cython.Compiler import Options
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext


def wanted(name):
    """Whether an environment variable asks for something: it is set, and not to 0."""
    return os.environ.get(name, "") not in {"", "0"}


STRICT, DEBUG = wanted("MADN_STRICT"), wanted("MADN_DEBUG")
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,  # with bounds checks a negative index is an error
    "cdivision": True,
    "initializedcheck": DEBUG,
    "freethreading_compatible": True,
}
X86_64 = platform.machine().lower() in {"x86_64", "amd64"} and sys.maxsize > 2**32
CROSS_BUILD = "ARCHFLAGS" in os.environ and "arm64" in os.environ["ARCHFLAGS"]
AVX2 = X86_64 and not CROSS_BUILD

# No contraction into fused multiply-add: the same bits from every compiler.
OPTIMISE = {"msvc": ["/O2", "/fp:precise"], "unix": ["-O3", "-g0", "-ffp-contract=off", "-fno-math-errno"]}
WARN = {"msvc": ["/W3", "/WX"], "unix": ["-Wall", "-Wextra", "-Werror"]}
SANITISE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
CHECKED = {"msvc": ["/Od", "/Zi"], "unix": ["-O1", "-g1", "-fno-omit-frame-pointer"]}
WIDE = {"msvc": ["/arch:AVX2"], "unix": ["-mavx2", "-mbmi2", "-mpopcnt"]}
OPENMP_CHOICES = {
    "msvc": [(["/openmp"], [])],
    "unix": [(["-fopenmp"], ["-fopenmp"]), (["-Xpreprocessor", "-fopenmp"], ["-lomp"])],
}
SHARED = "madn._shared"
OPENMP_PROBE = "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n"
PROBE = "int main(void) { return 0; }\n"


class BuildExt(build_ext):
    """Makes the C sources, and adds the compiler's own flags, which are known only once the compiler is."""

    def finalize_options(self):
        super().finalize_options()
        self.cython = threading.Lock()
        self.parallel = self.parallel or True  # as many extensions at once as there are processors

    def build_extensions(self):
        kind = "msvc" if self.compiler.compiler_type == "msvc" else "unix"
        compile_args, link_args = self.openmp_flags(kind)
        if STRICT:
            Options.warning_errors = True
            compile_args = [*compile_args, *WARN[kind]]
        if DEBUG:
            sanitise = SANITISE if self.builds(PROBE, SANITISE, SANITISE) else []
            compile_args, link_args = [*compile_args, *CHECKED[kind], *sanitise], [*link_args, *sanitise]
        compile_args = [*compile_args, *shlex.split(os.environ.get("MADN_CFLAGS", ""))]
        for extension in self.extensions:
            wide = WIDE[kind] if extension.name.endswith("_avx2") else []
            extension.extra_compile_args = [*OPTIMISE[kind], *wide, *compile_args]
            extension.extra_link_args = link_args
        super().build_extensions()

    def build_extension(self, extension):
        """Cython takes one source at a time, while the compiler works on those before it."""
        with self.cython:
            options = {"compiler_directives": DIRECTIVES, "shared_utility_qualified_name": SHARED}
            if DEBUG:  # the C sources of the two builds differ
                options["build_dir"] = os.path.join(self.build_temp, "c")
            (made,) = cythonize([extension], force=self.force, **options)
            extension.sources, extension.depends = made.sources, made.depends
        super().build_extension(extension)

    def builds(self, program, compile_args, link_args):
        """Whether a small C program builds with these flags."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "probe.c")
            source.write_text(program, encoding="ascii")
            try:
                objects = self.compiler.compile([str(source)], output_dir=folder, extra_postargs=compile_args)
                self.compiler.link_executable(objects, "probe", output_dir=folder, extra_postargs=link_args)
            except Exception:
                return False
        return True

    def openmp_flags(self, kind):
        """Return the first (compile, link) flags with which a small OpenMP program builds, or none."""
        if wanted("MADN_NO_OPENMP"):
            print("madn: building without OpenMP, as MADN_NO_OPENMP asks")
            return [], []
        for compile_args, link_args in OPENMP_CHOICES[kind]:
            if self.builds(OPENMP_PROBE, compile_args, link_args):
                return compile_args, link_args
        print("madn: this compiler has no OpenMP; building single-threaded")
        return [], []


def extensions():
    """One for every .pyx file of the package; those for AVX2 only where the compiler builds for x86-64."""
    for source in sorted(Path("madn").rglob("*.pyx")):
        name = ".".join(source.with_suffix("").parts)
        if AVX2 or not name.endswith("_avx2"):
            yield Extension(name, [source.as_posix()], depends=["madn/_machine.h"])  # which other headers include


setup(
    ext_modules=[Extension(SHARED, ["madn/_shared.c"]), *extensions()],
    cmdclass={"build_ext": BuildExt},
)
