"""What docs/insights.md says: as docs/results/insights.json has it, and as the program answers."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from madn import Advisor
from madn.cli import main

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "benchmarks"))

import insights  # noqa: E402

TEXT = (ROOT / "docs" / "insights.md").read_text(encoding="utf-8")
RESULTS = json.loads((ROOT / "docs" / "results" / "insights.json").read_text(encoding="utf-8"))
QUICK = 500_000  # positions that are solved in a second
COMMAND = re.compile(r"`madn ((?:win|best-move) [^`]+)`")


def test_the_document_has_the_tables_of_the_results() -> None:
    assert insights.written(TEXT, RESULTS) == TEXT


def test_what_players_lose_is_what_was_measured_elsewhere() -> None:
    assert RESULTS["skill"] == insights.skill()


def test_luck_adds_up_to_the_variance_of_the_result() -> None:
    """The squares of what rolls change have the mean p (1 - p): a martingale. The bound is four standard errors."""
    for game in (game for game in RESULTS["games"].values() if "luck" in game):
        assert game["luck"]["sum_of_squares"] == pytest.approx(game["start"] * (1 - game["start"]), rel=0.2)
        assert sum(game["luck"]["by_quarter"]) == pytest.approx(1)


def test_games_to_tell() -> None:
    """Of a player who wins 40 % of his games, 65 games show it: 2 standard deviations are 8 of 32.5 - 26."""
    assert insights.games_to_tell(0.1) == 65
    assert insights.games_to_tell(0.01) == 6763


@pytest.mark.parametrize(("board", "roll"), insights.SURPRISES)
def test_a_position_has_its_command_a_picture_and_the_values_of_the_results(board: str, roll: int) -> None:
    rows = [line for line in TEXT.splitlines() if f"`madn best-move {board} {roll}`" in line]
    row = next(line for line in rows if "<img " in line)
    moves = RESULTS["positions"][f"{board} {roll}"]["moves"]
    best, (instead, _) = next(iter(moves)), insights.SURPRISES[board, roll]
    assert max(moves, key=moves.__getitem__) == best
    assert moves[best] - moves[instead] > 0.03  # or it would not surprise
    for move in (best, instead):
        assert f"`{move}` {100 * moves[move]:.1f} %" in row
    (picture,) = re.findall(r'src="([^"]+)"', row)
    assert f"board {board}:" in (ROOT / "docs" / picture).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def advisor() -> Iterator[Advisor]:
    with Advisor(limit=QUICK) as found:
        yield found


def quick() -> list[tuple[str, int]]:
    """The positions that are solved at once."""
    from madn.board import Board
    from madn.parts import part_of

    found = []
    for board, roll in insights.SURPRISES:
        part = part_of(Board.parse(board).rules, *Board.parse(board).masks)
        if part is not None and part.positions <= QUICK:
            found.append((board, roll))
    return found


@pytest.mark.parametrize(("board", "roll"), quick())
def test_a_small_position_is_answered_as_the_results_have_it(board: str, roll: int, advisor: Advisor) -> None:
    found = insights.best_moves(advisor, board, roll)
    assert advisor.moves(board, roll)[0].exact
    assert found["moves"] == pytest.approx(RESULTS["positions"][f"{board} {roll}"]["moves"], abs=2**-15)
    assert list(found["moves"]) == list(RESULTS["positions"][f"{board} {roll}"]["moves"])


def test_every_command_of_the_document_can_be_typed(capsys: pytest.CaptureFixture[str]) -> None:
    commands = COMMAND.findall(TEXT)
    assert len(commands) >= len(insights.SURPRISES) + len(insights.BOARDS)
    small = {f"best-move {board} {roll}" for board, roll in quick()}
    for command in commands:
        if command in small:
            assert main(command.split()) == 0
            assert "about" not in capsys.readouterr().out
    assert small
