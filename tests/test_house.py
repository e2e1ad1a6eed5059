"""The map in docs/development.md: who imports whom. All imports, cimports and includes of the package are read."""

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAP = ROOT / "docs" / "development.md"
COMPILED = {".pyx", ".pxd", ".pxi"}
SUFFIXES = {".py", ".pyi", ".h"} | COMPILED

needs_sources = pytest.mark.skipif(not (ROOT / "madn").exists(), reason="there are no sources here")


class Room(NamedTuple):
    """A row of the map: the files of a room, as patterns, and the rooms they may import."""

    name: str
    files: tuple[str, ...]
    imports: tuple[str, ...]


class Edge(NamedTuple):
    """An import: which module, in which file and line, of which module. `for_types`: under TYPE_CHECKING, or a stub."""

    source: str
    file: str
    line: int
    target: str
    for_types: bool

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.source} imports {self.target}"


# The map


def read_map(text: str) -> list[Room]:
    """The rooms of the table that begins with `| room | files |`, from top to bottom."""
    rows = text.partition("\n| room | files |")[2].splitlines()[2:]
    rooms = []
    for row in rows:
        if not row.startswith("|"):
            break
        name, files, _, imports = (cell.strip() for cell in row.strip("|").split("|"))
        names = () if imports == "nothing" else tuple(part.strip() for part in imports.split(","))
        rooms.append(Room(name, tuple(re.findall(r"`([^`]+)`", files)), names))
    return rooms


def room_of(module: str, rooms: list[Room], modules: dict[str, list[str]]) -> Room:
    """The one room of a module, all of whose files must be in it."""
    found = {room for room in rooms for file in modules[module] if any(matches(file, p) for p in room.files)}
    assert len(found) == 1, f"{module} is in {len(found)} rooms of the map: {sorted(room.name for room in found)}"
    return found.pop()


def matches(file: str, pattern: str) -> bool:
    """Whether a pattern is this file or, with a slash at its end, a folder above it. `x.*` is every file called x."""
    return file.startswith(pattern) if pattern.endswith("/") else fnmatchcase(file, pattern)


# The imports


def module_name(file: Path) -> str:
    """`madn.solver.plan`; a text that others include keeps its suffix: `madn.solver.lanes.h`."""
    parts = file.with_suffix("").parts if file.suffix not in {".h", ".pxi"} else file.parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def read_package(root: Path) -> tuple[dict[str, list[str]], list[Edge]]:
    """All modules of the package below a folder with their files, and all imports between them."""
    paths = sorted(path for path in (root / "madn").rglob("*") if path.suffix in SUFFIXES)
    modules: dict[str, list[str]] = {}
    for path in paths:
        modules.setdefault(module_name(path.relative_to(root)), []).append(path.relative_to(root).as_posix())
    edges = []
    for path in paths:
        file = path.relative_to(root)
        text = path.read_text(encoding="utf-8")
        found = of_python(text, file) if path.suffix in {".py", ".pyi"} else of_text(text, file)
        for line, target, for_types in found:
            source, known = module_name(file), longest_module(target, modules)
            if known is not None and known != source:
                edges.append(Edge(source, file.as_posix(), line, known, for_types))
    return modules, edges


def longest_module(name: str, modules: dict[str, list[str]]) -> str | None:
    """The module that `import` would find: `madn.rules.Rules` is in `madn.rules`. None for other packages."""
    while name not in modules:
        name, dot, _ = name.rpartition(".")
        if not dot:
            return "madn" if name == "madn" else None
    return name


def of_python(text: str, file: Path) -> Iterator[tuple[int, str, bool]]:
    """The imports of a Python file or a stub, inside functions too, and modules that it names in a text.

    Yields line, what, and whether it is for types only.
    """
    package = file.parent.parts

    def walk(node: ast.AST, for_types: bool) -> Iterator[tuple[int, str, bool]]:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, name.name, for_types) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from from_import(node, for_types)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for statement in node.body:
                yield from walk(statement, True)
            for statement in node.orelse:
                yield from walk(statement, for_types)
        else:
            for child in ast.iter_child_nodes(node):
                yield from walk(child, for_types)

    def from_import(node: ast.ImportFrom, for_types: bool) -> Iterator[tuple[int, str, bool]]:
        base = ".".join(package[: len(package) - node.level + 1]) + "." if node.level else ""
        whole = (base + (node.module or "")).rstrip(".")
        for name in node.names:
            yield node.lineno, whole if name.name == "*" else f"{whole}.{name.name}", for_types

    tree = ast.parse(text)
    yield from walk(tree, file.suffix == ".pyi")
    for node in ast.walk(tree):  # for `import_module`
        if isinstance(node, ast.Constant) and re.fullmatch(r"madn(\.\w+)+", str(node.value)):
            yield node.lineno, str(node.value), False


