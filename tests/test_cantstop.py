"""Can't Stop: rules and counts, the compiled solver against its plain twin, the laws of a solution, answers, files."""

import itertools
import json
import re
import shutil
import sqlite3
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference_cantstop
from bad_arguments import REFUSED, THREADS, check
from hypothesis import given, settings
from hypothesis import strategies as st

from madn.cli import main
from madn.errors import (
    ClosedDatabaseError,
    CorruptBlockError,
    FormatVersionError,
    InvalidBoardError,
    InvalidRulesError,
    MadnError,
    ResourceError,
    RulesMismatchError,
)
from madn.games.cantstop import (
    CantStop,
    Position,
    Solution,
    TurnAnswers,
    kernels,
    open_database,
    read_roll,
    rule28,
    solve,
    store,
    write_database,
)
from madn.games.cantstop._stage import Stage
from madn.games.cantstop._turns import Turns
from madn.games.cantstop.first_turn import first_turn, stored_turn
from madn.games.cantstop.numbering import Numbering
from madn.games.cantstop.turns import Turn, estimates, states, steps, stop_leads_to
from madn.report import facts
from madn.store.records import frame_digest

SMALL = [
    CantStop(2, 1, to_win=2),
    CantStop(2, 3, to_win=2),
    CantStop(3, 1, 0),
    CantStop(3, 1, 1),
    CantStop(3, 1, 1, 2),
    CantStop(4, 1, 0),
]
GAMES = [*SMALL, CantStop(3, 2, 0), CantStop(3, 1)]
PRINTED = {(3, 1): (6_324, 634_756), (3, 2): (83_964, 20_834_282), (3, 3): (930_756, 453_310_692)}


@cache
def solved(game: CantStop, **way: Any) -> Solution:
    return solve(game, **way)


def squares(game: CantStop) -> st.SearchStrategy[Position]:
    """Positions of an open game, with markers or without."""

    @st.composite
    def build(draw: Any) -> Position:
        own, other, markers = [0] * game.columns, [0] * game.columns, [0] * game.columns
        won, used = [0, 0], 0
        for c, length in enumerate(game.lengths):
            kind = draw(st.integers(0, 9))
            if kind < 2 and won[kind] + 1 < game.to_win:
                (own, other)[kind][c] = length
                won[kind] += 1
                continue
            own[c], other[c] = draw(st.integers(0, length - 1)), draw(st.integers(0, length - 1))
            if own[c] == other[c]:
                own[c] = 0
            if used < 3 and kind > 6:
                markers[c], used = draw(st.integers(own[c] + 1, length)), used + 1
        return Position(tuple(own), tuple(other), tuple(markers), game)

    return build()


# rules and counts


@pytest.mark.parametrize("name", PRINTED)
def test_components_and_positions_are_counted_as_the_paper_counts(name: tuple[int, int]) -> None:
    game = CantStop(*name)
    assert (game.components, game.positions) == PRINTED[name]


@pytest.mark.parametrize("game", SMALL, ids=str)
def test_counts_are_those_of_an_enumeration(game: CantStop) -> None:
    pairs = [[(x, y) for x in range(n) for y in range(n) if x != y or x == 0] + [None] for n in game.lengths]
    components, placements = 0, 0
    for board in itertools.product(*pairs):
        left = [0 if p is None else n - p[0] for p, n in zip(board, game.lengths, strict=True)]
        placed = sum(
            np.prod([left[c] for c in chosen], dtype=int)
            for size in range(4)
            for chosen in itertools.combinations(range(game.columns), size)
        )
        weight = len(game.splits(board.count(None))) * (2 if board == board[::-1] else 1)
        components, placements = components + weight, placements + weight * placed
    owned = [[*p[:-1], "own", "other"] for p in pairs]
    over = sum(max(board.count("own"), board.count("other")) >= game.to_win for board in itertools.product(*owned))
    assert game.components == components // 2
    assert game.positions == placements + 2 * over


