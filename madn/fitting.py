"""Making an estimator: fitting a network to exact values, and converting it to whole numbers.

The network is fitted in 32-bit floats by Adam, batch by batch, with a rate that falls to zero along half a cosine wave;
the kernel `_fitting` computes values and gradients. The order of the positions and the initial weights come from a
seed, so the same computer always makes the same model.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from madn import _fitting, machine
from madn.estimator import SECOND, Model, Shape

ONE_BITS, LAST_BITS = 13, 16  # as in the kernel `_estimator`
CURVE_STEPS, RANGE, WIN_BITS = 64, 16, 31
BATCH = 512
WARMING = 100_000  # positions until the rate has reached its full height
Weights = NDArray[np.float32]

FITTERS = {"portable": _fitting.Fitter}
if machine.has_avx2():
    with suppress(ImportError):
        from madn import _fitting_avx2

        FITTERS["avx2"] = _fitting_avx2.Fitter
build = machine.fastest_build(FITTERS)


class Positions(NamedTuple):
    """Positions of unfinished games with their values: masks of the mover and the other side, `rules_key`, chance."""

    own: NDArray[np.uint64]
    other: NDArray[np.uint64]
    flags: NDArray[np.uint8]
    wins: NDArray[np.float32]

    def some(self, chosen: Any) -> "Positions":
        """Those positions that an index selects."""
        return Positions(*(numbers[chosen] for numbers in self))


@dataclass(frozen=True)
class Settings:
    """How a network is fitted: how many positions it sees in all, the highest rate, a seed, and so on."""

    seen: int
    rate: float = 0.002
    seed: int = 0
    batch: int = BATCH
    threads: int = 1


def fit(
    shape: Shape,
    positions: Positions,
    settings: Settings,
    begin: Weights | None = None,
    progress: Callable[[float], None] = lambda part: None,
) -> Weights:
    """Fit a network to positions and return its weights; `begin` are weights to start from, instead of random ones."""
    rng = np.random.default_rng(settings.seed)
    fitter = _fitter(shape, first_weights(shape, rng) if begin is None else begin)
    batch = min(settings.batch, len(positions.own))
    ones, wins = np.ones(batch, np.float32), np.empty(batch, np.float32)
    seen = 0
    while seen < settings.seen:
        shuffled = positions.some(rng.permutation(len(positions.own)))
        for first in range(0, len(positions.own) - batch + 1, batch):
            if seen >= settings.seen:
                break
            part = shuffled.some(slice(first, first + batch))
            fitter.run(*part, ones, wins, rate_at(seen, settings), True, settings.threads)
            seen += batch
            if seen // batch % 2048 == 0:
                progress(seen / settings.seen)
    return fitter.weights.copy()


def rate_at(seen: int, settings: Settings) -> float:
    """The rate after this many positions."""
    falling = 0.5 * (1 + math.cos(math.pi * seen / settings.seen))
    return settings.rate * falling * min(1.0, (seen + 1) / WARMING)


def values(shape: Shape, weights: Weights, positions: Positions, threads: int = 1) -> NDArray[np.float32]:
    """The values that a network gives to positions, before it is converted to whole numbers."""
    wins, nothing = np.empty(len(positions.own), np.float32), np.zeros(len(positions.own), np.float32)
    _fitter(shape, weights).run(*positions, nothing, wins, 0.0, False, threads)
    return wins


def _fitter(shape: Shape, weights: Weights) -> _fitting.Fitter:
    return FITTERS[build](shape.pieces, shape.squares, shape.distances, shape.stretch, shape.first, weights)


def first_weights(shape: Shape, rng: np.random.Generator) -> Weights:
    """Random weights to start from, with all second layers alike."""
    rows, buckets = shape.arrays()["rows"][1][0], shape.buckets
    second = rng.normal(0, 1 / math.sqrt(shape.first / 3), shape.first * SECOND)
    last = rng.normal(0, 0.5, SECOND)
    parts = [
        rng.normal(0, 0.12, rows * shape.first),
        np.full(shape.first, 0.25),
        np.tile(second, buckets),
        np.full(buckets * SECOND, 0.3),
        np.tile(last, buckets),
        np.zeros(buckets),
    ]
    return np.concatenate(parts).astype(np.float32)


def whole_numbers(shape: Shape, weights: Weights, made: dict[str, Any]) -> Model:
    """The model made from a fitted network: its weights, rounded to steps as fine as the types of the sums allow."""
    parts, begin = {}, 0
    for name, (_, size) in shape.arrays().items():
        if name != "curve":
            parts[name] = weights[begin : begin + math.prod(size)].reshape(size).astype(np.float64)
            begin += math.prod(size)
    sums = np.abs(parts["second"]).sum(axis=1) + np.abs(parts["second_bias"])
    room = min((2**31 - 2**24) / ((1 << ONE_BITS) * sums.max()), (2**15 - 1) / np.abs(parts["second"]).max())
    bits = min(shape.second_bits, math.floor(math.log2(room)))
    arrays = {}
    for name, step in _steps(bits).items():
        kind = np.dtype(shape.arrays()[name][0])
        limits = np.iinfo(kind)
        arrays[name] = np.clip(np.rint(parts[name] * step), limits.min, limits.max).astype(kind)
    arrays["curve"] = curve()
    fitted = Shape(**{**vars(shape), "second_bits": bits})
    return Model(fitted, arrays, made)


def weights_of(model: Model) -> Weights:
    """The weights of a model, to the precision of its whole numbers; fitting can be continued from them."""
    steps = _steps(model.shape.second_bits)
    return np.concatenate([(model.arrays[name] / step).ravel() for name, step in steps.items()]).astype(np.float32)


def _steps(second_bits: int) -> dict[str, int]:
    """For each array of a model, the number of steps in a weight of 1."""
    one = 1 << ONE_BITS
    return {
        "rows": one,
        "first_bias": one,
        "second": 1 << second_bits,
        "second_bias": one << second_bits,
        "last": 1 << LAST_BITS,
        "last_bias": one << LAST_BITS,
    }


def curve() -> NDArray[np.uint32]:
    """Probabilities for log odds from -16 to 16, and for one step beyond."""
    odds = (np.arange(2 * RANGE * CURVE_STEPS + 2) - RANGE * CURVE_STEPS) / CURVE_STEPS
    return np.rint(2.0**WIN_BITS / (1 + np.exp(-odds))).astype(np.uint32)
