"""Where a database is written: a hidden directory beside the target that replaces it in one step.

The database `games/three` is written in `games/.three.madn-part`. Once that is complete and on disk, the two
directories are exchanged and the old database is removed. (If the system cannot exchange directories, the old database
is first moved to `games/.three.madn-old`.) A process that is killed leaves the old database or the new one. The next
writer removes whatever else is left or, if it has the same task, resumes the work. Work of another task that could be
resumed is never removed: the writer is refused.
"""

import ctypes
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from madn.errors import CorruptBlockError, MadnError, OutputError, ResourceError
from madn.machine import flush, free_disk, lock_directory
from madn.store.catalogue import is_catalogue
from madn.store.journal import Journal
from madn.store.records import CATALOGUE, SUMS

JOURNAL = "journal"  # lists what is done so far; not part of a database
VALUES = re.compile(r"values-[0-9]{4,}\.madn")
OURS = re.compile(rf"{re.escape(CATALOGUE)}|{SUMS}|{VALUES.pattern}")
Task = Mapping[str, Any]


def check_writable(path: str | os.PathLike[str], task: Task | None = None) -> None:
    """Raise `OutputError` if a database cannot be written at `path`, or if there is unfinished work of another task.

    Unfinished work is left untouched.
    """
    try:
        target = Path(os.path.realpath(path))
        part = part_of(target)
        check_replaceable(target)
        os.rmdir(tempfile.mkdtemp(prefix=f".{target.name}.madn-", dir=target.parent))
        lock = _lock(part) if part.is_dir() else None
        if lock is not None:
            os.close(lock)
        _begun(part, task)
    except MadnError:
        raise
    except (OSError, ValueError) as error:
        raise OutputError(f"{path}: cannot write here: {getattr(error, 'strerror', None) or error}") from None


def check_room(needs: Iterable[tuple[Sequence[str | os.PathLike[str]], int]]) -> None:
    """Raise ResourceError unless groups of directories can each grow to a size; some may share a disk.

    Each of `needs` is one or more directories and the bytes that they need together. What the directories, and the
    workplaces beside them, already contain counts towards that.
    """
    wanted: dict[int, tuple[list[str], int, int]] = {}
    for paths, size in needs:
        targets = [Path(os.path.realpath(path)) for path in paths]
        present = sum(bytes_in(directory) for target in targets for directory in (target, part_of(target)))
        disk = disk_of(paths[0])
        names, total, free = wanted.get(disk.device, ([], 0, disk.free))
        wanted[disk.device] = [*names, *map(str, paths)], total + max(0, size - present), free
    for names, total, free in wanted.values():
        if free < total:
            raise ResourceError(f"{', '.join(names)}: {total:,} bytes are needed, {free:,} are free on this disk")


class Disk(NamedTuple):
    """A disk, and the bytes that are free on it."""

    device: int
    free: int


def disk_of(path: str | os.PathLike[str]) -> Disk:
    """The disk that a directory is on, or would be."""
    target = Path(os.path.realpath(path))
    there = next(directory for directory in (target, *target.parents) if directory.exists())
    return Disk(there.stat().st_dev, free_disk(there))


def published(path: str | os.PathLike[str]) -> bool:
    """Whether a complete database is at `path`; if so, what is left of its workplace is removed."""
    target = Path(os.path.realpath(path))
    if (part_of(target) / JOURNAL).exists() or not is_catalogue(target / CATALOGUE):
        return False
    _drop_journal(target)
    _remove(part_of(target))
    return True


def bytes_in(directory: Path) -> int:
    """The bytes of all files in a directory."""
    try:
        return sum(entry.stat(follow_symlinks=False).st_size for entry in os.scandir(directory))
    except OSError:
        return 0  # missing or unreadable: whoever opens it reports that


def part_of(target: Path) -> Path:
    """Where a database is written until it is complete."""
    return target.with_name(f".{target.name}.madn-part")


