"""`madn pyramid`: the pyramid game of Fujita's paper."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from madn.cli.options import check_output_file
from madn.cli.output import attributes, columns, duration, json_option, plural, print_json
from madn.cli.progress import ProgressBar
from madn.cli.tables import check_table_file, write_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from madn.games.pyramid import Action, Solution, State
    from madn.games.pyramid.tree import Strategy, Turn


@click.command()
@click.option("--tiers", type=int, required=True, help="Tiers of the pyramid, 2 to 100: 1 bar, 2 bars, 3 bars ...")
@click.option(
    "--state", "text", metavar="RUNS", help="Number of runs of 1 bar, of 2 bars, ...  [default: the start, 1,1,...,1]"
)
@click.option("--tree", "with_tree", is_flag=True, help="Also print the winner's strategy as a tree.")
@click.option("--depth", type=int, help="How many turns of the winner the tree shows.  [default: all]")
@click.option("--svg", type=click.Path(path_type=Path), help="Draw the tree to this .svg file.")
@click.option("--table", type=click.Path(path_type=Path), help="Write all states to this .parquet or .csv file.")
@click.option("--threads", type=int, help="Threads to use.  [default: all]")
@json_option
def pyramid(
    tiers: int,
    text: str | None,
    with_tree: bool,
    depth: int | None,
    svg: Path | None,
    table: Path | None,
    threads: int | None,
    as_json: bool,
) -> None:
    """Solve the pyramid game: who wins, in how many turns, and how.

    The tiers have 1, 2, 3, ... bars. Players take turns marking one or more bars that stand side by side in one
    tier; whoever marks the last bar loses. A state gives the number of runs of 1 bar, of 2 bars, and so on that
    are left. An action (u1,u2,u3) marks bars u2 to u3 of a run of u1 bars.

    Example: madn pyramid --tiers 5 --state 1,1,0,1,0
    """
    if svg is not None:
        check_output_file(svg, "--svg", ".svg")
    if table is not None:
        check_table_file(table)
    from madn.games import pyramid as game
    from madn.games.pyramid import tree as trees

    state = game.start(tiers) if text is None else game.parse_state(text, tiers)
    if depth is not None:
        trees.checked_depth(depth)
    drawn = with_tree or svg is not None
    with ProgressBar("solving") as bar:
        until = state if table is None else game.start(tiers)
        solution = game.solve(tiers, threads=threads, keep=drawn or table is not None, until=until, progress=bar)
    answer = _answer(solution, state)
    tree = trees.strategy(solution, state, depth) if drawn and answer["best_actions"] else None
    if svg is not None and tree is not None:
        svg.write_text(trees.as_svg(tree), encoding="utf-8")
    written = [] if table is None else write_table(table, solution, {"tiers": tiers}, answer)
    if as_json:
        print_json({**answer, "tree": _nested(tree), "svg": svg and str(svg)})
        return
    click.echo(_table(solution, answer))
    if with_tree and tree is not None:
        click.echo("\n" + trees.as_text(tree))
    if svg is not None and tree is not None:
        click.echo(f"\nThe tree is in {svg}")
    if written:
        click.echo("\n" + columns(written))


def _answer(solution: "Solution", state: "State") -> dict[str, Any]:
    from madn.games.pyramid import actions, after

    first, second = solution.value(state)
    best = solution.best_actions(state)
    listed = []
    for action in actions(state):
        following = after(state, action)
        listed.append({"action": action, "state": following, "turns": solution.value(following).second + 1})
    facts = {"tiers": solution.tiers, "state": state, **attributes(solution, "states limit")}
    facts |= {"first": first, "second": second, "winner": "first" if solution.wins(state) else "second"}
    facts |= {"best_action": best[0] if best else None, "best_actions": best, "actions": listed}
    return facts | attributes(solution, "seconds threads")


def _table(solution: "Solution", answer: dict[str, Any]) -> str:
    from madn.games.pyramid import bars, state_text

    first_wins = answer["winner"] == "first"
    turns = plural(answer["first" if first_wins else "second"], "turn")
    best = " ".join(map(str, answer["best_actions"][:8])) + " ..." * (len(answer["best_actions"]) > 8)
    rows = [
        ("game", f"{solution.tiers} tiers, {plural(solution.states, 'state')}"),
        ("state", f"{state_text(answer['state'])}, {plural(bars(answer['state']), 'bar')}"),
        ("winner", f"the {'player to move' if first_wins else 'other player'}, in at most {turns}"),
        ("W, Z", f"{answer['first']}, {answer['second']} (limit {answer['limit']})"),
        ("best", best or "none: the last bar must be marked"),
        ("time", f"{duration(solution.seconds)}, {plural(solution.threads, 'thread')}"),
    ]
    return columns(rows)


def _nested(tree: "Strategy | None") -> dict[str, Any] | None:
    """The tree as plain lists and objects."""

    def replies(turns: "Iterable[tuple[Action | None, Turn]]") -> list[dict[str, Any]]:
        return [{"reply": reply, "turn": vars(turn) | {"replies": replies(turn.replies)}} for reply, turn in turns]

    if tree is None:
        return None
    return {"state": tree.state, "turns": replies(tree.turns)}
