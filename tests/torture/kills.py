"""Signals at random moments, wrong commands in between, then the right command.

The databases must be those of a run that nothing disturbed, and work that was done must be there after every step.
"""

import signal

from torture.case import BrokenError, Case
from torture.processes import LIMIT, Child, Ended, command, judged, start
from torture.tasks import TASKS, Right, impatient_main, source_of

SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def kills(case: Case) -> None:
    """One task, a few stops, some wrong commands, and the end."""
    task = case.chosen(TASKS)
    right = Right.of(case, task)
    case.count(task.name)
    before = right.work(case.directory)
    for _ in range(case.rng.randint(2, 6)):
        ended = _disturbed(case, right.now(case.directory), right.seconds * case.rng.choice((0.5, 1.0, 1.5)))
        before = _checked(case, right, before, ended)
        if ended.status == 0:
            right.check_complete(case.directory, ended)
            case.count("completed meanwhile")
        while case.rng.random() < 0.5 and (not task.resumes or _begun(before)):
            wrong = case.chosen(task.wrong_commands(source_of(case)))
            limit = right.seconds * 3 if case.rng.random() < 0.5 else None
            ended = _disturbed(case, wrong, limit)
            case.count("wrong commands")
            before = _checked(case, right, before, ended)
    ended = judged(_begin(case, right.now(case.directory), False).end())
    right.check_complete(case.directory, ended)
    left = [
        path.name for path in case.directory.iterdir() if path.name in {f".{db}.madn-part" for db in task.databases}
    ]
    if left:
        raise BrokenError("other", f"{ended.what}: {', '.join(left)} is left")


def _begun(work: dict[str, float]) -> bool:
    """Whether there is work that a wrong command could destroy, at every place where it could."""
    return all(0 < count < float("inf") for count in work.values())  # what is published may be replaced


def _disturbed(case: Case, args: list[str], within: float | None) -> Ended:
    """Run a command and send it a signal within some time; None leaves it alone."""
    fresh = case.rng.random() < 0.15
    child = _begin(case, args, fresh)
    if within is None:
        return judged(child.end())
    moment = case.rng.uniform(0, within + (1.0 if fresh else 0.0))
    number = case.chosen(SIGNALS)
    if not child.poll(moment):
        case.log(f"{number.name} after {moment:.3f} s")
        case.count(number.name)
        child.send(number)
    ended = child.end(LIMIT)
    if fresh and number == signal.SIGINT and "/madn/" not in ended.err and "KeyboardInterrupt" in ended.err:
        case.count("Ctrl-C before Python had begun")  # nothing of madn was loaded
        return Ended(ended.what, 130, "", "", ended.sent)
    judged(ended)
    if child.sent == signal.SIGINT and ended.status not in {0, 1, 2, 3, 130, -signal.SIGINT}:
        raise BrokenError("other", f"{ended.what}: status {ended.status} after SIGINT")
    return ended


def _begin(case: Case, args: list[str], fresh: bool) -> Child:
    if fresh or args[0] != "cantstop":
        return command(case, args, fresh=fresh)
    what = "madn " + " ".join(args)
    case.log(what)
    return start(case, what, lambda: impatient_main(args))


def _checked(case: Case, right: Right, before: dict[str, float], ended: Ended) -> dict[str, float]:
    """After each step: no work is lost; what is published is right, or of a wrong command that had a free place."""
    now = right.work(case.directory)
    check_work(before, now, f"{ended.what} (status {ended.status})")
    if right.task.resumes:
        right.check_published(case.directory)
    return now


def check_work(before: dict[str, float], now: dict[str, float], what: str) -> None:
    """Raise BrokenError if less work is there than before."""
    for part, count in before.items():
        if now[part] < count:
            raise BrokenError("lost work", f"after {what}: {now[part]:g} {part}, there were {count:g}")
