"""The first turn of a game that was solved before: what stopping is worth with every placement of the markers.

Nothing more is needed to say when to stop in the first turn, and to repeat the last step of the solution: computing the
anchor of the start from the anchors around it. The package has this data for (3,3) and (4,1) (made by
`tools/first-turn`), so pictures and tests do not have to solve the whole game again.
"""

import json
from importlib.resources import files
from typing import Any

from madn.games.cantstop.answers import Source, TurnAnswers
from madn.games.cantstop.position import Position
from madn.games.cantstop.rules import CantStop
from madn.games.cantstop.turns import Markers, Turn

START = "-/-"


def file_name(game: CantStop) -> str:
    """The name of a game's file in the package data."""
    return f"cantstop-{game.sides}-{game.shortest}.json"


def first_turn(source: Source) -> dict[str, Any]:
    """The part of a solution to keep: the first player's chance and the value of stopping with each set of markers."""
    component = TurnAnswers(source, Position.parse(START, source.game))
    stops = {
        _text(state.markers): stop
        for state, stop in zip(component.turn.states, component.turn.stops, strict=True)
        if stop is not None
    }
    return {
        "sides": source.game.sides,
        "shortest": source.game.shortest,
        "first_player": component.anchors[0],
        "stops": stops,
    }


def stored_turn(game: CantStop) -> tuple[Turn, float]:
    """The first turn of a game whose data the package has, and the first player's chance."""
    text = files("madn").joinpath("data", file_name(game)).read_text(encoding="ascii")
    kept = json.loads(text)
    stops: dict[str, float] = kept["stops"]
    return Turn(game, game.lengths, lambda markers: stops[_text(markers)]), kept["first_player"]


def _text(markers: Markers) -> str:
    """The steps left above each marker, `-` where there is none."""
    return " ".join("-" if left is None else str(left) for left in markers)
