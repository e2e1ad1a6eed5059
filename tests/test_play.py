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
    terminal = Terminal("human", "fpoc", "--pieces", "2", "--seed", "5", "--out", str(saved))
    first = terminal.read_until("\n> ")
    assert first.startswith("You are Red (R) and fpoc is Black (B). You move first.\r\n")
    assert "come out on 0, go round to 39 and finish on 40 to 41" in first
    assert "(\x1b[31m\x1b[1mR0\x1b[0m)" in first  # black is the terminal's own ink: black on black cannot be read
    assert "(\x1b[1mB20\x1b[0m)" in first
    assert "\x1b[30m" not in first
    assert re.search(r"You rolled .*5.*\. The only move is 0-5: press Enter\.", first)
    assert re.search(r"1 +0-5 +wins 51\.0 % +best", terminal.type("hint"))
    assert "There is no choice to take back" in terminal.type("undo")
    assert "'17-18' is not a move here. Press Enter to play 0-5" in terminal.type("17-18")
    after = terminal.type("")
    assert "You played 0-5." in after
    assert "fpoc rolled 3: from 20 to 23." in after, "in the numbers of the person"
    assert "The only move is b-0 (out of the box)" in after
    choice = terminal.type("1")
    assert "You played b-0 (out of the box)." in choice
    assert "Which move?\r\n1  0-3\r\n2  5-8\r\n" in choice
    assert "Type a number from 1 to 2, or one of 0-3, 5-8" in terminal.type("")
    assert "'3' is not a move here. Type a number from 1 to 2" in terminal.type("3")
    assert re.search(r"2 +5-8 +wins 56\.2 % +best\r\n1 +0-3 +wins 55\.4 % +0\.8 less", terminal.type("HINT"))
    assert "save FILE" in terminal.type("help")
    assert "Red to move, Black waits: 0,5/3" in terminal.type("board")
    played = terminal.type("2")
    assert "You played 5-8." in played
    again = terminal.type("undo")
    assert "Back to roll 4 of the game." in again
    assert re.search(r"You rolled .*3.*Which move\?", again), "the rolls stay the same"
    assert terminal.type("5-8").split("\r\n", 1)[1] == played.split("\r\n", 1)[1]
    assert "record so far" in terminal.type(f"save {middle}")
    assert "save needs a file name" in terminal.type("save")
    assert "cannot be written: Not a directory" in terminal.type(f"save {middle}/game.txt")
    plies = len(read_record(middle).plies)
    assert plies >= 5
    end = terminal.finish("quit")
    assert f"The game is unfinished: {plies} rolls, seed 5." in end
    record = read_record(saved)
    assert (record.first, record.second, len(record.plies)) == ("human", "fpoc", plies)


@pytest.mark.parametrize("line", ["human fpoc", "fpoc human"])
def test_a_whole_game_with_what_is_forced_played_for_the_person(line: str, tmp_path: Path) -> None:
    """With one piece there is never a choice: the game runs to its end."""
    saved = tmp_path / "game.txt"
    terminal = Terminal(*line.split(), "--pieces", "1", "--squares", "8", "--seed", "1", "--out", str(saved))
    terminal.read_until("\n> ")
    end = terminal.finish("auto")
    record = read_record(saved)
    you = "first" if line.startswith("human") else "second"
    assert record.winner is not None
    assert (getattr(record, you), "You have won" in end) == ("human", record.winner == you)
    assert ("fpoc has won" in end) == (record.winner != you)
    rolled = [ply for ply, mover in zip(record.plies, record.movers, strict=False) if mover == you]
    assert end.count("You rolled") + end.count("You played") >= len(rolled) - 1


def test_two_persons_are_called_red_and_black() -> None:
    """Each has the board in its own numbers when it is to move; Red stays at the bottom."""
    lines = ["", "", "quit"]
    command = [sys.executable, "-m", "madn", "play", "human", "human", "--pieces", "2", "--seed", "5"]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=True, timeout=60)
    assert "Red moves first, Black second." in done.stdout
    assert "Red rolled 5. The only move is 0-5" in done.stdout
    assert "Black rolled 3. The only move is 0-3" in done.stdout
    bottoms = [line.split() for line in done.stdout.splitlines() if line.endswith(("39   38", "19   18"))]
    assert [" ".join(bottom[2:]) for bottom in bottoms] == ["(R0) 39 38", "(20) 19 18", "(0) 39 38", "(0) 39 38"]
    assert all(bottom[:2] == ["R", "."] for bottom in bottoms)


def test_a_person_is_told_why_a_move_is_forced() -> None:
    """With pieces in the box, who stands on the A-square must go: here on the third roll, after a 6 brought it out."""
    command = [sys.executable, "-m", "madn", "play", "--pieces", "3", "--seed", "5"]
    done = subprocess.run(command, input="\n\n\n", capture_output=True, text=True, check=True, timeout=60)
    assert "The only move is b-0 (out of the box): press Enter." in done.stdout
    assert "The only move is 0-3 (square 0 must be cleared): press Enter." in done.stdout


def test_with_three_rolls_all_tries_are_told() -> None:
    command = [sys.executable, "-m", "madn", "play", "fpoc", "random", "--pieces", "2", "--house", "--seed", "5"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert "fpoc (Red) moves first, random (Black) second." in done.stdout
    assert re.search(r"\) rolled [1-5], [1-5], [1-6]: ", done.stdout)


def test_the_end_of_the_input_ends_the_game() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "madn", "play", "--pieces", "2", "--seed", "1"],
        input="",
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "The game is unfinished: 0 rolls, seed 1." in done.stdout
    assert "\x1b" not in done.stdout  # colours are for terminals
