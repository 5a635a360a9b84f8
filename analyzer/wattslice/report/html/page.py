"""One self-contained HTML page: sources with their heat, a card for every kernel, rooflines.

Nothing is loaded from anywhere: its policy allows the one style sheet and the one script that stand in it, by
their hashes, and nothing else. Everything else on it is text, escaped by the template engine.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from wattslice.analysis import Analysis
from wattslice.findings.findings import Finding
from wattslice.report.html.view import FILTERS, IN_TEMPLATE, PageView, page_view
from wattslice.report.source_text import SPACE_STYLES, Piece
from wattslice.version import __version__

_PAGE = Path(__file__).parent / "assets"
_BASIS = (
    "Watts are predicted from the source, per launch. A line's watts are its part of what the operations of "
    "the kernel draw; its percentage is of that part."
)
_HINT = "Point at a line, or walk with Tab and the arrow keys: its slice lights up, and its watts stand here."


def render_html(analysis: Analysis, _findings: tuple[Finding, ...] = (), _status: int | None = None) -> str:
    """The page of an analysis of any number of files; its text is the same for the same analysis."""
    import jinja2
    import markupsafe

    view = page_view(analysis)
    css = markupsafe.Markup(_style_sheet(view))
    script = markupsafe.Markup((_PAGE / "page.js").read_text(encoding="utf-8"))

    def code(line: tuple[Piece, ...]) -> markupsafe.Markup:
        return markupsafe.Markup("".join(map(_piece, line)))

    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters.update(FILTERS)
    environment.filters["code"] = code
    environment.filters["picture"] = markupsafe.Markup  # drawn by `charts`, which escapes
    template = environment.from_string((_PAGE / "page.html.jinja").read_text(encoding="utf-8"))
    policy = f"default-src 'none'; style-src {_hash(css)}; script-src {_hash(script)}; base-uri 'none'"
    text = template.render(
        page=view,
        css=css,
        script=script,
        policy=f"{policy}; form-action 'none'",
        basis=_BASIS,
        hint=_HINT,
        version=__version__,
        **IN_TEMPLATE,
    )
    return text.encode(errors="replace").decode()


def _piece(piece: Piece) -> str:
    import markupsafe

    text = str(markupsafe.escape(piece.text))
    kind = piece.kind.value
    return text if kind in ("plain", "number") else f'<span class="k-{kind}">{text}</span>'


def _hash(text: str) -> str:
    """How a policy names an inline text: by the SHA-256 of its UTF-8."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _style_sheet(view: PageView) -> str:
    spaces = SPACE_STYLES.values()
    rules = [
        *(f".s-{one.name}{{--c:{one.light}}}.lit-{one.name}{{--litc:{one.light}}}" for one in spaces),
        "@media (prefers-color-scheme:dark){",
        *(f".s-{one.name}{{--c:{one.dark}}}.lit-{one.name}{{--litc:{one.dark}}}" for one in spaces),
        "}",
        *(f".v{share}{{width:{share}%}}" for share in range(1, 101)),
        # Rows out of sight are not laid out (content-visibility): they need a width of their own.
        *(f".long.{file.id}w{{min-width:calc({file.columns}ch + 23rem)}}" for file in view.files),
    ]
    return (_PAGE / "page.css").read_text(encoding="utf-8") + "\n".join(rules) + "\n"
