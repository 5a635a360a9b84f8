"""Text out of sources and messages, safe inside Markdown."""

from __future__ import annotations

import re

from wattslice.report.ci.places import clean
from wattslice.report.printable import printable

_MEANS_SOMETHING = re.compile(r"([\\`*_\[\]<>|~&@:#!$])")


def escaped(text: str) -> str:
    """`text` on one line as Markdown that shows just that: no link, mark, HTML, mention or table column."""
    return _MEANS_SOMETHING.sub(r"\\\1", printable(" ".join(clean(text).split())))
