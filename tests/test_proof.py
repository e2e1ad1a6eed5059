"""Proved bounds: how they are found, stored, answered with, and checked by somebody else."""

import json
import shutil
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import islice, product
from math import ceil, floor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference_solver
from click.testing import CliRunner

import madn
from madn import Board, Rules
from madn._checker import Checker
from madn._ending import ends
from madn.cli import commands
from madn.errors import CorruptBlockError, InvalidNumberError, NoBoundsError, PlanError
from madn.proof import check_proof, unending_positions
from madn.rules import HOUSE_RULES
from madn.solver import Solution, kernels, make_plan, solve
from madn.solver.plan import PROVABLE
from madn.store import compress_database, verify_database, write_database
from madn.store.blocks import ENCODINGS, ProfileSlice, decode, decode_bounds, encode
from madn.store.encoders import within_bounds
from madn.views import plus_minus

NONE = np.zeros(0, np.int64)
MATTER = [rule for rule in HOUSE_RULES if rule != "start_in_box"]  # which the values depend on
VARIANTS = [dict(zip(MATTER, on, strict=True)) for on in product((False, True), repeat=len(MATTER))]
SMALL = [Rules(1, 8), Rules(2, 8), Rules(2, 8, no_jumping=True), Rules(2, 8, must_capture=True)]
SMALL += [Rules(2, 8, three_rolls=True), Rules.house(2, 8), Rules(3, 8)]


def names(rules: Rules) -> str:
    return rules.options.replace("--", "").replace(" ", "-")


def proved(rules: Rules, **settings: Any) -> Solution:
    return solve(make_plan(rules, proved=True, **{"threads": 1, **settings}))


def bounds_of(solution: Solution) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], int]:
    """Lower and upper bounds by ID from 0 to the last number, and that number."""
    content = np.empty(solution.rules.positions, ENCODINGS[solution.representation].content)
    solution.read(0, content)
    wide = solution.representation == "proved64"
    one, zero = (1 << 48, 0) if wide else (1 << 29, 1 << 28)
    return content["lower"].astype(np.int64) + zero, content["upper"].astype(np.int64) + zero, one


def checker_of(rules: Rules) -> Checker:
    return Checker(rules.pieces, rules.squares, rules.three_rolls, rules.no_jumping, rules.must_capture)


@cache
def _ids(rules: Rules) -> dict[Board, int]:
    return {board: number for number, board in enumerate(reference_solver.positions(rules)[0])}


def plain_step(rules: Rules, id: int, low: Any, high: Any, one: int) -> tuple[Fraction, Fraction]:
    """T of lower and of upper bounds at a position, lost rolls solved away, from `Board` and fractions."""
    boards, choices = reference_solver.positions(rules)
    ids = _ids(rules)

    def turn(number: int) -> tuple[Fraction, Fraction, Fraction, Fraction]:
        """What the rolls with a move add with lower and upper bounds; the weights of lost rolls: pass, roll again."""
        total = sum(weight for weight, _ in choices[number])
        least = most = wait = again = Fraction(0)
        for roll, (weight, moves) in enumerate(choices[number], 1):
            share = Fraction(weight, total)
            if boards[number].legal_moves(roll) == (madn.Move.PASS,):
                wait, again = (wait, again + share) if roll == 6 else (wait + share, again)
                continue
            least += share * max(int(low[i]) if same else one - int(high[i]) for i, same in moves)
            most += share * max(int(high[i]) if same else one - int(low[i]) for i, same in moves)
        return least, most, wait, again

    board = boards[id]
    least, most, wait, again = turn(id)
    theirs = turn(ids[Board(board.other, board.own, rules)])
    d = (1 - again) * (1 - theirs[3]) - wait * theirs[2]

    def solved(own: Fraction, other: Fraction) -> Fraction:
        return (own * (1 - theirs[3]) + wait * ((1 - theirs[3] - theirs[2]) * one - other)) / d

    return solved(least, theirs[1]), solved(most, theirs[0])


