"""Compiled functions with spoilt arguments: the program `fuzz_kernels.py`, for a few seconds."""

import subprocess
import sys
from pathlib import Path

import fuzz_kernels
import pytest


@pytest.mark.skipif(not (fuzz_kernels.SOURCES / "madn").exists(), reason="there are no sources here")
def test_no_spoilt_argument_crashes_a_kernel(tmp_path: Path) -> None:
    program = [sys.executable, fuzz_kernels.__file__, str(tmp_path), "1", "1000"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=300, check=False)
    last = done.stdout.splitlines()[-1:]
    assert (done.returncode, "runtime error" in done.stderr) == (0, False), f"{last}: {done.stderr[:4000]}"
    assert last[0].startswith("1000 calls of ")
