"""The command line: answers, JSON fields, help, the rules as options. Beside it: what it refuses, and Ctrl-C."""

import contextlib
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest
from command_line import Run
from hypothesis import given
from strategies import boards, rolls

import madn
from madn import Board, Rules
from madn.cli import commands, main, options, output
from madn.report import Fact, facts
from madn.rules import HOUSE_RULES

SMALL = Rules(pieces=2, squares=12)


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
def command_line(small_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """The words of a line of the contract, with a database and a directory put in; a server ends at once."""
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: None)
    monkeypatch.setattr("madn.report.facts", computed)
    record = tmp_path / "game.txt"
    record.write_text(GAME, encoding="utf-8")
    places = {"DB": small_path, "TMP": tmp_path, "GAME": record}
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


def test_verify_says_no_with_status_1(run: Run, small_path: Path, tmp_path: Path) -> None:
    shutil.copytree(small_path, tmp_path / "db")
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


def test_verify_deep_finds_the_residual(answer: Any, small_path: Path) -> None:
    found = answer("verify", small_path, "--deep", "--sample", 500, "--seed", 3)
    assert found["recomputed"] == 500
    assert 0 <= found["residual"] < 1e-12
    Board.parse(found["residual_board"], SMALL)
    assert answer("verify", small_path)["residual"] is None


def test_compress_to_best_moves_and_ask_them(run: Run, answer: Any, small_path: Path, tmp_path: Path) -> None:
    found = answer("compress", small_path, tmp_path / "best", "--store", "policy")
    assert found["bytes_after"] < found["bytes_before"]
    assert answer("info", tmp_path / "best")["bits_per_decision"] == found["bits_per_decision"]
    for board in ("3,7/0", "1,5/2,3"):
        for roll in range(1, 7):
            best, valued = (answer("best-move", db, board, roll) for db in (tmp_path / "best", small_path))
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


def test_compress_says_what_rounding_loses(answer: Any, run: Run, small_path: Path, tmp_path: Path) -> None:
    found = answer("compress", small_path, tmp_path / "eight", "--bits", 8)
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
    assert "regret needs exact values of every position 0/0 can lead to; `madn solve --pieces 4" in err


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
def test_the_database_answers_as_in_python(small_path: Path, board: Board, roll: int) -> None:
    with madn.open_database(small_path) as db:
        analysis = db.analyse(board)
        found = asked("win", small_path, board)
        assert (found["board"], found["win"], found["rules"]) == (str(board), db.win(board), asdict(SMALL))
        assert (found["exact"], found["source"], found["error"]) == (True, "database", db.error)
        found = asked("analyse", small_path, board)
        assert found["win"] == analysis.win
        listed = [[(m.move, m.win, m.board) for m in r.moves] for r in analysis.rolls]
        assert [texts(r["moves"]) for r in found["rolls"]] == [[text(*m) for m in moves] for moves in listed]
        if board.winner is None:
            best = asked("best-move", small_path, board, roll)
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


def test_a_finished_game_has_no_moves(run: Run, small_path: Path) -> None:
    assert run("moves", "40/b", 3, "--pieces", 1)[:2] == (0, "The game is over: there are no moves.\n")
    assert "wins 100.0000 % of the time" in run("analyse", small_path, "12,13/b")[1]


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
