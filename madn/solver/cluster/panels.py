"""Which process computes which columns of a component: panels of whole classes, about the same work in each."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from madn.rules import DIE
from madn.solver.sides import Side
from madn.solver.tables import Panel

LEAST_WORK = 20_000  # pairs of states: a smaller panel is not worth the messages
OPTIONS = 0.05  # the share of a pair's time that each option of its column takes: measured with three pieces


def cut_panels(
    rows: Side, columns: Side, speeds: Sequence[float], least: int = LEAST_WORK, *, whole: bool = False
) -> list[Panel]:
    """Cut all classes of columns, in order, into panels for the first few processes; `speeds` are those of all.

    A panel has at least six classes, as far as a roll leads, so a process needs columns only of the one before it.
    Small components have fewer panels than there are processes. `whole` says that all columns of every row are
    computed, even if both sides are alike.
    """
    work = class_work(rows, columns, whole)
    classes = len(work)
    most = max(1, min(len(speeds), classes // DIE, int(work.sum()) // least))
    for count in range(most, 1, -1):
        cuts = balanced_cuts(work, np.asarray(speeds[:count], float))
        if (np.diff(columns.class_start[cuts]) > 0).all():
            return [Panel(first, end) for first, end in pairwise(cuts)]
    return [Panel(0, classes)]


def class_work(rows: Side, columns: Side, whole: bool = False) -> NDArray[np.float64]:
    """What each class of columns costs in a sweep, in pairs of states."""
    options = np.diff(columns.moves.first[::DIE]).astype(float)
    starts = columns.class_start
    sums = np.concatenate([[0.0], np.cumsum(1 - OPTIONS * 9 + OPTIONS * options)])
    weights: NDArray[np.float64] = sums[starts[1:]] - sums[starts[:-1]]
    mirrored = rows.finish == columns.finish and not whole
    height: NDArray[np.float64] = starts[1:].astype(float) if mirrored else np.full(len(weights), float(rows.size))
    return weights * height


def balanced_cuts(work: NDArray[np.float64], speeds: NDArray[np.float64]) -> list[int]:
    """Where panels begin and end; each has about its share of the work, and at least six classes."""
    count, classes = len(speeds), len(work)
    total = np.concatenate([[0.0], np.cumsum(work)])
    wanted = total[-1] * np.cumsum(speeds) / speeds.sum()
    cuts = [0]
    for number in range(1, count):
        near = int(np.searchsorted(total, wanted[number - 1]))
        if near > 0 and wanted[number - 1] - total[near - 1] < total[min(near, classes)] - wanted[number - 1]:
            near -= 1
        cuts.append(min(max(near, cuts[-1] + DIE), classes - DIE * (count - number)))
    return [*cuts, classes]
