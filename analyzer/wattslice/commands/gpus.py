"""`wattslice gpus`"""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from wattslice.commands.common import CONTEXT, write_result
from wattslice.commands.table import FINE
from wattslice.report.catalogue import catalogue_entries, write_catalogue


@click.command(context_settings=CONTEXT)
@click.option(
    "--format", "report_format", type=click.Choice(("text", "json")), default="text", show_default=True
)
def gpus(report_format: str) -> int:
    """List the GPUs to predict for, and which power models each one has."""
    entries = catalogue_entries()
    if report_format == "json":
        document = {"schema_version": 1, "gpus": [asdict(entry) for entry in entries]}
        text = json.dumps(document, indent=2, ensure_ascii=False)
        write_result(lambda file: click.echo(text, file), None)
    else:
        write_result(lambda file: write_catalogue(entries, file), None)
    return FINE
