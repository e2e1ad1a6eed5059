"""The examples in the documents: finding them, and running them in the order in which a reader meets them."""

import contextlib
import doctest
import io
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from madn.cli import main

CONSOLE = re.compile(r"^\$ (?P<source>.*)\n(?P<more>)(?P<printed>(?:(?!\$ ).*\n)*)", re.MULTILINE)
PYTHON = re.compile(r"^>>> (?P<source>.*)\n(?P<more>(?:\.\.\. .*\n)*)(?P<printed>(?:(?!>>> ).*\n)*)", re.MULTILINE)
FENCE = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What depends on the computer is not compared: times, threads and the memory they take, versions. Of these lines of a
# table only the first words count. Sizes are compared to what another version of zstd, or longer version texts in the
# catalogue (which grows by pages of 4 KiB), will hardly change; JSON numbers to twelve decimals.
VARIABLE = re.compile(
    r"^(memory|from disk|seconds|threads|time|versions)  .*$|"
    r"(?<=, )[0-9]+ threads?$|"
    r"(?<=[0-9])\.[0-9](?= KiB)|"
    r"(?<=[0-9]\.[0-9])[0-9]{2}(?= per position$| bits each$)|"
    r"(?<=[0-9]\.[0-9]{12})[0-9]+",
    re.MULTILINE,
)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def compared(text: str) -> str:
    """The part of a text that is compared."""
    return VARIABLE.sub(lambda found: found[1] or "", text)


@dataclass
class Example:
    """A command or a piece of Python in a document, and the output printed below it."""

    document: Path
    line: int
    language: str
    source: str
    printed: str

    def __str__(self) -> str:
        return f"{self.document.name}:{self.line}"

    @property
    def shown(self) -> str:
        """Its text in the document, with prompts and output."""
        if self.language == "console":
            return f"$ {self.source}\n{self.printed}"
        return ">>> " + self.source.replace("\n", "\n... ") + "\n" + self.printed

    def run(self, names: dict[str, Any]) -> str:
        """Run it; what it prints, as a reader sees it. `names` are the variables of the document's Python."""
        seen = io.StringIO()
        with contextlib.redirect_stdout(seen), contextlib.redirect_stderr(seen):
            if self.language == "console":
                command, *args = shlex.split(self.source)
                if command != "madn":
                    raise ValueError(f"{self}: {command} is not madn")
                main(args)
            else:
                with_prompts = not self.source.endswith("\n")
                code = compile(self.source + "\n", str(self), "single" if with_prompts else "exec")
                exec(code, names)
        return seen.getvalue()

    def agrees(self, output: str) -> bool:
        """Whether this output is the printed one; `...` stands for anything, white space is not compared."""
        return doctest.OutputChecker().check_output(compared(self.printed), compared(output), FLAGS)

    def updated(self, output: str) -> str:
        """This output, with the printed lines that still agree: times are not worth a change."""
        printed = {compared(line): line for line in self.printed.splitlines(keepends=True)}
        return "".join(printed.get(compared(line), line) for line in output.splitlines(keepends=True))


def examples(document: Path) -> list[Example]:
    """All examples of a document: `$ madn ...` in console blocks, Python blocks with prompts or without."""
    text = document.read_text(encoding="utf-8")
    found = []
    for fence in FENCE.finditer(text):
        language, body = fence.groups()
        first = text.count("\n", 0, fence.start(2)) + 1
        prompt = CONSOLE if language == "console" else PYTHON
        if language == "python" and ">>> " not in body:
            found.append(Example(document, first, language, body, ""))
            continue
        for part in prompt.finditer(body):
            line = first + body.count("\n", 0, part.start())
            source = part["source"] + "".join(f"\n{more[4:]}" for more in (part["more"] or "").splitlines())
            found.append(Example(document, line, language, source, part["printed"]))
    return found
