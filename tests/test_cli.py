"""The command line: answers, JSON fields, one-line errors, exit statuses, Ctrl-C."""

import contextlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from strategies import boards, rolls

import madn
from madn import Board, Rules
from madn.cli import commands, main, options, output, progress
from madn.report import Fact, facts
from madn.rules import HOUSE_RULES
from madn.solving import SOLVING

SMALL = Rules(pieces=2, squares=12)
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line in this process: status, standard output, standard error."""

    def run(*args: object) -> tuple[int, str, str]:
        status = main([str(arg) for arg in args])
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def answer(run: Run) -> Callable[..., dict[str, Any]]:
    """Run with --json: the one object on standard output."""

    def answer(*args: object) -> Any:
        status, out, err = run(*args, "--json")
        assert status == 0, err
        found = json.loads(out)  # fails if there is anything else on standard output
        assert isinstance(found, list if args[0] == "reproduce" else dict)
        return found

    return answer


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of a small game."""
    directory = tmp_path_factory.mktemp("databases") / "small"
    assert main(["solve", "--pieces", "2", "--squares", "12", "--out", str(directory), "--json"]) == 0
    return directory


def process(*args: object, **settings: Any) -> "subprocess.Popen[str]":
    """Start the command line as a process of its own."""
    command = [sys.executable, "-m", "madn", *map(str, args)]
    if os.name == "posix":  # a shell's background job hands down an ignored SIGINT: give it back its meaning
        settings.setdefault("preexec_fn", lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **settings)


# answers

CONTRACT = {
    "solve --pieces 1": "positions components sweeps updates seconds threads residual start min max "
    "min_board max_board",
    "plan --pieces 3": "positions components largest_component memory_bytes disk_bytes",
    "info DB": "rules positions blocks bytes format values provenance",
    "win DB 0/0": "board win exact source error",
    "win 12,41,42,43/0,41,42,43": "board win exact source error",
    "best-move DB 0/0 3": "board roll move win moves exact source error",
    "best-move 3,17/0 4 --pieces 2": "board roll move win moves exact source error",
    "best-move 3,17/0 4 --pieces 2 --why": "board roll move win moves why exact source error",
    "analyse DB 0/0": "board win rolls exact source error",
    "analyse 12,41,42,43/0,41,42,43": "board win rolls exact source error",
    "verify DB --deep --sample 100": "ok blocks positions residual residual_board damaged",
    "compress DB TMP/new --bits 12": "bytes_before bytes_after bits_per_position max_error",
    "compress DB TMP/new --store policy": "bytes_before bytes_after bits_per_position max_error",
    "export DB TMP/t.parquet --sample 5": "db out rows bytes",
    "export-web TMP/site": "out files bytes games",
    "moves 0/0 3": "board roll moves",
    "rank 0/0": "board id profile offset",
    "unrank 0": "board id profile offset",
    "pig --target 20 --state 3,5,4 --duel optimal hold-5": "start states residual win roll hold action",
    "pig --target 20 --variant difference --state 3,5,4": "start states residual value roll hold action",
    "cantstop --sides 3 --shortest 1": "components positions first_player seconds",
    "cantstop --sides 2 --to-win 2 --shortest 2 --position -/- --roll 1112": "position",
    "players": "players features",
    "match fpoc random --games 2000": "rules first second board first_wins games standard_error",
    "match fpoc best --exact --pieces 1": "rules first second board exact as_second residual",
    "match fpoc optimal --regret --pieces 2 --games 50": "loss standard_error decisions games by_phase by_rule",
    "match --table --games 50 --pieces 1": "rules players games matches",
    "play fpoc random --pieces 1 --seed 1": "rules result plies seed record",
    "analyse-game GAME": "rules result start end moves first second",
    "pig --target 20 --table TMP/t.csv": "start states residual table rows",
    "pyramid --tiers 5 --table TMP/t.parquet": "states limit first second winner best_action table rows",
    "pyramid --tiers 5": "states limit first second winner best_action",
    "reproduce --only ludo": "source what published ours agrees note z verdict",
    "reproduce --only pig": "source what published ours agrees note z verdict",
    "reproduce --only wubbel": "source what published ours agrees note z verdict",
    "plot positions --out TMP/positions.svg": "name file shows",
    "serve DB --port 0": "address databases",
}


@cache
def computed(subject: str, full: bool, progress: Any = None) -> list[Fact]:
    """The facts of `madn reproduce`, which take long: computed once for both forms of the answer."""
    return list(facts(subject, full))


