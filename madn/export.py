"""Exporting a database as a table, for pandas, DuckDB and anything else that reads Parquet or CSV."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from madn.database import Database, ValueDatabase
from madn.errors import InvalidBoardError, InvalidNumberError, NoValuesError
from madn.ranges import checked_int, checked_seed
from madn.ranking import unrank_many
from madn.table import check_table_file, writing_table

AT_ONCE = 1 << 20  # rows written at a time: a row group of Parquet
MOST_SAMPLED = 10**8  # positions of a random sample: their IDs are kept in memory
Profile = tuple[int, int, int, int]
Progress = Callable[[float, str], None]
Ranges = NDArray[np.int64]  # rows: first ID, count


@dataclass(frozen=True, slots=True)
class Exported:
    """How many rows were written, and how large the file is."""

    rows: int
    bytes: int


def export(
    database: Database,
    path: str | os.PathLike[str],
    *,
    profiles: Sequence[Profile] = (),
    sample: int | None = None,
    seed: int = 0,
    progress: Progress = lambda fraction, text: None,
) -> Exported:
    """Write positions and their values to a Parquet or CSV file, in the order of their IDs.

    The columns are `id`, `own` and `other` (masks: bit q is square q in the numbers of that side) and `win`. All stored
    positions are written, or only those of the given `profiles` (p1, f1, p2, f2). With `sample`, that many of them are
    drawn at random, without repetition and each equally likely; the same seed gives the same positions.
    """
    if not isinstance(database, ValueDatabase):
        raise NoValuesError(f"{database.path} stores best moves only; an export needs winning probabilities")
    check_table_file(path)
    ranges = _ranges(database, profiles)
    total = int(ranges[:, 1].sum())
    parts = _whole(ranges)
    if sample is not None:
        total = checked_int("sample", sample, 1, min(total, MOST_SAMPLED), InvalidNumberError)
        parts = _sampled(ranges, total, checked_seed(seed))
    facts = {"rules": json.dumps(asdict(database.rules)), "values": database.values}
    facts |= {"provenance": json.dumps(database.info()["provenance"]), "files": json.dumps(database.digests)}
    done = 0
    with writing_table(path, facts) as write:
        for ids in parts:
            own, other = unrank_many(ids, database.rules).T
            write({"id": ids, "own": own, "other": other, "win": database.win_many(ids)})
            done += len(ids)
            progress(done / total, f"{done:,} rows")
    return Exported(total, os.path.getsize(path))


def _ranges(database: Database, profiles: Sequence[Profile]) -> Ranges:
    """The IDs to write: all that are stored, or those of some profiles."""
    stored = np.array(list(database.ranges()), np.int64).reshape(-1, 2)
    if not profiles:
        return stored
    found = []
    for profile in sorted(set(profiles)):
        try:
            first = database.engine.game.first(*profile)
        except ValueError as error:
            raise InvalidBoardError(str(error)) from None
        inside = (stored[:, 0] >= first) & (stored[:, 0] < first + database.rules.profile_size(*profile))
        if not inside.any():  # a block never has positions of two profiles
            raise InvalidBoardError(f"{database.path} stores no position of the profile {profile}")
        found.append(stored[inside])
    return np.concatenate(found)


def _whole(ranges: Ranges) -> Iterator[NDArray[np.int64]]:
    """The IDs of the ranges, in arrays of about `AT_ONCE`."""
    waiting: list[NDArray[np.int64]] = []
    for first, count in ranges.tolist():
        waiting.append(np.arange(first, first + count))
        if sum(map(len, waiting)) >= AT_ONCE:
            yield np.concatenate(waiting)
            waiting = []
    if waiting:
        yield np.concatenate(waiting)


def _sampled(ranges: Ranges, count: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """A random sample of `count` different IDs from the ranges, ascending."""
    ends = np.cumsum(ranges[:, 1])
    total, rng = int(ends[-1]), np.random.default_rng(seed)
    if count > total // 2:  # a permutation of all is at most twice as large as the sample
        places = np.sort(rng.permutation(total)[:count])
    else:
        places = np.empty(0, np.int64)
        while len(places) < count:  # this may find too many: a random choice then drops some, so as to favour none
            more = rng.integers(0, total, count + count // 8 + 16)
            places = np.unique(np.concatenate([places, more]))
        places = np.sort(rng.choice(places, count, replace=False))
    at = np.searchsorted(ends, places, "right")
    ids = ranges[at, 0] + places - (ends[at] - ranges[at, 1])
    for begin in range(0, count, AT_ONCE):
        yield ids[begin : begin + AT_ONCE]
