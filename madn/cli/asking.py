"""Shared by commands that ask about a position: the optional database, and where an answer comes from."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from madn.board import Board
from madn.cli.options import Function
from madn.cli.output import attributes
from madn.cli.progress import ProgressBar
from madn.rules import ROLLS, Rules

if TYPE_CHECKING:
    from madn.advisor import Advisor, Probability
    from madn.database import Analysis, MoveValue
    from madn.players import Player

SIDE = r"(?:b|[0-9]+(?:,[0-9]+)*)"
BOARD = re.compile(f"{SIDE}/{SIDE}")
SHOWN = 5e-7  # errors up to this do not show in a percentage with four decimals


def question_argument(*more: str) -> Callable[[Function], Function]:
    """Add the arguments `[DB] BOARD` and these: the command gets them as a tuple, `question`, with None for no DB."""
    names = ("BOARD", *more)

    def split(ctx: click.Context, _: click.Parameter, words: tuple[str, ...]) -> tuple[str | None, ...]:
        if not ctx.resilient_parsing:
            _check(ctx, words, names)
        return words if len(words) > len(names) else (None, *words)

    return click.argument("question", nargs=-1, metavar=" ".join(["[DB]", *names]), callback=split)


def _check(ctx: click.Context, words: Sequence[str], names: Sequence[str]) -> None:
    """Raise a UsageError that says which word is missing, too many, or in the wrong place."""
    command = ctx.command_path
    if len(words) > len(names) + 1:
        raise click.UsageError(f"Got unexpected extra argument ({words[len(names) + 1]})", ctx)
    board = next((word for word in words if BOARD.fullmatch(word)), None)
    directory = next((word for word in words if word != board and os.path.isdir(word)), None)
    if board is None and directory is not None:
        raise click.UsageError(f"{directory} is a directory; a board must follow: `{command} {directory} 0/0`", ctx)
    if len(words) < len(names):
        raise click.UsageError(f"Missing argument '{names[len(words)]}'.", ctx)
    if "ROLL" in names and words[-1] not in map(str, ROLLS):
        if words[-1] == board:
            raise click.UsageError("Missing argument 'ROLL'.", ctx)
        raise click.BadParameter(f"{words[-1]!r} is not a roll from 1 to {ROLLS[-1]}", ctx, param_hint="'ROLL'")
    if len(words) > len(names) and words[0] == board and not os.path.isdir(board):
        after = f"{words[1]} {board}" if words[1] == directory else board
        raise click.UsageError(f"{board} is a board; only a database may precede it: `{command} {after}`", ctx)


def rules_given() -> bool:
    """Whether an option for the rules is on the command line."""
    ctx = click.get_current_context()
    names = [*(field.name for field in fields(Rules)), "house"]
    return any(ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE for name in names)


class SolvingBar:
    """A progress bar for each part that is solved while a command runs."""

    def __init__(self) -> None:
        self.bar: ProgressBar | None = None

    def __call__(self, fraction: float, text: str) -> None:
        """Draw the bar if it is due."""
        self.bar = self.bar or ProgressBar("solving")
        self.bar(fraction, text)
        if fraction >= 1:
            self.close()

    def close(self) -> None:
        """Clear the line."""
        if self.bar is not None:
            self.bar.__exit__()
            self.bar = None


@contextmanager
def advisor_for(db: str | None, rules: Rules) -> Iterator["Advisor"]:
    """The advisor: if a database is named, that alone, with its rules, which options may only repeat.

    A progress bar is shown while a part is solved.
    """
    from madn.advisor import Advisor

    if db is not None:
        with Advisor(rules if rules_given() else None, db, limit=0, estimate=False) as advisor:
            yield advisor
        return
    with closing(SolvingBar()) as bar, Advisor(rules, progress=bar) as advisor:
        yield advisor


@contextmanager
def player_source(db: str | None, rules: Rules) -> Iterator["Advisor"]:
    """The advisor for players and hints in a game with these rules: it asks the named database first, if any."""
    from madn.advisor import Advisor

    with closing(SolvingBar()) as bar, Advisor(rules, db, progress=bar) as advisor:
        yield advisor


def say_what_optimal_plays(start: Board, *players: "Player | None") -> None:
    """Say on standard error what `optimal` plays where it does not know the best moves."""
    from madn.players import OptimalPlayer

    optimal = next((player for player in players if isinstance(player, OptimalPlayer)), None)
    if optimal is not None and (instead := optimal.plays(start)) is not None:
        click.echo(instead, err=True)


def weakest(moves: "Sequence[MoveValue]") -> "MoveValue":
    """The move whose number comes from the weakest source: all are exact only if this one is."""
    return max(moves, key=lambda move: ("database", "solved", "estimate").index(move.source))


def source_fields(answer: "MoveValue | Analysis | Probability", rules: Rules) -> dict[str, Any]:
    """The fields of an answer that say where its numbers come from, and which game they are for."""
    return {**attributes(answer, "exact source error"), "rules": asdict(rules)}


def source_text(advisor: "Advisor", answer: "MoveValue | Analysis | Probability", board: str) -> str:
    """The lines below an answer: whether it is exact, and if not, what would make it so."""
    if answer.exact:
        source = "from a database" if answer.source == "database" else "solved on demand"
        error = answer.error or 0.0
        rounded = f" to {100 * error:.1g} percentage points" if error > SHOWN else ""
        return f"Exact{rounded}, {source}."
    off = f"{100 * (answer.error or 0):.2g} percentage points (root mean square)"
    lines = [f"An estimate: typical error {off}."]
    if (way := advisor.remedy(board)) is not None:
        command, positions = way
        lines += [
            f"For an exact answer, solve {positions:,} positions (madn plan shows what that takes):",
            f"  {command}",
        ]
    return "\n".join(lines)
