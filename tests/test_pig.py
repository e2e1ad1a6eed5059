"""Pig: the compiled solver against plain Python with fractions, the laws that values obey, the facts of both papers."""

import itertools
import os
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
import reference_pig
from bad_arguments import THREADS, check
from hypothesis import given, settings
from hypothesis import strategies as st

from madn import report
from madn.errors import InvalidBoardError, InvalidRulesError, RulesMismatchError
from madn.games.pig import WUBBEL, Pig, Solution, Strategy, article_table, best_response, duel, fewest_turns
from madn.games.pig import solve as solve_again
from madn.games.pig._pig import Kernel
from madn.games.pig.solver import _kernel

VARIANTS = ["classic", "exact", "difference"]
solve = cache(solve_again)


@st.composite
def games(draw: st.DrawFn, largest: int = 9, variants: list[str] = VARIANTS) -> Pig:
    faces = draw(st.integers(2, 8))
    losing_face = draw(st.integers(1, faces))
    variant: Any = draw(st.sampled_from(variants))
    return Pig(draw(st.integers(2, largest)), faces, losing_face, variant, draw(st.booleans()))


@st.composite
def strategies(draw: st.DrawFn, game: Pig) -> Strategy:
    chance = np.random.default_rng(draw(st.integers(0, 2**32)))
    return Strategy.table(game, chance.random((game.target,) * 3) < draw(st.sampled_from([0.1, 0.5, 0.9])))


def choices(game: Pig) -> list[tuple[int, int, int]]:
    """All states with a choice."""
    n = game.target
    return [(own, other, turn) for own in range(n) for other in range(n) for turn in range(1, n - own)]


# the plain Python version


@settings(max_examples=40)
@given(game=games(8))
def test_values_and_actions_are_those_of_the_fractions(game: Pig) -> None:
    found, exact = solve_again(game), reference_pig.Game(game, None, None)
    for (own, other), value in exact.rolls.items():
        assert found.values[own, other] == pytest.approx(float(value), rel=1e-14, abs=1e-14)
        assert found.after[other, own] == pytest.approx(float(exact.waits[own, other]), rel=1e-14, abs=1e-14)
    dead = set(game.dead_scores())
    for own, other, turn in choices(game):
        if {own, other} <= dead:
            continue
        value, roll, hold = exact.state(own, other, turn)
        answer = found.ask(own, other, turn)
        assert [answer.value, answer.roll, answer.hold] == pytest.approx([*map(float, (value, roll, hold))], abs=1e-13)
        assert answer.action == ("hold" if hold > roll else "roll"), (own, other, turn)


@settings(max_examples=40)
@given(game=games(7), data=st.data())
def test_duels_are_those_of_the_fractions(game: Pig, data: st.DataObject) -> None:
    first, second = data.draw(strategies(game)), data.draw(strategies(game))
    found = duel(first, second)
    exact = reference_pig.Game(game, first.holds, second.holds)
    for (a, b), value in exact.rolls.items():
        assert found.values[a, b] == pytest.approx(float(value), abs=1e-13)
        assert found.waiting[b, a] == pytest.approx(float(exact.waits[a, b]), abs=1e-13)
    if game.variant == "exact":
        endless = reference_pig.Game(game, first.holds, second.holds, (0, 0, 1))
        assert found.endless == pytest.approx(float(endless.rolls[0, 0] + endless.waits[0, 0]) / 2, abs=1e-14)
    else:
        assert found.endless == 0


@settings(max_examples=40)
@given(game=games(7), data=st.data())
def test_the_best_response_is_that_of_the_fractions(game: Pig, data: st.DataObject) -> None:
    strategy = data.draw(strategies(game))
    found = duel(best_response(strategy), strategy)
    exact = reference_pig.Game(game, None, strategy.holds)
    for (a, b), value in exact.rolls.items():
        assert found.values[a, b] == pytest.approx(float(value), abs=1e-13)
        assert found.waiting[b, a] == pytest.approx(float(exact.waits[a, b]), abs=1e-13)


