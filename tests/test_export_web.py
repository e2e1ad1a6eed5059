"""`madn export-web`: what it writes, what it replaces, what it refuses. tests/test_static.py runs it in a browser."""

import hashlib
import json
import os
import re
from importlib import resources
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import zstandard

import madn
from madn import Board, Rules
from madn.advisor import estimates_of
from madn.cli import main
from madn.errors import CorruptBlockError, MadnError, OutputError
from madn.rules import HOUSE_RULES
from madn.store.compress import compress_database
from madn.web import export
from madn.web.export import export_page
from madn.web.games import OFFERED

ALL = [
    Rules(pieces, **dict(zip(HOUSE_RULES, house, strict=True)))
    for pieces, house in product(OFFERED, product((False, True), repeat=len(HOUSE_RULES)))
]
MODELS = [pieces for pieces in OFFERED if estimates_of(Rules(pieces)) is not None]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("databases") / "small"
    madn.solve(Rules(2, 8), path)
    return path


def files_of(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_all_that_the_page_needs_is_there_and_listed(tmp_path: Path) -> None:
    found = export_page(tmp_path / "site")
    files = files_of(tmp_path / "site")
    assert (found.files, found.bytes) == (len(files), sum(map(len, files.values())))
    web = resources.files("madn") / "web"
    for folder in ("static", "local"):
        for file in (web / folder).iterdir():
            if (folder, file.name) != ("static", "api.js") and not file.name.endswith(".html"):
                assert files[file.name] == file.read_bytes()
    sums = [line.split("  ") for line in files.pop("SHA256SUMS").decode().splitlines()]
    assert {name: digest for digest, name in sums} == {n: hashlib.sha256(c).hexdigest() for n, c in files.items()}
    games = json.loads(files["games.json"])
    assert [game["name"] for game in games["games"]] == list(found.games)
    assert all(game["estimated"] for game in games["games"])
    assert {game["rules"]["pieces"] for game in games["games"]} == set(MODELS)
    expected = [rules for rules in ALL if estimates_of(rules) is not None]
    assert sorted(map(str, expected)) == sorted(str(Rules(**game["rules"])) for game in games["games"])
    assert {f"estimator-{pieces}.madn" for pieces in MODELS} <= files.keys()
    for name, content in files.items():
        if name.endswith(".html"):
            links = re.findall(r'(?:href|src)="([^"#?:]+)[^":]*"', content.decode())
            assert {link for link in links if link not in {"./", "api"}} <= files.keys()
        if name.endswith(".js"):
            for needed in re.findall(r'(?:from |import\()"\./([\w.-]+)"', content.decode()):
                assert needed in files, (name, needed)


@pytest.mark.parametrize("first", ["api/games", "games.json"])
def test_the_browser_is_told_what_the_first_view_needs(first: str, tmp_path: Path) -> None:
    """All that main.js imports at once, and the first answer: a browser need not find out one after the other."""
    page = Path(madn.__file__).parent / "web" / "static"
    if first == "games.json":
        export_page(tmp_path / "site")
        page = tmp_path / "site"
    waiting, needed = ["main.js"], set()
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += re.findall(r'from "\./([\w.-]+)"', (page / name).read_text(encoding="utf-8"))
    links = re.findall(r'<link rel="(\w*preload)" href="([^"]+)"', (page / "index.html").read_text(encoding="utf-8"))
    assert sorted(name for kind, name in links if kind == "modulepreload") == sorted(needed - {"main.js"})
    assert [name for kind, name in links if kind == "preload"] == [first]


def test_both_sets_of_answers_have_the_same_functions() -> None:
    """The api.js of the page, and that of the export."""
    web = resources.files("madn") / "web"
    texts = [(web / folder / "api.js").read_text(encoding="utf-8") for folder in ("static", "local")]
    names = [
        set(re.findall(r"^export (?:async )?(?:const|function|class) (\w+)", text, re.MULTILINE)) for text in texts
    ]
    assert names[0] == names[1]


def test_a_game_of_a_database_comes_first(tmp_path: Path, database: Path) -> None:
    found = export_page(tmp_path / "site", [database])
    assert found.games[0] == "two-pieces-8"
    files = files_of(tmp_path / "site")
    game = json.loads(files["games.json"])["games"][0]
    with madn.open_database(database, values=True) as db:
        start = str(Board.start(db.rules))
        assert game["boards"]["start"] == {"board": start, "win": db.win(start)}
        assert game["exact"] is True
        index = json.loads(files[game["database"]])
        assert index["error"] == db.error
    assert index["files"] == ["two-pieces-8-values-0000.madn"]
    assert files["two-pieces-8-values-0000.madn"] == (database / "values-0000.madn").read_bytes()
    assert len(files[index["index"]]) == 44 * index["rows"]


def test_the_frames_can_be_elsewhere(tmp_path: Path, database: Path) -> None:
    export_page(tmp_path / "site", [database], at="https://example.org/db/")
    files = files_of(tmp_path / "site")
    assert json.loads(files["two-pieces-8-index.json"])["files"] == ["https://example.org/db/values-0000.madn"]
    assert not any(name.endswith("values-0000.madn") for name in files)
    for wrong in ("example.org", "file:///etc", 'https://example.org/" onload="'):
        with pytest.raises(MadnError, match="an address like"):
            export_page(tmp_path / "other", [database], at=wrong)
    assert os.listdir(tmp_path) == ["site"]


def test_the_same_export_twice_is_the_same(tmp_path: Path, database: Path) -> None:
    for _ in range(2):
        export_page(tmp_path / "one", [database])
    export_page(tmp_path / "two", [database])
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")
    assert sorted(os.listdir(tmp_path)) == ["one", "two"]


def test_an_earlier_export_is_replaced_and_nothing_else(tmp_path: Path, database: Path) -> None:
    export_page(tmp_path / "site", [database])
    export_page(tmp_path / "site")
    assert not any("values" in name for name in os.listdir(tmp_path / "site"))
    (tmp_path / "empty").mkdir()
    export_page(tmp_path / "empty")

    (tmp_path / "site" / "letter.txt").write_text("dear")
    with pytest.raises(OutputError, match=r"'letter\.txt' is not part of it"):
        export_page(tmp_path / "site")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "index.html").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name, why in (("folder", "not an earlier export"), ("file", "this is a file")):
        with pytest.raises(OutputError, match=why):
            export_page(tmp_path / name)
    with pytest.raises(OutputError):
        export_page(database)
    with pytest.raises(OutputError, match="cannot write here"):
        export_page(tmp_path / "no" / "such" / "place")
    assert (tmp_path / "folder" / "index.html").read_text() == "mine"
    assert sorted(os.listdir(tmp_path)) == ["empty", "file", "folder", "site"]


