"""Positions with their exact values in one file, to fit models to: what `madn solve --sample` writes.

| bytes | hold |
|---|---|
| a line | `madn samples 1`: what this is, and the version of the format |
| a line | the header as JSON, with spaces at its end so that both lines have a multiple of 64 bytes |
| 8 × count | the IDs of the positions, 64-bit integers |
| 8 × count | their values, 64-bit floats |
| 32 | the SHA-256 of all that comes before |

Numbers are little-endian. The header has the `rules`, the `count`, the `tolerance` of the solve, the `seed`, the
`command` that draws the same positions again and the version of `madn`. Its `strata` are runs of IDs, each with its
first ID, its size and how many samples were drawn from it; they follow each other in the file. Samples that were not
drawn by runs have no strata.
"""

import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from madn.errors import CorruptBlockError, FormatVersionError, MadnError, OutputError, ResourceError
from madn.machine import flush
from madn.ranges import as_int
from madn.rules import Rules

NAME, VERSION = b"madn samples ", 1
MOST_HEADER = 1 << 20  # bytes
ALIGNED = 64
PIECE = 1 << 20  # numbers that are read, hashed or written at a time
DIGEST = hashlib.sha256().digest_size
ID, WIN = np.dtype("<i8"), np.dtype("<f8")


@dataclass(frozen=True)
class Stratum:
    """Consecutive IDs of one kind, and how many samples were drawn from them."""

    first: int
    size: int
    count: int


