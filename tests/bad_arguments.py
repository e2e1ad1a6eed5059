"""Calls of compiled functions with one argument spoilt: they must raise, never crash."""

from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np
import pytest

REFUSED = (ValueError, TypeError, OverflowError)
THREADS = [0, -3, 10**6, 2**40, "2"]


def spoilt(array: np.ndarray[Any, Any], written: bool) -> Iterator[Any]:
    """Versions of an array with another shape, type, order in memory, and read-only if it is written to."""
    yield array[:-1].copy()
    yield np.concatenate([array, array[-1:]])
    yield array[None]
    yield array.ravel() if array.ndim > 1 else array[:, None]
    yield array[..., :0].copy()
    yield array.astype(np.float32)
    yield array.tolist()
    if array.ndim > 1:
        yield array[..., :-1].copy()
        yield np.stack([array, array], -1)[..., 0]
    if written:
        frozen = array.copy()
        frozen.flags.writeable = False
        yield frozen


def check(
    call: Callable[..., Any],
    good: list[Any],
    bad: dict[int, list[Any]],
    written: Collection[int] = (),
    optional: Collection[int] = (),
    unchecked: Collection[int] = (),
) -> None:
    """Call with good arguments, then with each of them spoilt: arrays as above, and all that `bad` lists for them.

    `written` arguments are written to, `optional` ones may be None, `unchecked` arrays are spoilt by `bad` alone.
    """
    call(*good)
    for place, argument in enumerate(good):
        candidates = list(bad.get(place, []))
        if isinstance(argument, np.ndarray) and place not in unchecked:
            candidates += spoilt(argument, place in written)
        if place not in optional:
            candidates.append(None)
        for candidate in candidates:
            arguments = [*good[:place], candidate, *good[place + 1 :]]
            try:
                with pytest.raises(REFUSED):
                    call(*arguments)
            except pytest.fail.Exception as error:
                raise AssertionError(f"argument {place} = {candidate!r} was accepted") from error
