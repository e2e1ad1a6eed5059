"""The compiled solver against the plain one, against itself, and against the thesis."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import reference_solver
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from madn import Board, ResourceError, Rules
from madn._core import Game
from madn.errors import PlanError
from madn.solver import (
    Plan,
    Solution,
    components,
    convergence,
    estimate,
    kernels,
    make_plan,
    solve,
    thesis,
    tiles,
)
from madn.solver.footprint import component_positions
from madn.solver.graph import components as all_components
from madn.solver.kernels import SWEEPERS
from madn.solver.numbers import FIXED32, FLOAT64
from madn.solver.solution import MatrixValues

SMALL = [Rules(1, 8), Rules(1, 10), Rules(1, 14), Rules(2, 8), Rules(2, 10)]
KERNELS = SWEEPERS


def values_of(solution: Solution) -> NDArray[np.float64]:
    """All winning probabilities by ID."""
    if solution.representation == "float64":
        values = np.empty(solution.plan.positions)
        solution.read(0, values)
        return values
    fixed = np.empty(solution.plan.positions, np.int32)
    solution.read(0, fixed)
    return 0.5 + fixed / 2**29


def small_plan(rules: Rules, representation: str, **changes: Any) -> Plan:
    """A plan in either representation, whatever the size of the game would choose."""
    kept = {"float64": FLOAT64, "fixed32": FIXED32}[representation]
    return replace(make_plan(rules), representation=kept, tolerance=kept.finest, **changes)


def percent(solution: Solution) -> list[str]:
    """Minimum, maximum and start as the thesis prints them."""
    assert solution.start is not None
    return [f"{100 * value:.4f}" for value in (solution.min, solution.max, solution.start)]


@pytest.fixture(scope="module")
def two_pieces() -> Solution:
    return solve(make_plan(Rules(2)))


@pytest.fixture(params=sorted(KERNELS))
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(kernels, "build", request.param)
    return str(request.param)


@pytest.mark.parametrize("rules", SMALL, ids=str)
@pytest.mark.parametrize(("representation", "error"), [("float64", 1e-13), ("fixed32", 1e-8)])
def test_agrees_with_the_plain_solver_everywhere(rules: Rules, representation: str, error: float, kernel: str) -> None:
    ours = values_of(solve(small_plan(rules, representation)))
    assert np.abs(ours - reference_solver.solve(rules)).max() < error


@pytest.mark.parametrize("rules", [Rules(1, 8), Rules(1, 10)], ids=str)
def test_within_1e_12_of_the_exact_fractions(rules: Rules) -> None:
    exact = np.array([float(v) for v in reference_solver.exact(rules)])
    assert np.abs(values_of(solve(make_plan(rules))) - exact).max() < 1e-12


@pytest.mark.parametrize("rules", [Rules(1), Rules(1, 26), Rules(2, 12), Rules(3, 10), Rules(4, 8)], ids=str)
def test_methods_agree(rules: Rules) -> None:
    """Two algorithms with nothing in common but the rule of movement."""
    ours, theirs = solve(make_plan(rules)), solve(make_plan(rules, method="thesis", tolerance=1e-14))
    assert np.abs(values_of(ours) - values_of(theirs)).max() < 1e-12
    for name in ("start", "min", "max"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), abs=1e-12)
    assert theirs.residual <= 1e-14


@pytest.mark.parametrize("rules", [Rules(1), Rules(2, 8)], ids=str)
def test_within_1e_12_of_the_linear_system_of_the_best_moves(rules: Rules) -> None:
    values = values_of(solve(make_plan(rules)))
    assert np.abs(values - np.array(reference_solver.evaluate(rules, values.tolist()))).max() < 1e-12


def test_two_pieces_by_the_thesis_method(two_pieces: Solution) -> None:
    """Stopped where the thesis stopped, Algorithm 3 takes the 67 sweeps that the thesis reports."""
    thesis = solve(make_plan(Rules(2), method="thesis", tolerance=1e-6, threads=1))
    assert thesis.sweeps == 67
    assert np.abs(values_of(two_pieces) - values_of(thesis)).max() < 1e-5
    assert two_pieces.residual <= 1e-15


@pytest.mark.parametrize("representation", ["float64", "fixed32"])
@pytest.mark.parametrize("rules", [Rules(2, 24), Rules(3, 10), Rules(4, 8)], ids=str)
def test_same_bits_for_any_number_of_threads_and_any_build(
    rules: Rules, representation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = set()
    for name in sorted(KERNELS):
        monkeypatch.setattr(kernels, "build", name)
        for threads in (1, 2, 4):
            seen.add(values_of(solve(small_plan(rules, representation, threads=threads))).tobytes())
    assert len(seen) == 1


@pytest.mark.parametrize("representation", ["float64", "fixed32"])
def test_strips_in_parallel_give_the_same_bits(
    representation: str, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A game large enough for threads to share strips, which smaller ones are not; also for more threads than cores."""
    module, seen, workers = sys.modules[KERNELS[kernel].__module__], set(), []
    cut = module.parts_in_order

    def noted(counts: NDArray[np.int64], threads: int, together: int) -> Any:
        workers.append(threads)
        return cut(counts, threads, together)

    monkeypatch.setattr(module, "parts_in_order", noted)
    for threads in (1, 2, 3, 7):
        solution = solve(replace(small_plan(Rules(3, 20), representation, threads=threads), tolerance=1e-6))
        seen.add((values_of(solution).tobytes(), solution.updates, solution.residual))
        assert max(workers) == threads
    assert len(seen) == 1


