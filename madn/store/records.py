"""The rows of a catalogue as Python objects, and the names of the files of a database."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn.rules import Rules
from madn.store.blocks import Encoding

CATALOGUE = "catalogue.sqlite"
SUMS = "SHA256SUMS"


def block_file_name(number: int) -> str:
    """The name of a file of frames; a name from a catalogue counts only if it is this one."""
    return f"values-{number:04}.madn"


def frame_digest(frame: bytes) -> str:
    """The digest of a block in the catalogue: the first half of the SHA-256 of its frame, in hexadecimal."""
    return hashlib.sha256(frame).hexdigest()[:32]


def sums_text(digests: Mapping[str, str]) -> str:
    """What SHA256SUMS says for these digests by file name; `sha256sum --check` understands it."""
    return "".join(f"{digest}  {name}\n" for name, digest in digests.items())


@dataclass(frozen=True, slots=True)
class Block:
    """A row of `blocks`: `count` positions of a profile from `first_rank` on, and where their frame lies."""

    block: int
    profile: int
    first_rank: int
    count: int
    file: int
    offset: int
    length: int
    encoding: str
    digest: str


@dataclass(frozen=True, slots=True)
class BlockFile:
    """A row of `files`: a file of frames, its size and the SHA-256 of the whole of it."""

    file: int
    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class NamedBoard:
    """A row of `boards`: a board with a name, its ID and value, and the block and offset it is stored at."""

    name: str
    board: str
    id: int
    win: float
    block: int | None
    offset: int | None


@dataclass(frozen=True, slots=True)
class StoredEncoding:
    """A row of `encodings`: one that blocks use, and the largest error it added to any value."""

    encoding: Encoding
    max_error: float


@dataclass(frozen=True, slots=True)
class BlockTable:
    """Consecutive rows of `blocks`, checked; the columns are arrays, by ascending ID."""

    first_block: int
    profile: NDArray[np.int64]
    first_rank: NDArray[np.int64]
    first_id: NDArray[np.int64]
    count: NDArray[np.int64]
    file: NDArray[np.int64]
    offset: NDArray[np.int64]
    length: NDArray[np.int64]
    encoding: NDArray[np.int64]  # index into the encodings of the catalogue
    digest: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.count)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What `catalogue.sqlite` says apart from its blocks, checked."""

    format: int
    rules: Rules
    profiles: tuple[tuple[int, int, int, int], ...]
    first_ids: NDArray[np.int64]  # of the profiles
    sizes: NDArray[np.int64]  # positions of the profiles
    provenance: dict[str, Any]
    encodings: tuple[StoredEncoding, ...]
    files: tuple[BlockFile, ...]
    boards: tuple[NamedBoard, ...]


def profile_rows(rules: Rules) -> Iterator[dict[str, int]]:
    """The rows of `profiles`, in the order of the numbering."""
    first = 0
    for number, (p1, f1, p2, f2) in enumerate(rules.profiles()):
        size = rules.profile_size(p1, f1, p2, f2)
        yield {
            "profile": number,
            "p1": p1,
            "f1": f1,
            "p2": p2,
            "f2": f2,
            "first_id": first,
            "positions": size,
        }
        first += size
