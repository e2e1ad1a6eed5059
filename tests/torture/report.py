"""What a run of torture tried and what held: for the terminal, as JSON, and as the table of docs/reliability.md."""

import json
import sys
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from madn.machine import versions
from torture.case import KINDS, Group, Outcome

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "docs" / "results" / "torture.json"
DOCUMENT = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- torture.json -->", "<!-- end of torture.json -->"


def facts(groups: Iterable[Group], outcomes: Iterable[Outcome], seed: int, seconds: float) -> dict[str, Any]:
    """Everything about a run, for JSON."""
    everything = list(outcomes)
    return {
        "torture": [_group_facts(group, [one for one in everything if one.group == group.name]) for group in groups],
        "seed": seed,
        "minutes": round(seconds / 60, 1),
        "date": datetime.now(UTC).date().isoformat(),
        "hardware": _hardware(),
        "failures": [
            {"group": one.group, "case": one.seed, "kind": one.kind, "message": one.message, "steps": list(one.steps)}
            for one in everything
            if one.kind is not None
        ],
    }


def _group_facts(group: Group, outcomes: list[Outcome]) -> dict[str, Any]:
    counted: Counter[str] = Counter()
    for one in outcomes:
        counted.update(one.counted)
    return {
        "group": group.name,
        "tries": group.tries,
        "cases": len(outcomes),
        "seconds": round(sum(one.seconds for one in outcomes), 1),
        "counted": dict(sorted(counted.items())),
        "broken": {kind: sum(one.kind == kind for one in outcomes) for kind in KINDS},
    }


def _hardware() -> dict[str, Any]:
    """The computer and the versions, as benchmarks say it."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        found: dict[str, Any] = import_module("hardware").hardware()
    finally:
        sys.path.pop(0)
    return {**found, "madn": versions()["madn"]}


def table(run: dict[str, Any]) -> str:
    """The table for a terminal."""
    header = ("group", "cases", *KINDS)
    rows = [header, *((row["group"], f"{row['cases']:,}", *map(str, row["broken"].values())) for row in run["torture"])]
    widths = [max(len(row[at]) for row in rows) for at in range(len(header))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    tried = [
        f"{row['group']}: " + ", ".join(f"{n:,} {what}" for what, n in row["counted"].items()) for row in run["torture"]
    ]
    return "\n".join([*lines, "", *tried])


def markdown(run: dict[str, Any]) -> str:
    """The table of docs/reliability.md."""
    lines = [f"| tried | cases | of which | {' | '.join(KINDS)} |", f"|---|---|---|{'---|' * len(KINDS)}"]
    for row in run["torture"]:
        counted = ", ".join(f"{number:,} {what}" for what, number in row["counted"].items())
        broken = " | ".join(str(row["broken"][kind]) for kind in KINDS)
        lines.append(f"| {row['tries']} | {row['cases']:,} | {counted} | {broken} |")
    machine = run["hardware"]
    where = f"{machine.get('cpu') or machine['system']}, {machine.get('cores')} cores, Python {machine['python']}"
    command = f"`tools/test --torture {run['minutes']:g} {run['seed']}`"
    return "\n".join([*lines, "", f"Measured by {command} on {run['date']}, {where}, madn {machine.get('madn')}."])


def write(run: dict[str, Any]) -> None:
    """Write docs/results/torture.json, and the table of docs/reliability.md from it."""
    RESULTS.write_text(json.dumps(run, indent=2) + "\n", encoding="utf-8")
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCUMENT.write_text(f"{before}{BEGIN}\n{markdown(run)}\n{END}{after}", encoding="utf-8")


def written_table() -> str:
    """The table that stands in docs/reliability.md."""
    return DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].strip()
