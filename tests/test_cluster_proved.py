"""Bounds that several processes prove: every value lies inside, and the bits are the same for any number of them."""

import json
import os
import random
import re
import signal
import time
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cluster_threads import solve_in_threads
from numpy.typing import NDArray
from test_cluster import SMALL, needs_mpi, one, processes, started, together

from madn import Board, PlanError, Rules
from madn._core import Game
from madn.cli import main
from madn.cli.solve import result_table
from madn.errors import CorruptBlockError, OutputError, ResourceError
from madn.solver import make_plan, solve
from madn.solver.cluster import directed, panels, proved
from madn.solver.cluster import solve as cluster_solve
from madn.solver.cluster.parts import Parts
from madn.solver.cluster.plan import cluster_plan
from madn.solver.numbers import FIXED32
from madn.solver.plan import BASE_MEMORY
from madn.solver.sides import Side
from madn.solving import Result

Bounds = dict[tuple[int, int], NDArray[Any]]  # by component: [lower or upper, L or R, row, column]

BOARD = Rules(2, 12)
PROVING = [*SMALL, "--proved", "--tolerance", "1e-6", "--scratch", "s", "--as-large"]
UNIT = FIXED32.unit


@pytest.fixture(autouse=True)
def _as_a_large_game(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small games are proved from disk as large ones are, and cut into many panels."""
    monkeypatch.setattr("madn.solver.plan.SMALL_GAME", 1)
    for module in (cluster_solve, proved):
        monkeypatch.setattr(module, "cut_panels", partial(panels.cut_panels, least=100))


@cache
def exact(rules: Rules) -> NDArray[np.float64]:
    """The values of all positions by ID, to 1e-15."""
    values = np.empty(rules.positions)
    solve(make_plan(rules, tolerance=1e-15)).read(0, values)
    return values


def prove(count: int, rules: Rules, scratch: Path, **settings: Any) -> dict[str, Any]:
    """Prove a game with so many threads; what is reported but for the times."""
    found = solve_in_threads(count, rules, None, scratch=scratch, tolerance=1e-6, proved=True, **settings)
    return {name: value for name, value in found.result.to_json().items() if name not in {"seconds", "threads"}}


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Bounds:
    """The stored bounds of all components, as they are looked at; -9 where there are none."""
    bounds: Bounds = {}
    see = proved.Seen.see

    def noted(own: proved.Seen, first: int, low: Any, high: Any) -> None:
        see(own, first, low, high)
        shape = 2, 2, own.rows.size, own.columns.size
        known = bounds.setdefault((own.rows.finish, own.columns.finish), np.full(shape, -9, np.int32))
        known[:, :, first : first + len(low[0]), own.begin : own.end] = [low, high]

    monkeypatch.setattr(proved.Seen, "see", noted)
    return bounds


def check_inside(rules: Rules, bounds: Bounds, found: dict[str, Any]) -> None:
    """Check that every value lies between its bounds, and what is reported of them."""
    game, values = Game(rules), exact(rules)
    parts = {part["component"]: part for part in found["proof"]}
    for (f, g), (low, high) in bounds.items():
        rows, columns = Side(rules, f), Side(rules, g)
        legal = (rows.facing[:, None] & columns.masks) == 0
        states = np.nonzero(legal)
        masks = rows.whole_masks[states[0]], columns.whole_masks[states[1]]
        truth = values[game.rank_many(*masks)], 1 - values[game.rank_many(*masks[::-1])]
        for below, above, value in zip(low, high, truth, strict=True):
            assert (0.5 + below[legal] / UNIT <= value + 1e-14).all()
            assert (value <= 0.5 + above[legal] / UNIT + 1e-14).all()
        widths = (high - low)[:, legal]
        part = parts[madn_text(rules, f, g)]
        assert part["width"] == widths.max() / UNIT < 2e-6
        row, column = divmod(int(np.argmax((high - low).max(axis=0) * legal)), columns.size)
        assert {str(part["board"])} <= {
            str(Board.from_masks(int(rows.whole_masks[row]), int(columns.whole_masks[column]), rules)),
            str(Board.from_masks(int(columns.whole_masks[column]), int(rows.whole_masks[row]), rules)),
        }
        if f == g:
            assert (low[0][legal] == -high[1].T[legal]).all()
    board = Board.parse(found["for"], rules) if found["for"] else Board.start(rules)
    assert found["lower"] <= values[game.rank(*board.masks)] <= found["upper"]
    assert found["win"] == (found["lower"] + found["upper"]) / 2
    assert found["width"] == max(part["width"] for part in found["proof"])


def madn_text(rules: Rules, f: int, g: int) -> str:
    """A component as people write it."""
    return "/".join("".join("o" if zone >> i & 1 else "." for i in range(rules.pieces)) for zone in (f, g))


GAMES = [
    (BOARD, (1, 2, 3, 4), {}),
    pytest.param(Rules(3, 8), (1, 4), {}, marks=pytest.mark.slow),
    (Rules(2, 12, three_rolls=True, must_capture=True), (1, 3), {}),
    (Rules(2, 10, no_jumping=True, start_in_box=True), (2,), {}),
    (Rules(3, 8), (3,), {"board": "0,9/3"}),  # only what it can lead to
    (Rules(3, 8), (2,), {"board": "1,10/2,9"}),
]


@pytest.mark.parametrize(("rules", "counts", "settings"), GAMES, ids=lambda value: str(value).replace(" ", "-")[:40])
def test_every_value_lies_between_its_bounds(
    rules: Rules, counts: tuple[int, ...], settings: dict[str, Any], tmp_path: Path, seen: Bounds
) -> None:
    found: list[tuple[dict[str, Any], Bounds]] = []
    for count in counts:
        seen.clear()
        found.append((prove(count, rules, tmp_path / str(count), **settings), dict(seen)))
        assert list((tmp_path / str(count)).iterdir()) == []
    check_inside(rules, seen, found[-1][0])
    for figures, bounds in found:
        assert figures == found[0][0]
        assert bounds.keys() == found[0][1].keys() == set(make_plan(rules, **settings).pairs)
        for (f, g), known in bounds.items():
            legal = (Side(rules, f).facing[:, None] & Side(rules, g).masks) == 0
            assert (known[..., legal] == found[0][1][f, g][..., legal]).all()


def test_threads_change_nothing(tmp_path: Path) -> None:
    assert prove(2, BOARD, tmp_path / "2", threads=2) == prove(1, BOARD, tmp_path / "1")


def test_margins_that_are_too_small_become_larger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    margins: list[float] = []
    begin = directed._Own.begin

    def noted(self: directed._Own, margin: float) -> None:
        margins.append(margin)
        begin(self, margin)

    monkeypatch.setattr(directed._Own, "begin", noted)
    monkeypatch.setattr(directed, "FIRST_MARGIN", 2.0**-34)
    tried = [prove(count, BOARD, tmp_path / str(count)) for count in (1, 3)]
    assert tried[0] == tried[1]
    start = exact(BOARD)[Game(BOARD).rank(*Board.start(BOARD).masks)]
    assert tried[0]["lower"] <= start <= tried[0]["upper"]
    assert max(margins) > min(margins)
    monkeypatch.setattr(directed, "TRIES", 1)
    with pytest.raises(PlanError, match="no bounds were found"):
        prove(2, BOARD, tmp_path / "t")


def test_a_bound_further_out_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first sweep, among what captures of either player lead to; slots that are no positions do not count."""
    stays, looked = directed._Own.stays, 0

    def some(of: NDArray[np.bool_]) -> NDArray[np.int64]:
        there = np.argwhere(of)
        return there[:: max(1, len(there) // 3)]

    def checked(own: Any, margin: float) -> bool:
        nonlocal looked
        assert stays(own, margin)
        panel, captured, out = own.panel, own.captured, own.direction << 20
        columns = captured.boxed + panel.begin
        of_rows = (panel.rows.facing[panel.rows.boxed, None] & captured.masks) == 0
        of_columns = (panel.rows.facing[:, None] & panel.columns.masks[columns]) == 0
        for wanted in (True, False):
            for row, column in some(of_rows == wanted):
                own.of_rows[row, column] -= out
                assert stays(own, margin) != wanted
                own.of_rows[row, column] += out
                looked += 1
            for row, column in some(of_columns == wanted):
                for matrix, start in zip((panel.L, panel.R), panel.start, strict=True):
                    matrix[start[row] + columns[column]] += out
                    assert stays(own, margin) != wanted
                    matrix[start[row] + columns[column]] -= out
                looked += 1
        return True

    monkeypatch.setattr(directed._Own, "stays", checked)
    prove(1, Rules(2, 8), tmp_path / "s")
    assert looked > 50


def test_bounds_that_cannot_be_stored_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proved, "OUTERMOST", int(0.3 * UNIT))
    with pytest.raises(PlanError, match="too large to be stored"):
        prove(2, BOARD, tmp_path / "s")


# What an interrupted proof leaves


class StopError(Exception):
    """Ends a solve in the middle."""


def stopped(after: int, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin a proof that ends when process 1 has written so many layers or values, and process 0 may not have."""
    save, done = Parts.save, 0

    def count_and_save(self: Any, *arguments: Any) -> None:
        nonlocal done
        save(self, *arguments)
        done += self.processes.number == 1
        if done >= after and self.processes.number == 1:
            raise StopError

    with monkeypatch.context() as patch:
        patch.setattr(Parts, "save", count_and_save)
        with pytest.raises(StopError):
            prove(2, BOARD, scratch)


@pytest.mark.parametrize("after", [1, 3, 8, 13, 15])
def test_a_stopped_proof_goes_on_with_the_same_figures(
    after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped(after, tmp_path / "s", monkeypatch)
    if after == 13:  # what is missing is proved again
        next((tmp_path / "s" / "process-1").glob("*.lower")).unlink()
    again = r"`mpiexec -n 2 madn solve .*--scratch \S*s --proved --cluster --resume`"
    with pytest.raises(OutputError, match=f"holds unfinished work: {again}"):
        prove(2, BOARD, tmp_path / "s")
    assert prove(2, BOARD, tmp_path / "s", resume=True) == prove(1, BOARD, tmp_path / "1")
    assert list((tmp_path / "s").iterdir()) == []


@pytest.mark.parametrize("suffix", ["lower", "upper"])
def test_a_changed_bound_is_noticed(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped(13, tmp_path / "s", monkeypatch)
    for path in (tmp_path / "s" / "process-0").glob(f"*.{suffix}"):
        path.write_bytes(bytes(255 - byte for byte in path.read_bytes()))
    with pytest.raises(CorruptBlockError, match=rf"process-0/.*\.{suffix}: damaged: checksum of tile"):
        prove(2, BOARD, tmp_path / "s", resume=True)


@needs_mpi
@pytest.mark.slow
def test_killed_processes_go_on_with_the_same_figures(tmp_path: Path) -> None:
    chance, name = random.Random(1), f"killed-{os.getpid()}"
    for files in (1, 7, 12, 20, 1000):  # how many components and layers the processes have found when one is killed
        more = ["--resume"] if list(tmp_path.glob(f"{name}/*/plan.json")) else []
        with started(2, *PROVING, "--scratch", name, *more, "--json", cwd=tmp_path) as job:
            while job.poll() is None and len(list(tmp_path.glob(f"{name}/*/*done"))) < files:
                time.sleep(0.002)
            victims = [number for number, words in processes() if "often.py" in words and name in words]
            if job.poll() is None:
                os.kill(chance.choice(victims), signal.SIGKILL)
            out, err = job.communicate(timeout=60)
            assert (job.returncode == 0) == (files == 1000), err
    found, expected = json.loads(out), prove(1, BOARD, tmp_path / "one")
    assert {figure: found[figure] for figure in expected} == expected


# What it takes, and what is refused


def test_what_is_planned_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules, most = Rules(3, 12), 0
    settings: dict[str, Any] = {"board": "0,14/0", "tolerance": 1e-6, "proved": True}
    needs = cluster_plan(make_plan(rules, scratch=".", threads=1, **settings), 2)
    save = Parts.save

    def measured(self: Any, *arguments: Any) -> None:
        nonlocal most
        save(self, *arguments)
        most = max(most, sum(path.stat().st_size for path in self.scratch.directory.glob("*.[lvu]*")))

    monkeypatch.setattr(Parts, "save", measured)
    found = solve_in_threads(2, rules, None, scratch=tmp_path / "s", memory=needs.memory_bytes, **settings)
    used = max(process["memory"] for process in found.processes)
    assert 0.1 * (needs.memory_bytes - BASE_MEMORY) < used <= needs.memory_bytes - BASE_MEMORY
    assert most <= needs.scratch_bytes
    with pytest.raises(ResourceError, match=r"its part needs .* are allowed; .* panels are not streamed"):
        solve_in_threads(2, rules, None, scratch=tmp_path / "s", memory=needs.memory_bytes - 1, **settings)


def test_the_plan_counts_whole_matrices(capsys: pytest.CaptureFixture[str]) -> None:
    facts = []
    for more in ([], ["--proved"]):
        assert main(["plan", "--pieces", "4", "--ranks", "10", "--memory", "200G", "--json", *more]) == 0
        facts.append(json.loads(capsys.readouterr().out))
    plain, bounds = facts
    assert (plain["proved"], bounds["proved"]) == (False, True)
    assert bounds["memory_bytes"] == bounds["least_bytes"] == bounds["whole_bytes"] > 1.2 * plain["memory_bytes"]
    assert bounds["scratch_bytes"] > 2 * plain["scratch_bytes"]
    assert bounds["rows_bytes"] == bounds["delivery_bytes"] == bounds["disk_bytes"] == 0
    assert main(["plan", "--pieces", "4", "--ranks", "10", "--memory", "8G", "--proved"]) == 0
    said = capsys.readouterr().out
    assert "database" not in said
    assert "streamed" not in said
    assert "needs computers with" in said


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"out": "db"}, "only reported: do not name anything to store"),
        ({"scratch": None}, "a cluster proves bounds from disk: --scratch DIR"),
        ({"policy": "db"}, "does not write --policy"),
        ({"bits": 16}, "leave out bits"),
        ({"tolerance": 1e-4}, "must be solved to 1e-05 or finer"),
        ({"tolerance": 1e-13}, "are proved without scratch"),
        ({"memory": 1 << 20}, r"its part needs 1\d\d.* MiB of memory, and 1 MiB are allowed"),
    ],
    ids=str,
)
def test_what_is_refused(tmp_path: Path, settings: dict[str, Any], said: str) -> None:
    wanted: dict[str, Any] = {"out": None, "scratch": tmp_path / "s", "tolerance": 1e-6, "proved": True, **settings}
    with pytest.raises((PlanError, ResourceError), match=said):
        solve_in_threads(2, BOARD, **wanted)
    assert not list(tmp_path.iterdir())


@needs_mpi
def test_the_command_under_mpiexec(tmp_path: Path) -> None:
    with started(3, *PROVING, cwd=tmp_path) as job:
        out, err = job.communicate(timeout=120)
    assert job.returncode == 0, err
    expected = Result.from_json({**prove(1, BOARD, tmp_path / "one"), "seconds": 1, "threads": 1})
    assert re.search(r"^proved  +54\.36731 % ± 1\.8e-05  0/0$", out, re.MULTILINE)
    assert out.splitlines()[:-1] == result_table(expected).splitlines()[:-1]  # but for the time
    assert "database" not in err
    assert list((tmp_path / "s").iterdir()) == []


@needs_mpi
def test_bad_input_is_one_line_of_one_process(tmp_path: Path) -> None:
    proving = [*SMALL, "--proved", "--scratch", "s"]
    for first, second, said in (
        (proving, [*SMALL, "--scratch", "s"], "process 1 of 2 on .*: a cluster stores what it solves"),
        (proving, proving, "games of up to 20,000,000 positions"),
    ):
        code, out, err = together(one(*first), one(*second), cwd=tmp_path)
        assert (code, out, len(err.strip().splitlines())) == (2, "", 1)
        assert re.search(said, err), err
    assert not list(tmp_path.iterdir())
