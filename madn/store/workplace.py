"""Where a database is written: a hidden directory beside the target that replaces it in one step.

The database `games/three` is written in `games/.three.madn-part`. Once that is complete and on disk, the two
directories are exchanged and the old database is removed. (Where the system has no such exchange, the old database is
moved to `games/.three.madn-old` first.) A process that is killed leaves the old database or the new one; the next
writer removes the rest or, if it has the same task, goes on with it.
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
from madn.machine import free_disk, lock_directory
from madn.store.catalogue import is_catalogue
from madn.store.records import CATALOGUE, SUMS

JOURNAL = "journal"  # what is done so far; not part of a database
VALUES = re.compile(r"values-[0-9]{4,}\.madn")
OURS = re.compile(rf"{re.escape(CATALOGUE)}|{SUMS}|{VALUES.pattern}")


def check_writable(path: str | os.PathLike[str], disk_bytes: int = 0) -> None:
    """Raise if a database of `disk_bytes` cannot be written at `path`; work that was begun there is left alone.

    `OutputError` if the path cannot be used, `ResourceError` if the disk has too little room.
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
    """Raise ResourceError unless each directory can grow to its number of bytes; several may share a disk.

    What a directory has already, or the workplace of the database that is to be there, counts towards it.
    """
    wanted: dict[int, tuple[list[str], int, int]] = {}
    for path, size in needs:
        target = Path(os.path.realpath(path))
        present = sum(bytes_in(directory) for directory in (target, _part_of(target)))
        disk = next(directory for directory in (target, *target.parents) if directory.exists())
        names, total, free = wanted.get(disk.stat().st_dev, ([], 0, free_disk(disk)))
        wanted[disk.stat().st_dev] = [*names, str(path)], total + max(0, size - present), free
    for names, total, free in wanted.values():
        if free < total:
            raise ResourceError(f"{', '.join(names)}: {total:,} bytes are needed, {free:,} are free on this disk")


def published(path: str | os.PathLike[str]) -> bool:
    """Whether there is a database at `path`, and no unfinished work on another."""
    target = Path(os.path.realpath(path))
    return not (_part_of(target) / JOURNAL).exists() and is_catalogue(target / CATALOGUE)


def bytes_in(directory: Path) -> int:
    """The bytes of all files in a directory."""
    try:
        return sum(entry.stat(follow_symlinks=False).st_size for entry in os.scandir(directory))
    except OSError:
        return 0  # missing or unreadable: whoever opens it reports that


def _part_of(target: Path) -> Path:
    return target.with_name(f".{target.name}.madn-part")


@contextmanager
def workplace(path: str | os.PathLike[str], task: str | None = None, keep: bool = False) -> Iterator["Workplace"]:
    """A directory beside `path` to write in, for this process alone; it is removed afterwards.

    It is empty, unless a process that was stopped left it with the same `task`: one line of text that says all that
    the result depends on. A directory with a task stays if this process is interrupted; with `keep`, also if it fails.
    """
    try:
        work = Workplace(Path(os.path.realpath(path)), task)
    except MadnError:
        raise
    except (OSError, ValueError) as error:
        raise OutputError(f"{path}: cannot write here: {getattr(error, 'strerror', None) or error}") from None
    try:
        yield work
    except Exception:
        work.close(keep)
        raise
    except BaseException:
        work.close(keep or task is not None)
        raise
    work.close()


class Workplace:
    """The directory `part`, which becomes the database `target` when `publish` is called.

    With a task it has a file `journal`, whose first line is the task.
    """

    def __init__(self, target: Path, task: str | None = None) -> None:
        if not target.name:
            raise OutputError(f"{target}: a database needs a name")
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
        """Create the directory `part` and lock it; the lock is released when the process ends, however it ends."""
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
        """Undo or complete the two renames of `publish`, if a writer was killed between them."""
        if self.old.is_dir() and not self.target.exists():
            os.rename(self.old, self.target)
        else:
            _remove(self.old)

    def _begun(self, task: str) -> bool:
        """Whether a task was begun here; if so, everything but its blocks and journal is removed."""
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
        """Flush what was written and replace the target with it, in one step where the system can."""
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
        """Remove the workplace and its content, unless it has become the database or is to be kept."""
        if self._locks:
            with suppress(OSError):  # the next writer removes what is left
                if not keep or self._just_begun():
                    _remove(self.part)
            self._leave()

    def _just_begun(self) -> bool:
        """Whether there is nothing but a task in the workplace."""
        return os.listdir(self.part) == [JOURNAL] and self.journal.read_bytes().count(b"\n") <= 1

    def _leave(self) -> None:
        for lock in self._locks:
            if lock is not None:
                os.close(lock)
        self._locks = []


def _lock(directory: Path) -> int | None:
    """Lock a directory for this process (None on Windows); `OutputError` if another process has it."""
    try:
        return lock_directory(directory)
    except BlockingIOError:
        raise OutputError(f"{directory}: another process is writing here") from None


def check_replaceable(target: Path) -> None:
    """Raise `OutputError` if anything but a database of madn would be lost at `target`."""
    try:
        mode = target.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(mode):
        raise OutputError(f"{target}: this is a file; a database is a directory")
    names = sorted(os.listdir(target))
    foreign = [name for name in names if not OURS.fullmatch(name)]
    if foreign:
        raise OutputError(f"{target}: not replaced: {foreign[0]!r} is not part of a database")
    if names and not is_catalogue(target / CATALOGUE):
        raise OutputError(f"{target}: not replaced: {CATALOGUE} is not a catalogue of madn")


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
