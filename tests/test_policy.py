"""Databases of best moves: choosing from values, coding the choices, answering without probabilities."""

# A test of a refusal passes what the types forbid.
# mypy: disable-error-code="arg-type, call-arg"

import base64
import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_compress import Stopped, contents
from test_database import Flat
from test_store import Noise

import madn
from madn import Board, Rules
from madn._core import Game
from madn.database import Database, open_database
from madn.errors import CorruptBlockError, IllegalMoveError, MadnError, MissingBlockError, NoValuesError
from madn.solver import make_plan, solve
from madn.store import (
    _mixed_policy,
    _policy,
    _successors,
    compress_database,
    policy,
    verify_database,
    write_database,
    zstd,
)
from madn.store.blocks import POLICY, POLICY1
from madn.store.catalogue import read_catalogue
from madn.store.move_values import MoveValues
from madn.store.reader import open_reader

GAMES = (Rules(1, 8), Rules(2, 8), Rules(3, 8), Rules(4, 8))
ROLLS = range(1, 7)
SMALL = Rules(2, 8)


def open_boards(rules: Rules, step: int = 1) -> Iterator[Board]:
    game = Game(rules)
    for number in range(0, rules.positions, step):
        board = Board.from_masks(*game.unrank(number), rules)
        if board.winner is None:
            yield board


def any_choices(rules: Rules, first: int, count: int, seed: int, steady: float) -> np.ndarray:
    """Legal choices, random ones or mostly the last; the numbers are those of the moves without a duty to capture."""
    rng = np.random.default_rng(seed)
    found = np.zeros((count, 6), np.uint8)
    for i in range(count):
        for roll in ROLLS:
            legal = legal_numbers(rules, first + i, roll)
            found[i, roll - 1] = legal[-1] if rng.random() < steady else rng.choice(legal)
    return found


def legal_numbers(rules: Rules, number: int, roll: int) -> list[int]:
    """The numbers of the legal moves of a position for a roll."""
    board = Board.from_masks(*Game(rules).unrank(number), rules)
    free = dataclasses.replace(rules, must_capture=False)
    moves = [str(move) for move in Board.from_masks(*board.masks, free).legal_moves(roll)]
    return [moves.index(str(move)) for move in board.legal_moves(roll)] or [0]


@st.composite
def stretches(draw: st.DrawFn) -> tuple[Rules, int, int]:
    """Rules, a first ID and a count that stay in one profile."""
    rules = draw(st.sampled_from((*GAMES, Rules(3, 40), Rules(6, 10), Rules(3, 8, must_capture=True), Rules(4, 40))))
    game = Game(rules)
    first = draw(st.integers(0, rules.positions - 1))
    end = game.first(*game.profile(first)) + rules.profile_size(*game.profile(first))
    return rules, first, draw(st.integers(1, min(end - first, 60)))


@given(where=stretches(), seed=st.integers(0, 99), steady=st.sampled_from([0.0, 0.9, 1.0]))
def test_decode_undoes_encode(where: tuple[Rules, int, int], seed: int, steady: float) -> None:
    rules, first, count = where
    game = Game(rules)
    choices = any_choices(rules, first, count, seed, steady)
    frame, decisions = policy.encode(policy.joined(choices), first, game, 3)
    words = policy.decode(frame, POLICY, first, count, game)
    back = [[policy.choice(word, roll) for roll in ROLLS] for word in words.tolist()]
    assert np.array_equal(back, choices)
    boards = (Board.from_masks(*game.unrank(first + i), rules) for i in range(count))
    assert decisions == sum(len(board.legal_moves(roll)) > 1 for board in boards for roll in ROLLS)


