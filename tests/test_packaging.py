"""What an installation holds, and the programs that make one."""

import os
import re
import subprocess
from importlib import import_module
from importlib.metadata import entry_points, metadata, requires, version
from pathlib import Path

import pytest
from conftest import SLOW

import madn

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "madn"
INSTALLED = Path(madn.__file__).resolve().parent
PROGRAMS = ["tools/install", "tools/run", "tools/test", "tools/docs", ".ci/run"]

installed_only = pytest.mark.skipif(SOURCES == INSTALLED, reason="madn is not installed")


@installed_only
def test_the_version_is_that_of_the_distribution() -> None:
    assert madn.__version__ == version("madn")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## [{madn.__version__}]" in changes
    assert f"\nversion: {madn.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


@installed_only
def test_there_is_a_program_called_madn() -> None:
    (program,) = entry_points(group="console_scripts", name="madn")
    assert program.value == "madn.__main__:run"  # not loaded: it would take over Ctrl-C


@installed_only
def test_nothing_of_the_development_is_needed_to_use_it() -> None:
    needed = {re.split(r"[^\w-]", name)[0] for name in requires("madn") or [] if "extra ==" not in name}
    assert needed == {"numpy", "zstandard", "sqlite-utils", "click"}
    assert metadata("madn")["License-Expression"] == "MIT"


def test_types_are_part_of_the_package() -> None:
    assert (INSTALLED / "py.typed").exists()
    assert (INSTALLED / "_core.pyi").exists()


@installed_only
@pytest.mark.skipif(not SOURCES.exists(), reason="there are no sources here")
def test_every_module_and_all_data_of_the_sources_are_installed() -> None:
    for pattern in ("*.py", "*.pyi", "*.pxd", "py.typed", "data/*", "data/*/*", "web/static/*", "web/local/*"):
        files = {path.relative_to(SOURCES) for path in SOURCES.rglob(pattern)}
        assert files
        assert files == {path.relative_to(INSTALLED) for path in INSTALLED.rglob(pattern)}


@pytest.mark.skipif(not SOURCES.exists(), reason="there are no sources here")
def test_every_kernel_is_built_and_has_a_stub() -> None:
    kernels = sorted(SOURCES.rglob("*.pyx"))
    assert kernels
    for path in kernels:
        assert path.with_suffix(".pyi").exists()
        if not path.stem.endswith(("_avx2", "_avx512")):  # not on every processor
            import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


@installed_only
def test_the_linters_are_pinned() -> None:
    """A new version of a linter must not fail a change that has nothing to do with it."""
    wanted = [name for name in requires("madn") or [] if re.match(r"(ruff|mypy|cython-lint)\b", name)]
    assert len(wanted) == 3
    assert all("==" in name.partition(";")[0] for name in wanted)


@pytest.mark.skipif(os.name != "posix", reason="these are programs for bash")
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_programs_can_be_run(program: str) -> None:
    path = ROOT / program
    assert os.access(path, os.X_OK)
    assert path.read_text(encoding="utf-8").startswith("#!/usr/bin/env bash\n")
    subprocess.run(["bash", "-n", str(path)], check=True)
    named = re.findall(r"test_\w+\.py", path.read_text(encoding="utf-8"))
    assert [name for name in named if not (ROOT / "tests" / name).exists()] == []


@pytest.mark.parametrize("name", SLOW)
def test_what_is_said_to_be_slow_is_there(name: str) -> None:
    file, _, test = name.partition("::")
    text = (Path(__file__).parent / file).read_text(encoding="utf-8")
    assert f"\ndef {test.partition('[')[0]}(" in text


@pytest.mark.skipif(os.name == "nt", reason="the programs are for a shell")
@pytest.mark.parametrize(
    ("line", "extra"), [("serve --port 0", "web"), ("plot positions", "plots"), ("win two 0/0", ""), ("", "")]
)
def test_run_installs_what_a_command_needs(line: str, extra: str, tmp_path: Path) -> None:
    """With programs that only say how they were called in the place of the installer and of madn."""
    for name in ("tools/install", ".venv/bin/madn"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(f'#!/bin/sh\necho "{name} $*"\n', encoding="ascii")
        (tmp_path / name).chmod(0o755)
    program = tmp_path / "tools" / "run"
    program.write_bytes((ROOT / "tools" / "run").read_bytes())
    program.chmod(0o755)
    done = subprocess.run([program, *line.split()], capture_output=True, text=True, check=True, timeout=60)
    said = done.stdout.splitlines()
    assert said[0] == f"tools/install {extra}"
    if line:
        assert said[1:] == [f".venv/bin/madn {line}"]
    else:
        assert ".venv/bin/madn solve --pieces 2 --out databases/two" in said


@pytest.mark.skipif(os.name == "nt", reason="the programs are for a shell")
@pytest.mark.parametrize("call", ["", "--quick"])
@pytest.mark.parametrize("complains", ["ruff", "mypy", "cython-lint", "pytest"])
def test_what_a_linter_finds_fails_the_test_command(call: str, complains: str, tmp_path: Path) -> None:
    """With programs that only say their names; one of them ends with status 1, and nothing is run after it."""
    names = ["ruff", "mypy", "cython-lint", "pytest"]
    for name in ["tools/install", *(f".venv/bin/{name}" for name in names)]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        status = int(Path(name).name == complains)
        (tmp_path / name).write_text(f'#!/bin/sh\necho "ran {Path(name).name}"\nexit {status}\n', encoding="ascii")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "tests").mkdir()
    program = tmp_path / "tools" / "test"
    program.write_bytes((ROOT / "tools" / "test").read_bytes())
    program.chmod(0o755)
    done = subprocess.run([program, *call.split()], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    ran = re.findall(r"ran (\S+)", done.stdout)
    assert ran[0] == "install"
    assert list(dict.fromkeys(ran[1:])) == names[: names.index(complains) + 1]