@pytest.fixture
def command_line(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """The words of a line of the contract, with a database and a directory put in; a server ends at once."""
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: None)
    monkeypatch.setattr("madn.report.facts", computed)
    record = tmp_path / "game.txt"
    record.write_text(GAME, encoding="utf-8")
    places = {"DB": small, "TMP": tmp_path, "GAME": record}
    return lambda line: re.sub("DB|TMP|GAME", lambda found: str(places[found[0]]), line).split()


GAME = "madn game\npieces: 2\nsquares: 40\nfirst: A\nsecond: B\nstart: 3,17/0\nresult: unfinished\n\n1 first 4 17-21\n"


def names_in(found: Any) -> set[str]:
    """The names in an answer; a list has those of its first object."""
    return set(found[0] if isinstance(found, list) else found)


def test_the_contract_below_is_for_every_command() -> None:
    assert {line.split()[0] for line in CONTRACT} == set(commands.commands)


@pytest.mark.parametrize("line", CONTRACT)
def test_every_command_has_the_fields_of_the_contract_documented_and_a_table_for_people(
    line: str, run: Run, answer: Any, command_line: Any
) -> None:
    answered = answer(*command_line(line))
    found = names_in(answered)
    if line.startswith("reproduce"):
        assert all(fact["agrees"] or fact["note"] for fact in answered), "a difference without an explanation"
    assert set(CONTRACT[line].split()) <= found
    document = Path(__file__).resolve().parent.parent / "docs" / "cli.md"
    name = line.split()[0]
    section = document.read_text(encoding="utf-8").split(f"\n## madn {name}\n")[1].split("\n## ")[0]
    for field in found:
        assert f"`{field}`" in section, f"docs/cli.md does not explain {field} of madn {name}"
    status, out, err = run(*command_line(line))
    assert status == 0
    assert err == "" or (name == "solve" and err.startswith("game"))  # its plan
    assert out.isascii()
    assert max(map(len, out.splitlines())) < 100


def test_solve_reports_what_it_found_and_stores_it(answer: Any, tmp_path: Path) -> None:
    found = answer("solve", "--pieces", 1, "--out", tmp_path / "one")
    assert found["positions"] == 1723
    assert found["components"] == 1
    assert [found["min"], found["max"], found["start"]] == pytest.approx([0.083158, 0.933474, 0.530736], abs=1e-6)
    assert found["residual"] <= found["tolerance"]
    assert found["sweeps"] == max(part["sweeps"] for part in found["sweeps_per_component"])
    assert found["out"] == str(tmp_path / "one")
    with madn.open_database(tmp_path / "one") as db:
        assert db.win(Board.start(db.rules)) == found["start"]
        for name in ("min", "max"):
            assert db.win(Board.parse(found[f"{name}_board"], db.rules)) == found[name]
        assert db.info()["provenance"]["residual"] == found["residual"]


def test_verify_says_no_with_status_1(run: Run, small: Path, tmp_path: Path) -> None:
    shutil.copytree(small, tmp_path / "db")
    status, out, err = run("verify", tmp_path / "db", "--deep")
    assert (status, err) == (0, "")
    assert "nothing" in out
    values = tmp_path / "db" / "values-0000.madn"
    data = bytearray(values.read_bytes())
    data[100] ^= 1
    values.write_bytes(data)
    status, out, err = run("verify", tmp_path / "db")
    assert (status, err) == (1, "")
    assert str(values) in out
    status, out, _ = run("verify", tmp_path / "db", "--json")
    assert status == 1
    assert json.loads(out)["ok"] is False
    assert len(json.loads(out)["damaged"]) >= 1
    assert run("verify", tmp_path / "nothing")[0] == 1


def test_verify_deep_finds_the_residual(answer: Any, small: Path) -> None:
    found = answer("verify", small, "--deep", "--sample", 500, "--seed", 3)
    assert found["recomputed"] == 500
    assert 0 <= found["residual"] < 1e-12
    Board.parse(found["residual_board"], SMALL)
    assert answer("verify", small)["residual"] is None


