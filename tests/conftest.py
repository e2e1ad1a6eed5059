"""Says which madn is being tested, and makes sure that it is the installed one where that is asked for."""

import os
from pathlib import Path

import pytest
import strategies  # noqa: F401  (its hypothesis profile is for all tests)

import madn

os.environ.setdefault("GOMP_SPINCOUNT", "2000")  # as the command line does
ROOT = Path(__file__).resolve().parent.parent


def pytest_report_header() -> str:
    return f"madn: {Path(madn.__file__).parent}"


def pytest_sessionstart() -> None:
    if os.environ.get("MADN_TEST_INSTALLED") and Path(madn.__file__).resolve().parent == ROOT / "madn":
        pytest.exit("madn is imported from the sources, not from where it is installed", returncode=3)