@pytest.mark.parametrize(
    "variant", VARIANTS, ids=lambda variant: "-".join(k for k, on in variant.items() if on) or "printed"
)
def test_every_game_ends_whatever_is_played(variant: dict[str, bool]) -> None:
    for pieces, squares in ((1, 8), (1, 40), (2, 8), (2, 14), (3, 8), (4, 8)):
        assert unending_positions(Rules(pieces, squares, **variant)) == 0


def test_marks_spread_as_the_plain_twin_says() -> None:
    for rules in (Rules(1, 8), Rules(2, 8, must_capture=True, three_rolls=True)):
        _, choices = reference_solver.positions(rules)
        marked = [not rolls for rolls in choices]
        while True:
            more = [
                mark or any(all(marked[i] for i, _ in moves) for _, moves in choices[id])
                for id, mark in enumerate(marked)
            ]
            if more == marked:
                break
            marked = more
        left, passes = ends(*_numbers(rules))
        assert left == marked.count(False) == 0
        assert ends(*_numbers(rules), most_passes=passes - 1)[0] > 0  # it says so while some are not marked


def _numbers(rules: Rules) -> tuple[int, int, bool, bool, bool]:
    return rules.pieces, rules.squares, rules.three_rolls, rules.no_jumping, rules.must_capture


@pytest.mark.parametrize("rules", SMALL[:-1], ids=names)
def test_bounds_hold_the_solution_and_nothing_narrower_is_proved_by_a_step(rules: Rules) -> None:
    """Each bound is one step of the others, rounded outwards: by fractions and `Board`, not by the checker."""
    solution = proved(rules)
    low, high, one = bounds_of(solution)
    boards, _ = reference_solver.positions(rules)
    values = reference_solver.solve(rules) if rules.pieces == 1 else [v / one for v in low.tolist()]  # it is slow
    for id in range(0, len(boards), 1 if len(boards) < 2000 else 7):
        assert low[id] - 1 <= values[id] * one <= high[id] + 1  # the reference is a float
        if boards[id].winner is None:
            least, most = plain_step(rules, id, low, high, one)
            assert (low[id], high[id]) == (floor(least), ceil(most))
        else:
            assert low[id] == high[id] == (one if boards[id].winner == "own" else 0)


@pytest.mark.parametrize("rules", SMALL, ids=names)
def test_a_bound_that_is_moved_by_one_step_is_found(rules: Rules) -> None:
    """Every bound of every position, one after the other, towards the inside; several thousand of them."""
    low, high, one = bounds_of(proved(rules))
    checker, rng = checker_of(rules), np.random.default_rng(7)
    assert checker.check(np.arange(rules.positions), low, high, one, NONE, 2)[0] == 0
    for id in rng.permutation(rules.positions)[:4000].tolist():
        for bounds, step in ((low, 1), (high, -1)):
            bounds[id] += step
            failures, *_, failed = checker.check(np.array([id]), low, high, one, NONE)
            assert failures == 1
            assert failed.tolist() == [id]
            bounds[id] -= step


def test_narrow_numbers_are_checked_as_wide_ones() -> None:
    rules = Rules(2, 8)
    low, high, one = bounds_of(proved(rules))
    narrow = (low >> 19).astype(np.int32), -(-high >> 19).astype(np.int32)  # no proof: rounded afterwards
    wide = narrow[0].astype(np.int64), narrow[1].astype(np.int64)
    ids = np.arange(rules.positions)
    found, again = (checker_of(rules).check(ids, a, b, one >> 19, NONE, 2) for a, b in (narrow, wide))
    assert found[:5] == again[:5]
    assert found[0] > 0
    assert np.array_equal(found[5], again[5])


