"""Pictures: each can be drawn, is described, and is the same bytes every time."""

from pathlib import Path

import pytest
from matplotlib.text import Text

from madn.cli import main
from madn.plots import FROM_A_DATABASE, PICTURES, draw
from madn.plots.ludo import census_counts
from madn.plots.style import SMALLEST, WIDTH

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_can_be_drawn_and_stays_the_same(name: str, tmp_path: Path) -> None:
    for suffix in ("svg", "png"):  # in one test: what a picture shows is computed once for a process
        first, second = tmp_path / f"first.{suffix}", tmp_path / f"second.{suffix}"
        assert main(["plot", name, "--out", str(first)]) == 0
        assert main(["plot", name, "--out", str(second)]) == 0
        assert first.read_bytes() == second.read_bytes()
        assert len(first.read_bytes()) > 1000


@pytest.mark.parametrize("name", ["cantstop-stop-3-3", "cantstop-stop-4-1", "positions", "pyramid", "pig"])
def test_a_picture_can_be_read_in_a_column_of_text(name: str) -> None:
    """The figures themselves, not files: as wide as the style says, and no letter smaller."""
    figure = draw(name)
    assert figure.get_size_inches()[0] <= WIDTH
    texts = [text for text in figure.findobj(Text) if isinstance(text, Text) and text.get_text()]
    assert texts
    assert min(float(text.get_fontsize()) for text in texts) >= SMALLEST


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_is_in_the_documents_with_a_caption(name: str) -> None:
    page = (ROOT / "docs" / "plots.md").read_text(encoding="utf-8")
    assert f"| `{name}` | {PICTURES[name][1]} |" in page
    picture = page.split(f"](plots/{name}.svg)", 1)[1].lstrip()
    assert picture.startswith("*"), f"no caption below {name}"
    assert (ROOT / "docs" / "plots" / f"{name}.svg").stat().st_size < 600_000


@pytest.mark.parametrize("out", ["picture.jpg", "nowhere/picture.svg"])
def test_a_file_that_cannot_be_written_is_refused(
    out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plot", "positions", "--out", out]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A game with three pieces, as values, and rounded with a census."""
    place = tmp_path_factory.mktemp("plots")
    solve = ["solve", "--pieces", "3", "--squares", "8", "--out"]
    assert main([*solve, str(place / "values")]) == 0
    more = ["--bits", "16", "--census", "--scratch", str(place / "scratch")]
    assert main([*solve, str(place / "census"), *more]) == 0
    return place / "values", place / "census"


@pytest.mark.parametrize("name", FROM_A_DATABASE)
def test_a_picture_shows_the_game_of_a_database(name: str, databases: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "picture.svg"
    assert main(["plot", name, "--db", str(databases[0]), "--out", str(out)]) == 0
    assert "3 pieces a side on 8 squares" in out.read_text(encoding="utf-8")


def test_a_histogram_is_the_same_from_the_census_and_from_all_values(
    databases: tuple[Path, Path], tmp_path: Path
) -> None:
    pictures = []
    for database in databases:
        pictures.append(tmp_path / f"{database.name}.svg")
        assert main(["plot", "values", "--db", str(database), "--out", str(pictures[-1])]) == 0
    assert pictures[0].read_bytes() == pictures[1].read_bytes()


@pytest.mark.parametrize(
    "written",
    [None, {}, [1], {"histogram": [1] * 99}, {"histogram": [0] * 100}, {"histogram": [-1] * 100},
     {"histogram": ["1"] * 100}],
)  # fmt: skip
def test_a_census_that_makes_no_sense_is_not_drawn(written: object) -> None:
    assert census_counts(written) is None
    assert census_counts({"histogram": [1] * 100}) == [1] * 100


def test_a_picture_that_has_nothing_to_do_with_a_database_refuses_one(
    databases: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plot", "pig", "--db", str(databases[0])]) == 2
    assert "pig is not drawn from a database" in capsys.readouterr().err