@given(where=stretches(), data=st.binary(max_size=200))
def test_whatever_the_bytes_are_the_moves_are_legal(where: tuple[Rules, int, int], data: bytes) -> None:
    rules, first, count = where
    game = Game(rules)
    for decode in (_policy.decode_into, decoded_as_before):
        found = np.full(count, 2**63, np.uint64)
        if decode(game, first, data, found) < 0 and len(data) < 4:
            continue
        for i, choices in enumerate(found.tolist()):
            assert choices >> 48 == 0
            assert all(choices >> 8 * (roll - 1) & 255 in legal_numbers(rules, first + i, roll) for roll in ROLLS)


def decoded_as_before(game: Game, first: int, data: bytes, out: np.ndarray) -> int:
    """What the reader of version 0.1's code finds in some bytes."""
    found = np.full((len(out), 6), 9, np.uint8)
    decisions = _mixed_policy.decode_into(game, first, data, found)
    if len(data) >= 4:
        out[:] = policy.joined(found)
    return decisions


@given(where=stretches(), seed=st.integers(0, 99), data=st.data())
def test_a_changed_byte_is_found(where: tuple[Rules, int, int], seed: int, data: st.DataObject) -> None:
    """The code says itself where it ends, and with what."""
    rules, first, count = where
    game, out = Game(rules), np.empty(count, np.uint64)
    code, _ = _policy.encode(game, first, policy.joined(any_choices(rules, first, count, seed, 0.5)))
    at = data.draw(st.integers(0, len(code) - 1))
    changed = bytearray(code)
    changed[at] ^= data.draw(st.integers(1, 255))
    assert _policy.decode_into(game, first, changed, out) == -1
    assert _policy.decode_into(game, first, code[:-1], out) == -1
    assert _policy.decode_into(game, first, code + b"\0", out) == -1


def test_a_policy_of_version_0_1_is_read(tmp_path: Path) -> None:
    """`madn solve --pieces 3 --squares 8` and `madn compress --store policy --level 19` of that version made it."""
    old = Path(__file__).with_name("policy-0.1")
    write_database(tmp_path / "db", solve(make_plan(Rules(3, 8), threads=1)), {})
    with open_database(old) as best, open_database(tmp_path / "db") as values:
        assert best.values == "policy"
        assert [stored.encoding for stored in read_catalogue(old)[0].encodings] == [POLICY1]
        for board in open_boards(values.rules, 97):
            assert all(best.best_move(board, roll) == values.best_move(board, roll) for roll in ROLLS)
    assert verify_database(old).ok


@pytest.mark.parametrize("case", json.loads(Path(__file__).with_name("policy_frames.json").read_text("ascii")), ids=str)
def test_frames_of_version_0_1_are_read(case: dict[str, Any]) -> None:
    """With a duty to capture, and with six pieces; the digests are those of the words that version 0.1 read."""
    game, frame = Game(Rules(**case["rules"])), base64.b64decode(case["frame"])
    words = policy.decode(frame, POLICY1, case["first"], case["count"], game)
    assert hashlib.sha256(words.astype("<u4").tobytes()).hexdigest() == case["words_sha256"]
    with pytest.raises(CorruptBlockError, match="block header is"):
        policy.decode(frame, POLICY, case["first"], case["count"], game)


def test_frames_that_are_something_else_are_refused() -> None:
    rules = Rules(2, 8)
    game = Game(Rules(2, 8))
    first = game.first(2, 0, 2, 0)
    frame, _ = policy.encode(policy.joined(any_choices(rules, first, 100, 1, 0.5)), first, game, 3)
    content = zstd.decompress(frame, zstd.content_size(frame))
    with pytest.raises(CorruptBlockError, match="block header is"):
        policy.decode(frame, POLICY, first + 1, 100, game)
    for wrong in (content[:-1], content + b"x", content[:20], content[:10]):
        with pytest.raises(CorruptBlockError):
            policy.decode(zstd.compress(wrong, 3), POLICY, first, 100, game)
    with pytest.raises(CorruptBlockError, match="claims"):
        policy.decode(zstd.compress(content + bytes(10_000), 3), POLICY, first, 100, game)
    with pytest.raises(CorruptBlockError, match="not a zstd frame"):
        policy.decode(b"not a frame", POLICY, first, 100, game)
    for wrong_first in (rules.positions - 50, -1):
        with pytest.raises(ValueError, match="profile"):
            _policy.encode(game, wrong_first, np.zeros(100, np.uint64))


