"""What the command line writes: progress, numbers, and to readers that go away."""

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from command_line import Run

from madn.cli import commands, options, output, progress


class Terminal:
    """A standard error that says it is a terminal."""

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass


def test_a_terminal_has_a_progress_bar(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    monkeypatch.setattr("sys.stderr", terminal)
    with progress.ProgressBar("solving") as bar:
        for done in range(11):
            bar(done / 10, "part")
    drawn = terminal.text.split("\r")
    assert drawn[1] == "solving [------------------------]   0 %  starting  part"
    assert drawn[6].startswith("solving [############------------]  50 %")
    assert drawn[6].endswith("left  part")
    assert drawn[-2].strip() == ""  # wiped


def test_a_pipe_has_none(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    assert "%" not in run("solve", "--pieces", 1)[2]


def test_a_log_has_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    clock = iter(range(0, 1000, 25))
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    with progress.ProgressBar("solving") as bar:
        for done in range(2, 9):
            bar(done / 10, "part")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2  # at 75 and at 150 of 175 seconds
    assert lines[0] == "solving [#########---------------]  40 %  3 min 45 s left  part"


def test_the_estimate_is_the_time_so_far_in_proportion() -> None:
    assert "30 s left" in progress.progress_line("solving", 0.25, 10.0, "")
    assert "0.00 s left" in progress.progress_line("solving", 1.0, 10.0, "")
    assert "20 s left" in progress.progress_line("solving", 0.6, 10.0, "", 0.4)
    assert "starting" in progress.progress_line("solving", 0.4, 10.0, "", 0.4)
    assert len(progress.progress_line("solving", 0.5, 1e5, "x" * 200)) < 80


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.0 KiB"), (3 << 30, "3.0 GiB"), (5 << 50, "5120.0 TiB")],
)
def test_sizes(count: int, text: str) -> None:
    assert output.size(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.344, "0.34 s"),
        (9.999, "10 s"),
        (59.7, "1 min 00 s"),
        (185, "3 min 05 s"),
        (3599.6, "1 h 00 min"),
        (7650, "2 h 07 min"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert output.duration(seconds) == text


@pytest.mark.parametrize(
    ("text", "amount"),
    [("20G", 20 << 30), ("512m", 512 << 20), ("1.5GiB", 3 << 29), ("1000", 1000), ("2TB", 2 << 40)],
)
def test_amounts_of_memory(text: str, amount: int) -> None:
    context = click.Context(commands)
    assert options.memory_bytes(context, click.Option(["--memory"]), text) == amount


def test_a_standard_output_that_cannot_be_written_is_status_3() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "madn", "rank", "0/0"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="closes a POSIX pipe")
@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("--help", 0),
        ("--version", 0),
        ("analyse --help", 0),
        ("analyse DB 0/0", 0),
        ("verify DB", 0),
        ("verify DB/nothing", 1),
        ("solve --pieces 1 --out TMP/one", 0),
        ("play fpoc random --pieces 1 --seed 1 --out TMP/game.txt", 0),
        ("moves 0/0 7", 2),
    ],
)
def test_a_reader_that_goes_away_changes_nothing_but_what_is_read(
    line: str, status: int, small_path: Path, tmp_path: Path
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    args = [word.replace("DB", str(small_path)).replace("TMP", str(tmp_path)) for word in line.split()]
    for both in (False, True):  # as in `madn ... | head` and `madn ... 2>&1 | head`
        command = [sys.executable, "-m", "madn", *args]
        err = writing if both else subprocess.PIPE
        done = subprocess.run(command, stdout=writing, stderr=err, text=True, check=False)
        assert done.returncode == status
        assert both or status == 2 or done.stderr == "" or (args[0] == "solve" and done.stderr.startswith("game"))
    os.close(writing)
    assert {path.name for path in tmp_path.iterdir()} == {Path(word).name for word in args if str(tmp_path) in word}
