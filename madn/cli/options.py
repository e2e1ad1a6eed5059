"""Arguments and options that several commands share, and the checks that come with them."""

import functools
import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from madn.ranges import parse_size
from madn.rules import DIE, HOUSE_RULES, Rules

Function = TypeVar("Function", bound=Callable[..., Any])

board_argument = click.argument("board")
roll_argument = click.argument("roll", type=click.IntRange(1, DIE))
database_argument = click.argument("db", type=click.Path())
database_option = click.option("--db", type=click.Path(), help="Database of the game.  [default: as for madn win]")


def rules_options(command: Function) -> Function:
    """Add an option for every field of `Rules`, and one for all house rules; the command gets one argument, `rules`."""

    @functools.wraps(command)
    def with_rules(*args: Any, **values: Any) -> Any:
        chosen = {field.name: values.pop(field.name) for field in fields(Rules)}
        if values.pop("house"):
            chosen |= dict.fromkeys(HOUSE_RULES, True)
        return command(*args, rules=Rules(**chosen), **values)

    with_rules = click.option("--house", is_flag=True, help="All four house rules.")(with_rules)
    for field in reversed(fields(Rules)):
        flag = field.type is bool
        with_rules = click.option(
            f"--{field.name.replace('_', '-')}",
            type=field.type,
            is_flag=flag,
            default=field.default,
            show_default=not flag,
            help=field.metadata["help"],
        )(with_rules)
    return cast(Function, with_rules)


def check_output_file(path: Path, option: str, *endings: str) -> None:
    """Refuse a file that cannot be written or has none of these endings, before the work; leave nothing behind."""
    if endings and path.suffix not in endings:
        raise click.BadParameter(f"{path} does not end in {' or '.join(endings)}", param_hint=f"'{option}'")
    target = Path(os.path.realpath(path))
    existed = target.exists()
    if existed and not (target.is_file() or target.is_dir()):
        return  # a device or a pipe: opening it could block
    try:
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT))  # does not empty it
        if not existed:
            target.unlink()
    except OSError as error:
        raise click.BadParameter(f"{path} cannot be written: {error.strerror}", param_hint=f"'{option}'") from None


def memory_bytes(_ctx: click.Context | None, param: click.Parameter | None, value: str | None) -> int | None:
    """Read an amount of memory such as 20G, 512M or 1.5G, in units of 1024; the callback of an option."""
    if value is None:
        return None
    size = parse_size(value)
    if size is None:
        raise click.BadParameter(f"{value!r} is not an amount of memory; write it like 20G or 512M", param=param)
    return size
