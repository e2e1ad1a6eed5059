"""Catalogues and frames that somebody made up, against every command, Python and the server.

Nothing may crash, hang, take memory without end, end in a traceback, send raw escape sequences to a terminal, print
what is not JSON, or give a number that is no probability.
"""

import json
import math
import resource
import shutil
import stat
from pathlib import Path
from typing import Any

from torture.case import BrokenError, Case
from torture.files import original_of
from torture.forging import FORGERIES, OF_LUDO, forge_file, forge_residual, forge_tree, forge_values, sums
from torture.processes import Ended, command, judged, strict_json
from torture.server import Server

SECONDS = 30.0
MEMORY = 2 << 30
LINE = 2000  # characters that a message may have


def forged(case: Case) -> None:
    """One or two forgeries, then a few questions."""
    kind, original = original_of(case)
    directory = case.directory / "db"
    shutil.copytree(original, directory)
    must_fail = False
    for _ in range(case.chosen((1, 1, 1, 2))):
        forgeries = [forge for forge in FORGERIES if kind != "cantstop" or forge not in OF_LUDO]
        forge = case.chosen(forgeries)
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, resource.RLIM_INFINITY))  # an endless table has no end here
        try:
            what = forge(case.rng, directory)
        except Exception as error:  # two forgeries may not fit together
            what = f"{forge.__name__} was not possible: {error!r}"
        else:
            must_fail |= forge in (forge_values, forge_residual) and kind != "policy"
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        case.log(what)
        case.count(forge.__name__.removeprefix("forge_").replace("_", " "))
        if forge in (forge_file, forge_tree):
            break  # what is no file, or a table without end, cannot be forged any further
    if case.rng.random() < 0.8 and stat.S_ISREG((directory / "SHA256SUMS").lstat().st_mode):
        sums(directory)
    for _ in range(3):
        question = case.chosen(_questions(kind, case))
        if question[0] == "python":
            _python(case)
        elif question[0] == "serve":
            _serve(case)
        else:
            _command(case, question, must_fail)


def _questions(kind: str, case: Case) -> list[list[str]]:
    board, roll = case.chosen(("0/0", "b/b", "0,3/0", "b/9", "8/1,2")), str(case.rng.randint(1, 6))
    common = [["info", "db"], ["info", "db"], ["verify", "db"], ["compress", "db", "new", "--bits", "9"]]
    if kind == "cantstop":
        return [*common, ["cantstop", "--db", "db", "--position", "-/-"], ["cantstop", "--db", "db"]]
    return [
        *common,
        ["win", "db", board],
        ["best-move", "db", board, roll],
        ["analyse", "db", board],
        ["verify", "db", "--deep"],
        ["verify", "db", "--deep", "--sample", "50"],
        ["compress", "db", "new", "--store", "policy"],
        ["match", "optimal", "random", "--pieces", "2", "--squares", "8", "--games", "3", "--db", "db"],
        ["match", "random", "optimal", "--regret", "--pieces", "2", "--squares", "8", "--games", "8", "--db", "db"],
        ["play", "optimal", "random", "--pieces", "2", "--squares", "8", "--seed", "1", "--db", "db"],
        ["python"],
        ["python"],
        ["serve"],
    ]


def _command(case: Case, question: list[str], must_fail: bool) -> None:
    shutil.rmtree(case.directory / "new", ignore_errors=True)
    json_wanted = case.rng.random() < 0.5
    ended = judged(command(case, [*question, *(["--json"] if json_wanted else [])], memory=MEMORY).end(SECONDS))
    case.count("commands")
    check_message(ended)
    if question[0] == "verify" and must_fail and "--sample" not in question:
        deep = "--deep" in question
        if ended.status == 0 and (deep or any("impossible" in step for step in case.steps)):
            raise BrokenError("other", f"{ended.what}: content with a database that cannot be")
    if ended.status == 0 and json_wanted and question[0] != "info":
        check_probabilities(ended.what, strict_json(ended.what, ended.out))


