"""Runs the command line as `python -m madn`."""

import sys

from madn.cli import main

sys.exit(main())
