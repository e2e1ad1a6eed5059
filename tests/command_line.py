"""The command line as the tests run it: in this process, or as one of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

Run = Callable[..., tuple[int, str, str]]  # status, standard output, standard error


def process(*args: object, **settings: Any) -> "subprocess.Popen[str]":
    """Start the command line as a process of its own."""
    command = [sys.executable, "-m", "madn", *map(str, args)]
    if os.name == "posix":  # a shell's background job hands down an ignored SIGINT: give it back its meaning
        settings.setdefault("preexec_fn", lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **settings)
