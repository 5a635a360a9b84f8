"""What whole projects get, analysed as their users have them: `wattslice analyze .`, without any option.

    python -m wattslice_tools.wild.whole_projects CHECKOUT... [-o docs/appendix/public-code.md]

"known": grid, block and every argument come from the host code, no PW010 or PW011; "as a whole": nothing of
the kernel's body was dropped (no PW029).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from wattslice_tools.wild.checkouts import revision
from wattslice_tools.wild.document import publish

_ASSUMED = frozenset({"PW010", "PW011"})


def analysed(checkout: Path) -> tuple[dict[str, Any], float]:
    """The report about a checkout, and the seconds of the processor that it took."""
    before = os.times()
    command = [sys.executable, "-m", "wattslice", "analyze", ".", "--no-cache", "--format", "json"]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return json.loads(done.stdout), spent


def row(checkout: Path) -> str:
    """A project as a row of the table."""
    report, seconds = analysed(checkout)
    kernels = report["kernels"]
    rules = [{entry["rule"] for entry in kernel["assumptions"]} for kernel in kernels]
    told = Counter(entry["rule"] for entry in report["diagnostics"])
    return (
        f"| {checkout.name} {revision(checkout)} | {len(kernels)} "
        f"| {sum(kernel['power_w'] is not None for kernel in kernels)} "
        f"| {sum(not own & _ASSUMED for own in rules)} | {sum('PW029' not in own for own in rules)} "
        f"| {told['PW002']} | {told['PW005']} | {seconds:.1f} s |"
    )


def main() -> None:
    """Print the table, or write the section of a document."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", type=Path, nargs="+")
    parser.add_argument("-o", "--output", type=Path, help="replace this script's section of a Markdown file")
    options = parser.parse_args()
    lines = [
        "| project | launches | watts | known | as a whole | headers missing | calls left out | processor |",
        "|---|---|---|---|---|---|---|---|",
        *(row(checkout.resolve()) for checkout in options.checkouts),
        "",
    ]
    publish(options.output, "whole_projects", lines)


if __name__ == "__main__":
    main()
