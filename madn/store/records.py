"""The rows of a catalogue as Python objects, and the names of the files of a database."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn.errors import CorruptBlockError, FormatVersionError, InvalidRulesError
from madn.rules import Rules
from madn.store.blocks import Encoding

CATALOGUE = "catalogue.sqlite"
SUMS = "SHA256SUMS"
REQUIRED_RULES = ("pieces", "squares")


def block_file_name(number: int) -> str:
    """The name of a file of frames; a catalogue that lists any other name is refused."""
    return f"values-{number:04}.madn"


def frame_digest(frame: bytes) -> str:
    """The digest of a block in the catalogue: the first half of the SHA-256 of its frame, in hexadecimal."""
    return hashlib.sha256(frame).hexdigest()[:32]


def sums_text(digests: Mapping[str, str]) -> str:
    """The text of SHA256SUMS for these digests by file name; `sha256sum --check` understands it."""
    return "".join(f"{digest}  {name}\n" for name, digest in digests.items())


@dataclass(frozen=True, slots=True)
class BlockFile:
    """A row of `files`: a file of frames, its size and its SHA-256."""

    file: int
    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class NamedBoard:
    """A row of `boards`: a named board, its ID and value, and the block and offset where it is stored."""

    name: str
    board: str
    id: int
    win: float
    block: int | None
    offset: int | None


@dataclass(frozen=True, slots=True)
class StoredEncoding:
    """A row of `encodings`: an encoding in use, and the largest error that it added to any value."""

    encoding: Encoding
    max_error: float


@dataclass(frozen=True, slots=True)
class FrameTable:
    """Consecutive rows of `blocks`, checked, by ascending ID: what each block contains and where its frame lies."""

    first_block: int
    first_id: NDArray[np.int64]
    count: NDArray[np.int64]
    file: NDArray[np.int64]
    offset: NDArray[np.int64]
    length: NDArray[np.int64]
    digest: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.count)


@dataclass(frozen=True, slots=True)
class BlockTable(FrameTable):
    """Blocks of Ludo."""

    profile: NDArray[np.int64]
    first_rank: NDArray[np.int64]
    encodings: tuple[Encoding, ...]
    first_ids: list[int] = field(init=False)  # finding one block in a list is quicker than in an array
    counts: list[int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "first_ids", self.first_id.tolist())
        object.__setattr__(self, "counts", self.count.tolist())


def rules_rows(rules: Rules) -> list[dict[str, Any]]:
    """The rows of `rules`; a house rule that is off has none, so that versions without that rule read the database."""
    return [
        {"name": field.name, "value": int(getattr(rules, field.name))}
        for field in fields(rules)
        if field.name in REQUIRED_RULES or getattr(rules, field.name) != field.default
    ]


def rules_from(rows: Mapping[str, int], kind: type[Rules] = Rules) -> Rules:
    """The rules that the rows of `rules` stand for; a house rule without a row is off."""
    known = {field.name: field for field in fields(kind)}
    for name in sorted(rows.keys() - known):
        raise FormatVersionError(f"rule {name!r} is too new for this madn")
    for name in REQUIRED_RULES:
        if name not in rows:
            raise CorruptBlockError(f"rule {name!r} is missing")
    values: dict[str, Any] = dict(rows)
    for name, value in rows.items():
        if isinstance(known[name].default, bool):
            if value not in (0, 1):
                raise CorruptBlockError(f"rule {name!r} is {value}, expected 0 or 1")
            values[name] = bool(value)
    try:
        return kind(**values)
    except InvalidRulesError as error:
        raise CorruptBlockError(str(error)) from None


def profile_rows(rules: Rules) -> Iterator[dict[str, int]]:
    """The rows of `profiles`, in the order of the numbering."""
    first = 0
    for number, (p1, f1, p2, f2) in enumerate(rules.profiles()):
        size = rules.profile_size(p1, f1, p2, f2)
        yield {"profile": number, "p1": p1, "f1": f1, "p2": p2, "f2": f2, "first_id": first, "positions": size}
        first += size
