"""Pictures of Pig and Wubbel: where the optimal player rolls and where it holds."""

from functools import partial

import numpy as np
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # type: ignore[import-untyped]
from numpy.typing import NDArray

from madn.games.pig import WUBBEL, Pig, Solution, Variant, solve
from madn.plots.style import WIDTH

ROLL, HOLD = "#c3ccd6", "#1d2733"


def regions(variant: Variant, others: tuple[int, ...], title: str) -> Figure:
    """Four panels, one for each score of the other player: own score on the x axis, turn score on the y axis."""
    game = Pig(variant=variant)
    strategy = solve(game).strategy
    figure = Figure(figsize=(WIDTH, 7))
    figure.suptitle(f"{title}: the optimal action")
    panels = figure.subplots(2, 2, sharex=True, sharey=True).flat
    for axes, other in zip(panels, others, strict=True):
        image = np.full((game.target, game.target), np.nan)  # [turn, own]
        for own in range(game.target):
            image[1 : game.target - own, own] = strategy.decisions(own, other)[1:]
        axes.imshow(image, cmap=ListedColormap([ROLL, HOLD]), vmin=0, vmax=1, origin="lower", interpolation="nearest")
        axes.set_title(f"the other player has {other}")
        axes.set(xlabel="own score (points)", ylabel="turn score (points)")
        axes.label_outer()
    keys = [Patch(color=ROLL, label="roll"), Patch(color=HOLD, label="hold")]
    figure.legend(handles=keys, loc="outside lower center", ncols=2)
    return figure


pig = partial(regions, "classic", (0, 150, 180, 185), "Pig to 200")
pig_exact = partial(regions, "exact", (0, 150, 180, 198), "Pig, exactly 200")
pig_difference = partial(regions, "difference", (0, 150, 170, 180), "Pig to 200, the winner is paid the difference")


def wubbel() -> Figure:
    """The surface between rolling and holding, coloured by the winning probability of the player who has the die."""
    solution = solve(WUBBEL)
    faces, wins = surface(solution)
    figure = Figure(figsize=(WIDTH, 6))
    axes = figure.add_subplot(projection="3d")
    shades = Normalize(0, 1)
    bodies = Poly3DCollection(faces, cmap="viridis", norm=shades, linewidths=0.15, edgecolors="#00000040")
    bodies.set_array(wins)
    bodies.set_rasterized(True)  # thousands of small faces
    axes.add_collection3d(bodies)
    axes.set(xlim=(0, 50), ylim=(0, 50), zlim=(0, 50))
    axes.set(xlabel="own score (points)", ylabel="other player's score (points)", zlabel="turn score (points)")
    axes.view_init(elev=24, azim=-128)
    axes.set_title("Wubbel: hold inside this surface, roll outside")
    figure.colorbar(bodies, ax=axes, shrink=0.7, label="winning probability of the player to move")
    return figure


def surface(solution: Solution) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The squares between neighbouring states with different actions, and the winning probability at each."""
    target = solution.game.target
    holds = np.full((target,) * 3, -1)  # -1: no choice
    wins = np.zeros((target,) * 3)
    for own in range(target):
        for other in range(target):
            turn = solution.turn(own, other)
            holds[own, other, 1 : target - own] = turn.holds[1:]
            wins[own, other, : target - own] = turn.value
    squares, shades = [], []
    for axis in range(3):
        here, there = np.delete(holds, -1, axis), np.delete(holds, 0, axis)
        cells = np.argwhere((here >= 0) & (there >= 0) & (here != there))
        side = np.eye(3)
        corner = cells + side[axis] * 0.5  # cells are centred on whole numbers; their borders are half a step away
        u, v = side[(axis + 1) % 3] / 2, side[(axis + 2) % 3] / 2
        squares.append(np.stack([corner - u - v, corner + u - v, corner + u + v, corner - u + v], axis=1))
        shades.append(wins[tuple(cells.T)])
    return np.concatenate(squares), np.concatenate(shades)
