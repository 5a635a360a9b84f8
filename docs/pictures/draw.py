"""Draws the pictures of the documentation from what the commands print: ``python docs/pictures/draw.py``.

Terminal pictures are SVG, drawn by rich from the coloured output of the command; the page of ``annotate`` is
photographed by a headless Chromium, where there is one. Run it in the root of the repository.
"""

from __future__ import annotations

import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

HERE = Path(__file__).parent
TRANSPOSE = "corpora/wattslice_corpora/kernels/wang2013/transpose.cu"
MULTIPLY = "corpora/wattslice_corpora/kernels/wang2013/multiply_add.cu"
FAMILY = "corpora/wattslice_corpora/kernels/wang2013"
WORKFLOW = "corpora/wattslice_corpora/workflows/heat_on_gpus.toml"
COLUMNS = 100
TERMINALS: dict[str, tuple[list[str], str, int | None]] = {
    "report": (["analyze", TRANSPOSE], "report", None),
    "annotate-terminal": (["annotate", MULTIPLY, "--gpu", "v100"], "annotate-terminal", 44),
}
"""Words, file and number of lines of each picture of a terminal."""
OFFLINE = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
"""rich's format without the fonts that it would load from a server."""


def coloured(words: list[str]) -> str:
    """What a command of wattslice prints on a terminal, with its escape sequences."""
    environment = dict(os.environ, COLUMNS=str(COLUMNS), TERM="xterm-256color", COLORTERM="truecolor")
    environment.pop("NO_COLOR", None)
    own, terminal = pty.openpty()
    command = [sys.executable, "-m", "wattslice", *words]
    with subprocess.Popen(command, stdout=terminal, stdin=subprocess.DEVNULL, env=environment) as process:
        os.close(terminal)
        parts: list[bytes] = []
        while True:
            try:
                part = os.read(own, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            parts.append(part)
    os.close(own)
    if process.returncode:
        raise SystemExit(f"{' '.join(words)}: exit status {process.returncode}")
    return b"".join(parts).decode().replace("\r\n", "\n")


def terminal(words: list[str], name: str, lines: int | None = None) -> None:
    """Draws the output of a command, its first `lines` lines, into the file `name`.svg."""
    text = coloured(words).rstrip("\n")
    shown = "\n".join(text.split("\n")[:lines])
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        # rich keeps the codes of a style as it first wrote them: in few colours they would stay few elsewhere
        console = Console(
            record=True, width=COLUMNS, file=nowhere, force_terminal=True, color_system="truecolor"
        )
        console.print(Text("$ wattslice " + " ".join(words), style="bold"))
        console.print(Text.from_ansi(shown))
        svg = console.export_svg(
            title="wattslice", theme=MONOKAI, code_format=OFFLINE, unique_id=f"wattslice-{name}"
        )
    (HERE / f"{name}.svg").write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n")


def page(name: str, width: int, height: int, *more: str) -> None:
    """Photographs the page of ``annotate --format html`` into the file `name`.png, `more`: of Chromium."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        print(f"no Chromium: {name}.png stays as it is", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as folder:
        html = Path(folder) / "page.html"
        wattslice = [sys.executable, "-m", "wattslice"]
        words = ["annotate", MULTIPLY, "--gpu", "v100", "--format", "html", "-o", str(html)]
        subprocess.run([*wattslice, *words], check=True)
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"]
        size = [
            "--disable-background-networking",
            f"--window-size={width},{height}",
            *more,
            f"--user-data-dir={folder}/profile",
        ]
        shot = [f"--screenshot={HERE / name}.png", html.as_uri()]
        subprocess.run([browser, *flags, *size, *shot], check=True, capture_output=True)


def sweep() -> None:
    """The variants of the example of docs/sweep.md."""
    page_text = (HERE.parent / "sweep.md").read_text(encoding="utf-8")
    found = re.search(
        r"<!-- file: (mul\.cu) -->\n```\w*\n(.*?)```\n.*?<!-- run: wattslice (.*?) -->", page_text, re.DOTALL
    )
    if found is None:
        raise SystemExit("docs/sweep.md has no example")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, found[1]).write_text(found[2], encoding="utf-8")
        words = [*shlex.split(found[3]), "-o", str(HERE / "sweep.svg")]
        command = [sys.executable, "-m", "wattslice", *words]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder)


def main() -> None:
    """Draws all of them."""
    for words, name, lines in TERMINALS.values():
        terminal(words, name, lines)
    page("annotate-page", 1280, 1000)
    page("annotate-page-dark", 1280, 1000, "--blink-settings=preferredColorScheme=0")
    page("annotate-page-narrow", 500, 1900)
    sweep()
    for words in (
        ["roofline", "--gpu", "v100", FAMILY, "-o", str(HERE / "roofline_v100.svg")],
        ["project", WORKFLOW, "-o", str(HERE / "project.svg")],
    ):
        subprocess.run([sys.executable, "-m", "wattslice", *words], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
