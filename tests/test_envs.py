"""The environments: what PettingZoo and Gymnasium demand, and the game as `Board` plays it."""

import copy
import random
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from math import sqrt
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import SyncVectorEnv
from pettingzoo.test import api_test, seed_test

import madn
from madn import Board, IllegalMoveError, Move, Rules, envs
from madn.envs.two_agents import LudoAEC
from madn.errors import (
    InvalidPlayerError,
    InvalidTypeError,
    MissingExtraError,
    NoValuesError,
    RulesMismatchError,
)
from madn.evaluate import evaluate
from madn.players import PLAYERS, FunctionPlayer, OptimalPlayer
from madn.store import compress_database

SMALL = Rules(1, 8)
HOUSE = Rules.house(2, 12)
GAMES = (*envs.LADDER, HOUSE, Rules(3, 10, must_capture=True))


@pytest.fixture(autouse=True)
def strict() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("envs")
    madn.solve(HOUSE, out=place / "values")
    compress_database(place / "values", place / "moves", store="policy")
    return {name: place / name for name in ("values", "moves")}


def legal(info: dict[str, Any]) -> list[int]:
    return np.flatnonzero(info["action_mask"]).tolist()


def action_of(move: Move) -> int:
    if move == Move.PASS:
        return 0
    return 1 if move.start is None else 2 + move.start


def read(seen: np.ndarray, rules: Rules) -> tuple[Board, list[int]]:
    """The board and the rolls of an observation, read from what the documents say about it."""
    own, other, box, rolls = np.split(seen, np.cumsum([rules.goal, rules.goal, 2]))
    board = Board(tuple(np.flatnonzero(own)), tuple(np.flatnonzero(other)), rules)
    assert box == pytest.approx([1 - len(board.own) / rules.pieces, 1 - len(board.other) / rules.pieces])
    assert set(np.unique(np.concatenate([own, other, rolls]))) <= {0, 1}
    return board, (np.flatnonzero(rolls) + 1).tolist()


@pytest.mark.parametrize("rules", GAMES, ids=str)
def test_the_api_tests_of_pettingzoo_pass(rules: Rules, capsys: pytest.CaptureFixture[str]) -> None:
    api_test(envs.aec(rules), num_cycles=300, verbose_progress=False)
    seed_test(lambda: envs.aec(rules), num_cycles=100)
    assert "Passed API test" in capsys.readouterr().out


@pytest.mark.parametrize("rules", GAMES, ids=str)
@pytest.mark.parametrize("opponent", ["fpoc", "random"])
def test_the_api_test_of_gymnasium_passes(rules: Rules, opponent: str) -> None:
    env = gymnasium.make("madn.envs.one_agent:madn/Ludo-v0", rules=rules, opponent=opponent)
    check_env(env.unwrapped)


@pytest.mark.parametrize("rules", GAMES, ids=str)
def test_random_games_are_those_of_the_board(rules: Rules) -> None:
    env, die = envs.aec(rules), random.Random(3)
    games = plies = 0
    while plies < 1500:
        env.reset(seed=games)
        board, mover = Board.start(rules), 0
        for agent in env.agent_iter():
            seen, reward, over, cut, info = env.last()
            assert not cut
            if over:
                assert reward == (1 if (board.winner == "own") == (agent == f"player_{mover}") else -1)
                assert legal(info) == []
                env.step(None)
                continue
            assert agent == f"player_{mover}"
            now, (roll,) = read(seen, rules)
            assert now == board == env.episode.board
            waiting, rolls = read(env.observe(f"player_{1 - mover}"), rules)
            assert (waiting.mirror(), rolls) == (board, [])
            assert legal(env.infos[f"player_{1 - mover}"]) == []
            moves = {action_of(move): move for move in board.legal_moves(roll)}
            assert legal(info) == sorted(moves)
            assert {action: env.episode.move(action) for action in moves} == moves
            action = die.choice(sorted(moves))
            board = board.after(moves[action], roll)
            mover ^= roll != 6
            if board.winner == "other":
                board, mover = board.mirror(), mover ^ 1
            env.step(action)
            plies += 1
        assert board.winner is not None
        games += 1


def played(env: LudoAEC, seed: int | None) -> list[tuple[int, ...]]:
    """The observations of a game in which the agents take the first legal action."""
    env.reset(seed=seed)
    seen = []
    for _ in env.agent_iter():
        observation, _, over, _, info = env.last()
        seen.append(tuple(observation.tolist()))
        env.step(None if over else legal(info)[-1])
    return seen


def test_a_seed_says_all() -> None:
    env = envs.aec(Rules(2, 12))
    first = played(env, 1)
    assert played(env, 1) == first == played(envs.aec(Rules(2, 12)), 1)
    assert played(env, 2) != first
    assert played(env, None) != played(env, None)


def test_rolls_come_up_as_often_as_the_rules_say() -> None:
    env, seen = envs.aec(HOUSE), Counter[int]()
    env.reset(seed=1)
    for _ in range(6000):
        env.reset()
        seen[env.episode.roll] += 1
    weights = Board.start(HOUSE).roll_weights()
    assert len(set(weights)) == 2
    for roll in range(1, 7):
        assert seen[roll] / 6000 == pytest.approx(weights[roll - 1] / sum(weights), abs=0.025)