def article(own: int, other: int, turn: int, known: dict[tuple[int, int, int], Fraction]) -> Fraction:
    """Formula (2) of the Wubbel article with its mercy point, to 12 instead of 50, saving only with points in hand."""
    goal, state = 12, (own, other, turn)
    if other >= goal:
        return Fraction(0)
    if own + turn >= goal:
        return Fraction(1)
    if state not in known:
        rolls = [article(own, other, turn + face, known) for face in range(1, 6)]
        roll = (sum(rolls) + 1 - article(other, own + 1, 0, known)) / 6
        known[state] = max(roll, 1 - article(other, own + turn, 0, known)) if turn else roll
    return known[state]


def test_the_mercy_point_is_the_recursion_of_the_article() -> None:
    game = Pig(target=12, losing_face=6, mercy=True)
    found, known = solve(game), dict[tuple[int, int, int], Fraction]()
    article(0, 0, 0, known)
    assert len(known) > 700
    for state, value in known.items():
        assert found.win(*state) == pytest.approx(float(value), abs=1e-14)


# more digits


def precise(solution: Solution) -> np.ndarray[Any, np.dtype[np.longdouble]]:
    """The values once more with more digits, all pairs of scores of one sum at a time, from the rules.

    The decisions at each pair are the best ones for the values at hand, improved until no value moves.
    """
    game, n = solution.game, solution.game.target
    one = np.longdouble(0 if game.variant == "difference" else 1)
    values = np.zeros((n, n), np.longdouble)
    held = np.zeros((n, n), np.longdouble)  # held[other, own]
    dead = np.zeros(n, bool)
    dead[list(game.dead_scores())] = True
    steps = [face for face in range(1, game.faces + 1) if face != game.losing_face]
    for total in range(2 * n - 2, -1, -1):
        own = np.arange(max(0, total - n + 1), min(n, total + 1))
        other = total - own
        need = n - own
        won = (n - other).astype(np.longdouble) if game.variant == "difference" else np.ones(len(own), np.longdouble)
        x = solution.values[own, other].astype(np.longdouble)
        hopeless = dead[own] & dead[other]
        for _ in range(30):
            lost = one - x[::-1]
            value = np.zeros((n + game.faces, len(own)), np.longdouble)
            slope = np.zeros_like(value)
            for turn in range(n + game.faces - 1, -1, -1):
                over = turn >= need
                past = (turn > need) & (game.variant == "exact")
                if turn < n:
                    roll = (sum(value[turn + step] for step in steps) + lost) / game.faces
                    chance = (sum(slope[turn + step] for step in steps) + 1) / game.faces
                    hold = held[other, np.minimum(own + turn, n - 1)]
                    holds = (hold > roll) & (turn > 0)
                    value[turn], slope[turn] = np.where(holds, hold, roll), np.where(holds, 0, chance)
                value[turn] = np.where(past, lost, np.where(over, won, value[turn]))
                slope[turn] = np.where(past, 1, np.where(over, 0, slope[turn]))
            line = value[0] - slope[0] * lost  # x = line + slope (one - x of the other)
            across = slope[0][::-1]
            with np.errstate(invalid="ignore"):
                new = (line + slope[0] * (one - line[::-1] - across * one)) / (1 - slope[0] * across)
            new = np.where(hopeless, 0, new)
            moved = np.abs(new - x).max()
            x = new
            if moved < 1e-18 * solution.game.largest_payoff:
                break
        values[own, other] = x
        held[own, other] = np.where(hopeless, 0, one - x)
    return values


