"""Can't Stop, long solves: how far the work is, Ctrl-C in the middle of a level, going on after a stop."""

import random
import signal
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

from madn.errors import CorruptBlockError
from madn.games.cantstop import CantStop, kernels, solve
from madn.games.cantstop.checkpoint import Checkpoint
from madn.games.cantstop.numbering import Numbering
from madn.machine import fastest_build


class StopError(Exception):
    """What the handler of a signal raises in these tests."""


def test_a_solve_that_was_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game, file = CantStop(3, 1), tmp_path / "state"
    monkeypatch.setattr(Checkpoint.__init__, "__defaults__", (0.0,))
    calls = 0

    def stop(fraction: float, text: str) -> None:
        nonlocal calls
        calls += 1
        if calls == 150:
            raise StopError

    with pytest.raises(StopError):
        solve(game, checkpoint=file, progress=stop)
    whole = file.read_bytes()
    with pytest.raises(CorruptBlockError, match="another solve"):
        solve(CantStop(3, 1, 1), checkpoint=file)
    header = len(b"\n".join(whole.split(b"\n", 2)[:2]))
    rng = random.Random(5)
    for damage in range(60):
        at = rng.randrange(len(whole) if damage % 2 else header)
        words = at // 8 * 8, rng.randrange(len(whole) // 8) * 8
        changed = bytearray(whole)
        if damage % 5 == 0:
            changed[words[0] : words[0] + 8], changed[words[1] : words[1] + 8] = (
                whole[words[1] : words[1] + 8],
                whole[words[0] : words[0] + 8],
            )
        elif damage % 5 == 1:
            del changed[at:]
        elif damage % 5 == 2:
            changed += rng.randbytes(8)
        else:
            changed[at] ^= 1 << rng.randrange(8)
        file.write_bytes(changed)
        if changed != whole:
            with pytest.raises(CorruptBlockError, match=r"state: .*; to start over, remove this file"):
                solve(game, checkpoint=file)
    file.write_bytes(whole)
    solution, undisturbed = solve(game, checkpoint=file), solve(game)
    assert np.array_equal(solution.values, undisturbed.values)
    assert solution.components == game.components
    assert np.array_equal(solution.table, undisturbed.table)
    assert not file.exists()
    file.write_bytes(b"nonsense")
    with pytest.raises(CorruptBlockError, match="not a checkpoint"):
        solve(game, checkpoint=file)


@pytest.mark.parametrize("game", [CantStop(3, 2), CantStop(3, 3), CantStop(4, 1)])
def test_the_work_of_all_levels_is_that_of_the_positions(game: CantStop) -> None:
    """In `CantStop.positions` they are counted for both players, and 2 for each finished index."""
    numbering = Numbering(game)
    work = sum(numbering.work(mask).sum() for mask in numbering.places)
    assert 2 * work == pytest.approx(game.positions - 2 * game._finished(), rel=0.02)


@pytest.mark.parametrize("build", kernels.BUILDS)
def test_a_first_pass_is_the_work_of_a_level(build: str) -> None:
    """Where the open columns are not symmetric, exactly. Any change is small enough here, so that one pass will do."""
    game = CantStop(3, 2)
    numbering = Numbering(game)
    for mask in (0b00111, 0b01011, 0b01111):
        stage = kernels.make_stage(numbering, mask, np.zeros((1, numbering.size)), 0, 2, build)
        for level, work in enumerate(numbering.work(mask)):
            assert stage.solve_level(level, 8, 1.0, 1)[3] == work


def test_progress_grows_to_the_end_with_the_work() -> None:
    shares: list[float] = []
    solve(CantStop(3, 2), progress=lambda share, text: shares.append(share))
    assert shares == sorted(shares)
    assert 0 <= shares[0] < 0.01
    assert shares[-1] == pytest.approx(1, abs=1e-12)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer that sends signals")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_signal_is_heard_in_the_middle_of_a_level(threads: int) -> None:
    """The handler's exception comes out of the kernel before the level is done: none of its values are kept."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise StopError

    numbering, mask = Numbering(CantStop(3, 4)), 0b11111
    values = np.zeros((1, numbering.size))
    level = int(np.argmax(numbering.work(mask)))
    stage = kernels.make_stage(numbering, mask, values, 0, threads, fastest_build(kernels.BUILDS))
    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        with pytest.raises(StopError):
            stage.solve_level(level, 8, -1.0, 100)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not values.any()
    stage.solve_level(level, 8, -1.0, 100)
    assert values.any()
