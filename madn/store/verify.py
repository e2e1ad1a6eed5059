"""Checking a database: every byte against its digest, every row against the rules, every value on request."""

import hashlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn.board import Board
from madn.errors import CorruptBlockError, MadnError, RulesMismatchError
from madn.machine import processors
from madn.ranges import checked_int, checked_seed
from madn.store.catalogue import LudoCatalogueFile, check_ordinary, one_line, read_catalogue
from madn.store.reader import BlockReader, open_file, open_reader, read_at
from madn.store.records import CATALOGUE, SUMS, BlockTable, NamedBoard, sums_text
from madn.store.successors import recomputed

Progress = Callable[[float, str], None]
DEEP_CACHE = 1 << 30  # bytes of decoded blocks that a deep check keeps
AT_ONCE = 1 << 16  # positions that are recomputed at a time
REPLACED = 20  # how often a database may be replaced while it is being verified
READ = 1 << 20  # bytes that are read and hashed at a time
FEW = 32  # fewer blocks than these are not worth another thread
TOGETHER = 512  # blocks that are handed to the threads at a time
MAX_SUMS = 1 << 24  # bytes of SHA256SUMS: more than any database needs
ROUNDING = 1e-12  # allowed for the rounding errors of adding up six doubles
MAX_ERROR = 1 / 255  # half of it is lost by rounding to 8 bits, less than the other half by any finer roundings besides


