"""Every error this package raises on purpose. `MadnError` is the base of all."""


def printable(text: object) -> str:
    """Text, perhaps from a stranger's file, as it may go to a terminal: what is not printable is escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in str(text))


class MadnError(Exception):
    """Base of all errors of this package; `str(error)` is one line for a person."""

    def __str__(self) -> str:
        return printable(Exception.__str__(self))  # OSError and KeyError have ways of their own


class InvalidNumberError(MadnError, ValueError):
    """A number is outside its range, or is not a number."""


class InvalidTypeError(MadnError, TypeError):
    """An argument is an object of another class than the one expected."""


class InvalidRulesError(MadnError, ValueError):
    """These rules are not a game: too many pieces, an odd board, a board too large."""


class InvalidBoardError(MadnError, ValueError):
    """The text or the numbers are not a position of the game."""


class IllegalMoveError(MadnError, ValueError):
    """The move is not legal for this board and roll, or the roll is not one of 1 to 6."""


class RulesMismatchError(MadnError, ValueError):
    """The board was made for other rules than the database, or the database is of another game."""


class MissingBlockError(MadnError, KeyError):
    """The position is a position of the game, but not in this database."""


class NoValuesError(MissingBlockError):
    """The database stores best moves without winning probabilities, and one was asked for."""


class NoBoundsError(MadnError, ValueError):
    """The database stores values without proved bounds, and bounds were asked for."""


class NoAnswerError(MissingBlockError):
    """Nothing here knows the value of a position: no database, no part that is quickly solved, no estimator."""


class CorruptBlockError(MadnError, OSError):
    """A file of the database is damaged, cut off or not what the catalogue says."""


class MissingDatabaseError(CorruptBlockError, FileNotFoundError):
    """There is no database at the path."""


class ClosedDatabaseError(MadnError, ValueError):
    """The database was closed, and is asked something."""


class FormatVersionError(MadnError, OSError):
    """The database was written in a format this version does not read."""


class ResourceError(MadnError, OSError):
    """Not enough memory or disk; said before the work starts."""


class PlanError(MadnError, ValueError):
    """The solve asked for makes no sense: an unknown method, a tolerance that cannot be reached."""


class OutputError(MadnError, OSError):
    """The place where a database should be written cannot be used; said before the work starts."""


class InvalidPlayerError(MadnError, ValueError):
    """There is no such player, its rules are not rules, or it chose what is not a legal move."""


class InvalidRecordError(MadnError, ValueError):
    """The text is not the record of a game; the message names the line."""


class MissingExtraError(MadnError, ImportError):
    """A package that is not installed is needed for this; the message says which extra of madn brings it."""


class OtherProcessError(MadnError):
    """Another process of a cluster says what is wrong; `status` is what this one ends with."""

    status = 2


class MadnWarning(UserWarning):
    """Something is wrong that an answer does not depend on: a cache that cannot be written, say."""