@pytest.mark.parametrize("sides", range(2, 7))
def test_the_rolls_are_all_rolls(sides: int) -> None:
    game = CantStop(sides, 1, 0, 2)
    assert sum(count for count, _ in game.rolls) == sides**4
    assert len(game.rolls) <= 128  # what the kernels have room for


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"sides": 7}, "sides must be 2 to 6, not"),
        ({"sides": 1}, "sides must be 2 to 6, not"),
        ({"shortest": 0}, "shortest must be 1 to 15, not 0"),
        ({"difference": -1}, "difference must be 0 to 15, not -1"),
        ({"shortest": 15}, "at most 15"),
        ({"sides": 2}, "ill-posed: .*1,024 components"),
        ({"sides": 4, "to_win": 5}, "ill-posed"),
        ({"sides": 3.0}, "whole number"),
    ],
)
def test_rules_that_are_no_game_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidRulesError, match=words):
        CantStop(**settings)


def test_games_that_are_too_large_are_refused_before_the_work() -> None:
    with pytest.raises(ResourceError, match="463,613,714,183,780,596 components"):
        solve(CantStop(6, 3))
    with pytest.raises(ResourceError, match="6,324 components"):
        solve(CantStop(3, 1), memory=1000)


def test_how_a_pair_of_sums_is_played() -> None:
    left, free = (1, 3, 5, 3, 1), (None,) * 5

    def played(markers: Any, *pairing: Any) -> list[tuple[int, ...]]:
        return [step.columns for step in steps(left, markers, pairing)]

    assert played(free, 1, 3) == [(1, 3)]  # both sums must be played
    assert played(free, 2, 2) == [(2, 2)]  # a double moves two steps
    assert played(free, 0, 0) == [(0,)]  # or one, if only one is left
    assert played((0, None, None, None, None), 0, 3) == [(3,)]  # a marker at the top moves no more
    assert played((0, 2, None, None, None), 2, 3) == [(2,), (3,)]  # the last marker: the player chooses
    assert played((0, 2, None, None, None), 1, 3) == [(1, 3)]
    assert played((0, 2, 4, None, None), 3, 4) == []  # no marker left
    assert played((0, 2, 4, None, None), 2, 3) == [(2,)]
    assert steps((0, 3, 5, 3, 1), free, (0, 0)) == []  # a closed column is closed


# notation


@given(st.sampled_from([CantStop(3, 3), CantStop(4, 1), CantStop(6, 2)]).flatmap(squares))
def test_a_position_and_its_text_are_inverses(position: Position) -> None:
    assert Position.parse(str(position), position.game) == position


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "write OWN/OTHER"),
        ("-", "write OWN/OTHER"),
        ("-/-+", "no markers after"),
        ("4/-", "'4' is not COLUMN:STEPS"),
        ("4:/-", "is not COLUMN:STEPS"),
        ("٤:2/-", "is not COLUMN:STEPS"),
        ("7:1/-", "no column 7"),
        ("4:0/-", "0 steps"),
        ("4:8/-", "column 4: steps must be 0 to 7, not 8"),
        ("4:1,4:2/-", "written twice"),
        ("4:2/4:2", "both players are on step 2"),
        ("4:*/4:2", "column 4 is won"),
        ("-/4:*+4:1", "column 4 is won"),
        ("4:3/-+4:3", "not above"),
        ("-/-+2:1,3:1,4:1,5:1", "at most 3 markers"),
        ("2:*,3:*,4:*/-", "the game is over: the player to move"),
        ("-/2:*,3:*,4:*", "the game is over: the opponent"),
    ],
)
def test_texts_that_are_no_position_are_refused(text: str, words: str) -> None:
    with pytest.raises(InvalidBoardError, match=words):
        Position.parse(text, CantStop(3, 3))


@pytest.mark.parametrize("text", ["", "112", "11234", "1124", "0123", "a123", "١١٢٣"])
def test_texts_that_are_no_roll_are_refused(text: str) -> None:
    with pytest.raises(MadnError, match="write four dice"):
        read_roll(text, CantStop(3, 3))


# the compiled code and its twin


def read_program(code: list[int]) -> list[tuple[int, list[tuple[int, list[int]]]]]:
    """Of each state the rolls that lose the turn, and for the others (how many, the states they can lead to)."""
    found, numbers = [], iter(code)
    for lost in numbers:
        groups = []
        for size in (1, 2, 3):
            for _ in range(next(numbers)):
                rolls = next(numbers)
                count = next(numbers) if size == 3 else size
                groups.append((rolls, [next(numbers) for _ in range(count)]))
        found.append((lost, groups))
    return found


