"""`wattslice completion bash|zsh|fish`: a script for the shell, from the same tables as `--help`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from importlib import import_module

import click
from msgspec import Struct

from wattslice.commands.output import CONTEXT, write_result
from wattslice.commands.table import COMMANDS, FINE


class Completed(Struct, frozen=True):
    """An option of a command: its spellings, its help and the values that can be listed."""

    names: tuple[str, ...]
    help: str
    values: tuple[str, ...]


@click.command(context_settings=CONTEXT)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def completion(shell: str) -> int:
    """Print what completes wattslice's words in a shell.

    bash: put `eval "$(wattslice completion bash)"` into ~/.bashrc; zsh: the same with zsh into ~/.zshrc;
    fish: write it to ~/.config/fish/completions/wattslice.fish.
    """
    write_result("\n".join(_fish() if shell == "fish" else _bash(is_zsh=shell == "zsh")))
    return FINE


def completed(name: str, module: str) -> tuple[Completed, ...]:
    """The options of one command, as click knows them."""
    from wattslice_models.gpu import gpu_ids

    command: click.Command = getattr(import_module(f"wattslice.commands.{module}"), name)
    return tuple(
        Completed(
            tuple(sorted((*one.opts, *one.secondary_opts))),
            (one.help or "").partition(".  [")[0].rstrip("."),
            gpu_ids()
            if "--gpu" in one.opts
            else tuple(map(str, one.type.choices))
            if isinstance(one.type, click.Choice)
            else (),
        )
        for one in command.params
        if isinstance(one, click.Option) and not one.hidden
    )


def _bash(*, is_zsh: bool) -> Iterator[str]:
    if is_zsh:
        yield "autoload -U +X bashcompinit && bashcompinit"
    yield "_wattslice() {"
    yield '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words=""'
    yield "  COMPREPLY=()"
    names = " ".join(name for name, *_ in COMMANDS)
    yield '  if [ "$COMP_CWORD" -eq 1 ]; then'
    yield f'    COMPREPLY=($(compgen -W "{names} --help --version" -- "$word")); return'
    yield "  fi"
    yield '  case "${COMP_WORDS[1]} $before" in'
    options = {name: completed(name, module) for name, module, _ in COMMANDS}
    for name, known in options.items():
        for one in known:
            if one.values:
                cases = "|".join(f'"{name} {spelling}"' for spelling in one.names)
                yield f'    {cases}) COMPREPLY=($(compgen -W "{" ".join(one.values)}" -- "$word")); return;;'
    yield "  esac"
    yield '  case "${COMP_WORDS[1]}" in'
    for name, known in options.items():
        spellings = " ".join(spelling for one in known for spelling in one.names)
        yield f'    {name}) words="{spellings} --help";;'
    yield "  esac"
    yield '  case "$word" in'
    yield '    -*) COMPREPLY=($(compgen -W "$words" -- "$word"));;'
    yield '    *) COMPREPLY=($(compgen -f -- "$word"));;'
    yield "  esac"
    yield "}"
    yield "complete -o filenames -F _wattslice wattslice"


def _fish() -> Iterator[str]:
    for name, _, text in COMMANDS:
        yield f"complete -c wattslice -n __fish_use_subcommand -a {name} -d {shlex.quote(text)}"
    for name, module, _ in COMMANDS:
        for one in completed(name, module):
            spelt = " ".join(
                f"-l {spelling[2:]}" if spelling.startswith("--") else f"-s {spelling[1:]}"
                for spelling in one.names
            )
            values = f" -x -a {shlex.quote(' '.join(one.values))}" if one.values else ""
            seen = f"'__fish_seen_subcommand_from {name}'"
            yield f"complete -c wattslice -n {seen} {spelt} -d {shlex.quote(one.help)}{values}"
