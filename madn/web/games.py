"""Which games a server answers for: those that are open, and those on offer, which are opened when somebody asks."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from itertools import product
from typing import Any

from madn.advisor import Advisor, estimates_of
from madn.board import Board
from madn.rules import HOUSE_RULES, Rules
from madn.web.answers import Served, ServedAdvisor

NUMBERS = ("no", "one", "two", "three", "four", "five", "six")
OFFERED = (4, 3, 2)  # pieces
ANSWERS = 512  # that are kept of a game on offer: there are dozens of them
Opening = Callable[[], Served]


class Games:
    """The games of a server, by name. The first is meant where a request names none.

    A game `on_offer` has its rules and a function that opens it; that is called once.
    """

    def __init__(self, served: Sequence[Served], on_offer: Mapping[str, tuple[Rules, Opening]] | None = None) -> None:
        self._open = {game.name: game for game in served}
        self._on_offer = {name: offer for name, offer in (on_offer or {}).items() if name not in self._open}
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[str]:
        yield from self._open
        yield from (name for name in self._on_offer if name not in self._open)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def listed(self) -> list[dict[str, Any]]:
        """The name and the rules of each game."""
        rules = {name: game.rules for name, game in self._open.items()}
        rules |= {name: offered for name, (offered, _) in self._on_offer.items()}
        return [{"name": name, "rules": asdict(rules[name])} for name in self]

    def is_open(self, name: str) -> bool:
        """Whether a game can be asked without opening it."""
        return name in self._open

    def __getitem__(self, name: str) -> Served:
        """A game, which is opened if it was only on offer; KeyError if there is none of this name."""
        with self._lock:
            if name not in self._open:
                self._open[name] = self._on_offer[name][1]()
            return self._open[name]


def name_of(rules: Rules) -> str:
    """The name of a game in requests: four-pieces, three-pieces-24-must-capture."""
    words = [f"{NUMBERS[rules.pieces]}-{'piece' if rules.pieces == 1 else 'pieces'}"]
    words += [str(rules.squares)] if rules.squares != Rules().squares else []
    return "-".join([*words, *(rule.replace("_", "-") for rule in rules.house_rules)])


def on_offer(stack: ExitStack) -> dict[str, tuple[Rules, Opening]]:
    """The games of the standard board that have an estimator, with all house rules; `stack` closes what was opened."""

    def opening(rules: Rules) -> Opening:
        def opened() -> Served:
            advisor = stack.enter_context(Advisor(rules, wait=False))
            whole = next((database for database in advisor.databases if Board.start(rules) in database), None)
            if whole is None:
                return ServedAdvisor(name_of(rules), advisor, ANSWERS)
            return Served(name_of(rules), whole, ANSWERS)

        return opened

    offered = {}
    for pieces, house in product(OFFERED, product((False, True), repeat=len(HOUSE_RULES))):
        rules = replace(Rules(pieces=pieces), **dict(zip(HOUSE_RULES, house, strict=True)))
        if estimates_of(rules) is not None:
            offered[name_of(rules)] = (rules, opening(rules))
    return offered
