"""Game is the thesis' bijection: compiled and plain Python pass the same tests and agree."""

import copy
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, product
from typing import Any

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

from madn._core import Game
from madn.rules import Rules

KINDS = [Game, ReferenceRanking]
GAMES = [Rules(pieces, squares) for pieces in range(1, 7) for squares in range(8, 41, 2)]
COUNTS = {1: 1723, 2: 747435, 3: 145248343, 4: 16053053985}
SMALL = [(1, 8), (1, 40), (2, 8), (2, 10)]  # a few thousand positions: quick in plain Python too
RANKINGS = {(pieces, 40): (Game(Rules(pieces, 40)), ReferenceRanking(Rules(pieces, 40))) for pieces in (3, 4, 5, 6)}

Kind = type[Game] | type[ReferenceRanking]
Case = tuple[Game, ReferenceRanking, int]
both_kinds = pytest.mark.parametrize("kind", KINDS)


def mask(*squares: int) -> int:
    return sum(1 << square for square in squares)


def turned(side: int, squares: int) -> int:
    """The main field of one side in the numbers of the other."""
    return sum(1 << (q + squares // 2) % squares for q in range(squares) if side >> q & 1)


def all_positions(pieces: int, squares: int) -> list[tuple[int, int]]:
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
def ids(draw: st.DrawFn, sizes: tuple[tuple[int, int], ...] = tuple(RANKINGS)) -> Case:
    """A game and one of its IDs; often the first or last of a profile, where a wrong division shows."""
    game, twin = RANKINGS[draw(st.sampled_from(sizes))]
    anywhere = st.integers(0, game.positions - 1)
    edges = st.builds(
        lambda base, step: min(max(base + step, 0), game.positions - 1),
        st.sampled_from([*twin.base.values(), game.positions]),
        st.integers(-2, 2),
    )
    return game, twin, draw(anywhere | edges)


@st.composite
def positions(draw: st.DrawFn, sizes: tuple[tuple[int, int], ...] = tuple(RANKINGS)) -> tuple[int, int, int, int]:
    """A game and one of its positions, drawn piece by piece without any game."""
    pieces, squares = draw(st.sampled_from(sizes))
    cells = st.integers(0, squares + pieces - 1)
    own = mask(*draw(st.sets(cells, max_size=pieces)))
    taken = turned(own, squares)
    other = mask(*draw(st.sets(cells.filter(lambda q: not taken >> q & 1), max_size=pieces)))
    finished = mask(*range(squares, squares + pieces))
    return pieces, squares, own, 0 if own == other == finished else other


def groups(game: Game, twin: ReferenceRanking, z: int) -> Iterator[int]:
    """IDs around z at which a digit of the mixed-radix number turns over."""
    profile = twin.profile(z)
    base = twin.base[profile]
    for size in twin.group_sizes(profile):
        start = base + (z - base) // size * size
        yield from (x for x in (start - 1, start, start + size - 1, start + size) if 0 <= x < twin.positions)


@pytest.mark.parametrize("n", range(8))
def test_combinations_are_ranked_as_binary_numbers(n: int) -> None:
    for k in range(n + 1):
        strings = [f"{x:0{n}b}" if n else "" for x in range(2**n) if x.bit_count() == k]
        assert [encode_combination(t) for t in strings] == list(range(len(strings)))
        assert [encode_combination_by_sum(t) for t in strings] == list(range(len(strings)))
        assert [decode_combination(n, k, z) for z in range(len(strings))] == strings


@both_kinds
@pytest.mark.parametrize(("pieces", "count"), COUNTS.items())
def test_published_counts(kind: Kind, pieces: int, count: int) -> None:
    assert kind(Rules(pieces, 40)).positions == count


@both_kinds
def test_one_piece_by_hand(kind: Kind) -> None:
    game = kind(Rules(1, 40))
    assert game.unrank(0) == (0, 0)
    assert game.unrank(1) == (0, mask(39)), "the piece nearest to its finish zone comes first"
    assert game.unrank(40) == (0, mask(0))
    assert game.unrank(41) == (0, mask(40))
    assert game.unrank(42) == (mask(39), 0)
    assert game.unrank(82) == (mask(39), mask(39))
    # The start. Own piece: 39 squares of lower rank with 39 positions each. The other's square 20 is crossed
    # out, so its piece on 0 has 38 squares of lower rank.
    assert game.rank(mask(0), mask(0)) == 82 + 39 * 39 + 38
    # The other's 21 lies above the square crossed out, its 19 below: 18 and then 19 lower ranks.
    assert game.rank(mask(0), mask(21)) == 82 + 39 * 39 + 18
    assert game.rank(mask(0), mask(19)) == 82 + 39 * 39 + 19
    assert game.unrank(1722) == (mask(40), mask(0))


@both_kinds
def test_digits_of_an_id(kind: Kind) -> None:
    """Own finish zone, other's finish zone, own main field, other's main field: most significant first."""
    game = kind(Rules(2, 8))
    first = game.first(2, 1, 2, 1)  # finish squares 8 and 9
    a_ffm, a_ff, a_f = 7, 8 * 7, 2 * 8 * 7
    lowest = (mask(7, 9), mask(7, 9))  # own 7 is the other's 3
    assert game.rank(*lowest) == first
    assert game.rank(mask(7, 9), mask(6, 9)) == first + 1
    assert game.rank(mask(6, 9), mask(7, 9)) == first + a_ffm
    assert game.rank(mask(7, 9), mask(7, 8)) == first + a_ff
    assert game.rank(mask(7, 8), mask(7, 9)) == first + a_f


@both_kinds
@pytest.mark.parametrize("size", SMALL)
def test_bijection_on_small_boards(kind: Kind, size: tuple[int, int]) -> None:
    game = kind(Rules(*size))
    unranked = [game.unrank(z) for z in range(game.positions)]
    assert [game.rank(*position) for position in unranked] == list(range(game.positions))
    assert sorted(unranked) == sorted(all_positions(*size)), "exactly the positions of the game"


@pytest.mark.parametrize("size", [(1, 40), (2, 40), (3, 8), (3, 10), (3, 12), (4, 8)])
def test_exhaustive_round_trip(size: tuple[int, int]) -> None:
    game = Game(Rules(*size))
    every = np.arange(game.positions)
    own, other = game.unrank_many(every)
    assert np.array_equal(game.rank_many(own, other), every)
    assert len(set(zip(own.tolist(), other.tolist(), strict=True))) == game.positions


@pytest.mark.parametrize("size", [(3, 8), (2, 16)])
def test_every_position_of_a_small_board_has_its_id(size: tuple[int, int]) -> None:
    game = Game(Rules(*size))
    own, other = np.array(all_positions(*size), dtype=np.uint64).T
    assert np.array_equal(np.sort(game.rank_many(own, other)), np.arange(game.positions))


@pytest.mark.parametrize("size", [(1, 8), (1, 10), (1, 40), (2, 8), (2, 10), (3, 8)])
def test_compiled_agrees_with_plain_python_on_every_id(size: tuple[int, int]) -> None:
    game, twin = Game(Rules(*size)), ReferenceRanking(Rules(*size))
    assert game.positions == twin.positions
    own, other = game.unrank_many(np.arange(game.positions))
    assert list(zip(own.tolist(), other.tolist(), strict=True)) == [twin.unrank(z) for z in range(twin.positions)]


@given(ids())
def test_compiled_agrees_with_plain_python_on_large_boards(case: Case) -> None:
    game, twin, drawn = case
    for z in {drawn, *groups(game, twin, drawn)}:
        position = game.unrank(z)
        assert position == twin.unrank(z)
        assert game.rank(*position) == z
        assert game.profile(z) == twin.profile(z)


@settings(max_examples=200)
@given(positions())
def test_rank_then_unrank(case: tuple[int, int, int, int]) -> None:
    pieces, squares, own, other = case
    game, twin = RANKINGS[pieces, squares]
    z = game.rank(own, other)
    assert z == twin.rank(own, other)
    assert game.unrank(z) == (own, other)
    finish = (own >> squares).bit_count(), (other >> squares).bit_count()
    assert game.profile(z) == (own.bit_count(), finish[0], other.bit_count(), finish[1])


@settings(max_examples=200)
@given(positions(), st.data())
def test_pieces_closer_to_the_box_have_higher_ids(case: tuple[int, int, int, int], data: st.DataObject) -> None:
    """Moving any one piece to a lower free square of its zone raises the ID."""
    pieces, squares, own, other = case
    game = RANKINGS[pieces, squares][0]
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
        assert game.rank(*moved) > game.rank(own, other)


@pytest.mark.parametrize("pieces", [4, 5, 6])
def test_many_random_ids(pieces: int) -> None:
    game = RANKINGS[pieces, 40][0]
    drawn = np.random.default_rng(pieces).integers(0, game.positions, 200_000)
    assert np.array_equal(game.rank_many(*game.unrank_many(drawn)), drawn)


@pytest.mark.parametrize("rules", GAMES, ids=lambda rules: f"{rules.pieces}-{rules.squares}")
def test_profiles_agree_with_the_rules(rules: Rules) -> None:
    """Sizes are Python integers in `Rules`: a sum that left 64 bits in the compiled code would show here."""
    game = Game(rules)
    profiles = rules.profiles()
    assert game.profiles() == profiles == sorted(profiles)
    assert game.positions == rules.positions
    first = 0
    for profile in profiles:
        assert game.first(*profile) == first
        last = first + rules.profile_size(*profile) - 1
        assert game.profile(first) == game.profile(last) == profile
        for z in (first, last):
            assert game.rank(*game.unrank(z)) == z
        first = last + 1
    assert first == game.positions


@both_kinds
def test_profiles_ascend_with_the_ids(kind: Kind) -> None:
    game = kind(Rules(2, 8))
    profiles = [game.profile(z) for z in range(game.positions)]
    assert profiles == sorted(profiles)
    assert list(dict.fromkeys(profiles)) == game.profiles()


BAD_POSITIONS = [
    pytest.param(1 << 44, 0, "own .*outside 0 to 43", id="own off the board"),
    pytest.param(0, 1 << 44, "other .*outside 0 to 43", id="other off the board"),
    pytest.param(0, 1 << 63, "other .*outside 0 to 43", id="top bit"),
    pytest.param(1 << 64, 0, "own .*outside 0 to 43", id="more than 64 bits"),
    pytest.param(-1, 0, "own .*outside 0 to 43", id="negative"),
    pytest.param(0b11111, 0, "own .*5 pieces, the game has 4", id="five pieces"),
    pytest.param(0, 0b11111 << 39, "other .*5 pieces, the game has 4", id="five pieces of the other"),
    pytest.param(1 << 5, 1 << 25, "same square: 25 as the other side counts", id="one square twice"),
    pytest.param(1 << 25, 1 << 5, "same square: 5 as the other side counts", id="one square twice, round the end"),
    pytest.param(15 << 40, 15 << 40, "both sides have finished", id="both finished"),
]


@pytest.mark.parametrize(("own", "other", "message"), BAD_POSITIONS)
def test_rank_refuses_what_is_no_position(own: int, other: int, message: str) -> None:
    game, twin = RANKINGS[4, 40]
    with pytest.raises(ValueError, match=message):
        game.rank(own, other)
    with pytest.raises(ValueError, match=r"\w"):
        twin.rank(own, other)
    if 0 <= own < 1 << 64 and 0 <= other < 1 << 64:
        good = 1, 1
        table = np.array([good, good, (own, other), good, (own, other)], dtype=np.uint64)
        with pytest.raises(ValueError, match=f"^position 2: .*{message}"):
            game.rank_many(table[:, 0], table[:, 1])


@settings(max_examples=300)
@given(st.integers(0, 2**13 - 1), st.integers(0, 2**13 - 1))
def test_compiled_refuses_exactly_what_plain_python_refuses(own: int, other: int) -> None:
    game, twin = Game(Rules(4, 8)), ReferenceRanking(Rules(4, 8))
    try:
        expected = twin.rank(own, other)
    except ValueError:
        with pytest.raises(ValueError, match=r"\w"):
            game.rank(own, other)
    else:
        assert game.rank(own, other) == expected


@both_kinds
@pytest.mark.parametrize("z", [-1, 1723, 2**63, 2**64, -(2**70)])
def test_unrank_refuses_ids_out_of_range(kind: Kind, z: int) -> None:
    game = kind(Rules(1, 40))
    for method in (game.unrank, game.profile):
        with pytest.raises(ValueError, match=str(z)):
            method(z)


@pytest.mark.parametrize("z", [-1, 1723, 2**63 - 1, -(2**63)])
def test_unrank_many_names_the_first_bad_id(z: int) -> None:
    with pytest.raises(ValueError, match=rf"ids\[2\] = {z} is outside 0 to 1722"):
        Game(Rules(1, 40)).unrank_many(np.array([0, 1722, z, 5, z]))


@both_kinds
@pytest.mark.parametrize(
    "profile", [(2, 2, 2, 2), (1, 2, 0, 0), (0, 0, 1, 2), (3, 0, 0, 0), (0, 0, 3, 0), (-1, -1, 0, 0)]
)
def test_first_refuses_profiles_without_positions(kind: Kind, profile: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="profile"):
        kind(Rules(2, 8)).first(*profile)


@pytest.mark.parametrize("bad", [None, 4, (4, 40), "4"])
def test_a_game_is_made_from_rules(bad: Any) -> None:
    with pytest.raises(TypeError, match="made from Rules"):
        Game(bad)


@pytest.mark.parametrize("bad", [1.0, "1", None])
def test_numbers_must_be_whole(bad: Any) -> None:
    game = Game(Rules(1, 8))
    calls: list[Callable[[], object]] = [
        lambda: game.rank(bad, 0),
        lambda: game.rank(0, bad),
        lambda: game.unrank(bad),
        lambda: game.first(bad, 0, 0, 0),
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
def test_rank_many_refuses_wrong_arrays(own: Any, other: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Game(Rules(1, 8)).rank_many(own, other)


@pytest.mark.parametrize(
    "array", [ZEROS, ZEROS.astype(np.int32), np.zeros((2, 2), dtype=np.int64), [0], np.array(0), None]
)
def test_unrank_many_refuses_wrong_arrays(array: Any) -> None:
    with pytest.raises(ValueError, match="ids must be a 1-d int64 array, not"):
        Game(Rules(1, 8)).unrank_many(array)


def test_strided_reversed_empty_and_read_only_arrays() -> None:
    game = Game(Rules(2, 8))
    every = np.arange(game.positions)
    own, other = game.unrank_many(every)
    for part in (slice(None, None, 3), slice(None, None, -1), slice(5, 5)):
        own_part, other_part = game.unrank_many(every[part])
        assert np.array_equal(own_part, own[part])
        assert np.array_equal(other_part, other[part])
        assert np.array_equal(game.rank_many(own[part], other[part]), every[part])
    for array in (every, own, other):
        array.flags.writeable = False
    assert np.array_equal(game.rank_many(*game.unrank_many(every)), every)
    assert np.array_equal(game.rank_many(own, other), every)


def test_numpy_numbers_are_numbers() -> None:
    game = Game(Rules(4, 40))
    assert game.rank(np.uint64(1), np.uint64(1)) == game.rank(1, 1)
    assert game.unrank(np.int64(12345)) == game.unrank(12345)


def test_threads_may_share_a_ranking() -> None:
    game = Game(Rules(4, 40))
    drawn = np.random.default_rng(0).integers(0, game.positions, 50_000)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda part: game.rank_many(*game.unrank_many(part)), [drawn] * 8))
    assert all(np.array_equal(result, drawn) for result in results)


def test_a_ranking_says_what_it_is() -> None:
    game = Game(Rules(3, 12))
    assert repr(game) == "Game(Rules(pieces=3, squares=12))"
    assert game.rules == Rules(3, 12)
    assert repr(copy.deepcopy(game)) == repr(game)
    with pytest.raises(AttributeError):
        game.positions = 1  # type: ignore[misc]