@dataclass(frozen=True)
class Header:
    """What a file of samples says about itself."""

    rules: Rules
    count: int
    tolerance: float
    seed: int
    command: str
    madn: str = field(default_factory=lambda: version("madn"))
    strata: tuple[Stratum, ...] = ()

    def lines(self) -> bytes:
        """The two lines that a file begins with."""
        facts = {**vars(self), "rules": asdict(self.rules)}
        facts["strata"] = [[part.first, part.size, part.count] for part in self.strata]
        lines = NAME + b"%d\n" % VERSION + json.dumps(facts).encode("ascii")
        return lines.ljust(-(-(len(lines) + 1) // ALIGNED) * ALIGNED - 1) + b"\n"


@dataclass(frozen=True)
class Samples:
    """Positions, by ID, and the chances of the side to move before it rolls."""

    header: Header
    ids: NDArray[np.int64]
    wins: NDArray[np.float64]
    sha256: str

    @property
    def weights(self) -> NDArray[np.float64]:
        """How many positions of the game each sample stands for; 1 where they were not drawn by runs."""
        strata = self.header.strata
        if not strata:
            return np.ones(len(self.ids))
        return np.repeat([part.size / part.count for part in strata], [part.count for part in strata])


def write_samples(
    path: str | os.PathLike[str],
    header: Header,
    ids: Iterable[NDArray[np.int64]],
    wins: Iterable[NDArray[np.float64]],
) -> str:
    """Write a file of samples, whole or not at all, replacing any that is there; return its SHA-256.

    The IDs and the values each come in several arrays.
    """
    target = Path(os.path.realpath(path))
    check_sample_file(path)
    digest = hashlib.sha256()
    with _writing(path):
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.madn-", delete=False) as file:
            try:
                for content in _content(header, ids, wins):
                    digest.update(content)
                    file.write(content)
                file.write(digest.digest())
                file.flush()
                os.fsync(file.fileno())
                os.chmod(file.name, 0o666 & ~_umask())
                os.replace(file.name, target)
            except BaseException:
                os.unlink(file.name)
                raise
        flush(target.parent)
    return digest.hexdigest()


def _content(header: Header, ids: Iterable[NDArray[np.int64]], wins: Iterable[NDArray[np.float64]]) -> Iterator[bytes]:
    yield header.lines()
    for name, pieces, kind in (("IDs", ids, ID), ("values", wins, WIN)):
        count = 0
        for piece in pieces:
            count += len(piece)
            yield piece.astype(kind, copy=False).tobytes()
        if count != header.count:
            raise ValueError(f"expected {header.count} {name}, found {count}")


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def check_sample_file(path: str | os.PathLike[str]) -> None:
    """Raise `OutputError` if samples cannot be written at `path`: only samples of madn are replaced."""
    try:
        target = Path(os.path.realpath(path))
        if target.exists():
            if not stat.S_ISREG(target.stat().st_mode):
                raise OutputError(f"{path}: not a file; samples are written to a file")
            with open(target, "rb") as file:
                if not file.read(len(NAME)).startswith(NAME):
                    raise OutputError(f"{path}: not replaced: this is not a file of samples")
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.madn-")
        os.close(descriptor)
        os.unlink(name)
    except MadnError:
        raise
    except (OSError, ValueError) as error:
        raise OutputError(f"{path}: cannot write here: {getattr(error, 'strerror', None) or error}") from None


@contextmanager
def _writing(path: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except MadnError:
        raise
    except OSError as error:
        raise ResourceError(f"{path}: cannot be written, nothing was changed: {error.strerror or error}") from error


def read_samples(path: str | os.PathLike[str]) -> Samples:
    """Read a file of samples and check all of it."""
    try:
        with open(path, "rb") as file:
            return _read(file, lambda what: CorruptBlockError(f"{path}: damaged: {what}"))
    except MadnError:
        raise
    except OSError as error:
        raise CorruptBlockError(f"{path}: cannot be read: {error.strerror or error}") from error


def _read(file: BinaryIO, damaged: Callable[[str], MadnError]) -> Samples:
    lines, header = _read_header(file, damaged)
    size, expected = os.fstat(file.fileno()).st_size, len(lines) + header.count * (ID.itemsize + WIN.itemsize) + DIGEST
    if size != expected:
        raise damaged(f"expected {expected:,} bytes, found {size:,}")
    digest = hashlib.sha256(lines)
    ids, wins = np.empty(header.count, ID), np.empty(header.count, WIN)
    for numbers in (ids, wins):
        for begin in range(0, header.count, PIECE):
            piece = numbers[begin : begin + PIECE]
            if file.readinto(piece.view(np.uint8)) != piece.nbytes:  # type: ignore[attr-defined]
                raise damaged("the end is missing")
            digest.update(piece.data)
    if file.read(DIGEST) != digest.digest():
        raise damaged("SHA-256 mismatch")
    if not ((ids >= 0) & (ids < header.rules.positions)).all():
        raise damaged("an ID is not that of a position")
    if not ((wins >= 0) & (wins <= 1)).all():
        raise damaged("a value is not a probability")
    begin = 0
    for part in header.strata:
        drawn = ids[begin : begin + part.count]
        if not ((drawn >= part.first) & (drawn < part.first + part.size)).all():
            raise damaged(f"an ID is outside the run from {part.first} on that it should be in")
        begin += part.count
    return Samples(header, ids, wins, digest.hexdigest())


def _read_header(file: BinaryIO, damaged: Callable[[str], MadnError]) -> tuple[bytes, Header]:
    """The first two lines, and what they say."""
    first = file.readline(len(NAME) + 8)
    if not first.startswith(NAME) or not first.endswith(b"\n"):
        raise damaged("this is not a file of samples")
    found = first.removeprefix(NAME).strip()
    if found != b"%d" % VERSION:
        shown = found.decode("ascii", "replace")
        raise FormatVersionError(f"{file.name}: samples of version {shown}; this madn reads version {VERSION}")
    second = file.readline(MOST_HEADER)
    try:
        facts: dict[str, Any] = json.loads(second)
        strata = tuple(_stratum(part) for part in facts.pop("strata"))
        header = Header(**{**facts, "rules": Rules(**facts["rules"]), "strata": strata})
        count = as_int(header.count)
        good = count is not None and 0 <= count < 1 << 40
        if not good or (strata and sum(part.count for part in strata) != count):
            raise ValueError("count")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise damaged("its header is not that of a file of samples") from None
    return first + second, header


def _stratum(part: list[int]) -> Stratum:
    first, size, count = part
    if any(type(number) is not int or number < 0 for number in part) or not 0 < count <= size < 1 << 50:
        raise ValueError("stratum")
    return Stratum(first, size, count)
