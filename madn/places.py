"""Where a user's files are: databases that can be found, and the cache of solved parts. Nothing is created here.

| what | variable | otherwise |
|---|---|---|
| databases | `MADN_DATABASES`, directories separated as in `PATH`, searched first | the user's data directory |
| cache | `MADN_CACHE`, a directory | the user's cache directory |
| its size | `MADN_CACHE_SIZE`, such as 500M | 1 GiB |
"""

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

from madn.errors import InvalidNumberError, MadnWarning
from madn.ranges import parse_size

DATABASES, CACHE, CACHE_SIZE = "MADN_DATABASES", "MADN_CACHE", "MADN_CACHE_SIZE"
CACHE_BYTES = 1 << 30  # the four-piece game never needs more than half: 81 million positions in four parts
# By platform (others are like Linux): a variable that names the directory, its default below the home directory, and
# the name of ours in it.
DATA_HOME = {
    "darwin": ("", "Library/Application Support", "madn"),
    "win32": ("LOCALAPPDATA", "AppData/Local", "madn/databases"),
    "linux": ("XDG_DATA_HOME", ".local/share", "madn"),
}
CACHE_HOME = {
    "darwin": ("", "Library/Caches", "madn"),
    "win32": ("LOCALAPPDATA", "AppData/Local", "madn/cache"),
    "linux": ("XDG_CACHE_HOME", ".cache", "madn"),
}


def data_directory() -> Path | None:
    """Where this user's databases are looked for; None if the user has no home directory."""
    return _own(DATA_HOME)


def cache_directory() -> Path | None:
    """Where solved parts are kept; None if `MADN_CACHE` is not set and the user has no home directory."""
    given = os.environ.get(CACHE)
    return Path(given) if given else _own(CACHE_HOME)


def cache_bytes() -> int:
    """How large the cache may grow; InvalidNumberError if `MADN_CACHE_SIZE` is not a size."""
    given = os.environ.get(CACHE_SIZE)
    if not given:
        return CACHE_BYTES
    found = parse_size(given)
    if found is None:
        raise InvalidNumberError(f"{CACHE_SIZE}: {given[:40]!r} is not a size; write it like 2G or 500M")
    return found


def database_directories() -> Iterator[Path]:
    """Directories that look like databases: the places searched themselves, or directories directly inside them.

    A directory in `MADN_DATABASES` that cannot be listed causes a warning; the user's data directory need not exist.
    """
    named = [Path(part) for part in os.environ.get(DATABASES, "").split(os.pathsep) if part]
    home = data_directory()
    for place in [*named, *([home] if home else [])]:
        if _is_database(place):
            yield place
            continue
        try:
            yield from sorted(path for path in place.iterdir() if _is_database(path))
        except OSError as error:
            if place in named:
                warnings.warn(f"{DATABASES}: {place}: {error.strerror}", MadnWarning, stacklevel=2)


def _is_database(path: Path) -> bool:
    return os.path.isfile(path / "catalogue.sqlite")


def _own(homes: dict[str, tuple[str, str, str]]) -> Path | None:
    variable, below, name = homes.get(sys.platform, homes["linux"])
    given = os.environ.get(variable, "") if variable else ""
    if os.path.isabs(given):  # the XDG specification says to ignore a relative path
        return Path(given, name)
    try:
        return Path.home() / below / name
    except RuntimeError:
        return None
