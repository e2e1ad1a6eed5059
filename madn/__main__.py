"""Runs the command line, as `madn` and as `python -m madn`.

Ctrl-C ends it quietly from the first line of the package on: this module arranges that before it imports anything slow,
and `madn/__init__.py` imports nothing.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sys import UnraisableHookArgs
    from types import FrameType

INTERRUPTED = 130  # exit status
PATIENCE = 10  # times that Ctrl-C is postponed
postponed = 0
interrupted = False  # whether it was raised


def interrupt(_number: int, frame: "FrameType | None") -> None:
    """Ctrl-C: end the process while modules are imported, which must not be cut short; else raise KeyboardInterrupt.

    Python can also be interrupted between taking a lock and entering the block that releases it: a thread that needs
    the lock would then wait for ever. So inside `threading` it is raised a moment later, unless the process keeps
    waiting there.
    """
    global interrupted, postponed
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            os._exit(INTERRUPTED)
        if frame.f_code.co_filename.endswith("threading.py") and postponed < PATIENCE and hasattr(signal, "setitimer"):
            postponed += 1
            raise_soon()
            return
        frame = frame.f_back
    interrupted = True
    raise KeyboardInterrupt


def raise_soon() -> None:
    """Have Ctrl-C come again in a hundredth of a second."""
    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.01)


def unraisable(swallowed: "UnraisableHookArgs") -> None:
    """Raise Ctrl-C again soon: Python swallows what is raised in a finalizer or in the callback of a weak reference."""
    if not issubclass(swallowed.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(swallowed)
    elif hasattr(signal, "setitimer"):
        raise_soon()
    else:
        os._exit(INTERRUPTED)


def take_ctrl_c() -> None:
    """Have Ctrl-C end this process as described above."""
    signal.signal(signal.SIGINT, interrupt)
    sys.unraisablehook = unraisable


try:
    import signal

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not if it is ignored, as for background jobs
        take_ctrl_c()
except KeyboardInterrupt:
    os._exit(INTERRUPTED)


def run() -> int:
    """Run the command line with the arguments of the process; return the exit status."""
    try:
        from madn.cli import main

        status = main()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the work is done
    except BaseException:
        if interrupted:  # a library may have turned it into another error, as numpy does where it calls Python
            os._exit(INTERRUPTED)
        raise
    return status


if __name__ == "__main__":
    sys.exit(run())
