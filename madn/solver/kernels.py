"""The sweep kernels in the build that this processor runs."""

from madn import builds

name = builds.choose("_sweep")
kernels = builds.available("_sweep")[name]
