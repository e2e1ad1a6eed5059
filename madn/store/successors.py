"""Computing values of positions from those of their successors: the mean over the rolls of the best move."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from madn._core import Game
from madn.rules import DIE, Rules

Ids = NDArray[np.int64]
Masks = NDArray[np.uint64]
Wins = NDArray[np.float64]


def recomputed(ids: Ids, read: Callable[[Ids], Wins], rules: Rules) -> Wins:
    """What the values of positions should be, given those of their successors, which `read` returns by ID.

    In a finished game they are 1 or 0.
    """
    game = Game(rules)
    own, other = game.unrank_many(ids)
    finish = np.uint64(((1 << rules.pieces) - 1) << rules.squares)
    wins = np.zeros(len(ids))
    wins[own & finish == finish] = 1.0
    running = np.flatnonzero((own & finish != finish) & (other & finish != finish))
    if len(running):
        own, other = own[running], other[running]
        after, roll, first = successors(own, other, game)
        needed, which = np.unique(game.rank_many(*after), return_inverse=True)
        win = read(needed)[which]
        win = np.where(roll == DIE, win, 1.0 - win)
        weights = roll_weights(own, game)
        best = np.maximum.reduceat(win, first).reshape(-1, DIE)
        wins[running] = (best * weights).sum(axis=1) / weights.sum(axis=1)
    return wins


def roll_weights(own: Masks, game: Game) -> NDArray[np.int64]:
    """The relative frequencies of the rolls for each of these states: a row of six per state."""
    first, _, _ = game.move_table(own)
    patterns, which = np.unique(np.diff(first).reshape(-1, DIE) > 0, axis=0, return_inverse=True)
    return np.array([game.rules.roll_weights(playable) for playable in patterns.tolist()], np.int64)[which.ravel()]


def successors(own: Masks, other: Masks, game: Game) -> tuple[tuple[Masks, Masks], Ids, Ids]:
    """All boards that these positions lead to, as the next player to roll sees them.

    Returns the masks of that player and of the other one, the roll that leads to each board, and `first`: the boards
    after position i and roll r begin at `first[6 * i + r - 1]`, by ascending start. A lost roll leads to one board too.
    """
    states, which = np.unique(own, return_inverse=True)
    rules = game.rules
    table, after_states, _ = game.move_table(states)
    begin = table[:-1].reshape(-1, DIE)[which].ravel().astype(np.int64)
    moves = np.diff(table).reshape(-1, DIE)[which].ravel().astype(np.int64)
    options = np.maximum(moves, 1)  # a lost roll leads to one board too
    first = np.cumsum(options) - options
    source = np.repeat(np.arange(len(options)), options)
    position, roll = source // DIE, source % DIE + 1
    number = np.arange(len(source)) - first[source]
    lost = moves[source] == 0
    option = np.where(lost, 0, begin[source] + number)
    mine = own[position]
    if len(after_states):
        mine = np.where(lost, mine, after_states[option])
    half, full = np.uint64(rules.squares // 2), np.uint64((1 << rules.squares) - 1)
    main = mine & full
    theirs = other[position] & ~((main << half | main >> half) & full)  # without the piece that was captured
    if rules.must_capture and len(source):
        captures = theirs != other[position]
        legal = captures | ~np.logical_or.reduceat(captures, first)[source]
        mine, theirs, roll, source = mine[legal], theirs[legal], roll[legal], source[legal]
        first = np.searchsorted(source, np.arange(len(options)))
    again = roll == DIE
    return (np.where(again, mine, theirs), np.where(again, theirs, mine)), roll, first
