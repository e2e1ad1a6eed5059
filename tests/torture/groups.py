"""The groups of torture, in the order of the table."""

from importlib.util import find_spec

from torture.cache import cache
from torture.case import Group
from torture.clients import clients
from torture.files import published, unfinished
from torture.forged import forged
from torture.kills import kills
from torture.numbers import numbers
from torture.races import races

GROUPS = {
    group.name: group
    for group in (
        Group("kills", "signals at random moments, wrong commands in between, then the right command", kills, 2.0),
        Group("unfinished", "damage to scratch, part databases, journals and checkpoints, then going on", unfinished),
        Group("published", "damage to catalogues, block files and SHA256SUMS, then every question", published),
        Group(
            "cache", "damage to the cache of solved parts, killed and competing processes, then every question", cache
        ),
        Group("races", "close, replace and fork while others read; two solvers at one place", races),
        Group("forged", "made-up catalogues and frames against every command, Python and the server", forged, 1.5),
        Group("clients", "slow, silent and hostile HTTP clients beside an honest one", clients),
    )
}
# Its calls are those of tests/nasty_numbers.py.
if find_spec("nasty_numbers") is not None:
    GROUPS["numbers"] = Group("numbers", "nasty numbers for every option and every function", numbers)
