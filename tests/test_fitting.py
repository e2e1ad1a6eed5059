"""Fitting an estimator: gradients against differences, a small model that learns, and the program that makes models."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from madn import Rules
from madn._core import Game
from madn.estimator import Shape, read_model
from madn.fitting import (
    FITTERS,
    Positions,
    Settings,
    curve,
    first_weights,
    fit,
    rate_at,
    values,
    weights_of,
    whole_numbers,
)
from madn.solver import make_plan
from madn.solver import solve as solve_plan
from madn.solving import solve

SHAPE = Shape(2, 10, 6, 5, 32, 14)
TOOL = Path(__file__).resolve().parent.parent / "tools" / "estimator"


def positions_of(rules: Rules, count: int, seed: int = 0) -> Positions:
    wins = np.empty(rules.positions)
    solve_plan(make_plan(rules)).read(0, wins)
    ids = np.random.default_rng(seed).choice(np.flatnonzero((wins > 0) & (wins < 1)), count)
    own, other = Game(rules).unrank_many(ids)
    return Positions(own, other, np.zeros(count, np.uint8), wins[ids].astype(np.float32))


def error(shape: Shape, weights: Any, positions: Positions) -> float:
    return float(((values(shape, weights, positions) - positions.wins) ** 2).mean())


def test_a_step_goes_where_the_error_falls() -> None:
    """The first step of Adam moves each weight by the rate, against the sign of its gradient."""
    positions = positions_of(Rules(2, 10), 64)
    weights = first_weights(SHAPE, np.random.default_rng(1))
    rng, ones, wins = np.random.default_rng(2), np.ones(64, np.float32), np.empty(64, np.float32)
    moved = {}
    for build, fitter_of in FITTERS.items():
        fitter = fitter_of(2, 10, 6, 5, 32, weights)
        fitter.run(*positions, ones, wins, 1e-3, True, 1)
        moved[build] = fitter.weights - weights
    step = moved["portable"]
    differences = []
    for place in rng.choice(np.flatnonzero(np.abs(step) > 5e-4), 200, replace=False):
        by = np.zeros_like(weights)
        by[place] = 2e-2
        differences.append((error(SHAPE, weights + by, positions) - error(SHAPE, weights - by, positions), step[place]))
    slopes = np.array([slope for slope, _ in differences])
    clear = np.abs(slopes) > 1e-6
    assert clear.sum() > 50
    agree = np.sign(slopes) == -np.sign([step for _, step in differences])
    assert agree[clear].mean() > 0.95
    assert all(np.sign(other[np.abs(step) > 5e-4]).tolist() == np.sign(step[np.abs(step) > 5e-4]).tolist()
               for other in moved.values())  # fmt: skip


def test_values_are_the_same_on_any_number_of_threads() -> None:
    positions = positions_of(Rules(2, 10), 3000)
    settings = [Settings(20_000, 0.01, 5, 256, threads) for threads in (1, 2, 4)]
    fitted = [fit(SHAPE, positions, setting) for setting in settings]
    assert all((weights == fitted[0]).all() for weights in fitted)
    other = fit(SHAPE, positions, Settings(20_000, 0.01, 6, 256, 1))
    assert (other != fitted[0]).any()


def test_a_small_model_learns_and_survives_rounding() -> None:
    positions, test = positions_of(Rules(2, 10), 8000), positions_of(Rules(2, 10), 2000, 1)
    told: list[float] = []
    weights = fit(SHAPE, positions, Settings(1_500_000, 0.005), progress=told.append)
    start = error(SHAPE, first_weights(SHAPE, np.random.default_rng(0)), test)
    fitted = error(SHAPE, weights, test)
    assert fitted < 0.012**2 < start
    assert told == sorted(told)
    model = whole_numbers(SHAPE, weights, {})
    wins = model.network(Rules(2, 10)).wins(test.own, test.other)
    assert np.abs(wins - values(SHAPE, weights, test)).max() < 2e-3
    again = whole_numbers(SHAPE, weights_of(model), {})
    assert all((again.arrays[name] == model.arrays[name]).all() for name in ("rows", "second"))
    assert np.abs(again.network(Rules(2, 10)).wins(test.own, test.other) - wins).max() < 1e-6
    for begin in (weights, weights_of(model)):
        further = fit(SHAPE, positions, Settings(100_000, 0.0005), begin)
        assert error(SHAPE, further, test) < 1.1 * fitted


def test_the_rate_rises_and_falls() -> None:
    settings = Settings(1_000_000, 0.01)
    rates = [rate_at(seen, settings) for seen in (0, 50_000, 100_000, 500_000, 999_999)]
    assert rates[0] < rates[1] < rates[2] > rates[3] > rates[4]
    assert rates[4] < 1e-6


def test_the_curve_is_the_logistic_one() -> None:
    points = curve() / 2**31
    odds = (np.arange(len(points)) - 1024) / 64
    assert np.abs(points - 1 / (1 + np.exp(-odds))).max() < 1e-9


def test_arguments_are_checked() -> None:
    weights = first_weights(SHAPE, np.random.default_rng(1))
    wrong: list[tuple[tuple[int, int, int, int, int], str]] = [
        ((0, 10, 6, 5, 32), "pieces"),
        ((2, 7, 6, 5, 32), "squares"),
        ((2, 10, 0, 5, 32), "distances"),
        ((2, 10, 6, 0, 32), "stretch"),
        ((2, 10, 6, 5, 0), "first"),
        ((2, 10, 6, 5, 48), "32"),
        ((3, 10, 6, 5, 32), "weights"),
    ]
    for changed, what in wrong:
        with pytest.raises(ValueError, match=what):
            FITTERS["portable"](*changed, weights)
    fitter = FITTERS["portable"](2, 10, 6, 5, 32, weights)
    one, zero = np.ones(1, np.uint64), np.zeros(1, np.float32)
    flags = np.zeros(1, np.uint8)
    outside, full = one << np.uint64(40), one * np.uint64(3 << 10)
    for own, other, kind in ((outside, one, flags), (one, full, flags), (one, one, flags + np.uint8(9))):
        with pytest.raises(ValueError, match="not an open game"):
            fitter.run(own, other, kind, zero, zero, zero, 0.0, False, 1)
    with pytest.raises(ValueError, match="expected shape"):
        fitter.run(one, one, flags, zero, zero, np.zeros(2, np.float32), 0.0, False, 1)


@pytest.mark.skipif(not TOOL.exists(), reason="there are no tools here")
def test_the_program_makes_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From a solve to a measured model of a tiny game, and what its moves lose."""
    rules = Rules(2, 10, must_capture=True)
    files = [str(tmp_path / name) for name in ("db", "uniform", "games", "model")]
    db, uniform, games, model = files
    solve(rules, db, sample=uniform, samples=5000, samples_least=50)
    run = runpy.run_path(str(TOOL))["main"]
    run(["games", db, games, "--games", "200", "--keep", "0.5", "--seed", "1"])
    assert "positions of 2 pieces, 10 squares, must capture" in capsys.readouterr().out
    run(["fit", model, uniform, games, "--first", "32", "--seen", "4e5", "--weights", f"{model}.kept.npy"])
    printed = capsys.readouterr().out
    assert "first third of the way" in printed
    made = read_model(model)
    assert list(made.shape.errors) == [4]
    assert 0.001 < made.shape.errors[4] < 0.05
    assert [figures["along_games"] for figures in made.made["figures"]] == [False, True]
    first = Path(model).read_bytes()
    run(["fit", model, uniform, games, "--first", "32", "--seen", "4e5"])
    again = read_model(model)
    assert all((again.arrays[name] == array).all() for name, array in made.arrays.items())
    assert len(first) > 1000
    capsys.readouterr()
    run(["loss", model, db, "--games", "200"])
    assert '"loss": 0.0' in capsys.readouterr().out
    run(["games", db, games, "--games", "50", "--model", model])
    run(["fit", model, uniform, "--first", "32", "--seen", "2e4", "--rate", "0.0001", "--begin", model])
    assert read_model(model).made["figures"][0]["error"] < 1.2 * made.made["figures"][0]["error"]
    with pytest.raises(SystemExit, match="another shape"):
        run(["fit", model, uniform, "--first", "64", "--seen", "2e4", "--begin", model])
    capsys.readouterr()
    run(["show", model])
    assert "| --must-capture | 0.0" in capsys.readouterr().out
    run(["make", model, db, uniform, "--first", "32", "--seen", "2e5", "--games", "60", "--keep", "0.5"])
    assert read_model(model).made["begin"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["db", "games", "model", "model.kept.npy", "uniform"]
