"""Checking the proved bounds of all positions, or of some, in whole numbers, as they are stored, with `_checker`."""

import os
import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn._checker import Checker
from madn._ending import ends
from madn.board import Board
from madn.errors import PlanError
from madn.machine import check_memory, usable_threads
from madn.ranges import checked_int, checked_seed
from madn.rules import Rules
from madn.store.catalogue import read_catalogue
from madn.store.reader import BlockReader, open_reader
from madn.store.records import BlockTable
from madn.store.verify import wanted_ids

Progress = Callable[[float, str], None]
LISTED = 20  # how many boards of failures are reported
NONE = np.zeros(0, np.int64)
LOADING = 0.2  # of the work, for the estimate of progress only


@dataclass(slots=True)
class ProofReport:
    """What a check of proved bounds found.

    `failures` counts positions whose bounds do not follow from those of their successors; `failed` has the first of
    them. `width` is the largest difference between an upper and a lower bound. `decisions` counts rolls with a choice,
    `proved_best` those of them whose best move is proved. `unending` counts positions from which the game need not end;
    it is None unless all positions of a game were checked.
    """

    positions: int = 0
    failures: int = 0
    width: float = 0.0
    width_board: Board | None = None
    decisions: int = 0
    proved_best: int = 0
    unending: int | None = None
    failed: list[Board] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return not self.failures and not self.unending


def unending_positions(rules: Rules) -> int:
    """From how many positions a game need not end: if there are none, it ends with probability 1 whatever is played."""
    return ends(rules.pieces, rules.squares, rules.three_rolls, rules.no_jumping, rules.must_capture)[0]


def check_proof(
    path: str | os.PathLike[str],
    sample: int | None = None,
    seed: int = 0,
    component: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> ProofReport:
    """Check the proved bounds of all positions of a database, of `sample` random ones, or of one component.

    A component is a pair of finish zones, such as `.oo/o..` with `o` for a piece. Raises `NoBoundsError` if the
    database has no bounds.
    """
    seed = checked_seed(seed)
    sample = None if sample is None else checked_int("sample", sample, 1, 10**9)
    report, tell = ProofReport(), progress or (lambda fraction, text: None)
    _, table = read_catalogue(Path(path))
    with closing(open_reader(Path(path))) as reader:
        reader.check_bounds()
        rules = reader.catalogue.rules
        zones = None if component is None else finish_zones(component, rules)
        checker = Checker(rules.pieces, rules.squares, rules.three_rolls, rules.no_jumping, rules.must_capture)
        low, high, known = (NONE, NONE, NONE) if sample is not None else all_bounds(reader, table, tell)
        if sample is None and component is None and len(low) == rules.positions:
            report.unending = unending_positions(rules)
        begun = 0.0 if sample is not None else LOADING
        for ids in wanted_ids(table, sample, seed):
            end = int(ids[-1]) / rules.positions
            if zones is not None:
                mine, theirs = (side >> np.uint64(rules.squares) for side in reader.game.unrank_many(ids))
                ids = ids[(mine == zones[0]) & (theirs == zones[1])]
            if sample is not None:
                known = np.array([id for id in checker.needed(ids).tolist() if reader.stores(id)], np.int64)
                low, high = reader.bounds(known)
            if len(ids):
                found = checker.check(ids, low, high, round(reader.steps), known, threads or usable_threads())
                _add(report, len(ids), found, reader)
            tell(begun + (1 - begun) * end, f"checked {report.positions:,} positions")
    return report


def _add(report: ProofReport, count: int, found: tuple[Any, ...], reader: BlockReader) -> None:
    failures, decisions, proved_best, width, widest, failed = found

    def board(id: int) -> Board:
        return Board.from_masks(*reader.game.unrank(id), reader.catalogue.rules)

    report.positions += count
    report.failures += failures
    report.decisions += decisions
    report.proved_best += proved_best
    report.failed += [board(id) for id in failed[: LISTED - len(report.failed)].tolist()]
    if report.width_board is None or width / reader.steps > report.width:
        report.width, report.width_board = width / reader.steps, board(widest)


def all_bounds(
    reader: BlockReader, table: BlockTable, tell: Progress
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """All stored bounds, from 0 to `reader.steps`, and the IDs they belong to; no IDs if they are of a whole game."""
    kind, stored = np.int32 if reader.steps < 1 << 31 else np.int64, int(table.count.sum())
    whole = stored == reader.catalogue.rules.positions
    size = 2 * np.dtype(kind).itemsize + (0 if whole else NONE.itemsize)
    check_memory("checking a whole proof", stored * size, None)
    low, high = np.empty(stored, kind), np.empty(stored, kind)
    known, begin = np.empty(0 if whole else stored, np.int64), 0
    for at, (first, count) in enumerate(zip(table.first_ids, table.counts, strict=True)):
        content, here = reader.load_content(table, at), slice(begin, begin + count)
        zero = round(table.encodings[at].zero * reader.steps)
        low[here], high[here] = content["lower"] + zero, content["upper"] + zero
        if not whole:
            known[here] = np.arange(first, first + count)
        begin += count
        tell(LOADING * (at + 1) / len(table), f"block {at + 1:,} of {len(table):,}")
    return low, high, known


def finish_zones(component: str, rules: Rules) -> tuple[int, int]:
    """The finish zones of a component as masks: the mover's, the other side's."""
    zone = f"[.o]{{{rules.pieces}}}"
    if not re.fullmatch(f"{zone}/{zone}", component):
        example = f"{'.' * rules.pieces}/{'o' * rules.pieces}"
        raise PlanError(f"component {component!r}: write both finish zones, such as {example}")
    mine, theirs = (sum(1 << i for i, piece in enumerate(zone) if piece == "o") for zone in component.split("/"))
    return mine, theirs
