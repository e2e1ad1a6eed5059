"""Where a database is written: a hidden directory beside the target, put in its place in one step.

For the target `games/three` the work happens in `games/.three.madn-part`. Once that is complete and on disk
it changes places with the target, and the old database is removed. (A system that cannot exchange directories
moves the old one to `games/.three.madn-old` first.) A process that is killed leaves the old database or the
new one, and the next writer clears away the rest or, if it has the same task, goes on with it.
"""

import ctypes
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from madn.errors import MadnError, OutputError, ResourceError
from madn.store.catalogue import is_catalogue
from madn.store.records import CATALOGUE, SUMS

if sys.platform != "win32":
    import fcntl

JOURNAL = "journal"  # how far the work has come; not part of a database
VALUES = re.compile(r"values-[0-9]{4,}\.madn")
OURS = re.compile(rf"{re.escape(CATALOGUE)}|{SUMS}|{VALUES.pattern}")


def check_writable(path: str | os.PathLike[str], disk_bytes: int = 0) -> None:
    """Raise if a database of `disk_bytes` cannot be written at `path`; work that was begun there is left alone.

    `OutputError` if the place cannot be used, `ResourceError` if the disk has too little room.
    """
    try:
        target = Path(os.path.realpath(path))
        part = _part_of(target)
        check_replaceable(target)
        os.rmdir(tempfile.mkdtemp(prefix=f".{target.name}.madn-", dir=target.parent))
        lock = _lock(part) if part.is_dir() else None
    except MadnError:
        raise
    except (OSError, ValueError) as error:
        raise OutputError(f"{path}: cannot write here: {getattr(error, 'strerror', None) or error}") from None
    if lock is not None:
        os.close(lock)
    check_room([(path, disk_bytes)])


def check_room(needs: Iterable[tuple[str | os.PathLike[str], int]]) -> None:
    """Raise ResourceError unless directories can grow to so many bytes each; some may be on one disk.

    What is in a directory already, or in the workplace of a database that is to be there, counts.
    """
    wanted: dict[int, tuple[list[str], int, int]] = {}
    for path, size in needs:
        target = Path(os.path.realpath(path))
        there = sum(_bytes_in(place) for place in (target, _part_of(target)))
        disk = next(place for place in (target, *target.parents) if place.exists())
        names, total, free = wanted.get(disk.stat().st_dev, ([], 0, shutil.disk_usage(disk).free))
        wanted[disk.stat().st_dev] = [*names, str(path)], total + max(0, size - there), free
    for names, total, free in wanted.values():
        if free < total:
            raise ResourceError(f"{', '.join(names)}: {total:,} bytes are needed, {free:,} are free on this disk")


def published(path: str | os.PathLike[str]) -> bool:
    """Whether no work on a database at `path` is left, and there is one."""
    target = Path(os.path.realpath(path))
    return not (_part_of(target) / JOURNAL).exists() and is_catalogue(target / CATALOGUE)


def _bytes_in(directory: Path) -> int:
    try:
        return sum(entry.stat(follow_symlinks=False).st_size for entry in os.scandir(directory))
    except OSError:
        return 0  # not there, or none of ours: whoever uses it says so


def _part_of(target: Path) -> Path:
    return target.with_name(f".{target.name}.madn-part")


@contextmanager
def workplace(path: str | os.PathLike[str], task: str | None = None, keep: bool = False) -> Iterator["Workplace"]:
    """Give a directory beside `path` to write in, for this process alone; remove it afterwards.

    It is empty, unless a process that was stopped left it with the same `task`: one line of text that says
    all the result depends on. A directory with a task is removed only when the work is done or has failed; with
    `keep` also when it failed.
    """
    try:
        place = Workplace(Path(os.path.realpath(path)), task)
    except MadnError:
        raise
    except (OSError, ValueError) as error:
        raise OutputError(f"{path}: cannot write here: {getattr(error, 'strerror', None) or error}") from None
    try:
        yield place
    except Exception:
        place.close(keep)
        raise
    except BaseException:
        place.close(keep or task is not None)
        raise
    place.close()


