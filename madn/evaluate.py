"""The exact result of two players against each other, from every position: no games are played, no chance is involved.

The sweeps are those of the solver, with the moves of the players in place of the best ones: component by component,
most advanced first, each until it has converged (`madn/_evaluate.pyx`). A player `None` plays the best reply to the
other one: the result then says how far the other can be exploited.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madn import _evaluate
from madn._core import Game
from madn._players import CompiledPlayer
from madn.board import Board, as_board
from madn.errors import InvalidPlayerError, ResourceError, RulesMismatchError
from madn.machine import check_memory, chosen_threads
from madn.match import FINE_POSITIONS, compiled, table_bytes
from madn.players import Player
from madn.ranges import checked_float
from madn.rules import ROLLS, Rules
from madn.solver.footprint import component_positions, side_size
from madn.solver.graph import finish_zones, later_zones
from madn.solver.sides import TERMINAL, Side

MOST_PIECES = 3
MOST_POSITIONS = 300_000_000  # for endgames of a larger game
FINE_TOLERANCE, COARSE_TOLERANCE = 1e-14, 2e-9
MOST_SWEEPS = 2000
PARALLEL = 100_000  # pairs of states that make starting threads worthwhile
BITS = 4  # for the moves of one roll in a set of moves, as in the kernel
PYTHON_POSITIONS = 1_000_000  # a player that is not compiled is called for every position and roll

Matrix = NDArray[Any]
Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class SideTables:
    """One side of a component, as the kernel reads it: the arrays of `Side` and of its `Moves`."""

    masks: NDArray[np.uint64]
    facing: NDArray[np.uint64]
    without: NDArray[np.int32]
    first: NDArray[np.int32]
    kind: NDArray[np.int8]
    row: NDArray[np.int32]
    end: NDArray[np.int8]
    turn: NDArray[np.int16]  # the fields of `Turn`, one row for each state

    @classmethod
    def of(cls, side: Side) -> "SideTables":
        """The tables of a side."""
        moves = side.moves
        turn = np.array(moves.turns, np.int16)[moves.turn]
        return cls(side.masks, side.facing, side.without, moves.first, moves.kind, moves.row, moves.end, turn)


@dataclass(frozen=True)
class Evaluation:
    """The winning probabilities of `first` and `second` against each other from every position.

    `residual` is the largest difference between a value and what its successors say.
    """

    rules: Rules
    first: str
    second: str
    residual: float
    sweeps: int
    _sides: dict[int, Side] = field(repr=False)
    _values: dict[tuple[int, int], tuple[Matrix, Matrix]] = field(repr=False)

    def first_wins(self, board: Board | str) -> float:
        """The probability that `first`, to move on this board, wins."""
        return self._win(board, True)

    def second_wins(self, board: Board | str) -> float:
        """The probability that `second`, to move on this board, wins."""
        return self._win(board, False)

    def _win(self, board: Board | str, first: bool) -> float:
        board = as_board(board, self.rules, "the evaluation is for")
        if board.winner is not None:
            return float(board.winner == "own")
        own, other = board.masks
        return float(self._look_up(np.array([own], np.uint64), np.array([other], np.uint64), first)[0])

    def all_wins(self, first: bool = True) -> NDArray[np.float64]:
        """By position ID: the probability that `first` wins with `first` to move, or `second` with `second` to move."""
        game = Game(self.rules)
        own, other = game.unrank_many(np.arange(game.positions))
        return self._look_up(own, other, first)

    def worst_for_first(self) -> tuple[Board, float]:
        """Of all open boards computed, the worst for `first` when it is to move, and its winning probability there."""
        return self._extreme(0)

    def best_for_second(self) -> tuple[Board, float]:
        """Of all open boards computed, the best for `second` when it is to move, and its winning probability there."""
        board, win = self._extreme(1)
        return Board(board.other, board.own, self.rules), 1 - win

    def _extreme(self, mover: int) -> tuple[Board, float]:
        """The board where `first`, as its own side, wins least often when `first` (0) or `second` (1) is to move."""
        lowest = (2.0, Board.start(self.rules))
        for (f, g), values in self._values.items():
            rows, columns = self._sides[f], self._sides[g]
            wins = np.where(
                (rows.facing[:, None] & columns.masks) == 0, _floats(values[mover]).reshape(rows.size, -1), 2
            )
            at = int(np.argmin(wins))
            if wins.flat[at] < lowest[0]:
                a, b = divmod(at, columns.size)
                board = Board.from_masks(rows.whole_masks[a], columns.whole_masks[b], self.rules)
                lowest = float(wins.flat[at]), board
        return lowest[1], lowest[0]

    def _look_up(self, own: NDArray[np.uint64], other: NDArray[np.uint64], first: bool) -> NDArray[np.float64]:
        S, P = np.uint64(self.rules.squares), np.uint64(self.rules.pieces)
        done, main = (1 << self.rules.pieces) - 1, np.uint64((1 << self.rules.squares) - 1)
        wins = np.where(own >> S == done, 1.0, np.where(other >> S == done, 0.0, np.nan))
        rows, columns = (own, other) if first else (other, own)
        zones = rows >> S << P | columns >> S
        for (f, g), values in self._values.items():
            here = np.flatnonzero(zones == (f << self.rules.pieces | g))
            a, b = self._sides[f].index(rows[here] & main), self._sides[g].index(columns[here] & main)
            found = _floats(values[0 if first else 1][a.astype(np.int64) * self._sides[g].size + b])
            wins[here] = found if first else 1 - found
        if np.isnan(wins).any():
            raise RulesMismatchError("this position was not computed: it cannot come after the start")
        return wins


def _floats(stored: Matrix) -> NDArray[np.float64]:
    return stored.astype(np.float64) if stored.itemsize == 8 else stored * 2.0**-32


def _pairs(rules: Rules, start: Board | None) -> list[tuple[int, int]]:
    """The components needed, most advanced first: moves never make the number of a finish zone smaller."""
    masks = (0, 0) if start is None else start.masks
    if start is not None and start.winner is not None:
        return []
    rows, columns = (later_zones(rules, mask >> rules.squares) for mask in masks)
    return sorted(product(rows, columns), key=sum, reverse=True)


def memory_needed(rules: Rules, pairs: list[tuple[int, int]]) -> int:
    """Bytes for the values of these components and for the players' moves in the largest one."""
    size = {f: side_size(rules, f) for f in finish_zones(rules)}
    slots = [size[f] * size[g] for f, g in pairs]
    word = 8 if rules.positions <= FINE_POSITIONS else 4
    return 2 * word * sum(slots) + 2 * 4 * max(slots, default=0) + (64 << 20)