def test_choices_come_in_three_forms() -> None:
    """2 bits a roll from the solver, a byte a roll for the code, 3 bits a roll for answers."""
    choices = np.random.default_rng(1).integers(0, 4, (1000, 6)).astype(np.uint8)
    pairs = np.bitwise_or.reduce([choices[:, k].astype(np.uint16) << 2 * k for k in range(6)]).astype(np.uint16)
    assert np.array_equal(_policy.spread(pairs), policy.joined(choices))
    choices = np.random.default_rng(2).integers(0, 8, (1000, 6)).astype(np.uint8)
    words = _policy.pack(policy.joined(choices))
    assert all(np.array_equal(policy.choice(words, np.full(1000, roll)), choices[:, roll - 1]) for roll in ROLLS)


# choosing


@pytest.mark.parametrize("rules", GAMES)
@pytest.mark.parametrize("representation", ["fixed32", "float64"])
def test_choices_are_those_of_the_readers_game(tmp_path: Path, rules: Rules, representation: str) -> None:
    """The plain twin: the last move, by ascending start, that comes within the tie of the largest value."""
    write_database(tmp_path / "db", Noise(rules, representation), {}, block_positions=700)
    _, table = read_catalogue(tmp_path / "db")
    game = Game(rules)
    reader = open_reader(tmp_path / "db")
    for cache in (1 << 30, 5000, 0):  # too little memory makes it slow, not wrong
        moves = MoveValues(reader, table, cache)
        for first in (0, rules.positions // 3, rules.positions - 40):
            found = moves.choices(first, 40)
            for i in range(40):
                board = Board.from_masks(*game.unrank(first + i), rules)
                for roll in ROLLS:
                    legal = board.legal_moves(roll)
                    wins = [reader.win(game.rank(*board.after(move, roll).masks)) for move in legal]
                    wins = wins if roll == 6 else [1.0 - win for win in wins]
                    tied = [k for k, win in enumerate(wins) if max(wins) - win <= moves.encoding.tie]
                    assert found[i, roll - 1] == (tied[-1] if len(legal) > 1 else 0)
    reader.close()


@pytest.mark.parametrize(
    ("representation", "step", "equal"),
    [("fixed32", 1 / 2**29, True), ("fixed32", 2 / 2**29, False), ("float64", 5e-13, True), ("float64", 2e-12, False)],
)
def test_moves_that_differ_by_less_than_storing_may_change_are_equal(
    tmp_path: Path, representation: str, step: float, equal: bool
) -> None:
    rules = Rules(3, 8)
    board = Board.parse("1,3,6/1", rules)
    number = Game(Rules(3, 8)).rank(*board.after(madn.Move(1, 2), 1).masks)

    class Nearly(Flat):
        def read(self, first: int, out: np.ndarray) -> None:
            out[:] = 0.5 if representation == "float64" else 0
            if first <= number < first + len(out):
                out[number - first] -= step * (1 if representation == "float64" else 2**29)

    write_database(tmp_path / "db", Nearly(rules, representation=representation), {})
    compress_database(tmp_path / "db", tmp_path / "new", "policy")
    with open_database(tmp_path / "db") as db, open_database(tmp_path / "new") as best:
        expected = "6-7" if equal else "1-2"
        assert str(db.best_move(board, 1)) == str(best.best_move(board, 1)) == expected
        assert str(db.moves(board, 1)[0].move) == str(best.moves(board, 1)[0].move) == expected
        assert sorted(str(m.move) for m in db.moves(board, 1)) == ["1-2", "3-4", "6-7"]


# answers


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Database, Database]]:
    """A solved game with its values, and with its best moves only."""
    directory = tmp_path_factory.mktemp("policy")
    write_database(directory / "values", solve(make_plan(SMALL, threads=1)), {"residual": 1e-9}, block_positions=200)
    compress_database(directory / "values", directory / "policy", "policy")
    with open_database(directory / "values") as values, open_database(directory / "policy") as best:
        yield values, best


