"""Encoders turn the content of a block into a frame, and the stored blocks into rows of the catalogue."""

import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from madn._core import Game
from madn.errors import MadnError
from madn.rules import Rules
from madn.store import _policy, blocks, policy, zstd
from madn.store.blocks import ENCODINGS, POLICY, Array, Encoding
from madn.store.records import BlockFile, profile_rows, rules_rows
from madn.store.schema import LUDO, Schema

POLICY_LEVEL = 1  # of zstd: the output of the arithmetic coder hardly gets any smaller
Row = dict[str, Any]
NamedBoard = tuple[str, str, int, float]  # name, text, position ID, winning probability
ENCODING_COLUMNS = ("name", "code", "bits", "zero", "scale")


class Measured(NamedTuple):
    """What was measured when blocks were encoded."""

    error: float = 0.0  # the largest difference between a stored value and the one given
    decisions: int = 0  # how many there are, in a policy
    loss: float = 0.0  # what one turn played from rounded values loses, summed over the positions
    max_loss: float | None = 0.0  # the largest such loss; None if losses were not measured
    max_loss_id: int = 0  # the position that has it

    def merge(self, other: "Measured") -> "Measured":
        """The figures of both, combined."""
        worse = self
        if self.max_loss is not None and (other.max_loss is None or other.max_loss > self.max_loss):
            worse = other
        return Measured(
            error=max(self.error, other.error),
            decisions=self.decisions + other.decisions,
            loss=self.loss + other.loss,
            max_loss=worse.max_loss,
            max_loss_id=worse.max_loss_id,
        )


class EncodedBlock(NamedTuple):
    """A frame, the name of its encoding, and what was measured."""

    frame: bytes
    encoding: str
    measured: Measured = Measured()


class StoredBlock(NamedTuple):
    """A block that was written: a line of the journal. `first` is the ID of its first position."""

    run: int
    first: int
    positions: int
    file: int
    offset: int
    length: int
    digest: str
    encoding: str
    measured: Measured

    def frame_row(self) -> Row:
        """The columns of `blocks` that say how many positions there are and where the frame lies."""
        return {"count": self.positions, "file": self.file, "offset": self.offset, "length": self.length}


@dataclass(frozen=True, slots=True)
class Contents:
    """All that a catalogue contains. Blocks are sorted by ID; `errors` is the largest error of each encoding in use."""

    provenance: Mapping[str, Any]
    files: list[BlockFile]
    blocks: list[StoredBlock]
    errors: dict[str, float]
    boards: list[NamedBoard]

    def common_rows(self) -> dict[str, Iterable[Row]]:
        """The rows of the tables that all games have."""
        return {
            "provenance": ({"name": name, "value": json.dumps(value)} for name, value in self.provenance.items()),
            "files": map(asdict, self.files),
        }


class Encoder(Protocol):
    """What a `DatabaseWriter` needs to know about a game and the way it is stored."""

    @property
    def schema(self) -> Schema:
        """The tables of the catalogue."""

    @property
    def task(self) -> Mapping[str, Any]:
        """All that the frames depend on besides the content; interrupted work is resumed only if this is the same."""

    def encode(self, first: int, content: Array) -> EncodedBlock:
        """Encode the block that begins with a position ID."""

    def rows(self, contents: Contents) -> Mapping[str, Iterable[Row]]:
        """The rows of each table of the catalogue."""


class LudoEncoder:
    """What all Ludo databases have in common, whatever they store."""

    schema = LUDO

    def __init__(self, rules: Rules, encoding: Encoding, level: int) -> None:
        self.rules, self.encoding, self.level = rules, encoding, zstd.checked_level(level)
        self.game = Game(rules)

    @property
    def task(self) -> dict[str, Any]:
        """The rules, the encoding and the format."""
        facts = {"encoding": self.encoding.name, "level": self.level, "format": self.schema.format}
        return {"rules": asdict(self.rules), **facts}

    def rows(self, contents: Contents) -> dict[str, Iterable[Row]]:
        """The rows of each table of the catalogue."""
        errors = contents.errors or {self.encoding.name: 0.0}
        profiles = list(profile_rows(self.rules))
        return contents.common_rows() | {
            "rules": rules_rows(self.rules),
            "encodings": [
                {column: getattr(ENCODINGS[name], column) for column in ENCODING_COLUMNS} | {"max_error": errors[name]}
                for name in sorted(errors)
            ],
            "profiles": profiles,
            "blocks": _block_rows(contents.blocks, [row["first_id"] for row in profiles]),
            "boards": [_board_row(contents.blocks, *board) for board in contents.boards],
        }