def of_text(text: str, file: Path) -> Iterator[tuple[int, str, bool]]:
    """The imports, cimports and includes of Cython and C: line, what, False."""
    here = ".".join(file.parent.parts)
    text = re.sub(r"\\\n", " \n", text)
    for found in re.finditer(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+c?import[ \t]+(\([^)]*\)|[^\n]*)", text, re.M):
        whole = relative(found[1], file)
        names = re.sub(r"#[^\n]*", "", found[2]).strip("() \n").split(",")
        for name in (part.split()[0] for part in names if part.strip()):
            yield line_of(text, found.start()), whole if name == "*" else f"{whole}.{name}", False
    for found in re.finditer(r"^[ \t]*c?import[ \t]+([^\n#]*)", text, re.M):
        for name in found[1].split(","):
            yield line_of(text, found.start()), name.split()[0], False
    included = r"""^[ \t]*(?:include[ \t]+|\#[ \t]*include[ \t]+|cdef[ \t]+extern[ \t]+from[ \t]+)["']([^"'\n]+)["']"""
    for found in re.finditer(included, text, re.M):
        path = f"{here}.{found[1]}" if "/" not in found[1] else (file.parent / found[1]).as_posix()
        yield line_of(text, found.start()), normal(path), False


def relative(name: str, file: Path) -> str:
    """A dotted name in full: `.x` begins in the folder of the file."""
    dots = len(name) - len(name.lstrip("."))
    parts = file.parent.parts
    return ".".join([*parts[: len(parts) - dots + 1], name[dots:]]).rstrip(".") if dots else name


def normal(path: str) -> str:
    """`madn/games/../lanes.h` as `madn.lanes.h`."""
    parts: list[str] = []
    for part in path.split("/"):
        parts = parts[:-1] if part == ".." else [*parts, part]
    return ".".join(parts)