@pytest.mark.parametrize("rules", SMALL, ids=str)
def test_residual_is_what_the_plain_rules_say(rules: Rules, kernel: str) -> None:
    solution = solve(small_plan(rules, "fixed32"))
    values = values_of(solution).tolist()
    boards, choices = reference_solver.positions(rules)
    errors = [
        abs(reference_solver.backup(values, rolls) - values[i]) if rolls else 0.0 for i, rolls in enumerate(choices)
    ]
    assert solution.residual == pytest.approx(max(errors), abs=1e-15)
    here = Game(rules).rank(*solution.residual_board.masks)
    assert errors[here] == pytest.approx(max(errors), abs=1e-15)
    assert boards[here] == solution.residual_board


@pytest.mark.parametrize("rules", SMALL, ids=str)
def test_extremes_are_over_all_open_positions(rules: Rules) -> None:
    solution = solve(make_plan(rules))
    boards, _ = reference_solver.positions(rules)
    values = values_of(solution)
    still_open = [values[i] for i, board in enumerate(boards) if board.winner is None]
    assert (solution.min, solution.max) == (min(still_open), max(still_open))
    game = Game(rules)
    assert values[game.rank(*solution.min_board.masks)] == solution.min
    assert values[game.rank(*solution.max_board.masks)] == solution.max
    assert values[game.rank(*Board.start(rules).masks)] == solution.start


def test_table_5_1_one_piece() -> None:
    solution = solve(make_plan(Rules(1)))
    # The thesis prints 8.3158 for the minimum: its run stopped at changes of 1e-6. See docs/results.md.
    figures = percent(solution)
    assert figures == ["8.3157", "93.3474", "53.0736"]


def test_table_5_1_two_pieces(two_pieces: Solution) -> None:
    figures = percent(two_pieces)
    assert figures == ["5.4905", "95.6076", "50.9187"]  # the thesis prints 5.4906 for the minimum
    assert str(two_pieces.min_board) == "b/39,41"
    assert str(two_pieces.max_board) == "39,41/b"


@pytest.mark.slow
def test_table_5_1_three_pieces() -> None:
    solution = solve(make_plan(Rules(3)))
    figures = percent(solution)
    assert figures == ["3.2250", "97.4200", "50.7843"]
    assert solution.residual <= 1e-6
    assert str(solution.max_board) == "39,41,42/b"


