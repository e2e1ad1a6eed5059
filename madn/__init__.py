"""Two-player Mensch ärgere Dich nicht (German Ludo), solved exactly.

A `Board` is written `OWN/OTHER`, the side to move first; `Rules` say how many pieces and squares a game has.
"""

TYPE_CHECKING = False  # not imported from `typing`, which takes time to import
if TYPE_CHECKING:
    from madn.advisor import Advisor
    from madn.board import Board, Move
    from madn.database import (
        Analysis,
        BestMoveDatabase,
        Database,
        MoveValue,
        RollValue,
        ValueDatabase,
        open_database,
    )
    from madn.errors import (
        ClosedDatabaseError,
        CorruptBlockError,
        FormatVersionError,
        IllegalMoveError,
        InvalidBoardError,
        InvalidNumberError,
        InvalidPlayerError,
        InvalidRecordError,
        InvalidRulesError,
        InvalidTypeError,
        MadnError,
        MadnWarning,
        MissingBlockError,
        MissingDatabaseError,
        MissingExtraError,
        NoAnswerError,
        NoBoundsError,
        NoValuesError,
        OtherProcessError,
        OutputError,
        PlanError,
        ResourceError,
        RulesMismatchError,
    )
    from madn.game import Game
    from madn.ranking import rank, rank_many, unrank, unrank_many
    from madn.rules import Rules
    from madn.solving import solve
    from madn.why import explain

__version__: str

LAZY = {  # the public names of each module, except the errors: nothing is imported before it is used
    "advisor": ("Advisor",),
    "board": ("Board", "Move"),
    "database": (
        "Analysis",
        "BestMoveDatabase",
        "Database",
        "MoveValue",
        "RollValue",
        "ValueDatabase",
        "open_database",
    ),
    "game": ("Game",),
    "ranking": ("rank", "rank_many", "unrank", "unrank_many"),
    "rules": ("Rules",),
    "solving": ("solve",),
    "why": ("explain",),
}

__all__ = [
    "Advisor",
    "Analysis",
    "BestMoveDatabase",
    "Board",
    "ClosedDatabaseError",
    "CorruptBlockError",
    "Database",
    "FormatVersionError",
    "Game",
    "IllegalMoveError",
    "InvalidBoardError",
    "InvalidNumberError",
    "InvalidPlayerError",
    "InvalidRecordError",
    "InvalidRulesError",
    "InvalidTypeError",
    "MadnError",
    "MadnWarning",
    "MissingBlockError",
    "MissingDatabaseError",
    "MissingExtraError",
    "Move",
    "MoveValue",
    "NoAnswerError",
    "NoBoundsError",
    "NoValuesError",
    "OtherProcessError",
    "OutputError",
    "PlanError",
    "ResourceError",
    "RollValue",
    "Rules",
    "RulesMismatchError",
    "ValueDatabase",
    "__version__",
    "explain",
    "open_database",
    "rank",
    "rank_many",
    "solve",
    "unrank",
    "unrank_many",
]


def __getattr__(name: str) -> object:
    """Import a name when it is first used."""
    if name == "__version__":
        from importlib.metadata import version

        return version("madn")
    from importlib import import_module

    if name in {"board", "envs", "errors", "rules"}:
        return import_module(f"madn.{name}")
    if name in __all__:
        module = next((module for module, names in LAZY.items() if name in names), "errors")
        globals()[name] = getattr(import_module(f"madn.{module}"), name)
        return globals()[name]
    raise AttributeError(f"module 'madn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
