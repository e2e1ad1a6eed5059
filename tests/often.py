"""The command line of madn with a checkpoint after every sweep, narrow panels, and processes that wait for each other.

For tests: small boards are solved before a checkpoint is worth its time, and are not worth many panels. With the
argument `--streamed` every panel is streamed that can be, with `--as-large` small games are solved as large ones are.
"""

import sys
from functools import partial

from madn.__main__ import run
from madn.solver import plan
from madn.solver.cluster import convergence, panels, processes, proved, solve

if __name__ == "__main__":
    convergence.SELDOM, processes.KEPT = 0, 0
    for module in (solve, proved):
        vars(module)["cut_panels"] = partial(panels.cut_panels, least=100)
    if "--as-large" in sys.argv:
        sys.argv.remove("--as-large")
        plan.SMALL_GAME = 1
    if "--streamed" in sys.argv:
        from cluster_threads import stream_all

        sys.argv.remove("--streamed")
        stream_all()
    sys.exit(run())
