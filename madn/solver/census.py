"""What a census counts: positions by value, and how much depends on the choice of a move."""

from dataclasses import dataclass, field

PARTS = 100  # of the histogram


@dataclass
class Census:
    """Counts over the open positions of a game, or of a part of it.

    A decision is a position with a roll that leaves at least two moves. In `unique` of them one move is best and no
    other is as good. `cost` is the sum over all decisions of how much better the best move is than the second best, as
    a probability; `largest_cost` is the largest of these, on `largest_cost_board` with the roll `largest_cost_roll`.
    """

    positions: int = 0
    histogram: list[int] = field(default_factory=lambda: [0] * PARTS)
    decisions: int = 0
    unique: int = 0
    cost: float = 0.0
    largest_cost: float = 0.0
    largest_cost_board: str | None = None
    largest_cost_roll: int | None = None

    def add(self, other: "Census") -> None:
        """Add the counts of another census; of equally large costs the earlier one is kept."""
        self.positions += other.positions
        self.histogram = [a + b for a, b in zip(self.histogram, other.histogram, strict=True)]
        self.decisions += other.decisions
        self.unique += other.unique
        self.cost += other.cost
        if other.largest_cost > self.largest_cost:
            self.largest_cost = other.largest_cost
            self.largest_cost_board = other.largest_cost_board
            self.largest_cost_roll = other.largest_cost_roll