def test_compress_to_best_moves_and_ask_them(run: Run, answer: Any, small: Path, tmp_path: Path) -> None:
    found = answer("compress", small, tmp_path / "best", "--store", "policy")
    assert found["bytes_after"] < found["bytes_before"]
    assert answer("info", tmp_path / "best")["bits_per_decision"] == found["bits_per_decision"]
    for board in ("3,7/0", "1,5/2,3"):
        for roll in range(1, 7):
            best, valued = (answer("best-move", db, board, roll) for db in (tmp_path / "best", small))
            assert best["move"] == valued["move"]
            assert best["win"] is None
    assert answer("analyse", tmp_path / "best", "3,7/0")["win"] is None
    for line in (["best-move", tmp_path / "best", "3,7/0", 2], ["analyse", tmp_path / "best", "3,7/0"]):
        status, out, err = run(*line)
        assert (status, err) == (0, "")
        assert "None" not in out
    status, out, err = run("win", tmp_path / "best", "0/0")
    assert (status, out) == (3, "")
    assert err.endswith("this database stores best moves, not winning probabilities\n")


def test_compress_says_what_rounding_loses(answer: Any, run: Run, small: Path, tmp_path: Path) -> None:
    found = answer("compress", small, tmp_path / "eight", "--bits", 8)
    assert 0 < found["mean_loss"] < found["max_loss"] <= 2 * found["max_error"]
    Board.parse(found["max_loss_board"], SMALL)
    assert "mean loss" in run("info", tmp_path / "eight")[1]


@pytest.mark.parametrize(
    "words",
    [
        "verify DB --sample 5",
        "verify DB --deep --sample 0",
        "verify DB --seed -1",
        "compress DB TMP/new --bits 7",
        "compress DB TMP/new --bits 12 --store policy",
        "compress DB TMP/new --store wavelets",
        "compress DB TMP/new --level 23",
        "compress DB DB",
        "compress DB",
    ],
)
def test_wrong_words_for_verify_and_compress(words: str, run: Run, command_line: Any, tmp_path: Path) -> None:
    status, out, err = run(*command_line(words))
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert not (tmp_path / "new").exists()


