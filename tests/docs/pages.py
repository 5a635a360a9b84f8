"""The pages of the documentation, and the parts of them that commands produce."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = (README, ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md")))
ERRORS = DOCS / "appendix" / "accuracy.md"

BEGIN = "<!-- errors: from docs/appendix/accuracy.md, by pytest --update-golden tests/docs -->"
END = "<!-- end of errors -->"
PROTOCOL = "Trained before, tested on applications"
HEAD = "| GPU | runs | mean error | worst error | error of a guess by clock | in the 90 % interval |"


def error_table() -> str:
    """What the energy model misses on applications that no fit saw, GPU by GPU, from the appendix."""
    lines = [HEAD, "|---|---:|---:|---:|---:|---:|"]
    for section in re.split(r"^### ", ERRORS.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        if PROTOCOL not in section:
            continue
        gpu = section.partition(" (`")[0]
        table = section.partition(PROTOCOL)[2].partition("####")[0]
        rows = [
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in table.splitlines()
            if line.startswith("|")
        ]
        model = next(row for row in rows if row[0].startswith("energy model, application left out"))
        means = [row for row in rows if row[0].startswith("mean at each clock")]
        lines.append(f"| {gpu} | {model[1]} | **{model[2]}** | {model[4]} | {means[0][2]} | {model[6]} |")
    return "\n".join(lines)