def line_of(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


# The checks


def forbidden(root: Path, rooms: list[Room]) -> list[str]:
    """Every import that the map does not allow."""
    modules, edges = read_package(root)
    home = {module: room_of(module, rooms, modules) for module in modules}
    return [
        f"{edge}: the map does not let '{home[edge.source].name}' import '{home[edge.target].name}'"
        for edge in edges
        if home[edge.source] is not home[edge.target] and home[edge.target].name not in home[edge.source].imports
    ]


def cycle(root: Path, rooms: list[Room]) -> list[str]:
    """The imports of a cycle between modules, if there is one; imports for types may close one inside a room."""
    modules, edges = read_package(root)
    home = {module: room_of(module, rooms, modules) for module in modules}
    after: dict[str, list[Edge]] = {module: [] for module in modules}
    for edge in edges:
        if not edge.for_types or home[edge.source] is not home[edge.target]:
            after[edge.source].append(edge)
    done: set[str] = set()

    def search(module: str, path: list[Edge]) -> list[Edge]:
        if module in done:
            return []
        for edge in after[module]:
            way = [*path, edge]
            starts = [step.source for step in way]
            if edge.target in starts:
                return way[starts.index(edge.target) :]
            found = search(edge.target, way)
            if found:
                return found
        done.add(module)
        return []

    return next(([str(edge) for edge in found] for module in after if (found := search(module, []))), [])


@pytest.fixture(scope="module")
def rooms() -> list[Room]:
    return read_map(MAP.read_text(encoding="utf-8"))


def test_a_room_imports_only_from_rooms_above_it(rooms: list[Room]) -> None:
    assert len(rooms) > 10
    above: list[str] = []
    for room in rooms:
        assert room.files
        assert room.name not in above
        assert set(room.imports) <= set(above), f"'{room.name}' imports from below, or what is no room"
        above.append(room.name)


@needs_sources
def test_every_pattern_of_the_map_stands_for_files(rooms: list[Room]) -> None:
    modules, _ = read_package(ROOT)
    files = [file for of_module in modules.values() for file in of_module]
    unused = [pattern for room in rooms for pattern in room.files if not any(matches(file, pattern) for file in files)]
    assert unused == []


@needs_sources
def test_nothing_is_imported_that_the_map_does_not_allow(rooms: list[Room]) -> None:
    assert forbidden(ROOT, rooms) == []


@needs_sources
def test_every_file_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`((?:madn|tests|tools|docs|\.ci)/[\w./*-]+)", MAP.read_text(encoding="utf-8")))
    assert len(named) > 50
    assert sorted(name for name in named if not any(ROOT.glob(name.rstrip("/")))) == []


@needs_sources
def test_there_is_no_cycle(rooms: list[Room]) -> None:
    assert cycle(ROOT, rooms) == []


# The checks check


HOUSE = """
| room | files | answers | may import |
|---|---|---|---|
| ground | `madn/ground.*` | a | nothing |
| wing | `madn/wing/` | b | ground |
| roof | `madn/roof.py`, `madn/__init__.py` | c | ground, wing |
"""


def house(folder: Path, **files: str) -> list[str]:
    """Write a small package, each file by its path with `__` for `/`; return what is wrong with it."""
    base = {"ground.py": "", "ground.pxd": "", "wing/__init__.py": "", "wing/a.py": "", "wing/b.py": "", "roof.py": ""}
    for name, text in {**base, "__init__.py": "", **files}.items():
        path = folder / "madn" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    rooms = read_map(HOUSE)
    return forbidden(folder, rooms) or cycle(folder, rooms)


def test_what_the_map_allows_is_no_fault(tmp_path: Path) -> None:
    files = {
        "roof.py": "import numpy\nimport madn.wing.a as a\nfrom madn.wing import b\n",
        "wing/a.py": "from . import b\nfrom madn.ground import x\n",
        "wing/k.pyx": "from madn.ground cimport (\n    x,  # (one)\n    y,\n)\ninclude 'k.pxi'\n",
        "wing/k.pxi": 'cdef extern from "k.h":\n    pass\n',
        "wing/k.h": "#include <stdint.h>\n",
    }
    assert house(tmp_path, **files) == []
    _, edges = read_package(tmp_path)
    assert {(edge.source, edge.target) for edge in edges} == {
        ("madn.roof", "madn.wing.a"),
        ("madn.roof", "madn.wing.b"),
        ("madn.wing.a", "madn.wing.b"),
        ("madn.wing.a", "madn.ground"),
        ("madn.wing.k", "madn.ground"),
        ("madn.wing.k", "madn.wing.k.pxi"),
        ("madn.wing.k.pxi", "madn.wing.k.h"),
    }


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("ground.py", "\nimport madn.wing.a\n", 2),
        ("ground.py", "from madn.wing.a import x\n", 1),
        ("ground.py", "def f():\n    from madn.wing import a\n", 2),
        ("ground.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .wing import a\n", 3),
        ("ground.pyi", "from madn.wing import a as a\n", 1),
        ("ground.pxd", "from libc.math cimport fabs\nfrom madn.wing.k cimport x\n", 2),
        ("ground.pxd", "cimport madn.wing.k\n", 1),
        ("ground.pxi", 'include "wing/k.pxi"\n', 1),
        ("ground.pxd", 'cdef extern from "wing/k.h" nogil:\n    pass\n', 1),
        ("ground.h", '/* */\n#include "wing/k.h"\n', 2),
        ("ground.py", "from importlib import import_module\nimport_module('madn.wing.a')\n", 2),
        ("wing/a.py", "import madn\n", 1),
        ("wing/k.h", '#include "../ground.h"\n#include "../roof.py"\n', 2),
    ],
)
def test_a_forbidden_import_is_caught(tmp_path: Path, file: str, text: str, line: int) -> None:
    files = {"wing/k.pxd": "", "wing/k.pxi": "", "wing/k.h": "", "ground.h": "", file: text}
    (fault,) = house(tmp_path, **files)
    assert fault.startswith(f"madn/{file}:{line}: ")
    assert "the map does not let" in fault


@pytest.mark.parametrize(
    ("files", "length"),
    [
        ({"wing/a.py": "from madn.wing import b\n", "wing/b.py": "import madn.wing.a\n"}, 2),
        ({"wing/a.py": "from madn.wing import b\n", "wing/b.py": "def f():\n    from madn.wing.a import x\n"}, 2),
        ({"wing/k.pyx": "from madn.wing import a\n", "wing/a.py": "from madn.wing.k import x\n"}, 2),
        ({"wing/k.pxd": "from madn.wing.m cimport x\n", "wing/m.pyx": "cimport madn.wing.k\n"}, 2),
        ({"wing/k.pxi": 'include "m.pxi"\n', "wing/m.pxi": 'include "k.pxi"\n'}, 2),
        ({"wing/__init__.py": "from madn.wing import a\n", "wing/a.py": "from madn.wing import solve\n"}, 2),
    ],
)
def test_a_cycle_is_caught(tmp_path: Path, files: dict[str, str], length: int) -> None:
    found = house(tmp_path, **files)
    assert len(found) == length
    assert all(fault.startswith("madn/wing/") and " imports " in fault for fault in found)


def test_imports_for_types_may_close_a_cycle_in_a_room(tmp_path: Path) -> None:
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from madn.wing.a import A\n"
    assert house(tmp_path, **{"wing/a.py": "from madn.wing import b\n", "wing/b.py": text}) == []


def test_a_module_that_is_in_no_room_is_caught(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"madn\.attic is in 0 rooms"):
        house(tmp_path, **{"attic.py": ""})
