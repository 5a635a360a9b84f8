"""`wattslice completion bash|zsh|fish`: a script for the shell, which asks wattslice as click has it."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class, shell_complete

from wattslice.commands.common import command_named
from wattslice.commands.output import CONTEXT, write_result
from wattslice.commands.table import COMMANDS, COMPLETE_VARIABLE, FINE


class _Every(click.Group):
    """All commands, each imported when it is asked for."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name; None: there is none."""
        return command_named(cmd_name) if any(cmd_name == name for name, *_ in COMMANDS) else None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names of commands, by the table, and options."""
        names = [CompletionItem(name, help=text) for name, _, text in COMMANDS if name.startswith(incomplete)]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]


_EVERY = _Every("wattslice", context_settings=CONTEXT, no_args_is_help=False)


def completing(shell: str) -> ShellComplete:
    """What completes words in a shell."""
    kind = get_completion_class(shell)
    assert kind is not None
    return kind(_EVERY, {}, "wattslice", COMPLETE_VARIABLE)


def complete(asked: str) -> int:
    """Answer the script of a shell; the exit status."""
    return shell_complete(_EVERY, {}, "wattslice", COMPLETE_VARIABLE, asked)


@click.command(context_settings=CONTEXT)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def completion(shell: str) -> int:
    """Print what completes wattslice's words in a shell.

    bash: put `eval "$(wattslice completion bash)"` into ~/.bashrc; zsh: the same with zsh into ~/.zshrc;
    fish: write it to ~/.config/fish/completions/wattslice.fish.
    """
    write_result(completing(shell).source())
    return FINE
