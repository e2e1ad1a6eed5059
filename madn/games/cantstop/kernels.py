"""The tables of one stage that the kernels work on."""

from contextlib import suppress
from itertools import combinations

import numpy as np

from madn import machine
from madn.games.cantstop._stage import Stage
from madn.games.cantstop._turns import Turns
from madn.games.cantstop.numbering import Array, Numbering
from madn.games.cantstop.rule28 import bonus, steps_worth
from madn.games.cantstop.rules import MARKERS

BUILDS: dict[str, type[Stage]] = {"portable": Stage}  # every build has the interface of `_stage.pyi`
if machine.has_avx2():
    with suppress(ImportError):  # not built on other kinds of processors
        from madn.games.cantstop._stage_avx2 import Stage as WideStage

        BUILDS["avx2"] = WideStage

WIDTH = 11  # columns of the largest board: the tables are this wide
MANY = 1 << 16  # states that make several threads worthwhile


def column_sets(mask: int, columns: int) -> list[int]:
    """The sets of at most three of the open columns as masks, larger sets first: the order of the states."""
    open_columns = [c for c in range(columns) if mask >> c & 1]
    return [
        sum(1 << c for c in chosen)
        for size in range(min(MARKERS, len(open_columns)), -1, -1)
        for chosen in combinations(open_columns, size)
    ]


def make_turns(numbering: Numbering, mask: int, structures: Array, threads: int) -> tuple[Turns, Array, Array]:
    """The turns of these placements; for each kind of ending the columns of the lanes and the cells of a matrix."""
    game = numbering.game
    sets = column_sets(mask, game.columns)
    left = np.zeros((len(structures), WIDTH), np.int8)
    squares = numbering.placements(mask).squares
    for c, length in enumerate(game.lengths):
        if mask >> c & 1:
            left[:, c] = length - squares[structures, c]
    states = sum(
        np.prod([left[:, c] for c in range(game.columns) if chosen >> c & 1], axis=0, dtype=np.int64)
        * np.ones(len(structures), np.int64)
        for chosen in sets
    )
    begin = np.append(0, np.cumsum(states)).astype(np.int64)
    radix, row_first = np.zeros((1 << WIDTH, WIDTH), np.int64), np.full(1 << WIDTH, -1, np.int64)
    block = np.zeros((1 << WIDTH, 3), np.int64)
    rows: list[Array] = []
    columns: list[Array] = []
    cells: list[int] = []
    for kind, closes in enumerate(sets):
        block[closes, 2] = 2 * kind
        rest = mask & ~closes
        home = min(rest, numbering.mirrored(rest))
        if home not in numbering.places:  # whoever closes these columns wins
            columns += [np.zeros(len(squares), np.int32)] * 2
            cells.append(0)
            continue
        size = numbering.rows(home) * numbering.columns(home)
        cells.append(size)
        block[closes, 0] = numbering.places[home] + (closes.bit_count() - numbering.splits(home)[0]) * size
        block[closes, 1] = numbering.columns(home)
        radix[closes, : game.columns] = numbering.placements(rest).radix
        row_first[closes] = sum(map(len, rows))
        rows.append(numbering.lookup_rows(rest))
        plain = numbering.placements(rest).ranks(squares)
        mirrored = numbering.mirror(rest)[plain]
        columns += [plain, mirrored]
    turns = Turns(
        left, begin, list(game.rolls), sets, game.lengths, steps_worth(game), [bonus(game, chosen) for chosen in sets],
        radix, row_first, block, np.concatenate(rows or [np.zeros(1, np.int32)]).astype(np.int32),
        threads if begin[-1] > MANY else 1,
    )  # fmt: skip
    return turns, np.array(columns, np.int32), np.array(cells, np.int64)


def make_stage(numbering: Numbering, mask: int, values: Array, threshold: int, threads: int, build: str) -> Stage:
    """All components with these open columns, ready to be solved."""
    game, placements, splits = numbering.game, numbering.placements(mask), numbering.splits(mask)
    mirror = numbering.mirror(mask) if mask == numbering.mirrored(mask) else np.empty(0, np.int32)
    row = numbering.kept_rows(mask)
    structures = np.flatnonzero(row >= 0).astype(np.int32)
    turns, column, cells = make_turns(numbering, mask, structures, threads)
    sets = column_sets(mask, game.columns)
    shift = np.empty((len(splits), 2 * len(sets)), np.int64)
    for k, won in enumerate(splits):
        for kind, closes in enumerate(sets):
            wins = won + closes.bit_count() >= game.to_win
            shift[k, 2 * kind : 2 * kind + 2] = -1 if wins else won * cells[kind]
    return BUILDS[build](
        turns, placements.packed, mirror, placements.total, structures, column, shift, row, values,
        numbering.places[mask], numbering.rows(mask) * numbering.columns(mask), threshold, 1 / game.sides**4,
        threads,
    )  # fmt: skip
