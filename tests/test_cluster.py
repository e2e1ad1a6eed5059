"""Several processes solve a game together: the same bytes for any number of them, whatever happens on the way."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cluster_threads import solve_in_threads, stream_all

import madn
import madn.cluster
from madn.cli import main
from madn.errors import CorruptBlockError, OutputError, PlanError, ResourceError
from madn.rules import DIE, Rules
from madn.solver import make_plan
from madn.solver.cluster import convergence, panels, solve
from madn.solver.cluster.checkpoints import Checkpoints
from madn.solver.cluster.footprint import component_loads, max_processes
from madn.solver.cluster.late import LateFile
from madn.solver.cluster.plan import cluster_plan
from madn.solver.cluster.streamed import StreamedPanel
from madn.solver.plan import BASE_MEMORY
from madn.solver.sides import Side

HERE = Path(__file__).resolve().parent
MPIEXEC = shutil.which("mpiexec", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
needs_mpi = pytest.mark.skipif(
    find_spec("mpi4py") is None or MPIEXEC is None, reason="needs mpi4py and mpiexec: the extra madn[cluster]"
)
BOARD, SMALL = Rules(2, 12), ["solve", "--pieces", "2", "--squares", "12", "--threads", "1", "--cluster"]


@pytest.fixture(autouse=True)
def _many_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small boards are not worth many panels."""
    monkeypatch.setattr(solve, "cut_panels", partial(panels.cut_panels, least=100))


def stored(database: Path) -> bytes:
    """The block files of a database."""
    return b"".join(path.read_bytes() for path in sorted(database.glob("*.madn")))


GAMES: list[tuple[Rules, dict[str, Any]]] = [
    (BOARD, {}),
    (Rules(3, 8), {"tolerance": 1e-9}),
    (Rules(4, 8), {"board": "6,7,10,11/6,7,10,11"}),  # only what it can lead to
    (Rules(2, 10, three_rolls=True, start_in_box=True, no_jumping=True, must_capture=True), {}),
    (Rules(1, 8), {}),
]


@pytest.mark.parametrize(("rules", "settings"), GAMES, ids=lambda value: str(value).replace(" ", "-")[:40])
def test_same_bytes_for_any_number_of_processes(tmp_path: Path, rules: Rules, settings: dict[str, Any]) -> None:
    most = min(4, max(max_processes(rules, pair) for pair in make_plan(rules, board=settings.get("board")).pairs))
    counts = range(1, most + 1) if rules == BOARD else sorted({1, most})
    results = [solve_in_threads(count, rules, tmp_path / str(count), **settings) for count in counts]
    for count, result in zip(counts, results, strict=True):
        assert stored(tmp_path / str(count)) == stored(tmp_path / "1")
        assert result.result.residual_board == results[0].result.residual_board
        assert (sum(process["sent"] for process in result.processes) > 0) == (count > 1)
    assert not list(tmp_path.glob("*.scratch"))
    plain = madn.solve(rules, out=tmp_path / "plain", **settings)
    assert results[0].result.residual <= plain.tolerance
    assert results[0].result.win == pytest.approx(plain.win, abs=1000 * plain.tolerance)
    with madn.open_database(tmp_path / "plain") as one, madn.open_database(tmp_path / "1") as other:
        ids = np.concatenate([np.arange(first, first + count) for first, count in one.ranges()])
        difference = np.abs(one.win_many(ids) - other.win_many(ids))
    assert difference.max() <= 1000 * plain.tolerance


def test_fixed_point_numbers_are_the_same_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("madn.solver.plan.SMALL_GAME", 1)
    for count in (1, 3):
        result = solve_in_threads(count, Rules(3, 8), tmp_path / str(count), tolerance=1e-6, bits="full")
        assert result.result.representation == "fixed32"
    assert stored(tmp_path / "3") == stored(tmp_path / "1")


