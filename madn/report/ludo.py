"""The thesis: German Ludo for two (positions, Table 5.1, iterations of its algorithm)."""

from collections.abc import Iterator

from madn.report import Fact, published, same_digits
from madn.rules import Rules
from madn.solver import make_plan, solve

SOURCE = "thesis"


def facts(full: bool) -> Iterator[Fact]:
    """Counts for 1 to 4 pieces and Table 5.1 for 1 and 2 pieces; with `full` for 3 as well."""
    numbers = published()["madn"]
    count = numbers["position_count"]["4"]
    ours = Rules(pieces=4).positions
    yield Fact(
        SOURCE,
        "positions with 4 pieces",
        count,
        ours,
        ours == count,
        "formula (4.1) prints C(P,f1) twice; one is C(P,f2)",
    )
    for pieces in (1, 2, 3) if full else (1, 2):
        yield from _table_5_1(pieces, numbers["table_5_1_percent"][str(pieces)])
    for pieces in (1, 2):
        printed = numbers["iterations_1e-6"][str(pieces)]
        sweeps = solve(make_plan(Rules(pieces=pieces), method="thesis", tolerance=1e-6)).sweeps
        yield Fact(SOURCE, f"iterations to 1e-6, {pieces} pieces", printed, sweeps, sweeps == printed)


def _table_5_1(pieces: int, printed: dict[str, float]) -> Iterator[Fact]:
    solution = solve(make_plan(Rules(pieces=pieces)))
    for name, value in (("min", solution.min), ("max", solution.max), ("start", solution.win)):
        percent = 100 * value
        agrees = same_digits(percent, printed[name], 4)
        note = "" if agrees else "the thesis stopped at a largest change of 1e-6"
        yield Fact(SOURCE, f"Table 5.1, {pieces} pieces: {name} in %", printed[name], round(percent, 8), agrees, note)
