"""Ranking is the thesis' bijection: compiled and plain Python pass the same tests and agree."""

import copy
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_ranking import (
    ReferenceRanking,
    decode_combination,
    encode_combination,
    encode_combination_by_sum,
)

from madn._core import Ranking
from madn.rules import Rules

KINDS = [Ranking, ReferenceRanking]
GAMES = [Rules(pieces, squares) for pieces in range(1, 7) for squares in range(8, 41, 2)]
COUNTS = {1: 1723, 2: 747435, 3: 145248343, 4: 16053053985}
SMALL = [(1, 8), (1, 40), (2, 8), (2, 10)]  # a few thousand positions: quick in plain Python too
RANKINGS = {(pieces, 40): (Ranking(pieces, 40), ReferenceRanking(pieces, 40)) for pieces in (3, 4, 5, 6)}

both_kinds = pytest.mark.parametrize("kind", KINDS)


def mask(*squares):
    return sum(1 << square for square in squares)


def turned(side, squares):
    """The main field of one side in the numbers of the other."""
    return sum(1 << (q + squares // 2) % squares for q in range(squares) if side >> q & 1)


def all_positions(pieces, squares):
    """Every position, found by trying all pairs of own-side states."""
    cells = range(squares + pieces)
    sides = [mask(*chosen) for k in range(pieces + 1) for chosen in combinations(cells, k)]
    finished = mask(*range(squares, squares + pieces))
    return [
        (own, other)
        for own, other in product(sides, sides)
        if not turned(own, squares) & other and not own == other == finished
    ]


@st.composite
def ids(draw, sizes=tuple(RANKINGS)):
    """A game and one of its IDs; often the first or last of a profile, where a wrong division shows."""
    game = draw(st.sampled_from(sizes))
    ranking, twin = RANKINGS[game]
    anywhere = st.integers(0, ranking.positions - 1)
    edges = st.builds(
        lambda base, step: min(max(base + step, 0), ranking.positions - 1),
        st.sampled_from([*twin.base.values(), ranking.positions]),
        st.integers(-2, 2),
    )
    return ranking, twin, draw(anywhere | edges)


@st.composite
def positions(draw, sizes=tuple(RANKINGS)):
    """A game and one of its positions, drawn piece by piece without any ranking."""
    pieces, squares = draw(st.sampled_from(sizes))
    cells = st.integers(0, squares + pieces - 1)
    own = mask(*draw(st.sets(cells, max_size=pieces)))
    taken = turned(own, squares)
    other = mask(*draw(st.sets(cells.filter(lambda q: not taken >> q & 1), max_size=pieces)))
    finished = mask(*range(squares, squares + pieces))
    return pieces, squares, own, 0 if own == other == finished else other


def groups(ranking, twin, z):
    """IDs around z at which a digit of the mixed-radix number turns over."""
    profile = twin.profile(z)
    base = twin.base[profile]
    for size in twin.group_sizes(profile):
        start = base + (z - base) // size * size
        yield from (x for x in (start - 1, start, start + size - 1, start + size) if 0 <= x < twin.positions)


@pytest.mark.parametrize("n", range(8))
def test_combinations_are_ranked_as_binary_numbers(n):
    for k in range(n + 1):
        strings = [f"{x:0{n}b}" if n else "" for x in range(2**n) if x.bit_count() == k]
        assert [encode_combination(t) for t in strings] == list(range(len(strings)))
        assert [encode_combination_by_sum(t) for t in strings] == list(range(len(strings)))
        assert [decode_combination(n, k, z) for z in range(len(strings))] == strings


@both_kinds
@pytest.mark.parametrize(("pieces", "count"), COUNTS.items())
def test_published_counts(kind, pieces, count):
    assert kind(pieces, 40).positions == count


@both_kinds
def test_one_piece_by_hand(kind):
    ranking = kind(1, 40)
    assert ranking.unrank(0) == (0, 0)
    assert ranking.unrank(1) == (0, mask(39)), "the piece nearest to its finish zone comes first"
    assert ranking.unrank(40) == (0, mask(0))
    assert ranking.unrank(41) == (0, mask(40))
    assert ranking.unrank(42) == (mask(39), 0)
    assert ranking.unrank(82) == (mask(39), mask(39))
    # The start. Own piece: 39 squares of lower rank with 39 positions each. The other's square 20 is crossed
    # out, so its piece on 0 has 38 squares of lower rank.
    assert ranking.rank(mask(0), mask(0)) == 82 + 39 * 39 + 38
    # The other's 21 lies above the square crossed out, its 19 below: 18 and then 19 lower ranks.
    assert ranking.rank(mask(0), mask(21)) == 82 + 39 * 39 + 18
    assert ranking.rank(mask(0), mask(19)) == 82 + 39 * 39 + 19
    assert ranking.unrank(1722) == (mask(40), mask(0))


@both_kinds
def test_digits_of_an_id(kind):
    """Own finish zone, other's finish zone, own main field, other's main field: most significant first."""
    ranking = kind(2, 8)
    first = ranking.first(2, 1, 2, 1)  # finish squares 8 and 9
    a_ffm, a_ff, a_f = 7, 8 * 7, 2 * 8 * 7
    lowest = (mask(7, 9), mask(7, 9))  # own 7 is the other's 3
    assert ranking.rank(*lowest) == first
    assert ranking.rank(mask(7, 9), mask(6, 9)) == first + 1
    assert ranking.rank(mask(6, 9), mask(7, 9)) == first + a_ffm
    assert ranking.rank(mask(7, 9), mask(7, 8)) == first + a_ff
    assert ranking.rank(mask(7, 8), mask(7, 9)) == first + a_f


@both_kinds
@pytest.mark.parametrize("game", SMALL)
def test_bijection_on_small_boards(kind, game):
    ranking = kind(*game)
    unranked = [ranking.unrank(z) for z in range(ranking.positions)]
    assert [ranking.rank(*position) for position in unranked] == list(range(ranking.positions))
    assert sorted(unranked) == sorted(all_positions(*game)), "exactly the positions of the game"


@pytest.mark.parametrize("game", [(1, 40), (2, 40), (3, 8), (3, 10), (3, 12), (4, 8)])
def test_exhaustive_round_trip(game):
    ranking = Ranking(*game)
    every = np.arange(ranking.positions)
    own, other = ranking.unrank_many(every)
    assert np.array_equal(ranking.rank_many(own, other), every)
    assert len(set(zip(own.tolist(), other.tolist(), strict=True))) == ranking.positions


@pytest.mark.parametrize("game", [(3, 8), (2, 16)])
def test_every_position_of_a_small_board_has_its_id(game):
    ranking = Ranking(*game)
    own, other = np.array(all_positions(*game), dtype=np.uint64).T
    assert np.array_equal(np.sort(ranking.rank_many(own, other)), np.arange(ranking.positions))


@pytest.mark.parametrize("game", [(1, 8), (1, 10), (1, 40), (2, 8), (2, 10), (3, 8)])
def test_compiled_agrees_with_plain_python_on_every_id(game):
    ranking, twin = Ranking(*game), ReferenceRanking(*game)
    assert ranking.positions == twin.positions
    own, other = ranking.unrank_many(np.arange(ranking.positions))
    assert list(zip(own.tolist(), other.tolist(), strict=True)) == [twin.unrank(z) for z in range(twin.positions)]


@given(ids())
def test_compiled_agrees_with_plain_python_on_large_boards(case):
    ranking, twin, drawn = case
    for z in {drawn, *groups(ranking, twin, drawn)}:
        position = ranking.unrank(z)
        assert position == twin.unrank(z)
        assert ranking.rank(*position) == z
        assert ranking.profile(z) == twin.profile(z)


@settings(max_examples=200)
@given(positions())
def test_rank_then_unrank(case):
    pieces, squares, own, other = case
    ranking, twin = RANKINGS[pieces, squares]
    z = ranking.rank(own, other)
    assert z == twin.rank(own, other)
    assert ranking.unrank(z) == (own, other)
    finish = (own >> squares).bit_count(), (other >> squares).bit_count()
    assert ranking.profile(z) == (own.bit_count(), finish[0], other.bit_count(), finish[1])


@settings(max_examples=200)
@given(positions(), st.data())
def test_pieces_closer_to_the_box_have_higher_ids(case, data):
    """Moving any one piece to a lower free square of its zone raises the ID."""
    pieces, squares, own, other = case
    ranking = RANKINGS[pieces, squares][0]
    steps = [
        (which, start, end)
        for which, side, opponent in ((0, own, other), (1, other, own))
        for start in range(squares + pieces)
        for end in range(squares if start >= squares else 0, start)
        if side >> start & 1 and not (side | turned(opponent, squares)) >> end & 1
    ]
    if steps:
        which, start, end = data.draw(st.sampled_from(steps))
        moved = [own, other]
        moved[which] ^= mask(start, end)
        assert ranking.rank(*moved) > ranking.rank(own, other)


@pytest.mark.parametrize("pieces", [4, 5, 6])
def test_many_random_ids(pieces):
    ranking = RANKINGS[pieces, 40][0]
    drawn = np.random.default_rng(pieces).integers(0, ranking.positions, 200_000)
    assert np.array_equal(ranking.rank_many(*ranking.unrank_many(drawn)), drawn)


@pytest.mark.parametrize("rules", GAMES, ids=lambda rules: f"{rules.pieces}-{rules.squares}")
def test_profiles_agree_with_the_rules(rules):
    """Sizes are Python integers in `Rules`: a sum that left 64 bits in the compiled code would show here."""
    ranking = Ranking(rules.pieces, rules.squares)
    profiles = rules.profiles()
    assert ranking.profiles() == profiles == sorted(profiles)
    assert ranking.positions == rules.positions
    first = 0
    for profile in profiles:
        assert ranking.first(*profile) == first
        last = first + rules.profile_size(*profile) - 1
        assert ranking.profile(first) == ranking.profile(last) == profile
        for z in (first, last):
            assert ranking.rank(*ranking.unrank(z)) == z
        first = last + 1
    assert first == ranking.positions


@both_kinds
def test_profiles_ascend_with_the_ids(kind):
    ranking = kind(2, 8)
    profiles = [ranking.profile(z) for z in range(ranking.positions)]
    assert profiles == sorted(profiles)
    assert list(dict.fromkeys(profiles)) == ranking.profiles()


BAD_POSITIONS = [
    pytest.param(1 << 44, 0, "own .*outside 0 to 43", id="own off the board"),
    pytest.param(0, 1 << 44, "other .*outside 0 to 43", id="other off the board"),
    pytest.param(0, 1 << 63, "other .*outside 0 to 43", id="top bit"),
    pytest.param(1 << 64, 0, "own .*outside 0 to 43", id="more than 64 bits"),
    pytest.param(-1, 0, "own .*outside 0 to 43", id="negative"),
    pytest.param(0b11111, 0, "own .*5 pieces, the game has 4", id="five pieces"),
    pytest.param(0, 0b11111 << 39, "other .*5 pieces, the game has 4", id="five pieces of the other"),
    pytest.param(1 << 5, 1 << 25, "one square, the other's 25", id="one square twice"),
    pytest.param(1 << 25, 1 << 5, "one square, the other's 5", id="one square twice, round the end"),
    pytest.param(15 << 40, 15 << 40, "both sides have finished", id="both finished"),
]


@pytest.mark.parametrize(("own", "other", "message"), BAD_POSITIONS)
def test_rank_refuses_what_is_no_position(own, other, message):
    ranking, twin = RANKINGS[4, 40]
    with pytest.raises(ValueError, match=message):
        ranking.rank(own, other)
    with pytest.raises(ValueError, match=r"\w"):
        twin.rank(own, other)
    if 0 <= own < 1 << 64 and 0 <= other < 1 << 64:
        good = 1, 1
        table = np.array([good, good, (own, other), good, (own, other)], dtype=np.uint64)
        with pytest.raises(ValueError, match=f"^position 2: .*{message}"):
            ranking.rank_many(table[:, 0], table[:, 1])


@settings(max_examples=300)
@given(st.integers(0, 2**13 - 1), st.integers(0, 2**13 - 1))
def test_compiled_refuses_exactly_what_plain_python_refuses(own, other):
    ranking, twin = Ranking(4, 8), ReferenceRanking(4, 8)
    try:
        expected = twin.rank(own, other)
    except ValueError:
        with pytest.raises(ValueError, match=r"\w"):
            ranking.rank(own, other)
    else:
        assert ranking.rank(own, other) == expected


@both_kinds
@pytest.mark.parametrize("z", [-1, 1723, 2**63, 2**64, -(2**70)])
def test_unrank_refuses_ids_out_of_range(kind, z):
    ranking = kind(1, 40)
    for method in (ranking.unrank, ranking.profile):
        with pytest.raises(ValueError, match=str(z)):
            method(z)


@pytest.mark.parametrize("z", [-1, 1723, 2**63 - 1, -(2**63)])
def test_unrank_many_names_the_first_bad_id(z):
    with pytest.raises(ValueError, match=rf"ids\[2\] = {z} is outside 0 to 1722"):
        Ranking(1, 40).unrank_many(np.array([0, 1722, z, 5, z]))


@both_kinds
@pytest.mark.parametrize(
    "profile", [(2, 2, 2, 2), (1, 2, 0, 0), (0, 0, 1, 2), (3, 0, 0, 0), (0, 0, 3, 0), (-1, -1, 0, 0)]
)
def test_first_refuses_profiles_without_positions(kind, profile):
    with pytest.raises(ValueError, match="profile"):
        kind(2, 8).first(*profile)


@pytest.mark.parametrize(
    ("pieces", "squares", "message"),
    [
        (0, 40, "pieces must be 1 to 6, not 0"),
        (7, 40, "pieces must be 1 to 6, not 7"),
        (-(2**70), 40, "pieces must be 1 to 6"),
        (4, 6, "squares must be an even number from 8 to 40, not 6"),
        (4, 9, "squares must be an even number from 8 to 40, not 9"),
        (4, 42, "squares must be an even number from 8 to 40, not 42"),
    ],
)
def test_games_it_cannot_rank(pieces, squares, message):
    with pytest.raises(ValueError, match=message):
        Ranking(pieces, squares)


@pytest.mark.parametrize("bad", [1.0, "1", None])
def test_numbers_must_be_whole(bad):
    ranking = Ranking(1, 8)
    calls = [
        lambda: ranking.rank(bad, 0),
        lambda: ranking.rank(0, bad),
        lambda: ranking.unrank(bad),
        lambda: ranking.first(bad, 0, 0, 0),
        lambda: Ranking(bad, 8),
    ]
    for call in calls:
        with pytest.raises(TypeError):
            call()


ZEROS = np.zeros(3, dtype=np.uint64)


@pytest.mark.parametrize(
    ("own", "other", "message"),
    [
        (ZEROS.astype(np.int64), ZEROS, "own must be a 1-d uint64 array, not 1-d int64"),
        (ZEROS, ZEROS.astype(float), "other must be a 1-d uint64 array, not 1-d float64"),
        (ZEROS, ZEROS.astype(">u8"), "other must be a 1-d uint64 array"),
        (ZEROS.reshape(3, 1), ZEROS, "own must be a 1-d uint64 array, not 2-d uint64"),
        (np.uint64(0), ZEROS, "own must be a 1-d uint64 array, not uint64"),
        ([0, 0, 0], ZEROS, "own must be a 1-d uint64 array, not list"),
        (ZEROS, ZEROS[:2], "own has 3 masks, other has 2"),
    ],
)
def test_rank_many_refuses_wrong_arrays(own, other, message):
    with pytest.raises(ValueError, match=message):
        Ranking(1, 8).rank_many(own, other)


@pytest.mark.parametrize(
    "array", [ZEROS, ZEROS.astype(np.int32), np.zeros((2, 2), dtype=np.int64), [0], np.array(0), None]
)
def test_unrank_many_refuses_wrong_arrays(array):
    with pytest.raises(ValueError, match="ids must be a 1-d int64 array, not"):
        Ranking(1, 8).unrank_many(array)


def test_strided_reversed_empty_and_read_only_arrays():
    ranking = Ranking(2, 8)
    every = np.arange(ranking.positions)
    own, other = ranking.unrank_many(every)
    for part in (slice(None, None, 3), slice(None, None, -1), slice(5, 5)):
        own_part, other_part = ranking.unrank_many(every[part])
        assert np.array_equal(own_part, own[part])
        assert np.array_equal(other_part, other[part])
        assert np.array_equal(ranking.rank_many(own[part], other[part]), every[part])
    for array in (every, own, other):
        array.flags.writeable = False
    assert np.array_equal(ranking.rank_many(*ranking.unrank_many(every)), every)
    assert np.array_equal(ranking.rank_many(own, other), every)


def test_numpy_numbers_are_numbers():
    ranking = Ranking(4, 40)
    assert ranking.rank(np.uint64(1), np.uint64(1)) == ranking.rank(1, 1)
    assert ranking.unrank(np.int64(12345)) == ranking.unrank(12345)


def test_threads_may_share_a_ranking():
    ranking = Ranking(4, 40)
    drawn = np.random.default_rng(0).integers(0, ranking.positions, 50_000)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda part: ranking.rank_many(*ranking.unrank_many(part)), [drawn] * 8))
    assert all(np.array_equal(result, drawn) for result in results)


def test_a_ranking_says_what_it_is():
    ranking = Ranking(3, 12)
    assert repr(ranking) == "Ranking(pieces=3, squares=12)"
    assert (ranking.pieces, ranking.squares) == (3, 12)
    assert repr(copy.deepcopy(ranking)) == repr(ranking)
    with pytest.raises(AttributeError):
        ranking.positions = 1