@dataclass(slots=True)
class Report:
    """The result of a verification; each line of `damaged` says what is wrong and where.

    `residual` is the largest |V - T(V)| of the positions that were recomputed, and `residual_board` is the board that
    has it; both are None if none was recomputed, as in a database of best moves. T takes the mean over the rolls of the
    best successor.
    """

    blocks: int = 0
    positions: int = 0
    recomputed: int = 0
    residual: float | None = None
    residual_board: Board | None = None
    damaged: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing is damaged."""
        return not self.damaged


def verify_database(
    path: str | os.PathLike[str],
    deep: bool = False,
    sample: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Report:
    """Check every file, frame, digest, count, offset and row of a database.

    With `deep`, positions are also recomputed from their successors: all of them, or `sample` random ones. A database
    of best moves has no values to recompute; its blocks are decoded, and whatever decodes is a legal move.
    """
    directory = Path(path)
    seed = checked_seed(seed)
    if sample is not None:
        sample = checked_int("sample", sample, 1, 10**9)
    for _ in range(REPLACED):
        before = _identity(directory)
        report = _verified(directory, deep, sample, seed, progress or (lambda fraction, text: None))
        if report.ok or _identity(directory) == before:
            break  # otherwise another database has replaced the one that was checked: check that one
    return report


def _identity(directory: Path) -> tuple[int, int, int] | None:
    """What identifies the directory at a path; the time is part of it, as the inode number may have been reused."""
    try:
        status = os.stat(directory)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns


def check_catalogue(directory: Path) -> None:
    """Raise `CorruptBlockError` if SHA256SUMS exists and lists another digest for the catalogue."""
    for _ in range(REPLACED):
        before = _identity(directory)
        try:
            if (directory / SUMS).exists():
                _compared(directory)
            return
        except CorruptBlockError:
            if _identity(directory) == before:
                raise


def _compared(directory: Path) -> tuple[bytes, str]:
    """Compare the catalogue with its line in SHA256SUMS; return the content of SHA256SUMS and the digest."""
    check_ordinary(directory / CATALOGUE)
    sums = b"".join(islice(_content(directory / SUMS), MAX_SUMS // READ))
    digest = _sha256(directory / CATALOGUE)
    if not sums.startswith(sums_text({CATALOGUE: digest}).encode("ascii")):
        listed = one_line(sums[:64].decode("ascii", "replace"))
        raise CorruptBlockError(f"SHA-256 mismatch in {directory / CATALOGUE}: {SUMS} says {listed}, file has {digest}")
    return sums, digest


def _verified(directory: Path, deep: bool, sample: int | None, seed: int, show: Progress) -> Report:
    report = Report()
    share = 0.5 if deep else 1.0
    try:
        sums, digest = _compared(directory)
        catalogue, table = read_catalogue(directory)
        unreadable = _check_files(directory, catalogue, table, sums, digest, report)
        with closing(open_reader(directory, DEEP_CACHE)) as reader:
            _check_blocks(reader, table, unreadable, report, lambda part, text: show(share * part, text))
            _check_boards(reader, table, unreadable, report)
            if deep and report.ok and not reader.policy:
                ids = wanted_ids(table, sample, seed)
                _check_values(reader, ids, report, lambda part, text: show(share + share * part, text))
    except RulesMismatchError:  # a database of another game: nothing is damaged
        raise
    except (MadnError, OSError) as error:
        report.damaged.append(str(error))
    return report


def _check_files(
    directory: Path, catalogue: LudoCatalogueFile, table: BlockTable, sums: bytes, digest: str, report: Report
) -> set[int]:
    """Compare every file with its digest, and look for files that should not be there.

    Returns the numbers of the files that are missing or have the wrong size: their blocks need not be tried.
    """
    with LudoCatalogueFile(directory) as file:
        report.damaged += [f"{file.path}: {problem}" for problem in file.integrity()]
    expected = {CATALOGUE: digest} | {record.name: record.sha256 for record in catalogue.files}
    if sums != sums_text(expected).encode():
        report.damaged.append(f"{directory / SUMS}: its lines do not match the files in the catalogue")
    unreadable = set()
    for record in catalogue.files:
        path = directory / record.name
        try:
            found = _sha256(path, record.bytes)
        except CorruptBlockError as error:
            unreadable.add(record.file)
            lost = int((table.file == record.file).sum())
            report.damaged.append(f"{error}; {lost:,} block{'s' * (lost != 1)} cannot be read")
            continue
        if found != record.sha256:
            listed = one_line(record.sha256)
            report.damaged.append(f"SHA-256 mismatch in {path}: catalogue says {listed}, file has {found}")
    for name in sorted(set(os.listdir(directory)) - {*expected, SUMS}):
        report.damaged.append(f"{directory / name}: not part of the database")
    return unreadable


def _content(path: Path, size: int | None = None) -> Iterator[bytes]:
    """The bytes of a file, `READ` at a time; if a size is given, the file must have exactly that size."""
    descriptor = open_file(path, size)
    try:
        offset = 0
        while piece := read_at(descriptor, READ, offset):
            yield piece
            offset += len(piece)
    finally:
        os.close(descriptor)


def _sha256(path: Path, size: int | None = None) -> str:
    digest = hashlib.sha256()
    for piece in _content(path, size):
        digest.update(piece)
    return digest.hexdigest()


def _check_blocks(reader: BlockReader, table: BlockTable, unreadable: set[int], report: Report, show: Progress) -> None:
    """Compare every frame with its digest, decode it, and check its values."""

    def problem(at: int) -> str | None:
        if int(table.file[at]) in unreadable:
            return ""
        try:
            reader.load_content(table, at)
        except MadnError as error:
            return str(error)
        return None

    with ThreadPoolExecutor(min(processors(), 8)) as pool:
        for start in range(0, len(table), TOGETHER):
            some = range(start, min(start + TOGETHER, len(table)))
            problems = map(problem, some) if len(table) < FEW else pool.map(problem, some)
            for at, wrong in zip(some, problems, strict=True):
                if wrong is None:
                    report.positions += table.counts[at]
                elif wrong:
                    report.damaged.append(wrong)
                report.blocks += 1
                show((at + 1) / len(table), f"block {at + 1} of {len(table)}")


def _check_boards(reader: BlockReader, table: BlockTable, unreadable: set[int], report: Report) -> None:
    """Compare the named boards with the numbering and with what is stored."""
    for named in reader.catalogue.boards:
        try:
            problem = _board_problem(reader, table, unreadable, named)
        except MadnError as error:
            problem = str(error)
        if problem:
            report.damaged.append(f"{reader.directory}: named board {one_line(named.name)}: {one_line(problem)}")


def _board_problem(reader: BlockReader, table: BlockTable, unreadable: set[int], named: NamedBoard) -> str:
    """What is wrong with a named board, or nothing."""
    board = Board.parse(named.board, reader.catalogue.rules)
    id = reader.game.rank(*board.masks)
    if (str(board), id) != (named.board, named.id):
        return f"catalogue says {named.board!r} has ID {named.id}, expected {str(board)!r} with ID {id}"
    if named.block is None:
        return ""
    if not 0 <= named.block < len(table) or table.first_id[named.block] + (named.offset or 0) != id:
        return f"catalogue says {named.board} is in block {named.block} at {named.offset}, but it is not"
    if reader.policy or int(table.file[named.block]) in unreadable:
        return ""
    win = reader.win(id)
    return "" if win == named.win else f"catalogue says {named.board} has value {named.win}, its block has {win}"


def wanted_ids(table: BlockTable, sample: int | None, seed: int) -> Iterator[NDArray[np.int64]]:
    """The IDs to recompute, `AT_ONCE` at a time: all that are stored, or a random sample, ascending."""
    ends = np.cumsum(table.count)
    if sample is None:
        for first, count in zip(table.first_id.tolist(), table.count.tolist(), strict=True):
            for start in range(first, first + count, AT_ONCE):
                yield np.arange(start, min(start + AT_ONCE, first + count))
        return
    stored = int(ends[-1]) if len(ends) else 0
    picked = np.sort(np.random.default_rng(seed).choice(stored, min(sample, stored), replace=False, shuffle=False))
    block = np.searchsorted(ends, picked, "right")
    ids = table.first_id[block] + picked - (ends - table.count)[block]
    for start in range(0, len(ids), AT_ONCE):
        yield ids[start : start + AT_ONCE]


def _check_values(reader: BlockReader, wanted: Iterator[NDArray[np.int64]], report: Report, show: Progress) -> None:
    """Recompute positions from their successors and note the largest difference."""
    catalogue = reader.catalogue
    rules = catalogue.rules
    worst, worst_id = -1.0, 0
    for ids in wanted:
        difference = np.abs(reader.wins(ids) - recomputed(ids, reader.wins, rules))
        report.recomputed += len(ids)
        at = int(np.argmax(difference))
        if difference[at] > worst:
            worst, worst_id = float(difference[at]), int(ids[at])
        show(int(ids[-1]) / rules.positions, f"recomputed up to position {int(ids[-1]):,}")
    if worst < 0:
        return
    report.residual = worst
    report.residual_board = Board.from_masks(*reader.game.unrank(worst_id), rules)
    error = max((stored.max_error for stored in catalogue.encodings), default=0.0)
    if error > MAX_ERROR:
        report.damaged.append(f"{reader.directory}: max_error is {error:.3g}; rounding adds at most {MAX_ERROR:.3g}")
    claimed: Any = catalogue.provenance.get("residual")
    if type(claimed) not in (int, float) or not 0 <= claimed <= 1:
        shown = "missing" if claimed is None else one_line(claimed)
        report.damaged.append(
            f"{reader.directory}: residual in the catalogue is {shown}, expected a number from 0 to 1"
        )
        return
    allowed = 2 * error + ROUNDING
    if worst > claimed + allowed or (report.recomputed == report.positions and worst < claimed - allowed):
        report.damaged.append(
            f"{reader.directory}: board {report.residual_board}: residual mismatch: catalogue says {claimed:.3g}, "
            f"the values have {worst:.3g}"
        )