def test_a_match_is_played_or_computed(answer: Any) -> None:
    played = answer("match", "fpoc", "random", "--pieces", 1, "--games", 5000, "--seed", 4)
    exact = answer("match", "fpoc", "random", "--pieces", 1, "--exact")
    assert abs(played["first_wins"] - exact["exact"]) < 4 * played["standard_error"]
    assert exact["exact"] == pytest.approx(0.530736, abs=1e-6)  # one piece leaves no choice
    assert exact["exact"] + exact["as_second"] == pytest.approx(1)
    table = answer("match", "--table", "--pieces", 1, "--exact")
    assert len(table["matches"]) == len(table["players"]) ** 2
    assert played["rules"] == exact["rules"] == table["rules"] == asdict(Rules(pieces=1))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("match chess random", "there is no player 'chess'; the players are"),
        ("match fpoc", "give two players, or --table"),
        ("match fpoc random --table", "give two players, or --table"),
        ("match fpoc random --exact --games 5", "--exact plays no games"),
        ("match optimal fpoc --db DB", "small holds 2 pieces, 12 squares, not 4 pieces, 40 squares"),
        ("match fpoc random --regret", "--regret needs a player A, optimal as B"),
        ("match optimal fpoc --regret --pieces 2", "--regret needs a player A, optimal as B"),
        ("match fpoc optimal --regret --exact", "neither --exact nor --table"),
        ("match fpoc optimal --regret --pieces 2 --games 3", "games must be 4 to 1000000000, not 3"),
        ("match TMP/none.rules fpoc", "none.rules: No such file"),
        ("match fpoc random --pieces 1 --board 40/0", "the game is over"),
        ("play chess", "there is no player 'chess'"),
        ("play --out TMP/nowhere/game.txt", "nowhere/game.txt cannot be written: No such file or directory"),
        ("analyse-game TMP/none.txt", "none.txt: No such file"),
        ("analyse-game GAME --db DB", "small holds 2 pieces, 12 squares, not 2 pieces, 40 squares"),
    ],
)
def test_bad_players_and_games_are_one_line(line: str, message: str, run: Run, command_line: Any) -> None:
    status, out, err = run(*command_line(line))
    assert (status, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_regret_needs_exact_values(run: Run) -> None:
    status, out, err = run("match", "fpoc", "optimal", "--regret")
    assert (status, out, err.count("\n")) == (3, "", 1)
    assert "regret needs exact values of all that 0/0 can lead to; `madn solve --pieces 4" in err


def test_a_game_of_four_pieces_is_too_large_for_an_exact_result(run: Run) -> None:
    status, out, err = run("match", "fpoc", "random", "--exact")
    assert (status, out) == (3, "")
    assert "up to 3 pieces" in err


def test_analyse_game_names_the_best_move_and_the_cost(answer: Any, command_line: Any) -> None:
    found = answer(*command_line("analyse-game GAME"))
    assert (found["moves"][0]["move"], found["moves"][0]["best"]) == ("17-21", "3-7")
    assert found["moves"][0]["cost"] == pytest.approx(0.660451 - 0.632538, abs=5e-5)
    assert found["first"]["errors"] == 1


def test_solve_without_out_stores_nothing(answer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert answer("solve", "--pieces", 1, "--squares", 8)["out"] is None
    assert not list(tmp_path.iterdir())


def test_solve_takes_the_method_the_threads_and_the_tolerance(answer: Any) -> None:
    game = "solve", "--pieces", 1, "--squares", 12
    best = answer(*game)
    other = answer(*game, "--method", "thesis", "--threads", 1, "--tolerance", "1e-9", "--memory", "1G")
    assert (other["method"], other["threads"], other["tolerance"]) == ("thesis", 1, 1e-9)
    assert other["start"] == pytest.approx(best["start"], abs=1e-7)


def test_the_plan_is_said_before_the_work_on_standard_error(run: Run) -> None:
    game = "solve", "--pieces", 1, "--squares", 8
    _, out, err = run(*game)
    assert err.startswith("game")
    assert out.startswith("start")
    assert json.loads(run(*game, "--json")[1])


def test_a_plan_that_does_not_fit_is_still_a_plan(answer: Any, run: Run) -> None:
    assert answer("plan", "--memory", "1M")["positions"] == 16_053_053_985
    status, out, err = run("solve", "--memory", "1M")
    assert (status, out) == (3, "")
    assert err.splitlines()[-1].startswith("madn: this solve needs ")


@given(board=boards(SMALL), roll=rolls)
def test_the_database_answers_as_in_python(small: Path, board: Board, roll: int) -> None:
    with madn.open_database(small) as db:
        analysis = db.analyse(board)
        found = asked("win", small, board)
        assert (found["board"], found["win"], found["rules"]) == (str(board), db.win(board), asdict(SMALL))
        assert (found["exact"], found["source"], found["error"]) == (True, "database", db.error)
        found = asked("analyse", small, board)
        assert found["win"] == analysis.win
        listed = [[(m.move, m.win, m.board) for m in r.moves] for r in analysis.rolls]
        assert [texts(r["moves"]) for r in found["rolls"]] == [[text(*m) for m in moves] for moves in listed]
        if board.winner is None:
            best = asked("best-move", small, board, roll)
            assert best["move"] == str(db.best_move(board, roll))
            assert best["win"] == analysis.rolls[roll - 1].win
            assert best["moves"] == found["rolls"][roll - 1]["moves"]


def asked(*args: object) -> Any:
    """As `answer`, for tests that hypothesis repeats."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main([*map(str, args), "--json"]) == 0
    return json.loads(out.getvalue())


def text(move: madn.Move, win: float | None, board: Board) -> tuple[str, float | None, str]:
    return str(move), win, str(board)


def texts(moves: list[dict[str, Any]]) -> list[tuple[str, float | None, str]]:
    return [(move["move"], move["win"], move["board"]) for move in moves]


@given(board=boards(), roll=rolls)
def test_moves_are_those_of_the_board(board: Board, roll: int) -> None:
    size = board.rules.options.split()
    moves = [{"move": str(m), "board": str(board.after(m, roll))} for m in board.legal_moves(roll)]
    assert asked("moves", board, roll, *size) == {"board": str(board), "roll": roll, "moves": moves}


@given(board=boards())
def test_rank_and_unrank_are_inverse(board: Board) -> None:
    size = board.rules.options.split()
    ranked = asked("rank", board, *size)
    assert ranked["board"] == str(board)
    assert asked("unrank", ranked["id"], *size) == ranked
    before = board.rules.profiles().index(tuple(ranked["profile"]))
    sizes = [board.rules.profile_size(*profile) for profile in board.rules.profiles()[:before]]
    assert ranked["id"] == sum(sizes) + ranked["offset"]


def test_a_finished_game_has_no_moves(run: Run, small: Path) -> None:
    assert run("moves", "40/b", 3, "--pieces", 1)[:2] == (0, "The game is over: there are no moves.\n")
    assert "wins 100.0000 % of the time" in run("analyse", small, "12,13/b")[1]


def test_the_version_says_how_it_was_built(run: Run) -> None:
    from madn.machine import openmp

    status, out, _ = run("--version")
    assert status == 0
    assert out.startswith(f"madn {madn.__version__}\n")
    assert ("OpenMP: yes" in out) == openmp()
    for word in ("threads:", "kernels:", "numpy"):
        assert word in out


def test_without_a_command_there_is_help(run: Run) -> None:
    status, out, err = run()
    assert (status, err) == (0, "")
    assert "\nSolve and store:\n" in out


def test_help_is_in_groups_and_whole(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = run("-h")[1]
    titles = re.findall(r"^(\S.*):$", out, re.MULTILINE)
    assert titles == ["Options", "Ask", "Play", "Solve and store", "Other games", "Research"]
    assert re.findall(r"^  ([a-z][a-z-]+) +[A-Z]", out, re.MULTILINE) == list(commands.commands)
    for line in out.splitlines()[1:]:
        assert len(line) <= 80
        assert not line.endswith("..."), "cut off"
    for name in commands.commands:
        assert run(name, "-h") == run(name, "--help")


def test_every_option_has_a_help_text() -> None:
    for command in commands.commands.values():
        assert command.help
        assert "Example: madn " in command.help
        for option in command.params:
            if isinstance(option, click.Option):
                assert option.help, f"madn {command.name}: {option.name}"


def test_starting_imports_nothing_heavy() -> None:
    code = "import sys, madn.cli; sys.exit(bool({'numpy', 'sqlite3', 'zstandard'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# bad input

BAD_INPUT = [
    "solve --pieces 0",
    "solve --pieces 9",
    "solve --pieces 7",
    "solve --pieces two",
    "solve --pieces 1 --squares 9",
    "solve --pieces 1 --squares 6",
    "solve --pieces 1 --squares 42",
    "solve --pieces 1 --tolerance 0",
    "solve --pieces 1 --tolerance -1e-6",
    "solve --pieces 1 --tolerance nan",
    "solve --pieces 1 --tolerance inf",
    "solve --pieces 1 --tolerance small",
    "solve --pieces 1 --method magic",
    "solve --pieces 1 --threads 0",
    "solve --pieces 1 --threads -2",
    "solve --pieces 1 --memory much",
    "solve --pieces 1 --memory -1G",
    "solve --pieces 1 --memory 0",
    "solve --pieces 1 --out FILE",
    "solve --pieces 1 --out FILE/db",
    "solve --pieces 1 --out NOWHERE/db",
    "solve --pieces 1 --out FULL",
    "solve --pieces 1 --out ''",
    "plan --pieces 7",
    "plan --tolerance 0",
    "moves 0/0",
    "moves 0/0 0",
    "moves 0/0 7",
    "moves 0/0 -1",
    "moves 0/0 1.5",
    "moves 0/0 x",
    "moves 0/0 3 --pieces 0",
    "moves 0/0 3 --squares 11",
    "moves 0 3",
    "moves 0/0/0 3",
    "moves 5,5/0 3",
    "moves 0/20 3",
    "moves 44/0 3",
    "moves 3,2/0 3",
    "moves '' 3",
    "moves 1,2,3,4,5/b 3",
    "moves 40,41,42,43/40,41,42,43 3",
    "rank 0/x",
    "rank",
    "unrank 16053053985",
    "unrank -1",
    "unrank x",
    "win DB 30/0",
    "win DB 0,1,2/0",
    "win DB",
    "best-move DB 0/0 7",
    "best-move DB 0/0 4 --chosen 0-4",
    "best-move DB 0/0 4 --why --chosen 1-2",
    "best-move DB 0/0 4 --why --language fr",
    "best-move DB 12,13/0 3",
    "analyse DB z",
    "pig --target 0",
    "pig --target -5",
    "pig --target 1",
    "pig --target 1001",
    "pig --target two",
    "pig --faces 1",
    "pig --losing-face 0",
    "pig --losing-face 7",
    "pig --faces 4 --losing-face 5",
    "pig --variant magic",
    "pig --threads 0",
    "pig --state 200,0,0",
    "pig --state 250,0,0",
    "pig --state 0,200,0",
    "pig --state -1,0,0",
    "pig --state 190,0,16",
    "pig --variant exact --state 190,0,11",
    "pig --state 1,2",
    "pig --state 1,2,x",
    "pig --state ''",
    "pig --duel optimal magic",
    "pig --duel best best",
    "pyramid",
    "pyramid --tiers 1",
    "pyramid --tiers five",
    "pyramid --tiers 5 --state 1,1",
    "pyramid --tiers 5 --state 1,1,x,1,0",
    "pyramid --tiers 5 --state 0,0,0,0,0",
    "pyramid --tiers 5 --state 0,0,0,0,2",
    "pyramid --tiers 5 --threads 0",
    "pyramid --tiers 5 --tree --depth 0",
    "pyramid --tiers 5 --svg NOWHERE/tree.svg",
    "frobnicate",
    "--frobnicate",
    "moves 0/0 3 --frobnicate",
]


@pytest.mark.parametrize("with_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize("line", BAD_INPUT)
def test_bad_input_is_one_line_and_status_2(line: str, with_json: bool, run: Run, small: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("mine")
    places = {
        "DB": small,
        "FILE": tmp_path / "file",
        "NOWHERE": tmp_path / "nowhere",
        "FULL": tmp_path / "full",
    }
    args = [word.strip("'") for word in line.split()]
    for name, place in places.items():
        args = [arg.replace(name, str(place)) for arg in args]
    status, out, err = run(*args, *["--json"][: with_json and line.split()[0].isalpha()])
    assert (status, out) == (2, "")
    assert err.startswith("madn: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert {path.name for path in tmp_path.iterdir()} == {"file", "full"}
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("moves 44/0 3", "own side: there is no square 44, only 0 to 43"),
        ("moves 0/0 7", "'ROLL': 7"),
        ("solve --pieces 9", "pieces must be 1 to 6, not 9"),
        ("solve --squares 9", "squares must be an even number from 8 to 40, not 9"),
        ("solve --tolerance nan", "tolerance"),
        ("solve --memory much", "'--memory': 'much'"),
        ("unrank 16053053985", "0 to 16053053984"),
        ("rank", "BOARD"),
        ("pig --target -5", "target must be 2 to 1000, not -5"),
        ("pig --losing-face 7", "losing face must be 1 to 6, not 7"),
        ("pig --state 250,0,0", "state 250,0,0: own score must be 0 to 199, not 250"),
    ],
)
def test_the_line_says_what_and_where(line: str, words: str, run: Run) -> None:
    assert words in run(*line.split())[2]


def test_a_text_with_line_breaks_stays_on_one_line(run: Run) -> None:
    assert run("moves", "0/\n0\r\n", 3)[2].count("\n") == 1


# damaged data


def test_no_database_is_status_3(run: Run, tmp_path: Path) -> None:
    for command in (["info"], ["win", "0/0"], ["best-move", "0/0", 3], ["analyse", "0/0"]):
        status, out, err = run(command[0], tmp_path / "nothing", *command[1:])
        assert (status, out, err.count("\n")) == (3, "", 1)


def test_a_damaged_database_is_status_3(run: Run, small: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(small, broken)
    values = broken / "values-0000.madn"
    data = bytearray(values.read_bytes())
    for i in range(len(data)):
        data[i] ^= 1
    values.write_bytes(data)
    status, out, err = run("win", broken, "0/0", "--json")
    assert (status, out, err.count("\n")) == (3, "", 1)
    (broken / "catalogue.sqlite").write_bytes(b"noise")
    assert run("info", broken)[0] == 3


def test_a_standard_output_that_cannot_be_written_is_status_3() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "madn", "rank", "0/0"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1


# interruption and progress


def test_ctrl_c_before_the_command_begins(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: object, **settings: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "main", interrupted)
    assert run("players") == (130, "", "madn: interrupted\n")


SWALLOWED = """
import os, signal, sys, time, weakref
signal.signal(signal.SIGINT, signal.default_int_handler)  # the tests may run in the background, where it is ignored
from madn import __main__ as program
from madn import cli

class Thing:
    def __del__(self):
        pass


def work():
    things = weakref.WeakValueDictionary()
    thing = things["it"] = Thing()
    calls = []
    sys.setprofile(lambda frame, event, _: event == "call" and frame.f_code.co_name == sys.argv[1]
        and not calls and (calls.append(1), os.kill(os.getpid(), signal.SIGINT)))
    del thing
    sys.setprofile(None)
    time.sleep(5)
    return 0

cli.main = work
sys.exit(program.run())
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
@pytest.mark.parametrize("function", ["remove", "__del__"])  # the callback of a weak reference, and a finalizer
def test_ctrl_c_is_not_lost_where_python_swallows_it(function: str) -> None:
    command = [sys.executable, "-c", SWALLOWED, function]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


MISUNDERSTOOD = """
import os, signal, sys, numpy
signal.signal(signal.SIGINT, signal.default_int_handler)
from madn import __main__ as program
from madn import cli


def work():
    calls = []
    sys.setprofile(lambda frame, event, _: event == "call" and frame.f_code.co_name == "_promote_fields"
        and not calls and (calls.append(1), os.kill(os.getpid(), signal.SIGINT)))
    things = numpy.zeros(3, "i4,i4")
    print(calls or "nothing", things == things[:, None].astype("i8,i4"))
    return 0

cli.main = work
sys.exit(program.run())
"""


def test_ctrl_c_that_a_library_takes_for_an_error_of_its_own() -> None:
    """numpy compares structured arrays with the help of Python, and says TypeError if that is interrupted."""
    done = subprocess.run(
        [sys.executable, "-c", MISUNDERSTOOD], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


LOCKED = """
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from madn import __main__ as program
from madn import cli


def work():
    condition, calls = threading.Condition(), []
    sys.setprofile(lambda frame, event, _: event == "return" and frame.f_code.co_name == "__enter__"
        and not calls and (calls.append(1), os.kill(os.getpid(), signal.SIGINT)))
    try:
        with condition:
            sys.setprofile(None)
        time.sleep(5)
    except KeyboardInterrupt:
        free = []
        other = threading.Thread(target=lambda: free.append(condition.acquire(timeout=1)))
        other.start()
        other.join()
        print(free, flush=True)  # the end of the process is sudden
        if sys.argv[1] == "waiting":
            os.kill(os.getpid(), signal.SIGINT)
            with condition:
                condition.wait()
        raise
    return 0

cli.main = work
sys.exit(program.run())
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
@pytest.mark.parametrize("then", ["ends", "waiting"])
def test_ctrl_c_leaves_no_lock_taken_and_ends_a_process_that_waits(then: str) -> None:
    done = subprocess.run([sys.executable, "-c", LOCKED, then], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "[True]\n", "")


@pytest.mark.parametrize("where", ["madn.solving.carry_out", "madn.solving.write_database"])
def test_ctrl_c_is_status_130_and_leaves_nothing(
    where: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*args: object, **settings: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(where, interrupted)
    status, out, err = run("solve", "--pieces", 1, "--out", tmp_path / "db", "--json")
    assert (status, out) == (130, "")
    assert err.splitlines()[-1] == "madn: interrupted"
    assert not list(tmp_path.iterdir())


def test_ctrl_c_while_blocks_are_written_keeps_the_old_database(
    run: Run, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(small, tmp_path / "db")
    before = {path.name: path.read_bytes() for path in (tmp_path / "db").iterdir()}

    def interrupted(bar: progress.ProgressBar, fraction: float, text: str = "") -> None:
        if fraction > SOLVING:  # it writes
            raise KeyboardInterrupt

    monkeypatch.setattr(progress.ProgressBar, "__call__", interrupted)
    assert run("solve", "--pieces", 1, "--out", tmp_path / "db")[0] == 130
    assert [path.name for path in tmp_path.iterdir()] == ["db"]
    assert {path.name: path.read_bytes() for path in (tmp_path / "db").iterdir()} == before


def heed_ctrl_c() -> None:
    """A shell that starts the tests in the background has them ignore Ctrl-C, and their children too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


INTERRUPTED_IMPORT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from madn import __main__ as program

class Finder:
    left = int(sys.argv.pop(1))
    def find_spec(self, *name):
        Finder.left -= 1
        if Finder.left == 0:
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Finder())
sys.exit(program.run())
"""


def test_ctrl_c_while_modules_are_imported_is_silent(small: Path) -> None:
    """Whichever module it is: click and the commands, or numpy and the kernels when the command runs."""

    def stopped(before: int) -> tuple[int, str, str]:
        command = [sys.executable, "-c", INTERRUPTED_IMPORT, str(before), "win", str(small), "0/0"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    assert stopped(100_000)[0] == 0
    assert {before: stopped(before) for before in range(1, 300, 13)} == dict.fromkeys(range(1, 300, 13), (130, "", ""))


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
@pytest.mark.parametrize("method", ["tiles", "thesis"])
def test_ctrl_c_ends_a_long_solve(method: str, tmp_path: Path) -> None:
    """How soon it is heard: `test_a_pass_is_cut_into_short_slices`."""
    game = ("--pieces", 3, "--squares", 30, "--tolerance", "1e-12", "--method", method)
    with process("solve", *game, "--out", tmp_path / "db", preexec_fn=heed_ctrl_c) as solving:
        try:
            assert solving.stderr is not None
            assert solving.stderr.readline().startswith("game")  # the plan: the work begins
            time.sleep(0.5)
            solving.send_signal(signal.SIGINT)
            out, err = solving.communicate(timeout=60)
        finally:
            solving.kill()
    assert (solving.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "madn: interrupted"
    assert not list(tmp_path.iterdir())


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
    line: str, status: int, small: Path, tmp_path: Path
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    args = [word.replace("DB", str(small)).replace("TMP", str(tmp_path)) for word in line.split()]
    for both in (False, True):  # as in `madn ... | head` and `madn ... 2>&1 | head`
        command = [sys.executable, "-m", "madn", *args]
        err = writing if both else subprocess.PIPE
        done = subprocess.run(command, stdout=writing, stderr=err, text=True, check=False)
        assert done.returncode == status
        assert both or status == 2 or done.stderr == "" or (args[0] == "solve" and done.stderr.startswith("game"))
    os.close(writing)
    assert {path.name for path in tmp_path.iterdir()} == {Path(word).name for word in args if str(tmp_path) in word}


# files that cannot be written

NOT_WRITABLE = [
    ("TMP/nowhere/FILE", "No such file or directory"),
    ("TMP/file/FILE", "Not a directory"),
    ("TMP/directory.ENDING", "Is a directory"),
    ("/proc/FILE", "No such file or directory"),
]
WRITERS = {
    "plot ratios --out": "svg",
    "pyramid --tiers 5 --tree --svg": "svg",
    "play fpoc random --pieces 1 --out": "txt",
    "cantstop --checkpoint": "state",
}


@pytest.mark.parametrize(("place", "reason"), NOT_WRITABLE)
@pytest.mark.parametrize("line", WRITERS)
def test_a_file_that_cannot_be_written_is_refused_before_the_work(
    line: str, place: str, reason: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if place.startswith("/proc") and not Path("/proc/self").exists():
        pytest.skip("there is no /proc")

    def work(*args: object, **settings: object) -> None:
        pytest.fail("the work began")

    for name in ("plots.draw", "games.pyramid.solve", "players.find_player", "games.cantstop.solve"):
        monkeypatch.setattr(f"madn.{name}", work)
    (tmp_path / "file").write_text("mine")
    (tmp_path / f"directory.{WRITERS[line]}").mkdir()
    path = place.replace("TMP", str(tmp_path)).replace("FILE", f"new.{WRITERS[line]}")
    path = path.replace("ENDING", WRITERS[line])
    before = sorted(tmp_path.rglob("*"))
    status, out, err = run(*line.split(), path)
    assert (status, out) == (2, "")
    assert f"'{line.split()[-1]}': {path} cannot be written: {reason} (see madn " in err
    assert err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_checking_a_file_leaves_no_trace(tmp_path: Path) -> None:
    old, link = tmp_path / "old.svg", tmp_path / "link.svg"
    old.write_text("mine")
    link.symlink_to(tmp_path / "new.svg")
    for path in (old, link, tmp_path / "other.svg"):
        options.check_output_file(path, "--out", ".svg")
    assert old.read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"old.svg", "link.svg"}
    assert link.is_symlink()


def test_a_picture_has_the_ending_of_its_format(run: Run, tmp_path: Path) -> None:
    for line in ("pyramid --tiers 4 --svg", "plot positions --out"):
        status, out, err = run(*line.split(), tmp_path / "tree.jpg")
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert "tree.jpg does not end in" in err
    assert run("pyramid", "--tiers", 4, "--svg", tmp_path / "tree.png")[0] == 2
    assert not list(tmp_path.iterdir())


# the rules


def test_every_field_of_the_rules_is_an_option_and_reaches_the_command() -> None:
    @click.command()
    @options.rules_options
    @output.json_option
    def show(rules: Rules, as_json: bool) -> None:
        click.echo(repr(rules))

    assert [param.name for param in show.params] == [*(field.name for field in fields(Rules)), "house", "as_json"]
    games = [Rules(3, 12), Rules.house(3, 12), *(Rules(3, 12, **{rule: True}) for rule in HOUSE_RULES)]
    for rules in games:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            show.main(rules.options.split(), standalone_mode=False)
        assert out.getvalue() == f"{rules!r}\n"


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


# how numbers are written and read


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
