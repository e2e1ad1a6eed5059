"""The command line, `madn COMMAND … [--json]`. This module turns errors into one line and an exit status.

Commands import slow modules (numpy, SQLite, the kernels) only when they run.
"""

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, TextIO, cast

import click

from madn.cli.boards import moves, rank, unrank
from madn.cli.cantstop import cantstop
from madn.cli.compress import compress
from madn.cli.export import export
from madn.cli.export_web import export_web
from madn.cli.games import analyse_game
from madn.cli.match import match, players
from madn.cli.pig import pig
from madn.cli.play import play
from madn.cli.plot import plot
from madn.cli.pyramid import pyramid
from madn.cli.query import analyse, best_move, info, win
from madn.cli.reproduce import reproduce
from madn.cli.serve import serve
from madn.cli.solve import plan, solve
from madn.cli.verify import verify
from madn.errors import (
    CorruptBlockError,
    FormatVersionError,
    MadnError,
    MadnWarning,
    MissingBlockError,
    MissingExtraError,
    OtherProcessError,
    ResourceError,
    printable,
)

BAD_INPUT, BAD_DATA, INTERRUPTED = 2, 3, 130
GROUPS: dict[str, tuple[click.Command, ...]] = {
    "Ask": (best_move, win, analyse, moves),
    "Play": (play, players, analyse_game, serve, export_web),
    "Solve and store": (plan, solve, info, verify, compress, export),
    "Other games": (pig, cantstop, pyramid),
    "Research": (match, rank, unrank, reproduce, plot),
}


class CtrlCError(Exception):
    """Ctrl-C, under a name that click leaves alone."""


class Commands(click.Group):
    """The commands, listed in the groups of `GROUPS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order in which they are listed."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands of each group, each with its full first sentence."""
        width = max(map(len, self.commands))
        for title, group in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([((c.name or "").ljust(width), c.get_short_help_str(limit=500)) for c in group])

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise CtrlCError from None


def show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print the version, whether it has OpenMP, the threads, the kernels and the libraries, and exit."""
    if not wanted or ctx.resilient_parsing:
        return
    from madn.machine import openmp, usable_threads, versions
    from madn.solver import kernels

    facts = versions()
    click.echo(f"madn {facts['madn']}")
    click.echo(f"OpenMP: {'yes' if openmp() else 'no, one thread only'}")
    click.echo(f"threads: {usable_threads()}")
    click.echo(f"kernels: {kernels.build}, built with {facts['compiler']}")
    click.echo(f"numpy {facts['numpy']}, Python {facts['python']}")
    ctx.exit()


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=show_version,
    help="Show the version, the number of threads and the kernels in use.",
)
@click.pass_context
def commands(ctx: click.Context) -> None:
    """Play two-player Mensch aergere Dich nicht (German Ludo), ask for the best move, or solve the game exactly.

    A BOARD is written OWN/OTHER: the side to move comes first. Each side lists the squares of its pieces, counted
    from its own A-square: 0 is the A-square, 39 the last square of the main field, 40 to 43 the finish zone
    (with 40 squares and 4 pieces). Pieces in the box are left out; a side with all its pieces in the box is
    written b. The starting position is 0/0. The rules of the game are in docs/rules.md; madn serve also shows
    them, at /rules.html.

    Every command accepts --json, which prints one JSON object on standard output; everything else goes to
    standard error. Exit status: 0 done, 1 the answer is no (a verification failed), 2 usage error or bad
    input, 3 not enough resources or damaged data, 130 interrupted. If the output is closed early
    (madn ... | head), the command still finishes its work, and the exit status is that of the work.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


for command in chain(*GROUPS.values()):
    commands.add_command(command)


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line with these arguments, or those of the process; return the exit status."""
    # Waiting threads soon give up their processor: with ten other programs running, a solve took a fifth of the time.
    os.environ.setdefault("GOMP_SPINCOUNT", "2000")
    try:
        with _surviving_closed_pipes(), warnings.catch_warnings():
            warnings.showwarning = _warned
            warnings.simplefilter("always", MadnWarning)
            return _run(args)
    except KeyboardInterrupt:  # before click looks at the arguments, or after the command
        return _failed("interrupted", INTERRUPTED)


def _run(args: Sequence[str] | None) -> int:
    try:
        status = commands.main(args, prog_name="madn", standalone_mode=False)
    except click.ClickException as error:
        where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "madn"
        message = f"{error.format_message()} (see {where} --help)"
        return _failed_together(message) if "--cluster" in (args or sys.argv) else _failed(message, BAD_INPUT)
    except OtherProcessError as error:
        return error.status
    except (CorruptBlockError, FormatVersionError, MissingBlockError, MissingExtraError, ResourceError) as error:
        return _failed(str(error), BAD_DATA)
    except MadnError as error:
        return _failed(str(error), BAD_INPUT)
    except MemoryError:
        return _failed("not enough memory", BAD_DATA)
    except OSError as error:
        _discard_if_broken(sys.stdout)
        return _failed(f"{error.filename}: {error.strerror}" if error.filename else str(error), BAD_DATA)
    except (CtrlCError, click.Abort):
        return _failed("interrupted", INTERRUPTED)
    return status if isinstance(status, int) else 0


def _warned(message: Warning | str, *_: object, **__: object) -> None:
    """Show a warning as one line, wherever it comes from."""
    click.echo(f"madn: {printable(' '.join(str(message).split()))}", err=True)


def _failed(message: str, status: int) -> int:
    click.echo(f"madn: {' '.join(message.split())}", err=True)
    return status


def _failed_together(message: str) -> int:
    """Tell the other processes of a cluster, which would wait for this one for ever; one of them reports it."""
    from madn.solver.cluster.processes import launched

    try:
        if launched():
            from madn.cluster import refuse

            refuse(message)
    except OtherProcessError as error:
        return error.status
    except MadnError as error:
        message = str(error)
    return _failed(message, BAD_INPUT)


class _Pipe:
    """A text stream that discards everything once its reader has gone."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        try:
            return self.stream.write(text)
        except BrokenPipeError:
            _discard(self.stream)
            return len(text)

    def flush(self) -> None:
        try:
            self.stream.flush()
        except BrokenPipeError:
            _discard(self.stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def _surviving_closed_pipes() -> Iterator[None]:
    """A reader that closes the output (`madn ... | head`) must not stop a solve before its database is written."""
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, _Pipe(stream)) for stream in streams)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def _discard_if_broken(stream: TextIO) -> None:
    """Drop what could not be written (to a full disk, say), or Python would try again at exit."""
    try:
        stream.flush()
    except OSError:
        _discard(stream)


def _discard(stream: TextIO) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
