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

LAZY = {  # what takes time to import (numpy and more), by the module it comes from
    "database": ("Analysis", "Database", "open_database"),
    "ranking": ("rank", "rank_many", "unrank", "unrank_many"),
    "solving": ("solve",),
}

__all__ = [
    "Analysis",
    "Board",
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
    module = next((module for module, names in LAZY.items() if name in names), None)
    if module:
        from importlib import import_module

        return getattr(import_module(f"madn.{module}"), name)
    raise AttributeError(f"module 'madn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
