"""Proved bounds beside a plain solve: what they cost, how wide they are, and what the checker says.

    python benchmarks/proof.py 1 2 3 part > docs/results/proof.json

For each number of pieces: solve without and with --proved, each in a process of its own, check the proof of every
position, and give the bounds of the boards of Table 5.1. `part` is the part of the four-piece game that has the
smallest and the largest value of that table. Times are processor times, which other programs disturb less.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hardware import hardware

import madn

PART = "39,41,42,43/b"


def measured(*words: object) -> dict[str, Any]:
    """What a command prints as JSON, the processor time it takes, and the most memory it uses."""
    command = [sys.executable, "-m", "madn", *map(str, words), "--json"]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)}: status {process.returncode}")
        output.seek(0)
        answer = json.loads(output.read())
    used = {"processor_seconds": round(usage.ru_utime + usage.ru_stime, 2), "memory_bytes": usage.ru_maxrss << 10}
    return {"command": " ".join(["madn", *map(str, words)]), **used, "answer": answer}


def game(pieces: int, directory: Path) -> dict[str, Any]:
    """The figures for one game."""
    plain = measured("solve", "--pieces", pieces, "--out", directory / "plain")
    proved = measured("solve", "--pieces", pieces, "--proved", "--out", directory / "proved")
    checked = measured("verify", directory / "proved", "--proof")
    with madn.open_database(directory / "proved") as db, madn.open_database(directory / "plain") as other:
        found = proved["answer"]
        boards = {"start": str(madn.Board.start(db.rules)), "min": found["min_board"], "max": found["max_board"]}
        table = {name: {"board": board, "bounds": db.bounds(board)} for name, board in boards.items()}
        bits = {"plain": other.info()["bits_per_position"], "proved": db.info()["bits_per_position"]}
    names = ("ok", "positions", "failures", "width", "width_board", "decisions", "proved_best", "unending")
    checked["answer"] = {name: checked["answer"][name] for name in names}
    for run in (plain, proved):
        run["answer"] = {name: run["answer"][name] for name in ("tolerance", "representation", "sweeps", "residual")}
    proved["answer"] |= {"sweeps": [part["sweeps"] for part in found["proof"]], "width": found["width"]}
    runs = {"plain": plain, "proved": proved, "checked": checked}
    for run in runs.values():
        run["command"] = run["command"].replace(f"{directory}{os.sep}", "")
    return {"pieces": pieces, "table": table, "bits_per_position": bits, **runs}


def part(directory: Path) -> dict[str, Any]:
    """The figures for a part of the four-piece game."""
    proved = measured("solve", "--pieces", 4, "--for", PART, "--proved", "--out", directory / "part")
    checked = measured("verify", directory / "part", "--proof")
    with madn.open_database(directory / "part") as db:
        table = {board: db.bounds(board) for board in (proved["answer"][f"{end}_board"] for end in ("min", "max"))}
    for run in (proved, checked):
        run["answer"] = {name: run["answer"][name] for name in ("positions", "width", "width_board")}
        run["command"] = run["command"].replace(f"{directory}{os.sep}", "")
    return {"part": PART, "table": table, "proved": proved, "checked": checked}


def main() -> None:
    """Measure the games given as arguments."""
    games = []
    for wanted in sys.argv[1:] or ["1", "2"]:
        with tempfile.TemporaryDirectory() as directory:
            games.append(part(Path(directory)) if wanted == "part" else game(int(wanted), Path(directory)))
            print(f"{wanted}: done", file=sys.stderr)
    print(json.dumps({"hardware": hardware(), "games": games}, indent=1))


if __name__ == "__main__":
    main()
