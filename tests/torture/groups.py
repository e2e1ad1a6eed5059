"""The groups of torture, in the order of the table."""

from torture.case import Group
from torture.files import published, unfinished
from torture.kills import kills

GROUPS = {
    group.name: group
    for group in (
        Group("kills", "signals at random moments, wrong commands in between, then the right command", kills, 2.0),
        Group("unfinished", "damage to scratch, part databases, journals and checkpoints, then going on", unfinished),
        Group("published", "damage to catalogues, block files and SHA256SUMS, then every question", published),
    )
}
