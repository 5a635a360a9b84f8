"""`wattslice explain [RULE]`"""

from __future__ import annotations

import click

from wattslice.commands.common import CONTEXT, write_result
from wattslice.commands.table import FINE
from wattslice.findings.rules import RULES, Rule, find_rule


@click.command(context_settings=CONTEXT)
@click.argument("rule", required=False)
def explain(rule: str | None) -> int:
    """Explain RULE (PW010, or its name), or list all rules."""
    text = _overview() if rule is None else _text(find_rule(rule))
    write_result(lambda file: click.echo(text, file), None)
    return FINE


def _overview() -> str:
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
