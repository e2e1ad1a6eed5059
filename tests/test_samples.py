"""`madn solve --sample`: positions with their values, drawn while a game is solved."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from madn import Rules
from madn.cli import main
from madn.errors import CorruptBlockError, FormatVersionError, InvalidNumberError, MadnError, OutputError, ResourceError
from madn.samples import Header, Samples, Stratum, read_samples, write_samples
from madn.sampling import Sampler, Sampling, drawn
from madn.solver import make_plan
from madn.solver import solve as solve_plan
from madn.solving import prepare, solve

RULES = Rules(2, 10)
NUMBERS: dict[str, Any] = {"samples": 2000, "samples_least": 7, "sample_seed": 5}


def values_of(rules: Rules) -> Any:
    values = np.empty(rules.positions)
    solve_plan(make_plan(rules)).read(0, values)
    return values


def made(path: Path, rules: Rules = RULES, **settings: Any) -> Samples:
    solve(rules, sample=path, **{**NUMBERS, **settings})
    return read_samples(path)


# which positions


@pytest.mark.parametrize("part", [Stratum(0, 1, 1), Stratum(7, 100, 100), Stratum(7, 1000, 3), Stratum(5, 10**10, 500)])
def test_samples_ascend_and_stay_in_their_run(part: Stratum) -> None:
    ids = drawn(1, part, 0, part.count)
    assert (np.diff(ids) >= 0).all()
    assert part.first <= ids[0]
    assert ids[-1] < part.first + part.size
    pieces = [drawn(1, part, begin, min(begin + 7, part.count)) for begin in range(0, part.count, 7)]
    assert (np.concatenate(pieces) == ids).all()


def test_every_position_is_drawn_as_often_as_any_other() -> None:
    """Also where parts of a run are not whole numbers of positions: 100 samples of 257."""
    part, seeds = Stratum(3, 257, 100), 4000
    counts = np.zeros(part.size)
    for seed in range(seeds):
        np.add.at(counts, drawn(seed, part, 0, part.count) - part.first, 1)
    expected = seeds * part.count / part.size
    assert counts.sum() == seeds * part.count
    assert np.abs(counts - expected).max() < 5 * np.sqrt(expected)


def test_samples_are_of_all_runs_of_open_games(tmp_path: Path) -> None:
    samples = made(tmp_path / "file")
    values = values_of(RULES)
    assert (samples.wins == values[samples.ids]).all()
    assert ((samples.wins > 0) & (samples.wins < 1)).all()
    strata = samples.header.strata
    assert all(part.count >= min(7, part.size) for part in strata)
    assert 2000 <= samples.header.count <= 2000 + 8 * len(strata)
    still_open = RULES.positions - 2 * sum(
        RULES.profile_size(2, 2, p, f) for p in range(3) for f in range(min(p, 1) + 1)
    )
    assert sum(part.size for part in strata) == still_open
    assert samples.weights.sum() == pytest.approx(still_open)
    every = np.average(samples.wins, weights=samples.weights)
    assert every == pytest.approx(values[(values > 0) & (values < 1)].mean(), abs=0.01)


def test_another_seed_draws_others(tmp_path: Path) -> None:
    one, two = (made(tmp_path / f"{seed}", sample_seed=seed).ids for seed in (1, 2))
    assert one.shape == two.shape
    assert 0.1 < (one == two).mean() < 0.9  # small runs are taken whole


def test_part_of_a_game(tmp_path: Path) -> None:
    samples = made(tmp_path / "file", board="0,11/4")
    assert (samples.wins == values_of(RULES)[samples.ids]).all()
    assert sum(part.size for part in samples.header.strata) < RULES.positions // 2


# the same bytes


@pytest.mark.parametrize(("rules", "tolerance"), [(RULES, None), (Rules(2, 12, three_rolls=True), 1e-6)])
def test_the_same_bytes_however_it_is_solved(rules: Rules, tolerance: float | None, tmp_path: Path) -> None:
    streamed = make_plan(rules, scratch=str(tmp_path / "s"), memory=1).memory_bytes
    ways: list[dict[str, Any]] = [
        {"threads": 1},
        {"threads": 3, "out": tmp_path / "out"},
        {"scratch": tmp_path / "scratch"},
        {"scratch": tmp_path / "scratch", "out": tmp_path / "out2", "memory": streamed, "threads": 2},
        {"scratch": tmp_path / "scratch", "policy": tmp_path / "policy", "bits": 12},
    ]
    for number, way in enumerate(ways):
        made(tmp_path / f"{number}", rules, tolerance=tolerance, **way)
    files = {(tmp_path / f"{number}").read_bytes() for number in range(len(ways))}
    assert len(files) == 1
    assert os.listdir(tmp_path / "scratch") == []


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("after", [1, 3, 6])
def test_a_stop_and_then_the_same_bytes(
    after: int, lost: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the samples of components that are stored already are damaged in between: they are drawn again."""
    made(tmp_path / "plain")
    settings: dict[str, Any] = {"scratch": tmp_path / "scratch", "out": tmp_path / "out"}
    flush, left = Sampler.flush_to_disk, after

    def stopping(self: Sampler) -> None:
        nonlocal left
        flush(self)
        left -= 1
        if left == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(Sampler, "flush_to_disk", stopping)
    with pytest.raises(KeyboardInterrupt):
        made(tmp_path / "file", **settings)
    assert not (tmp_path / "file").exists()
    if lost:
        kept = tmp_path / "scratch" / "000.samples"
        kept.write_bytes(bytes(reversed(kept.read_bytes())))
    made(tmp_path / "file", resume=True, **settings)
    assert (tmp_path / "file").read_bytes() == (tmp_path / "plain").read_bytes()
    assert os.listdir(tmp_path / "scratch") == []


