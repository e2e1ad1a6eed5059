"""Pictures of Can't Stop: how the two methods converge, and when to stop in the first turn."""

from functools import partial
from itertools import combinations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from numpy.typing import NDArray

from madn.games.cantstop import CantStop
from madn.games.cantstop.first_turn import stored_turn
from madn.games.cantstop.turns import Turn, Worth, estimates
from madn.plots.style import SMALLEST, WIDTH

NEVER, UNREACHABLE = 0, -1
ACROSS = 3  # panels in a row


def cantstop_newton() -> Figure:
    """The distance of the estimates from the first player's chance, iteration by iteration."""
    turn, first_player = stored_turn(CantStop(3, 3))
    figure = Figure(figsize=(WIDTH, 4.4))
    axes = figure.add_subplot()
    for method, label, marker in (("plain", "Algorithm 2", "."), ("newton", "Newton", "o")):
        errors = [abs(x - first_player) for x, _ in estimates(turn, turn, method)]
        shown = [error if error > 0 else np.nan for error in errors]
        axes.plot(range(len(shown)), shown, marker=marker, label=label)
        if np.isnan(shown[-1]):
            axes.axvline(len(shown) - 1, color="gray", linewidth=0.7, linestyle=":")
    axes.set(yscale="log", xlabel="iteration", ylabel="distance from the first player's chance")
    axes.set_title("The component of the starting position, (3,3) Can't Stop")
    axes.legend()
    return figure


def when_to_stop(game: CantStop) -> Figure:
    """A panel for each choice of three columns: with how many steps in the longest of them it is best to stop."""
    turn, first_player = stored_turn(game)
    worth = turn.worth(1 - first_player)
    last = game.columns - 1
    choices = [  # of two that mirror each other only the first
        chosen for chosen in combinations(range(game.columns), 3) if chosen <= tuple(last - c for c in chosen[::-1])
    ]
    down = -(-len(choices) // ACROSS)
    figure = Figure(figsize=(WIDTH, 2.3 * down + 1.3))
    panels = figure.subplots(down, ACROSS, squeeze=False)
    most = max(game.lengths)
    shades = ["#eeeeee", "#b2182b", *[f"#{k:02x}{k:02x}f4" for k in np.linspace(70, 225, most).astype(int)]]
    colours, norm = ListedColormap(shades), BoundaryNorm(np.arange(-1.5, most + 1), most + 2)
    for axes in panels.flat[len(choices) :]:
        axes.set_visible(False)
    for axes, columns in zip(panels.flat, choices, strict=False):
        table = _panel(axes, game, turn, worth, columns)
        image = axes.imshow(table, cmap=colours, norm=norm, origin="lower", aspect="auto")
    bar = figure.colorbar(
        image, ax=panels, ticks=range(-1, most + 1), location="bottom", aspect=40, shrink=0.9, pad=0.02
    )
    bar.ax.set_xticklabels(["impossible", "never", *map(str, range(1, most + 1))])
    bar.set_label("fewest steps in the third column with which to stop")
    figure.suptitle(f"When to stop in the first turn of {game} Can't Stop")
    return figure


cantstop_stop_3_3 = partial(when_to_stop, CantStop(3, 3))
cantstop_stop_4_1 = partial(when_to_stop, CantStop(4, 1))


def _panel(axes: Axes, game: CantStop, turn: Turn, worth: Worth, columns: tuple[int, ...]) -> NDArray[np.int64]:
    """Label a panel; return what its cells show."""
    third = max(columns, key=lambda c: (game.lengths[c], c))
    across, up = (c for c in columns if c != third)
    table = np.empty((game.lengths[up], game.lengths[across]), np.int64)
    for y, x in np.ndindex(table.shape):
        stops = _stops(game, turn, worth, {across: x + 1, up: y + 1}, third)
        table[y, x] = UNREACHABLE if stops is None else stops[0] if stops else NEVER
        text = "" if stops is None else _ranges(stops, game.lengths[third]) or "–"
        dark = NEVER <= table[y, x] <= 2
        axes.text(x, y, text, ha="center", va="center", fontsize=SMALLEST, color="white" if dark else "black")
    for set_ticks, set_label, column in (
        (axes.set_xticks, axes.set_xlabel, across),
        (axes.set_yticks, axes.set_ylabel, up),
    ):
        set_ticks(range(game.lengths[column]), [str(k + 1) for k in range(game.lengths[column])])
        set_label(f"steps in column {column + 2}", fontsize=9)
    axes.set_title(f"third: column {third + 2} ({game.lengths[third]} steps)", fontsize=9)
    return table


def _stops(game: CantStop, turn: Turn, worth: Worth, steps: dict[int, int], third: int) -> list[int] | None:
    """The steps in the third column with which stopping is at least as good as rolling; None if none are possible."""
    found, possible = [], False
    for height in range(1, game.lengths[third] + 1):
        heights = {**steps, third: height}
        markers = tuple(game.lengths[c] - heights[c] if c in heights else None for c in range(game.columns))
        number = turn.number.get(markers)
        if number is not None:
            stop = turn.stops[number]
            possible = True
            if stop is not None and stop >= worth.roll[number]:
                found.append(height)
    return found if possible else None


def _ranges(numbers: list[int], last: int) -> str:
    """Ascending numbers as text, such as 2,4+ if they go on to `last`."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ",".join(_range(part[0], part[-1], last) for part in parts)


def _range(first: int, end: int, last: int) -> str:
    if end == last > first:
        return f"{first}+"
    return str(first) if first == end else f"{first}-{end}"
