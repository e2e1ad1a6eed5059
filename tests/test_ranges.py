"""Every number that a user can give has a range: nothing hangs, nothing crashes, every refusal is one line."""

import subprocess
import sys
from pathlib import Path

import nasty_numbers
import numpy as np
import pytest

import madn
from madn import InvalidNumberError, InvalidTypeError, Rules
from madn.cli import commands
from madn.games import cantstop
from madn.match import play_game
from madn.players import PLAYERS
from madn.ranges import checked_float, checked_int, checked_type
from madn.record import write_record

FUNCTIONS = sorted(nasty_numbers.functions())


def test_a_refusal_names_the_number_and_its_range() -> None:
    assert type(checked_int("threads", np.int8(3), 1, 4)) is int
    assert type(checked_float("tolerance", np.float32(0.5), 0, 1, InvalidNumberError)) is float
    for value, words in (
        (0, "0"),
        (5, "5"),
        (10**5000, "a number of 16610 bits"),
        (np.uint64(2**64 - 1), str(2**64 - 1)),
    ):
        with pytest.raises(InvalidNumberError, match=f"^threads must be 1 to 4, not {words}$"):
            checked_int("threads", value, 1, 4)
    for wrong in (True, 2.0, "2", None, [2], np.float64(2)):
        with pytest.raises(InvalidNumberError, match=r"^threads must be a whole number, not "):
            checked_int("threads", wrong, 1, 4)
    for number in (0, 1.5, float("nan"), float("inf"), 10**400, "1", True, None, [1.0]):
        with pytest.raises(InvalidNumberError, match=r"^tolerance must be a number from 1e-15 to 1, not "):
            checked_float("tolerance", number, 1e-15, 1, InvalidNumberError)
    with pytest.raises(InvalidTypeError, match=r"^rules must be Rules, not 'four'$"):
        checked_type("rules", "four", Rules)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small database, one with proved bounds, one of Can't Stop, and the record of a game."""
    directory = tmp_path_factory.mktemp("nasty")
    madn.solve(nasty_numbers.TINY, out=directory / "two")
    madn.solve(nasty_numbers.TINY, out=directory / "proved", proved=True)
    cantstop.write_database(directory / "stop", cantstop.solve(cantstop.CantStop(2, 1, 2, 2)))
    board = madn.Board.start(nasty_numbers.TINY)
    write_record(play_game(PLAYERS["fpoc"], PLAYERS["fpoc"], board), directory / "game.txt")
    return directory


def walked(directory: Path, kind: str, name: str) -> str:
    """What a process says that goes through all nasty numbers of a command, or of the functions of a module."""
    done = subprocess.run(
        [sys.executable, nasty_numbers.__file__, str(directory), kind, name],
        cwd=directory,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=240,
        check=False,
    )
    return done.stdout + done.stderr + (f"exit status {done.returncode}" if done.returncode else "")


def test_every_command_is_tried() -> None:
    assert set(nasty_numbers.COMMANDS) == set(commands.commands)


@pytest.mark.parametrize("name", sorted(nasty_numbers.COMMANDS))
def test_no_number_on_the_command_line_does_harm(directory: Path, name: str) -> None:
    assert walked(directory, "command", name) == ""


def test_every_function_is_tried(directory: Path) -> None:
    assert sorted(nasty_numbers.calls(directory)) == FUNCTIONS


@pytest.mark.parametrize("module", nasty_numbers.MODULES)
def test_no_number_from_python_does_harm(directory: Path, module: str) -> None:
    assert walked(directory, "functions", module) == ""