def test_best_moves_are_those_of_the_values(pair: tuple[Database, Database]) -> None:
    values, best = pair
    for board in open_boards(SMALL, 3):
        for roll in ROLLS:
            assert best.best_move(board, roll) == values.best_move(board, roll)


def test_moves_and_analyses_have_no_probabilities(pair: tuple[Database, Database]) -> None:
    values, best = pair
    for board in open_boards(SMALL, 50):
        analysis = best.analyse(board)
        assert analysis.win is None
        for roll in ROLLS:
            moves, valued = best.moves(board, roll), values.moves(board, roll)
            assert analysis.rolls[roll - 1] == madn.database.RollValue(roll, None, moves)
            assert {m.move: m.board for m in moves} == {m.move: m.board for m in valued}
            assert moves[0].move == valued[0].move
            assert [m.win for m in moves] == [None] * len(moves)
            starts = [-1 if m.move.start is None else m.move.start for m in moves[1:]]
            assert starts == sorted(starts, reverse=True)


def test_asked_for_a_probability_it_says_that_it_has_none(pair: tuple[Database, Database]) -> None:
    _, best = pair
    board = Board.start(SMALL)
    for ask in (best.win, lambda b: best.win_many([b]), lambda b: best.win_many(np.array([0]))):
        with pytest.raises(NoValuesError, match="best moves, not winning probabilities") as caught:
            ask(board)
        assert isinstance(caught.value, MissingBlockError)
        assert "\n" not in str(caught.value)
    assert best.get_win(board) is None
    assert best.get_win(board, 0.25) == 0.25
    with pytest.raises(IllegalMoveError):
        best.best_move(Board.parse("8,9/0", SMALL), 3)
    assert best.analyse(Board.parse("8,9/0", SMALL)).rolls == ()


def test_what_a_policy_says_of_itself(pair: tuple[Database, Database]) -> None:
    values, best = pair
    info = best.info()
    assert info["values"] == "policy"
    assert info["boards"] == values.info()["boards"]  # from when it was made
    decisions = sum(len(board.legal_moves(roll)) > 1 for board in open_boards(SMALL) for roll in ROLLS)
    assert info["decisions"] == decisions
    assert info["bits_per_decision"] == 8 * info["bytes"] / decisions
    assert info["provenance"]["compressed"] == [{"store": "policy", "bits": None, "level": 9, "decisions": decisions}]
    report = verify_database(best.path, deep=True)
    assert report.ok
    assert (report.positions, report.residual, report.recomputed) == (SMALL.positions, None, 0)


def test_a_policy_is_not_compressed_again_and_has_no_bits(pair: tuple[Database, Database], tmp_path: Path) -> None:
    values, best = pair
    with pytest.raises(MadnError, match="stores best moves, not values"):
        compress_database(best.path, tmp_path / "new")
    with pytest.raises(MadnError, match="bits are for values"):
        compress_database(values.path, tmp_path / "new", "policy", bits=12)
    assert list(tmp_path.iterdir()) == []


def test_stopped_work_on_a_policy_goes_on(pair: tuple[Database, Database], tmp_path: Path) -> None:
    values, best = pair

    def stop(part: float, text: str) -> None:
        if part > 0.5:
            raise Stopped

    with pytest.raises(Stopped):
        compress_database(values.path, tmp_path / "new", "policy", progress=stop)
    done: list[float] = []
    compress_database(values.path, tmp_path / "new", "policy", progress=lambda part, text: done.append(part))
    assert done[0] > 0.5
    assert contents(tmp_path / "new") == contents(best.path)


