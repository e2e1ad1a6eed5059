"""The own-side states and the order in which the sweeps visit them."""

import itertools

import numpy as np
import pytest

from madn import Board, Rules
from madn.solver.footprint import side_size
from madn.solver.graph import components, finish_zones
from madn.solver.sides import TERMINAL, Side
from madn.solver.tables import column_groups, exit_classes, exits_of_a_six, ring_size

GAMES = [Rules(1, 8), Rules(2, 10), Rules(3, 8), Rules(4, 8), Rules(2, 40)]


def sides(rules: Rules) -> list[Side]:
    return [Side(rules, f) for f in finish_zones(rules)]


def test_every_own_side_state_is_in_one_side() -> None:
    for pieces, count in ((1, 42), (2, 904), (3, 13_288)):
        assert sum(side_size(Rules(pieces), f) for f in range(1 << pieces)) == count
    for rules in GAMES:
        for side in sides(rules):
            assert side.size == side_size(rules, side.finish) == len(set(side.masks.tolist()))


@pytest.mark.parametrize("rules", GAMES, ids=str)
def test_pips_are_what_is_left_to_walk(rules: Rules) -> None:
    for side in sides(rules):
        for mask, pips in zip(side.masks.tolist(), side.pips.tolist(), strict=True):
            squares = [q for q in range(rules.squares) if mask >> q & 1]
            boxed = rules.pieces - side.finish.bit_count() - len(squares)
            assert pips == sum(rules.squares - q for q in squares) + (rules.squares + 1) * boxed
        assert (np.diff(side.pips) >= 0).all()
        classes = np.repeat(np.arange(len(side.class_start) - 1), np.diff(side.class_start))
        assert (classes == side.pips).all()


