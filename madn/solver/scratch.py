"""The scratch directory of a solve: solved components, the one in work, and who is at it.

| file | holds |
|---|---|
| `plan.json` | what is being solved; another solve is refused |
| `NN.values` | component NN in the order of the plan: its strips (`strips.py`) |
| `NN.done` | its figures, once it is solved |
| `NN.stored` | what was counted when it was handed over, once it is; its values go when nothing needs them any more |
| `NN.work`, `NN.captures0`, `NN.captures1`, `NN.state` | a streamed component in work (`streamed.py`) |
"""

import json
import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from madn.errors import CorruptBlockError, OutputError, ResourceError
from madn.machine import lock_directory
from madn.solver.components import Component, Matrices, Solved
from madn.solver.graph import Pair, users
from madn.solver.plan import Plan
from madn.solver.sides import Side
from madn.solver.streamed import write_whole
from madn.solver.strips import StripFile, Tiling

FORMAT = 4
TASK = "plan.json"
OURS = re.compile(r"[0-9]{3,}\.[0-9a-z.-]+")


def check_scratch(path: str | os.PathLike[str]) -> None:
    """Raise `OutputError` unless there is a directory at `path` that can be written to, or one can be made."""
    directory = Path(path).absolute()
    there = next(place for place in (directory, *directory.parents) if os.path.lexists(place))
    if not there.is_dir():
        raise OutputError(f"{path}: not a directory for scratch files: {there} is a file")
    if not os.access(there, os.W_OK | os.X_OK):
        raise OutputError(f"{path}: not a directory for scratch files: {there} cannot be written to")


@contextmanager
def scratch_directory(plan: Plan) -> Iterator["Scratch"]:
    """Give the scratch directory of a plan to this process alone, checked and ready; it stays when this fails."""
    assert plan.scratch is not None
    directory = Path(plan.scratch)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = lock_directory(directory.resolve())
    except BlockingIOError:
        raise ResourceError(f"{directory}: another solve is at work in this scratch directory") from None
    except OSError as error:
        raise OutputError(f"{directory}: not a directory for scratch files: {error.strerror}") from None
    try:
        yield Scratch(plan, directory)
    finally:
        if lock is not None:
            os.close(lock)


