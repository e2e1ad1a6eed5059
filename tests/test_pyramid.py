"""The pyramid game: the compiled sweep against the paper's recursions, the theory, the strategy, bad input."""

# A test of a refusal passes what the types forbid.
# mypy: disable-error-code="arg-type"

import json
import random
import xml.etree.ElementTree as ET
from functools import cache, reduce
from itertools import pairwise
from operator import xor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference_pyramid as reference
from bad_arguments import REFUSED, THREADS, check
from hypothesis import given, settings
from hypothesis import strategies as st

from madn.cli import main
from madn.errors import InvalidBoardError, InvalidRulesError, MissingBlockError, ResourceError
from madn.games import pyramid
from madn.games.pyramid import (
    Action,
    Numbering,
    Solution,
    State,
    actions,
    after,
    limit,
    parse_state,
    solver,
    start,
    state_text,
)
from madn.games.pyramid._pyramid import PADDING, Blocks
from madn.games.pyramid.tree import Strategy, Turn, as_svg, as_text, strategy
from madn.report import facts

SMALL = range(2, 8)  # games that the twin solves in a second or two
# Counted by building the automaton of all multisets of runs that fit into the tiers, one tier after the other.
STATES = {8: 15_393, 9: 69_511, 10: 313_106, 11: 1_474_094}
ROOT = Path(__file__).resolve().parent.parent


@cache
def solved(tiers: int) -> Solution:
    return pyramid.solve(tiers)


