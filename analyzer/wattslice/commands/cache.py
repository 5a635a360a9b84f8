"""`wattslice cache`"""

from __future__ import annotations

from pathlib import Path

import click

from wattslice.cli import FINE
from wattslice.commands.common import CONTEXT
from wattslice.result_cache.folder import CacheFolder, default_cache


@click.command(context_settings=CONTEXT)
@click.option(
    "--cache", "folder", type=click.Path(path_type=Path), metavar="DIR", help="Not the user's folder."
)
@click.option("--clear", is_flag=True, help="Remove all kept results.")
def cache(folder: Path | None, clear: bool) -> int:
    """Tell where analyses are kept for the next run, and how many there are."""
    path = folder or default_cache()
    if path is None:
        click.echo("no cache: WATTSLICE_CACHE is off")
        return FINE
    opened = CacheFolder(path)
    usage = opened.clear() if clear else opened.usage()
    verb = "removed" if clear else "kept"
    click.echo(f"{path}: {usage.entries} results {verb}, {usage.size_bytes / 2**20:.1f} MiB")
    opened.close()
    return FINE
