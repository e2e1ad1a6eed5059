"""What `madn --version` says."""


def version_text() -> str:
    """The version, whether OpenMP is in it, the threads, the kernels and the libraries, one a line."""
    import platform

    import numpy

    import madn
    from madn.machine import compiler, openmp, usable_threads
    from madn.solver import kernels

    return "\n".join(
        [
            f"madn {madn.__version__}",
            f"OpenMP: {'yes' if openmp() else 'no, one thread only'}",
            f"threads: {usable_threads()}",
            f"kernels: {kernels.build}, built with {compiler()}",
            f"numpy {numpy.__version__}, Python {platform.python_version()}",
        ]
    )