def test_a_stop_before_the_file_is_in_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path / "plain")
    settings: dict[str, Any] = {"scratch": tmp_path / "scratch", "out": tmp_path / "out"}

    def stopped(self: Sampler) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Sampler, "publish", stopped)
        with pytest.raises(KeyboardInterrupt):
            made(tmp_path / "file", **settings)
    assert (tmp_path / "out").exists()
    made(tmp_path / "file", resume=True, **settings)
    assert (tmp_path / "file").read_bytes() == (tmp_path / "plain").read_bytes()


def test_work_with_other_samples_is_not_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(self: Sampler) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Sampler, "flush_to_disk", stopped)
        with pytest.raises(KeyboardInterrupt):
            made(tmp_path / "file", scratch=tmp_path / "scratch")
    with pytest.raises(OutputError, match="with sample_seed 5 instead of 6"):
        made(tmp_path / "file", scratch=tmp_path / "scratch", resume=True, sample_seed=6)
    made(tmp_path / "file", scratch=tmp_path / "scratch", resume=True)


# the file


def test_a_file_is_written_and_read(tmp_path: Path) -> None:
    ids, wins = np.array([5, 9, 9], np.int64), np.array([0.25, 0.5, 1.0])
    header = Header(RULES, 3, 1e-6, 2**64 - 1, "command")
    digest = write_samples(tmp_path / "file", header, [ids[:1], ids[1:]], [wins])
    samples = read_samples(tmp_path / "file")
    assert (samples.header, samples.sha256) == (header, digest)
    assert (samples.ids == ids).all()
    assert (samples.wins == wins).all()
    assert (samples.weights == 1).all()
    assert os.listdir(tmp_path) == ["file"]
    with pytest.raises(ValueError, match="expected 3 values, found 2"):
        write_samples(tmp_path / "file", header, [ids], [wins[1:]])
    assert read_samples(tmp_path / "file").sha256 == digest
    assert os.listdir(tmp_path) == ["file"]


def test_damage_is_noticed(tmp_path: Path) -> None:
    made(tmp_path / "good", samples=20, samples_least=1)
    good = (tmp_path / "good").read_bytes()
    bad = tmp_path / "bad"
    for place in range(0, len(good), 5):
        bad.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
        with pytest.raises((CorruptBlockError, FormatVersionError)):
            read_samples(bad)
    for length in (0, 5, 20, 100, len(good) - 40, len(good) - 1):
        bad.write_bytes(good[:length])
        with pytest.raises(CorruptBlockError):
            read_samples(bad)
    bad.write_bytes(good + b" ")
    with pytest.raises(CorruptBlockError, match="bytes"):
        read_samples(bad)
    bad.write_bytes(good.replace(b"samples 1\n", b"samples 2\n", 1))
    with pytest.raises(FormatVersionError, match="version 2"):
        read_samples(bad)
    with pytest.raises(CorruptBlockError, match="No such file"):
        read_samples(tmp_path / "missing")


