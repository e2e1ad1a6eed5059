"""The sentences of `madn/why.py`, in English and German. `madn/web/static/why.js` has the same."""

from collections.abc import Iterable, Mapping, Sequence
from math import floor
from typing import TYPE_CHECKING

from madn.rules import ROLLS, rolls_again

if TYPE_CHECKING:
    from madn.why import Fact, Outlook, Why

Words = Mapping[str, str]
Hits = Mapping[int, Sequence[int]]

ENGLISH: Words = {
    "point": ".",
    "and": " and ",
    "or": " or ",
    "wins": "{a} wins the game.",
    "captures": "{a} captures {prey}.",
    "capturesMore": "{a} captures {prey}, {b} {less}.",
    "prey": "a piece that has walked {squares} squares",
    "prey1": "a piece that has walked 1 square",
    "prey0": "a piece on its A-square",
    "home": "{a} brings a piece home.",
    "safe": "After {b} the opponent {can} capture {hits}; after {a} nothing is in reach.",
    "safer": "After {b} the opponent {can} capture {hits}; after {a} {fewer}.",
    "can": "can",
    "could": "could",
    "hit": "on {square} with a {rolls}",
    "threats": "After {a} {first}; after {b} {second}.",
    "threat": "a {rolls} threatens the piece on {square}",
    "threatToo": "a {rolls} the one on {square}",
    "noThreat": "no piece is threatened",
    "winning": "After {a} {first} would win; after {b} {second}.",
    "rollsSome": "a {rolls}",
    "rollsNone": "no roll",
    "only": "only {what}",
    "playable": "After {a} {first} could be played next; after {b} {second}.",
    "rollsAll": "every roll",
    "rollsBut": "every roll but a {rolls}",
    "race": "After {a} no piece can be captured any more.",
    "further": "{a} moves the piece further along, {b} the one further back.",
    "back": "{a} moves the piece further back, {b} the one further along.",
    "alsoCaptures": "captures {prey}",
    "alsoHome": "brings a piece home",
    "alsoDanger": "leaves nothing in reach",
    "also": "{a} also {what}.",
    "alsoWorth": "{a} also {what} and is worth {points} points more.",
    "worth": "{a} is worth {points} points more.",
    "yet": "Yet {a} is worth {points} points more.",
    "about": "about {points}",
    "below": "less than {points}",
    "noise": "The estimate puts {a} {points} points ahead, which is less than its error.",
    "equal": "Both moves are worth the same.",
    "alike": "The estimate is the same for both moves.",
    "pass": "No piece can move with a {roll}.",
    "enter": "With a 6 a piece must leave the box: {a} is the only legal move.",
    "clear": "The A-square must be cleared while pieces are in the box: {a} is the only legal move.",
    "duty": "A capture is compulsory here: {a} is the only legal move.",
    "forced": "{a} is the only legal move with a {roll}.",
}
GERMAN: Words = {
    "point": ",",
    "and": " und ",
    "or": " oder ",
    "wins": "{a} gewinnt das Spiel.",
    "captures": "{a} schlägt {prey}.",
    "capturesMore": "{a} schlägt {prey}, {b} {less}.",
    "prey": "eine Figur, die schon {squares} Felder weit ist",
    "prey1": "eine Figur, die schon 1 Feld weit ist",
    "prey0": "eine Figur auf ihrem A-Feld",
    "home": "{a} bringt eine Figur ins Ziel.",
    "safe": "Nach {b} {can} der Gegner {hits} schlagen; nach {a} ist nichts in Reichweite.",
    "safer": "Nach {b} {can} der Gegner {hits} schlagen; nach {a} {fewer}.",
    "can": "kann",
    "could": "könnte",
    "hit": "mit einer {rolls} auf {square}",
    "threats": "Nach {a} bedroht {first}; nach {b} {second}.",
    "threat": "eine {rolls} die Figur auf {square}",
    "threatToo": "eine {rolls} die auf {square}",
    "noThreat": "ist keine bedroht",
    "winning": "Nach {a} würde {first} gewinnen; nach {b} {second}.",
    "rollsSome": "eine {rolls}",
    "rollsNone": "kein Wurf",
    "only": "nur {what}",
    "playable": "Nach {a} wäre als Nächstes {first} spielbar; nach {b} {second}.",
    "rollsAll": "jeder Wurf",
    "rollsBut": "jeder Wurf außer einer {rolls}",
    "race": "Nach {a} kann keine Figur mehr geschlagen werden.",
    "further": "{a} zieht die vordere Figur, {b} die hintere.",
    "back": "{a} zieht die hintere Figur, {b} die vordere.",
    "alsoCaptures": "schlägt außerdem {prey}",
    "alsoHome": "bringt außerdem eine Figur ins Ziel",
    "alsoDanger": "lässt außerdem nichts in Reichweite",
    "also": "{a} {what}.",
    "alsoWorth": "{a} {what} und ist {points} Punkte mehr wert.",
    "worth": "{a} ist {points} Punkte mehr wert.",
    "yet": "Trotzdem ist {a} {points} Punkte mehr wert.",
    "about": "etwa {points}",
    "below": "weniger als {points}",
    "noise": "Die Schätzung sieht {a} {points} Punkte vorn, weniger als ihr Fehler.",
    "equal": "Beide Züge sind gleich viel wert.",
    "alike": "Die Schätzung ist für beide Züge gleich.",
    "pass": "Mit einer {roll} kann keine Figur ziehen.",
    "enter": "Mit einer 6 muss eine Figur aus dem Haus: {a} ist der einzige erlaubte Zug.",
    "clear": "Das A-Feld muss geräumt werden, solange Figuren im Haus sind: {a} ist der einzige erlaubte Zug.",
    "duty": "Hier gilt Schlagzwang: {a} ist der einzige erlaubte Zug.",
    "forced": "{a} ist mit einer {roll} der einzige erlaubte Zug.",
}
LANGUAGES: Mapping[str, Words] = {"en": ENGLISH, "de": GERMAN}


