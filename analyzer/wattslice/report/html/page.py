"""One self-contained HTML page: sources with their heat, a card for every kernel, rooflines.

Nothing is loaded from anywhere: its policy allows the one style sheet and the one script that stand in it, by
their hashes, and nothing else. Everything else on it is text, escaped by the template engine.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

from wattslice.analysis import Analysis
from wattslice.errors import WattsliceError
from wattslice.version import __version__

if TYPE_CHECKING:
    from wattslice.report.html.c_text import Piece
    from wattslice.report.html.palette import PageColours
    from wattslice.report.html.parts import PageView

_PAGE = Path(__file__).parent / "assets"
_BASIS = (
    "Watts are predicted from the source, per launch. A line's watts are its part of what the operations of "
    "the kernel draw; its percentage is of that part."
)
_HINT = "Point at a line, or walk with Tab and the arrow keys: its slice lights up, and its watts stand here."


def check_packages() -> None:
    """Raises `WattsliceError` with the remedy when the page cannot be made."""
    if importlib.util.find_spec("jinja2") is None:
        raise WattsliceError("--format html needs jinja2", remedy="pip install 'wattslice[report]'")


def render_html(analysis: Analysis) -> str:
    """The page of an analysis of any number of files; its text is the same for the same analysis.

    Raises `WattsliceError` without jinja2.
    """
    check_packages()
    import jinja2
    import markupsafe

    from wattslice.report.html.view import page_view

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
    environment.filters["code"] = code
    environment.filters["picture"] = markupsafe.Markup  # drawn by `html_charts`, which escapes
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
    from wattslice.report.html.palette import CHOSEN_TINT, DARK, HOT_TINT, LIGHT, LIT_TINT, SPACE_STYLES

    spaces = SPACE_STYLES.items()
    light = [(space.value, style.light) for space, style in spaces]
    dark = [(space.value, style.dark) for space, style in spaces]
    rules = [
        f":root{{{_colours(LIGHT)}}}",
        f":root{{--hot-tint:{HOT_TINT}%;--chosen-tint:{CHOSEN_TINT}%;--lit-tint:{LIT_TINT}%}}",
        *(f".s-{name}{{--c:{colour}}}.lit-{name}{{--litc:{colour}}}" for name, colour in light),
        "@media (prefers-color-scheme:dark){",
        f":root{{{_colours(DARK)}}}",
        *(f".s-{name}{{--c:{colour}}}.lit-{name}{{--litc:{colour}}}" for name, colour in dark),
        "}",
        *(f".v{share}{{width:{share}%}}" for share in range(1, 101)),
        # Rows out of sight are not laid out (content-visibility): they need a width of their own.
        *(f".long.{file.id}w{{min-width:calc({file.columns}ch + 23rem)}}" for file in view.files),
    ]
    return (_PAGE / "page.css").read_text(encoding="utf-8") + "\n".join(rules) + "\n"


def _colours(colours: PageColours) -> str:
    return "".join(f"--{name}:{getattr(colours, name)};" for name in colours.__slots__)
