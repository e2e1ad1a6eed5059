"""`madn reproduce`: every published number beside ours."""

import textwrap
from dataclasses import asdict

import click

from madn.cli.output import json_option, plural, print_json
from madn.report import SUBJECTS, Fact

SIGNS = {True: "yes", False: "NO", None: "?"}


@click.command()
@click.option("--only", type=click.Choice(SUBJECTS), help="Only this game.")
@click.option("--full", is_flag=True, help="Include what takes minutes.")
@json_option
def reproduce(only: str | None, full: bool, as_json: bool) -> None:
    """Compute what the papers print, and show both side by side.

    Some printed numbers are wrong: those are marked NO, with the right value. With --json the answer is a list
    of objects.

    Example: madn reproduce --only ludo
    """
    from madn.report import facts

    found: list[Fact] = []
    for subject in (only,) if only else SUBJECTS:
        found.extend(facts(subject, full))
    if as_json:
        print_json([asdict(fact) for fact in found])
    else:
        for fact in found:
            click.echo(_lines(fact))
        wrong = sum(fact.agrees is False for fact in found)
        click.echo(f"{wrong} of {plural(len(found), 'published figure')} differ")


def _lines(fact: Fact) -> str:
    """A fact for a person: what it is, both values, and any note."""
    lines = [f"{SIGNS[fact.agrees]:3}  {fact.source}: {fact.what}"]
    lines += [f"     printed  {fact.published}", f"     ours     {fact.ours}"]
    lines += textwrap.wrap(fact.note, 90, initial_indent="     ", subsequent_indent="     ")
    return "\n".join(lines)
