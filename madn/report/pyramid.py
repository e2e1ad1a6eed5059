"""Fujita's paper on the pyramid game: Table 1, its examples, and the corollaries (4.1)-(4.8)."""

from collections.abc import Callable, Iterator

from madn.errors import InvalidBoardError
from madn.games.pyramid import Action, Solution, State, Value, limit, solve, start, state_text
from madn.report import Fact, Paper, Progress, published, quiet

PAPER = Paper("Fujita")
TIERS_OF_COROLLARIES = 11

# What the paper prints for some states; every best action is the only one.
EXAMPLES: list[tuple[str, State, str, int | str]] = [
    ("Example 4.1", (1, 1), "W", 1),
    ("Example 4.1", (1, 1), "best action", "(2,1,2)"),
    ("Example 4.2", (1, 1, 1), "W", 4),
    ("Example 4.2", (0, 2, 0), "W", 4),
    ("Example 4.2", (0, 1, 1), "Z", 4),
    ("Example 4.2", (1, 2, 0), "Z", 4),
    ("Example 4.3", (1, 1, 1), "Z", 2),
    ("Example 4.3", (0, 1, 1), "W", 2),
    ("Example 4.3", (0, 1, 1), "best action", "(3,1,1)"),
    ("Example 4.3", (1, 2, 0), "W", 2),
    ("Example 4.3", (1, 2, 0), "best action", "(1,1,1)"),
    ("Example 4.4", (1, 1, 1, 1), "W", 3),
    ("Example 4.4", (1, 1, 1, 1), "best action", "(4,1,4)"),
]


def facts(full: bool, progress: Progress = quiet) -> Iterator[Fact]:
    """All facts, with or without `full`: all of Table 1 takes only seconds."""
    table = published()["pyramid"]["table_1"]
    printed_limits = list(table["limit_L"].values())
    limits = [limit(int(tiers)) for tiers in table["limit_L"]]
    yield PAPER.number("Table 1: L for 2 to 13 tiers", printed_limits, limits)
    lost = []
    for name, printed in table["first_W"].items():
        tiers = int(name)
        solution = solve(tiers, keep=False)
        value = solution.value(start(tiers))
        yield _first(solution, value, printed)
        if not solution.wins(start(tiers)):
            lost.append(tiers)
            second = table["second_Z_where_first_loses"][name]
            yield PAPER.number(f"Table 1, {tiers} tiers: Z(x0)", second, value.second)
    yield PAPER.number("Table 1: tiers where the second player wins", [3, 7, 11], lost)
    for where, state, what, expected in EXAMPLES:
        solution = solve(len(state))
        value = solution.value(state)
        ours: int | str = value.first if what == "W" else value.second
        if what == "best action":
            ours = " or ".join(map(str, solution.best_actions(state)))
        yield PAPER.number(f"{where}: {what} of {state_text(state)}", expected, ours)
    yield from _corollaries(solve(TIERS_OF_COROLLARIES))


def _first(solution: Solution, value: Value, printed: int) -> Fact:
    """W(x0) of Table 1, with the reason where it differs."""
    tiers, note = solution.tiers, ""
    if value.first != printed:
        bars = tiers * (tiers + 1) // 2
        most = solution.limit + bars // 2  # all bars but one get marked, and the first player begins
        note = f"the paper's own recursions (3.2)-(3.5) give {value.first}"
        if tiers == 3:
            note += ", and so does its Example 4.2"
        if printed > most:
            note += f"; the first player never has more than {bars // 2} turns, so W is at most {most}"
    return PAPER.number(f"Table 1, {tiers} tiers: W(x0)", printed, value.first, note)


def _corollaries(solution: Solution) -> Iterator[Fact]:
    """(4.1)-(4.8) for every k and l that the game has."""
    L, tiers = solution.limit, solution.tiers
    none, long = range(1), range(2, tiers + 1)

    def state(singles: int, run: int = 0) -> State:
        return tuple((n == 1) * singles + (n == run) for n in range(1, tiers + 1))

    def first(singles: int, run: int = 0) -> int:
        return solution.value(state(singles, run)).first

    def second(singles: int, run: int = 0) -> int:
        return solution.value(state(singles, run)).second

    def best(action: Action, singles: int, run: int = 0) -> bool:
        return action in solution.best_actions(state(singles, run))

    def check(name: str, text: str, law: Callable[[int, int], bool], note: str = "", *, lengths: range = long) -> Fact:
        """Try a law for all l of `lengths` (0: there is no long run) and all k that make states of the game."""
        right, wrong = 0, []
        for run in lengths:
            for k in range(0 if run else 1, L + 1):
                try:
                    holds = law(k, run)
                except InvalidBoardError:
                    break
                right += holds
                if not holds:
                    wrong.append(run)
        ours = f"holds in all {right} cases of {tiers} tiers"
        if wrong:
            ours = f"holds in {right} of {right + len(wrong)} cases of {tiers} tiers, "
            ours += f"not for l = {min(wrong)} to {max(wrong)}"
        return PAPER.number(f"corollary ({name})", text, ours, note if wrong else "", agrees=not wrong)

    yield check("4.1", "W(2k) = k", lambda k, _: first(2 * k) == k, lengths=none)
    yield check("4.1, action", "(1,1,1) is best in 2k", lambda k, _: best(Action(1, 1, 1), 2 * k), lengths=none)
    yield check("4.2", "W(2k+1) = L + k", lambda k, _: first(2 * k + 1) == L + k, lengths=none)
    yield check("4.3", "W(2k, l) = k + 1", lambda k, run: first(2 * k, run) == k + 1)
    yield check("4.3, action", "(l,1,l-1) is best in (2k, l)", lambda k, run: best(Action(run, 1, run - 1), 2 * k, run))
    yield check("4.4", "W(2k+1, l) = k + 1", lambda k, run: first(2 * k + 1, run) == k + 1)
    yield check("4.4, action", "(l,1,l) is best in (2k+1, l)", lambda k, run: best(Action(run, 1, run), 2 * k + 1, run))
    yield check("4.5", "Z(2k+1) = k", lambda k, _: second(2 * k + 1) == k, lengths=none)
    yield check("4.6", "Z(2k) = L + k - 1", lambda k, _: second(2 * k) == L + k - 1, lengths=none)
    yield check(
        "4.7",
        "Z(2k, l) = L + k",
        lambda k, run: second(2 * k, run) == L + k,
        "Z is L + k + 1 for l = 5 to 10 and L + k + 2 for l = 11: the second player can leave two runs of 2 (of 5), "
        "so that the first player needs more turns",
    )
    yield check(
        "4.8",
        "Z(2k+1, l) = L + k",
        lambda k, run: second(2 * k + 1, run) == L + k,
        "Z is L + k + 1 for l = 3 to 9 and L + k + 2 for l = 10 and 11: for l = 3 the second player marks the bar in "
        "the middle and leaves 2k + 3 single bars, where (4.2) says L + k + 1",
    )
