"""Every error this package raises on purpose. `MadnError` is the base of all."""


def printable(text: object) -> str:
    """Text, perhaps from an untrusted file, made safe for a terminal: unprintable characters are escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in str(text))


class MadnError(Exception):
    """Base of all errors of this package; `str(error)` is one line for a person."""

    def __str__(self) -> str:
        return printable(Exception.__str__(self))  # OSError and KeyError have formats of their own


class InvalidNumberError(MadnError, ValueError):
    """A number is outside its range, or is not a number."""


class InvalidTypeError(MadnError, TypeError):
    """An argument is not an object of the expected class."""


class InvalidRulesError(MadnError, ValueError):
    """These rules are not a game: too many pieces, an odd board, a board too large."""


class InvalidBoardError(MadnError, ValueError):
    """The text or the numbers are not a position of the game."""


class IllegalMoveError(MadnError, ValueError):
    """The move is not legal for this board and roll, or the roll is not one of 1 to 6."""


class RulesMismatchError(MadnError, ValueError):
    """The board was made for other rules than the database, or the database is of another game."""


class MissingBlockError(MadnError, KeyError):
    """The position belongs to the game, but is not in this database."""


class NoValuesError(MissingBlockError):
    """The database stores best moves without winning probabilities, and one was asked for."""


class NoBoundsError(MadnError, ValueError):
    """The database stores values without proved bounds, and bounds were asked for."""


class NoAnswerError(MissingBlockError):
    """Nothing here knows the value of a position: no database, no part that is quickly solved, no estimator."""


class CorruptBlockError(MadnError, OSError):
    """A file of the database is damaged, truncated or not what the catalogue says."""


class MissingDatabaseError(CorruptBlockError, FileNotFoundError):
    """There is no database at the path."""


class ClosedDatabaseError(MadnError, ValueError):
    """The database has been closed and cannot be queried."""


class FormatVersionError(MadnError, OSError):
    """The database was written in a format this version does not read."""


class ResourceError(MadnError, OSError):
    """Not enough memory or disk; raised before the work starts."""


class PlanError(MadnError, ValueError):
    """The requested solve makes no sense: an unknown method, a tolerance that cannot be reached."""


class OutputError(MadnError, OSError):
    """The place where a database should be written cannot be used; raised before the work starts."""


class InvalidPlayerError(MadnError, ValueError):
    """There is no such player, its rules are invalid, or it chose a move that is not legal."""


class InvalidRecordError(MadnError, ValueError):
    """The text is not the record of a game; the message names the line."""


class MissingExtraError(MadnError, ImportError):
    """This needs a package that is not installed; the message says which extra of madn installs it."""


class OtherProcessError(MadnError):
    """Another process of a cluster reports what is wrong; `status` is the exit status of this one."""

    status = 2


class MadnWarning(UserWarning):
    """Something is wrong that does not affect any answer, such as a cache that cannot be written."""