def check_message(ended: Ended) -> None:
    """Whether a refusal is short, and not for want of memory."""
    if len(ended.err) > LINE and ended.status:
        raise BrokenError("other", f"{ended.what}: a message of {len(ended.err):,} characters: {ended.err[:100]!r}")
    if "not enough memory" in ended.err:
        raise BrokenError("other", f"{ended.what}: needs more than {MEMORY:,} bytes for a small database")


def check_probabilities(what: str, answer: Any) -> None:
    """Whether every winning probability in an answer is one."""
    if isinstance(answer, list):
        for part in answer:
            check_probabilities(what, part)
    elif isinstance(answer, dict):
        for name, value in answer.items():
            if name in {"win", "first_player"} and isinstance(value, int | float) and not 0 <= value <= 1:
                raise BrokenError("wrong numbers", f"{what}: {name} is {value}")
            check_probabilities(what, value)


def _python(case: Case) -> None:
    """Every call of `Database`, in a fork."""

    def work() -> int:
        import numpy as np

        import madn

        try:
            with madn.open_database("db") as db:
                json.dumps(db.info(), allow_nan=False).encode()
                repr(db)
                board = madn.Board.start(db.rules)
                for ask in (
                    lambda: db.analyse(board).win,
                    lambda: db.win(board),
                    lambda: db.get_win(board),
                    lambda: [move.win for move in db.moves(board, 6)],
                    lambda: db.best_move(board, 6) and None,
                    lambda: db.win_many(np.arange(min(db.rules.positions, 20_000))).tolist(),
                ):
                    try:
                        found: Any = ask()
                    except madn.MadnError as error:
                        _check_error(error)
                        continue
                    for win in found if isinstance(found, list) else [found]:
                        if win is not None and not (math.isfinite(win) and 0 <= win <= 1):
                            raise AssertionError(f"a winning probability of {win}")
        except madn.MadnError as error:
            _check_error(error)
        return 0

    def told() -> int:
        try:
            return work()
        except AssertionError as error:
            print(ascii(str(error)))
            return 1

    ended = call_bounded(case, "every call of Database", told)
    case.count("Python calls", 7)
    if ended.status:
        kind = "wrong numbers" if "probability" in ended.out else "other"
        raise BrokenError(kind, f"Python: {ended.out.strip() or ended.err.strip()}")


def call_bounded(case: Case, what: str, work: Any) -> Ended:
    """Do some work in a fork with little memory."""
    from torture.processes import start

    case.log(what)
    return judged(start(case, what, work, memory=MEMORY).end(SECONDS))


def _check_error(error: Exception) -> None:
    text = str(error)
    if len(text) > LINE or "\n" in text or not text.isprintable():
        raise AssertionError(f"an error that is not one line of text: {text[:200]!r}")


def _serve(case: Case) -> None:
    """Serve it, and ask the server everything."""
    server = Server(case, ["db"], memory=MEMORY, damaged=True)
    case.count("servers")
    if server.port is None:
        check_message(judged(server.child.end()))
        return
    for path in (
        "/api/databases",
        "/api/position?board=0/0",
        "/api/position?board=b/b",
        "/api/move?board=0/0&roll=6",
        "/api/layout",
        "/api/openapi.json",
        "/api",
        "/api/health",
    ):
        status, answer = server.get(path)
        case.count("requests")
        if status == 200 and path.startswith("/api/position"):
            check_probabilities(path, answer)
    status, answer = server.get("/api/positions", body=json.dumps({"boards": ["0/0", "b/b"]}).encode())
    check_probabilities("/api/positions", answer)
    if case.rng.random() < 0.3 and Path(case.directory / "db").exists():
        shutil.rmtree(case.directory / "db")
        case.log("the database is removed while it is served")
        server.get("/api/position?board=0/3")
        server.get("/api/health")
    server.stop()