@pytest.mark.parametrize("pair", [(0, 0), (0, 1), (1, 6)])
@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_panels_cover_the_columns_and_share_the_work(pair: tuple[int, int], count: int) -> None:
    rows, columns = (Side(Rules(3, 24), zone) for zone in pair)
    cut = panels.cut_panels(rows, columns, [1.0] * count, least=1)
    assert len(cut) == min(count, (len(columns.class_start) - 1) // DIE)
    assert [panel.first for panel in cut] == [0, *(panel.end for panel in cut[:-1])]
    assert cut[-1].end == len(columns.class_start) - 1
    assert all(panel.end - panel.first >= DIE for panel in cut)
    if pair == (0, 0):
        work = panels.class_work(rows, columns)
        shares = [work[panel.first : panel.end].sum() / work.sum() for panel in cut]
        assert max(shares) < 1.4 / count
        faster = panels.cut_panels(rows, columns, [3.0] + [1.0] * (count - 1), least=1)
        assert faster[0].end >= cut[0].end


def test_memory_of_each_falls_with_the_number_of_processes() -> None:
    plan = make_plan(Rules(4), scratch=".")
    needs = [cluster_plan(plan, count).memory_bytes for count in (1, 2, 4, 10, 16)]
    assert needs == sorted(needs, reverse=True)
    assert needs[3] < needs[0] / 5
    with pytest.raises(PlanError, match="at most 27"):
        cluster_plan(plan, 28)
    assert sum(load.left for load in component_loads(Rules(4), (0, 0), 1, 1)) == 0


def test_the_memory_that_is_planned_is_that_which_is_used(tmp_path: Path) -> None:
    rules = Rules(3, 12)
    result = solve_in_threads(3, rules, tmp_path / "db")
    loads = [load.memory for pair in make_plan(rules).pairs for load in component_loads(rules, pair, 3, 1)]
    assert max(process["memory"] for process in result.processes) <= 1.5 * 8 * max(loads) + 100_000


# Streamed panels


@pytest.fixture
def streamed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Every panel is streamed that can be; the components that were."""
    monkeypatch.setattr(madn.cluster, "cluster_plan", cluster_plan)  # is put back in the end
    stream_all()
    found: list[tuple[int, int]] = []
    begin = StreamedPanel.__init__

    def noted(panel: StreamedPanel, rows: Side, columns: Side, *arguments: Any) -> None:
        found.append((rows.finish, columns.finish))
        begin(panel, rows, columns, *arguments)

    monkeypatch.setattr(StreamedPanel, "__init__", noted)
    return found


UNLIKE: dict[str, Any] = {"board": "0,10/0"}  # of three pieces and 8 squares: one of them is home


@pytest.mark.parametrize(
    ("rules", "settings", "counts", "pairs"),
    [
        (BOARD, {}, (1, 2, 3), {(0, 0)}),
        (Rules.house(2, 10), {"threads": 2}, (2,), {(0, 0)}),
        (Rules(3, 8), UNLIKE, (3,), {(0, 4)}),
        (Rules(3, 8), {"tolerance": 1e-6, "bits": "full", **UNLIKE}, (2,), {(0, 4)}),
        pytest.param(
            *(Rules(3, 8), {"tolerance": 1e-6, "bits": "full"}, (4,), {(0, 0), (0, 1), (0, 2), (0, 4)}),
            marks=pytest.mark.slow,
        ),
    ],
    ids=lambda value: str(value).replace(" ", "-")[:40],
)
def test_streamed_panels_have_the_same_bytes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    streamed: list[tuple[int, int]],
    rules: Rules,
    settings: dict[str, Any],
    counts: tuple[int, ...],
    pairs: set[tuple[int, int]],
) -> None:
    if "bits" in settings:  # in 32 bits, which are rounded when they are stored
        monkeypatch.setattr("madn.solver.plan.SMALL_GAME", 1)
    with monkeypatch.context() as patch:
        patch.setattr(madn.cluster, "cluster_plan", cluster_plan)
        whole = solve_in_threads(1, rules, tmp_path / "whole", **settings).result
    assert not streamed
    for count in counts:
        result = solve_in_threads(count, rules, tmp_path / str(count), **settings).result
        assert stored(tmp_path / str(count)) == stored(tmp_path / "whole")
        assert (result.sweeps_per_component, result.updates) == (whole.sweeps_per_component, whole.updates)
        assert (result.residual, result.residual_board) == (whole.residual, whole.residual_board)
    assert set(streamed) == pairs
    assert not list(tmp_path.glob("*.scratch"))


@pytest.mark.parametrize("begun", ["streamed", "whole"])
def test_a_stopped_solve_goes_on_with_another_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, streamed: list[tuple[int, int]], begun: str
) -> None:
    """A checkpoint is the same, whether panels are streamed or not."""
    with monkeypatch.context() as patch:
        patch.setattr(madn.cluster, "cluster_plan", cluster_plan)
        solve_in_threads(1, BOARD, tmp_path / "one")
        if begun == "whole":
            stopped(LATE, 3, tmp_path / "three", monkeypatch)
    if begun == "streamed":
        stopped(LATE, 3, tmp_path / "three", monkeypatch)
        assert streamed == [(0, 0)] * 3
        stopped(5, 3, tmp_path / "three", monkeypatch)  # and goes on streamed
        assert streamed == [(0, 0)] * 6
        monkeypatch.setattr(madn.cluster, "cluster_plan", cluster_plan)
    (state,) = (tmp_path / "three.scratch" / "process-1").glob("*.state")
    assert state.with_suffix(".captures0").exists()
    solve_in_threads(3, BOARD, tmp_path / "three")
    assert stored(tmp_path / "three") == stored(tmp_path / "one")
    assert len(streamed) == (6 if begun == "streamed" else 3)
    assert not (tmp_path / "three.scratch").exists()


def test_a_damaged_file_of_a_streamed_panel_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, streamed: list[tuple[int, int]]
) -> None:
    read = LateFile.read

    def spoilt(file: LateFile, strip: int, source: int) -> Any:
        if strip == 20:
            content = bytearray(file.path.read_bytes())
            file.path.write_bytes(bytes(255 - byte for byte in content))
        return read(file, strip, source)

    monkeypatch.setattr(LateFile, "read", spoilt)
    with pytest.raises(CorruptBlockError, match=r"process-0/.*\.late: damaged: checksum of the block of process 0"):
        solve_in_threads(1, BOARD, tmp_path / "db")


def test_panels_are_streamed_as_memory_demands() -> None:
    plan = make_plan(Rules(4), scratch=".", threads=2)
    whole = cluster_plan(plan, 10)
    assert not whole.streamed
    assert whole.memory_bytes == whole.whole_bytes
    needs = [cluster_plan(plan, 10, limit << 30) for limit in (20, 8, 6, 1)]
    assert [sorted(need.streamed) for need in needs[:3]] == [[], [(0, 0)], [(0, 0), (0, 1)]]
    assert needs[3].streamed == {(0, 0), (0, 1), (0, 2), (0, 4), (0, 8)}
    assert all(need.memory_bytes <= limit << 30 for need, limit in zip(needs, (20, 8, 6), strict=False))
    assert needs[3].memory_bytes == needs[3].least_bytes == whole.least_bytes > 1 << 30
    assert needs[3].scratch_bytes > whole.scratch_bytes
    five = cluster_plan(make_plan(Rules(5), scratch=".", threads=16), 16, 160 << 30)
    assert max(five.memory_bytes, five.rows_bytes) <= 160 << 30 < five.whole_bytes / 6


@pytest.mark.slow
def test_a_limit_of_memory_streams_what_does_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules, settings = Rules(3, 16), {"tolerance": 1e-6, "board": "0,18/0"}
    for name in ("ORDER", "ENCODING"):  # else process 0 needs most when it writes the database
        monkeypatch.setattr(f"madn.solver.cluster.plan.{name}", 0)
    needs = cluster_plan(make_plan(rules, scratch=".", threads=1, tolerance=1e-6, board="0,18/0"), 2, 1)
    with pytest.raises(ResourceError, match=r"its part needs .* of memory, and .* are allowed"):
        solve_in_threads(2, rules, tmp_path / "db", memory=needs.least_bytes - 1, **settings)
    assert not list(tmp_path.iterdir())
    whole, few = (
        solve_in_threads(2, rules, tmp_path / str(memory), memory=memory, **settings)
        for memory in (needs.whole_bytes, needs.least_bytes)
    )
    assert max(process["memory"] for process in few.processes) <= needs.least_bytes - BASE_MEMORY
    assert max(process["memory"] for process in whole.processes) <= needs.whole_bytes - BASE_MEMORY
    assert (
        sum(process["memory"] for process in few.processes) < sum(process["memory"] for process in whole.processes) / 2
    )
    assert stored(tmp_path / str(needs.least_bytes)) == stored(tmp_path / str(needs.whole_bytes))


# What an interrupted solve leaves


LATE = 83  # checkpoints until the last component of BOARD is in work


class StopError(Exception):
    """Ends a solve in the middle."""


def stopped(after: int, count: int, out: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> None:
    """Begin a solve that ends after so many checkpoints, in one of the processes."""
    write, done = Checkpoints.write, [0]

    def count_and_write(self: Any, *arguments: Any) -> None:
        write(self, *arguments)
        done[0] += self.processes.number == 0
        if done[0] >= after and self.processes.number == 0:
            raise StopError

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoints, "write", count_and_write)
        patch.setattr(convergence, "SELDOM", 0)
        with pytest.raises(StopError):
            solve_in_threads(count, BOARD, out, **settings)


@pytest.mark.parametrize("after", [1, 20, 45])
def test_a_stopped_solve_goes_on_with_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    solve_in_threads(1, BOARD, tmp_path / "one")
    stopped(after, 3, tmp_path / "three", monkeypatch)
    solve_in_threads(3, BOARD, tmp_path / "three")
    assert stored(tmp_path / "three") == stored(tmp_path / "one")
    assert not (tmp_path / "three.scratch").exists()


def test_another_number_of_processes_is_told_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped(20, 3, tmp_path / "db", monkeypatch)
    for count in (2, 4):
        with pytest.raises(OutputError, match=r"with processes 3 instead of .: `mpiexec -n 3 madn solve .* --cluster"):
            solve_in_threads(count, BOARD, tmp_path / "db")
    with pytest.raises(OutputError, match=r"another command: `mpiexec -n 3 madn solve"):
        solve_in_threads(3, BOARD, tmp_path / "db", tolerance=1e-6)
    solve_in_threads(3, BOARD, tmp_path / "db")


def test_work_in_a_named_directory_is_taken_up_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where: dict[str, Any] = {"scratch": tmp_path / "work"}
    with pytest.raises(PlanError, match="nothing to resume"):
        solve_in_threads(2, BOARD, tmp_path / "db", resume=True, **where)
    stopped(20, 2, tmp_path / "db", monkeypatch, **where)
    with pytest.raises(OutputError, match="holds unfinished work"):
        solve_in_threads(2, BOARD, tmp_path / "db", **where)
    again = r"with processes 2 instead of 3: `mpiexec -n 2 madn solve .*--scratch \S*work .*--cluster --resume`"
    with pytest.raises(OutputError, match=again):
        solve_in_threads(3, BOARD, tmp_path / "db", resume=True, **where)
    solve_in_threads(2, BOARD, tmp_path / "db", resume=True, **where)
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.parametrize("suffix", ["captures?", "values"])
def test_a_damaged_file_of_one_process_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    stopped(40, 2, tmp_path / "db", monkeypatch)
    spoilt = 0
    for path in (tmp_path / "db.scratch" / "process-0").glob(f"*.{suffix}"):
        content = bytearray(path.read_bytes())
        for place in range(0, len(content), 7):
            content[place] ^= 1
        path.write_bytes(content)
        spoilt += 1
    assert spoilt
    with pytest.raises(CorruptBlockError, match=r"process-0/.*damaged.*--resume"):
        solve_in_threads(2, BOARD, tmp_path / "db")


def test_values_that_are_gone_are_solved_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    solve_in_threads(1, BOARD, tmp_path / "one")
    stopped(40, 2, tmp_path / "db", monkeypatch)
    for path in (tmp_path / "db.scratch" / "process-1").glob("*.values"):
        path.unlink()
    solve_in_threads(2, BOARD, tmp_path / "db")
    assert stored(tmp_path / "db") == stored(tmp_path / "one")


# With MPI


def started(count: int, *arguments: str, cwd: Path) -> "subprocess.Popen[str]":
    """Processes that write a checkpoint after every sweep, in the background."""
    command = [str(MPIEXEC), "-n", str(count), sys.executable, str(HERE / "often.py"), *arguments]
    return subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def together(*groups: list[str], cwd: Path, env: dict[str, str] | None = None) -> tuple[int, str, str]:
    """Processes with arguments of their own: the exit status of all, and what they say."""
    command = [str(MPIEXEC)]
    for group in groups:
        command += [":"] * (len(command) > 1) + ["-n", "1", *group]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, env=env)
    return done.returncode, done.stdout, done.stderr


def one(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "madn", *arguments]


@needs_mpi
@pytest.mark.parametrize(("count", "more"), [(2, ["--streamed"]), (3, [])])
def test_the_command_under_mpiexec(tmp_path: Path, count: int, more: list[str]) -> None:
    solve_in_threads(1, BOARD, tmp_path / "one")
    with started(count, *SMALL, *more, "--out", "db", "--json", cwd=tmp_path) as job:
        out, err = job.communicate(timeout=120)
    assert job.returncode == 0, err
    result = json.loads(out)
    assert len(result["processes"]) == count
    assert all(process["sent"] > 0 for process in result["processes"][:-1])
    assert f"process {count - 1}" in err
    assert stored(tmp_path / "db") == stored(tmp_path / "one")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["db", "one"]
    assert main(["verify", str(tmp_path / "db"), "--deep"]) == 0


@needs_mpi
@pytest.mark.parametrize(
    ("first", "second", "status", "said"),
    [
        (["--out", "db"], ["--out", "db", "--tolerance", "1e-6"], 2, "process 1 of 2 has tolerance 1e-06"),
        (["--out", "db"], ["--out", "db", "--no-jumping"], 2, "process 1 of 2 has no_jumping True"),
        (["--out", "db"], ["--out", "db", "--threads", "x"], 2, "process 1 of 2 on .*'x' is not a valid integer"),
        (["--tolerance", "7", "--out", "db"], ["--tolerance", "7", "--out", "db"], 2, "tolerance must be"),
        (["--out", "db"], ["--out", "db", "--scratch", "/proc/none"], 3, "process 1 of 2 on .* are free on this disk"),
        (
            ["--out", "db"],
            ["--out", "db", "--memory", "1M"],
            3,
            "process 1 of 2 on .* of memory, and 1 MiB are allowed",
        ),
        ([], [], 2, "--out DIR"),
        (["--sample", "s", "--out", "db"], ["--sample", "s", "--out", "db"], 2, "does not write --sample"),
    ],
)
def test_bad_input_is_one_line_of_one_process(
    tmp_path: Path, first: list[str], second: list[str], status: int, said: str
) -> None:
    code, out, err = together(one(*SMALL, *first), one(*SMALL, *second), cwd=tmp_path)
    assert (code, out) == (status, "")
    assert len(err.strip().splitlines()) == 1
    assert re.search(said, err), err
    assert not (tmp_path / "db").exists()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"policy": "p"}, "does not write --policy"),
        ({"sample": "s"}, "does not write --sample"),
        ({"census": True}, "without --census"),
        ({"method": "thesis"}, "by method tiles"),
    ],
    ids=str,
)
def test_what_a_cluster_does_not_do_is_refused(tmp_path: Path, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError, match=said):
        solve_in_threads(2, BOARD, tmp_path / "db", **settings)
    assert not list(tmp_path.iterdir())


@needs_mpi
def test_too_many_processes_are_refused(tmp_path: Path) -> None:
    code, _, err = together(*[one(*SMALL, "--out", "db")] * 5, cwd=tmp_path)
    assert code == 2
    assert err.startswith("madn: 5 processes are too many for this game")
    assert len(err.strip().splitlines()) == 1


@needs_mpi
def test_versions_are_compared(tmp_path: Path) -> None:
    other = "import sys, madn.machine as m; m.version = lambda name: '9.9'; from madn.cli import main; sys.exit(main())"
    code, _, err = together(
        one(*SMALL, "--out", "db"), [sys.executable, "-c", other, *SMALL, "--out", "db"], cwd=tmp_path
    )
    assert code == 2
    assert "process 1 of 2 has version 9.9, process 0 has" in err
    assert len(err.strip().splitlines()) == 1


@needs_mpi
def test_a_full_disk_of_one_process_ends_all(tmp_path: Path) -> None:
    little = (
        f"import resource, runpy, sys; from mpi4py import MPI; resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600));"
        f"sys.argv[0] = {str(HERE / 'often.py')!r}; runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    code, out, err = together(
        [sys.executable, str(HERE / "often.py"), *SMALL, "--out", "db"],
        [sys.executable, "-c", little, *SMALL, "--out", "db"],
        cwd=tmp_path,
    )
    assert (code, out) == (3, "")
    assert len([line for line in err.splitlines() if line.startswith("madn:")]) == 1
    assert "process-1" in err
    assert "cannot be written" in err
    assert not (tmp_path / "db").exists()


def test_without_mpi4py_one_process_says_so(tmp_path: Path) -> None:
    without = "import sys; sys.modules['mpi4py'] = None; from madn.cli import main; sys.exit(main())"
    for number, said in ((0, "madn: a cluster needs mpi4py"), (1, "")):
        environment = {**os.environ, "PMI_RANK": str(number)}
        command = [sys.executable, "-c", without, *SMALL, "--out", "db"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
        assert done.returncode == 3
        assert done.stderr.startswith(said)
        assert len(done.stderr.splitlines()) == (number == 0)


def test_nothing_of_mpi_is_imported_without_a_cluster(tmp_path: Path) -> None:
    program = (
        "import sys, madn; madn.solve(madn.Rules(1, 8)); from madn.cli import main; main(['plan', '--pieces', '1']);"
        "print([name for name in sys.modules if 'mpi4py' in name or name == 'madn.cluster'])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def kill_at_random(count: int, kills: int, arguments: list[str], folder: Path, longest: float) -> int:
    """Begin solves, kill one of their processes at a random moment, go on, until enough were killed; how many ended."""
    chance, killed, ended = random.Random(count), 0, 0
    while killed < kills:
        out = f"db{ended}"
        while True:
            with started(count, *arguments, "--out", out, cwd=folder) as job:
                until = time.monotonic() + chance.uniform(0.2, longest)
                while job.poll() is None and time.monotonic() < until:
                    time.sleep(0.01)
                victims = [id for id, words in processes() if "often.py" in words and out in words]
                if job.poll() is None and len(victims) == count:
                    os.kill(chance.choice(victims), signal.SIGKILL)
                    began = time.monotonic()
                    said = job.communicate(timeout=60)
                    assert time.monotonic() - began < 20
                    killed += job.returncode != 0
                    if job.returncode != 0 and "process 0" in said[1]:  # not in MPI's own beginnings
                        assert "PID" in "".join(said)  # which one it was
                else:
                    job.communicate(timeout=120)
            if job.returncode == 0:
                break
        ended += 1
    return ended


def processes() -> list[tuple[int, list[str]]]:
    """The processes of this computer, each with its arguments, without mpiexec and its helpers."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if "mpiexec" not in words[0] and "hydra" not in words[0]:
            found.append((int(path.parent.name), [Path(word).name for word in words]))
    return found


@needs_mpi
@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    ("count", "kills", "more"),
    [(2, 2, ["--streamed"]), pytest.param(3, int(os.environ.get("MADN_KILLS", "6")), [], marks=pytest.mark.slow)],
)
def test_killed_at_random_moments(tmp_path: Path, count: int, kills: int, more: list[str]) -> None:
    solve_in_threads(1, BOARD, tmp_path / "one")
    for number in range(kill_at_random(count, kills, [*SMALL, *more], tmp_path, 3.0)):
        assert stored(tmp_path / f"db{number}") == stored(tmp_path / "one")


