"""What the command line refuses: bad input, damaged databases, files that cannot be written. One line each."""

import shutil
from pathlib import Path

import pytest
from command_line import Run

from madn.cli import options

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
def test_bad_input_is_one_line_and_status_2(
    line: str, with_json: bool, run: Run, small_path: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("mine")
    places = {
        "DB": small_path,
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


def test_no_database_is_status_3(run: Run, tmp_path: Path) -> None:
    for command in (["info"], ["win", "0/0"], ["best-move", "0/0", 3], ["analyse", "0/0"]):
        status, out, err = run(command[0], tmp_path / "nothing", *command[1:])
        assert (status, out, err.count("\n")) == (3, "", 1)


def test_a_damaged_database_is_status_3(run: Run, small_path: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(small_path, broken)
    values = broken / "values-0000.madn"
    data = bytearray(values.read_bytes())
    for i in range(len(data)):
        data[i] ^= 1
    values.write_bytes(data)
    status, out, err = run("win", broken, "0/0", "--json")
    assert (status, out, err.count("\n")) == (3, "", 1)
    (broken / "catalogue.sqlite").write_bytes(b"noise")
    assert run("info", broken)[0] == 3


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
