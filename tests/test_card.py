"""The points card: the page to print has the points that the player plays by, and they choose what the card says."""

import json
import os

import card_page
import pytest

from madn import Board, Move, Rules
from madn.evaluate import evaluate
from madn.features import FEATURES
from madn.match import regret
from madn.players import PLAYERS, RulePlayer, parse_player, points

CARD = PLAYERS["card"]
RESULTS = card_page.ROOT / "docs" / "results" / "card.json"


@pytest.mark.parametrize("name", card_page.PAGES)
def test_the_page_to_print_has_the_points_of_the_player(name: str) -> None:
    path = card_page.ROOT / "docs" / "card" / name
    if os.environ.get("MADN_UPDATE_DOCS"):
        path.write_text(card_page.page(name), encoding="utf-8")
    assert path.read_text(encoding="utf-8") == card_page.page(name)


def test_the_card_has_at_most_eight_lines_and_the_handful_six_rules() -> None:
    assert isinstance(CARD, RulePlayer)
    assert len(CARD.rules) <= 8
    assert len(CARD.steps) == 1  # all points are added up
    assert len(card_page.rules_of("handful")) <= 6
    assert set(card_page.LINES) == {rule.feature for rule in CARD.rules}
    assert parse_player(str(CARD)) == CARD


@pytest.mark.parametrize(
    ("board", "move", "feature", "value"),
    [
        ("12,20/34,39", "12x14", "spoils", 5),  # it was in its last quarter
        ("12,20/2,39", "20x22", "spoils", 2),
        # 25 is 2 in front of 23, 29 is 6 in front and out of reach: the 6 of the other side must bring a piece out
        ("25/3,18", "25-29", "safety", 12),  # 2 for the second stretch, twice without a 6, three times with a box
        ("25,26,27,28/3,18", "25-29", "safety", 4),
        ("26,27,28,35/13,18", "35-41", "safety", 3),  # with a 6; only 33 can capture on 35, in the third stretch
        ("5/30,33", "5-8", "targets", 2),
        ("5/30,33", "5-11", "targets", 3),  # with a 6; only 13 is in front
        ("25/3,11,12,13", "25-29", "pursuers", 3),  # 23 is 6 behind 29
        ("25/3,11,12,13", "25-30", "pursuers", 1),
        ("2/0,25,36", "2-4", "quarry", 2),  # 5 and 16, but not 20
        ("2/0,25,36", "2-4", "between", 4),
        ("25,33,34,35/0,3,6", "25-28", "between", 3),  # 20, 23 and 26; all own pieces are out
        ("25,33,34/0,3,6", "25-28", "between", 6),
        ("39/0,3", "39-41", "between", 0),
        ("16,42/30,41,42,43", "16-20", "stay", 1),  # 10 has yet to pass it
        ("16,42/30,32,42,43", "16-20", "stay", 0),  # two pieces are left
        ("8,42/30,41,42,43", "8-10", "stay", 0),
        ("22,42/5,41,42,43", "22-26", "stay", 1),  # lands in front of 25, the last piece
        ("22,42/5,41,42,43", "22-24", "stay", 0),
        ("22,40/5,41,42,43", "40-42", "stay", 1),
        ("22,23,24,40/5,41,42,43", "40-42", "stay", 0),
        ("0,39,42,43/5", "0-3", "square", -6),
        ("5,39,42,43/5", "39-41", "square", 4),
        ("15,30,42,43/5", "15-21", "square", -7),
        ("15,30,42,43/5,6,7,8", "15-21", "square", 0),
        ("13,30,42,43/5", "13-15", "square", 1),
    ],
)
def test_features_of_the_card(board: str, move: str, feature: str, value: int) -> None:
    assert FEATURES[feature].of(Board.parse(board), Move.parse(move)) == value


def test_points_are_added_up_and_the_most_wins() -> None:
    assert isinstance(CARD, RulePlayer)
    board = Board.parse("12,25/3,34")
    scores = {str(move): points(CARD.rules, board, move) for move in board.legal_moves(2)}
    assert CARD.choices(board, 2) == (Move(12, 14, True),)
    assert scores["12x14"] == max(scores.values())


def test_the_card_is_close_to_best_play_with_two_pieces() -> None:
    start = Board.start(Rules(pieces=2))
    exact = evaluate(start.rules, CARD, PLAYERS["optimal"], tolerance=1e-7)
    loss = 0.5 - (exact.first_wins(start) + 1 - exact.second_wins(start)) / 2
    found = regret(CARD, games=20_000, seed=1)
    assert abs(found.loss - loss) < 4 * found.standard_error
    assert loss < 0.015


def test_the_document_has_the_measured_figures() -> None:
    text = (card_page.ROOT / "docs" / "card.md").read_text(encoding="utf-8")
    for one in json.loads(RESULTS.read_text(encoding="utf-8"))["players"]:
        row = next(line for line in text.splitlines() if line.startswith(f"| `{one['player']}`"))
        assert f"{100 * one['loss']:.2f}" in row
