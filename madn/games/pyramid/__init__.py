"""The pyramid game (Fujita 2016): how soon a player can be sure of winning, from every state.

There are `tiers` rows of 1, 2, 3, … bars. The players take turns to mark one or more adjacent bars in one tier; whoever
marks the last bar loses. Marked bars cut a tier into runs, and only the lengths of the runs matter: a state is a tuple
with state[n - 1] runs of n bars. W(x) is the number of turns that the player to move needs to win, `limit` or more if
the other side can prevent it; Z(x) is the same for the other side. The recursions are (3.2)-(3.5) of the paper.
"""

from madn.games.pyramid.solver import (
    Action,
    Numbering,
    Solution,
    State,
    Value,
    actions,
    after,
    bars,
    check_memory,
    is_final,
    limit,
    parse_state,
    solve,
    start,
    state_text,
)

__all__ = [
    "Action",
    "Numbering",
    "Solution",
    "State",
    "Value",
    "actions",
    "after",
    "bars",
    "check_memory",
    "is_final",
    "limit",
    "parse_state",
    "solve",
    "start",
    "state_text",
]
