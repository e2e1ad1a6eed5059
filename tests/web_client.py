"""What the tests of the HTTP interface share; the fixtures are in conftest.py."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from starlette.testclient import TestClient

from madn import Board, Rules

TWO = Rules(pieces=2)
SMALL = Rules(pieces=2, squares=12)


def asked(client: TestClient, path: str, **parameters: object) -> Any:
    """The answer of a question that must be answered."""
    answer = client.get(f"/api/{path}", params={name: str(value) for name, value in parameters.items()})
    assert answer.status_code == 200, answer.text
    return answer.json()


def expected(database: Any, board: Board) -> dict[str, Any]:
    """The answer by `Database.analyse`, the readable twin."""
    analysis = database.analyse(board)
    return {
        "board": str(board),
        "win": analysis.win,
        "winner": board.winner,
        "tries": board.tries,
        "exact": True,
        "source": "database" if board.winner is None else "solved",
        "error": database.error if board.winner is None else 0.0,
        "rolls": [
            {
                "roll": roll.roll,
                "win": roll.win,
                "moves": [
                    {
                        "move": str(found.move),
                        "from": found.move.start,
                        "to": found.move.end,
                        "captures": found.move.captures,
                        "win": found.win,
                        "loss": max(roll.win - found.win, 0.0),
                        "exact": True,
                        "board": str(found.board),
                    }
                    for found in roll.moves
                ],
            }
            for roll in analysis.rolls
        ],
    }


@contextlib.contextmanager
def running(*args: object) -> "Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]":
    """The server as a process, and what it printed."""
    command = [sys.executable, "-m", "madn", "serve", "--json", *map(str, args)]
    settled: Any = {}
    if os.name == "posix":
        settled["preexec_fn"] = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **settled) as process:
        try:
            assert process.stdout is not None
            text = ""
            for line in process.stdout:
                text += line
                if line == "}\n":
                    break
            yield process, json.loads(text)
        finally:
            process.kill()
