"""A case: one seeded attempt to break a promise, in a directory of its own."""

import random
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

# What must never happen, in the order of the table.
KINDS = ("wrong numbers", "lost work", "tracebacks", "hangs", "crashes", "other")
Made = TypeVar("Made")


class BrokenError(Exception):
    """A promise was broken; `kind` is one of KINDS."""

    def __init__(self, kind: str, message: str) -> None:
        if kind not in KINDS:
            raise ValueError(f"{kind!r} is not one of {', '.join(KINDS)}")
        super().__init__(message)
        self.kind = kind


@dataclass
class Case:
    """What a group gets: a source of chance, an empty directory, and things that cases share.

    `counted` says what was tried and how often; a group counts with `count`. `log` keeps the steps, to be shown if the
    case fails.
    """

    group: str
    seed: int
    directory: Path
    shared: Path
    counted: Counter[str] = field(default_factory=Counter)
    steps: list[str] = field(default_factory=list)
    children: list[Any] = field(default_factory=list)  # processes that must not outlive the case

    def __post_init__(self) -> None:
        self.rng = random.Random(f"{self.group} {self.seed}")

    def count(self, what: str, number: int = 1) -> None:
        """Count something that was tried."""
        self.counted[what] += number

    def log(self, step: str) -> None:
        """Note a step."""
        self.steps.append(step)

    def once(self, name: str, make: Callable[[Path], Any]) -> Path:
        """Something that cases share and only read: made by the first case of this process that needs it."""
        path = self.shared / name
        if not path.exists():
            part = path.with_name(f"{name}.part")
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            make(part)
            part.rename(path)
        return path

    def chosen(self, things: "list[Made] | tuple[Made, ...]") -> Made:
        """One of several."""
        return self.rng.choice(things)


@dataclass(frozen=True)
class Outcome:
    """What came of a case."""

    group: str
    seed: int
    seconds: float
    counted: dict[str, int]
    kind: str | None = None  # of the promise that was broken
    message: str = ""
    steps: tuple[str, ...] = ()


@dataclass(frozen=True)
class Group:
    """A kind of torture: what is tried, in a few words for the table, and how much of the time it gets."""

    name: str
    tries: str
    run: Callable[[Case], None]
    weight: float = 1.0