def test_moves_that_lead_out_of_the_database_are_said(tmp_path: Path) -> None:
    class Part(Noise):
        def ranges(self) -> list[tuple[int, int]]:
            return [(0, self.rules.positions // 2)]

    write_database(tmp_path / "db", Part(Rules(2, 8)), {}, block_positions=300)
    with pytest.raises(MissingBlockError, match="is not in this database"):
        compress_database(tmp_path / "db", tmp_path / "new", "policy")
    assert compress_database(tmp_path / "db", tmp_path / "new", bits=12)["max_loss"] is None
    assert open_database(tmp_path / "new").info()["mean_loss"] is None


def test_with_little_memory_a_policy_is_the_same_and_the_loss_is_not_measured(
    pair: tuple[Database, Database], tmp_path: Path
) -> None:
    values, best = pair
    compress_database(values.path, tmp_path / "new", "policy", cache_bytes=3000)
    assert contents(tmp_path / "new") == contents(best.path)
    assert compress_database(values.path, tmp_path / "twelve", bits=12, cache_bytes=3000)["max_loss"] is None


# what rounding loses


@pytest.mark.parametrize("bits", [8, 11])
def test_the_loss_is_that_of_one_turn_played_from_the_rounded_values(
    pair: tuple[Database, Database], tmp_path: Path, bits: int
) -> None:
    values, _ = pair
    found = compress_database(values.path, tmp_path / "new", bits=bits)
    losses = {}
    with open_database(tmp_path / "new") as rounded:
        for board in open_boards(SMALL):
            lost = 0.0
            for roll in ROLLS:
                wins = {m.move: m.win or 0.0 for m in values.moves(board, roll)}
                lost += max(wins.values()) - wins[rounded.best_move(board, roll)]
            losses[str(board)] = lost / 6
        info = rounded.info()
    assert found["max_loss"] == pytest.approx(max(losses.values()), abs=1e-12)
    assert losses[found["max_loss_board"]] == pytest.approx(found["max_loss"], abs=1e-12)
    assert found["mean_loss"] == pytest.approx(sum(losses.values()) / SMALL.positions, abs=1e-12)
    assert 0 < found["mean_loss"] < found["max_loss"] <= 2 * found["max_error"]
    assert [info[name] for name in ("max_loss", "max_loss_board", "mean_loss")] == [
        found[name] for name in ("max_loss", "max_loss_board", "mean_loss")
    ]


@settings(max_examples=30)
@given(rules=st.sampled_from(GAMES), kind=st.sampled_from(["<f8", "<i4", "<u1", "<u2", "<u4"]), seed=st.integers(0, 99))
def test_values_are_found_wherever_they_lie(rules: Rules, kind: str, seed: int) -> None:
    """Looked up against plain indexing, with blocks of uneven sizes and gaps."""
    rng = np.random.default_rng(seed)
    cuts = np.unique(rng.integers(0, rules.positions, 9))
    first, counts = cuts[:-1], np.diff(cuts) - rng.integers(0, 2, len(cuts) - 1)
    first, counts = first[counts > 0], counts[counts > 0]
    values = rng.integers(0, 200, rules.positions).astype(kind)
    if kind == "<i4":
        values -= 100
    arrays = [values[a : a + n].copy() for a, n in zip(first, counts, strict=True)]
    index = _successors.BlockIndex(first, counts, kind, 0.25, 8.0)
    ids = rng.integers(-1, rules.positions, 300)
    inside = np.array([((first <= i) & (i < first + counts)).any() for i in ids])
    needed, missing = index.needed(ids)
    assert missing == next((i for i in ids.tolist() if i >= 0 and not inside[ids.tolist().index(i)]), -1)
    assert set(needed) == {int(np.searchsorted(first, i, "right")) - 1 for i in ids[inside]}
    out = np.full(len(ids), -1.0)
    decoded = _successors.DecodedBlocks(index)
    assert decoded.absent(needed).tolist() == needed.tolist()
    for at, array in enumerate(arrays):
        decoded.add(at, array)
    assert decoded.absent(needed).tolist() == []
    decoded.look_up(ids, out)
    assert np.array_equal(out, np.where(inside, 0.25 + values[ids] / 8.0, -1.0))


# compiled functions refuse what they cannot work with

GAME = Game(Rules(2, 8))
FIRST = GAME.first(2, 0, 2, 0)
IDS, WINS = np.full((3, 6, 2), -1), np.zeros((3, 6, 2))
LIKELY = np.full((3, 6), 1 / 6)
CHOICES, JOINED = np.zeros((3, 6), np.uint8), np.zeros(3, np.uint64)
READ_ONLY = np.broadcast_to(CHOICES, (3, 6))
MANY_IDS, MANY_WINS = np.zeros((3, 6, 9), np.int64), np.zeros((3, 6, 9))
INDEX = _successors.BlockIndex([0, 10], [10, 5], "<i4", 0.5, 8.0)
HUGE = 2**63 - 1
WRONG_CALLS = {
    "encode: no array": lambda: _policy.encode(GAME, FIRST, None),
    "encode: no game": lambda: _policy.encode(None, FIRST, JOINED),
    "encode: two dimensions": lambda: _policy.encode(GAME, FIRST, np.zeros((3, 6), np.uint64)),
    "encode: other type": lambda: _policy.encode(GAME, FIRST, np.zeros(3, np.int64)),
    "encode: strided": lambda: _policy.encode(GAME, FIRST, np.zeros(6, np.uint64)[::2]),
    "encode: nothing": lambda: _policy.encode(GAME, FIRST, JOINED[:0]),
    "encode: ID that overflows": lambda: _policy.encode(GAME, HUGE, JOINED),
    "encode: ID out of range": lambda: _policy.encode(GAME, GAME.positions, JOINED),
    "encode: no such move": lambda: _policy.encode(GAME, FIRST, policy.joined(np.full((40, 6), 2, np.uint8))),
    "encode: no such roll": lambda: _policy.encode(GAME, FIRST, np.full(40, 1 << 48, np.uint64)),
    "encode: the game is over": lambda: _policy.encode(GAME, GAME.first(2, 2, 0, 0), np.ones(1, np.uint64)),
    "decode: no data": lambda: _policy.decode_into(GAME, FIRST, None, JOINED.copy()),
    "decode: no room": lambda: _policy.decode_into(GAME, FIRST, b"12345", None),
    "decode: read-only": lambda: _policy.decode_into(GAME, FIRST, b"12345", np.broadcast_to(JOINED, 3)),
    "decode: ID that overflows": lambda: _policy.decode_into(GAME, HUGE - 1, b"12345", JOINED.copy()),
    "decode: other type": lambda: _policy.decode_into(GAME, FIRST, b"12345", CHOICES.copy()),
    "spread: nothing": lambda: _policy.spread(None),
    "spread: other type": lambda: _policy.spread(JOINED),
    "pack: nothing": lambda: _policy.pack(None),
    "pack: other type": lambda: _policy.pack(CHOICES),
    "0.1: no data": lambda: _mixed_policy.decode_into(GAME, FIRST, None, CHOICES.copy()),
    "0.1: no room": lambda: _mixed_policy.decode_into(GAME, FIRST, b"12345", None),
    "0.1: read-only": lambda: _mixed_policy.decode_into(GAME, FIRST, b"12345", READ_ONLY),
    "0.1: other columns": lambda: _mixed_policy.decode_into(GAME, FIRST, b"12345", np.zeros((3, 7), np.uint8)),
    "0.1: ID that overflows": lambda: _mixed_policy.decode_into(GAME, HUGE - 1, b"12345", CHOICES.copy()),
    "successors: no room": lambda: _successors.successors(GAME, 0, None),
    "successors: other shape": lambda: _successors.successors(GAME, 0, np.zeros((3, 6, 3), np.int64)),
    "successors: negative ID": lambda: _successors.successors(GAME, -1, IDS.copy()),
    "successors: ID that overflows": lambda: _successors.successors(GAME, HUGE - 1, IDS.copy()),
    "index: fewer counts": lambda: _successors.BlockIndex([0, 10], [10], "<i4", 0.0, 1.0),
    "index: blocks that overlap": lambda: _successors.BlockIndex([0, 9], [10, 5], "<i4", 0.0, 1.0),
    "index: empty block": lambda: _successors.BlockIndex([0, 10], [0, 5], "<i4", 0.0, 1.0),
    "index: negative ID": lambda: _successors.BlockIndex([-5], [10], "<i4", 0.0, 1.0),
    "index: ID that overflows": lambda: _successors.BlockIndex([HUGE], [1], "<i4", 0.0, 1.0),
    "index: other type": lambda: _successors.BlockIndex([0], [1], "<c16", 0.0, 1.0),
    "index: big-endian": lambda: _successors.BlockIndex([0], [1], ">i4", 0.0, 1.0),
    "index: two dimensions": lambda: _successors.BlockIndex([[0]], [[1]], "<i4", 0.0, 1.0),
    "index: not made": lambda: _successors.BlockIndex.__new__(_successors.BlockIndex),
    "needed: no IDs": lambda: INDEX.needed(None),
    "needed: other type": lambda: INDEX.needed(np.zeros(3)),
    "decoded: no index": lambda: _successors.DecodedBlocks(None),
    "decoded: not made": lambda: _successors.DecodedBlocks.__new__(_successors.DecodedBlocks),
    "add: no such block": lambda: _successors.DecodedBlocks(INDEX).add(2, np.zeros(5, "<i4")),
    "add: negative block": lambda: _successors.DecodedBlocks(INDEX).add(-1, np.zeros(5, "<i4")),
    "add: no array": lambda: _successors.DecodedBlocks(INDEX).add(1, None),
    "add: shorter": lambda: _successors.DecodedBlocks(INDEX).add(1, np.zeros(4, "<i4")),
    "add: other type": lambda: _successors.DecodedBlocks(INDEX).add(1, np.zeros(5, "<i2")),
    "add: strided": lambda: _successors.DecodedBlocks(INDEX).add(1, np.zeros(10, "<i4")[::2]),
    "absent: no such block": lambda: _successors.DecodedBlocks(INDEX).absent(np.array([7])),
    "look_up: less room": lambda: _successors.DecodedBlocks(INDEX).look_up(np.zeros(3, np.int64), np.zeros(2)),
    "look_up: no IDs": lambda: _successors.DecodedBlocks(INDEX).look_up(None, np.zeros(2)),
    "look_up: no room": lambda: _successors.DecodedBlocks(INDEX).look_up(np.zeros(3, np.int64), None),
    "choose: fewer values": lambda: _successors.choose(IDS, WINS[:2], 0.0, CHOICES.copy()),
    "choose: more moves": lambda: _successors.choose(
        np.zeros((3, 6, 9), int), np.zeros((3, 6, 9)), 0.0, CHOICES.copy()
    ),
    "choose: fewer rolls": lambda: _successors.choose(IDS[:, :5].copy(), WINS[:, :5].copy(), 0.0, CHOICES.copy()),
    "choose: less room": lambda: _successors.choose(IDS, WINS, 0.0, CHOICES[:2].copy()),
    "choose: narrower room": lambda: _successors.choose(IDS, WINS, 0.0, CHOICES[:, :5].copy()),
    "choose: no room": lambda: _successors.choose(IDS, WINS, 0.0, None),
    "losses: less room": lambda: _successors.losses(IDS, WINS, LIKELY, 0.0, 1.0, np.zeros(2)),
    "losses: no values": lambda: _successors.losses(IDS, None, LIKELY, 0.0, 1.0, np.zeros(3)),
}


@pytest.mark.parametrize("call", WRONG_CALLS.values(), ids=WRONG_CALLS)
def test_wrong_arguments_of_compiled_functions_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises((ValueError, TypeError)):
        call()
