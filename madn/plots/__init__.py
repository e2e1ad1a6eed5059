"""Pictures of the games and their solutions, drawn with matplotlib (the extra `madn[plots]`): `madn plot NAME`.

`PICTURES` names, for each picture, the module of this package that draws it and what it shows. The module has a
function with the name of the picture (`_` for `-`) that returns a matplotlib `Figure` with labels and units. Those in
`FROM_A_DATABASE` also take a database of German Ludo and then show its game. All are drawn in one `STYLE`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from madn.errors import ResourceError
from madn.plots.style import STYLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from madn.database import Database

PICTURES: dict[str, tuple[str, str]] = {
    "positions": ("ludo", "positions of German Ludo for 1 to 6 pieces (Figure 4.1 of the thesis)"),
    "pig": ("pig", "Pig to 200: where to roll and where to hold (Figure 3 of the paper)"),
    "pig-exact": ("pig", "Pig, exactly 200: where to roll and where to hold (Figure 5)"),
    "pig-difference": ("pig", "Pig for the difference: where to roll and where to hold (Figure 6)"),
    "wubbel": ("pig", "Wubbel: the surface between rolling and holding (Figure 1 of the article)"),
    "cantstop-newton": ("cantstop", "error against iteration for Newton's method and Algorithm 2, (3,3) Can't Stop"),
    "cantstop-stop-3-3": ("cantstop", "when to stop in the first turn of (3,3) Can't Stop"),
    "cantstop-stop-4-1": ("cantstop", "when to stop in the first turn of (4,1) Can't Stop"),
    "ratios": ("ludo", "winning probabilities by distance-to-finish ratio (Figure 4.3)"),
    "averaged": ("ludo", "averaged winning probabilities and the regression polynomial (Figure 4.4)"),
    "convergence": ("ludo", "positions that change in each sweep (Figure 5.1)"),
    "extremes": ("ludo", "the worst and the best positions for 1 to 4 pieces (Figure 5.2)"),
    "values": ("ludo", "how often each winning probability occurs"),
    "house-rules": ("ludo", "what house rules do to the two-piece game"),
    "cross-table": ("ludo", "all players against each other, `optimal` included"),
    "pyramid": ("pyramid", "turns the winner of the pyramid game needs, 2 to 12 tiers (Table 1 of Fujita's paper)"),
}

FROM_A_DATABASE = ("ratios", "averaged", "values", "cross-table")


def draw(name: str, database: "Database | None" = None) -> "Figure":
    """Compute and draw one of `PICTURES`; those in `FROM_A_DATABASE` show the game of `database` if it is given."""
    if name not in PICTURES:
        raise ValueError(f"{name!r} is not one of {', '.join(PICTURES)}")
    if database is not None and name not in FROM_A_DATABASE:
        raise ValueError(f"{name!r} is not drawn from a database; {', '.join(FROM_A_DATABASE)} are")
    try:
        import matplotlib
    except ImportError:
        raise ResourceError("pictures need matplotlib: pip install matplotlib") from None
    picture = getattr(import_module(f"madn.plots.{PICTURES[name][0]}"), name.replace("-", "_"))
    with matplotlib.rc_context(STYLE):
        figure: Figure = picture() if database is None else picture(database)
    return figure