def evaluate(
    rules: Rules,
    first: Player | None,
    second: Player | None,
    tolerance: float | None = None,
    threads: int | None = None,
    progress: Progress = lambda fraction, text: None,
    start: Board | str | None = None,
) -> Evaluation:
    """Compute the result of `first` against `second` from every position; None plays the best reply to the other.

    This works for up to three pieces. With `start`, an open board with `first` as its own side, only the positions that
    can follow it are computed (whoever is to move there), which makes endgames of four pieces possible too. Values are
    accurate to about the tolerance (the residual) times the length of a game.
    """
    start = None if start is None else as_board(start, rules, "the game is for")
    if rules.pieces > MOST_PIECES + 1:
        raise ResourceError(f"exact results go up to {MOST_PIECES + 1} pieces, not {rules.pieces}; play games instead")
    pairs = _pairs(rules, start)
    sizes = [component_positions(rules, f, g) for f, g in pairs]
    if rules.pieces > MOST_PIECES and sum(sizes) > MOST_POSITIONS:
        raise ResourceError(
            f"exact results go up to {MOST_PIECES} pieces, or to endgames of {rules.pieces}; play games instead"
        )
    fine = rules.positions <= FINE_POSITIONS
    finest = FINE_TOLERANCE if fine else COARSE_TOLERANCE
    tables = sum(table_bytes(player, rules, start) for player in (first, second))
    check_memory("this", memory_needed(rules, pairs) + tables)
    work = _Work(
        rules,
        (_chooser(first, rules, start, sum(sizes)), _chooser(second, rules, start, sum(sizes))),
        np.float64 if fine else np.uint32,
        finest if tolerance is None else checked_float("tolerance", tolerance, finest, 1, InvalidPlayerError),
        chosen_threads(threads),
        pairs,
    )
    done = 0
    for (f, g), size in zip(pairs, sizes, strict=True):
        for part in work.solve(f, g):
            progress((done + part * size) / sum(sizes), f"{f:0{rules.pieces}b}/{g:0{rules.pieces}b}")
        done += size
    names = [BEST if player is None else player.name for player in (first, second)]
    return Evaluation(rules, names[0], names[1], work.residual, work.sweeps, work.sides, work.values)


BEST = "best"  # the name of the player None


