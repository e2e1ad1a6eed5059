"""The page as static files: `madn export-web`. They do not need madn's server, only one that sends files.

Everything is in one directory: the files of the page (`static`), those that answer in place of a server (`local`, whose
`api.js` replaces the page's), the models of the estimator, `games.json` with what can be asked, and for each database
its frames and an index that a browser can read; best moves are written in another form. `SHA256SUMS` lists all files.
"""

import hashlib
import json
import os
import re
import shutil
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import madn
from madn.advisor import Advisor, estimates_of
from madn.board import Board
from madn.database import BestMoveDatabase, Database, open_database
from madn.drawing import layout
from madn.errors import CorruptBlockError, InvalidNumberError, OutputError
from madn.estimator import DATA, file_name
from madn.players import PLAYERS, EstimatePlayer, Player, RulePlayer
from madn.rules import HOUSE_RULES, ROLLS, Rules
from madn.store.blocks import Encoding
from madn.store.catalogue import read_catalogue
from madn.store.records import SUMS, BlockTable
from madn.store.workplace import check_room, workplace
from madn.web.answers import ServedAdvisor, encoded
from madn.web.best_moves import CODE, POSITION_BYTES, MovesFile, write_moves
from madn.web.games import OFFERED, name_of
from madn.web.opening import opening

GAMES = "games.json"
KIND = "madn web page"  # as games.json says
PAGE = 1024  # rows of an index that are read at a time
ROWS = np.dtype(
    [
        ("first", "<u8"),
        ("count", "<u4"),
        ("file", "<u2"),
        ("encoding", "<u2"),
        ("offset", "<u8"),
        ("length", "<u4"),
        ("digest", "V16"),
    ]
)
# What a browser loads at once for the first view of the page: with a server, and instead of that without one.
FIRST = (
    b'<link rel="preload" href="api/games" as="fetch" crossorigin>',
    b'<link rel="preload" href="games.json" as="fetch" crossorigin>\n<link rel="modulepreload" href="rules.js">',
)
COPIED = 1 << 22  # bytes at a time
Progress = Callable[[float, str], None]


@dataclass(frozen=True, slots=True)
class ExportedPage:
    """What was written: the number of files, their bytes, and the games that the page offers."""

    files: int
    bytes: int
    games: tuple[str, ...]


def export_page(
    directory: str | os.PathLike[str],
    databases: Sequence[str | os.PathLike[str]] = (),
    *,
    at: str | None = None,
    progress: Progress = lambda fraction, text: None,
) -> ExportedPage:
    """Write the page into a directory, which replaces an earlier export in one step.

    The page offers the games on the standard board that have an estimator, and those of the `databases`, which are
    copied. With `at`, an address, the frames of the one database stay at that address instead. Those of best moves
    cannot, since a browser needs them in another form.
    """
    if at is not None and (len(databases) != 1 or not re.fullmatch(r"https?://[^\s\"'<>\\]+", at)):
        raise InvalidNumberError(f"at must be an address like https://example.org/two/ for one database, not {at!r}")
    with ExitStack() as stack:
        opened = {name: stack.enter_context(db) for name, db in _opened(databases).items()}
        files = _page_files()
        files |= {file_name(pieces): (DATA / file_name(pieces)).read_bytes() for pieces in _models()}
        policies = {name: database for name, database in opened.items() if isinstance(database, BestMoveDatabase)}
        if policies and at is not None:
            raise InvalidNumberError("at: best moves are rewritten for the page, so they cannot stay elsewhere")
        copies: dict[str, tuple[Path, str]] = {}
        for name, database in opened.items():
            if name not in policies:
                files |= _value_index(name, database, at)
                if at is None:
                    copies |= {f"{name}-{file}": (database.path / file, sha) for file, sha in database.digests.items()}
        files[GAMES] = encoded(_games(opened))
        total = sum(map(len, files.values())) + sum(path.stat().st_size for path, _ in copies.values())
        total += round(sum(map(len, policies.values())) * POSITION_BYTES)
        check_room([([directory], total)])

        def telling(before: int, file: str) -> Callable[[int], None]:
            return lambda positions: progress((before + positions * POSITION_BYTES) / total, file)

        with workplace(directory, check=check_replaceable) as work:
            done = 0
            sums: dict[str, str] = {}
            for name, (path, expected) in copies.items():
                sums[name] = _copied(path, work.part / name)
                done += path.stat().st_size
                progress(done / total, name)
                if sums[name] != expected:
                    raise CorruptBlockError(
                        f"{path}: SHA-256 mismatch: catalogue says {expected}, file has {sums[name]}"
                    )
            for name, database in policies.items():
                file = f"{name}-moves.madn"
                moves = write_moves(database, work.part / file, telling(done, file))
                done += round(len(database) * POSITION_BYTES)
                sums[file] = moves.sha256
                files |= _move_index(name, database, file, moves)
            for name, content in files.items():
                sums[name] = hashlib.sha256(content).hexdigest()
                (work.part / name).write_bytes(content)
            (work.part / SUMS).write_text("".join(f"{sums[name]}  {name}\n" for name in sorted(sums)), encoding="ascii")
            count, size = len(sums) + 1, sum(entry.stat().st_size for entry in os.scandir(work.part))
            work.publish()
    return ExportedPage(count, size, tuple(game["name"] for game in json.loads(files[GAMES])["games"]))