@pytest.mark.skipif(bool(np.finfo(np.longdouble).eps > 1e-18), reason="long double has no more digits here")
@pytest.mark.parametrize("variant", VARIANTS)
def test_values_are_good_enough_to_name_every_action(variant: Any) -> None:
    """MADN_PIG_TARGET sets a larger target: 200 takes a minute for each variant."""
    game = Pig(int(os.environ.get("MADN_PIG_TARGET", "60")), variant=variant)
    found = solve(game)
    error = float(np.abs(precise(found) - found.values).max())
    print(f"{variant}: largest error {error:.1e}, smallest gap {found.smallest_gap:.1e}")
    assert error < 4e-15 * game.largest_payoff
    assert error < 0.01 * found.smallest_gap


# laws


@given(data=st.data())
def test_a_value_is_the_mean_over_the_faces_of_the_better_action(data: st.DataObject) -> None:
    game = data.draw(games(40))
    found = solve(game)
    own, other = (data.draw(st.integers(0, game.target - 1)) for _ in range(2))
    turn = data.draw(st.integers(0, game.target - own - 1))
    answer = found.ask(own, other, turn)
    endless = {own, other} <= set(game.dead_scores())

    def handed_over(score: int) -> float:
        if score == game.target:
            return answer_won
        both = 0 if endless or game.variant == "difference" else 1
        if {score, other} <= set(game.dead_scores()):
            both = 0
        return both - found.value(other, score)

    answer_won = game.target - other if game.variant == "difference" else 1
    total = 0.0
    for face in range(1, game.faces + 1):
        if face == game.losing_face:
            total += handed_over(own + game.mercy)
        elif own + turn + face > game.target and game.variant == "exact":
            total += handed_over(own)
        else:
            total += found.value(own, other, min(turn + face, game.target - own))
    near = 1e-14 * game.largest_payoff
    assert answer.roll == pytest.approx(total / game.faces, abs=near)
    if turn == 0:
        assert (answer.hold, answer.action) == (None, "roll")
        assert answer.value == pytest.approx(answer.roll, abs=near)
    else:
        assert answer.roll is not None
        assert answer.hold is not None
        assert answer.hold == pytest.approx(handed_over(own + turn), abs=near)
        assert answer.value == max(answer.roll, answer.hold)


@settings(max_examples=20)
@given(game=games(25), threads=st.integers(2, 4))
def test_any_number_of_threads_gives_the_same_bits(game: Pig, threads: int) -> None:
    one, many = solve_again(game, threads=1), solve_again(game, threads=threads)
    assert one.values.tobytes() == many.values.tobytes()
    assert one.after.tobytes() == many.after.tobytes()
    assert (one.residual, one.smallest_gap, one.smallest_gap_state, one.ties) == (
        many.residual,
        many.smallest_gap,
        many.smallest_gap_state,
        many.ties,
    )
    assert one.strategy == many.strategy


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("target", [2, 3, 7, 50, 200])
def test_the_residual_is_rounding(variant: Any, target: int) -> None:
    found = solve(Pig(target=target, variant=variant))
    assert 0 <= found.residual <= 2e-15
    assert found.states == len(choices(found.game)) if target < 60 else found.states == 3_980_000


def test_the_residual_pass_sees_a_wrong_value() -> None:
    found = solve(Pig(target=30))
    values, after = found.values.copy(), found.after.copy()
    values[3, 5] += 1e-9
    kernel = _kernel(found.game)
    assert kernel.check_rows(values, after, 1e-13, 0, 30, 1)[0] == pytest.approx(1e-9, rel=1e-3)


@settings(max_examples=25)
@given(data=st.data())
def test_what_one_player_wins_the_other_loses(data: st.DataObject) -> None:
    game = data.draw(games(15))
    first, second = data.draw(strategies(game)), data.draw(strategies(game))
    there, back = duel(first, second), duel(second, first)
    both = 0 if game.variant == "difference" else 2 * (1 - there.endless)
    assert there.starting + back.replying + there.replying + back.starting == pytest.approx(both, abs=1e-11)


