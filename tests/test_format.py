"""A reader written from docs/format.md alone: it shares no code with madn and agrees on every position."""

import shutil
import sqlite3
import struct
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from test_store import Noise

import madn
from madn._core import Game
from madn.board import Board
from madn.database import open_database
from madn.rules import Rules
from madn.store import compress_database, write_database

Slots, Others = dict[int, tuple[int, int, int]], dict[tuple[int, int, int], int]
Facts = dict[int, tuple[list[int], int]]
Best = dict[int, int]
States, Weights, Taken = dict[int, tuple[int, int]], dict[int, list[int]], dict[tuple[int, int], int]

# begin of the reader


def frames(directory: Path) -> Iterator[tuple[dict[str, int], tuple[Any, ...], bytes]]:
    """Yield (rules, row, content) block by block; a row is what the query says."""
    catalogue = sqlite3.connect(f"file:{directory}/catalogue.sqlite?mode=ro", uri=True)
    if catalogue.execute("PRAGMA user_version").fetchone() != (1,):
        raise SystemExit("another format")
    rules = dict(catalogue.execute("SELECT name, value FROM rules"))
    rows = catalogue.execute(
        "SELECT p1, f1, p2, f2, first_id + first_rank, first_rank, count, files.name, offset, length, code,"
        " bits, zero, scale FROM blocks JOIN profiles USING (profile) JOIN files USING (file)"
        " JOIN encodings ON encodings.name = encoding ORDER BY block"
    )
    for row in rows:
        _, _, _, _, first_id, _, n, name, offset, length, code = row[:11]
        with open(f"{directory}/{name}", "rb") as file:
            file.seek(offset)
            content = zstandard.ZstdDecompressor().decompress(file.read(length))
        if struct.unpack_from("<4sIQI", content) != (b"madn", code, first_id, n):
            raise SystemExit("not the block it should be")
        yield rules, row, content[20:]


# begin of the values


def chunks(places: int, pieces: int, piece: int, base: int) -> Iterator[tuple[int, int]]:
    """All (first rank, L) of a piece whose place is at least one above its lowest, from the formula."""
    for q in range(pieces - 1, places):
        start = base + comb(q, pieces)
        if pieces > piece:
            yield from chunks(q, pieces - 1, piece, start)
        elif q >= piece:
            yield start, comb(q - 1, piece - 1)


def undo(x: list[int], first: int, places: int, pieces: int, unit: int, modulus: int) -> None:
    """Step 2 for one side; one of its arrangements lasts `unit` positions."""
    period = comb(places, pieces) * unit
    for piece in range(pieces, 0, -1):
        for base in range(first - first % period, first + len(x), period):
            for start, length in chunks(places, pieces, piece, 0):
                lag, begin = length * unit, base + start * unit - first
                for i in range(max(begin, lag), min(begin + lag, len(x))):
                    x[i] = (x[i] + x[i - lag]) % modulus


def words(rules: dict[str, int], row: tuple[Any, ...], content: bytes, width: int) -> list[int]:
    """Steps 1 and 2 for some planes."""
    p1, f1, p2, f2, _, rank, n = row[:7]
    own, other = p1 - f1, p2 - f2
    modulus, balance = 1 << 8 * width, int("80" * width, 16)
    planes = [content[n * k : n * (k + 1)] for k in range(width)]
    x = [(sum(b << 8 * k for k, b in enumerate(word)) - balance) % modulus for word in zip(*planes, strict=True)]
    undo(x, rank, rules["squares"], own, comb(rules["squares"] - own, other), modulus)
    undo(x, rank, rules["squares"] - own, other, 1, modulus)
    return x


