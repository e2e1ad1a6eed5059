"""A sure way to win the pyramid game as a tree (Figure 6 of the paper), in text and in SVG.

The tree has one action of the winner in each state, but all replies of the loser. A state that came up before is not
followed again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from madn.errors import ResourceError
from madn.games.pyramid.solver import Action, Solution, State, actions, after, is_final, state_text
from madn.ranges import checked_int, checked_type

MOST_TURNS = 3000


@dataclass
class Turn:
    """A state with the winner to move, the best action there, the state it leads to, and all replies of the loser.

    `again` says that the state is followed elsewhere in the tree, `cut` that the depth limit was reached.
    """

    state: State
    action: Action
    after: State
    again: bool = False
    cut: bool = False
    replies: list[tuple[Action, "Turn"]] = field(default_factory=list)


@dataclass(frozen=True)
class Strategy:
    """A sure way to win from a state. If the player to move wins, there is one turn, with no action before it."""

    state: State
    turns: list[tuple[Action | None, Turn]]


def checked_depth(depth: int) -> int:
    """The depth of a tree as an int; InvalidNumberError if a tree cannot have that depth."""
    return checked_int("depth", depth, 1, MOST_TURNS)


def strategy(solution: Solution, state: State, depth: int | None = None) -> Strategy:
    """The strategy of the winner from a state, for at most `depth` of the winner's turns; needs all values kept.

    Of several best actions, the first in the order of their numbers is taken.
    """
    followed: dict[State, int] = {}  # and with how many turns to go
    count = 0

    def turn(x: State, left: int) -> Turn:
        nonlocal count
        count += 1
        if count > MOST_TURNS:
            raise ResourceError(f"the tree has more than {MOST_TURNS:,} turns; choose a smaller depth")
        action = solution.best_actions(x)[0]
        here = Turn(x, action, after(x, action))
        if is_final(here.after):
            return here
        here.again = followed.get(x, 0) >= left
        here.cut = not here.again and left == 1
        if not here.again and not here.cut:
            followed[x] = left
            here.replies = [(reply, turn(after(here.after, reply), left - 1)) for reply in actions(here.after)]
        return here

    checked_type("solution", solution, Solution)
    most = solution.limit if depth is None else checked_depth(depth)
    if solution.wins(state):
        return Strategy(state, [(None, turn(state, most))])
    return Strategy(state, [(action, turn(after(state, action), most)) for action in actions(state)])


def as_text(tree: Strategy) -> str:
    """One line for each turn: what the loser marks and leaves, then what the winner marks and leaves."""
    lines = [state_text(checked_type("tree", tree, Strategy).state)]

    def walk(turns: list[tuple[Action | None, Turn]], indent: str) -> None:
        for number, (reply, turn) in enumerate(turns, 1):
            last = number == len(turns)
            mark = "`- " if last else "|- "
            before = f"{reply} {state_text(turn.state)} -> " if reply else ""
            note = " (see above)" if turn.again else " ..." if turn.cut else ""
            lines.append(f"{indent}{mark}{before}{turn.action} {state_text(turn.after)}{note}")
            walk([*turn.replies], indent + ("   " if last else "|  "))

    walk(tree.turns, "")
    return "\n".join(lines)


CHARACTER, LINE, GAP = 7, 46, 78  # pixels: a character, a turn, and the space for what the loser marks
INK, PAPER, BOX, PALE, LAST = "#2b2413", "#fffdf5", "#dce8f4", "#f1f1f1", "#f3d58a"


def as_svg(tree: Strategy) -> str:
    """The tree as an SVG document: boxes with a state and the winner's action, ovals where one bar is left.

    A box is dashed if its continuation is not drawn there, because it is elsewhere in the tree or beyond the depth.
    """
    width = CHARACTER * max(len(state_text(checked_type("tree", tree, Strategy).state)), 9) + 20
    step = width + GAP
    shapes: list[str] = []
    lines: list[str] = []
    used = rightmost = 0

    def text(x: float, y: float, words: str, more: str = "") -> str:
        return f'<text x="{x:g}" y="{y:g}"{more}>{words}</text>'

    def edge(x: float, y: float, to: float, label: Action | None) -> Iterator[str]:
        yield f'<path d="M{x} {y:g}C{x + GAP // 3} {y:g} {x + GAP // 6} {to:g} {x + GAP // 2} {to:g}H{x + GAP}"/>'
        if label:
            yield text(x + GAP * 2 / 3, to - 4, str(label), ' class="reply"')

    def box(column: int, y: float, words: list[str], kind: str) -> None:
        nonlocal rightmost
        x = 10 + column * step
        rightmost = max(rightmost, x + width)
        shape = f'<rect x="{x}" y="{y - 17:g}" width="{width}" height="34"'
        shapes.append(f'{shape} rx="{17 if kind == "last" else 3}" class="{kind}"/>')
        for number, word in enumerate(words):
            shapes.append(text(x + width / 2, y + 4 + 14 * (number - (len(words) - 1) / 2), word))

    def place(turn: Turn, column: int) -> float:
        """Draw a turn and what follows it; return the height at which it is drawn."""
        nonlocal used
        ends = is_final(turn.after)
        if turn.replies:
            heights = [place(next_turn, column + 1) for _, next_turn in turn.replies]
            y = (heights[0] + heights[-1]) / 2
            for (reply, _), to in zip(turn.replies, heights, strict=True):
                lines.extend(edge(10 + column * step + width, y, to, reply))
        else:
            y = LINE * (used + 0.5) + 10
            used += 1
        box(column, y, [state_text(turn.state), str(turn.action)], "again" if turn.again or turn.cut else "turn")
        if ends:
            lines.extend(edge(10 + column * step + width, y, y, None))
            box(column + 1, y, [state_text(turn.after)], "last")
        return y

    loser_begins = tree.turns[0][0] is not None
    heights = [place(turn, int(loser_begins)) for _, turn in tree.turns]
    if loser_begins:
        y = (heights[0] + heights[-1]) / 2
        box(0, y, [state_text(tree.state)], "begin")
        for (reply, _), to in zip(tree.turns, heights, strict=True):
            lines.extend(edge(10 + width, y, to, reply))
    size = rightmost + 10, LINE * used + 20
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" width="{size[0]}" '
            f'height="{size[1]}" role="img" font-family="monospace" font-size="12" text-anchor="middle">',
            f"<title>A sure way to win the pyramid game from {state_text(tree.state)}</title>",
            "<desc>Boxes: a state and what the winner marks there; dashed if not followed further here. "
            "On the lines: what the loser marks. Ovals: one bar is left.</desc>",
            f"<style>text{{fill:{INK}}}path{{fill:none;stroke:{INK}}}rect{{stroke:{INK};fill:{BOX}}}"
            f".again{{stroke-dasharray:4 3}}.begin{{fill:{PALE}}}.last{{fill:{LAST}}}.reply{{font-size:10px}}</style>",
            f'<rect width="{size[0]}" height="{size[1]}" style="fill:{PAPER};stroke:none"/>',
            *lines,
            *shapes,
            "</svg>",
            "",
        ]
    )
