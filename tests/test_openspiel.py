"""Random games of OpenSpiel's own Mensch ärgere Dich nicht, an engine nobody here wrote, move by move.

MADN_OPENSPIEL_GAMES sets how many games are played.
"""

import os
import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from madn import Board, Move, Rules, envs
from madn.envs.two_agents import LudoAEC

pytestmark = pytest.mark.openspiel
pyspiel = pytest.importorskip("pyspiel", reason="needs the extra madn[openspiel]")

GAMES = int(os.environ.get("MADN_OPENSPIEL_GAMES", "500"))
RULES = Rules(pieces=4, squares=40)
PASS, BRING_IN, FIRST_FIELD = 0, 1, 2  # its actions; a field is counted from the mover's A-square


def board_of(state: Any, mover: int) -> Board:
    """Read a position from the tensor of player 0, as the player `mover` sees it.

    Four numbers a square, one for each colour: 40 main squares from player 0's A-square, then finish zones.
    """
    tensor = state.observation_tensor(0)

    def squares_of(player: int) -> tuple[int, ...]:
        marks = tensor[player : 4 * 56 : 4]
        turn = RULES.squares // 2 * player
        main = [q for q in range(40) if marks[(q + turn) % 40]]
        home = [40 + q for q in range(4) if marks[40 + 4 * player + q]]
        assert len(main) + len(home) + tensor[4 * 56 + player] == RULES.pieces
        return tuple(main + home)

    return Board(squares_of(mover), squares_of(1 - mover), RULES)


def action_of(move: Move) -> int:
    if move == Move.PASS:
        return PASS
    return BRING_IN if move.start is None else FIRST_FIELD + move.start


def test_random_games(record_property: Any) -> None:
    game = pyspiel.load_game("maedn(players=2,twoPlayersOpposite=true)")
    chance = random.Random(20240229)
    states = finished = 0
    for _ in range(GAMES):
        state = game.new_initial_state()
        board = Board((), (), RULES)  # its games start with all pieces in the box
        mover = 0
        while not state.is_terminal():
            roll = chance.randint(1, 6)
            state.apply_action(roll - 1)
            assert state.current_player() == mover, f"turn before {board}"
            assert board_of(state, mover) == board
            moves = {action_of(move): move for move in board.legal_moves(roll)}
            assert sorted(moves) == sorted(state.legal_actions()), f"legal moves of {board} with a {roll}"
            for action, move in moves.items():
                follower = mover if roll == 6 else 1 - mover
                after = board.after(move, roll)
                assert board_of(state.child(action), follower) == after, f"{move} on {board} with a {roll}"
            action = chance.choice(sorted(moves))
            board = board.after(moves[action], roll)
            state.apply_action(action)
            mover = mover if roll == 6 else 1 - mover
            states += 1
        assert (board.winner is not None) == any(state.returns()), f"end of game {board}"
        if board.winner is not None:
            winner = mover if board.winner == "own" else 1 - mover
            assert list(state.returns()) == [1.0 if player == winner else -1.0 for player in (0, 1)]
            finished += 1
    record_property("states", states)
    print(f"{states} states of {GAMES} games agree; {finished} games were played to the end")
    assert finished > GAMES // 2


def test_the_environment_agrees_with_the_bridge_to_pettingzoo(record_property: Any) -> None:
    """Both environments step by step with the same actions and the same rolls, which OpenSpiel's side draws."""
    bridge = pytest.importorskip("shimmy.openspiel_compatibility", reason="needs shimmy, of the extra madn[openspiel]")
    theirs = bridge.OpenSpielCompatibilityV0(
        game_name="maedn", config={"players": 2, "twoPlayersOpposite": True}, render_mode=None
    )
    rules = Rules(start_in_box=True)
    ours = envs.aec(rules)
    assert ours.action_space("player_0") == theirs.action_space("player_0")
    chance = random.Random(7)
    plies = finished = 0
    for seed in range(max(GAMES // 5, 1)):
        theirs.reset(seed=seed)
        roll_as(ours, theirs)
        while theirs.agents and not any(theirs.terminations.values()) and not any(theirs.truncations.values()):
            agent = ours.agent_selection
            assert agent == theirs.agent_selection
            mask = theirs.infos[agent]["action_mask"]
            assert np.array_equal(ours.infos[agent]["action_mask"], mask), f"{ours.episode.board}"
            mover = ours.possible_agents.index(agent)
            assert board_of(theirs.game_state, mover).masks == ours.episode.board.masks
            action = chance.choice(np.flatnonzero(mask).tolist())
            theirs.step(action)
            if theirs.game_state.is_terminal():
                ours.step(action)
                break
            ours.episode.draw = lambda: (roll_of(theirs) - 0.5) / 6
            ours.step(action)
            plies += 1
        if any(ours.terminations.values()):
            assert ours.rewards == theirs.rewards
            finished += 1
    record_property("plies", plies)
    print(f"{plies} plies agree; {finished} games were played to the end")
    assert plies > 20 * GAMES
    assert finished > 0


def roll_of(theirs: Any) -> int:
    """The roll that the bridge has drawn: the last action of chance in its history."""
    history = theirs.game_state.full_history()
    return int(next(item.action for item in reversed(history) if item.player == pyspiel.PlayerId.CHANCE)) + 1


def roll_as(ours: LudoAEC, theirs: Any) -> None:
    """Begin our game with the first roll of theirs."""
    roll = roll_of(theirs)
    ours.np_random = SimpleNamespace(random=lambda: (roll - 0.5) / 6)  # type: ignore[assignment]
    ours.reset()
