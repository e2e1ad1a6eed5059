"""What the papers print beside what is computed here: `madn reproduce`.

Each subject is a module of this package with one function, `facts(full, progress)`, that computes and yields `Fact`s;
`full` allows it to take minutes instead of seconds, and `progress` hears of its long parts. What is printed comes from
`madn/data/published.json` where it is there.
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
    """One published statement and what the computation says; `agrees` is None where nothing can be said.

    `z` is the difference in standard errors, where games were played instead of a computation.
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
        """What `agrees` says, as a word."""
        return "undecided" if self.agrees is None else "agrees" if self.agrees else "differs"


@dataclass(frozen=True, slots=True)
class Paper:
    """Makes the facts of one source."""

    source: str

    def number(self, what: str, published: Value, ours: Value, note: str = "", *, agrees: bool | None = None) -> Fact:
        """A printed number: it agrees if ours is the same, unless `agrees` says what does."""
        return Fact(self.source, what, published, ours, ours == published if agrees is None else agrees, note)

    def measured(
        self, what: str, published: float, ours: float, errors: tuple[float, float], digits: int, note: str = ""
    ) -> Fact:
        """A number that was measured in games, there and here, with the standard errors of both.

        A dozen of them are compared: one is often two standard errors off by chance, hardly ever four.
        """
        z = (ours - published) / hypot(*errors)
        agrees = True if abs(z) <= AGREES else False if abs(z) > DIFFERS else None
        if agrees is None:
            note += (
                f"; between {AGREES:g} and {DIFFERS:g} standard errors chance is a possible reason: more games decide"
            )
        return Fact(self.source, what, published, round(ours, digits), agrees, note, round(z, 2))

    def claim(self, what: str, holds: bool, note: str = "") -> Fact:
        """A printed statement that holds or does not."""
        return Fact(self.source, what, True, holds, holds, note)


def quiet(fraction: float, text: str) -> None:
    """Progress that nobody sees."""


def facts(subject: str, full: bool = False, progress: Progress = quiet) -> Iterator[Fact]:
    """Compute the facts of one of `SUBJECTS`, in the order in which the paper prints them.

    During a long part `progress` is called with the fraction of that part that is done, from 0 up, and its name.
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
    """Whether a number, rounded to the decimals that are printed, is the printed one."""
    return round(ours, decimals) == round(printed, decimals)
