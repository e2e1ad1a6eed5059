"""The paper on two-player Can't Stop: Table 1, Table 2 and the size of the official game."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from madn.games.cantstop import CantStop, Solution, solve
from madn.report import Fact, Paper, Progress, published, quiet, same_digits

PAPER = Paper("Can't Stop")
OFFICIAL = CantStop(sides=6, shortest=3)


def facts(full: bool, progress: Progress = quiet) -> Iterator[Fact]:
    """Table 1 for (3,1) and (3,2), and the size of the official game; with `full` (3,3) as well, and Table 2."""
    numbers = published()["cantstop"]
    for name, printed in numbers["table_1"].items():
        game = CantStop(*map(int, name.split(",")))
        yield PAPER.number(f"Table 1, ({name}): components", printed["components"], game.components)
        yield PAPER.number(f"Table 1, ({name}): positions", printed["positions"], game.positions)
        if game.shortest == 3 and not full:
            continue
        solution = solve(game, progress=progress)
        yield _first_player(name, printed, solution)
        if game.shortest == 3:
            yield from _table_2(numbers["table_2_iterations_3_3"], solution)
    indices = 2 * int(np.prod([3 + length * (length - 1) for length in OFFICIAL.lengths], dtype=object))
    yield PAPER.number(
        "components of the official game, without equivalent ones at most",
        "over 10^36",
        f"{OFFICIAL.components:,}",
        f"the paper's own indexing scheme (section 4) has {indices:,} indices of anchors, about 2 x 10^18: the printed "
        "exponent is twice as large",
        agrees=False,
    )


def _first_player(name: str, printed: dict[str, float], solution: Solution) -> Fact:
    ours = solution.first_player
    agrees = same_digits(ours, printed["first_player"], 3) and solution.components == printed["components"]
    note = f"{printed['time']} in the paper, {solution.seconds:.2f} s here"
    return PAPER.number(
        f"Table 1, ({name}): first player wins", printed["first_player"], round(ours, 12), note, agrees=agrees
    )


def _table_2(printed: dict[str, Any], solution: Solution) -> Iterator[Fact]:
    """Mean iterations by the values (x, y) of a component; the table is symmetric, so half of it is enough."""
    iterations, components = (table.T.tolist() for table in solution.table)
    for row, (y, cells) in enumerate(printed["rows_y"].items()):
        for column, cell in enumerate(cells):
            if cell is None or row + column > 4:
                continue
            total, count = iterations[row][column], components[row][column]
            mean = total / count
            agrees = same_digits(mean, cell, 2)
            note = "" if agrees else _short_of(total, count, cell)
            what = f"Table 2, x {printed['columns_x'][column]}, y {y}: iterations"
            yield PAPER.number(what, cell, round(mean, 5), note, agrees=agrees)


def _short_of(total: int, count: int, cell: float) -> str:
    """A note on how few iterations separate the result from the printed digits."""
    edge = cell - 0.005 if total / count < cell else cell + 0.005
    off = abs(edge * count - total)
    return (
        f"{total:,} iterations of {count:,} components; {off:.1f} of them decide the second decimal. Components whose "
        "pieces meet at the solution end one iteration earlier or later depending on rounding"
    )
