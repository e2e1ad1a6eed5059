"""The games that a server knows: those that are open, and those on offer, which are opened when somebody asks."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import product
from typing import Any

from madn.advisor import Advisor, estimates_of
from madn.board import Board
from madn.rules import HOUSE_RULES, Rules
from madn.web.answers import Served, ServedAdvisor

NUMBERS = ("no", "one", "two", "three", "four", "five", "six")
OFFERED = (4, 3, 2)  # pieces
OPEN = 4  # games on offer that are open at once: there are dozens of them, each with its answers and solved parts
ANSWERS = 512  # that are kept for each
Opening = Callable[[], Served]


class Games:
    """The games of a server, by name. The first one is meant if a request names none.

    A game `on_offer` has its rules and a function that opens it. `OPEN` of them are open at once: the one asked longest
    ago makes room for another, and is closed once nobody is asking it any more.
    """

    def __init__(self, served: Sequence[Served], on_offer: Mapping[str, tuple[Rules, Opening]] | None = None) -> None:
        self._served = {game.name: game for game in served}
        self._on_offer = {name: offer for name, offer in (on_offer or {}).items() if name not in self._served}
        self._opened: dict[str, Served] = {}  # of those on offer; the one asked most recently comes last
        self._lock = threading.Lock()
        self._opening = threading.Lock()

    def __iter__(self) -> Iterator[str]:
        yield from self._served
        yield from self._on_offer

    def __len__(self) -> int:
        return len(self._served) + len(self._on_offer)

    @property
    def listed(self) -> list[dict[str, Any]]:
        """The name and the rules of each game."""
        rules = {name: game.rules for name, game in self._served.items()}
        rules |= {name: offered for name, (offered, _) in self._on_offer.items()}
        return [{"name": name, "rules": asdict(rules[name])} for name in self]

    def find(self, name: str) -> Served | None:
        """A game that can be asked without opening it; None if no open game has this name."""
        if name in self._served:
            return self._served[name]
        with self._lock:
            if name in self._opened:
                self._opened[name] = self._opened.pop(name)
            return self._opened.get(name)

    def __getitem__(self, name: str) -> Served:
        """A game, which is opened if it was only on offer; KeyError if no game has this name."""
        with self._opening:
            game = self.find(name)
            if game is None:
                game = self._on_offer[name][1]()
                with self._lock:
                    self._opened[name] = game
                    for other in [*self._opened][:-OPEN]:
                        del self._opened[other]
            return game


def name_of(rules: Rules) -> str:
    """The name of a game in requests: four-pieces, three-pieces-24-must-capture."""
    words = [f"{NUMBERS[rules.pieces]}-{'piece' if rules.pieces == 1 else 'pieces'}"]
    words += [str(rules.squares)] if rules.squares != Rules().squares else []
    return "-".join([*words, *(rule.replace("_", "-") for rule in rules.house_rules)])


def on_offer() -> dict[str, tuple[Rules, Opening]]:
    """The games on the standard board that have an estimator, with all combinations of house rules."""

    def opened(rules: Rules) -> Served:
        advisor = Advisor(rules, wait=False)
        whole = next((database for database in advisor.databases if Board.start(rules) in database), None)
        if whole is None:
            return ServedAdvisor(name_of(rules), advisor, ANSWERS)
        return Served(name_of(rules), whole, ANSWERS)

    offered: dict[str, tuple[Rules, Opening]] = {}
    for pieces, house in product(OFFERED, product((False, True), repeat=len(HOUSE_RULES))):
        rules = replace(Rules(pieces=pieces), **dict(zip(HOUSE_RULES, house, strict=True)))
        if estimates_of(rules) is not None:
            offered[name_of(rules)] = (rules, partial(opened, rules))
    return offered