@settings(max_examples=25)
@given(data=st.data())
def test_nothing_beats_the_best(data: st.DataObject) -> None:
    game = data.draw(games(15))
    found, strategy = solve(game), data.draw(strategies(game))
    near = 1e-12 * game.largest_payoff
    for duel_with_best in (duel(found.strategy, strategy), duel(best_response(strategy), strategy)):
        assert (duel_with_best.values >= found.values - near).all()
    assert (duel(best_response(strategy), strategy).values >= duel(found.strategy, strategy).values - near).all()
    assert (duel(strategy, found.strategy).values <= found.values + near).all()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("mercy", [False, True])
def test_the_best_response_to_the_optimum_is_no_better(variant: Any, mercy: bool) -> None:
    found = solve(Pig(target=50, variant=variant, mercy=mercy))
    reply = duel(best_response(found.strategy), found.strategy)
    assert reply.starting == pytest.approx(found.start, abs=1e-13 * found.game.largest_payoff)
    assert reply.average == pytest.approx(0 if variant == "difference" else 0.5, abs=1e-13 * found.game.largest_payoff)


def test_the_strategy_is_the_actions() -> None:
    found = solve(WUBBEL)
    for own, other, turn in itertools.islice(choices(WUBBEL), 0, None, 97):
        assert found.strategy.holds(own, other, turn) == (found.action(own, other, turn) == "hold")
    assert not found.strategy.holds(10, 0, 0)
    assert found.strategy.holds(48, 0, 3)


def test_small_chances_are_as_good_as_large_ones() -> None:
    """Far behind, the chance to win is tiny; it has as many digits as any other, and so has the decision.

    A coin that scores 2 or loses the turn, to 200: who has 0 against 199 tosses until it has won or lost the turn.
    """
    found = solve(Pig(target=200, faces=2))
    once = 2.0**-100
    assert found.win(0, 199) == pytest.approx(once / (1 - (1 - once) / 2), rel=1e-14)
    assert found.after[199, 0] == pytest.approx(found.win(0, 199) / 2, rel=1e-14)
    assert not found.strategy.decisions(0, 199).any()


# the game that never ends


def test_nobody_wins_between_two_dead_scores() -> None:
    game = Pig(variant="exact")
    found = solve(game)
    assert game.dead_scores() == (199,)
    assert found.win(199, 199) == 0
    assert found.win(199, 150) == 0
    assert found.win(150, 199) == 1
    assert found.ask(197, 199, 2).hold == 0
    assert found.action(197, 199, 2) == "roll"
    assert Pig(variant="exact", losing_face=2).dead_scores() == ()
    assert Pig(variant="exact", mercy=True).dead_scores() == ()
    assert Pig(9, 2, 1, "exact").dead_scores() == (0, 2, 4, 6, 8)
    assert solve(Pig(9, 2, 1, "exact")).start == 0


def test_careless_players_may_play_for_ever() -> None:
    game = Pig(target=50, variant="exact")
    careless = Strategy.hold_at(game, 20)
    assert 1e-5 < duel(careless, careless).endless < 0.5
    assert duel(solve(game).strategy, careless).endless == 0


# strategies


@given(data=st.data())
def test_strategies_are_what_they_are_made_from(data: st.DataObject) -> None:
    game = data.draw(games(20))
    chance = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    table = chance.random((game.target,) * 3) < 0.5
    strategy = Strategy.table(game, table)
    thresholds = chance.integers(0, game.target, (game.target, game.target))
    scores = Strategy.hold_at(game, thresholds)
    for own, other, turn in itertools.islice(choices(game), 0, None, 7):
        assert strategy.holds(own, other, turn) == strategy.decisions(own, other)[turn] == table[own, other, turn]
        assert scores.holds(own, other, turn) == (turn >= thresholds[own, other])
    assert strategy == Strategy(game, strategy.bits)
    assert Strategy.hold_at(game, 3) == Strategy.table(game, np.arange(game.target) >= 3)
    assert (strategy == Strategy.table(game, ~table)) == (game.states == 0)
    assert strategy != "strategy"