class Scratch:
    """The files of a solve."""

    def __init__(self, plan: Plan, directory: Path) -> None:
        self.plan, self.directory = plan, directory
        self.pairs = plan.pairs
        self.sides = {f: Side(plan.rules, f) for pair in self.pairs for f in pair}
        self._tilings: dict[Pair, Tiling] = {}
        self.finished: Any = None  # what `finish` noted in an earlier run
        self._check_task()

    def _check_task(self) -> None:
        plan = self.plan
        task = {"format": FORMAT, **plan.task(), "census": plan.census}
        path = self.directory / TASK
        found = sorted(os.listdir(self.directory))
        if not found:
            write_whole(path, json.dumps(task))
            return
        if TASK not in found:
            raise ResourceError(f"{self.directory}: not a scratch directory of madn: it holds {found[0]!r}")
        try:
            earlier = json.loads(path.read_text(encoding="ascii"))
        except ValueError:
            raise CorruptBlockError(f"{path}: not the plan of a solve") from None
        if not isinstance(earlier, dict) or earlier.get("format") != FORMAT:
            raise ResourceError(f"{self.directory}: the work of another version of madn; use another directory")
        rules = earlier.get("rules")
        there = {**earlier, **(rules if isinstance(rules, dict) else {})}
        for name, value in {**asdict(plan.rules), **task}.items():
            if there.get(name) != value:
                raise ResourceError(
                    f"{self.directory}: holds the work of another solve, with {name} {there.get(name)} instead of "
                    f"{value}; use another directory"
                )
        self.finished = earlier.get("finished") if plan.resume else None
        if not plan.resume and any(name != TASK for name in found):
            raise ResourceError(f"{self.directory}: holds work that was begun; --resume goes on with it")

    def finish(self, last: dict[str, Any]) -> None:
        """Note that everything is solved and delivered, and what is left to publish: only `clear` comes after that."""
        task = json.loads((self.directory / TASK).read_text(encoding="ascii"))
        write_whole(self.directory / TASK, json.dumps({**task, "finished": last}))

    def path(self, pair: Pair, suffix: str) -> Path:
        """The file of a component."""
        return self.directory / f"{self.pairs.index(pair):03}.{suffix}"

    def clear(self) -> None:
        """Remove all files of the solve; its plan goes last."""
        for name in sorted(os.listdir(self.directory), key=lambda name: name == TASK):
            if name == TASK or OURS.fullmatch(name):
                (self.directory / name).unlink()

    def done(self, pair: Pair) -> dict[str, Any] | None:
        """The figures of a component, if it is solved."""
        return self._figures(self.path(pair, "done"))

    def stored(self, pair: Pair) -> dict[str, Any] | None:
        """What was counted of a component, if it was delivered."""
        return self._figures(self.path(pair, "stored"))

    def mark_stored(self, pair: Pair, counted: dict[str, Any]) -> None:
        """Note that a component was delivered; remove the values that nothing needs any more."""
        write_whole(self.path(pair, "stored"), json.dumps(counted))
        for other in self.pairs:
            needing = users(self.plan.rules, other, self.pairs)
            if all(self.stored(user) is not None for user in [other, *needing]):
                self.path(other, "values").unlink(missing_ok=True)

    def _figures(self, path: Path) -> dict[str, Any] | None:
        try:
            figures = json.loads(path.read_text(encoding="ascii"))
        except FileNotFoundError:
            return None
        except ValueError:
            raise CorruptBlockError(f"{path}: not the figures of a component") from None
        return dict(figures)

    def tiling(self, pair: Pair) -> Tiling:
        """How the file of a solved component is laid out: its smaller side as rows, where they differ."""
        if pair not in self._tilings:
            f, g = pair
            self._tilings[pair] = Tiling(self.sides[g], self.sides[f], self.plan.threads)
        return self._tilings[pair]

    def open(self, pair: Pair) -> StripFile:
        """The file of a solved component."""
        return StripFile(self.path(pair, "values"), self.tiling(pair), self.plan.representation.dtype)

    def save(self, pair: Pair, component: Component, solved: Solved, figures: dict[str, Any]) -> None:
        """Write a solved component; it counts as solved once its figures are there."""
        if not self._in_place(pair):
            path, tiling = self.path(pair, "values"), self.tiling(pair)
            with StripFile(path, tiling, self.plan.representation.dtype, create=True) as file:
                component.store(file, solved)
        write_whole(self.path(pair, "done"), json.dumps(figures))
        for suffix in ("state", "work", "captures0", "captures1"):
            self.path(pair, suffix).unlink(missing_ok=True)

    def _in_place(self, pair: Pair) -> bool:
        """Whether a component is solved in the file where it stays: a streamed one whose sides are alike."""
        return pair in self.plan.streamed and pair[0] == pair[1]

    def load(self, own: int, other: int) -> Matrices:
        """The whole of a solved component, with the side that has the finish zone `own` as rows."""
        representation, threads = self.plan.representation, self.plan.threads
        with self.open(self.pair_of(own, other)) as file:
            rows, columns = file.tiling.rows, file.tiling.columns
            if own == other:
                matrices = Matrices.mirrored(rows, representation)
            else:
                matrices = Matrices.full(rows.size, columns.size, representation)
            with ThreadPoolExecutor(threads) as pool:
                work = [pool.submit(_bring, file, strip, matrices) for strip in range(file.tiling.strips)]
            for done in work:
                done.result()
        if own == other:
            return matrices.unfolded(representation, threads)
        return matrices if rows.finish == own else matrices.transposed(columns.size, representation, threads)

    def pair_of(self, own: int, other: int) -> Pair:
        """The component of two finish zones."""
        return next(pair for pair in self.pairs if set(pair) == {own, other})


def _bring(file: StripFile, strip: int, to: Matrices) -> None:
    file.tiling.unpack(strip, file.read(strip), to.L, to.R, to.start)
