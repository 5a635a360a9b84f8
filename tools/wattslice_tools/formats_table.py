"""The table of docs/formats.md: ``python -m wattslice_tools.formats_table FILE``"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from wattslice.report.formats import FORMATS
from wattslice_corpora.records import write_text

_HEAD = "| format | read by | findings | kernels |\n|---|---|---|---|\n"
_TABLE = re.compile(re.escape(_HEAD) + r"(?:\|.*\n)*")


def with_table(page: str) -> str:
    """The page with its table anew. Raises ``ValueError`` where there is none."""
    rows = "".join(
        f"| `{one.name}` | {one.read_by} | {one.findings} | {one.kernels} |\n" for one in FORMATS.values()
    )
    if not _TABLE.search(page):
        raise ValueError(f"no table that begins with {_HEAD!r}")
    return _TABLE.sub(lambda _: _HEAD + rows, page)


def main(arguments: list[str]) -> int:
    """Writes the table into the named page; 2 with a message when it cannot."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: python -m wattslice_tools.formats_table FILE", file=sys.stderr)
        return 2
    page = Path(arguments[0])
    try:
        write_text(page, with_table(page.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        print(f"wattslice: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
