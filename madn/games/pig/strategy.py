"""What a player of Pig does in each state."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from madn.errors import InvalidRulesError, InvalidTypeError
from madn.games.pig.rules import Pig
from madn.ranges import checked_type, shown


class Strategy:
    """Whether a player holds or rolls, for each state."""

    def __init__(self, game: Pig, bits: NDArray[np.uint8]) -> None:
        """`bits[own, other]` has a bit for each turn score t, the lowest first: set if the player holds."""
        n = checked_type("game", game, Pig).target
        shape = (n, n, (n + 7) // 8)
        if checked_type("bits", bits, np.ndarray).shape != shape or bits.dtype != np.uint8:
            raise InvalidRulesError(f"bits: expected uint8 of shape {shape}, found {bits.dtype} of shape {bits.shape}")
        self.game = game
        self.bits = np.ascontiguousarray(bits)

    @classmethod
    def table(cls, game: Pig, holds: ArrayLike) -> "Strategy":
        """Hold where `holds[own, other, turn]` is true; axes of length 1 stand for all scores."""
        return cls._from_rows(game, _spread(game, holds, 3).astype(bool, copy=False).__getitem__)

    @classmethod
    def hold_at(cls, game: Pig, points: ArrayLike) -> "Strategy":
        """Hold with this many points or more: one number, or `points[own, other]`."""
        thresholds, turns = _spread(game, points, 2), np.arange(game.target)
        return cls._from_rows(game, lambda own: turns >= thresholds[own][:, None])

    @classmethod
    def _from_rows(cls, game: Pig, row: Callable[[int], NDArray[np.bool_]]) -> "Strategy":
        # A row at a time: the decisions of a game to 1000 take 119 MiB as bits and eight times that as bytes.
        return cls(game, np.stack([np.packbits(row(own), axis=-1, bitorder="little") for own in range(game.target)]))

    def holds(self, own: int, other: int, turn: int) -> bool:
        """Whether the player holds in this state."""
        self.game.check_state(own, other, turn)
        if turn == 0 or own + turn >= self.game.target:
            return turn > 0
        return bool(self.bits[own, other, turn >> 3] >> (turn & 7) & 1)

    def decisions(self, own: int, other: int) -> NDArray[np.bool_]:
        """Whether the player holds with 0, 1, 2, ... points in hand, up to one point before the target."""
        self.game.check_state(own, other, 0)
        bits = np.unpackbits(self.bits[own, other], bitorder="little")[: self.game.target - own].astype(bool)
        bits[0] = False
        return bits

    def __eq__(self, other: object) -> bool:
        """Whether the two agree wherever there is a choice."""
        if not isinstance(other, Strategy) or self.game != other.game:
            return NotImplemented
        n = self.game.target
        choice = np.arange(n) < n - np.arange(n)[:, None]
        choice[:, 0] = False
        masks = np.packbits(choice, axis=-1, bitorder="little")
        return all(not ((self.bits[own] ^ other.bits[own]) & masks[own]).any() for own in range(n))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Strategy for {self.game}>"


def _spread(game: Pig, values: ArrayLike, axes: int) -> NDArray[np.generic]:
    shape = (checked_type("game", game, Pig).target,) * axes
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biuf" or np.isnan(array).any():
            raise InvalidTypeError(f"expected numbers, found {shown(values)}")
        return np.broadcast_to(array, shape)
    except ValueError:
        raise InvalidRulesError(f"expected a shape that broadcasts to {shape}, found {shown(values)}") from None
