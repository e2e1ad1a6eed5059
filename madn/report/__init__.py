"""The numbers printed in the papers beside those computed here: `madn reproduce`.

Each subject is a module of this package with one function, `facts(full, progress)`, that computes and yields `Fact`s;
`full` allows it to take minutes instead of seconds, and `progress` is called during its long parts. Printed numbers
come from `madn/data/published.json` if they are in it.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from math import hypot
from typing import Any, Literal

Progress = Callable[[float, str], None]
Verdict = Literal["agrees", "differs", "undecided"]
Value = float | int | str | bool | None | list[Any] | dict[str, Any]

AGREES, DIFFERS = 2.0, 4.0  # standard errors: up to the first, numbers from games agree; beyond the second they differ
SUBJECTS = ("ludo", "pig", "wubbel", "cantstop", "pyramid")


@dataclass(frozen=True, slots=True)
class Fact:
    """One published statement and what the computation says; `agrees` is None if it does not decide the matter.

    `z` is the difference in standard errors if the number was measured in games instead of computed.
    """

    source: str
    what: str
    published: Value
    ours: Value
    agrees: bool | None
    note: str = ""
    z: float | None = None

    @property
    def verdict(self) -> Verdict:
        """The value of `agrees` as a word."""
        return "undecided" if self.agrees is None else "agrees" if self.agrees else "differs"


@dataclass(frozen=True, slots=True)
class Paper:
    """Makes the facts of one source."""

    source: str

    def number(self, what: str, published: Value, ours: Value, note: str = "", *, agrees: bool | None = None) -> Fact:
        """A printed number: it agrees if ours is the same, unless `agrees` is given."""
        return Fact(self.source, what, published, ours, ours == published if agrees is None else agrees, note)

    def measured(
        self, what: str, published: float, ours: float, errors: tuple[float, float], digits: int, note: str = ""
    ) -> Fact:
        """A number that was measured in games, both there and here, with the standard errors of the two.

        Of the dozen that are compared, one is often two standard errors off by chance, but hardly ever four.
        """
        z = (ours - published) / hypot(*errors)
        agrees = True if abs(z) <= AGREES else False if abs(z) > DIFFERS else None
        if agrees is None:
            note += (
                f"; {AGREES:g} to {DIFFERS:g} standard errors off: this may be due to chance; more games would decide"
            )
        return Fact(self.source, what, published, round(ours, digits), agrees, note, round(z, 2))

    def claim(self, what: str, holds: bool, note: str = "") -> Fact:
        """A printed statement that is true or not."""
        return Fact(self.source, what, True, holds, holds, note)


def quiet(fraction: float, text: str) -> None:
    """A progress function that does nothing."""


def facts(subject: str, full: bool = False, progress: Progress = quiet) -> Iterator[Fact]:
    """Compute the facts of one of `SUBJECTS`, in the order in which the paper prints them.

    During a long part, `progress` is called with the fraction of it that is done, starting from 0, and its name.
    """
    if subject not in SUBJECTS:
        raise ValueError(f"{subject!r} is not one of {', '.join(SUBJECTS)}")
    found: Iterator[Fact] = import_module(f"madn.report.{subject}").facts(full, progress)
    return found


@cache
def published() -> dict[str, Any]:
    """Every number of the papers, by game."""
    text = files("madn").joinpath("data", "published.json").read_text(encoding="utf-8")
    numbers: dict[str, Any] = json.loads(text)
    return numbers


def same_digits(ours: float, printed: float, decimals: int) -> bool:
    """Whether a number equals the printed one when rounded to as many decimals."""
    return round(ours, decimals) == round(printed, decimals)