@st.composite
def states(draw: st.DrawFn, tiers: int) -> State:
    """A state that comes up when both sides mark bars at random, with something left to decide."""
    state = start(tiers)
    for _ in range(draw(st.integers(0, tiers * tiers // 3))):
        following = [after(state, action) for action in actions(state)]
        state = draw(st.sampled_from(following))
        if pyramid.is_final(state):
            return start(tiers)
    return state


# against the twin


@pytest.mark.parametrize("tiers", SMALL)
def test_every_value_is_that_of_the_recursions(tiers: int) -> None:
    solution = solved(tiers)
    assert solution.states == len(reference.states(tiers))
    for x in reference.states(tiers):
        assert solution.value(x) == (reference.W(x), reference.Z(x)), x


@pytest.mark.parametrize("tiers", range(2, 7))
def test_actions_and_what_follows_are_those_of_the_paper(tiers: int) -> None:
    for x in reference.states(tiers):
        ours = [tuple(action) for action in actions(x)]
        if reference.final(x):
            assert ours == []
        else:
            assert ours == reference.actions(x)
            assert [after(x, Action(*u)) for u in ours] == [reference.g(x, (u[0], u[1], u[2])) for u in ours]


def test_the_example_of_the_actions() -> None:
    """Example 3.1 and Figure 5."""
    assert actions((2, 0, 1)) == [(1, 1, 1), (3, 1, 1), (3, 1, 2), (3, 1, 3), (3, 2, 2)]
    assert actions((0, 0, 1)) == [(3, 1, 1), (3, 1, 2), (3, 2, 2)]
    assert after((1, 1, 0, 1), Action(4, 2, 3)) == (3, 1, 0, 0)


# the numbering


@pytest.mark.parametrize("tiers", STATES)
def test_the_states_are_counted(tiers: int) -> None:
    assert solved(tiers).states == STATES[tiers]


@pytest.mark.parametrize("tiers", range(2, 10))
def test_every_state_has_its_own_number_without_gaps(tiers: int) -> None:
    solution = solved(tiers)
    numbers: dict[int, list[int]] = {}
    for row, first, second in solution.rows():
        assert len(first) == len(second)
        for ones in range(len(first)):
            state = (ones, *row[1:])
            if any(state):
                level, number = solution.find(state)
                assert level == sum(n * runs for n, runs in enumerate(state, 1) if n > 2)
                assert solution.value(state) == (first[ones], second[ones])
                numbers.setdefault(level, []).append(number)
    assert sum(map(len, numbers.values())) == solution.states
    for level, found in numbers.items():
        assert found == list(range(level == 0, len(found) + (level == 0)))  # number 0 of level 0 is the empty pyramid


@pytest.mark.parametrize("tiers", range(2, 7))
def test_no_other_vector_has_a_number(tiers: int) -> None:
    generator = random.Random(tiers)
    found, reachable = set(), reference.states(tiers)
    for _ in range(3000):
        x = tuple(generator.randrange(4) for _ in range(tiers))
        try:
            solved(tiers).find(x)
            found.add(x)
        except InvalidBoardError:
            assert x not in reachable
    assert found <= reachable


@pytest.mark.parametrize("tiers", range(2, 12))
def test_the_plan_has_room_for_all_states(tiers: int) -> None:
    solution, plan = solved(tiers), Numbering.of(tiers)
    assert all(size <= bound for size, bound in zip(solution._sizes, plan.states, strict=True))
    assert plan.memory_bytes(keep=True) >= 2 * solution.states + solver.BASE_MEMORY
    assert plan.memory_bytes(keep=False) <= plan.memory_bytes(keep=True)


# the sweep


@given(states(11))
def test_a_value_follows_from_those_after_it(state: State) -> None:
    solution = solved(11)
    following = [solution.value(after(state, action)) for action in actions(state)]
    assert solution.value(state).first == min(value.second for value in following) + 1
    assert solution.value(state).second == max(value.first for value in following)


def test_the_bits_do_not_depend_on_the_threads() -> None:
    for threads in (1, 3):
        other = pyramid.solve(11, threads=threads)
        for mine, theirs in zip(solved(11)._levels, other._levels, strict=True):
            assert mine is not None
            assert theirs is not None
            assert np.array_equal(mine[:-PADDING], theirs[:-PADDING])


@pytest.mark.parametrize("tiers", range(2, 12))
def test_forgetting_values_changes_no_answer(tiers: int) -> None:
    short = pyramid.solve(tiers, keep=False)
    assert short.value(start(tiers)) == solved(tiers).value(start(tiers))
    assert short.best_actions(start(tiers)) == solved(tiers).best_actions(start(tiers))
    if tiers > 3:
        with pytest.raises(MissingBlockError, match="not kept"):
            short.value((1,) + (0,) * (tiers - 1))
        with pytest.raises(MissingBlockError, match="not kept"):
            list(short.rows())


@settings(max_examples=40)
@given(states(9))
def test_solving_as_far_as_a_state_needs_is_enough(state: State) -> None:
    short = pyramid.solve(9, keep=False, until=state)
    assert short.value(state) == solved(9).value(state)
    assert short.best_actions(state) == solved(9).best_actions(state)


def test_progress_ends_at_one() -> None:
    seen: list[float] = []
    pyramid.solve(8, progress=lambda fraction, text: seen.append(fraction))
    assert all(a <= b for a, b in pairwise(seen))
    assert seen[-1] == 1


# the theory


@pytest.mark.parametrize("tiers", range(2, 11))
def test_who_wins_is_told_by_the_xor_of_the_runs(tiers: int) -> None:
    """A run of n bars has Grundy value n. As in Nim, who marks the last bar losing: the player to move wins if the xor
    of all runs is not 0, or, where there are only single bars, if their number is even. Over all states."""
    solution = solved(tiers)
    L, seen = solution.limit, 0
    for row, first, second in solution.rows():
        ones = np.arange(len(first))
        longer = reduce(xor, (n for n, runs in enumerate(row, 1) if runs % 2), 0)
        wins = (longer ^ (ones % 2)) != 0 if any(row) else ones % 2 == 0
        if not any(row):
            assert (first[0], second[0]) == (0, 255)  # the empty pyramid
            assert (first[1], second[1]) == (L, 0)
            wins, first, second = wins[2:], first[2:], second[2:]
            seen += 1
        # The winner needs at most L turns, and turns cannot be more than all bars allow.
        assert np.array_equal(first <= L, wins)
        assert np.array_equal(second >= L, wins)
        assert first.max(initial=0) <= L + (tiers * (tiers + 1) // 2) // 2
        seen += len(first)
    assert seen == solution.states


@pytest.mark.parametrize("tiers", [*SMALL, *STATES])
def test_the_second_player_wins_every_fourth_game(tiers: int) -> None:
    assert solved(tiers).wins(start(tiers)) == (tiers % 4 != 3)


def with_ones(tiers: int, ones: int, run: int | None = None) -> State:
    state = [ones] + [0] * (tiers - 1)
    if run:
        state[run - 1] = 1
    return tuple(state)


@pytest.mark.parametrize("tiers", [*SMALL, *STATES])
def test_closed_forms_with_one_long_run(tiers: int) -> None:
    """(4.1)-(4.6), and what (4.7) and (4.8) should say, for every number of single bars and every length."""
    solution, L = solved(tiers), limit(tiers)
    for ones in range(2, 2 * L):
        state = with_ones(tiers, ones)
        if solution._blocks.find(state):
            k = ones // 2
            assert solution.value(state) == ((L + k, k) if ones % 2 else (k, L + k - 1))
    for run in range(2, tiers + 1):
        for ones in range(2 * L):
            state = with_ones(tiers, ones, run)
            if solution._blocks.find(state):
                k = ones // 2
                more = (run >= 3) + (run >= 10) if ones % 2 else (run >= 5) + (run >= 11)
                assert solution.value(state) == (k + 1, L + k + more)
                expected = Action(run, 1, run if ones % 2 else run - 1)
                assert expected in solution.best_actions(state)


# the strategy


def turns_of(tree: Strategy) -> list[Turn]:
    found, new = [], [turn for _, turn in tree.turns]
    while new:
        found.append(new.pop())
        new += [turn for _, turn in found[-1].replies]
    return found


@pytest.mark.parametrize("tiers", range(2, 7))
def test_the_tree_is_a_strategy_that_wins(tiers: int) -> None:
    solution = solved(tiers)
    tree = strategy(solution, start(tiers))
    turns = turns_of(tree)
    followed = {turn.state: turn for turn in turns if not turn.again}
    for turn in turns:
        assert turn.state in followed
        assert not turn.cut
        assert turn.action in solution.best_actions(turn.state)
        assert after(turn.state, turn.action) == turn.after
        if not turn.again:
            assert [reply for reply, _ in turn.replies] == actions(turn.after)
            for reply, following in turn.replies:
                assert following.state == after(turn.after, reply)
                assert solution.value(following.state).first < solution.value(turn.state).first

    @cache
    def longest(state: State) -> int:
        return 1 + max((longest(turn.state) for _, turn in followed[state].replies), default=0)

    value = solution.value(start(tiers))
    needed = max(longest(turn.state) for _, turn in tree.turns)
    assert needed == (value.first if solution.wins(start(tiers)) else value.second)
    if not solution.wins(start(tiers)):
        assert [reply for reply, _ in tree.turns] == actions(start(tiers))


def test_the_tree_of_three_tiers_is_figure_6() -> None:
    lines = as_text(strategy(solved(3), start(3))).splitlines()
    assert lines[:4] == [
        "1,1,1",
        "|- (1,1,1) 0,1,1 -> (3,1,1) 0,2,0",
        "|  |- (2,1,1) 1,1,0 -> (2,1,2) 1,0,0",
        "|  `- (2,1,2) 0,1,0 -> (2,1,1) 1,0,0",
    ]
    assert len(lines) == 1 + 7 + 7  # seven first actions of the loser, and seven second ones


@pytest.mark.parametrize("state", ["1,1,1,1,1", "0,2,0,1,0", "2,0,0,0,0"])
@pytest.mark.parametrize("depth", [1, 2, None])
def test_the_drawing_has_a_box_for_every_turn(state: str, depth: int | None) -> None:
    tree = strategy(solved(5), parse_state(state, 5), depth)
    turns = turns_of(tree)
    picture = ET.fromstring(as_svg(tree))
    boxes = [box.get("class") for box in picture.iter("{http://www.w3.org/2000/svg}rect")]
    ends = [turn for turn in turns if pyramid.is_final(turn.after)]
    assert boxes.count("last") == len(ends)
    assert boxes.count("again") == sum(turn.again or turn.cut for turn in turns)
    assert boxes.count("turn") + boxes.count("again") == len(turns)
    assert as_text(tree).count("\n") == len(turns)
    if depth == 1:
        assert all(turn.cut or turn in ends for turn in turns)


def test_the_tree_in_the_documents_is_the_one_that_is_drawn() -> None:
    assert (ROOT / "docs" / "pyramid.svg").read_text(encoding="utf-8") == as_svg(strategy(solved(3), start(3)))


def test_a_tree_too_large_to_read_is_refused() -> None:
    with pytest.raises(ResourceError, match="smaller depth"):
        strategy(solved(8), start(8))
    assert len(turns_of(strategy(solved(8), start(8), depth=2))) < 100


# what is printed


def test_what_differs_from_the_paper() -> None:
    found = list(facts("pyramid"))
    wrong = {fact.what: fact.ours for fact in found if not fact.agrees}
    assert {what for what in wrong if "Table" in what} == {f"Table 1, {tiers} tiers: W(x0)" for tiers in (3, 7, 11)}
    assert [wrong[f"Table 1, {tiers} tiers: W(x0)"] for tiers in (3, 7, 11)] == [4, 20, 43]
    assert {what for what in wrong if "Table" not in what} == {"corollary (4.7)", "corollary (4.8)"}
    assert all(fact.note for fact in found if not fact.agrees)
    assert len(found) == 41


# input


@given(st.integers(2, 30).flatmap(lambda tiers: st.tuples(*[st.integers(0, 99_999)] * tiers)))
def test_a_state_is_read_as_it_is_written(state: State) -> None:
    assert parse_state(state_text(state), len(state)) == state


@pytest.mark.parametrize("text", ["", "1", "1,1", "1,1,1,1", "1,1,-1", "1,1,x", "1,,1", "1, 1,1", "1,1,1.0", "1,1,²"])
def test_what_is_not_a_state_is_refused(text: str) -> None:
    with pytest.raises(InvalidBoardError, match="state"):
        parse_state(text, 3)


@pytest.mark.parametrize("state", [(0, 0, 0), (0, 0, 2), (9, 0, 0), (0, 99999, 0), (1, 1, 1, 0), (1, 1)])
def test_what_cannot_come_up_is_refused(state: State) -> None:
    with pytest.raises(InvalidBoardError, match="cannot come up in a game of 3 tiers"):
        solved(3).value(state)


@pytest.mark.parametrize("tiers", [1, 0, -5, 101])
def test_no_game_has_fewer_than_two_tiers_or_more_than_a_hundred(tiers: int) -> None:
    with pytest.raises(InvalidRulesError, match=f"tiers must be 2 to 100, not {tiers}"):
        pyramid.solve(tiers)


def test_threads_are_at_least_one() -> None:
    with pytest.raises(InvalidRulesError, match="threads"):
        pyramid.solve(3, threads=0)


def test_a_game_too_large_says_what_it_would_need(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pyramid", "--tiers", "99"]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "madn: 99 tiers have at least 9.0e+56 states and need 1.7e+48 GiB of memory\n"


def test_too_little_memory_is_said_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("madn.machine.available_memory", lambda: 100 << 20)
    with pytest.raises(ResourceError, match=r"13 tiers needs .* of memory, but only 100 MiB is available"):
        pyramid.solve(13)


# the command


def test_the_command_answers_for_any_state(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pyramid", "--tiers", "5", "--state", "1,1,0,1,0", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    solution, state = solved(5), (1, 1, 0, 1, 0)
    assert [answer["first"], answer["second"]] == list(solution.value(state))
    assert [tuple(action) for action in answer["best_actions"]] == solution.best_actions(state)
    assert answer["best_action"] == answer["best_actions"][0]
    assert min(option["turns"] for option in answer["actions"]) == answer["first"]
    assert [tuple(option["action"]) for option in answer["actions"]] == actions(state)
    assert answer["tree"] is None


def test_the_command_draws_the_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawn = tmp_path / "tree.svg"
    assert main(["pyramid", "--tiers", "3", "--tree", "--svg", str(drawn)]) == 0
    assert as_text(strategy(solved(3), start(3))) in capsys.readouterr().out
    assert drawn.read_text(encoding="utf-8") == as_svg(strategy(solved(3), start(3)))


def test_the_last_bar_leaves_nothing_to_choose(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pyramid", "--tiers", "3", "--state", "1,0,0", "--tree", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["winner"] == "second"
    assert answer["best_action"] is None
    assert answer["tree"] is None


# the kernel's own checks


def test_the_kernel_refuses_what_is_not_of_its_game() -> None:
    counts = Numbering.of(5).counts
    check(Blocks, [5], {0: [1, 19, -3, 2**40, "5"]})
    with pytest.raises(TypeError):
        Blocks.__new__(Blocks)
    blocks, top = Blocks(5), len(counts) - 1
    assert blocks.candidates == sum(counts)
    levels: list[Any] = [np.zeros(16, np.uint8) for _ in counts]
    with pytest.raises(ValueError, match=f"level {top} has not been laid out"):
        blocks.solve(levels, 0, 0, 0, 7, 1)
    for level in range(top, -1, -1):
        for wrong in (level - 1, level + 1, -1, 99):
            with pytest.raises(ValueError, match=f"expected {level}, found {wrong}"):
                blocks.lay_out(wrong, 1)
        for threads in THREADS:
            with pytest.raises(REFUSED):
                blocks.lay_out(level, threads)
        levels[level] = np.zeros(2 * blocks.lay_out(level, 1) + 16, np.uint8)
    with pytest.raises(ValueError, match="expected -1"):
        blocks.lay_out(0, 1)
    spoilt_levels = [
        [*levels[:3], level, *levels[4:]] for level in (None, levels[3][:-1], levels[3].astype(np.int16), 7)
    ]
    for arguments in ([], None, *spoilt_levels):
        with pytest.raises((*REFUSED, IndexError)):
            blocks.solve(arguments, 3, 0, 1, 7, 1)
    good = [levels, 3, 0, 1, 7, 1]
    check(blocks.solve, good, {1: [-1, 99], 2: [-1, 2], 3: [-1, 99, 2**40], 4: [-1, 255], 5: THREADS})
    check(blocks.block, [3, 0], {0: [-1, 99], 1: [-1, 99]})
    check(blocks.blocks, [3], {0: [-1, 99]})
    check(blocks.find, [[1] * 5], {0: [3, ["1"] * 5]})
    for state in ([], [1] * 4, [1] * 6, [-1] * 5, [96, 0, 0, 0, 0], [0, 64, 0, 0, 0], [0, 0, 0, 0, 95], [2**70] * 5):
        assert blocks.find(state) is None


@pytest.mark.parametrize("threads", [0, -3, 1025, 100_000])
def test_threads_that_cannot_start_are_refused(threads: int) -> None:
    with pytest.raises(InvalidRulesError, match=f"threads must be 1 to 1024, not {threads}"):
        pyramid.solve(11, threads=threads)
