"""Pictures of the pyramid game."""

from matplotlib.figure import Figure

from madn.drawing import BLACK, MARK, RED
from madn.games.pyramid import solve, start
from madn.plots.style import SMALLEST, WIDTH

FIRST, SECOND = RED.fill, BLACK.fill


def pyramid() -> Figure:
    """Bars: the turns that the winner needs if both sides play their best, and the limit L."""
    tiers = list(range(2, 13))
    solutions = [solve(number, keep=False) for number in tiers]
    figure = Figure(figsize=(WIDTH, 5))
    axes = figure.add_subplot()
    for who, colour, wins in (("first player", FIRST, True), ("second player", SECOND, False)):
        won = [s for s in solutions if s.wins(start(s.tiers)) == wins]
        values = [s.value(start(s.tiers)) for s in won]
        heights = [value.first if wins else value.second for value in values]
        bars = axes.bar([s.tiers for s in won], heights, color=colour, label=f"the {who} wins")
        axes.bar_label(bars, label_type="center", color="white", fontsize=SMALLEST, fontweight="bold")
    axes.plot(tiers, [s.limit for s in solutions], "_", color=MARK, markersize=18, label="limit L: half of all bars")
    axes.set(xticks=tiers, xlabel="tiers", ylabel="turns of the winner")
    axes.set_title("Turns needed to win the pyramid game for sure")
    axes.legend()
    return figure
