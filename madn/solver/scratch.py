"""The scratch directory of a solve: solved components and the one in work, for one process at a time.

| file | holds |
|---|---|
| `plan.json` | what is being solved, and the command that continues it; any other solve is refused |
| `NN.values` | component NN in the order of the plan: its strips (`strips.py`) |
| `NN.choices` | its best moves, if they are wanted and it is large (`choices.py`) |
| `NN.done` | its figures, and the checksums of its values and best moves, once it is solved |
| `NN.stored` | what was counted, once it is delivered; its values are removed when nothing needs them any more |
| `NN.lower`, `NN.widths` | its proved bounds (`layers.py`), which replace its values once `NN.stored` is there |
| `NN.lower-work`, `NN.upper-work`, `NN.captures0`, `NN.captures1` | a component whose bounds are being proved |
| `NN.work`, `NN.captures0`, `NN.captures1`, `NN.state` | a streamed component in work (`streamed.py`) |

Whatever is read was written by a solve of the same plan to the same file, or it is refused: values have checksums, the
other files digests (`figures.py`). A file that says something about another one is written once that one is on disk.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from madn.errors import CorruptBlockError, OutputError, PlanError, ResourceError
from madn.machine import lock_directory
from madn.solver.choices import ChoiceFile
from madn.solver.components import Component, Matrices, Solved
from madn.solver.figures import damaged, read_figures, task_digest, write_figures
from madn.solver.footprint import can_stream
from madn.solver.graph import Pair, exits, users
from madn.solver.layers import BoundsFile, Layer
from madn.solver.plan import Plan
from madn.solver.sides import Side
from madn.solver.strips import StripFile, Tiling

FORMAT = 8
TASK = "plan.json"
PART = "plan.json-part"  # a plan that was being written
OURS = re.compile(r"[0-9]{3,}\.[0-9a-z.-]+|plan\.json-part")


def check_scratch(path: str | os.PathLike[str]) -> None:
    """Raise `OutputError` unless there is a directory at `path` that can be written to, or one can be created."""
    directory = Path(path).absolute()
    there = next(place for place in (directory, *directory.parents) if os.path.lexists(place))
    if not there.is_dir():
        raise OutputError(f"{path}: not a directory for scratch files: {there} is a file")
    if not os.access(there, os.W_OK | os.X_OK):
        raise OutputError(f"{path}: not a directory for scratch files: {there} cannot be written to")


@contextmanager
def scratch_directory(plan: Plan, databases: Mapping[str, Any] | None = None, command: str = "") -> Iterator["Scratch"]:
    """Give this process sole use of a plan's scratch directory, checked and ready; it stays if the work fails.

    `databases` says what the results are stored in: unfinished work is continued only for the same ones. `command` is
    what a person types to continue it.
    """
    assert plan.scratch is not None
    directory = Path(plan.scratch)
    if plan.resume and not (directory / TASK).exists():
        raise PlanError(f"{directory}: there is nothing to resume; to begin, run the same command without --resume")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = lock_directory(directory.resolve())
    except BlockingIOError:
        raise ResourceError(f"{directory}: another solve is using this scratch directory") from None
    except OSError as error:
        raise OutputError(f"{directory}: not a directory for scratch files: {error.strerror}") from None
    try:
        yield Scratch(plan, directory, databases or {}, command)
    finally:
        if lock is not None:
            os.close(lock)


class Scratch:
    """The files of a solve."""

    def __init__(self, plan: Plan, directory: Path, databases: Mapping[str, Any], command: str) -> None:
        self.plan, self.directory = plan, directory
        self.pairs = plan.pairs
        self.sides = {f: Side(plan.rules, f) for pair in self.pairs for f in pair}
        self._tilings: dict[Pair, Tiling] = {}
        self._solved: set[Pair] = set()
        self._delivered: set[Pair] = set()
        self.finished: Any = None  # what `finish` noted in an earlier run
        work = {"for": plan.board, "census": plan.census, **databases, **plan.task()}
        self.task = task_digest(work)
        self._plan: dict[str, Any] = {"format": FORMAT, "work": work, "command": command}
        self._begin()

    def _begin(self) -> None:
        """Begin in a directory without earlier work, or continue the same work if that is wanted."""
        found = [name for name in sorted(os.listdir(self.directory)) if name != PART]
        earlier = self._earlier() if TASK in found else None
        if found and earlier is None:
            raise OutputError(f"{self.directory}: not a scratch directory of madn: it holds {found[0]!r}")
        if earlier is None or (found == [TASK] and "finished" not in earlier):
            write_figures(self.directory / TASK, "", self._plan)
            return
        again = f"`{earlier['command']}` resumes it; " if earlier["command"] else ""
        advice = f"{again}to start over, remove that directory"
        for name, value in _flat(self._plan["work"]).items():
            there = _flat(earlier["work"]).get(name)
            if there != value:
                difference = f"with {name} {there} instead of {value}"
                raise OutputError(f"{self.directory}: holds the work of another solve, {difference}: {advice}")
        if not self.plan.resume:
            raise OutputError(f"{self.directory}: holds unfinished work: {advice}")
        self._plan, self.finished = earlier, earlier.get("finished")

    def _earlier(self) -> dict[str, Any] | None:
        """What an earlier solve of this version wrote into its plan, if there was one."""
        path = self.directory / TASK
        try:
            earlier = read_figures(path, "")
        except CorruptBlockError as error:
            reason = str(error).partition(";")[0]
            raise CorruptBlockError(f"{reason}, or of another version of madn; use another directory") from None
        if earlier is not None and earlier.get("format") != FORMAT:
            raise OutputError(f"{self.directory}: the work of another version of madn; use another directory")
        return earlier

    def finish(self, last: dict[str, Any]) -> None:
        """Note that everything is solved and delivered, and what is left to publish; only `clear` comes after that."""
        write_figures(self.directory / TASK, "", {**self._plan, "finished": last})

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
        return read_figures(self.path(pair, "done"), self.task)

    def stored(self, pair: Pair) -> dict[str, Any] | None:
        """What was counted in a component, if it was delivered."""
        return read_figures(self.path(pair, "stored"), self.task)

    def mark_stored(self, pair: Pair, counted: dict[str, Any]) -> None:
        """Note that a component was delivered; remove the values that nothing needs any more."""
        write_figures(self.path(pair, "stored"), self.task, counted)
        for suffix in ("choices", "values") if self.plan.proved else ("choices",):
            self.path(pair, suffix).unlink(missing_ok=True)
        self._delivered.add(pair)
        self._discard()

    def _discard(self) -> None:
        """Remove the values of delivered components that no other component needs any more.

        A component needs those that its moves lead to until it is solved, or until it is delivered if its moves are
        compared then.
        """
        settled = {pair for pair in self._solved if pair in self._delivered or not self._compared_late(pair)}
        for other in self._delivered:
            if settled.issuperset(users(self.plan.rules, other, self.pairs)):
                for suffix in ("values", "lower", "widths"):
                    self.path(other, suffix).unlink(missing_ok=True)

    def mend(self, delivered: Callable[[Pair], bool]) -> None:
        """Find what is missing of earlier work, and forget that it was done.

        What was delivered to a database that has lost it is delivered again. To solve a component, or to deliver it if
        its moves are compared then, the values of the components that its moves lead to are needed; those whose values
        are gone are solved again.
        """
        needed: set[Pair] = set()
        for pair in reversed(self.pairs):  # the components that one needs come before it
            stored = self.stored(pair) is not None
            lost = self.plan.proved and pair in needed and not self._has_bounds(pair)
            if stored and (lost or not delivered(pair)):
                self.path(pair, "stored").unlink()
                stored = False
            solved = self.done(pair) is not None
            if solved and not self._has_files(pair, pair in needed, stored):
                self.path(pair, "done").unlink()
                solved = False
            if solved:
                self._solved.add(pair)
            if stored:
                self._delivered.add(pair)
            if not solved or (self._compared_late(pair) and not stored):
                (f, g), rules = pair, self.plan.rules
                needed |= {self.pair_of(x, g) for x in exits(rules, f)} | {self.pair_of(x, f) for x in exits(rules, g)}

    def _compared_late(self, pair: Pair) -> bool:
        """Whether the values of other components are needed when one is delivered: to compare moves, or to prove it."""
        return self.plan.proved or (self.plan.best_moves and not can_stream(self.plan.rules, *pair))

    def _has_files(self, pair: Pair, needed: bool, stored: bool) -> bool:
        """Whether what is still needed of a solved component is there: its values, its best moves."""
        done = self.done(pair) or {}
        values = done.get("sums") and ((needed and not self.plan.proved) or not stored)
        moves = "sums" in (done.get("choices") or {}) and not stored
        wanted = [name for name, is_wanted in (("values", values), ("choices", moves)) if is_wanted]
        return all(self.path(pair, name).exists() for name in wanted)

    def _has_bounds(self, pair: Pair) -> bool:
        """Whether the bounds of a proved component are there."""
        return all(self.path(pair, suffix).exists() for suffix in ("lower", "widths"))

    def tiling(self, pair: Pair) -> Tiling:
        """How the file of a solved component is laid out: its smaller side as rows, where they differ."""
        if pair not in self._tilings:
            f, g = pair
            self._tilings[pair] = Tiling(
                self.sides[g], self.sides[f], self.plan.representation.dtype, self.plan.threads
            )
        return self._tilings[pair]

    def open(self, pair: Pair, layer: Layer = Layer.MIDDLE) -> StripFile:
        """Open the file of a solved component; if its bounds are proved, a layer of them, in the view of its rows."""
        proved = self.stored(pair) if self.plan.proved else None
        if proved is not None:
            return BoundsFile(self.path(pair, "lower"), self.tiling(pair), layer, proved["sums"])
        path, figures = self.path(pair, "values"), self.done(pair)
        if figures is None:
            raise damaged(path, f"its figures, {self.path(pair, 'done').name}, are missing")
        return StripFile(path, self.tiling(pair), figures["sums"])

    def open_choices(self, pair: Pair) -> ChoiceFile | None:
        """The file with the best moves of a component, if it has one."""
        written = (self.done(pair) or {}).get("choices") or {}
        if "sums" not in written:
            return None
        f, g = pair
        tiling = Tiling(
            self.sides[f], self.sides[g], np.uint16, self.plan.threads, self.tiling(pair) if f == g else None
        )
        return ChoiceFile(self.path(pair, "choices"), tiling, written)

    def save(self, pair: Pair, component: Component, solved: Solved, figures: dict[str, Any]) -> None:
        """Write a solved component; it counts as solved once its figures are on disk."""
        if not component.keeps_values:
            sums = ""
            self.path(pair, "values").unlink(missing_ok=True)
        elif self._in_place(pair):
            state = read_figures(self.path(pair, "state"), self.task)
            if state is None:
                raise damaged(self.path(pair, "state"), "missing")
            sums = state["sums"]
        else:
            with StripFile(self.path(pair, "values"), self.tiling(pair)) as file:
                component.store(file, solved)
                file.flush()
                sums = file.sums_text()
        choices = component.choices.finish() if component.choices is not None else None
        known = {"figures": figures, "sums": sums, "choices": choices, "wins": component.wins}
        write_figures(self.path(pair, "done"), self.task, known)
        for suffix in ("state", "work", "captures0", "captures1"):
            self.path(pair, suffix).unlink(missing_ok=True)
        self._solved.add(pair)
        self._discard()

    def _in_place(self, pair: Pair) -> bool:
        """Whether a component is solved in the file where it stays: a streamed one whose sides are alike."""
        return pair in self.plan.streamed and pair[0] == pair[1]

    def load(self, own: int, other: int, layer: Layer = Layer.MIDDLE) -> Matrices:
        """Load the whole of a solved component, with the side that has the finish zone `own` as rows.

        Of proved bounds it loads a layer, in that side's view.
        """
        representation, threads, pair = self.plan.representation, self.plan.threads, self.pair_of(own, other)
        if own == other:
            whole = self._load(pair, layer).unfolded(representation, threads)
            if layer != layer.opposite:  # the unfolded half has bounds of the other kind
                _take_unfolded(
                    whole, self._load(pair, layer.opposite).unfolded(representation, threads), self.sides[own]
                )
            return whole
        if pair[1] == own:
            return self._load(pair, layer)
        return self._load(pair, layer.opposite).transposed(self.sides[own].size, representation, threads)

    def _load(self, pair: Pair, layer: Layer) -> Matrices:
        """The matrices of a solved component as its file has them."""
        with self.open(pair, layer) as file:
            rows, columns, representation = file.tiling.rows, file.tiling.columns, self.plan.representation
            if rows.finish == columns.finish:
                matrices = Matrices.mirrored(rows, representation)
            else:
                matrices = Matrices.full(rows.size, columns.size, representation)
            with ThreadPoolExecutor(self.plan.threads) as pool:
                work = [pool.submit(_bring, file, strip, matrices) for strip in range(file.tiling.strips)]
            for done in work:
                done.result()
            return matrices

    def pair_of(self, own: int, other: int) -> Pair:
        """The component of two finish zones."""
        return next(pair for pair in self.pairs if set(pair) == {own, other})


def _bring(file: StripFile, strip: int, to: Matrices) -> None:
    file.tiling.unpack(strip, file.read(strip), to.L, to.R, (to.start, to.start))


def _take_unfolded(whole: Matrices, other: Matrices, side: Side) -> None:
    """In each row, take the columns before those of its own pips from other matrices."""
    for row, first in enumerate(side.class_start[side.pips].tolist()):
        for to, values in ((whole.L, other.L), (whole.R, other.R)):
            to[row * side.size : row * side.size + first] = values[row * side.size : row * side.size + first]


def _flat(work: Mapping[str, Any]) -> dict[str, Any]:
    """What a solve depends on, by the names that people know."""
    return {**work["rules"], **{name: value for name, value in work.items() if name != "rules"}}