def test_a_failure_leaves_the_old_page(tmp_path: Path, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export_page(tmp_path / "site")
    before = files_of(tmp_path / "site")

    def full(source: Path, target: Path) -> str:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(export, "_copied", full)
        with pytest.raises(OSError, match="No space left"):
            export_page(tmp_path / "site", [database])
    with monkeypatch.context() as patch:
        patch.setattr(export, "_copied", lambda source, target: "0" * 64)
        with pytest.raises(CorruptBlockError, match="SHA-256 mismatch: catalogue says"):
            export_page(tmp_path / "site", [database])
    assert files_of(tmp_path / "site") == before
    assert os.listdir(tmp_path) == ["site"]


def test_best_moves_are_written_in_a_form_of_their_own(tmp_path: Path, database: Path) -> None:
    compress_database(database, tmp_path / "policy", "policy")
    told: list[float] = []
    export_page(tmp_path / "site", [tmp_path / "policy"], progress=lambda fraction, text: told.append(fraction))
    assert told == sorted(told)
    assert 0 < told[-1] <= 1
    files = files_of(tmp_path / "site")
    index = json.loads(files["two-pieces-8-index.json"])
    assert (index["files"], index["error"]) == (["two-pieces-8-moves.madn"], None)
    rows = np.frombuffer(files["two-pieces-8-index.bin"], export.ROWS)
    found = 0
    with madn.open_database(database) as db:
        for row in rows:
            frame = files["two-pieces-8-moves.madn"][row["offset"] :][: row["length"]]
            assert hashlib.sha256(frame).digest()[:16] == row["digest"].tobytes()
            content = zstandard.decompress(frame)[20:]
            for at in range(0, int(row["count"]), 7):
                board = madn.unrank(int(row["first"]) + at, db.rules)
                for roll in range(1, 7):
                    if len(board.legal_moves(roll)) > 1:
                        piece = content[(roll - 1) * int(row["count"]) + at]
                        assert board.own[piece] == db.best_move(board, roll).start
                        found += 1
    assert found > 400
    with pytest.raises(MadnError, match="they cannot stay elsewhere"):
        export_page(tmp_path / "other", [tmp_path / "policy"], at="https://example.org/db/")


def test_databases_that_cannot_be_shown_are_refused(tmp_path: Path, database: Path) -> None:
    with pytest.raises(OutputError, match="has the same game"):
        export_page(tmp_path / "site", [database, database])
    with pytest.raises(MadnError):
        export_page(tmp_path / "site", [tmp_path / "nothing"])
    assert os.listdir(tmp_path) == []


def test_the_command(tmp_path: Path, database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / "site"
    assert main(["export-web", str(directory), "--db", str(database), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    files = files_of(directory)
    assert answer["out"] == str(directory)
    assert (answer["files"], answer["bytes"]) == (len(files), sum(map(len, files.values())))
    assert answer["games"][0] == "two-pieces-8"
    assert main(["export-web", str(directory)]) == 0
    assert "python -m http.server" in capsys.readouterr().out
    for wrong in (
        ["export-web"],
        ["export-web", str(directory), "--db-at", "https://example.org"],
        ["export-web", str(directory), "--db", str(database), "--db-at", "nowhere"],
        ["export-web", str(database)],
    ):
        assert main(wrong) == 2
        assert capsys.readouterr().err.count("\n") == 1