@given(data=st.data())
def test_a_value_is_the_mean_of_the_best_children(two_pieces: Solution, data: st.DataObject) -> None:
    game = Game(Rules(2, 40))
    id = data.draw(st.integers(0, game.positions - 1))
    board = Board.from_masks(*game.unrank(id), Rules(2))

    def win(board: Board) -> float:
        value = np.empty(1)
        two_pieces.read(game.rank(*board.masks), value)
        return float(value[0])

    if board.winner is not None:
        assert win(board) == float(board.winner == "own")
        return
    total = 0.0
    for roll in range(1, 7):
        children = [board.after(move, roll) for move in board.legal_moves(roll)]
        total += max(win(child) if roll == 6 else 1 - win(child) for child in children)
    assert win(board) == pytest.approx(total / 6, abs=2e-15)


@given(first=st.integers(0, 747434), length=st.integers(1, 3000))
def test_any_stretch_of_ids_can_be_read(two_pieces: Solution, first: int, length: int) -> None:
    length = min(length, 747435 - first)
    out = np.full(length, np.nan)
    two_pieces.read(first, out)
    assert np.array_equal(out, values_of(two_pieces)[first : first + length])


def test_unchanged_groups_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer positions are computed than sweeps times positions; the residual still holds."""
    rules = Rules(2, 40)
    monkeypatch.setattr(
        convergence, "can_stream", lambda *pair: False
    )  # in those that may be streamed nothing is left alone
    plan = replace(make_plan(rules, tolerance=1e-5), threads=1)
    solution = solve(plan)
    everything = sum(
        count * component_positions(rules, f, g)
        for (f, g), (_, count) in zip(all_components(rules), solution.sweeps_per_component, strict=True)
    )
    assert solution.updates < 0.99 * everything
    assert solution.residual <= 1e-5
    fine = solve(make_plan(rules))
    assert np.abs(values_of(solution) - values_of(fine)).max() < 1e-3


def components_positions(rules: Rules) -> int:
    return sum(component_positions(rules, f, g) for f, g in all_components(rules))


def test_directed_rounding_encloses_the_value(kernel: str) -> None:
    """Rounded down the kernel gives a lower bound, rounded up an upper bound (a component of two unlike sides)."""
    rules, bounds = Rules(2, 12), []
    exits = solve(small_plan(rules, "fixed32")).values
    assert isinstance(exits, MatrixValues)
    rows, columns = exits.sides[0], exits.sides[1]
    for rounding, start in ((-0.5, -(1 << 28)), (0.0, 0), (0.5, 1 << 28)):
        component = components.InMemory(rows, columns, FIXED32, exits.solved)
        component.values.L[:] = component.values.R[:] = start
        while component.sweeper.run(0, component.strips, 1, False, 0.0, rounding)[0] > 0:
            pass
        free = (rows.facing[:, None] & columns.masks[None, :]) == 0
        size = rows.size * columns.size
        both = [m[:size].reshape(rows.size, columns.size)[free] for m in (component.values.L, component.values.R)]
        bounds.append(np.concatenate(both).astype(np.int64))
    lower, nearest, upper = bounds
    assert (lower <= nearest).all()
    assert (nearest <= upper).all()
    assert 0 < (upper - lower).max() < 400


@pytest.mark.parametrize(("pieces", "count"), [(1, 1), (2, 6), (3, 28), (4, 120)])
def test_plan_counts(pieces: int, count: int) -> None:
    plan = make_plan(Rules(pieces))
    assert plan.components == count
    assert components_positions(Rules(pieces)) == sum(
        Rules(pieces).profile_size(*p) for p in Rules(pieces).profiles() if pieces not in (p[1], p[3])
    )


def test_plan_of_the_standard_game() -> None:
    plan = make_plan(Rules(4))
    assert (plan.positions, plan.largest_component) == (16_053_053_985, 6_901_580_871)
    assert plan.representation is FIXED32
    assert plan.memory_bytes > 40e9


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"tolerance": 0.0}, "tolerance"),
        ({"tolerance": -1e-6}, "tolerance"),
        ({"tolerance": float("nan")}, "tolerance"),
        ({"tolerance": float("inf")}, "tolerance"),
        ({"method": "guess"}, "method"),
        ({"threads": 0}, "threads must be 1 to 1024, not 0"),
        ({"threads": 65536}, "threads must be 1 to 1024"),
        ({"memory": 0}, "memory"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(changes: Any, part: str) -> None:
    with pytest.raises(PlanError, match=part):
        make_plan(Rules(2), **changes)


def test_five_pieces_can_be_counted_but_not_solved() -> None:
    with pytest.raises(PlanError, match="5"):
        make_plan(Rules(5))


def test_memory_that_will_not_fit_is_refused_before_the_work() -> None:
    with pytest.raises(ResourceError, match="memory"):
        solve(make_plan(Rules(3), memory=1 << 20), lambda *_: pytest.fail("work began"))


def test_three_pieces_plan_tolerances() -> None:
    assert make_plan(Rules(3)).representation is FIXED32
    assert make_plan(Rules(3)).tolerance == 1e-6
    assert make_plan(Rules(3), tolerance=1e-9).representation is FLOAT64


@pytest.mark.parametrize("method", ["tiles", "thesis"])
def test_progress_rises_to_the_end_and_an_interrupt_passes_through(method: str) -> None:
    plan = make_plan(Rules(2, 12), method=method, tolerance=1e-9)
    told: list[float] = []
    solve(plan, lambda fraction, text: told.append(fraction))
    assert all(0 <= a <= b <= 1 for a, b in pairwise(told))
    assert told[-1] == 1.0

    def interrupt(fraction: float, text: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(plan, interrupt)


def test_figures_are_plain_numbers() -> None:
    """What goes into JSON must be Python's own numbers."""
    s = solve(make_plan(Rules(1, 8)))
    json.dumps([s.sweeps, s.updates, s.seconds, s.residual, s.start, s.min, s.max, s.sweeps_per_component])


