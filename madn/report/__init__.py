"""What the papers print beside what is computed here: `madn reproduce`.

Each subject is a module of this package with one function, `facts(full)`, that computes and yields `Fact`s; `full`
allows it to take minutes instead of seconds. What is printed comes from `madn/data/published.json` where it is there.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

Value = float | int | str | bool | None | list[Any] | dict[str, Any]

SUBJECTS = ("ludo", "pig", "wubbel", "cantstop", "pyramid")


@dataclass(frozen=True, slots=True)
class Fact:
    """One published statement and what the computation says; `agrees` is None where nothing can be said."""

    source: str
    what: str
    published: Value
    ours: Value
    agrees: bool | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Paper:
    """Makes the facts of one source."""

    source: str

    def number(self, what: str, published: Value, ours: Value, note: str = "", *, agrees: bool | None = None) -> Fact:
        """A printed number: it agrees if ours is the same, unless `agrees` says what does."""
        return Fact(self.source, what, published, ours, ours == published if agrees is None else agrees, note)

    def claim(self, what: str, holds: bool, note: str = "") -> Fact:
        """A printed statement that holds or does not."""
        return Fact(self.source, what, True, holds, holds, note)


def facts(subject: str, full: bool = False) -> Iterator[Fact]:
    """Compute the facts of one of `SUBJECTS`, in the order in which the paper prints them."""
    if subject not in SUBJECTS:
        raise ValueError(f"{subject!r} is not one of {', '.join(SUBJECTS)}")
    found: Iterator[Fact] = import_module(f"madn.report.{subject}").facts(full)
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