@pytest.mark.parametrize(
    ("ids", "wins", "strata", "what"),
    [
        ([-1], [0.5], (), "ID"),
        ([10**12], [0.5], (), "ID"),
        ([1], [1.5], (), "probability"),
        ([1], [float("nan")], (), "probability"),
        ([1], [0.5], (Stratum(2, 5, 1),), "run"),
        ([1], [0.5], (Stratum(0, 5, 2),), "header"),
        ([1], [0.5], (Stratum(0, 0, 1),), "header"),
    ],
)
def test_files_of_others_are_checked(ids: Any, wins: Any, strata: Any, what: str, tmp_path: Path) -> None:
    header = Header(RULES, 1, 1e-6, 0, "", strata=strata)
    write_samples(tmp_path / "file", header, [np.array(ids, np.int64)], [np.array(wins)])
    with pytest.raises(CorruptBlockError, match=what):
        read_samples(tmp_path / "file")


# what is refused


@pytest.mark.parametrize(
    ("settings", "error", "part"),
    [
        ({"sample": ""}, OutputError, "name of a file is missing"),
        ({"sample": "nowhere/file"}, OutputError, "cannot write here"),
        ({"sample": "directory"}, OutputError, "not a file"),
        ({"sample": "text"}, OutputError, "not replaced"),
        ({"sample": "db/file"}, OutputError, "inside"),
        ({"sample": "db"}, OutputError, "the same"),
        ({"samples": 0}, InvalidNumberError, "samples must be 1 to"),
        ({"samples": 10**10}, InvalidNumberError, "samples must be 1 to"),
        ({"samples_least": -1}, InvalidNumberError, "samples_least must be 0 to"),
        ({"sample_seed": -1}, InvalidNumberError, "seed must be"),
    ],
)
def test_what_cannot_be_done_is_refused_before_the_work(
    settings: dict[str, Any], error: type[MadnError], part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "directory").mkdir()
    (tmp_path / "text").write_text("somebody's notes")
    with pytest.raises(error, match=part):
        prepare(RULES, "db", **{"sample": "file", **settings})
    assert sorted(os.listdir(tmp_path)) == ["directory", "text"]


def test_a_full_disk_leaves_work_that_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path / "plain")

    def full(descriptor: int) -> None:
        kept = tmp_path / "scratch" / "000.samples"
        if kept.exists() and os.path.samestat(os.fstat(descriptor), kept.stat()):
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(ResourceError, match="No space left"):
            made(tmp_path / "file", scratch=tmp_path / "scratch")
    assert not (tmp_path / "file").exists()
    made(tmp_path / "file", scratch=tmp_path / "scratch", resume=True)
    assert (tmp_path / "file").read_bytes() == (tmp_path / "plain").read_bytes()


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["solve", "--pieces", "2", "--squares", "10", "--sample", str(tmp_path / "file"), "--samples", "2000"]
    args += ["--samples-least", "7", "--sample-seed", "5"]
    assert main(args) == 0
    assert f"The samples are in {tmp_path / 'file'}" in capsys.readouterr().out
    made(tmp_path / "other")
    assert (tmp_path / "file").read_bytes() == (tmp_path / "other").read_bytes()
    assert "--samples-least 7" in read_samples(tmp_path / "file").header.command
    assert main([*args, "--samples", "0"]) == 2


def test_strata_follow_the_game() -> None:
    """Four pieces: a million samples, and some of every pair of finish zones."""
    strata = Sampling("file", 1_000_000, 100).strata(Rules(), make_plan(Rules(), scratch=".").pairs)
    assert sum(part.size for part in strata) < Rules().positions
    assert sum(part.count for part in strata) < 1_200_000
    assert [part.first for part in strata] == sorted(part.first for part in strata)