def check_replaceable(target: Path) -> None:
    """Raise `OutputError` if anything but an earlier export, or an empty directory, would be lost at `target`."""
    try:
        mode = target.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(mode):
        raise OutputError(f"{target}: this is a file; the page is a directory")
    names = set(os.listdir(target))
    if not names:
        return
    try:
        kind = json.loads((target / GAMES).read_bytes())["kind"]
        listed = {line[66:] for line in (target / SUMS).read_text(encoding="ascii").splitlines()}
    except (OSError, ValueError, KeyError, TypeError):
        raise OutputError(f"{target}: not replaced: it is not an earlier export of the page") from None
    foreign = sorted(names - listed - {SUMS})
    if kind != KIND or foreign:
        what = f"{foreign[0]!r} is not part of it" if foreign else f"{GAMES} is of another kind"
        raise OutputError(f"{target}: not replaced: {what}")


def _opened(paths: Sequence[str | os.PathLike[str]]) -> dict[str, Database]:
    """The databases, by names that can be part of an address."""
    opened: dict[str, Database] = {}
    try:
        for path in paths:
            database = open_database(path)
            name = name_of(database.rules)
            if name in opened:
                database.close()
                raise OutputError(f"{path}: {opened[name].path} has the same game")
            opened[name] = database
    except BaseException:
        for database in opened.values():
            database.close()
        raise
    return opened


def _page_files() -> dict[str, bytes]:
    """The files of the page and those that answer in place of a server; a host may have them in any directory."""
    web = resources.files("madn") / "web"
    files = {file.name: file.read_bytes() for folder in ("static", "local") for file in (web / folder).iterdir()}
    files["index.html"] = files["index.html"].replace(*FIRST)
    return {name: _relative(content) if name.endswith(".html") else content for name, content in files.items()}


def _relative(page: bytes) -> bytes:
    """The page with links that are relative instead of starting at the root of its host."""
    return re.sub(rb'(href|src)="/([^"]*)"', lambda link: b'%s="%s"' % (link[1], link[2] or b"./"), page)


def _models() -> list[int]:
    """The numbers of pieces that have an estimator, in the order in which they are offered."""
    return [pieces for pieces in OFFERED if estimates_of(Rules(pieces)) is not None]


def _games(databases: Mapping[str, Database]) -> dict[str, Any]:
    """What the page offers: games, players, and where squares are drawn."""
    rules = [database.rules for database in databases.values()]
    for pieces, house in product(_models(), product((False, True), repeat=len(HOUSE_RULES))):
        rules.append(Rules(pieces, **dict(zip(HOUSE_RULES, house, strict=True))))
    rules = [one for one in rules if name_of(one) in databases or estimates_of(one) is not None]
    games = [_game(one, databases.get(name_of(one))) for one in dict.fromkeys(rules)]
    content = [madn.__version__, games, {name: database.digests for name, database in databases.items()}]
    version = hashlib.sha256(encoded(content)).hexdigest()[:12]
    return {
        "kind": KIND,
        "madn": madn.__version__,
        "games": [{**game, "version": version} for game in games],
        "players": [_player(player) for player in PLAYERS.values()],
        "layouts": {f"{one.pieces},{one.squares}": asdict(layout(one)) for one in rules},
    }