def forced_text(words: Words, forced: str, move: str, roll: int) -> str:
    """Why there is only one legal move."""
    return words["forced" if forced == "only" else forced].format(a=move, roll=roll)


def sentences_of(words: Words, why: "Why") -> list[str]:
    """What differs between two moves, and what they are worth."""
    first, *more = why.facts
    sentences = [_fact_text(words, first, rolls_again(why.roll))]
    best = str(why.best)
    also = _also_text(words, more[0]) if more else None
    worth = _worth_text(words, why)
    if worth is None:
        return [*sentences, words["also"].format(a=best, what=also)] if also else sentences
    name, points = worth
    if name == "worth":
        name = "yet" if first.better.move != why.best else "alsoWorth" if also else "worth"
    return [*sentences, words[name].format(a=best, points=points, what=also)]


def _worth_text(words: Words, why: "Why") -> tuple[str, str] | None:
    """Which sentence says how much more the best move is worth, and that difference in percentage points."""
    if why.difference is None:
        return None
    if why.difference == 0:
        return ("equal" if why.exact else "alike"), ""
    points = 100 * why.difference
    digits = 1 if points >= 1 or not why.exact else 2
    steps = floor(points * 10**digits + 0.5)  # not round(), which rounds halves to even
    if steps == 0:
        text = words["below"].format(points=_decimal(words, 1, digits))
        return ("worth" if why.exact else "noise"), text
    text = _decimal(words, steps, digits)
    if why.exact:
        return "worth", text
    text = words["about"].format(points=text)
    return ("noise" if why.error is not None and why.difference < why.error else "worth"), text


def _decimal(words: Words, steps: int, digits: int) -> str:
    whole, part = divmod(steps, 10**digits)
    return f"{whole}{words['point']}{part:0{digits}}"


