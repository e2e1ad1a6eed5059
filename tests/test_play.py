"""`madn play` in a real terminal: colours, numbered moves, hint, undo, the saved record."""

import os
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from madn.record import read_record

pty = pytest.importorskip("pty")  # not on Windows


class Terminal:
    """A process on a terminal of its own; what it prints is read until it asks."""

    def __init__(self, *args: str) -> None:
        self.master, slave = pty.openpty()
        command = [sys.executable, "-m", "madn", "play", *args]
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        self.seen = ""

    def read_until(self, end: str) -> str:
        """What is printed up to and with `end`, which must come within a minute."""
        text, limit = "", time.monotonic() + 60
        while not text.endswith(end):
            assert time.monotonic() < limit, f"{end!r} did not come; seen: {text}"
            if select.select([self.master], [], [], 1)[0]:
                try:
                    text += os.read(self.master, 1).decode()
                except OSError:  # the process has closed the terminal
                    pytest.fail(f"ended before {end!r}; seen: {text}")
        self.seen += text
        return text

    def type(self, line: str) -> str:
        """Type a line; what is printed until the next question."""
        os.write(self.master, f"{line}\n".encode())
        return self.read_until("\n> ")

    def finish(self, line: str) -> str:
        """Type a last line; everything that is printed after it."""
        os.write(self.master, f"{line}\n".encode())
        text = ""
        while True:
            try:
                part = os.read(self.master, 4096).decode()
            except OSError:
                break
            if not part:
                break
            text += part
        assert self.process.wait(60) == 0
        os.close(self.master)
        return text


def test_a_person_plays_in_the_terminal(tmp_path: Path) -> None:
    saved, middle = tmp_path / "game.txt", tmp_path / "middle.txt"
    terminal = Terminal("human", "fpoc", "--pieces", "2", "--seed", "3", "--out", str(saved))
    first = terminal.read_until("\n> ")
    assert "\x1b[31m\x1b[1mR" in first  # red, and for black the terminal's own ink: black on black cannot be read
    assert "\x1b[1mB\x1b[0m" in first
    assert "\x1b[30m" not in first
    assert re.search(r"You rolled .*2", first)
    assert "1  0-2" in first
    assert re.search(r"0-2 +49\.\d+ %|0-2 +50\.\d+ %", terminal.type("hint"))
    assert "nothing to take back" in terminal.type("undo")
    assert "legal: 0-2" in terminal.type("17-18")
    assert "legal: 0-2" in terminal.type("2")
    after = terminal.type("1")
    assert "1 first rolls 2: 0-2" in after
    assert "2 second rolls 5: 0-5" in after
    again = terminal.type("undo")
    assert "Back to before move 1" in again
    assert re.search(r"You rolled .*2", again)  # the rolls stay the same
    assert "2 second rolls 5: 0-5" in terminal.type("0-2")
    assert "undo" in terminal.type("help")
    assert "record so far" in terminal.type(f"save {middle}")
    assert "save needs the name of a file" in terminal.type("save")
    assert "cannot be written: Not a directory" in terminal.type(f"save {middle}/game.txt")
    assert len(read_record(middle).plies) == 2
    end = terminal.finish("quit")
    assert "unfinished, 2 moves, seed 3" in end
    record = read_record(saved)
    assert (record.first, record.second, len(record.plies)) == ("human", "fpoc", 2)


def test_a_whole_game_with_the_person_second(tmp_path: Path) -> None:
    saved = tmp_path / "game.txt"
    terminal = Terminal("fpoc", "human", "--pieces", "1", "--squares", "8", "--seed", "1", "--out", str(saved))
    terminal.read_until("\n> ")
    while terminal.process.poll() is None:
        os.write(terminal.master, b"1\n")
        text = ""
        while not text.endswith("\n> ") and "is in" not in text:
            if not select.select([terminal.master], [], [], 30)[0]:
                break
            try:
                text += os.read(terminal.master, 1).decode()
            except OSError:
                break
        if "is in" in text:
            break
    assert terminal.process.wait(60) == 0
    record = read_record(saved)
    assert record.winner is not None
    assert record.second == "human"


def test_the_end_of_the_input_ends_the_game() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "madn", "play", "--pieces", "2", "--seed", "1"],
        input="",
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "unfinished, 0 moves" in done.stdout
    assert "\x1b" not in done.stdout  # colours are for terminals
