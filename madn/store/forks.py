"""Renewing objects in a forked process, before it uses what it has inherited."""

import os
from typing import Protocol
from weakref import WeakSet


class Renewed(Protocol):
    """An object with locks, possibly held by threads that the new process does not have, or with files in use."""

    def after_fork(self) -> None:
        """Replace the locks; called in the new process."""


_inherited: WeakSet[Renewed] = WeakSet()


def renew_after_fork(thing: Renewed) -> None:
    """Have the `after_fork` of an object called in every process that is forked while the object exists."""
    _inherited.add(thing)


def _renew() -> None:
    for thing in list(_inherited):
        thing.after_fork()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_renew)
