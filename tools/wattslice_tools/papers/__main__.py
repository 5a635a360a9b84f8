"""``python -m wattslice_tools.papers`` writes the page, ``--check`` only says whether it is up to date."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from wattslice.report.pictures import NoPlotsError
from wattslice_tools.papers.page import COMMAND, papers_markdown


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the file; 0 when written or up to date, 1 when `--check` finds it out of date."""
    parser = argparse.ArgumentParser(prog=COMMAND, description="write the page from data and models")
    parser.add_argument("path", nargs="?", type=Path, default=Path("docs/appendix/papers.md"))
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when out of date")
    parser.add_argument("--plots", type=Path, metavar="DIR", help="draw the pictures of the page there, too")
    options = parser.parse_args(arguments)
    path: Path = options.path
    text = papers_markdown()
    if options.check:
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            return 0
        print(f"{path} is out of date: run `{COMMAND} {path}`", file=sys.stderr)
        return 1
    try:
        path.write_text(text, encoding="utf-8")
        if options.plots is not None:
            from wattslice_tools.papers.choi2013_pictures import plot_choi2013

            options.plots.mkdir(parents=True, exist_ok=True)
            plot_choi2013(options.plots)
    except NoPlotsError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"cannot write {error.filename or path}: {error.strerror}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