def test_a_copy_goes_on_alone() -> None:
    env = envs.aec(Rules(2, 12))
    env.reset(seed=1)
    for _ in range(10):
        env.step(legal(env.infos[env.agent_selection])[0])
    twin = copy.deepcopy(env)
    boards: list[list[Board]] = [[], []]
    for one, list_ in zip((env, twin), boards, strict=True):
        for _ in range(20):
            one.step(legal(one.infos[one.agent_selection])[0])
            list_.append(one.episode.board)
    assert boards[0] == boards[1]


@pytest.mark.parametrize("first", [True, False])
def test_gym_games_end_as_often_in_a_win_as_they_should(first: bool) -> None:
    """A random agent against fpoc, exactly and in games; some are lost before the agent's first turn."""
    env, games, wins, early = envs.gym(SMALL, side="first" if first else "second"), 4000, 0, 0
    seen, info = env.reset(seed=7)
    for _ in range(games):
        seen, info = env.reset()
        early += not read(seen, SMALL)[1]
        over = False
        while not over:
            seen, reward, over, _, info = env.step(env.action_space.sample(info["action_mask"]))
        wins += reward == 1
    pair = (PLAYERS["random"], PLAYERS["fpoc"])
    exact = evaluate(SMALL, *pair).first_wins("0/0") if first else 1 - evaluate(SMALL, *pair[::-1]).first_wins("0/0")
    assert abs(wins / games - exact) < 4 * sqrt(exact * (1 - exact) / games)
    assert (early > 0) == (not first)


@pytest.mark.parametrize("opponent", ["optimal", PLAYERS["optimal"], PLAYERS["careful"]])
def test_the_opponent_is_whoever_is_asked(opponent: Any, places: dict[str, Path]) -> None:
    rules = madn.Rules(pieces=2)
    env = envs.gym(rules, opponent, side="second")
    seen, _ = env.reset(seed=4)
    player = PLAYERS[opponent] if isinstance(opponent, str) else opponent
    start = Board.start(rules)
    answers = {start.after(player.choose(start, roll), roll) for roll in range(1, 6)}
    assert read(seen, rules)[0] in answers or env.episode.ply > 2


def test_a_function_can_be_the_opponent() -> None:
    asked = []

    def last(board: Board, roll: int, moves: tuple[Move, ...]) -> Move:
        asked.append((board, roll))
        return moves[-1]

    env = envs.gym(Rules(2, 12), FunctionPlayer("last", "Takes the last move.", last))
    _, info = env.reset(seed=1)
    over = False
    while not over:
        _, _, over, _, info = env.step(env.action_space.sample(info["action_mask"]))
    assert asked


def test_values_of_a_database_come_with_every_roll(places: dict[str, Path]) -> None:
    with madn.open_database(places["values"]) as db:
        env = envs.aec(HOUSE, database=db)
        env.reset(seed=3)
        for _ in range(300):
            info = env.infos[env.agent_selection]
            values = {action_of(m.move): m.win for m in db.moves(env.episode.board, env.episode.roll)}
            assert {action: info["win"][action] for action in legal(info)} == values
            assert info["win"].sum() == pytest.approx(sum(v or 0.0 for v in values.values()))
            env.step(int(np.argmax(info["win"])))
            if env.episode.winner is not None:
                env.reset()
        api_test(env, num_cycles=50, verbose_progress=False)
        check_env(envs.gym(HOUSE, database=db), skip_render_check=True)
        _, info = envs.gym(HOUSE, database=db, side="first").reset(seed=1)
        assert info["win"].max() > 0


def test_what_does_not_fit_is_refused(places: dict[str, Path]) -> None:
    wrong: Any = "two"
    with madn.open_database(places["moves"]) as moves, pytest.raises(NoValuesError, match="stores best moves only"):
        envs.aec(HOUSE, database=moves)
    with madn.open_database(places["values"]) as values, pytest.raises(RulesMismatchError, match="1 piece, 8 squares"):
        envs.gym(SMALL, database=values)
    with pytest.raises(InvalidTypeError, match="rules must be Rules"):
        envs.aec(wrong)
    with pytest.raises(InvalidTypeError, match="database must be Database"):
        envs.aec(SMALL, database=wrong)
    with pytest.raises(InvalidPlayerError, match="there is no player 'two'"):
        envs.gym(SMALL, wrong)
    with pytest.raises(InvalidPlayerError, match="side must be one of first, second, random, not 'two'"):
        envs.gym(SMALL, side=wrong)
    with pytest.raises(IllegalMoveError, match="the game is over"):
        envs.aec(SMALL).reset(options={"board": "8/0"})
    with pytest.raises(madn.InvalidBoardError):
        envs.gym(SMALL).reset(options={"board": "9/0"})
    for env in (envs.aec(SMALL), envs.gym(SMALL)):
        with pytest.raises(IllegalMoveError, match="reset"):
            env.step(0)


