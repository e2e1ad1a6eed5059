"""`madn reproduce`: every published number next to ours."""

import json
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict

import click

from madn.cli.output import json_option, plural, print_json
from madn.cli.progress import ProgressBar
from madn.report import SUBJECTS, Fact

WORDS = {"agrees": "agree", "differs": "differ", "undecided": "undecided"}


@click.command()
@click.option("--only", type=click.Choice(SUBJECTS), help="Only this game.")
@click.option("--full", is_flag=True, help="Include figures that take minutes.")
@click.option("--only-differences", is_flag=True, help="Leave out figures that agree.")
@click.option("--markdown", is_flag=True, help="Print a table in Markdown.")
@json_option
def reproduce(only: str | None, full: bool, only_differences: bool, markdown: bool, as_json: bool) -> None:
    """Recompute the figures printed in the papers, and show both side by side.

    Each figure agrees, differs, or is undecided. Figures measured by playing games agree up to 2 standard errors
    (z), and differ beyond 4. Some printed numbers are wrong: a note says why. With --json the output is a list of
    objects.

    Example: madn reproduce --only ludo
    """
    if markdown and as_json:
        raise click.UsageError("give either --markdown or --json, not both")
    verdicts: Counter[str] = Counter()
    answer = []
    if markdown:
        click.echo("| verdict | source | statement | printed | ours | z | note |\n|---|---|---|---|---|---|---|")
    for fact in _computed((only,) if only else SUBJECTS, full):
        verdicts[fact.verdict] += 1
        if only_differences and fact.agrees:
            continue
        if as_json:
            answer.append({**asdict(fact), "verdict": fact.verdict})
        else:
            click.echo(_row(fact) if markdown else _lines(fact))
    if as_json:
        print_json(answer)
    else:
        counts = ", ".join(f"{verdicts[verdict]} {word}" for verdict, word in WORDS.items())
        click.echo(f"{chr(10) if markdown else ''}{plural(verdicts.total(), 'published figure')}: {counts}")


def _computed(subjects: tuple[str, ...], full: bool) -> Iterator[Fact]:
    """The facts, one after the other; a long part shows its progress."""
    from madn.report import facts

    for subject in subjects:
        with PartBar() as bar:
            for fact in facts(subject, full, bar):
                bar.clear()
                yield fact


class PartBar:
    """A progress bar that starts again with every part."""

    def __init__(self) -> None:
        self.bar: ProgressBar | None = None
        self.last = 0.0

    def __call__(self, fraction: float, text: str = "") -> None:
        """Draw the bar if it is due."""
        if self.bar is None or fraction < self.last:
            self.clear()
            self.bar = ProgressBar("computing")
        self.last = fraction
        self.bar(fraction, text)

    def clear(self) -> None:
        """Clear the line: something is printed in its place."""
        if self.bar is not None:
            self.bar.__exit__()
        self.bar = None

    def __enter__(self) -> "PartBar":
        return self

    def __exit__(self, *error: object) -> None:
        self.clear()


def _lines(fact: Fact) -> str:
    """A fact for a person: what it is, both values, and any note."""
    lines = [f"{fact.verdict:9}  {fact.source}: {fact.what}"]
    z = "" if fact.z is None else f", z = {fact.z:+.2f}"
    lines += [f"           printed  {fact.published}", f"           ours     {fact.ours}{z}"]
    lines += textwrap.wrap(fact.note, 80, initial_indent=" " * 11, subsequent_indent=" " * 11)
    return "\n".join(lines)


def _row(fact: Fact) -> str:
    """A fact as a row of a table in Markdown."""
    values = (value if isinstance(value, str) else json.dumps(value) for value in (fact.published, fact.ours))
    z = "" if fact.z is None else f"{fact.z:+.2f}"
    cells = (fact.verdict, fact.source, fact.what, *values, z, fact.note)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
