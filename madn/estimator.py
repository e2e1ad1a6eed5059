"""Values of positions without a database, from a small model that was fitted to exact values.

    estimator = find_estimator(Rules(pieces=3))
    estimator.win(*board.masks), estimator.error

The model is a network of whole numbers, so it gives the same bits on every computer. The kernel `_estimator` evaluates
it, `_estimator_rows.pxd` defines what it sees of a position, and `madn/fitting.py` makes it; `docs/estimator.md` says
how accurate it is. Models are data files of the package, one for each number of pieces:

| bytes | contents |
|---|---|
| a line | `madn estimator 1`: what this is, and the version of the format |
| a line | the header as JSON: shape, the games with their errors, how the model was made |
| as many as `bytes` of the header says | the numbers of the network, one zstd frame |
| 32 | the SHA-256 of everything before it |
"""

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray

from madn import _estimator, machine
from madn._core import Game
from madn.errors import CorruptBlockError, FormatVersionError, InvalidBoardError, MadnError
from madn.ranges import as_int
from madn.rules import Rules

NAME, VERSION = b"madn estimator ", 1
MOST_HEADER = 1 << 16  # bytes
MOST_UNITS = 2048
SECOND = 32  # units of the second layer
DIGEST = hashlib.sha256().digest_size
DATA = Path(__file__).parent / "data"

NETWORKS = {"portable": _estimator.Network}
if machine.has_avx2():
    with suppress(ImportError):  # not part of a build for another kind of processor
        from madn import _estimator_avx2

        NETWORKS["avx2"] = _estimator_avx2.Network
build = machine.fastest_build(NETWORKS)


class Estimator:
    """A model for one game."""

    def __init__(self, rules: Rules, model: "Model") -> None:
        self.rules = rules
        self.error = model.shape.errors[rules_key(rules)]
        self._network = model.network(rules)

    def __repr__(self) -> str:
        return f"Estimator({self.rules!r}, error={self.error:.2g})"

    def wins(self, own: NDArray[np.uint64], other: NDArray[np.uint64], threads: int = 1) -> NDArray[np.float64]:
        """The mover's chances of winning before the roll, for masks of both sides; 1 or 0 in a finished game."""
        mine, theirs = (np.ascontiguousarray(masks, np.uint64) for masks in (own, other))
        try:
            return self._network.wins(mine, theirs, threads)
        except ValueError as error:
            raise InvalidBoardError(str(error)) from None

    def win(self, own: int, other: int) -> float:
        """The mover's chance of winning in one position."""
        try:
            masks = np.array([own, other], np.uint64)
        except (OverflowError, TypeError, ValueError):
            raise InvalidBoardError(f"{own!r}, {other!r} are not two masks of squares") from None
        return float(self.wins(masks[:1], masks[1:])[0])


def find_estimator(rules: Rules) -> Estimator | None:
    """The estimator that comes with the package for a game; None if there is none."""
    return _found(replace(rules, start_in_box=False))


@lru_cache(16)
def _found(rules: Rules) -> Estimator | None:
    path = DATA / file_name(rules.pieces)
    if not path.exists():
        return None
    model = _model(path)
    known = model.shape.squares == rules.squares and rules_key(rules) in model.shape.errors
    return Estimator(rules, model) if known else None


def file_name(pieces: int) -> str:
    """The name of the file with the model for games with this number of pieces."""
    return f"estimator-{pieces}.madn"


def rules_key(rules: Rules) -> int:
    """The house rules that values depend on, as a number: 1 three rolls, 2 no jumping, 4 the duty to capture."""
    return rules.three_rolls + 2 * rules.no_jumping + 4 * rules.must_capture