def test_the_estimate_grows_with_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert estimate.seconds(make_plan(Rules(2))) > 0  # measured
    assert estimate.seconds(make_plan(Rules(2), method="thesis")) > 0
    measured = SimpleNamespace(seconds=1.0, updates=10**8)
    monkeypatch.setattr(tiles, "solve", lambda plan, progress: measured)
    in_memory = make_plan(Rules(3))
    on_disk = make_plan(Rules(3), scratch=str(tmp_path), memory=1 << 40)
    streamed = replace(on_disk, streamed=frozenset([(0, 0)]))
    plans = [make_plan(Rules(2)), in_memory, on_disk, streamed, replace(streamed, census=True), make_plan(Rules(4))]
    times = [estimate.seconds(plan) for plan in plans]
    assert times == sorted(times)
    assert times[1] == pytest.approx(145_221_769 * (5 + 0.93 * 6) * 0.8 / 1e8)


def test_a_pass_is_cut_into_short_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is heard between two slices: method tiles, a few strips or a single one; method thesis, so many IDs."""
    monkeypatch.setattr(components, "SLICE", 500)
    monkeypatch.setattr(thesis, "SLICE", 500)
    passes, cuts = components.InMemory.passes, []

    def noted(self: components.InMemory, *settings: Any, **named: Any) -> Iterator[tuple[int, Any]]:
        ends = [0]
        for end, found in passes(self, *settings, **named):
            ends.append(end)
            yield end, found
        cuts.append((self.strip_values(), ends))

    monkeypatch.setattr(components.InMemory, "passes", noted)
    solve(make_plan(Rules(2, 10)))
    assert any(len(ends) > 3 for _, ends in cuts)
    for slots, ends in cuts:
        assert ends[-1] == len(slots)
        assert all(slots[first:end].sum() <= 500 or end == first + 1 for first, end in pairwise(ends))
    game = Game(Rules(2, 10))
    values = np.zeros(game.positions)
    ends = [round(part * len(values)) for part, _ in thesis._pass(game, values, 1, False)]
    assert ends == [*range(500, len(values), 500), len(values)]