def numbers(rules: dict[str, int], row: tuple[Any, ...], content: bytes) -> list[Any]:
    """The numbers that the values of a block are made of."""
    n, code, bits = row[6], row[10], row[11]
    x = words(rules, row, content, (bits + 7) // 8)
    if code in (1, 4):
        return [v - (v >> 31 << 32) for v in x]
    return list(struct.unpack(f"<{n}d", struct.pack(f"<{n}Q", *x))) if code in (2, 5) else x


def values(directory: Path) -> Iterator[tuple[int, list[float]]]:
    """Yield (first ID, probabilities) block by block."""
    for rules, row, content in frames(directory):
        zero, scale = row[12:]
        yield row[4], [zero + v / scale for v in numbers(rules, row, content)]


# begin of the bounds


def bounds(directory: Path) -> Iterator[tuple[int, list[tuple[float, float]]]]:
    """Yield (first ID, lower and upper bounds) block by block."""
    for rules, row, content in frames(directory):
        n, code, bits = row[6], row[10], row[11]
        below = words(rules, row, content[n * bits // 8 :], 2)
        above = words(rules, row, content[n * bits // 8 + 2 * n :], 2)
        steps, zero = (2**29, 0.5) if code == 4 else (2**48, 0)
        k = numbers(rules, row, content) if code == 4 else [round(v * steps) for v in numbers(rules, row, content)]
        found = zip(k, below, above, strict=True)
        yield row[4], [(zero + (at - a) / steps, zero + (at + b) / steps) for at, a, b in found]


# begin of the policy


def combination(rank: int, zone: int, k: int) -> list[int]:
    """The string positions of a combination, highest first."""
    found = []
    for j in range(k, 0, -1):
        found.append(max(n for n in range(zone) if comb(n, j) <= rank))
        rank -= comb(found[-1], j)
    return found


class Decoder:
    """The arithmetic code and both tables."""

    def __init__(self, data: bytes) -> None:
        self.data, self.range, self.code = iter(data[4:]), 0xFFFFFFFF, int.from_bytes(data[:4], "big")
        self.slots, self.others = Slots(), Others()

    def event(self, p: int) -> bool:
        yes = self.code < (bound := (self.range >> 12) * max(p >> 4, 1))
        self.range, self.code = (bound, self.code) if yes else (self.range - bound, self.code - bound)
        while self.range < 1 << 24:
            self.range, self.code = self.range << 8, self.code << 8 | next(self.data)
        return yes

    def choice(self, n: int, near: int, context: int) -> int:
        slot = (context * 0x9E3779B97F4A7C15 & (1 << 64) - 1) >> 48
        m, p, t = self.slots.get(slot, (7, 0, 0))
        m, p, t = (m, p, t) if m < n else (near if near < n else n - 1, 45875, 0)
        rate, found = 131072 // (2 * t + 3), m
        if self.event(p):
            p += (65535 - p) * rate >> 16
        else:
            p -= p * rate >> 16
            found = self.other(n, m)
        self.slots[slot] = (m, p, min(t + 1, 30)) if p >= 32768 else (found, 32768, min(t + 1, 30))
        return found

    def other(self, n: int, m: int) -> int:
        *asked, last = [j for j in range(n - 1, -1, -1) if j != m]
        for j in asked:
            p = self.others.get((n, m, j), 32768)
            if self.event(p):
                self.others[n, m, j] = p + (65535 - p >> 5)
                return j
            self.others[n, m, j] = p - (p >> 5)
        return last


@cache
def facts(P: int, S: int, profile: tuple[int, int, int, int], rank: int) -> tuple[list[int], list[int], Facts]:
    """Of a position: the own squares, the lags, and by roll the starts of the moves with H + 2^6 X."""
    (p1, f1, p2, f2), m1, m2 = profile, profile[0] - profile[1], profile[2] - profile[3]
    rest, last = divmod(rank, comb(S - m1, m2))
    rest, main = divmod(rest, comb(S, m1))
    own = [S - 1 - q for q in combination(main, S, m1)]
    own += [S + P - 1 - q for q in combination(rest // comb(P, f2), P, f1)]
    free = [q for q in range(S) if (q + S // 2) % S not in own]
    places = combination(last, S - m1, m2)[::-1]
    lags = [comb(q - 1, k) if q and q - 1 not in places else 0 for k, q in enumerate(places)]
    other = [free[S - m1 - 1 - q] for q in places]
    hits = {(q + S // 2) % S for q in other}
    reach = {(q + d + S // 2) % S for q in other for d in range(1, 7) if q + d < S} | ({S // 2} if p2 < P else set())
    found = Facts()
    for roll in range(1, 7):
        starts = [q for q in own if q + roll < S + P and q + roll not in own]
        if len(starts) > 1 and not (p1 < P and (roll not in own if 0 in own else roll == 6)):
            bits = sum(1 << j for j, q in enumerate(starts) if q + roll in hits)
            bits += sum(1 << 6 + j for j, q in enumerate(starts) if q + roll in reach and q not in reach)
            found[roll] = starts, bits
    return own, [*lags, 0, 0, 0, 0][:4], found


def policy(directory: Path) -> Iterator[tuple[int, list[dict[int, int]]]]:
    """Yield (first ID, for each position by roll the piece to move, counted from the last) block by block."""
    for rules, (p1, f1, p2, f2, first_id, rank, n, *_), content in frames(directory):
        P, S, profile = rules["pieces"], rules["squares"], (p1, f1, p2, f2)
        decoder, chosen, best, row = Decoder(content), Taken(), [Best() for _ in range(n)], comb(S - p1 + f1, p2 - f2)
        for i in range(n if P not in (f1, f2) else 0):
            own, lags, moves = facts(P, S, profile, rank + i)
            back = facts(P, S, profile, rank + i - row)[2] if i >= row else Facts()
            for roll, (starts, bits) in moves.items():
                a = [chosen.get((i - lag, roll), 7) if lag else 7 for lag in lags]
                b = chosen[i - row, roll] if len(back.get(roll, ([], 0))[0]) == len(starts) else 7
                context = a[0] + (a[1] << 3) + (a[2] << 6) + (b << 9) + (bits << 12) + (a[3] << 24)
                chosen[i, roll] = decoder.choice(len(starts), a[0], context + (len(starts) << 27))
                best[i][roll] = own.index(starts[chosen[i, roll]])
        assert (decoder.code, *decoder.data) == (0,)
        yield first_id, best


# begin of the old policy

CURVE = [1, 2, 3, 6, 10, 16, 27, 45, 73, 120, 194, 310, 488, 747, 1101, 1546, 2047, 2549, 2994, 3348, 3607, 3785]
CURVE += [3901, 3975, 4022, 4050, 4068, 4079, 4085, 4089, 4092, 4093, 4094]


def squash(odds: int) -> int:
    """The probability, of 4096, of logarithmic odds."""
    place, rest = divmod(min(max(odds, -2047), 2047) + 2048, 128)
    return (CURVE[place] * (128 - rest) + CURVE[place + 1] * rest + 64) >> 7


SQUASHED = [squash(odds) for odds in range(-2047, 2048)]
STRETCH = [min(bisect_left(SQUASHED, p), 4094) - 2047 for p in range(4096)]


class OldDecoder:
    """Arithmetic decoder, tables and mixer."""

    def __init__(self, data: bytes) -> None:
        self.data = iter(data)
        self.low, self.high, self.code = 0, 0xFFFFFFFF, int.from_bytes([next(self.data) for _ in range(4)], "big")
        self.tables, self.weights = (States(), States(), States()), Weights()

    def event(self, about: int, contexts: tuple[int, int, int]) -> int:
        slots = [((about + 64 * c) * 0x9E3779B97F4A7C15 & (1 << 64) - 1) >> 48 for c in contexts]
        states = [table.get(slot, (32768, 0)) for table, slot in zip(self.tables, slots, strict=True)]
        odds = [STRETCH[p >> 4] for p, _ in states]
        weights = self.weights.setdefault(about, [32768] * 3)
        p = squash(sum(w * x for w, x in zip(weights, odds, strict=True)) >> 16)
        middle = self.low + ((self.high - self.low) >> 12) * p
        bit = int(self.code <= middle)
        self.low, self.high = (self.low, middle) if bit else (middle + 1, self.high)
        while self.low >> 24 == self.high >> 24:
            self.low, self.high = self.low << 8 & 0xFFFFFFFF, self.high << 8 & 0xFFFFFFFF | 255
            self.code = (self.code << 8 & 0xFFFFFFFF) | next(self.data)
        for k, (q, n) in enumerate(states):
            weights[k] += (odds[k] * ((bit << 12) - p) * 16 + 32768) >> 16
            q += ((bit * 65535 - q) * (131072 // (2 * n + 3))) >> 16
            self.tables[k][slots[k]] = q, min(n + 1, 127)
        return bit


def old_policy(directory: Path) -> Iterator[tuple[int, list[dict[int, int]]]]:
    """Yield (first ID, for each position by roll the piece to move, counted from the last) block by block."""
    for rules, (p1, f1, p2, f2, first_id, rank, n, *_), content in frames(directory):
        P, S, m1, m2 = rules["pieces"], rules["squares"], p1 - f1, p2 - f2
        decoder, taken, row = OldDecoder(content), Taken(), comb(S - m1, m2)
        for i in range(n if P not in (f1, f2) else 0):
            rest, last = divmod(rank + i, row)
            rest, main = divmod(rest, comb(S, m1))
            own = [S - 1 - q for q in combination(main, S, m1)]
            own += [S + P - 1 - q for q in combination(rest // comb(P, f2), P, f1)]
            free = [q for q in range(S) if (q + S // 2) % S not in own]
            places = combination(last, S - m1, m2)[::-1]
            other = [free[S - m1 - 1 - q] for q in places]
            lags = [comb(q - 1, k) if q and q - 1 not in places else 0 for k, q in enumerate(places)] + [0, 0, 0]
            hits = {(q + S // 2) % S for q in other}
            reach = {(q + d + S // 2) % S for q in other for d in range(1, 7) if q + d < S}
            reach |= {S // 2} if p2 < P else set()
            ahead = {q - d for q in hits for d in range(1, 7)}
            piece: int | None = None
            for roll in range(1, 7):
                starts = [q for q in own if q + roll < S + P and q + roll not in own]
                if len(starts) < 2 or (p1 < P and (roll not in own if 0 in own else roll == 6)):
                    continue  # no choice, or the rules leave one move
                moves = {own.index(q): k for k, q in enumerate(starts)}
                there = [taken.get((i - lag, roll)) if lag else None for lag in lags[:3]]
                there += [taken.get((i - row - lag, roll)) if lag else None for lag in lags[:3]]
                there += [taken.get((i - lags[0] - lags[1], roll)) if lags[0] and lags[1] else None]
                there += [taken.get((i - row, roll)), piece]
                a, b, c, d, e, f, cross, back, before = (7 if q is None else moves.get(q, 7) for q in there)
                near, far = a + 8 * b + 64 * c, d + 8 * e + 64 * f
                sets = (hits, roll), (reach, roll), (reach, 0), (ahead, roll), (ahead, 0)
                a, b, c, d, e = (sum(1 << k for k, q in enumerate(starts) if q + by in at) for at, by in sets)
                contexts = (
                    near | back << 9 | a << 12 | b << 18 | c << 24,
                    back | before << 3 | a << 6 | b << 12 | c << 18 | d << 24 | e << 30,
                    near | back << 9 | far << 12 | cross << 21,
                )
                k = len(starts) - 1
                while k and not decoder.event(8 * len(starts) + k, contexts):
                    k -= 1
                piece = taken[i, roll] = own.index(starts[k])
        yield first_id, [{r: taken[i, r] for r in range(1, 7) if (i, r) in taken} for i in range(n)]


# end of the reader


def lines(*parts: str) -> int:
    text = Path(__file__).read_text(encoding="utf-8")
    names = ("reader", "values", "policy", "old policy")
    marks = [*(f"# begin of the {name}" for name in names), "# end of the reader"]
    cut = [text.index(f"\n{mark}\n") for mark in marks]
    chosen = (text[a:b] for name, (a, b) in zip(names, pairwise(cut), strict=True) if name in parts)
    return len([line for part in chosen for line in part.splitlines() if line.strip() and not line.startswith("# ")])


def test_the_reader_has_at_most_80_lines() -> None:
    assert lines("reader", "values") <= 80
    assert lines("policy") <= 80
    assert lines("old policy") <= 80


def agree(directory: Path) -> int:
    """Compare the readers on every position; return how many there are."""
    seen = 0
    with open_database(directory) as db:
        for first, wins in values(directory):
            assert first == seen
            assert np.array_equal(db.win_many(np.arange(first, first + len(wins))), wins)
            seen += len(wins)
        assert seen == db.rules.positions
    return seen


def test_both_readers_agree_on_every_position_of_the_two_piece_game() -> None:
    with open_database() as db:
        assert agree(db.path) == 747_435


BestMoves = Callable[[Path], Iterator[tuple[int, list[dict[int, int]]]]]


def agree_on_moves(directory: Path, part: Path, every: int, offset: int = 0, reader: BestMoves = policy) -> int:
    """Compare the readers on every so many blocks of a policy; return how many decisions there were."""
    shutil.copytree(directory, part)
    with sqlite3.connect(part / "catalogue.sqlite") as catalogue:
        catalogue.execute(f"DELETE FROM blocks WHERE block % {every} != {offset}")
    found = 0
    with open_database(directory) as db:
        game = Game(db.rules)
        for first, best in reader(part):
            for number, pieces in enumerate(best, first):
                board = Board.from_masks(*game.unrank(number), db.rules)
                assert list(pieces) == [roll for roll in range(1, 7) if len(board.legal_moves(roll)) > 1]
                for roll, piece in pieces.items():
                    assert db.best_move(board, roll).start == board.own[piece]
                found += len(pieces)
    return found


@pytest.mark.parametrize(
    ("rules", "every"), [(Rules(1, 8), 1), (Rules(2, 8), 1), (Rules(3, 8), 15), (Rules(4, 8), 150)]
)
def test_both_readers_agree_on_policies(tmp_path: Path, rules: Rules, every: int) -> None:
    write_database(tmp_path / "db", Noise(rules), {}, block_positions=800)
    compress_database(tmp_path / "db", tmp_path / "new", "policy")
    assert agree_on_moves(tmp_path / "new", tmp_path / "part", every) >= 2000 * (rules.pieces > 1)


def test_both_readers_agree_on_a_policy_of_version_0_1(tmp_path: Path) -> None:
    """`madn solve --pieces 3 --squares 8` and `madn compress --store policy --level 19` of that version made it."""
    old = Path(__file__).with_name("policy-0.1")
    assert agree_on_moves(old, tmp_path / "part", 3, reader=old_policy) > 5000


@dataclass
class TwoPieces:
    """The small database inside the package as a source, to cut it into other blocks."""

    representation: str = "float64"

    def __post_init__(self) -> None:
        self.db = open_database()
        self.rules = self.db.rules
        self.min_board = self.max_board = Board.start(self.rules)

    def read(self, first: int, out: np.ndarray) -> None:
        out[:] = self.db.win_many(np.arange(first, first + len(out)))


def test_both_readers_agree_on_the_policy_of_the_two_piece_game(tmp_path: Path) -> None:
    """Some blocks of it: all of them would take plain Python a minute."""
    write_database(tmp_path / "db", TwoPieces(), {}, block_positions=2000)
    compress_database(tmp_path / "db", tmp_path / "new", "policy")
    assert agree_on_moves(tmp_path / "new", tmp_path / "part", 120, 60) > 10_000


@pytest.mark.parametrize("encoding", ["fixed32", "float64", "bits8", "bits13", "bits24"])
def test_both_readers_agree_on_every_encoding(tmp_path: Path, encoding: str) -> None:
    full = encoding if encoding in ("fixed32", "float64") else "float64"
    write_database(tmp_path / "db", Noise(Rules(3, 8), full), {}, block_positions=777)
    if encoding != full:
        compress_database(tmp_path / "db", tmp_path / "new", bits=int(encoding[4:]))
        agree(tmp_path / "new")
    else:
        agree(tmp_path / "db")


@pytest.mark.parametrize("small_game", [1000, 20_000_000])
def test_both_readers_agree_on_bounds(tmp_path: Path, small_game: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("madn.solver.plan.SMALL_GAME", small_game)
    path, tolerance = tmp_path / "db", 1e-6 if small_game == 1000 else None
    madn.solve(Rules(2, 10), out=path, proved=True, tolerance=tolerance, threads=1)
    assert agree(path) == Rules(2, 10).positions
    with open_database(path) as database:
        assert database.values == ("proved32" if small_game == 1000 else "proved64")
        for first, found in bounds(path):
            lower, upper = database.bounds_many(np.arange(first, first + len(found)))
            assert found == list(zip(lower.tolist(), upper.tolist(), strict=True))