@pytest.mark.parametrize("rules", GAMES[:4], ids=str)
def test_moves_are_those_of_the_board(rules: Rules) -> None:
    """Against an opponent that is not in the way, the table leads where `Board` leads."""
    by_finish = {side.finish: side for side in sides(rules)}
    done = (1 << rules.pieces) - 1
    for side in by_finish.values():
        moves = side.moves
        for state in range(0, side.size, max(1, side.size // 60)):
            own = int(side.masks[state]) | side.finish << rules.squares
            board = Board.from_masks(own, 0, rules)
            playable = []
            for roll in range(1, 7):
                wanted = sorted(
                    board.after(move, roll).masks[0 if roll == 6 else 1]
                    for move in board.legal_moves(roll)
                    if str(move) != "pass"
                )
                options = range(moves.first[6 * state + roll - 1], moves.first[6 * state + roll])
                found = []
                for o in options:
                    finish = side.finish if moves.kind[o] == 0 else moves.exits[moves.kind[o] - 1]
                    if finish == TERMINAL:
                        found.append(done << rules.squares)
                    else:
                        found.append(int(by_finish[finish].masks[moves.row[o]]) | finish << rules.squares)
                assert sorted(found) == wanted
                ends = {m.end for m in board.legal_moves(roll) if m.end is not None}
                assert {int(moves.end[o]) for o in options} == ends
                playable.append(bool(found))
            assert moves.turns[moves.turn[state]] == rules.turn(playable)


@pytest.mark.parametrize("rules", GAMES, ids=str)
def test_moves_inside_a_side_lower_its_pips(rules: Rules) -> None:
    for side in sides(rules):
        moves, n = side.moves, side.size
        source = np.repeat(np.arange(n), np.diff(moves.first[::6]))
        inside = moves.kind == 0
        fall = side.pips[source[inside]] - side.pips[moves.row[inside]]
        assert ((fall >= 1) & (fall <= 6)).all()


@pytest.mark.parametrize("rules", GAMES, ids=str)
def test_captured_states(rules: Rules) -> None:
    half = rules.squares // 2
    for side in sides(rules):
        pieces = [int(mask).bit_count() for mask in side.masks]
        assert side.boxed.tolist() == [i for i, count in enumerate(pieces) if count < side.open_pieces]
        assert (side.boxed_index[side.boxed] == np.arange(len(side.boxed))).all()
        assert (side.boxed_index >= 0).sum() == len(side.boxed)
        for q, states in enumerate(side.holders):
            assert states.tolist() == [i for i, mask in enumerate(side.masks) if int(mask) >> q & 1]
            free = side.boxed[side.boxed_with[:, q] >= 0]
            entered = side.boxed_with[:, q][side.boxed_with[:, q] >= 0]
            assert (side.masks[entered] == side.masks[free] | np.uint64(1 << q)).all()
            assert (side.pips[entered] < side.pips[free]).all()
            assert sorted(entered.tolist()) == states.tolist()
        for i in range(0, side.size, max(1, side.size // 50)):
            turned = int(side.facing[i])
            squares = [q for q in range(rules.squares) if turned >> q & 1]
            assert sorted((q + half) % rules.squares for q in squares) == [
                q for q in range(rules.squares) if int(side.masks[i]) >> q & 1
            ]
            for k, q in enumerate(squares):
                lost = 1 << (q + half) % rules.squares
                assert int(side.masks[side.without[i, k]]) == int(side.masks[i]) ^ lost


@pytest.mark.parametrize("rules", [*GAMES, Rules(4, 40)], ids=str)
def test_components_come_after_all_they_can_lead_to(rules: Rules) -> None:
    order = components(rules)
    zones = finish_zones(rules)
    assert len(order) == len(zones) * (len(zones) + 1) // 2
    assert {frozenset(pair) for pair in order} == {frozenset((f, g)) for f in zones for g in zones}
    place = {frozenset(pair): i for i, pair in enumerate(order)}
    for f, g in order:
        assert side_size(rules, f) >= side_size(rules, g)
        for i in range(rules.pieces):
            for j in range(rules.pieces):
                entered = f | 1 << i  # a piece enters, or one inside the zone advances from i to j
                advanced = f & ~(1 << i) | 1 << j if f >> i & 1 and j > i and not f >> j & 1 else f
                for later in {entered, advanced} & set(zones) - {f}:
                    assert place[frozenset((later, g))] < place[frozenset((f, g))]


@pytest.mark.parametrize("rules", GAMES, ids=str)
def test_groups_cover_the_columns_and_the_ring_holds_what_is_in_reach(rules: Rules) -> None:
    for side in sides(rules):
        groups = column_groups(side)
        ring = ring_size(side.class_start, groups)
        assert groups[0] == 0
        assert groups[-1] == len(side.class_start) - 1
        assert (np.diff(groups) > 0).all()
        for first, end in itertools.pairwise(groups):
            assert side.class_start[end] - side.class_start[max(0, first - 6)] <= ring
        for states in exit_classes(side):
            window = ring_size(states, groups)
            assert all(states[end] - states[max(0, first - 6)] <= window for first, end in itertools.pairwise(groups))


def test_a_six_leads_to_another_finish_zone_only_from_the_main_field() -> None:
    for side in sides(Rules(3, 14)):
        more = {f for f in side.moves.exits if f >= 0 and f.bit_count() > side.finish.bit_count()}
        assert exits_of_a_six(side) - {TERMINAL} <= more


@pytest.mark.parametrize("rules", GAMES, ids=str)
def test_every_option_is_in_reach_when_it_is_read_from_the_ring(rules: Rules) -> None:
    """A move lowers the pips by at most six, also into another finish zone: so six classes before a group suffice."""
    for side in sides(rules):
        moves, starts = side.moves, [side.class_start, *exit_classes(side)]
        state = np.repeat(np.arange(side.size), np.diff(moves.first[::6]))
        for kind, start in enumerate(starts):
            there = moves.kind == kind
            pips = np.searchsorted(start, moves.row[there], side="right") - 1
            assert ((side.pips[state[there]] - pips >= 0) & (side.pips[state[there]] - pips <= 6)).all()
