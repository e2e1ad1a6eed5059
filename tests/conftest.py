"""Says which madn is being tested, makes sure that it is the installed one where asked for, and marks long tests."""

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import strategies  # noqa: F401  (its hypothesis profile is for all tests)
from command_line import Run

import madn

os.environ.setdefault("GOMP_SPINCOUNT", "2000")  # as the command line does
if "PYTEST_XDIST_WORKER" not in os.environ:  # workers get them from the process that started them
    # No test finds a database of the user, or leaves anything in the user's cache.
    HOME = tempfile.TemporaryDirectory(prefix="madn-home-")
    os.environ |= {"MADN_CACHE": f"{HOME.name}/cache", "XDG_DATA_HOME": f"{HOME.name}/data"}
    os.environ.pop("MADN_DATABASES", None)
    os.environ.pop("MADN_CACHE_SIZE", None)
ROOT = Path(__file__).resolve().parent.parent

# Marked `slow`, beside those that say so themselves: they take most of the time of the suite, and shorter tests go over
# the same ground. A name with its parameters, or with the beginning of them, is one of several.
SLOW = (
    "test_cli.py::test_every_command_has_the_fields_of_the_contract_documented_and_a_table_for_people[reproduce",
    "test_embedded.py::test_every_best_move_is_that_of_the_solution",
    "test_match.py::test_exact_results_solve_the_linear_system_of_all_positions",
    "test_match.py::test_nobody_beats_optimal_from_any_position",
    "test_plots.py::test_every_picture_can_be_drawn_and_stays_the_same",
    "test_pyramid.py::test_what_differs_from_the_paper",
    "test_readme.py::test_the_examples_print_what_they_say[cli.md]",
    "test_readme.py::test_the_examples_print_what_they_say[players.md]",
    "test_solver.py::test_methods_agree",
    "test_solver.py::test_strips_in_parallel_give_the_same_bits",
    "test_solver.py::test_two_pieces_by_the_thesis_method",
)
# Marked `long`: the quick tier leaves them out too, but the debug build runs those of the kernels.
LONG = (
    "test_best_moves.py::test_choices_are_those_of_the_stored_values_everywhere",
    "test_cantstop_long.py::test_a_signal_is_heard_in_the_middle_of_a_level",
    "test_cli.py::test_a_plan_that_does_not_fit_is_still_a_plan",
    "test_ctrl_c.py::test_ctrl_c_ends_a_long_solve",
    "test_compress.py::test_killed_at_random_moments",
    "test_damaged_work.py::test_a_damaged_solve",
    "test_damaged_work.py::test_undamaged_work_goes_on",
    "test_deliver.py::test_a_policy_from_the_solve_is_that_of_its_values",
    "test_deliver.py::test_values_stay_only_as_long_as_they_are_needed",
    "test_engine.py::test_every_answer_names_the_same_best_move",
    "test_fuzz.py::test_mutated",
    "test_killed.py::test_a_solve_killed_at_random_moments",
    "test_moves.py::test_every_state_of_small_boards[4-1",
    "test_perft.py::test_plain",
    "test_plots.py::test_a_picture_shows_the_game_of_a_database",
    "test_scratch.py::test_from_disk_as_in_memory",
    "test_solver.py::test_agrees_with_the_plain_solver_everywhere",
    "test_solver.py::test_same_bits_for_any_number_of_threads_and_any_build",
    "test_solver.py::test_the_estimate_grows_with_the_work",
    "test_torture.py::test_a_short_run",
    "test_verify.py::test_every_flipped_byte_is_found",
)


def pytest_report_header() -> str:
    return f"madn: {Path(madn.__file__).parent}"


def pytest_sessionstart() -> None:
    if os.environ.get("MADN_TEST_INSTALLED") and Path(madn.__file__).resolve().parent == ROOT / "madn":
        pytest.exit("madn is imported from the sources, not from where it is installed", returncode=3)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        name = f"{item.path.name}::{item.name}"
        if name.startswith(SLOW):
            item.add_marker(pytest.mark.slow)
        if name.startswith(LONG):
            item.add_marker(pytest.mark.long)


# The tests of the command line (command_line.py has what they share besides).


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line in this process: status, standard output, standard error."""
    from madn.cli import main

    def run(*args: object) -> tuple[int, str, str]:
        status = main([str(arg) for arg in args])
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def answer(run: Run) -> Callable[..., dict[str, Any]]:
    """Run with --json: the one object on standard output."""

    def answer(*args: object) -> Any:
        status, out, err = run(*args, "--json")
        assert status == 0, err
        found = json.loads(out)  # fails if there is anything else on standard output
        assert isinstance(found, list if args[0] == "reproduce" else dict)
        return found

    return answer


# The tests in a browser (browser.py says more): one server and one browser for all of them, started when needed.


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from browser import started

    with started() as chromium:
        yield chromium


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """A server with all games: two pieces exact, three estimated before the endgame."""
    from browser import served

    with served() as address:
        yield address


@pytest.fixture
def visit(browser: Any, address: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Open the page at a path; a mistake of a script or a broken rule of the content policy fails the test."""
    from browser import DICE, WIDE

    contexts: list[Any] = []
    wrong: list[str] = []

    def visit(path: str = "?rules=2,40", at: str = address, faults: bool = False, **settings: Any) -> Any:
        given = {"viewport": WIDE, "locale": "en-GB", "reduced_motion": "reduce", **settings}
        contexts.append(browser.new_context(**given))
        contexts[-1].add_init_script(DICE)
        page = contexts[-1].new_page()
        page.set_default_timeout(20_000)
        if not faults:  # of the server: the browser writes each of them down
            page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(at + path)
        page.wait_for_selector("body.ready")
        return page

    yield visit
    folder = os.environ.get("MADN_SCREENSHOTS")
    for number, context in enumerate(contexts):
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            name = f"{request.node.name.removeprefix('test_').replace('/', '_')}{number or ''}.png"
            context.pages[0].screenshot(path=Path(folder) / name)
        context.close()
    assert wrong == []


# The tests of the HTTP interface (web_client.py has what they share besides).


@pytest.fixture(scope="module")
def small_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of a database of a small game."""
    from madn.cli import main

    directory = tmp_path_factory.mktemp("databases") / "small"
    assert main(["solve", "--pieces", "2", "--squares", "12", "--out", str(directory), "--json"]) == 0
    return directory


@pytest.fixture(scope="module")
def databases(small_path: Path) -> Iterator[list[Any]]:
    """The game that comes with the package, stored in 16 bits, and a small one stored in full."""
    from madn.web.answers import Served

    with madn.open_database() as two, madn.open_database(small_path) as small:
        yield [Served("two-pieces", two), Served("small", small)]


@pytest.fixture
def unloaded(databases: list[Any]) -> Iterator[madn.Database]:
    """The first database without values in memory: its files are read when it is queried."""
    database = databases[0].database
    database.engine.hold(None)
    yield database
    database.preload()


@pytest.fixture(scope="module")
def app(databases: list[Any]) -> Any:
    from madn.web.app import make_app

    return make_app(databases, rate=10**9)


@pytest.fixture(scope="module")
def client(app: Any) -> Any:
    from starlette.testclient import TestClient

    return TestClient(app, raise_server_exceptions=False)
