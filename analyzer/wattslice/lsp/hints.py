"""Inlay hints: what a hot line draws, at its end."""

from __future__ import annotations

from lsprotocol import types

from wattslice.lsp.documents import Document
from wattslice.lsp.figures import heat_text
from wattslice.lsp.line_map import LineMap
from wattslice.lsp.positions import Encoding, width
from wattslice.lsp.views import View


def inlay_hints(
    view: View, document: Document, where: types.Range, lines: LineMap, min_share: float, encoding: Encoding
) -> list[types.InlayHint]:
    """Hints at the lines in `where` that draw at least `min_share` of a kernel's power."""
    found: list[types.InlayHint] = []
    for line, heats in sorted(view.heats.items()):
        now = lines.now(line - 1)
        hot = [heat for _, heat in heats if heat.share >= min_share]
        if now is None or not hot or not where.start.line <= now <= where.end.line:
            continue
        names = ", ".join(dict.fromkeys(kernel.qualified_name for kernel, _ in heats))
        end = width(document.line(now), encoding)
        found.append(
            types.InlayHint(
                position=types.Position(now, end),
                label=heat_text(hot),
                tooltip=f"What this line draws of what the operations of {names} draw",
                padding_left=True,
            )
        )
    return found