def test_fewest_turns() -> None:
    game = Pig(target=60)
    strategy, turns = fewest_turns(game)
    for own in range(60):  # what the strategy needs from each score, by going through a turn forwards
        chance, expected, lost = np.zeros(70), 1.0, 0.0
        chance[0] = 1
        for turn in range(60 - own):
            if turn and strategy.holds(own, 0, turn):
                expected += chance[turn] * turns[own + turn]
                continue
            lost += chance[turn] / 6
            chance[turn + 2 : turn + 7] += chance[turn] / 6
        assert turns[own] == pytest.approx(expected / (1 - lost), rel=1e-13)
    alone = np.array([_expected_turns(game, points) for points in range(1, 61)])
    assert turns[0] < alone.min() < turns[0] * 1.05
    coin = fewest_turns(Pig(9, 2, 1, "exact"))[1]  # two tosses on average for each step of two
    assert coin.tolist() == pytest.approx([np.inf, 8, np.inf, 6, np.inf, 4, np.inf, 2, np.inf])


def _expected_turns(game: Pig, points: int) -> float:
    """The turns that holding at this many points takes to the target."""
    n = game.target
    left = np.zeros(n + 6)
    for own in range(n - 1, -1, -1):
        chance, expected, lost = np.zeros(n + 6), 1.0, 0.0
        chance[0] = 1
        for turn in range(n - own):
            if turn >= points:
                expected += chance[turn] * left[own + turn]
            else:
                lost += chance[turn] / 6
                chance[turn + 2 : turn + 7] += chance[turn] / 6
        left[own] = expected / (1 - lost)
    return float(left[0])


# bad input


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"target": 0}, "target must be 2 to 1000, not 0"),
        ({"target": -5}, "target must be 2 to 1000, not -5"),
        ({"target": 1001}, "target"),
        ({"target": 2.5}, "whole number"),
        ({"target": True}, "whole number"),
        ({"faces": 1}, "faces must be 2"),
        ({"faces": 1001}, "faces must be 2"),
        ({"losing_face": 0}, "1 to 6, not 0"),
        ({"losing_face": 7}, "losing face must be 1 to 6, not 7"),
        ({"variant": "magic"}, "classic, exact, difference"),
    ],
)
def test_rules_that_are_no_game(rules: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidRulesError, match=words):
        Pig(**rules)


@pytest.mark.parametrize("state", [(200, 0, 0), (-1, 0, 0), (0, 200, 0), (0, 0, -1), (190, 0, 16), (250, 0, 0)])
def test_states_that_are_none(state: tuple[int, int, int]) -> None:
    with pytest.raises(InvalidBoardError, match="state"):
        solve(Pig()).ask(*state)


def test_a_turn_that_has_reached_the_target_can_only_be_held() -> None:
    assert solve(Pig()).ask(190, 50, 15) == solve(Pig()).ask(190, 50, 10)
    assert solve(Pig()).ask(190, 50, 10).roll is None
    assert solve(Pig(variant="difference")).ask(190, 50, 10).value == 150
    assert solve(Pig(variant="exact")).win(190, 50, 10) == 1
    with pytest.raises(InvalidBoardError):
        solve(Pig(variant="exact")).ask(190, 50, 11)


def test_strategies_of_other_games_do_not_meet() -> None:
    with pytest.raises(RulesMismatchError):
        duel(Strategy.hold_at(Pig(10), 3), Strategy.hold_at(Pig(11), 3))
    with pytest.raises(RulesMismatchError):
        solve(Pig(10, variant="difference")).win(0, 0)
    for bad in (np.zeros((3, 3, 3)), np.zeros((10, 10))):
        with pytest.raises(InvalidRulesError):
            Strategy.table(Pig(20), bad)
    with pytest.raises(InvalidRulesError):
        Strategy(Pig(20), np.zeros((20, 20, 20), np.uint8))


# the kernels' own checks