@pytest.mark.parametrize("rules", [Rules(1, 8), Rules.house(1, 8), Rules(2, 8, three_rolls=True)], ids=names)
def test_the_checker_agrees_with_fractions_about_any_bounds(rules: Rules) -> None:
    """Random intervals, most of which prove nothing; lost rolls and finished games are among them."""
    boards, _ = reference_solver.positions(rules)
    rng, one = np.random.default_rng(3), 1 << 48
    values = np.array(reference_solver.solve(rules)) * one
    checker, verdicts = checker_of(rules), set()
    over = [id for id, board in enumerate(boards) if board.winner is not None]
    for id in rng.integers(0, len(boards), 300).tolist():
        low = np.clip(np.floor(values - rng.integers(0, one // 64, len(boards))), 0, one).astype(np.int64)
        high = np.clip(np.ceil(values + rng.integers(0, one // 64, len(boards))), 0, one).astype(np.int64)
        if boards[id].winner is not None:
            continue
        low[over], high[over] = values[over], values[over]  # who has won has won: the checker looks at the board
        least, most = plain_step(rules, id, low, high, one)
        low[id], high[id] = floor(least) + rng.integers(0, 2), ceil(most) - rng.integers(0, 2)
        verdict = low[id] <= least and most <= high[id]
        verdicts.add(verdict)
        known = checker.needed(np.array([id]))
        for where, some in ((NONE, slice(None)), (known, known)):
            assert (checker.check(np.array([id]), low[some], high[some], one, where)[0] == 0) == verdict
    assert verdicts == {True, False}


def test_what_is_not_known_proves_nothing() -> None:
    rules = Rules(1, 8)
    low, high, one = bounds_of(proved(rules))
    id = np.array([Checker(*_numbers(rules)).needed(np.array([5]))[0]])
    assert checker_of(rules).check(id, low[id], high[id], one, id)[0] == 1
    with pytest.raises(ValueError, match="no bounds of position"):
        checker_of(rules).check(np.array([7]), low[id], high[id], one, id)
    with pytest.raises(ValueError, match="bounds, in steps"):
        checker_of(rules).check(id, low[1:], high[1:], one, NONE)
    with pytest.raises(ValueError, match="no position"):
        checker_of(rules).needed(np.array([-1]))
    with pytest.raises(ValueError, match="no game"):
        Checker(7, 8, False, False, False)


@pytest.mark.parametrize("pieces", [1, 2])
def test_bounds_are_narrow_and_hold_the_plain_values(pieces: int) -> None:
    solution, plain = proved(Rules(pieces)), solve(make_plan(Rules(pieces), threads=1))
    low, high, one = bounds_of(solution)
    assert (high - low).max() / one / 2 <= 1e-12
    assert (high - low).max() / one == max(proof.width for proof in solution.proofs)
    values, same = np.empty(solution.rules.positions), np.empty(solution.rules.positions)
    plain.read(0, values)
    solution.read(0, same)
    assert np.array_equal(values, same)  # proving changes no value
    assert (np.abs(values * one - (low + high) / 2) <= (high - low) / 2 + 1).all()
    assert solution.bounds is not None
    start = Board.start(solution.rules)
    assert solution.bounds.interval(start)[0] < solution.win < solution.bounds.interval(start)[1]
    for proof in solution.proofs:
        lower, upper = solution.bounds.interval(proof.board)
        assert upper - lower == proof.width


def test_fixed_point_bounds_of_a_larger_game(monkeypatch: pytest.MonkeyPatch) -> None:
    """32-bit values, as three pieces have them, on a board that is small enough for this."""
    monkeypatch.setattr("madn.solver.plan.SMALL_GAME", 1000)
    rules = Rules(3, 10, no_jumping=True)
    solution = proved(rules, tolerance=1e-6)
    low, high, one = bounds_of(solution)
    assert solution.representation == "proved32"
    assert one == 1 << 29
    assert checker_of(rules).check(np.arange(rules.positions), low, high, one, NONE, 2)[0] == 0
    assert 0 < (high - low).max() / one / 2 <= 1e-6
    fine, finer, unit = bounds_of(_wide(rules, monkeypatch))
    assert (low * (unit // one) <= fine).all()
    assert (finer <= high * (unit // one)).all()


def _wide(rules: Rules, monkeypatch: pytest.MonkeyPatch) -> Solution:
    monkeypatch.setattr("madn.solver.plan.SMALL_GAME", 20_000_000)
    return proved(rules)


@pytest.mark.parametrize("small_game", [1000, 20_000_000])
def test_same_bits_for_any_threads_and_any_build(small_game: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("madn.solver.plan.SMALL_GAME", small_game)
    tolerance = 1e-6 if small_game == 1000 else None
    rules = Rules(3, 8, three_rolls=True)
    first = bounds_of(proved(rules, tolerance=tolerance))
    for build, threads in [(build, 2) for build in kernels.SWEEPERS] + [("portable", 3)]:
        monkeypatch.setattr(kernels, "build", build)
        again = bounds_of(proved(rules, tolerance=tolerance, threads=threads))
        assert all(np.array_equal(a, b) for a, b in zip(first[:2], again[:2], strict=True))


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("proved") / "two"
    madn.solve(Rules(2, 12), out=path, proved=True, threads=1)
    return path


def test_a_database_answers_with_bounds(database: Path) -> None:
    with madn.open_database(database) as db:
        assert db.proved
        assert db.values == "proved64"
        lower, upper = db.bounds("0/0")
        assert lower < db.win("0/0") < upper < lower + 1e-12
        assert db.error == max(np.subtract(*db.bounds_many(np.arange(len(db)))[::-1]))
        for board in ("0/0", "0,5/0,3", "b/0,13"):
            found = db.analyse(board)
            assert (found.lower, found.upper) == db.bounds(board)
            for value in found.rolls:
                assert value.proved == db.proved_best(board, value.roll)
                for move in value.moves:
                    low, high = db.bounds(move.board)
                    assert (move.lower, move.upper) == ((low, high) if value.roll == 6 else (1 - high, 1 - low))
        assert db.proved_best("0,5/0", 4) is True
        assert db.bounds("12,13/0") == (1.0, 1.0)
        assert db.bounds("0/12,13") == (0.0, 0.0)
        with pytest.raises(madn.IllegalMoveError, match="the game is over"):
            db.proved_best("12,13/0", 4)
    with madn.open_database() as db:
        assert not db.proved
        assert db.analyse("0/0").lower is None
        assert db.analyse("0/0").rolls[0].proved is None
        for ask in (lambda: db.bounds("0/0"), lambda: db.proved_best("0/0", 1)):
            with pytest.raises(NoBoundsError, match="no proved bounds in this database"):
                ask()


def test_moves_of_equal_worth_are_not_proved_best(database: Path) -> None:
    with madn.open_database(database) as db:
        undecided = [
            (board, value.roll)
            for board in islice(map(str, db), 0, None, 20)
            for value in db.analyse(board).rolls
            if value.proved is False
        ]
        assert undecided
        for board, roll in undecided:
            best, other = db.moves(board, roll)[:2]
            assert best.lower is not None
            assert other.upper is not None
            assert other.upper > best.lower


def test_checking_a_database(database: Path) -> None:
    report = check_proof(database, threads=2)
    rules = Rules(2, 12)
    assert report.ok
    assert report.positions == rules.positions
    assert report.unending == 0
    assert not report.failed
    assert 0 < report.proved_best < report.decisions
    with madn.open_database(database) as db:
        assert report.width == db.error
        assert report.width_board is not None
        low, high = db.bounds(report.width_board)
        assert high - low == report.width
    parts = [check_proof(database, component="/".join(zones)) for zones in product((".o", "o.", "..", "oo"), repeat=2)]
    assert sum(part.positions for part in parts) == rules.positions
    assert sum(part.decisions for part in parts) == report.decisions
    some = check_proof(database, sample=500, seed=3)
    assert some.ok
    assert some.positions == 500
    assert some.unending is None
    with pytest.raises(PlanError, match="write both finish zones"):
        check_proof(database, component="ooo/...")
    with pytest.raises(InvalidNumberError):
        check_proof(database, sample=0)


class Altered:
    """A solution with one bound moved."""

    def __init__(self, solution: Solution, id: int, name: str, step: int) -> None:
        self.solution, self.where = solution, (id, name, step)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.solution, name)

    def read(self, first: int, out: np.ndarray[Any, Any]) -> None:
        self.solution.read(first, out)
        id, name, step = self.where
        if out.dtype.names and first <= id < first + len(out):
            out[name][id - first] += step


def test_a_database_with_an_altered_bound_is_whole_but_proves_nothing(tmp_path: Path) -> None:
    """Digests are right, as those of a forger would be: only the checker sees it, and names the position."""
    rules = Rules(2, 8)
    solution = proved(rules)
    rng = np.random.default_rng(5)
    for number, id in enumerate(rng.permutation(rules.positions)[:20].tolist()):
        low, high, _ = bounds_of(solution)
        if low[id] == high[id]:
            continue  # a finished game: its bounds cannot come nearer
        path = tmp_path / str(number)
        altered = Altered(solution, id, *(("lower", 1), ("upper", -1))[number % 2])
        write_database(path, altered, {"residual": solution.residual})
        assert verify_database(path).ok
        report = check_proof(path)
        assert not report.ok
        assert Board.from_masks(*madn.ranking.game_of(rules).unrank(id), rules) in report.failed


def test_a_certificate_of_other_rules_proves_nothing(tmp_path: Path) -> None:
    """As many positions, other moves: the values of one game are not those of the other."""
    solution = proved(Rules(2, 8))
    low, high, one = bounds_of(solution)
    for other in (Rules(2, 8, three_rolls=True), Rules(2, 8, no_jumping=True), Rules(2, 8, must_capture=True)):
        assert checker_of(other).check(np.arange(other.positions), low, high, one, NONE)[0] > 0


def test_a_part_of_a_game_is_proved_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "part"
    result = madn.solve(Rules(3, 10), out=path, proved=True, board="0,12/0,12", threads=1)
    assert result.lower is not None
    assert result.upper is not None
    assert result.lower < result.win < result.upper
    report = check_proof(path)
    assert report.ok
    assert report.positions == result.positions
    assert report.width == result.width
    assert check_proof(path, sample=100).ok


def test_bounds_survive_compressing_whole_values_only(database: Path, tmp_path: Path) -> None:
    compress_database(database, tmp_path / "whole", level=3)
    compress_database(database, tmp_path / "rounded", bits=16)
    compress_database(database, tmp_path / "moves", store="policy")
    with madn.open_database(database) as db, madn.open_database(tmp_path / "whole") as whole:
        ids = np.arange(len(db))
        assert all(map(np.array_equal, db.bounds_many(ids), whole.bounds_many(ids)))
        assert np.array_equal(db.win_many(ids), whole.win_many(ids))
    for name in ("rounded", "moves"):
        assert verify_database(tmp_path / name, deep=True).ok
        with pytest.raises(NoBoundsError):
            check_proof(tmp_path / name)


@pytest.mark.parametrize("name", ["proved32", "proved64"])
def test_blocks_with_bounds(name: str) -> None:
    """What is stored comes back; bounds beyond 0 and 1 are damage, and a value outside its bounds is moved."""
    encoding, rng, where = ENCODINGS[name], np.random.default_rng(2), ProfileSlice(12, 1, 1, 0)
    least, most = (round((end - encoding.zero) * encoding.bounds) for end in (0, 1))
    content = np.empty(12 * 11, encoding.content)
    content["lower"] = rng.integers(least, most - 70_000, len(content))
    content["upper"] = content["lower"] + rng.integers(0, 60_000, len(content))
    middle = (content["lower"] + content["upper"]) // 2
    content["value"] = middle if name == "proved32" else middle / encoding.bounds
    frame = encode(content, encoding, 7, where)
    assert np.array_equal(decode_bounds(frame, encoding, 7, len(content), where), content)
    assert np.array_equal(decode(frame, encoding, 7, len(content), where), content["value"])
    for field, step in (("lower", -(1 << 16)), ("upper", 1 << 16), ("lower", 1 << 17)):
        wrong = content.copy()
        wrong[field][5] += step
        with pytest.raises(ValueError, match=f"{field} bounds are"):
            encode(wrong, encoding, 7, where)
    edge = content.copy()
    edge["lower"][3], edge["upper"][3] = least - 1, least + 9
    edge["value"][3] = encoding.raws(np.array([0.0]))[0]
    with pytest.raises(CorruptBlockError, match="a bound is not a probability"):
        decode_bounds(encode(edge, encoding, 7, where), encoding, 7, len(edge), where)
    outside = content.copy()
    outside["value"][4] = encoding.raws(encoding.wins(content["value"][4:5]) + 100_000 / encoding.bounds)[0]
    inside, error = within_bounds(outside, encoding)
    assert encoding.steps(inside["value"])[4] == content["upper"][4]
    assert error > 0
    assert np.array_equal(np.delete(inside, 4), np.delete(content, 4))


def test_a_cut_database_is_damaged(database: Path, tmp_path: Path) -> None:
    shutil.copytree(database, tmp_path / "cut")
    values = tmp_path / "cut" / "values-0000.madn"
    values.write_bytes(values.read_bytes()[:-1])
    result = CliRunner().invoke(commands, ["verify", str(tmp_path / "cut"), "--proof", "--json"])
    found = json.loads(result.stdout)
    assert result.exit_code == 1
    assert not found["ok"]
    assert found["damaged"]
    assert "failures" not in found


def test_what_cannot_be_proved_is_refused() -> None:
    refused: dict[str, dict[str, Any]] = {
        "bounds are proved by method tiles and stored in full": {"method": "thesis"},
        "stored in full: leave out bits": {"bits": 16},
        "games of up to 20,000,000 positions, and fine tolerances, are proved without scratch": {"scratch": "x"},
        "bounds are not proved together with a census or best moves": {"scratch": "x", "census": True},
    }
    for reason, settings in refused.items():
        with pytest.raises(PlanError, match=reason):
            make_plan(Rules(2), proved=True, **settings)
    with pytest.raises(PlanError, match="to prove bounds, this game must be solved to 1e-12 or finer"):
        make_plan(Rules(2), proved=True, tolerance=1e-6)
    with pytest.raises(PlanError, match="solved to 1e-05 or finer"):
        make_plan(Rules(3), proved=True, tolerance=2 * PROVABLE["fixed32"])


def test_the_memory_of_a_proof_is_planned() -> None:
    for pieces in (1, 2, 3):
        plain, with_bounds = (make_plan(Rules(pieces), proved=on) for on in (False, True))
        assert plain.memory_bytes < with_bounds.memory_bytes < 4 * plain.memory_bytes
        assert plain.disk_bytes < with_bounds.disk_bytes


Answer = Callable[..., tuple[int, Any]]


@pytest.fixture
def answer() -> Answer:
    def run(*arguments: object) -> tuple[int, Any]:
        result = CliRunner().invoke(commands, [str(a) for a in arguments])
        return result.exit_code, json.loads(result.stdout) if "--json" in arguments else result.stdout

    return run


def test_on_the_command_line(answer: Answer, database: Path, tmp_path: Path) -> None:
    status, solved = answer("solve", "--pieces", 2, "--squares", 12, "--proved", "--out", tmp_path / "db", "--json")
    assert status == 0
    assert solved["lower"] < solved["start"] < solved["upper"]
    assert solved["width"] <= 2e-12
    assert Board.parse(solved["width_board"], Rules(2, 12))
    components = [[part["component"] for part in solved[name]] for name in ("proof", "sweeps_per_component")]
    assert components[0] == components[1]
    assert "± " in answer("solve", "--pieces", 1, "--proved")[1]
    status, found = answer("win", database, "0/0", "--json")
    assert status == 0
    assert found["lower"] < found["win"] < found["upper"]
    assert (found["lower"], found["upper"]) == (solved["lower"], solved["upper"])
    assert answer("win", database, "0/0")[1].startswith(plus_minus(found["lower"], found["upper"]))
    status, found = answer("best-move", database, "0,5/0", 4, "--json")
    assert status == 0
    assert found["proved"] is True
    assert all(m["lower"] <= m["win"] <= m["upper"] for m in found["moves"])
    assert "The best move is proved." in answer("best-move", database, "0,5/0", 4)[1]
    status, found = answer("analyse", database, "0,5/0", "--json")
    assert status == 0
    assert found["lower"] < found["win"] < found["upper"]
    assert all(roll["proved"] in (True, False) for roll in found["rolls"])
    assert "±" in answer("analyse", database, "0,5/0")[1]
    status, found = answer("verify", database, "--proof", "--json")
    assert status == 0
    assert found["ok"]
    assert found["positions"] == Rules(2, 12).positions
    assert found["failures"] == 0
    assert found["width"] == solved["width"]
    assert found["unending"] == 0
    status, found = answer("verify", database, "--proof", "--sample", 50, "--json")
    assert status == 0
    assert found["positions"] == 50
    assert answer("verify", database, "--proof", "--component", ".o/..")[0] == 0
    status, found = answer("plan", "--pieces", 4, "--proved", "--memory", "1G", "--json")
    assert status == 0
    assert found["proved"] is True
    assert not found["fits"]
    assert found["from_disk"]["memory_bytes"] < 20 << 30
    assert found["from_disk"]["scratch_bytes"] < 75e9
    status, found = answer("info", database, "--json")
    assert found["values"] == "proved64"
    assert found["provenance"]["width"] == solved["width"]


def test_the_answer_is_no_or_the_question_is_wrong(answer: Answer, database: Path, tmp_path: Path) -> None:
    solution = proved(Rules(2, 8))
    altered = Altered(solution, solution.rules.positions // 2, "lower", 1)
    write_database(tmp_path / "db", altered, {"residual": solution.residual})
    status, found = answer("verify", tmp_path / "db", "--proof", "--json")
    assert status == 1
    assert not found["ok"]
    assert found["failures"] == 1
    assert len(found["failed"]) == 1
    assert "its bounds do not follow" in answer("verify", tmp_path / "db", "--proof")[1]
    from madn.cli import main

    plain = str(madn.database.embedded_path())
    assert main(["verify", plain, "--proof"]) == 2
    assert main(["verify", str(database), "--component", ".o/.."]) == 2
    assert main(["verify", str(database), "--proof", "--component", ".o"]) == 2
    assert main(["solve", "--pieces", "2", "--proved", "--bits", "16"]) == 2


def test_plus_minus_never_claims_too_much() -> None:
    rng = np.random.default_rng(1)
    for width in 10.0 ** -rng.uniform(1, 15, 500):
        middle = rng.uniform(width, 1 - width)
        lower, upper = middle - width / 2, middle + width / 2
        number, reach = plus_minus(lower, upper).replace(" %", "").split(" ± ")
        assert Fraction(number) - Fraction(reach) <= 100 * Fraction(lower)
        assert Fraction(number) + Fraction(reach) >= 100 * Fraction(upper)
        assert float(reach) <= 100 * width * 2 + 1e-13
