"""Every sentence of `madn/why.py` is read back and compared with a game that is written anew here."""

import random
import re
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import pytest

import madn
from madn import Board, IllegalMoveError, Move, MoveValue, Rules, explain
from madn.database import ESTIMATE
from madn.rules import HOUSE_RULES
from madn.why import outlook
from madn.why_words import ENGLISH, GERMAN, LANGUAGES

HOUSES = [dict(zip(HOUSE_RULES, on, strict=True)) for on in product([False, True], repeat=len(HOUSE_RULES))]
Claim = tuple[Any, ...]


# A game of its own: a piece is the number of steps it has made, -1 in the box; `place` is where that is on the board


class Plain:
    def __init__(self, mover: Iterable[int], other: Iterable[int], rules: Rules) -> None:
        self.rules = rules
        self.sides = [self._all(mover), self._all(other)]

    def _all(self, side: Iterable[int]) -> list[int]:
        out = sorted(steps for steps in side if steps >= 0)
        return [-1] * (self.rules.pieces - len(out)) + out

    def place(self, side: int, steps: int) -> tuple[str, int]:
        S = self.rules.squares
        if steps < 0 or steps >= S:
            return f"off the main field {side}", steps
        return "main", (steps + side * S // 2) % S

    def moves(self, side: int, roll: int) -> list[tuple[int, int, int | None]]:
        """Start, end and the steps of the piece that is captured, of each move that the rules allow."""
        mine, theirs = self.sides[side], self.sides[1 - side]
        last = self.rules.squares + self.rules.pieces - 1
        if self.over(0) or self.over(1):
            return []
        if -1 in mine and roll == 6 and 0 not in mine:
            found = [(-1, 0)]
        else:
            found = [(q, q + roll) for q in mine if q >= 0 and q + roll <= last and q + roll not in mine]
            if self.rules.no_jumping:
                inside = [q for q in mine if q >= self.rules.squares]
                found = [(q, end) for q, end in found if not [p for p in inside if q < p < end]]
            if -1 in mine and (0, roll) in found:
                found = [(0, roll)]
        full = []
        for start, end in found:
            here = self.place(side, end)
            hit = [q for q in theirs if here[0] == "main" and self.place(1 - side, q) == here]
            full.append((start, end, hit[0] if hit else None))
        if self.rules.must_capture and any(hit is not None for *_, hit in full):
            full = [move for move in full if move[2] is not None]
        return full

    def over(self, side: int) -> bool:
        return all(q >= self.rules.squares for q in self.sides[side])

    def after(self, start: int, end: int, hit: int | None, side: int = 0) -> "Plain":
        mine, theirs = list(self.sides[side]), list(self.sides[1 - side])
        mine[mine.index(start)] = end
        if hit is not None:
            theirs[theirs.index(hit)] = -1
        sides = [mine, theirs] if side == 0 else [theirs, mine]
        return Plain(sides[0], sides[1], self.rules)

    def played(self, text: str, roll: int) -> tuple["Plain", tuple[int, int, int | None]]:
        """The game after a move that is written like `3x7`."""
        start, captures, end = re.fullmatch(r"(b|\d+)([-x])(\d+)", text).groups()  # type: ignore[union-attr]
        begin = -1 if start == "b" else int(start)
        [move] = [m for m in self.moves(0, roll) if m[:2] == (begin, int(end))]
        assert (move[2] is not None) == (captures == "x")
        return self.after(*move), move

    def hits(self, side: int) -> dict[int, set[int]]:
        """Where a side can capture, in the numbers of side 0, with which rolls."""
        found: dict[int, set[int]] = {}
        for roll in range(1, 7):
            for _, end, hit in self.moves(side, roll):
                if hit is not None:
                    found.setdefault(end if side == 0 else hit, set()).add(roll)
        return found


def race_is_on(game: Plain) -> bool:
    """Whether no line of play ever has a capture: all of them are tried."""
    seen, waiting = set(), [game]
    while waiting:
        now = waiting.pop()
        key = (tuple(now.sides[0]), tuple(now.sides[1]))
        if key in seen:
            continue
        seen.add(key)
        for side, roll in product((0, 1), range(1, 7)):
            for move in now.moves(side, roll):
                if move[2] is not None:
                    return False
                waiting.append(now.after(*move, side))
    return True


# Reading sentences


def rolls(text: str) -> set[int]:
    """The rolls of "a 5 or 6", "only a 1", "every roll but a 2", "no roll"."""
    numbers = set(map(int, re.findall(r"\d", text)))
    return {1, 2, 3, 4, 5, 6} - numbers if re.search(r"every|jeder", text) else numbers


def hits(text: str, roll_first: bool) -> dict[int, set[int]]:
    """The squares and rolls of "on 9 or 35 with a 4 and on 21 with a 1 or 6", in either order."""
    numbers = r"\d+(?:(?:, | or | oder )\d+)*"
    found: dict[int, set[int]] = {}
    for first, second in re.findall(rf"({numbers})[^\d]+?({numbers})", text):
        squares, with_ = (second, first) if roll_first else (first, second)
        for square in re.findall(r"\d+", squares):
            found[int(square)] = set(map(int, re.findall(r"\d+", with_)))
    return found


M = r"(?:b|\d+)[-x]\d+"
PREY = r"a piece (?:that has walked (?P<{0}>\d+) squares?|on its A-square)"
BEUTE = r"eine Figur(?:, die schon (?P<{0}>\d+) Felde?r? weit ist| auf ihrem A-Feld)"
SENTENCES: dict[str, list[tuple[str, Callable[..., list[Claim]]]]] = {
    "en": [
        (rf"(?P<a>{M}) wins the game\.", lambda a: [("wins", a)]),
        (rf"(?P<a>{M}) captures {PREY.format('p')}\.", lambda a, p: [("captures", a, int(p or 0))]),
        (
            rf"(?P<a>{M}) captures {PREY.format('p')}, (?P<b>{M}) {PREY.format('q')}\.",
            lambda a, p, b, q: [("captures", a, int(p or 0)), ("captures", b, int(q or 0))],
        ),
        (rf"(?P<a>{M}) brings a piece home\.", lambda a: [("home", a)]),
        (
            rf"After (?P<b>{M}) the opponent (?P<can>can|could) capture (?P<h>.+); after (?P<a>{M}) (?P<f>.+)\.",
            lambda a, b, can, h, f: [
                ("next", can == "can"),
                ("danger", b, hits(h, False)),
                ("danger", a, {} if f == "nothing is in reach" else hits(f, False)),
                ("only", ("danger", a, b), f.startswith("only")),
            ],
        ),
        (
            rf"After (?P<a>{M}) (?P<h>.+threatens.+); after (?P<b>{M}) (?P<f>.+)\.",
            lambda a, b, h, f: [
                ("threats", a, hits(h, True)),
                ("threats", b, {} if f == "no piece is threatened" else hits(f, True)),
                ("only", ("threats", b, a), f.startswith("only")),
            ],
        ),
        (
            rf"After (?P<a>{M}) (?P<h>.+) would win; after (?P<b>{M}) (?P<f>.+)\.",
            lambda a, b, h, f: [("winning", a, rolls(h)), ("winning", b, rolls(f))],
        ),
        (
            rf"After (?P<a>{M}) (?P<h>.+) could be played next; after (?P<b>{M}) (?P<f>.+)\.",
            lambda a, b, h, f: [("playable", a, rolls(h)), ("playable", b, rolls(f))],
        ),
        (rf"After (?P<a>{M}) no piece can be captured any more\.", lambda a: [("race", a)]),
        (rf"(?P<a>{M}) moves the piece further along, (?P<b>{M}) .+ back\.", lambda a, b: [("ahead", a, b)]),
        (rf"(?P<a>{M}) moves the piece further back, (?P<b>{M}) .+ along\.", lambda a, b: [("ahead", b, a)]),
        (
            rf"(?P<y>Yet )?(?P<a>{M})(?: also (?P<w>.+?)(?: and|\.))?"
            r"(?: is worth (?P<q>about |less than )?(?P<n>[\d.]+) points more\.)?",
            lambda y, a, w, q, n: [*also(a, w), ("worth", a, q and q.split()[0], n, False), ("yet", bool(y))],
        ),
        (
            rf"The estimate puts (?P<a>{M}) (?P<q>about |less than )(?P<n>[\d.]+) points .+ its error\.",
            lambda a, q, n: [("worth", a, q.split()[0], n, True)],
        ),
        (r"Both moves are worth the same\.", lambda: [("worth", None, None, "0", False)]),
        (r"The estimate is the same for both moves\.", lambda: [("worth", None, "about", "0", False)]),
        (r"No piece can move with a (?P<r>\d)\.", lambda r: [("forced", "pass", "pass", int(r))]),
        (rf"With a 6 .+ the box: (?P<a>{M}) is the only legal move\.", lambda a: [("forced", "enter", a, 6)]),
        (rf"The A-square must .+: (?P<a>{M}) is the only legal move\.", lambda a: [("forced", "clear", a, None)]),
        (rf"A capture .+: (?P<a>{M}) is the only legal move\.", lambda a: [("forced", "duty", a, None)]),
        (rf"(?P<a>{M}) is the only legal move with a (?P<r>\d)\.", lambda a, r: [("forced", "only", a, int(r))]),
    ],
    "de": [
        (rf"(?P<a>{M}) gewinnt das Spiel\.", lambda a: [("wins", a)]),
        (rf"(?P<a>{M}) schlägt {BEUTE.format('p')}\.", lambda a, p: [("captures", a, int(p or 0))]),
        (
            rf"(?P<a>{M}) schlägt {BEUTE.format('p')}, (?P<b>{M}) {BEUTE.format('q')}\.",
            lambda a, p, b, q: [("captures", a, int(p or 0)), ("captures", b, int(q or 0))],
        ),
        (rf"(?P<a>{M}) bringt eine Figur ins Ziel\.", lambda a: [("home", a)]),
        (
            rf"Nach (?P<b>{M}) (?P<can>kann|könnte) der Gegner (?P<h>.+) schlagen; nach (?P<a>{M}) (?P<f>.+)\.",
            lambda a, b, can, h, f: [
                ("next", can == "kann"),
                ("danger", b, hits(h, True)),
                ("danger", a, {} if f == "ist nichts in Reichweite" else hits(f, True)),
                ("only", ("danger", a, b), f.startswith("nur")),
            ],
        ),
        (
            rf"Nach (?P<a>{M}) bedroht (?P<h>.+); nach (?P<b>{M}) (?P<f>.+)\.",
            lambda a, b, h, f: [
                ("threats", a, hits(h, True)),
                ("threats", b, {} if f == "ist keine bedroht" else hits(f, True)),
                ("only", ("threats", b, a), f.startswith("nur")),
            ],
        ),
        (
            rf"Nach (?P<a>{M}) würde (?P<h>.+) gewinnen; nach (?P<b>{M}) (?P<f>.+)\.",
            lambda a, b, h, f: [("winning", a, rolls(h)), ("winning", b, rolls(f))],
        ),
        (
            rf"Nach (?P<a>{M}) wäre als Nächstes (?P<h>.+) spielbar; nach (?P<b>{M}) (?P<f>.+)\.",
            lambda a, b, h, f: [("playable", a, rolls(h)), ("playable", b, rolls(f))],
        ),
        (rf"Nach (?P<a>{M}) kann keine Figur mehr geschlagen werden\.", lambda a: [("race", a)]),
        (rf"(?P<a>{M}) zieht die vordere Figur, (?P<b>{M}) die hintere\.", lambda a, b: [("ahead", a, b)]),
        (rf"(?P<a>{M}) zieht die hintere Figur, (?P<b>{M}) die vordere\.", lambda a, b: [("ahead", b, a)]),
        (
            rf"(?P<y>Trotzdem ist )?(?P<a>{M})(?P<w> \w+ außerdem .+?(?: und|\.))?"
            r"(?:(?: ist)? (?P<q>etwa |weniger als )?(?P<n>[\d,]+) Punkte mehr wert\.)?",
            lambda y, a, w, q, n: [*also(a, w), ("worth", a, about(q), decimal(n), False), ("yet", bool(y))],
        ),
        (
            rf"Die Schätzung sieht (?P<a>{M}) (?P<q>etwa |weniger als )(?P<n>[\d,]+) Punkte vorn, .+ Fehler\.",
            lambda a, q, n: [("worth", a, about(q), decimal(n), True)],
        ),
        (r"Beide Züge sind gleich viel wert\.", lambda: [("worth", None, None, "0", False)]),
        (r"Die Schätzung ist für beide Züge gleich\.", lambda: [("worth", None, "about", "0", False)]),
        (r"Mit einer (?P<r>\d) kann keine Figur ziehen\.", lambda r: [("forced", "pass", "pass", int(r))]),
        (rf"Mit einer 6 .+: (?P<a>{M}) ist der einzige erlaubte Zug\.", lambda a: [("forced", "enter", a, 6)]),
        (rf"Das A-Feld .+: (?P<a>{M}) ist der einzige erlaubte Zug\.", lambda a: [("forced", "clear", a, None)]),
        (rf"Hier gilt .+: (?P<a>{M}) ist der einzige erlaubte Zug\.", lambda a: [("forced", "duty", a, None)]),
        (
            rf"(?P<a>{M}) ist mit einer (?P<r>\d) der einzige erlaubte Zug\.",
            lambda a, r: [("forced", "only", a, int(r))],
        ),
    ],
}


def about(text: str | None) -> str | None:
    return None if text is None else {"etwa": "about", "weniger": "less"}[text.split()[0]]


def decimal(text: str | None) -> str | None:
    return text and text.replace(",", ".")


def also(a: str, text: str | None) -> list[Claim]:
    """What is said in passing."""
    if text is None:
        return []
    if found := re.search(rf"{PREY.format('p')}|{BEUTE.format('q')}", text):
        return [("captures", a, int(found["p"] or found["q"] or 0))]
    return [("home", a)] if re.search("home|Ziel", text) else [("danger", a, {})]


def read(sentences: list[str], language: str) -> list[Claim]:
    """The claims of sentences, each of which must be of one kind and no other."""
    claims = []
    for sentence in sentences:
        found = [(match, make) for form, make in SENTENCES[language] if (match := re.fullmatch(form, sentence))]
        assert len(found) == 1, (sentence, [match.re.pattern for match, _ in found])
        claims += found[0][1](**found[0][0].groupdict())
    return claims


# What is claimed, against the game


def check(claim: Claim, game: Plain, roll: int, values: dict[str, float], error: float | None) -> None:
    kind, *said = claim
    S = game.rules.squares
    if kind in {"wins", "captures", "home"}:
        after, (start, end, hit) = game.played(said[0], roll)
        real: Any = {"wins": after.over(0), "captures": hit, "home": start < S <= end}[kind]
        assert real == (said[1] if kind == "captures" else True)
    elif kind in {"danger", "threats"}:
        assert game.played(said[0], roll)[0].hits(1 if kind == "danger" else 0) == said[1]
    elif kind == "only":
        (what, fewer, more), is_said = said
        counts = [set().union(*game.played(m, roll)[0].hits(what == "danger").values()) for m in (fewer, more)]
        assert is_said == (0 < len(counts[0]) < len(counts[1]))
    elif kind == "next":
        assert said[0] == (roll != 6)
    elif kind == "winning":
        after = game.played(said[0], roll)[0]
        real = {r for r in range(1, 7) if any(after.after(*move).over(0) for move in after.moves(0, r))}
        assert real == said[1]
    elif kind == "playable":
        assert {r for r in range(1, 7) if game.played(said[0], roll)[0].moves(0, r)} == said[1]
    elif kind == "race":
        if S <= 12 and game.rules.pieces <= 2:
            assert race_is_on(game.played(said[0], roll)[0])
    elif kind == "ahead":
        front, back = (game.played(move, roll)[1][0] for move in said)
        assert front > back
    elif kind == "forced":
        why, move, number = said
        assert number in {None, roll}
        mine = game.sides[0]
        expected = {
            "pass": not game.moves(0, roll),
            "enter": roll == 6 and -1 in mine,
            "clear": -1 in mine and 0 in mine,
            "duty": game.rules.must_capture and "x" in move,
            "only": True,
        }
        assert expected[why]
        assert len(game.moves(0, roll)) == (why != "pass")
        if why == "duty":  # without it there would be a choice
            free = Rules(**{**{f: getattr(game.rules, f) for f in game.rules.__slots__}, "must_capture": False})
            assert len(Plain(game.sides[0], game.sides[1], free).moves(0, roll)) > 1
    elif kind == "worth":
        check_worth(said, values, error)
    else:
        assert kind == "yet"


def check_worth(said: list[Any], values: dict[str, float], error: float | None) -> None:
    move, how, number, noise = said
    if number is None:
        return
    best, other = values["best"], values["other"]
    points = 100 * (best - other)
    assert noise == (error is not None and best - other > 0 and (how == "less" or best - other < error))
    assert (how == "about") == (error is not None) or how == "less"
    if move is None:
        assert points == 0
    elif how == "less":
        assert 0 < points < float(number)
    else:
        digits = len(number.partition(".")[2])
        assert abs(points - float(number)) <= 0.5 * 10**-digits + 1e-9
        assert digits == (1 if error is not None or points >= 1 else 2)


def random_board(rng: random.Random, rules: Rules) -> Board:
    """A position that is as often crowded as it is near its end."""
    S, P = rules.squares, rules.pieces
    while True:
        near = rng.random() < 0.4
        squares = range(S // 2, S + P) if near else range(S + P)
        sides = [rng.sample(squares, rng.choice([P, P, rng.randint(0, P)])) for _ in range(2)]
        try:
            return Board(tuple(sides[0]), tuple(sides[1]), rules)
        except madn.InvalidBoardError:
            continue


def random_values(rng: random.Random, board: Board, roll: int, error: float | None) -> list[MoveValue[Any]]:
    """The legal moves with values by lot, best first; some are equal, some close."""
    base, spread = rng.random() * 0.5, rng.choice([0.0, 1e-6, 1e-3, 0.02, 0.5])
    source = "database" if error is None else ESTIMATE
    values = [
        MoveValue(move, base + spread * rng.random(), board.after(move, roll), source, error)
        for move in board.legal_moves(roll)
    ]
    return sorted(values, key=lambda value: -value.win)


@pytest.mark.parametrize(
    "house", HOUSES, ids=lambda house: "+".join(name for name in house if house[name]) or "printed"
)
def test_every_sentence_is_true(house: dict[str, bool]) -> None:
    rng = random.Random(str(house))
    kinds = set()
    for _ in range(250):
        rules = Rules(rng.randint(1, 4), rng.choice([8, 10, 12, 40]), **house)
        board, roll = random_board(rng, rules), rng.randint(1, 6)
        if board.winner:
            continue
        error = rng.choice([None, 0.004])
        moves = random_values(rng, board, roll, error)
        for chosen in [None, *(value.move for value in moves)]:
            why = explain(board, roll, moves, chosen)
            english, german = why.sentences(), why.sentences("de")
            assert 1 <= len(english) <= 2
            assert len(german) == len(english)
            claims = read(english, "en")
            assert claims == read(german, "de")
            game = Plain(board.own, board.other, rules)
            values = {"best": moves[0].win, "other": next((v.win for v in moves if v.move == why.other), 0.0)}
            for claim in claims:
                check(claim, game, roll, values, error)
            kinds |= {claim[0] for claim in claims}
            named = {move for claim in claims for move in claim[1:] if isinstance(move, str) and re.fullmatch(M, move)}
            assert named <= {str(why.best), str(why.other)}
    captures = set() if house["must_capture"] else {"captures"}  # there a capture is rarely a choice
    assert kinds >= {"danger", "threats", "playable", "home", "ahead", "forced", "worth"} | captures


def test_a_race_is_one_on_every_position_of_a_small_board() -> None:
    """Where a race is claimed no line of play has a capture, and nearly everywhere else one has."""
    rules = Rules(2, 8)
    side = [(), *((q,) for q in range(10)), *((q, p) for p in range(10) for q in range(p))]
    races = other = 0
    for own, theirs in product(side[::2], side[::3]):
        try:
            board = Board(own, theirs, rules)
        except madn.InvalidBoardError:
            continue
        if board.winner or not board.own or board.legal_moves(1) == (Move.PASS,):
            continue
        move = board.legal_moves(1)[0]
        found = outlook(board, 1, move)
        if found.wins:
            continue
        real = race_is_on(Plain(own, theirs, rules).played(str(move), 1)[0])
        assert real or not found.race
        races += found.race
        other += real and not found.race
    assert races > 20
    assert other < races / 4


def test_sentences_that_people_read() -> None:
    with madn.open_database() as db:
        board = Board.parse("3,17/0", db.rules)
        why = explain(board, 4, db.moves(board, 4))
        assert why.sentences() == [
            "After 17-21 the opponent can capture on 21 with a 1; after 3-7 nothing is in reach.",
            "3-7 is worth 2.8 points more.",
        ]
        assert why.sentences("de") == [
            "Nach 17-21 kann der Gegner mit einer 1 auf 21 schlagen; nach 3-7 ist nichts in Reichweite.",
            "3-7 ist 2,8 Punkte mehr wert.",
        ]
        assert explain(board, 4, db.moves(board, 4), "17-21") == explain(board, 4, db.moves(board, 4), "3-7") == why
        assert [fact.kind for fact in why.facts] == ["danger"]


def test_where_values_are_not_known_nothing_is_said_of_them() -> None:
    board = Board.parse("18,24/21,39", Rules(2))
    moves = [MoveValue(move, None, board.after(move, 1)) for move in board.legal_moves(1)]
    assert explain(board, 1, moves).sentences() == ["18x19 captures a piece that has walked 39 squares."]


def test_what_cannot_be_explained_is_refused() -> None:
    board = Board.parse("3,17/0", Rules(2))
    moves = [MoveValue(move, 0.5, board.after(move, 4)) for move in board.legal_moves(4)]
    with pytest.raises(IllegalMoveError, match="1-5 is not legal on '3,17/0' with a 4; legal: 3-7, 17-21"):
        explain(board, 4, moves, "1-5")
    with pytest.raises(IllegalMoveError, match="the game is over"):
        explain(Board.parse("40,41/0", Rules(2)), 4, [])
    with pytest.raises(KeyError):
        explain(board, 4, moves).sentences("fr")


def test_both_languages_have_the_same_words() -> None:
    assert ENGLISH.keys() == GERMAN.keys()
    for name, text in ENGLISH.items():
        assert set(re.findall(r"{\w+}", text)) == set(re.findall(r"{\w+}", GERMAN[name])), name
    assert set(LANGUAGES) == set(SENTENCES)
