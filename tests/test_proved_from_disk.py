"""Bounds that are proved from disk: every value lies inside, and nothing that happens to a solve changes them."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Run
from disk import proving_plan
from numpy.typing import NDArray

from madn import Board, CorruptBlockError, PlanError, Rules
from madn._core import Game
from madn.solver import Plan, Scratch, Solution, _packing, make_plan, proved, scratch_directory, solve
from madn.solver.directed import DirectedStream
from madn.solver.layers import STORED, Layer, layer_of, round_outwards
from madn.solver.numbers import FIXED32
from madn.solver.plan import SMALL_GAME
from madn.solver.strips import StripFile

BOARDS = [Rules(2, 12), Rules(3, 8), Rules(2, 12, three_rolls=True, must_capture=True), Rules(2, 12, no_jumping=True)]
UNIT = FIXED32.unit


@cache
def exact(rules: Rules) -> NDArray[np.float64]:
    """The values of all positions by ID, to 1e-15."""
    values = np.empty(rules.positions)
    solve(make_plan(rules, tolerance=1e-15)).read(0, values)
    return values


@contextmanager
def everything_kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[int, tuple[Any, Any]]]:
    """No bounds are removed, and the strips of the largest component are copied as they are seen: L and R by strip."""
    seen: dict[int, tuple[Any, Any]] = {}
    note = proved.Prover._note_strip

    def copied(self: Any, intervals: Any, pair: Any, stream: Any, strip: int, layer: Layer) -> None:
        if pair == (0, 0):
            left, right = stream.values(strip)
            seen[strip] = left.copy(), right.copy()
        note(self, intervals, pair, stream, strip, layer)

    with monkeypatch.context() as patched:
        patched.setattr(Scratch, "_discard", lambda self: None)
        patched.setattr(proved.Prover, "_note_strip", copied)
        yield seen


@pytest.mark.parametrize("rules", BOARDS, ids=str)
def test_every_value_lies_between_its_bounds(rules: Rules, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game, values = Game(rules), exact(rules)
    with everything_kept(monkeypatch) as seen, scratch_directory(proving_plan(rules, tmp_path / "s")) as scratch:
        solution = solve(scratch.plan, scratch=scratch)
        widths: dict[tuple[int, int], float] = {}
        for f, g in scratch.pairs:
            for own, other in {(f, g), (g, f)}:
                rows, columns = scratch.sides[own], scratch.sides[other]
                shape = rows.size, columns.size
                if (f, g) == (0, 0):
                    left, right = (np.concatenate([seen[strip][side] for strip in sorted(seen)]) for side in (0, 1))
                    bounds = [(left, -right.T), (right, -left.T)]
                else:
                    low, high = (scratch.load(own, other, layer) for layer in (Layer.LOWER, Layer.UPPER))
                    pairs = ((low.L, high.L), (low.R, high.R))
                    bounds = [
                        (a[: rows.size * columns.size].reshape(shape), b[: rows.size * columns.size].reshape(shape))
                        for a, b in pairs
                    ]
                legal = (rows.facing[:, None] & columns.masks) == 0
                states = np.nonzero(legal)
                masks = rows.whole_masks[states[0]], columns.whole_masks[states[1]]
                truth = values[game.rank_many(*masks)], 1 - values[game.rank_many(*masks[::-1])]
                for (low_values, high_values), value in zip(bounds, truth, strict=True):
                    lower, upper = 0.5 + low_values[legal] / UNIT, 0.5 + high_values[legal] / UNIT
                    assert (lower <= value + 1e-14).all()
                    assert (value <= upper + 1e-14).all()
                    widths[f, g] = max(widths.get((f, g), 0), float((upper - lower).max()))
        for pair, proof in zip(scratch.pairs, solution.proofs, strict=True):
            slack = 1 if pair != (0, 0) else 2  # like sides: an upper bound of the widest, see `Prover._alike`
            assert widths[pair] - 1e-12 <= proof.width <= slack * widths[pair] + 1e-12
    start = Board.start(rules)
    assert solution.bounds is not None
    lower_start, upper_start = solution.bounds.interval(start)
    assert lower_start <= values[game.rank(*start.masks)] <= upper_start
    assert upper_start - lower_start <= max(proof.width for proof in solution.proofs) < 2e-6
    assert solution.start == (lower_start + upper_start) / 2


def figures(solution: Solution) -> Any:
    """All that is reported of a solve but its time."""
    assert solution.bounds is not None
    board = solution.plan.boards()[0]
    return solution.proofs, solution.bounds.interval(board), solution.extremes(), solution.sweeps, solution.updates


def solved(plan: Plan, progress: Callable[[float, str], None] | None = None) -> Any:
    """The figures of a plan that is carried out in its directory."""
    with scratch_directory(plan) as scratch:
        return figures(solve(plan, progress, scratch=scratch))


@pytest.mark.slow
def test_the_same_for_any_memory_and_any_number_of_threads(tmp_path: Path) -> None:
    rules = Rules(3, 8)
    plans = [proving_plan(rules, tmp_path / str(threads), threads=threads) for threads in (1, 3)]
    found = [solved(plan) for plan in (plans[0], replace(plans[1], streamed=frozenset()))]
    assert found[0] == found[1]


def test_a_part_of_a_game_and_a_side_that_moves_second(tmp_path: Path) -> None:
    rules = Rules(3, 8)
    for text in ("0,9/3", "1,10/2,9"):
        board = Board.parse(text, rules)
        plan = replace(proving_plan(rules, tmp_path / text.replace("/", "-")), board=text)
        part = make_plan(rules, board=text)
        plan = replace(plan, pairs=part.pairs, streamed=plan.streamed & set(part.pairs))
        with scratch_directory(plan) as scratch:
            solution = solve(plan, scratch=scratch)
        assert solution.bounds is not None
        lower, upper = solution.bounds.interval(board)
        assert lower <= exact(rules)[Game(rules).rank(*board.masks)] <= upper


def test_stopped_anywhere_it_goes_on_with_the_same_figures(tmp_path: Path) -> None:
    rules, steps = Rules(2, 12), 0
    plan = proving_plan(rules, tmp_path / "whole")

    def count(fraction: float, text: str) -> None:
        nonlocal steps
        steps += 1

    expected = solved(plan, count)
    stops = sorted(np.random.default_rng(1).integers(0, steps, 6).tolist())
    for number, stop in enumerate(stops):
        left = stop

        def stopping(fraction: float, text: str) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise KeyboardInterrupt

        directory = tmp_path / str(number)
        with pytest.raises(KeyboardInterrupt):
            solved(proving_plan(rules, directory), stopping)
        for path in list(directory.glob("*.lower"))[:1] if number % 3 == 0 else []:
            path.unlink()  # what is missing is made again
        assert solved(proving_plan(rules, directory, resume=True)) == expected


@pytest.mark.parametrize("suffix", ["lower", "widths"])
def test_a_changed_bound_is_noticed(suffix: str, tmp_path: Path) -> None:
    rules, directory = Rules(3, 8), tmp_path / "s"

    def change(fraction: float, text: str) -> None:
        if text.startswith("..."):  # the components with nothing finished on one side read what is changed here
            for path in directory.glob(f"*.{suffix}"):
                data = bytearray(path.read_bytes())
                data[len(data) // 3] ^= 1
                path.write_bytes(data)

    with pytest.raises(CorruptBlockError, match=rf"\.{suffix}: damaged: checksum of tile"):
        solved(proving_plan(rules, directory), change)


def test_margins_that_are_too_small_become_larger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = Rules(2, 12)
    margins: list[float] = []
    begin = DirectedStream._begin

    def noted(self: DirectedStream, solved: StripFile, margin: float) -> None:
        margins.append(margin)
        begin(self, solved, margin)

    monkeypatch.setattr(DirectedStream, "_begin", noted)
    monkeypatch.setattr("madn.solver.directed.FIRST_MARGIN", 2.0**-34)
    start = Game(rules).rank(*Board.start(rules).masks)
    _, (lower, upper), *_ = solved(proving_plan(rules, tmp_path / "s"))
    assert lower <= exact(rules)[start] <= upper
    assert max(margins) > min(margins)
    monkeypatch.setattr("madn.solver.directed.TRIES", 1)
    with pytest.raises(PlanError, match="no bounds were found"):
        solved(proving_plan(rules, tmp_path / "t"))


@pytest.mark.parametrize("margin", [0.5, 16.0])
def test_bounds_may_begin_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, margin: float) -> None:
    """Even with 0 and 1, from which nothing overflows; one try is enough then."""
    rules = Rules(2, 12)
    monkeypatch.setattr("madn.solver.directed.FIRST_MARGIN", margin)
    monkeypatch.setattr("madn.solver.directed.TRIES", 1)
    start = Game(rules).rank(*Board.start(rules).masks)
    proofs, (lower, upper), *_ = solved(proving_plan(rules, tmp_path / "s"))
    assert lower <= exact(rules)[start] <= upper
    assert max(proof.width for proof in proofs) < 1e-6


def test_rounding_outwards() -> None:
    values = np.arange(-100, 100, dtype=np.int32)
    low, high = values.copy(), values.copy()
    round_outwards(low, Layer.LOWER)
    round_outwards(high, Layer.UPPER)
    assert (low <= values).all()
    assert (values <= high).all()
    assert ((high - low) == np.where(values % STORED == 0, 0, STORED)).all()
    assert not (low % STORED).any()
    assert not (high % STORED).any()
    assert [layer.opposite for layer in Layer] == [Layer.UPPER, Layer.MIDDLE, Layer.LOWER]
    assert [layer_of(way, row) for way in (-1, 1) for row in (True, False)] == [0, 2, 2, 0]


def packed(halves: list[NDArray[np.int64]]) -> NDArray[np.uint8]:
    """Numbers as tiles have them: three bytes each, and zeros after every half."""
    parts = [b"".join((int(n) & 0xFFFFFF).to_bytes(3, "little") for n in half) + bytes(_packing.PAD) for half in halves]
    return np.frombuffer(b"".join(parts), np.uint8).copy()


def test_widths_of_packed_bounds() -> None:
    random = np.random.default_rng(3)
    for _ in range(50):
        counts = random.integers(0, 9, random.integers(1, 6))
        low = [random.integers(-(2**23) + 2, 2**23 - 300, count) for count in counts]
        wide = [random.integers(0, 256, count) for count in counts]
        widths = np.zeros(int(counts.sum()), np.uint8)
        _packing.spread(packed(low), packed([a + b for a, b in zip(low, wide, strict=True)]), counts, widths)
        assert widths.tolist() == np.concatenate(wide).tolist()
        for divisor in (1, 2):
            raised = packed(low)
            _packing.widen(raised, widths, counts, divisor)
            assert raised.tolist() == packed([a + b // divisor for a, b in zip(low, wide, strict=True)]).tolist()
    one = np.array([1])
    last = 2**23 - 1  # of what is stored: a bound there may have been further out
    for low_value, high_value in ((5, 4), (0, 256), (-last, 5 - last), (last - 5, last)):
        with pytest.raises(ValueError, match="wrong order, more than 255 steps apart"):
            _packing.spread(packed([np.array([low_value])]), packed([np.array([high_value])]), one, widths[:1].copy())


def test_on_the_command_line(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game = ("solve", "--pieces", 2, "--squares", 12, "--proved", "--scratch", tmp_path / "s")
    status, out, err = run(*game)
    assert (status, out, err) == (2, "", f"madn: {err.removeprefix('madn: ')}")
    assert f"games of up to {SMALL_GAME:,} positions" in err
    monkeypatch.setattr("madn.solver.plan.SMALL_GAME", 1000)
    for more in (["--out", tmp_path / "db"], ["--policy", tmp_path / "db"], ["--sample", tmp_path / "x.samples"]):
        status, out, err = run(*game, *more)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert not list(tmp_path.iterdir())
    status, out, err = run(*game, "--json")
    assert status == 0, err
    found = json.loads(out)
    rules = Rules(2, 12)
    value = exact(rules)[Game(rules).rank(*Board.start(rules).masks)]
    assert found["lower"] <= value <= found["upper"]
    assert found["lower"] <= found["start"] == found["win"] <= found["upper"]
    assert found["width"] < 1e-6
    assert len(found["proof"]) == found["components"] == 6
    assert list((tmp_path / "s").iterdir()) == []
    status, out, err = run("plan", *game[1:], "--json")
    assert status == 0, err
    plan = json.loads(out)
    assert plan["proved"] is True
    assert plan["disk_bytes"] == 0 < plan["scratch_bytes"] == plan["total_disk_bytes"]
    assert "not stored" in run("plan", *game[1:])[1]


def test_what_is_planned_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scratch files never take more than the plan says."""
    monkeypatch.setattr("madn.solver.plan.SMALL_GAME", 1000)
    rules, directory = Rules(2, 24), tmp_path / "s"
    plan = make_plan(rules, scratch=str(directory), tolerance=1e-6, proved=True)
    most = 0

    def measure(fraction: float, text: str) -> None:
        nonlocal most
        most = max(most, sum(path.stat().st_size for path in directory.glob("*.[lvwuc]*")))

    solved(plan, measure)
    assert 0.3 * plan.scratch_bytes < most <= plan.scratch_bytes