def _game(rules: Rules, database: Database | None) -> dict[str, Any]:
    start = Board.start(rules)
    estimates = estimates_of(rules)
    win = None
    if database is not None and start in database:
        win = database.get_win(start)
    elif estimates is not None:
        win = float(estimates.engine.win(*start.masks))
    players = [name for name in PLAYERS if name != EstimatePlayer.name or estimates is not None]
    facts = {"name": name_of(rules), "rules": asdict(rules), "positions": rules.positions, "players": players}
    facts["estimated"] = estimates is not None
    facts["exact"] = database is not None and database.whole
    facts["boards"] = {"start": {"board": str(start), "win": win}}
    facts["opening"] = str(opening(rules))
    if database is not None:
        return {**facts, "database": f"{name_of(rules)}-index.json"}
    if rules == Rules() and estimates is not None:  # so that the first view of the page does not need the model
        with Advisor(rules, limit=0) as advisor:
            advisor.databases = []  # the page does not have the user's databases
            facts["first"] = json.loads(ServedAdvisor("", advisor, 1).position(str(opening(rules))).body)
    return facts


def _player(player: Player) -> dict[str, Any]:
    facts: dict[str, Any] = {"name": player.name, "description": player.description}
    if isinstance(player, RulePlayer):
        facts |= {"rules": [asdict(rule) for rule in player.rules], "draws": player.draws}
    return {**facts, "estimates": True} if isinstance(player, EstimatePlayer) else facts


def _value_index(name: str, database: Database, at: str | None) -> dict[str, bytes]:
    """The catalogue of a database as files that a browser can read."""
    catalogue, table = read_catalogue(database.path)
    files, encodings = list(database.digests), [stored.encoding for stored in catalogue.encodings]
    if [file.sha256 for file in catalogue.files] != list(database.digests.values()):
        raise CorruptBlockError(f"{database.path}: another database has taken its place")
    stored = [
        {"code": one.code, "bits": one.bits, "planes": one.planes, "zero": one.zero, "scale": one.scale}
        for one in encodings
    ]
    names = [f"{at.rstrip('/')}/{file}" if at is not None else f"{name}-{file}" for file in files]
    return _index(name, database, names, stored, _rows(table, encodings))


def _move_index(name: str, database: Database, file: str, moves: MovesFile) -> dict[str, bytes]:
    """The same for best moves that were rewritten for the page."""
    rows = np.zeros(len(moves.blocks), ROWS)
    first, count, offset, length, digest = zip(*moves.blocks, strict=True)
    rows["first"], rows["count"], rows["offset"], rows["length"] = first, count, offset, length
    rows["digest"] = _bytes_of(digest)
    return _index(name, database, [file], [{"code": CODE, "moves": True, "planes": len(ROLLS)}], rows)


def _index(
    name: str, database: Database, files: list[str], encodings: list[dict[str, Any]], rows: np.ndarray[Any, Any]
) -> dict[str, bytes]:
    facts = {
        "rules": asdict(database.rules),
        "files": files,
        "encodings": encodings,
        "tie": database.tie,
        "error": database.error,
        "index": f"{name}-index.bin",
        "page": PAGE,
        "rows": len(rows),
        "keys": rows["first"][::PAGE].tolist(),
    }
    return {f"{name}-index.json": encoded(facts), f"{name}-index.bin": rows.tobytes()}


def _rows(table: BlockTable, encodings: list[Encoding]) -> np.ndarray[Any, Any]:
    rows = np.zeros(len(table), ROWS)
    rows["first"], rows["count"], rows["file"] = table.first_id, table.count, table.file
    rows["offset"], rows["length"] = table.offset, table.length
    rows["encoding"] = [encodings.index(encoding) for encoding in table.encodings]
    rows["digest"] = _bytes_of(table.digest)
    return rows


def _bytes_of(digests: Sequence[str]) -> np.ndarray[Any, Any]:
    return np.frombuffer(bytes.fromhex("".join(digests)), "V16")


def _copied(source: Path, target: Path) -> str:
    """Copy a file; return its SHA-256."""
    shutil.copyfile(source, target)
    digest = hashlib.sha256()
    with open(target, "rb") as file:
        while part := file.read(COPIED):
            digest.update(part)
    return digest.hexdigest()
