"""`wattslice explain [RULE]`, `gpus`, `cache` and `lsp`: what needs no file to analyse."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from wattslice.commands.output import CONTEXT, FILE, format_option, write_result
from wattslice.commands.table import FAILED, FINE
from wattslice.errors import WattsliceError

if TYPE_CHECKING:
    from wattslice.findings.rules import Rule
    from wattslice.pipeline.cache.folder import Usage


@click.command(context_settings=CONTEXT)
@click.argument("rule", required=False)
def explain(rule: str | None) -> int:
    """Explain RULE (PW010, or its name), or list all rules."""
    from wattslice.findings.rules import find_rule  # modules load when they are needed

    text = _overview() if rule is None else _text(find_rule(rule))
    write_result(text)
    return FINE


def _overview() -> str:
    from wattslice.findings.rules import RULES

    width = max(len(entry.name) for entry in RULES)
    lines: list[str] = []
    for entry in RULES:
        start = f"{entry.id}  {entry.name:{width}}  "
        lines.append(click.wrap_text(entry.what, 100, start, " " * len(start)))
    return "\n".join((*lines, "", "`wattslice explain RULE` tells why, with an example and a remedy."))


def _text(rule: Rule) -> str:
    sections = (
        ("What", rule.what),
        ("Why it matters", rule.why),
        ("Example", rule.example),
        ("Remedy", rule.remedy),
    )
    blocks = [click.style(f"{rule.id} {rule.name}", bold=True)]
    for title, text in sections:
        indented = f"  {text}" if title == "Example" else click.wrap_text(text, 88, "  ", "  ")
        blocks.append(f"{click.style(title, bold=True)}\n{indented}")
    return "\n\n".join(blocks)


@click.command(context_settings=CONTEXT)
@format_option("text", "json")
@click.option("--show", metavar="ID", help="Print the file of one, to begin one of your own with.")
def gpus(report_format: str, show: str | None) -> int:
    """List the GPUs to predict for, and which power models each one has."""
    from wattslice.report.catalogue import catalogue_json, write_catalogue
    from wattslice_models.gpu import UnknownGpuError, gpu_text

    if show is not None:
        try:
            text = gpu_text(show)
        except UnknownGpuError as error:
            raise WattsliceError(f"--show: {error}") from None
        write_result(text)
        return FINE
    write_result(catalogue_json() if report_format == "json" else write_catalogue)
    return FINE


@click.command(context_settings=CONTEXT)
@click.option(
    "--cache", "folder", type=FILE, metavar="DIR", help="Not the folder of the settings or the user."
)
@click.option("--clear", is_flag=True, help="Remove all kept results.")
def cache(folder: Path | None, clear: bool) -> int:
    """Tell where analyses are kept for the next run, and how many there are.

    A settings file counts that is in this folder or above it.
    """
    from wattslice.config.settings import find_settings
    from wattslice.user_folders import default_cache

    path = folder or find_settings((Path(),)).cache or default_cache()
    if path is None:
        text = "no cache: WATTSLICE_CACHE is off"
    else:
        usage = _usage(path, clear)
        verb = "removed" if clear else "kept"
        text = f"{path}: {usage.entries} results {verb}, {usage.size_bytes / 2**20:.1f} MiB"
    write_result(text)
    return FINE


def _usage(path: Path, clear: bool) -> Usage:
    from wattslice.pipeline.cache.folder import CacheFolder, Usage, is_used

    if not is_used(path):
        return Usage(0, 0)
    opened = CacheFolder(path)
    try:
        return opened.clear() if clear else opened.usage()
    finally:
        opened.close()


@click.command(context_settings=CONTEXT)
@click.option("--stdio", is_flag=True, help="Speak over stdin and stdout. Always so; editors like to say it.")
def lsp(stdio: bool) -> NoReturn:
    """Serve an editor: watts at the lines, above the kernels and in what it explains.

    Speaks the Language Server Protocol over stdin and stdout, beside clangd or alone; editors start it, see
    docs/editors.md. Needs more packages: pip install '.[lsp]' in the checkout.
    """
    if any(find_spec(name) is None for name in ("pygls", "lsprotocol", "tomlkit")):
        raise WattsliceError(
            "the language server needs pygls and tomlkit", remedy="pip install '.[lsp]' in the checkout"
        )
    from wattslice.lsp.server import serve_stdio

    serve_stdio(FAILED)