class Workplace:
    """The directory `part` that becomes the database `target` when `publish` is called.

    With a task it has the file `journal`, whose first line is the task.
    """

    def __init__(self, target: Path, task: str | None = None) -> None:
        if not target.name:
            raise OutputError(f"{target}: not a place for a database")
        self.target = target
        self.part = _part_of(target)
        self.old = target.with_name(f".{target.name}.madn-old")
        self.journal = self.part / JOURNAL
        self._locks = [self._occupy()]
        try:
            self._recover()
            check_replaceable(target)
            if task is None or not self._begun(task):
                _clear(self.part)
                if task is not None:
                    self.journal.write_text(f"{task}\n", encoding="utf-8", newline="\n")
        except BaseException:
            self.close()
            raise

    def _occupy(self) -> int | None:
        """Make the directory `part` and lock it; the lock ends with the process, however that ends."""
        while True:
            with suppress(FileExistsError):
                os.mkdir(self.part)
            lock = _lock(self.part)
            if lock is None:
                return None
            try:
                if os.path.samestat(os.fstat(lock), os.lstat(self.part)):
                    return lock
            except FileNotFoundError:
                pass  # its owner has just published or removed it: try again
            os.close(lock)

    def _recover(self) -> None:
        """Undo or finish what a writer left that was killed between the two renames of `publish`."""
        if self.old.is_dir() and not self.target.exists():
            os.rename(self.old, self.target)
        else:
            _remove(self.old)

    def _begun(self, task: str) -> bool:
        """Whether the work on a task was begun here; if so, what came after its blocks is removed."""
        try:
            with open(self.journal, encoding="utf-8", errors="replace", newline="\n") as journal:
                begun = journal.readline() == f"{task}\n"
        except OSError:
            return False
        if begun:
            for name in os.listdir(self.part):
                if name != JOURNAL and not VALUES.fullmatch(name):
                    _remove(self.part / name)
        return begun

    def publish(self) -> None:
        """Flush what was written and put it in the place of the target, in one step where the system can."""
        self.journal.unlink(missing_ok=True)
        for name in sorted(os.listdir(self.part)):
            _flush(self.part / name)
        _flush(self.part)
        check_replaceable(self.target)
        if not self.target.exists():
            os.rename(self.part, self.target)
            _flush(self.target.parent)
            self._leave()
            return
        self._locks.append(_lock(self.target))  # so that no other writer moves in after the exchange
        if _exchange(self.part, self.target):
            _flush(self.target.parent)
            return  # the old database is in the workplace now, and goes with it
        os.rename(self.target, self.old)
        os.rename(self.part, self.target)
        _flush(self.target.parent)
        with suppress(OSError):
            _remove(self.old)
        self._leave()

    def close(self, keep: bool = False) -> None:
        """Remove the workplace and whatever is in it, unless it has become the database or is to be kept."""
        if self._locks:
            with suppress(OSError):  # what stays behind is cleared by the next writer
                if not keep or self._just_begun():
                    _remove(self.part)
            self._leave()

    def _just_begun(self) -> bool:
        """Whether there is nothing but a task here."""
        return os.listdir(self.part) == [JOURNAL] and self.journal.read_bytes().count(b"\n") <= 1

    def _leave(self) -> None:
        for lock in self._locks:
            if lock is not None:
                os.close(lock)
        self._locks = []


def _lock(directory: Path) -> int | None:
    """Lock a directory for this process (None on Windows); `OutputError` if another process has it."""
    if sys.platform == "win32":
        return None
    lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise OutputError(f"{directory}: another process is writing here") from None
    return lock


def check_replaceable(target: Path) -> None:
    """Raise `OutputError` unless nothing would be lost at `target` but a database of madn."""
    try:
        mode = target.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(mode):
        raise OutputError(f"{target}: there is a file of this name; a database is a directory")
    names = sorted(os.listdir(target))
    foreign = [name for name in names if not OURS.fullmatch(name)]
    if foreign:
        raise OutputError(f"{target}: not replaced, it holds {foreign[0]!r}, which is not part of a database")
    if names and not is_catalogue(target / CATALOGUE):
        raise OutputError(f"{target}: not replaced, it is not a database of madn")


def _clear(directory: Path) -> None:
    for name in os.listdir(directory):
        _remove(directory / name)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    """Wait until a file or directory is on disk."""
    if sys.platform == "win32" and path.is_dir():
        return  # directories cannot be flushed there
    descriptor = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _exchange(a: Path, b: Path) -> bool:
    """Swap two directories in one step; False if this system cannot."""
    if sys.platform == "linux":
        name, arguments = "renameat2", (-100, os.fsencode(a), -100, os.fsencode(b), 2)  # AT_FDCWD, EXCHANGE
    elif sys.platform == "darwin":
        name, arguments = "renamex_np", (os.fsencode(a), os.fsencode(b), 2)  # RENAME_SWAP
    else:
        return False
    function = getattr(ctypes.CDLL(None), name, None)
    return function is not None and function(*arguments) == 0
