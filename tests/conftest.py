"""Says which madn is being tested, makes sure that it is the installed one where asked for, and marks long tests."""

import os
from pathlib import Path

import pytest
import strategies  # noqa: F401  (its hypothesis profile is for all tests)

import madn

os.environ.setdefault("GOMP_SPINCOUNT", "2000")  # as the command line does
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


def pytest_report_header() -> str:
    return f"madn: {Path(madn.__file__).parent}"


def pytest_sessionstart() -> None:
    if os.environ.get("MADN_TEST_INSTALLED") and Path(madn.__file__).resolve().parent == ROOT / "madn":
        pytest.exit("madn is imported from the sources, not from where it is installed", returncode=3)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if f"{item.path.name}::{item.name}".startswith(SLOW):
            item.add_marker(pytest.mark.slow)