@pytest.mark.parametrize(
    "game", [CantStop(2, 3, to_win=2), CantStop(3, 1), CantStop(4, 1, 0), CantStop(5, 1, 0)], ids=str
)
def test_the_kernels_know_the_same_moves(game: CantStop) -> None:
    numbering = Numbering(game)
    mask = (1 << game.columns) - 1
    for rest in (mask, mask & ~2):
        sets = kernels.column_sets(rest, game.columns)
        placements = numbering.placements(rest)
        some = np.arange(0, len(placements), max(1, len(placements) // 20)).astype(np.int32)
        turns, _, _ = kernels.make_turns(numbering, rest, some, 1)
        for k, own in enumerate(placements.squares[some].tolist()):
            left = tuple((n - x) * (rest >> c & 1) for c, (n, x) in enumerate(zip(game.lengths, own, strict=True)))
            order = [
                tuple(
                    None if not chosen >> c & 1 else dict(zip(columns, stepped, strict=True))[c]
                    for c in range(game.columns)
                )
                for chosen in sets
                for columns in [[c for c in range(game.columns) if chosen >> c & 1]]
                for stepped in itertools.product(*(range(left[c]) for c in columns))
            ]
            program = read_program(turns.program(k).tolist())
            assert len(program) == len(order)
            for state in states(game, left):
                lost, groups = program[order.index(state.markers)]
                merged: dict[frozenset[Any], int] = {}
                for count, options in state.groups:
                    key = frozenset(states(game, left)[option].markers for option in options)
                    merged[key] = merged.get(key, 0) + count
                assert lost == state.lost
                assert {frozenset(order[o] for o in options): count for count, options in groups} == merged


def assert_the_twin_agrees(game: CantStop) -> None:
    solution = solved(game)
    found = reference_cantstop.solve(game)
    for (own, other, won, lost), (value, _) in found.items():
        assert solution.anchor(own, other, won, lost) == pytest.approx(value, abs=1e-12)
    start = (0,) * game.columns
    assert solution.first_player == pytest.approx(found[start, start, 0, 0][0], abs=1e-12)


@pytest.mark.parametrize("game", SMALL, ids=str)
def test_the_twin_agrees_to_12_digits(game: CantStop) -> None:
    assert_the_twin_agrees(game)


@pytest.mark.slow
def test_the_twin_agrees_to_12_digits_on_the_papers_first_game() -> None:
    assert_the_twin_agrees(CantStop(3, 1))


@pytest.mark.parametrize("game", [CantStop(3, 1), CantStop(3, 2, 0)], ids=str)
def test_bits_depend_neither_on_threads_nor_lanes_nor_processor(game: CantStop) -> None:
    expected = solved(game, threads=1).values
    ways: list[dict[str, Any]] = [
        {"threads": 2},
        {"threads": 3},
        {"lanes": 1},
        *({"build": name} for name in kernels.BUILDS),
    ]
    for way in ways:
        assert np.array_equal(solve(game, **way).values, expected), way


def test_a_large_level_may_be_shared_row_by_row() -> None:
    """With many threads one class of a level is too much for one of them: the other way to share the work."""
    assert np.array_equal(solve(CantStop(3, 2), threads=16).values, solved(CantStop(3, 2)).values)


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_every_component_of_the_count_is_solved_once(game: CantStop) -> None:
    assert solved(game).components == game.components
    assert solved(game).table[1].sum() == game.components


@pytest.mark.parametrize("game", SMALL, ids=str)
def test_plain_iteration_comes_to_the_same_values(game: CantStop) -> None:
    plain = solve(game, method="plain")
    assert np.abs(plain.values - solved(game).values).max() < 1e-12
    assert plain.iterations > solved(game).iterations


# the kernels' own checks


def stage_arguments(monkeypatch: pytest.MonkeyPatch, **changed: Any) -> tuple[list[Any], list[Any]]:
    """What `make_stage` hands to the kernels for the start of a small game: the arguments of `Turns` and of `Stage`."""
    calls: list[list[Any]] = []

    def recorder(kernel: Any) -> Any:
        def record(*arguments: Any) -> Any:
            calls.append(list(arguments))
            return kernel(*arguments)

        return record

    monkeypatch.setattr(kernels, "Turns", recorder(Turns))
    monkeypatch.setitem(kernels.BUILDS, "recorded", recorder(Stage))
    numbering = Numbering(CantStop(3, 1, 1))
    kernels.make_stage(numbering, 0b11111, np.zeros((2, numbering.size)), 5, 1, "recorded")
    monkeypatch.undo()
    return calls[0], calls[1]


def test_the_kernels_refuse_tables_that_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    for_turns, for_stage = stage_arguments(monkeypatch)
    rolls, sets, lengths, places, bonus = for_turns[2:7]
    bad: dict[int, list[Any]] = {
        2: [
            [],
            rolls * 128,
            [(70000, ())],
            [(-1, ())],
            [(1, ((0, 5),))],
            [(1, ((0, -1),))],
            [(1, ((0, 1),) * 4)],
            ((),),
        ],
        3: [[], sets[:-1], [*sets, 1 << 5], [0b1111, *sets[1:]], [-1, *sets[1:]], sets[::-1], 7],
        4: [[], lengths[:-1], [0, *lengths[1:]], [16, *lengths[1:]], [1] * 12],
        5: [[], places[:-1], [-1, *places[1:]], [10**12, *places[1:]]],
        6: [[], bonus[:-1], [10**12, *bonus[1:]]],
        10: [np.zeros(0, np.int32)],
        11: THREADS,
    }
    longer = {10}  # more rows than are needed do no harm
    check(Turns, for_turns, bad, {7, 8, 9}, unchecked=longer)
    turns = Turns(*for_turns)
    check(turns.program, [0], {0: [-1, len(for_turns[0]), 2**40]})
    total, values = for_stage[3], for_stage[8]
    frozen = values.copy()
    frozen.flags.writeable = False
    sizes: dict[int, list[Any]] = {
        0: [7],
        3: [total[:-1].copy(), total[::-1].copy(), total + 1, total[:0].copy(), total[:1].copy(), total[None]],
        8: [values[:, :-1].copy(), np.zeros((3, values.shape[1])), values[0], values[:0], values.astype("f4"), frozen],
        9: [-1, 2**40, 2**62],
        10: [-1, 0, 2**40],
        11: ["5"],
        13: THREADS,
    }
    for build in kernels.BUILDS.values():
        check(build, for_stage, sizes, unchecked={3, 8})
        stage = build(*for_stage)
        check(stage.solve_level, [0, 8, -1.0, 100], {1: [0, 2, 3, 16, -1], 3: [0, -1, 256]})
        for level in (-5, 10**6):
            assert stage.solve_level(level, 8, -1.0, 100)[3] == 0
        with pytest.raises(TypeError):
            build.__new__(build)


@pytest.mark.parametrize("build", kernels.BUILDS)
def test_a_wrong_number_in_a_table_does_not_crash_the_kernels(build: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Either it is refused, or it leads to a wrong value, but never out of the tables."""
    chance = np.random.default_rng(5)
    both = stage_arguments(monkeypatch)
    refused = tried = 0
    for which, place in [(0, 0), (0, 1), *((0, k) for k in range(7, 11)), *((1, k) for k in range(1, 9))]:
        array = both[which][place]
        for _ in range(12):
            wrong = array.copy()
            extremes = [0, 1, 7, 99] if array.dtype == np.float64 else [*_extremes(array.dtype), int(array.max()) + 1]
            wrong[tuple(chance.integers(wrong.shape))] = chance.choice(np.array(extremes, array.dtype))
            for_turns, for_stage = list(both[0]), list(both[1])
            (for_turns, for_stage)[which][place] = wrong
            tried += 1
            try:
                for_stage[0] = Turns(*for_turns)
                stage = kernels.BUILDS[build](*for_stage)
                for level in range(8, -1, -1):
                    stage.solve_level(level, 8, -1.0, 20)
            except (*REFUSED, ArithmeticError):
                refused += 1
    assert tried / 5 < refused < tried


def _extremes(dtype: np.dtype[Any]) -> list[int]:
    limits = np.iinfo(dtype)
    return [0, 1, max(limits.min, -1), limits.min, limits.max]


# laws


@given(squares(CantStop(3, 2)))
@settings(max_examples=25)
def test_the_value_of_a_component_is_what_its_turn_makes_of_it(position: Position) -> None:
    component = TurnAnswers(solved(CantStop(3, 2)), position)
    assert component.worth.anchor == pytest.approx(component.anchors[0], abs=1e-14)


@given(squares(CantStop(3, 2)))
def test_mirrored_positions_are_worth_the_same_and_a_turn_is_worth_something(position: Position) -> None:
    solution = solved(CantStop(3, 2))
    won, lost = position.won
    here = solution.anchor(position.own, position.other, won, lost)
    assert solution.anchor(position.own[::-1], position.other[::-1], won, lost) == here
    assert 0 <= 1 - solution.anchor(position.other, position.own, lost, won) < here <= 1


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_table_2_is_symmetric_and_has_nothing_below_its_diagonal(game: CantStop) -> None:
    for table in solved(game).table:
        assert np.array_equal(table, table[::-1, ::-1].T)
        assert not np.triu(table, 1).any()


def test_newton_converges_faster_than_plain_iteration() -> None:
    turn, first_player = stored_turn(CantStop(3, 3))
    fast, slow = (estimates(turn, turn, method, 200) for method in ("newton", "plain"))
    assert fast[-1][0] == pytest.approx(first_player, abs=1e-15)
    assert slow[-1][0] == pytest.approx(first_player, abs=1e-14)
    assert len(fast) < 8 < 20 < len(slow)


@pytest.mark.parametrize("game", [CantStop(3, 3), CantStop(4, 1)], ids=str)
def test_the_stored_first_turns_are_solutions(game: CantStop) -> None:
    turn, first_player = stored_turn(game)
    worth = turn.worth(1 - first_player)
    assert worth.anchor == pytest.approx(first_player, abs=1e-14)
    assert len(turn.states) > 500


# the rule of 28


def test_the_points_of_the_rule_of_28() -> None:
    game = CantStop(6, 3)
    assert rule28.steps_worth(game) == [6, 5, 4, 3, 2, 1, 2, 3, 4, 5, 6]

    def bonus(*columns: int) -> int:
        return rule28.bonus(game, sum(1 << (c - 2) for c in columns))

    assert [bonus(6, 8), bonus(6, 7, 8), bonus(6, 8, 10), bonus(3, 7, 11), bonus(2, 4, 6), bonus(3, 5, 7)] == [
        0,
        0,
        -2,
        2,
        2,
        6,
    ]


@pytest.mark.parametrize("points", [6, 12, 100])
def test_a_player_by_the_rule_is_solved_exactly(points: int) -> None:
    """The first turn of role 0 in plain Python, from the values of the components around it."""
    game = CantStop(3, 1)
    ruled = solve(game, rule=points)
    first, second = rule28.chances(ruled)
    best = solved(game).first_player
    assert 0 <= first <= best
    assert 0 <= second <= 1 - best
    assert ruled.components == 2 * game.components
    worth = rule28.steps_worth(game)

    class Best:
        """What role 0 is left with after stopping: the opponent has role 1."""

        def anchor(self, own: Any, other: Any, won: int, lost: int) -> float:
            return float(ruled.values[1, ruled.numbering.index(own, other, lost)])

    def stop(markers: Any) -> float | None:
        after = stop_leads_to(game, (0,) * 5, (0,) * 5, markers)
        assert after is not None
        return 1 - Best().anchor(after[1], after[0], 0, after[2]) if after[2] < game.to_win else 1.0

    class Obedient(Turn):
        """Stops at so many points and not before, unless that wins."""

        def worth(self, fail: float) -> Any:
            rolls: list[float] = []
            best: list[Any] = []
            for state, value in zip(self.states, self.stops, strict=True):
                total = state.lost * fail
                total += sum(count * max(best[o] for o in options) for count, options in state.groups)
                rolls.append(total / game.sides**4)
                placed = [c for c in range(game.columns) if state.markers[c] is not None]
                score = rule28.bonus(game, sum(1 << c for c in placed))
                score += sum(worth[c] * (game.lengths[c] - (state.markers[c] or 0) + 1) for c in placed)
                stopping = value is not None and (score >= points or value == 1.0)
                best.append(value if stopping else rolls[-1])
            return rolls[-1]

    turn = Obedient(game, game.lengths, stop)
    fail = 1 - Best().anchor((0,) * 5, (0,) * 5, 0, 0)
    assert turn.worth(fail) == pytest.approx(first, abs=1e-13)


# answers


def test_answers_for_a_position() -> None:
    game = CantStop(3, 2)
    position = Position.parse("3:1,4:2/4:3,5:2+4:3,6:1", game)
    component = TurnAnswers(solved(game), position)
    answer = component.answer(position)
    assert answer.stop is None  # the opponent is on step 3 of column 4
    assert position.blocked == [4]
    assert answer.action == "roll"
    moves = component.moves(position, read_roll("1123", game))
    assert [option.win for option in moves] == sorted((option.win for option in moves), reverse=True)
    assert {option.move.pairing for option in moves} == {(2, 5), (3, 4)}
    for option in moves:
        assert component.answer(option.move.position).win == option.win
    mean = 0.0
    for dice in itertools.product(range(1, 4), repeat=4):
        options = component.moves(position, dice)
        mean += (options[0].win if options else component.anchors[1]) / 81
    assert mean == pytest.approx(answer.roll, abs=1e-13)


def test_winning_the_last_column_does_not_end_a_turn_on_an_opponents_square() -> None:
    game = CantStop(3, 2)
    position = Position.parse("2:*,3:*/4:2+4:2,6:*", game)
    assert TurnAnswers(solved(game), position).answer(position).stop is None
    free = Position.parse("2:*,3:*/4:2+4:3,6:*", game)
    assert TurnAnswers(solved(game), free).answer(free).stop == 1.0


def test_markers_that_no_roll_leads_to_are_refused() -> None:
    game = CantStop(3, 2)
    position = Position.parse("-/-+4:1", game)  # the other pair of dice moves too
    with pytest.raises(MadnError, match="no rolls lead"):
        TurnAnswers(solved(game), position).answer(position)


# files


@pytest.fixture
def database(tmp_path: Path) -> Path:
    write_database(tmp_path / "db", solved(CantStop(3, 1)))
    return tmp_path / "db"


def test_a_closed_database_says_so(database: Path) -> None:
    opened = open_database(database)
    nothing = (0,) * opened.game.columns
    assert opened.first_player == opened.anchor(nothing, nothing, 0, 0) > 0.5
    opened.close()
    for ask in (lambda: opened.first_player, lambda: opened.anchor(nothing, nothing, 0, 0), opened.info, opened.verify):
        with pytest.raises(ClosedDatabaseError, match="the database is closed"):
            ask()


def test_a_database_answers_as_the_solution_it_was_made_from(database: Path) -> None:
    game, solution, opened = CantStop(3, 1), solved(CantStop(3, 1)), open_database(database)
    opened.verify()
    assert opened.game == game
    assert np.array_equal(
        np.concatenate([opened.block(opened.catalogue.table, k) for k in range(opened.totals()[0])]), solution.values[0]
    )
    assert opened.first_player == solution.first_player
    assert opened.provenance["components"] == game.components
    position = Position.parse("4:2/3:1", game)
    assert TurnAnswers(opened, position).worth.best == TurnAnswers(solution, position).worth.best
    write_database(database, solved(CantStop(3, 1, 1)))  # takes its place
    assert open_database(database).game == CantStop(3, 1, 1)
    assert sorted(path.name for path in database.parent.iterdir()) == ["db"]


def damage(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path / "catalogue.sqlite")
    connection.executescript(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE cantstop SET value = 2 WHERE name = 'sides'", "ill-posed"),
        ("UPDATE cantstop SET value = 6 WHERE name = 'sides'", "cannot have been solved"),
        ("UPDATE cantstop SET value = 2 WHERE name = 'shortest'", "blocks do not hold"),
        ("DELETE FROM cantstop WHERE name = 'to_win'", "to_win"),
        ("DELETE FROM blocks WHERE block = 0", "block 0 is missing|do not hold"),
        (
            "UPDATE blocks SET length = length + 1 WHERE block = 0",
            "expected a frame at byte|out of range",
        ),
        ("UPDATE blocks SET offset = -1 WHERE block = 0", "block 0: offset -1 is out of range 0 to"),
        ("UPDATE blocks SET length = 1 << 40", "block 0: length 1099511627776 is out of range 1 to 16,777,216"),
        ("UPDATE files SET name = '../secret'", "expected 0, 'values-0000.madn'"),
        ("UPDATE provenance SET value = '{'", "damaged"),
        ("DROP TABLE provenance", "table provenance is missing"),
        ("DROP TABLE blocks; CREATE VIEW blocks AS SELECT 1", "table blocks is missing"),
        ("DROP TABLE cantstop", "table cantstop is missing"),
        ("PRAGMA application_id = 7", "not a catalogue of madn"),
    ],
)
def test_a_damaged_catalogue_is_refused(database: Path, statement: str, words: str) -> None:
    damage(database, statement)
    with pytest.raises(CorruptBlockError, match=words):
        open_database(database)


@pytest.mark.parametrize("version", [0, 2])
def test_other_formats_are_refused(database: Path, version: int) -> None:
    damage(database, f"PRAGMA user_version = {version}")
    with pytest.raises(FormatVersionError, match=f"format {version} is too"):
        open_database(database)


def test_damaged_frames_are_refused(database: Path) -> None:
    values = database / "values-0000.madn"
    content = bytearray(values.read_bytes())
    content[100] ^= 1
    values.write_bytes(content)
    with pytest.raises(CorruptBlockError, match="block 0: SHA-256 mismatch: catalogue says"):
        open_database(database).verify()
    damage(
        database,
        f"UPDATE blocks SET digest = '{frame_digest(bytes(content[: _length(database)]))}' WHERE block = 0",
    )
    with pytest.raises(CorruptBlockError, match="block 0: zstd frame is damaged"):
        open_database(database).verify()
    values.unlink()
    values.symlink_to(database / "catalogue.sqlite")
    with pytest.raises(CorruptBlockError, match=r"values-0000.madn: not an ordinary file"):
        open_database(database).verify()


def _length(database: Path) -> int:
    connection = sqlite3.connect(database / "catalogue.sqlite")
    found: int = connection.execute("SELECT length FROM blocks WHERE block = 0").fetchone()[0]
    connection.close()
    return found


def test_numbers_that_are_no_probabilities_are_refused() -> None:
    encode = store.Encoder(CantStop(3, 1), 1).encode
    for bad in (np.nan, -0.1, 1.5):
        with pytest.raises(CorruptBlockError, match="not a probability"):
            store.decode(encode(7, np.array([0.5, bad])).frame, 7, 2)
    with pytest.raises(CorruptBlockError, match="block header is"):
        store.decode(encode(7, np.array([0.5, 0.5])).frame, 8, 2)


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorruptBlockError, match="no database here"):
        open_database(tmp_path)
    (tmp_path / "catalogue.sqlite").write_bytes(b"not SQLite" * 100)
    with pytest.raises(CorruptBlockError, match="damaged, or not a catalogue"):
        open_database(tmp_path)


# what is printed


def test_the_report_agrees_with_table_1() -> None:
    found = list(facts("cantstop"))
    table = [fact for fact in found if fact.what.startswith("Table 1")]
    assert len(table) == 8
    assert all(fact.agrees for fact in table)


@pytest.mark.slow
def test_the_papers_third_game() -> None:
    """(3,3): the first player's chance, Table 2 but for two cells at a rounding boundary, the stored first turn."""
    found = [fact for fact in facts("cantstop", full=True) if "3,3" in fact.what or "Table 2" in fact.what]
    wrong = [fact for fact in found if not fact.agrees]
    assert len(found) == 12
    assert {fact.published for fact in wrong} <= {3.37, 3.83}
    for fact in wrong:
        assert fact.ours == pytest.approx(fact.published, abs=0.0052)
    ours = next(fact.ours for fact in found if "first player" in fact.what)
    assert stored_turn(CantStop(3, 3))[1] == pytest.approx(ours, abs=1e-12)


def test_what_is_kept_of_a_first_turn_is_that_of_the_solution() -> None:
    kept = first_turn(solved(CantStop(3, 2)))
    turn, _ = stored_turn(CantStop(3, 3))
    assert kept["first_player"] == solved(CantStop(3, 2)).first_player
    assert len(kept["stops"]) == len(states(CantStop(3, 2), CantStop(3, 2).lengths)) - 1
    assert len(turn.stops) == len(states(CantStop(3, 3), CantStop(3, 3).lengths))


# the command


def test_the_command_answers_from_a_database(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cantstop", "--db", str(database), "--position", "3:1/4:1", "--roll", "1123", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["components"], found["positions"]) == PRINTED[3, 1]
    assert found["first_player"] == solved(CantStop(3, 1)).first_player
    answer = found["position"]
    assert answer["text"] == "3:1/4:1"
    assert answer["win"] == answer["anchors"][0]
    assert answer["stop"] is None
    assert [move["win"] for move in answer["moves"]] == sorted((m["win"] for m in answer["moves"]), reverse=True)


def test_the_command_writes_a_database_and_plays_the_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "two"
    line = ["cantstop", "--sides", "2", "--shortest", "2", "--to-win", "2", "--out", str(out), "--rule", "8", "--json"]
    assert main(line) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rule"]["first"] + found["rule"]["loss_first"] == pytest.approx(found["first_player"])
    assert min(found["rule"]["loss_first"], found["rule"]["loss_second"]) >= 0
    assert open_database(out).first_player == found["first_player"]


@pytest.mark.parametrize(
    ("line", "status", "words"),
    [
        ("--sides 2 --shortest 3", 2, "ill-posed"),
        ("--sides 6", 3, "463,613,714,183,780,596 components"),
        ("--sides 5 --shortest 1 --memory 1G", 3, "19,000,798,799 components"),
        ("--sides 3 --shortest 1 --roll 1123", 2, "--roll needs --position"),
        ("--sides 3 --shortest 1 --position 4", 2, "write OWN/OTHER"),
        ("--sides 3 --shortest 1 --position -/- --roll 9999", 2, "four dice"),
        ("--db DB --sides 4", 2, "holds (3,1)"),
        ("--db DB --out x", 2, "--db answers"),
        ("--db NOWHERE", 3, "no such database"),
        ("--sides 3 --shortest 1 --threads 0", 2, "threads must be 1 to 1024, not 0"),
        ("--sides 3 --shortest 1 --threads 100000", 2, "threads must be 1 to 1024, not 100000"),
        ("--sides 3 --shortest 1 --method guess", 2, "guess"),
    ],
)
def test_bad_input_is_one_line(
    line: str, status: int, words: str, database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words_of_line = line.replace("DB", str(database)).replace("NOWHERE", str(database / "none")).split()
    assert main(["cantstop", *words_of_line]) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert words in err


def test_a_database_of_ludo_is_told_apart(tmp_path: Path) -> None:
    from importlib.resources import files

    with pytest.raises(RulesMismatchError, match="not of Can't Stop"):
        open_database(Path(str(files("madn").joinpath("data", "two-pieces"))))
    shutil.copytree(str(files("madn").joinpath("data", "two-pieces")), tmp_path / "ludo")
    write_database(tmp_path / "ludo", solved(CantStop(2, 1, to_win=2)))  # a database may take the place of another
    assert open_database(tmp_path / "ludo").game == CantStop(2, 1, to_win=2)


def test_info_describes_a_database(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    solution = solved(CantStop(3, 1))
    assert main(["info", str(database), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == open_database(database).info()
    assert found["game"] == "cantstop"
    assert found["rules"] == {"sides": 3, "shortest": 1, "difference": 2, "to_win": 3}
    assert (found["components"], found["positions"]) == PRINTED[3, 1]
    assert found["first_player"] == solution.first_player
    assert found["blocks"] == -(-len(solution.values[0]) // store.BLOCK)
    assert found["bytes"] == sum(path.stat().st_size for path in database.iterdir())
    assert found["provenance"]["iterations"] == solution.iterations
    page = (Path(__file__).resolve().parent.parent / "docs" / "cli.md").read_text(encoding="utf-8")
    section = page.split("\n## madn info\n")[1].split("\n## ")[0]
    assert all(f"`{field}`" in section for field in found)
    assert main(["info", str(database)]) == 0
    out = capsys.readouterr().out
    assert out.isascii()
    assert max(map(len, out.splitlines())) < 100
    assert re.search(r"^game +Can't Stop: 3-sided dice, shortest column 1, ", out, re.MULTILINE)


def test_info_says_what_is_wrong_with_a_database(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damage(database, "UPDATE provenance SET value = '1e999' WHERE name = 'seconds'")
    assert main(["info", str(database)]) == 3
    assert "table provenance: cannot be written as JSON: Out of range float values" in capsys.readouterr().err


@pytest.mark.parametrize("forged", ["'\"long\"'", "'[1]'", "'true'"])
def test_a_time_that_is_no_number_is_damage(forged: str, database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damage(database, f"UPDATE provenance SET value = {forged} WHERE name = 'seconds'")
    assert main(["cantstop", "--db", str(database)]) == 3
    assert "provenance 'seconds' is not a number but" in capsys.readouterr().err


@pytest.mark.parametrize("line", ["win DB 0/0", "analyse DB 0/0", "verify DB", "compress DB NEW", "serve DB --port 0"])
def test_a_question_about_ludo_is_told_who_answers(
    line: str, database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line.replace("DB", str(database)).replace("NEW", str(tmp_path / "new")).split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert "a database of Can't Stop, not of Ludo; madn info and madn cantstop --db read it" in err
