"""Pictures of the games and their solutions, drawn with matplotlib (the extra `madn[plots]`): `madn plot NAME`.

`PICTURES` names, for each picture, the module of this package that draws it and what it shows. Such a module has a
function `draw(name)` that returns a matplotlib `Figure` with labels and units.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from madn.errors import ResourceError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES: dict[str, tuple[str, str]] = {
    "positions": ("ludo", "positions of German Ludo for 1 to 6 pieces (Figure 4.1 of the thesis)"),
    "pyramid": ("pyramid", "turns the winner of the pyramid game needs, 2 to 12 tiers (Table 1 of Fujita's paper)"),
}


def draw(name: str) -> "Figure":
    """Compute and draw one of `PICTURES`."""
    if name not in PICTURES:
        raise ValueError(f"{name!r} is not one of {', '.join(PICTURES)}")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ResourceError("pictures need matplotlib: pip install 'madn[plots]'") from None
    figure: Figure = import_module(f"madn.plots.{PICTURES[name][0]}").draw(name)
    return figure
