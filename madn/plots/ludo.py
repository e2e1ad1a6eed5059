"""Pictures of German Ludo."""

from matplotlib.figure import Figure

from madn.rules import Rules


def draw(name: str) -> Figure:
    """Draw the picture called `name` in `madn.plots.PICTURES`."""
    return {"positions": positions}[name]()


def positions() -> Figure:
    """Bars, on a logarithmic scale: how many positions there are for 1 to 6 pieces a side."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    pieces = range(1, 7)
    counts = [Rules(pieces=number).positions for number in pieces]
    bars = axes.bar(pieces, counts, color="#3b6ea5")
    axes.bar_label(bars, [f"{count:,}" for count in counts], fontsize=7)
    axes.set_yscale("log")
    axes.set_ylim(top=counts[-1] * 10)
    axes.set_xlabel("pieces a side")
    axes.set_ylabel("positions")
    axes.set_title("Positions of German Ludo for two, 40 squares")
    return figure
