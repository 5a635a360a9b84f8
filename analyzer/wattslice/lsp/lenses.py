"""Code lenses: above every kernel what it draws, costs and is limited by."""

from __future__ import annotations

from lsprotocol import types

from wattslice.lsp.figures import launches_text
from wattslice.lsp.line_map import LineMap
from wattslice.lsp.views import View


def code_lenses(view: View, lines: LineMap) -> list[types.CodeLens]:
    """One lens per kernel that the document defines, its launches together."""
    found: list[types.CodeLens] = []
    for line, launches in sorted(view.kernels.items()):
        now = lines.now(line - 1)
        if now is None:
            continue
        start = types.Position(now, 0)
        # A lens is shown by its command; one without a name is text and does nothing.
        command = types.Command(title=launches_text(launches), command="")
        found.append(types.CodeLens(range=types.Range(start, start), command=command))
    return found
