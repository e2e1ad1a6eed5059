"""Small files of a solve from disk: JSON with a digest of itself, written completely or not at all."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from madn.errors import CorruptBlockError, ResourceError
from madn.machine import flush


def write_figures(path: Path, task: str, figures: Mapping[str, Any]) -> None:
    """Write figures of a task; they are on disk when this returns."""
    part = path.with_suffix(path.suffix + "-part")
    with writing_to(path):
        part.write_text(json.dumps({"digest": _digest(path, task, figures), **figures}), encoding="ascii")
        flush(part)
        os.replace(part, path)
        flush(path.parent)


def read_figures(path: Path, task: str) -> dict[str, Any] | None:
    """Read the figures in a file, if there is one; they must have been written to this file and for this task."""
    try:
        figures = json.loads(path.read_text(encoding="ascii"))
        digest = figures.pop("digest")
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise damaged(path, "expected JSON with a digest") from None
    expected = _digest(path, task, figures)
    if digest != expected:
        raise damaged(path, f"expected digest {expected}, found {digest}")
    return dict(figures)


def task_digest(task: Mapping[str, Any]) -> str:
    """A short name for a task, for the digests of its files."""
    return hashlib.sha256(json.dumps(task, sort_keys=True).encode()).hexdigest()


def _digest(path: Path, task: str, figures: Mapping[str, Any]) -> str:
    return hashlib.sha256("\n".join([path.name, task, json.dumps(figures)]).encode()).hexdigest()


def damaged(path: Path, what: str) -> CorruptBlockError:
    """The error for a component's file that is not as it was written; the message says what to do about it."""
    again = f"remove {path.with_suffix('.*')}, and --resume will solve this component again"
    return CorruptBlockError(f"{path}: damaged: {what}; {again}")


@contextmanager
def writing_to(path: Path) -> Iterator[None]:
    """Turn a failure to write, such as a full disk, into one line that names the file."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise ResourceError(f"{path}: cannot be written: {reason}; --resume continues this solve") from error