class ValueEncoder(LudoEncoder):
    """Stores values in the encoding in which they are given, or converted to another one."""

    def __init__(
        self, rules: Rules, given: Encoding, encoding: Encoding | None = None, level: int = blocks.LEVEL
    ) -> None:
        super().__init__(rules, encoding or given, level)
        self.given = given

    def encode(self, first: int, content: Array) -> EncodedBlock:
        """Encode values from an ID on; a value outside its proved bounds is moved to the nearer one."""
        error = 0.0
        if self.encoding.bounds:
            content, error = within_bounds(content, self.encoding)
        elif self.encoding != self.given:
            wins = self.given.wins(content["value"] if self.given.bounds else content)
            content = self.encoding.raws(wins)
            error = float(np.abs(self.encoding.wins(content) - wins).max())
        profile = self.game.profile(first)
        where = blocks.profile_slice(self.rules, profile, first - self.game.first(*profile))
        frame = blocks.encode(content, self.encoding, first, where, self.level)
        return EncodedBlock(frame, self.encoding.name, Measured(error))


def within_bounds(content: Array, encoding: Encoding) -> tuple[Array, float]:
    """The content with every value moved within its bounds, and the largest distance that one was moved."""
    steps = encoding.steps(content["value"])
    inside = np.clip(steps, content["lower"], content["upper"])
    outside = inside != steps
    if not outside.any():
        return content, 0.0
    moved = content.copy()
    raw = inside[outside] if encoding.dtype == "<i4" else inside[outside] / encoding.bounds
    moved["value"][outside] = raw
    return moved, float(np.abs(encoding.wins(raw) - encoding.wins(content["value"][outside])).max())


class PolicyEncoder(LudoEncoder):
    """Stores best moves."""

    def __init__(self, rules: Rules, level: int = POLICY_LEVEL) -> None:
        super().__init__(rules, POLICY, level)

    def encode(self, first: int, content: Array) -> EncodedBlock:
        """Encode best moves from an ID on, given as words with 2 bits for each roll."""
        return self._encode(first, _policy.spread(content))

    def encode_choices(self, first: int, choices: NDArray[np.uint8]) -> EncodedBlock:
        """Encode best moves from an ID on, given as an array (positions, rolls) of move numbers."""
        return self._encode(first, policy.joined(choices))

    def _encode(self, first: int, choices: NDArray[np.uint64]) -> EncodedBlock:
        frame, decisions = policy.encode(choices, first, self.game, self.level)
        return EncodedBlock(frame, POLICY.name, Measured(decisions=decisions))


def _block_rows(stored: list[StoredBlock], first_ids: list[int]) -> Iterable[Row]:
    for number, block in enumerate(stored):
        profile = bisect_right(first_ids, block.first) - 1
        rank = {"profile": profile, "first_rank": block.first - first_ids[profile]}
        yield {"block": number, **rank, **block.frame_row(), "encoding": block.encoding, "digest": block.digest}


def _board_row(stored: list[StoredBlock], name: str, board: str, id: int, win: float) -> Row:
    """The row of a named board: where it is stored, and its value as stored (in a policy or in no block, as given)."""
    if not 0 <= win <= 1:
        raise MadnError(f"board {name}, {board}: value {win!r} is not a probability")
    at = bisect_right(stored, id, key=lambda block: block.first) - 1
    row: Row = {"name": name, "board": board, "id": id, "win": win, "block": None, "offset": None}
    if at >= 0 and id < stored[at].first + stored[at].positions:
        row["block"], row["offset"] = at, id - stored[at].first
        encoding = ENCODINGS[stored[at].encoding]
        if encoding.quantised:
            row["win"] = encoding.win(encoding.raws(np.array([win]))[0].item())
    return row