def _fact_text(words: Words, fact: "Fact", again: bool) -> str:
    """The sentence for a fact; if the mover rolls `again`, the other side could capture only pieces that stay put."""
    better, worse = fact.better, fact.worse
    a, b = str(better.move), str(worse.move)
    if fact.kind == "captures" and worse.walked is not None:
        return words["capturesMore"].format(a=a, b=b, prey=_prey(words, better), less=_prey(words, worse))
    if fact.kind == "danger":
        fewer = _hits(words, better.danger)
        if len(_rolls(better.danger)) < len(_rolls(worse.danger)):
            fewer = words["only"].format(what=fewer)
        name = "safer" if better.danger else "safe"
        can, hits = words["could" if again else "can"], _hits(words, worse.danger)
        return words[name].format(a=a, b=b, can=can, hits=hits, fewer=fewer)
    if fact.kind == "threats":
        first = _threats(words, better.threats, "threat")
        second = _threats(words, worse.threats, "threatToo") if worse.threats else words["noThreat"]
        if worse.threats and len(_rolls(worse.threats)) < len(_rolls(better.threats)):
            second = words["only"].format(what=second)
        return words["threats"].format(a=a, b=b, first=first, second=second)
    if fact.kind == "winning":
        second = _some(words, worse.winning)
        second = words["only"].format(what=second) if worse.winning else second
        return words["winning"].format(a=a, b=b, first=_some(words, better.winning), second=second)
    if fact.kind == "playable":
        first, second = _usable(words, better.playable), _usable(words, worse.playable)
        return words["playable"].format(a=a, b=b, first=first, second=second)
    if fact.kind == "place":
        ahead = (-1 if better.move.start is None else better.move.start) > (worse.move.start or 0)
        return words["further" if ahead else "back"].format(a=a, b=b)
    return words[fact.kind].format(a=a, prey=_prey(words, better))


def _also_text(words: Words, fact: "Fact") -> str:
    name = f"also{fact.kind.capitalize()}"
    return words[name].format(prey=_prey(words, fact.better))


def _prey(words: Words, outlook: "Outlook") -> str:
    """What the captured piece is called."""
    squares = outlook.walked
    return words["prey" if squares is None or squares > 1 else f"prey{squares}"].format(squares=squares)


def _hits(words: Words, danger: Hits) -> str:
    texts = [words["hit"].format(square=squares, rolls=rolls) for squares, rolls in _grouped(words, danger)]
    return _joined(words["and"], texts)


def _threats(words: Words, threats: Hits, first: str) -> str:
    names = [first] + ["threatToo"] * len(threats)
    groups = zip(names, _grouped(words, threats), strict=False)
    return _joined(words["and"], [words[name].format(square=square, rolls=rolls) for name, (square, rolls) in groups])


def _grouped(words: Words, hits: Hits) -> list[tuple[str, str]]:
    """Squares and rolls as text; squares where the same rolls capture are grouped together."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for square, rolls in hits.items():
        groups.setdefault(tuple(rolls), []).append(square)
    return [(_either(words, squares), _either(words, rolls)) for rolls, squares in groups.items()]


def _some(words: Words, rolls: Sequence[int]) -> str:
    return words["rollsSome"].format(rolls=_either(words, rolls)) if rolls else words["rollsNone"]


def _usable(words: Words, rolls: Sequence[int]) -> str:
    """The rolls that have a move, or every roll but the others if those are fewer."""
    lost = [roll for roll in ROLLS if roll not in rolls]
    if not lost:
        return words["rollsAll"]
    if len(lost) < len(rolls):
        return words["rollsBut"].format(rolls=_either(words, lost))
    some = _some(words, rolls)
    return words["only"].format(what=some) if rolls else some


def _rolls(hits: Hits) -> set[int]:
    return {roll for rolls in hits.values() for roll in rolls}


def _either(words: Words, numbers: Iterable[int]) -> str:
    return _joined(words["or"], list(map(str, numbers)))


def _joined(last: str, parts: Sequence[str]) -> str:
    """The parts as a list: "a, b and c"."""
    return last.join([*([", ".join(parts[:-1])] if len(parts) > 1 else []), *parts[-1:]])
