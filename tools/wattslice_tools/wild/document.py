"""Sections of the documentation written by the scripts of this folder, each its own section."""

from __future__ import annotations

import re
from pathlib import Path

_MARK = "<!-- {edge} {name}: written by tools/wattslice_tools/wild/{script}.py, not by hand -->"


def publish(path: Path | None, name: str, lines: list[str]) -> None:
    """The lines as section `name` of a document, or printed where there is none."""
    if path is None:
        print("\n".join(lines))
    else:
        write_section(path, name, lines)


def write_section(path: Path, name: str, lines: list[str]) -> None:
    """Replaces what stands between the two marks of section `name`; the marks must be there.

    The first word of `name` is the script.
    """
    script = name.split()[0]
    begin, end = (_MARK.format(edge=edge, name=name, script=script) for edge in ("begin", "end"))
    if not path.is_file():
        raise SystemExit(f"{path}: no such document, which has to have the marks of section {name!r}")
    text = path.read_text(encoding="utf-8")
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if pattern.search(text) is None:
        raise SystemExit(f"{path}: the marks of section {name!r} are missing")
    section = "\n".join((begin, "", *lines, end))
    path.write_text(pattern.sub(lambda _: section, text), encoding="utf-8")
