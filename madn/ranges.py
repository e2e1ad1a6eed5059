"""All checks of what a user gives, in Python or as an option: a number and its range, or an object of a class.

The arrays of numbers that modules give to kernels are checked here too: a ValueError then means a bug in the program.
"""

import re
from operator import index
from typing import Any, TypeVar

from madn.errors import InvalidNumberError, InvalidTypeError, MadnError

MOST_BYTES = 2**63 - 1
MOST_SEED = 2**64 - 1
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

Kind = TypeVar("Kind")


def checked_int(name: str, value: object, low: int, high: int, error: type[MadnError] = InvalidNumberError) -> int:
    """A whole number from `low` to `high` as an int, or an error that names it and its range."""
    number = as_int(value)
    if number is None:
        raise error(f"{name} must be a whole number, not {shown(value)}")
    if not low <= number <= high:
        raise error(f"{name} must be {low} to {high}, not {shown(number)}")
    return number


def checked_float(name: str, value: object, low: float, high: float, error: type[MadnError]) -> float:
    """A number from `low` to `high` as a float, or an error that names it and its range."""
    try:
        number = None if isinstance(value, bool | str) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or not low <= number <= high:
        raise error(f"{name} must be a number from {low:g} to {high:g}, not {shown(value)}")
    return number


def checked_seed(seed: object) -> int:
    """The seed of random numbers as an int."""
    return checked_int("seed", seed, 0, MOST_SEED)


def checked_type(name: str, value: object, kind: type[Kind]) -> Kind:
    """An object of a class, or an error that names it."""
    if not isinstance(value, kind):
        raise InvalidTypeError(f"{name} must be {kind.__name__}, not {shown(value)}")
    return value


def check_range(name: str, numbers: Any, low: int, high: int) -> None:
    """Raise ValueError unless all numbers of an array are from `low` to `high`."""
    import numpy as np  # nothing else here needs it

    if np.size(numbers) and not (low <= np.min(numbers) and np.max(numbers) <= high):
        raise ValueError(f"{name}: expected {low} to {high}, found {np.min(numbers)} to {np.max(numbers)}")


def check_ascending(name: str, numbers: Any, last: int) -> None:
    """Raise ValueError unless the numbers of an array ascend from 0 to `last`."""
    import numpy as np

    found = np.asarray(numbers)
    if not len(found) or (found[0], found[-1]) != (0, last) or (found[1:] < found[:-1]).any():
        raise ValueError(f"{name} does not ascend from 0 to {last}")


def parse_size(text: str) -> int | None:
    """A number of bytes such as 20G, 512M or 1.5G, in units of 1024; None for any other text."""
    parts = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)([KMGT]?)(?:i?B)?", text, re.IGNORECASE)
    return None if parts is None else int(float(parts[1]) * UNITS[parts[2].upper()])


def as_int(value: object) -> int | None:
    """The number as an int, or None if it is not a whole number; True and False are not numbers here."""
    if type(value) is int:
        return value
    try:
        return None if isinstance(value, bool) else index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def shown(thing: object) -> str:
    """A given value as a message shows it: quoted, on one line, at most 40 characters."""
    if isinstance(thing, int) and thing.bit_length() > 64:
        return f"a number of {thing.bit_length()} bits"
    try:
        text = repr(thing[:60] if isinstance(thing, str) else thing)
    except ValueError:  # it contains a number with too many digits to be written
        text = f"a {type(thing).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= 40 else text[:37] + "..."
