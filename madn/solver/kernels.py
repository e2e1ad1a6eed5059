"""The kernels in the build that this processor runs."""

from madn import builds

name = builds.choose("_sweep")
kernels = builds.available("_sweep")[name]
census = builds.available("_census")[builds.choose("_census")]