@dataclass(frozen=True)
class Shape:
    """The size of a network, and which games it is for.

    `errors` has the root mean square error over held-out positions for each game, by `rules_key`. `distances` and
    `stretch` say which attacks the network sees, `first` is the number of units in its first layer, and `second_bits`
    is the scale of its second layer.
    """

    pieces: int
    squares: int
    distances: int
    stretch: int
    first: int
    second_bits: int
    errors: Mapping[int, float] = field(default_factory=dict)

    @property
    def buckets(self) -> int:
        """How many second layers there are: one for each pair of numbers of pieces that the two sides have home."""
        return self.pieces**2

    def arrays(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """The type and shape of each array of the network, in the order of the file."""
        rows = _estimator.row_count(self.pieces, self.squares, self.distances, self.stretch)
        return {
            "rows": ("<i2", (rows, self.first)),
            "first_bias": ("<i4", (self.first,)),
            "second": ("<i2", (self.buckets, self.first, SECOND)),
            "second_bias": ("<i4", (self.buckets, SECOND)),
            "last": ("<i4", (self.buckets, SECOND)),
            "last_bias": ("<i8", (self.buckets,)),
            "curve": ("<u4", (2 * 16 * 64 + 2,)),
        }


@dataclass(frozen=True)
class Model:
    """A network as it is stored in a file, with notes on how it was made."""

    shape: Shape
    arrays: Mapping[str, NDArray[Any]]
    made: Mapping[str, Any] = field(default_factory=dict)

    def network(self, rules: Rules, kind: str | None = None) -> _estimator.Network:
        """The kernel for one game, in one of the builds of `NETWORKS`."""
        shape = self.shape
        sizes = shape.distances, shape.stretch, shape.second_bits
        return NETWORKS[kind or build](Game(rules), *sizes, **self.arrays)  # type: ignore[arg-type]

    def to_bytes(self) -> bytes:
        """The content of its file."""
        planes = b"".join(_planes(self.arrays[name].astype(kind)) for name, (kind, _) in self.shape.arrays().items())
        frame = zstandard.ZstdCompressor(level=19).compress(planes)
        facts = {**asdict(self.shape), "bytes": len(frame), "made": dict(self.made)}
        head = NAME + b"%d\n" % VERSION + json.dumps(facts).encode("ascii") + b"\n"
        return head + frame + hashlib.sha256(head + frame).digest()

    @classmethod
    def from_bytes(cls, content: bytes, source: str) -> "Model":
        """Read the content of a file; `source` is its name, for messages."""

        def damaged(what: str) -> MadnError:
            return CorruptBlockError(f"{source}: damaged: {what}")

        first, _, rest = content.partition(b"\n")
        if not first.startswith(NAME):
            raise damaged("this is not an estimator")
        if first != NAME + b"%d" % VERSION:
            shown = first[len(NAME) : len(NAME) + 20].decode("ascii", "replace")
            raise FormatVersionError(f"{source}: an estimator of version {shown}; this madn reads version {VERSION}")
        header, _, frame = rest.partition(b"\n")
        if len(content) < DIGEST or content[-DIGEST:] != hashlib.sha256(content[:-DIGEST]).digest():
            raise damaged("SHA-256 mismatch")
        shape, size, made = _read_header(header, damaged)
        if len(frame) != size + DIGEST:
            raise damaged(f"expected {size} bytes of numbers, found {len(frame) - DIGEST}")
        return cls(shape, _read_arrays(shape, frame[:-DIGEST], damaged), made)


def read_model(path: str | os.PathLike[str]) -> Model:
    """Read a model and check it."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise CorruptBlockError(f"{path}: cannot be read: {error.strerror or error}") from error
    model = Model.from_bytes(content, os.fspath(path))
    try:
        for key in model.shape.errors:
            model.network(rules_of(key, model.shape))
    except ValueError as error:
        raise CorruptBlockError(f"{path}: damaged: {error}") from None
    return model


_model = lru_cache(4)(read_model)


def rules_of(key: int, shape: Shape) -> Rules:
    """The inverse of `rules_key`."""
    house = {"three_rolls": bool(key & 1), "no_jumping": bool(key & 2), "must_capture": bool(key & 4)}
    return Rules(shape.pieces, shape.squares, **house)


def _read_header(header: bytes, damaged: Callable[[str], MadnError]) -> tuple[Shape, int, dict[str, Any]]:
    try:
        if len(header) > MOST_HEADER:
            raise ValueError("length")
        facts = json.loads(header)
        size, made = facts.pop("bytes"), facts.pop("made")
        errors = {int(key): float(error) for key, error in facts.pop("errors").items()}
        shape = Shape(**facts, errors=errors)
        numbers = [as_int(number) for number in (*facts.values(), size)]
        rules_of(0, shape)
        good = all(number is not None and number >= 0 for number in numbers) and isinstance(made, dict)
        good &= 0 < shape.first <= MOST_UNITS and 0 < shape.distances <= 40 and 0 < shape.stretch <= 40
        good &= all(0 <= key < 8 and 0 <= error <= 1 for key, error in errors.items()) and bool(errors)
        if not good:
            raise ValueError("range")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise damaged("its header is not that of an estimator") from None
    return shape, size, made


def _read_arrays(shape: Shape, frame: bytes, damaged: Callable[[str], MadnError]) -> dict[str, NDArray[Any]]:
    kinds = shape.arrays()
    sizes = {name: np.dtype(kind).itemsize * math.prod(size) for name, (kind, size) in kinds.items()}
    whole = sum(sizes.values())
    try:
        if zstandard.frame_content_size(frame) != whole:
            raise damaged(f"the network is not {whole} bytes long")
        planes = zstandard.ZstdDecompressor().decompress(frame)
    except zstandard.ZstdError as error:
        raise damaged(f"zstd: {error}") from None
    arrays, begin = {}, 0
    for name, (kind, size) in kinds.items():
        part = np.frombuffer(planes, np.uint8, sizes[name], begin)
        numbers = np.ascontiguousarray(part.reshape(np.dtype(kind).itemsize, -1).T).view(kind).reshape(size)
        arrays[name] = numbers.astype(np.dtype(kind).newbyteorder("="), copy=False)
        begin += sizes[name]
    return arrays


def _planes(numbers: NDArray[Any]) -> bytes:
    """All lowest bytes first, then all second lowest, and so on: this compresses better than number by number."""
    return np.ascontiguousarray(numbers.reshape(-1).view(np.uint8).reshape(-1, numbers.itemsize).T).tobytes()