def test_an_illegal_action_names_the_ply_and_what_was_legal() -> None:
    env = envs.aec(Rules(2, 12))
    env.reset(seed=1, options={"board": "1,3/0"})
    roll = env.episode.roll
    options = ", ".join(f"{action_of(m)} ({m})" for m in env.episode.board.legal_moves(roll))
    for action in (0, 1, -1, 99, None, "2", 2.0, True):
        with pytest.raises(IllegalMoveError) as caught:
            env.step(action)  # type: ignore[arg-type]
        assert f"is not legal on '1,3/0' with a {roll}; legal: {options}" in str(caught.value)
        assert str(caught.value).startswith("ply 1: action ")
    env.step(legal(env.infos["player_0"])[0])


def test_an_illegal_action_loses_in_gymnasium() -> None:
    env = envs.gym(Rules(2, 12), side="first")
    _, info = env.reset(seed=1)
    wrong = int(np.flatnonzero(info["action_mask"] == 0)[0])
    _, reward, over, cut, info = env.step(wrong)
    assert (reward, over, cut) == (-1.0, True, False)
    assert info["illegal"].startswith(f"ply 1: action {wrong} is not legal on '0/0' with a ")
    outside: Any
    for outside in (99, -1, "x", None):
        env.reset()
        with pytest.raises(IllegalMoveError, match="an action is a whole number from 0 to 14"):
            env.step(outside)


def test_environments_in_a_vector() -> None:
    vector = SyncVectorEnv([lambda: envs.gym(Rules(2, 12)) for _ in range(3)])
    _, info = vector.reset(seed=5)
    for _ in range(50):
        actions = np.array([np.flatnonzero(mask)[0] if mask.any() else 0 for mask in info["action_mask"]])
        seen, _, _, _, info = vector.step(actions)
    assert seen.shape == (3, 2 * 14 + 8)
    vector.close()


def test_the_board_is_shown_to_people(capsys: pytest.CaptureFixture[str]) -> None:
    env = envs.aec(SMALL, render_mode="ansi")
    env.reset(seed=1)
    text = env.render()
    assert text == env.episode.board.ascii() + f"\nroll: {env.episode.roll}"
    one = envs.gym(SMALL, render_mode="human", side="first")
    one.reset(seed=1)
    assert one.render() is None
    assert capsys.readouterr().out.count("Red to move") == 2
    assert envs.aec(SMALL).render() is None
    assert str(env) == "madn.envs.aec(Rules(pieces=1, squares=8))"


@pytest.mark.parametrize(("make", "package"), [("aec", "pettingzoo"), ("gym", "gymnasium")])
def test_a_missing_extra_is_named(make: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("madn.envs.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"madn\.envs\.{make} needs {package}: pip install 'madn\[envs\]'"):
        getattr(envs, make)(SMALL)


def test_a_policy_is_a_player() -> None:
    rules = Rules(2, 8)
    asked = []

    def last(seen: np.ndarray, mask: np.ndarray) -> int:
        asked.append(read(seen, rules))
        return int(np.flatnonzero(mask)[-1])

    start = Board.start(rules)
    runner = PLAYERS["runner"]  # moves the piece furthest along
    exact = evaluate(rules, runner, PLAYERS["fpoc"]).first_wins(start)
    assert evaluate(rules, envs.player(last), PLAYERS["fpoc"]).first_wins(start) == pytest.approx(exact, abs=1e-12)
    assert len(asked) > 1000
    board, rolls = asked[5]
    assert len(board.legal_moves(rolls[0])) > 1
    wrong: Any
    for wrong in (0, -1, None, "x"):
        player = envs.player(lambda seen, mask, wrong=wrong: wrong, "poor")  # type: ignore[misc]
        assert player.choices(start, 3) == start.legal_moves(3)
        with pytest.raises(
            InvalidPlayerError, match=r"poor chose action .* on '1,3/0' with a 1; legal: 3 \(1-2\), 5 \(3x4\)"
        ):
            player.choose(Board.parse("1,3/0", rules), 1)


def test_the_example_learns(tmp_path: Path) -> None:
    spec = spec_from_file_location("learn", Path(__file__).parent.parent / "examples" / "learn.py")
    assert spec is not None
    assert spec.loader is not None
    example = module_from_spec(spec)
    spec.loader.exec_module(example)
    madn.solve(example.RULES, out=tmp_path / "truth")
    with madn.open_database(tmp_path / "truth", values=True) as database:
        rows = list(example.curve(database, 2, seed=1))
        assert [games for games, _, _ in rows] == [0, 1, 2]
        *_, (games, learner) = example.learn(example.RULES, 400, seed=1)
        after = example.loss(envs.player(learner.best), OptimalPlayer(database), example.RULES)
    assert games == 400
    assert 0 < after < 0.75 * rows[0][1] < 0.02
    example.draw([(0, 2.0), (1, 1.9), (2, 1.0)], str(tmp_path / "curve.svg"))
    assert (tmp_path / "curve.svg").stat().st_size > 1000