def test_the_kernel_refuses_what_is_not_of_its_game() -> None:
    rules: list[Any] = [20, 6, 1, False, False, False, [False] * 20]
    check(Kernel, rules, {0: [1, 1001, -20, 2**40], 1: [1, 1001], 2: [0, 7], 6: [[False] * 19, [], 3]}, (), {3, 4, 5})
    kernel = Kernel(*rules)
    assert kernel.waves == 1
    values, bits = np.zeros((20, 20)), np.zeros((20, 20, 3), np.uint8)
    waves, scores = [-1, 1, 2**40, "1"], [-1, 20, 2**40, "1"]
    check(kernel.solve, [values, values, 0, 1], {2: waves, 3: THREADS}, {0, 1})
    meeting = [values, values, bits, bits, 1, 0, 0, 0, 1]
    check(kernel.meet, meeting, {4: ["1"], 7: waves, 8: THREADS}, {0, 1}, {2})
    check(kernel.check_rows, [values, values, 0, 2, 4, 1], {3: [*scores, 4], 4: [*scores[:1], 2, 21], 5: THREADS})
    check(kernel.turn, [values, values, 0, 5, 0], {3: scores, 4: scores})
    check(kernel.decide, [values, values, 0, bits, 0, 1], {4: scores, 5: THREADS}, {3}, {0})
    check(article_table, [np.zeros((5, 5, 5)), 1e-8], {1: [0, -1, np.nan, "1"]}, {0})
    assert article_table(np.zeros((2, 2, 2)), 1e-8) > 0
    for side in (0, 1, 1002):
        with pytest.raises(ValueError, match="expected a cube"):
            article_table(np.broadcast_to(np.zeros(1), (side, 1, 1)).copy(), 1e-8)


@pytest.mark.parametrize("threads", [0, -3, 1025, 100_000])
def test_threads_that_cannot_start_are_refused(threads: int) -> None:
    with pytest.raises(InvalidRulesError, match=f"threads must be 1 to 1024, not {threads}"):
        solve_again(Pig(300), threads=threads)


# the papers


def test_the_program_of_the_article_comes_as_near_as_it_is_told() -> None:
    table = np.empty((51, 51, 51))
    for eps in (1e-8, 1e-10):
        article_table(table, eps)
        assert eps < np.abs(table[:50, :50, 0] - solve(WUBBEL).values).max() < 100 * eps
    assert table[50, 0, 0] == 1
    assert table[0, 50, 0] == 0
    with pytest.raises(ArithmeticError, match="still change by more than 1e-13"):
        article_table(table, 1e-13)


WRONG = {
    "pig": [
        "at low scores: roll below 20 points, stop from 20 on",
        "exact variant: the game is transient",
        "exact variant: the probability of winning in any turn is at most 1/6",
        "exact variant: score plus turn score with the larger roll zone",
    ],
    "wubbel": [
        "with the mercy point, formula (2) ends",
        "calls of formula (2) with the mercy point for P(42, 42, 0)",
        "P is a fixed point of the functional F: largest |F(P) - P|",
        "at 0:24, always save from",
    ],
}


@pytest.mark.parametrize("subject", WRONG)
def test_the_facts_of_the_papers(subject: str) -> None:
    found = list(report.facts(subject))
    timed = {"processor seconds of the printed C program"}  # a busy machine may need more than a second
    assert [fact.what for fact in found if not fact.agrees and fact.what not in timed] == WRONG[subject]
    ours = {fact.what: fact.ours for fact in found}
    if subject == "pig":
        assert ours["states in which an action must be given"] == 3_980_000
        assert ours["the opponent's score from which every state rolls"] == 187
        assert ours["wins in % against fewest expected turns (Haigh and Roters)"] == pytest.approx(52.010135)
        assert ours[WRONG["pig"][3]] == 193
    else:
        assert ours["at 0:24, always save from"] == "21 to 44"


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_state_of_the_papers_is_a_near_tie(variant: Any) -> None:
    found = solve(Pig(variant=variant))
    assert found.smallest_gap > 1e-11
    assert found.ask(*found.smallest_gap_state).roll is not None