def _chooser(
    player: Player | None, rules: Rules, start: Board | None, positions: int
) -> CompiledPlayer | Player | None:
    """Who fills the sets of moves: the compiled player, or the player itself if it has no compiled form."""
    if player is None:
        return None
    fast = compiled(player, rules, start)
    if fast is None and positions > PYTHON_POSITIONS:
        raise InvalidPlayerError(
            f"player {player.name} is asked move by move here; exact results for such players go up to "
            f"{PYTHON_POSITIONS:,} positions, and this needs {positions:,}"
        )
    return fast or player


@dataclass
class _Work:
    """The components solved so far, and how to solve the next one."""

    rules: Rules
    choosers: tuple[CompiledPlayer | Player | None, CompiledPlayer | Player | None]
    dtype: type
    tolerance: float
    threads: int
    pairs: list[tuple[int, int]]

    def __post_init__(self) -> None:
        self.sides = {f: Side(self.rules, f) for f in sorted({zone for pair in self.pairs for zone in pair})}
        self.tables = {f: SideTables.of(side) for f, side in self.sides.items()}
        self.values: dict[tuple[int, int], tuple[Matrix, Matrix]] = {}
        self.residual, self.sweeps = 0.0, 0

    def solve(self, f: int, g: int) -> Iterator[float]:
        """Sweep one component until its residual is within the tolerance; yield roughly what fraction is done."""
        rows, columns = self.sides[f], self.sides[g]
        half = 0.5 if self.dtype is np.float64 else 1 << 31
        L: Matrix = np.full(rows.size * columns.size, half, self.dtype)
        R = L.copy()
        row_exits = [self._exit(zone, g, True) for zone in rows.moves.exits]
        column_exits = [self._exit(f, zone, False) for zone in columns.moves.exits]
        tables, sets = (self.tables[f], self.tables[g]), (self._sets(0, f, g), self._sets(1, f, g))
        component = _evaluate.Evaluator(
            self.rules.pieces, self.rules.must_capture, *tables, L, R, row_exits, column_exits, *sets
        )
        target, sweeps = self.tolerance / 2, 0
        while True:
            change = np.inf
            while change > target and sweeps < MOST_SWEEPS:
                change = self._pass(component, rows, False)
                sweeps += 1
                yield 1 - 0.8**sweeps
            residual = self._pass(component, rows, True)
            if residual <= self.tolerance or sweeps >= MOST_SWEEPS:
                break
            target /= 2
        self.values[f, g] = L, R
        self.residual, self.sweeps = max(self.residual, residual), max(self.sweeps, sweeps)

    def _pass(self, component: _evaluate.Evaluator, rows: Side, examine: bool) -> float:
        most = 0.0
        for begin, end in pairwise(rows.class_start.tolist()):
            threads = self.threads if (end - begin) * component.columns >= PARALLEL else 1
            most = max(most, component.sweep(begin, end, threads, examine))
        return most

    def _exit(self, f: int, g: int, row_moves: bool) -> tuple[Matrix, Matrix, int]:
        """The values after a move into another finish zone: the other side rolls next, or after a 6 the same side."""
        if TERMINAL not in (f, g):
            L, R = self.values[f, g]
            return (R, L, self.sides[g].size) if row_moves else (L, R, self.sides[g].size)
        top = 1.0 if self.dtype is np.float64 else 2**32 - 1
        size = max(side.size for side in self.sides.values())
        end: Matrix = np.full(size, top if row_moves else 0, self.dtype)
        return end, end, 0 if row_moves else 1

    def _sets(self, player: int, f: int, g: int) -> NDArray[np.uint32] | None:
        """The moves that a player takes on every pair of states, as bits for each roll."""
        chooser = self.choosers[player]
        if chooser is None:
            return None
        a, b = self.sides[f].whole_masks, self.sides[g].whole_masks
        sets = np.zeros((len(a), len(b)), np.uint32)
        movers, others, by_mover = (b, a, sets.T) if player else (a, b, sets)
        if isinstance(chooser, CompiledPlayer):
            _evaluate.fill(chooser, movers, others, by_mover, self.threads)
            return sets.ravel()
        free = self.sides[f].facing[:, None] & self.sides[g].masks == 0
        for i, j in np.argwhere(free.T if player else free).tolist():
            by_mover[i, j] = _taken(chooser, Board.from_masks(movers[i], others[j], self.rules))
        return sets.ravel()


def _taken(player: Player, board: Board) -> int:
    """The moves that a player takes on a board, as bits for each roll."""
    game, (own, _) = Game(board.rules), board.masks
    bits = 0
    for roll in ROLLS:
        starts = [start for _, start, _ in game.own_moves(own, roll)]
        for move in player.choices(board, roll):
            if move.end is not None:
                bits |= 1 << starts.index(-1 if move.start is None else move.start) + BITS * (roll - 1)
    return bits
