"""From a command's name to the command, and from its errors to one line on stderr."""

from __future__ import annotations

import difflib
from contextlib import nullcontext
from importlib import import_module
from typing import cast

import click

from wattslice.commands.streams import writing
from wattslice.commands.table import COMMANDS, FAILED
from wattslice.errors import WattsliceError


def dispatch(arguments: list[str], debug: bool) -> int:
    """Run one command; its exit status. Raises only what nobody foresaw."""
    name, *rest = arguments
    known = [command for command, _ in COMMANDS]
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        kind = "option" if name.startswith("-") else "command"
        remedy = f"did you mean {close[0]}?" if close else "`wattslice --help` lists the commands"
        return _fail(f"no {kind} {name!r} ({remedy})")
    command = cast(click.Command, getattr(import_module(f"wattslice.commands.{name}"), name))
    return run_command(command, f"wattslice {name}", rest, debug)


def run_command(command: click.Command, program: str, rest: list[str], debug: bool = False) -> int:
    """Run a click command as `program`; its exit status. Foreseen errors are one line on stderr."""
    asks_help = not {"-h", "--help"}.isdisjoint(rest)
    try:
        with writing() if asks_help else nullcontext():
            status = command.main(rest, prog_name=program, standalone_mode=False)
    except WattsliceError as error:
        if debug:
            raise
        return _fail(str(error))
    except click.UsageError as error:
        return _fail(f"{error.format_message()} (`{program} --help` lists the options)")
    except click.ClickException as error:
        return _fail(error.format_message())
    except click.Abort:
        return _fail("interrupted")
    return status if isinstance(status, int) else 0


def _fail(message: str) -> int:
    click.echo(f"wattslice: {' '.join(message.split())}", err=True)
    return FAILED
