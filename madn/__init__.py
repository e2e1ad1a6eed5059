"""Two-player Mensch ärgere Dich nicht (German Ludo), solved exactly.

A `Board` is written `OWN/OTHER`, the side to move first; `Rules` say how many pieces and squares a game has.
"""

from typing import TYPE_CHECKING

from madn.board import Board, Move
from madn.errors import (
    ClosedDatabaseError,
    CorruptBlockError,
    FormatVersionError,
    IllegalMoveError,
    InvalidBoardError,
    InvalidPlayerError,
    InvalidRecordError,
    InvalidRulesError,
    MadnError,
    MissingBlockError,
    MissingDatabaseError,
    NoValuesError,
    OutputError,
    PlanError,
    ResourceError,
    RulesMismatchError,
)
from madn.rules import Rules

if TYPE_CHECKING:
    from madn.database import Analysis, Database, open_database
    from madn.ranking import rank, rank_many, unrank, unrank_many
    from madn.solving import solve

__version__: str

LAZY = {  # what takes time to import (numpy and more), and the module it comes from
    "Analysis": "madn.database",
    "Database": "madn.database",
    "open_database": "madn.database",
    "rank": "madn.ranking",
    "rank_many": "madn.ranking",
    "solve": "madn.solving",
    "unrank": "madn.ranking",
    "unrank_many": "madn.ranking",
}

__all__ = [
    "Analysis",
    "Board",
    "ClosedDatabaseError",
    "CorruptBlockError",
    "Database",
    "FormatVersionError",
    "IllegalMoveError",
    "InvalidBoardError",
    "InvalidPlayerError",
    "InvalidRecordError",
    "InvalidRulesError",
    "MadnError",
    "MissingBlockError",
    "MissingDatabaseError",
    "Move",
    "NoValuesError",
    "OutputError",
    "PlanError",
    "ResourceError",
    "Rules",
    "RulesMismatchError",
    "__version__",
    "open_database",
    "rank",
    "rank_many",
    "solve",
    "unrank",
    "unrank_many",
]


def __getattr__(name: str) -> object:
    """Import what costs time only when it is used."""
    if name == "__version__":
        from importlib.metadata import version

        return version("madn")
    if name in LAZY:
        from importlib import import_module

        return getattr(import_module(LAZY[name]), name)
    raise AttributeError(f"module 'madn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
