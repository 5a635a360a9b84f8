"""`wattslice cache`"""

from __future__ import annotations

from pathlib import Path

import click

from wattslice.commands.common import CONTEXT, write_result
from wattslice.commands.table import FINE
from wattslice.config.settings import find_settings
from wattslice.pipeline.cache.folder import CacheFolder, Usage, default_cache, is_used


@click.command(context_settings=CONTEXT)
@click.option(
    "--cache",
    "folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Not the folder of the settings or the user.",
)
@click.option("--clear", is_flag=True, help="Remove all kept results.")
def cache(folder: Path | None, clear: bool) -> int:
    """Tell where analyses are kept for the next run, and how many there are.

    A settings file counts that is in this folder or above it.
    """
    path = folder or find_settings((Path(),)).cache or default_cache()
    if path is None:
        text = "no cache: WATTSLICE_CACHE is off"
    else:
        usage = _usage(path, clear)
        verb = "removed" if clear else "kept"
        text = f"{path}: {usage.entries} results {verb}, {usage.size_bytes / 2**20:.1f} MiB"
    write_result(lambda file: click.echo(text, file), None)
    return FINE


def _usage(path: Path, clear: bool) -> Usage:
    if not is_used(path):
        return Usage(0, 0)
    opened = CacheFolder(path)
    try:
        return opened.clear() if clear else opened.usage()
    finally:
        opened.close()