@pytest.mark.slow
def test_three_pieces_on_forty_squares(tmp_path: Path) -> None:
    rules, board = Rules(3), "0,42/0,42"  # one piece of each side is home
    for count in (1, 4):
        solve_in_threads(count, rules, tmp_path / str(count), board=board, tolerance=1e-6)
    assert stored(tmp_path / "4") == stored(tmp_path / "1")


# The plan


def test_a_plan_for_a_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--pieces", "4", "--ranks", "10", "--memory", "8G", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["processes"], facts["streamed"], facts["fits"]) == (10, 1, True)
    assert facts["least_bytes"] < facts["memory_bytes"] < 8 << 30 < facts["whole_bytes"]
    for name in ("rows", "scratch", "passed", "left", "right", "exit", "network", "delivery"):
        assert facts[f"{name}_bytes"] > 0
    assert main(["plan", "--pieces", "4", "--ranks", "10", "--memory", "8G"]) == 0
    assert "1 component streamed; " in capsys.readouterr().out
    assert main(["plan", "--pieces", "4", "--ranks", "10", "--bandwidth", "100M", "--memory", "30G"]) == 0
    assert "pointless" in capsys.readouterr().out
    for wrong in (["--ranks", "99"], ["--ranks", "0"], ["--ranks", "2", "--bandwidth", "fast"]):
        assert main(["plan", "--pieces", "2", *wrong]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


@needs_mpi
@pytest.mark.slow
@pytest.mark.skipif(
    os.name != "posix" or os.getuid() != 0 or not (shutil.which("ip") and shutil.which("tc")),
    reason="needs root, ip and tc to make network namespaces",
)
def test_two_hosts_with_a_limited_link(tmp_path: Path) -> None:
    script = HERE.parent / "benchmarks" / "cluster_link.py"
    if not script.exists():
        pytest.skip("there are no benchmarks here")
    words = [sys.executable, str(script), "--squares", "12", "--rates", "100mbit"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    if "Operation not permitted" in done.stderr:
        pytest.skip("network namespaces cannot be made here")
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    assert run["same"]
    assert run["link_bytes"] > 100_000
