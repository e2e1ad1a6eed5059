"""A progress bar with an estimate of the time left; in a log, one line a minute."""

import sys
import time

from madn.cli.output import duration

WIDTH = 24
PAUSE = 0.1  # seconds between redraws
PATIENCE = 0.3  # seconds before a bar is first drawn: short work needs none
LOG_PAUSE = 60.0  # seconds between two lines if there is no terminal, and before the first


class ProgressBar:
    """Redraws one line on standard error when called with the fraction done and a short text."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.shown = sys.stderr.isatty()
        self.begin = time.monotonic()
        self.pause = PAUSE if self.shown else LOG_PAUSE
        self.next = self.begin + (PATIENCE if self.shown else LOG_PAUSE)
        self.drawn = 0  # characters in the line
        self.before: float | None = None  # the fraction done by an earlier run that is being resumed

    def __call__(self, fraction: float, text: str = "") -> None:
        """Draw the bar if it is due."""
        now = time.monotonic()
        self.before = fraction if self.before is None else self.before
        if now >= self.next:
            self.next = now + self.pause
            line = progress_line(self.label, fraction, now - self.begin, text, self.before)
            if self.shown:
                self._draw(line)
            else:
                sys.stderr.write(f"{line}\n")
                sys.stderr.flush()

    def _draw(self, line: str) -> None:
        sys.stderr.write("\r" + line.ljust(self.drawn))
        sys.stderr.flush()
        self.drawn = len(line)

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, *error: object) -> None:
        """Clear the line."""
        if self.drawn:
            self._draw("")
            sys.stderr.write("\r")


def progress_line(label: str, fraction: float, elapsed: float, text: str, before: float = 0.0) -> str:
    """The line of a bar; the time left is estimated from the time spent on the work beyond `before`."""
    done = min(max(fraction, 0.0), 1.0)
    bar = ("#" * int(done * WIDTH)).ljust(WIDTH, "-")
    left = f"{duration(elapsed * (1 - done) / (done - before))} left" if done > before else "starting"
    return f"{label} [{bar}] {100 * done:3.0f} %  {left}  {text}"[:79].rstrip()