@contextmanager
def workplace(
    path: str | os.PathLike[str],
    task: Task | None = None,
    command: str = "",
    keep: bool = False,
    check: Callable[[Path], None] | None = None,
) -> Iterator["Workplace"]:
    """A directory beside `path` in which only this process writes; it is removed afterwards.

    It is empty, unless an interrupted process left it with the same `task`, which contains all that the result depends
    on. If there is unfinished work of another task, `OutputError` is raised. `command` is the command line that resumes
    this work. A directory with a task stays if this process is interrupted and, with `keep`, also if it fails. `check`
    raises if what is at the target must not be replaced; without it, only a database is replaced.
    """
    try:
        work = Workplace(Path(os.path.realpath(path)), task, command, check or check_replaceable)
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

    With a task it has a file `journal`, whose first line is the task. The journal is removed only when the database is
    in its place: without it, nobody could use what is in a workplace.
    """

    def __init__(self, target: Path, task: Task | None, command: str, check: Callable[[Path], None]) -> None:
        if not target.name:
            raise OutputError(f"{target}: a directory with a name is needed")
        self.target = target
        self._check = check
        self.part = part_of(target)
        self.old = target.with_name(f".{target.name}.madn-old")
        self.journal = self.part / JOURNAL
        self._locks = [self._occupy()]
        try:
            self._recover()
            self._check(target)
            begun = _begun(self.part, task)
            for name in os.listdir(self.part):
                if not begun or (name != JOURNAL and not VALUES.fullmatch(name)):
                    _remove(self.part / name)
            if task is not None and not begun:
                with open(self.journal, "xb") as file:
                    Journal(file).append({"task": task, "command": command, "place": self.part.name})
        except BaseException:
            self.close(keep=True)
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
        """Undo or complete the steps of `publish`, if a writer was killed between them."""
        _drop_journal(self.target)
        if self.old.is_dir() and not self.target.exists():
            os.rename(self.old, self.target)
        else:
            _remove(self.old)

    def publish(self) -> None:
        """Flush what was written and replace the target with it, in one step if the system can."""
        for name in sorted(os.listdir(self.part)):
            flush(self.part / name)
        flush(self.part)
        self._check(self.target)
        exchanged = self.target.exists()
        if exchanged:
            self._locks.append(_lock(self.target))  # so that no other writer takes it over after the exchange
            exchanged = _exchange(self.part, self.target)
            if not exchanged:
                os.rename(self.target, self.old)
        if not exchanged:
            os.rename(self.part, self.target)
        flush(self.target.parent)
        _drop_journal(self.target)
        if not exchanged:  # otherwise the old database is in the workplace now, and is removed with it
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
        """Whether there is nothing in the workplace, or only a task."""
        return set(os.listdir(self.part)) <= {JOURNAL} and not _task_of(self.part)[1]

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
    foreign = [name for name in names if not OURS.fullmatch(name) and not (name == JOURNAL and _task_of(target)[0])]
    if foreign:
        raise OutputError(f"{target}: not replaced: {foreign[0]!r} is not part of a database")
    if names and not is_catalogue(target / CATALOGUE):
        raise OutputError(f"{target}: not replaced: {CATALOGUE} is not a catalogue of madn")


def remove_database(path: Path) -> None:
    """Remove a database, intact or damaged, so that it vanishes in one step; `OutputError` if it is anything else."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(mode):
        raise OutputError(f"{path}: this is a file; a database is a directory")
    foreign = [name for name in sorted(os.listdir(path)) if not OURS.fullmatch(name)]
    if foreign:
        raise OutputError(f"{path}: not removed: {foreign[0]!r} is not part of a database")
    old = path.with_name(f".{path.name}.madn-old")
    _remove(old)
    os.rename(path, old)
    _remove(old)


def remove_leftovers(directory: Path, names: re.Pattern[str]) -> None:
    """Remove what killed writers of databases with such names have left behind.

    No writer may be at work now. On Windows, where no lock on the directory can ensure that, nothing is removed.
    """
    if sys.platform == "win32":
        return
    for name in os.listdir(directory):
        found = re.fullmatch(r"\.(.+)\.madn-[^.]+", name)
        if found is not None and names.fullmatch(found[1]):
            _remove(directory / name)


def _begun(part: Path, task: Task | None) -> bool:
    """Whether this task was begun in a workplace; raises if another one was and has stored blocks there."""
    journal = part / JOURNAL
    if not journal.exists():
        return False
    begun, more = _task_of(part)
    if begun is None:
        if not more and not any(VALUES.fullmatch(entry.name) and entry.stat().st_size for entry in os.scandir(part)):
            return False  # killed when it had just begun
        reason = "damaged, or of another version of madn: the first line does not match its digest"
        raise CorruptBlockError(f"{journal}: {reason}; to start over, remove {part}")
    if begun.get("place") != part.name:
        other = begun.get("place", "another version of madn")
        raise CorruptBlockError(f"{journal}: this is the journal of {other}; to start over, remove {part}")
    if begun["task"] != task and more:
        advice = f"`{begun['command']}` resumes it; to start over, remove that directory"
        raise OutputError(f"{part}: holds the unfinished work of another command: {advice}")
    return bool(begun["task"] == task)


def _task_of(directory: Path) -> tuple[dict[str, Any] | None, bool]:
    """The first line of a directory's journal, with task and command, or None; and whether there are more lines."""
    try:
        with open(directory / JOURNAL, "rb") as file:
            return next(Journal(file).lines(), None), file.read(1) != b""
    except OSError:
        return None, False


def _drop_journal(target: Path) -> None:
    """Remove the journal of a database that is in its place now."""
    if _task_of(target)[0]:
        (target / JOURNAL).unlink()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


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
