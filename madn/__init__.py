"""Two-player Mensch ärgere Dich nicht (German Ludo), solved exactly.

A `Board` is written `OWN/OTHER`, the side to move first; `Rules` say how many pieces and squares a game has.
"""

from typing import TYPE_CHECKING

from madn.board import Board, Move
from madn.errors import (
    CorruptBlockError,
    FormatVersionError,
    IllegalMoveError,
    InvalidBoardError,
    InvalidRulesError,
    MadnError,
    MissingBlockError,
    NoValuesError,
    ResourceError,
    RulesMismatchError,
)
from madn.rules import Rules

if TYPE_CHECKING:
    from madn.database import open_database

__version__: str

__all__ = [
    "Board",
    "CorruptBlockError",
    "FormatVersionError",
    "IllegalMoveError",
    "InvalidBoardError",
    "InvalidRulesError",
    "MadnError",
    "MissingBlockError",
    "Move",
    "NoValuesError",
    "ResourceError",
    "Rules",
    "RulesMismatchError",
    "__version__",
    "open_database",
]


def __getattr__(name: str) -> object:
    """Look up what costs time to import only when it is asked for."""
    if name == "__version__":
        from importlib.metadata import version

        return version("madn")
    if name == "open_database":
        from madn.database import open_database

        return open_database
    raise AttributeError(f"module 'madn' has no attribute {name!r}")
