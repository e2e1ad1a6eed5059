"""Writing a table to a file: CSV, or Parquet with pyarrow (the extra `madn[data]`)."""

import csv
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn.errors import MissingExtraError, OutputError

ENDINGS = (".parquet", ".csv")
Columns = Mapping[str, NDArray[Any]]
Write = Callable[[Columns], None]


def check_table_file(path: str | os.PathLike[str]) -> None:
    """Raise `OutputError` unless a table can be written at `path`, `MissingExtraError` if pyarrow is missing for it."""
    target = Path(os.path.realpath(path))
    if target.suffix not in ENDINGS:
        raise OutputError(f"{path}: the name of a file for a table must end in {' or '.join(ENDINGS)}")
    if target.exists() and not target.is_file():
        raise OutputError(f"{path}: not a file; a table is written to a file")
    if target.suffix == ".parquet":
        _parquet()
    with suppress(FileNotFoundError):
        os.unlink(_made_beside(target, path))


@contextmanager
def writing_table(path: str | os.PathLike[str], facts: Mapping[str, str] | None = None) -> Iterator[Write]:
    """Yield a function that appends rows, given as columns of equal length; the first call determines the columns.

    NaN stands for a missing value. `facts` go into the metadata of a Parquet file. The file appears at `path`,
    replacing any older one, only when it is complete.
    """
    check_table_file(path)
    target = Path(os.path.realpath(path))
    name = _made_beside(target, path)
    try:
        with _parquet_rows(name, facts or {}) if target.suffix == ".parquet" else _csv_rows(name) as write:
            yield write
        mask = os.umask(0o077)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise


def _made_beside(target: Path, path: str | os.PathLike[str]) -> str:
    """Create a hidden file beside the target and return its name."""
    try:
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.madn-")
    except OSError as error:
        raise OutputError(f"{path}: cannot write here: {error.strerror}") from None
    os.close(descriptor)
    return name


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"Parquet needs {error.name}: pip install 'madn[data]'; CSV does not") from None
    return pyarrow


@contextmanager
def _parquet_rows(name: str, facts: Mapping[str, str]) -> Iterator[Write]:
    pa = _parquet()
    writer = None

    def write(columns: Columns) -> None:
        nonlocal writer
        table = pa.table({key: pa.array(column, from_pandas=True) for key, column in columns.items()})
        if writer is None:
            schema = table.schema.with_metadata({f"madn.{key}": value for key, value in facts.items()})
            writer = pa.parquet.ParquetWriter(name, schema, compression="zstd")
        writer.write_table(table.cast(writer.schema))

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()


@contextmanager
def _csv_rows(name: str) -> Iterator[Write]:
    with open(name, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        empty = True

        def write(columns: Columns) -> None:
            nonlocal empty
            if empty:
                rows.writerow(columns)
                empty = False
            rows.writerows(zip(*map(_plain, columns.values()), strict=True))

        yield write


def _plain(column: NDArray[Any]) -> list[Any]:
    """The values of a column for CSV; a missing value becomes an empty string."""
    values: list[Any] = column.tolist()
    if column.dtype.kind == "f" and np.isnan(column).any():
        return ["" if value != value else value for value in values]
    return values
