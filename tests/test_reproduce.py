"""`madn reproduce`: how it judges, and how it shows what it found."""

import json
from collections.abc import Iterator

import pytest

from madn.cli import main
from madn.report import SUBJECTS, Fact, Paper, Progress, facts, ludo, published

PAPER = Paper("paper")
SHOWN = [
    Fact("paper", "a count", 3, 3, True),
    Fact("paper", "a | sum", 3, 4, False, "one was forgotten"),
    PAPER.measured("a win in %", 50.0, 50.9, (0.3, 0.0), 4, "1,000 games"),
    PAPER.measured("a loss in %", 50.0, 50.1, (0.3, 0.0), 4, "1,000 games"),
]


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [(50.0, "agrees"), (51.0, "agrees"), (49.0, "agrees"), (51.1, "undecided"), (52.0, "undecided"), (47.9, "differs")],
)
def test_what_was_measured_is_judged_by_standard_errors(ours: float, verdict: str) -> None:
    fact = PAPER.measured("wins", 50.0, ours, (0.3, 0.4), 2, "games")
    assert fact.z == pytest.approx((ours - 50) / 0.5)
    assert fact.verdict == verdict
    assert ("more games would decide" in fact.note) == (verdict == "undecided")


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def some(subject: str, full: bool, progress: Progress) -> Iterator[Fact]:
        for part in range(2):
            progress(0.1, f"part {part}")
            progress(0.9, f"part {part}")
        yield from SHOWN if subject == SUBJECTS[0] else []

    monkeypatch.setattr("madn.report.facts", some)


def printed(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["reproduce", *options]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


@pytest.mark.usefixtures("shown")
def test_people_see_the_verdict_and_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys).splitlines()
    assert lines[:3] == ["agrees     paper: a count", "           printed  3", "           ours     3"]
    assert "           one was forgotten" in lines
    assert "           ours     50.9, z = +3.00" in lines
    assert lines[-1] == "4 published figures: 2 agree, 1 differ, 1 undecided"
    assert max(map(len, lines)) < 100


@pytest.mark.usefixtures("shown")
def test_what_agrees_can_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "--only-differences")
    assert "a count" not in out
    assert "a | sum" in out
    assert out.endswith("4 published figures: 2 agree, 1 differ, 1 undecided\n")
    found = json.loads(printed(capsys, "--only-differences", "--json"))
    assert [(fact["verdict"], fact["z"]) for fact in found] == [("differs", None), ("undecided", 3.0)]


@pytest.mark.usefixtures("shown")
def test_a_table_in_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "--markdown").splitlines()
    assert lines[0].startswith("| verdict | source |")
    assert lines[3] == r"| differs | paper | a \| sum | 3 | 4 |  | one was forgotten |"
    assert lines[-1] == "4 published figures: 2 agree, 1 differ, 1 undecided"
    assert main(["reproduce", "--markdown", "--json"]) == 2


@pytest.mark.parametrize("subject", ["pig", "wubbel"])
def test_every_difference_is_explained(subject: str) -> None:
    found = list(facts(subject))
    assert any(not fact.agrees for fact in found)
    for fact in found:
        assert fact.agrees or fact.note, fact.what


def test_games_are_judged_and_say_how_far_they_are() -> None:
    """Table 5.2 with so few games that most of it cannot be decided."""
    seen: list[tuple[float, str]] = []
    table = published()["madn"]["table_5_2_percent"]
    found = list(ludo._table_5_2(table, 400, lambda fraction, text: seen.append((fraction, text))))
    assert len(found) == 12
    for fact in found:
        assert fact.z is not None
        assert fact.agrees == (abs(fact.z) <= 2) or (fact.agrees is None and 2 < abs(fact.z) <= 4)
        assert "400 games, standard error " in fact.note
    assert (1.0, "random - fpoc") in seen
