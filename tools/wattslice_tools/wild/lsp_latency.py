"""From an edit to new hints in a real language server, beside libclang's bare parse of the file, as Markdown.

    python -m wattslice_tools.wild.lsp_latency CHECKOUT... [--lines 100 500 1500] [--files 3] [--edits 20]
        [-o docs/appendix/editors.md]

Of each checkout's files those are taken whose number of lines is nearest to the wanted ones and that have
kernels with watts. The server is a process of its own, spoken to over its pipes. Every edit changes the
meaning of a kernel (a statement at its beginning, with another number each time). Timed is from the didChange
to the arrived answer of the inlayHint request that the server's refresh asks for. The pause that the server
waits for before it analyses is a setting here and told in a column of its own; by default it adapts. The bare
parse is one clang_parseTranslationUnit2 with our flags, the same include folders and the prelude precompiled,
in this process, between the edits. Medians; times by the clock mean something on an idle machine only.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import re
import statistics
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from msgspec import Struct

from wattslice.config.config import Config
from wattslice.config.gpu_choice import GpuChoice
from wattslice.errors import WattsliceError
from wattslice.frontend.cuda.clang.libclang import version
from wattslice.pipeline.files import analyze_file
from wattslice_tools.wild.checkouts import cuda_files, revision
from wattslice_tools.wild.document import publish
from wattslice_tools.wild.edit_latency import bare_parse
from wattslice_tools.wild.edit_latency import seconds as seconds_of

sys.path.insert(0, str(Path(__file__).parents[3] / "tests" / "analyzer" / "lsp"))
from client import Client, Message, edit, span  # pyright: ignore[reportMissingImports]

PAUSE_MS = 50


class Latency(Struct, frozen=True):
    """One file: lines, launches, and seconds; `open_s` from didOpen to the first hints.

    `analyses_s`: what the server says that the analyses took, of the same edits, and `bare_s`: of the
    processor, the others as the clock has them.
    """

    path: Path
    lines: int
    launches: int
    bare_s: float
    open_s: float
    edits_s: tuple[float, ...]
    analyses_s: tuple[float, ...]


class Place(Struct, frozen=True):
    """Where to edit a file: the line (from 0) behind the one that opens a kernel's body."""

    path: Path
    text: str
    line: int
    launches: int


def place_in(path: Path) -> Place | None:
    """Where its first kernel with watts begins; None when there is none."""
    try:
        text = path.read_text(encoding="utf-8")
        kernels = analyze_file(path, Config(files=(path,), gpu=GpuChoice("v100"))).kernels
    except (WattsliceError, UnicodeDecodeError):
        return None
    lines = text.split("\n")
    for kernel in kernels:
        if kernel.power_w is None or Path(kernel.source.file) != path or not kernel.hot_lines:
            continue
        for number in range(kernel.source.line - 1, kernel.source.end_line - 1):
            if lines[number].rstrip().endswith("{"):
                return Place(path, text, number + 1, len(kernels))
    return None


def nearest(checkouts: list[Path], wanted: int, files: int) -> Iterator[Place]:
    """The files with about so many lines, nearest first, of another checkout each while there are some."""
    seen: set[str] = set()
    found: list[tuple[int, Path, Path]] = []
    for checkout in checkouts:
        for path in cuda_files(checkout, seen):
            lines = path.read_bytes().count(b"\n")
            found.append((abs(lines - wanted), path, checkout))
    used: set[Path] = set()
    number = 0
    for distance, path, checkout in sorted(found):
        if number == files or distance > wanted // 4:
            return
        if checkout in used and len(used) < len(checkouts):
            continue
        place = place_in(path)
        if place is not None:
            used.add(checkout)
            number += 1
            yield place


def measure(place: Place, edits: int, pause_ms: float | None) -> Latency:
    """One file in a server of its own."""
    settings: Message = {} if pause_ms is None else {"debounceMs": pause_ms}
    with Client(place.path.parent, settings) as client:
        client.initialize(trace="messages")
        client.drain(0.5)
        start = time.perf_counter()
        uri = client.open(place.path, place.text)
        await_hints(client, uri)
        open_s = time.perf_counter() - start
        bare = partial(bare_parse(place.path), place.text)
        bare_s = seconds_of(bare)
        insert = span(place.line, 0, place.line, 0)
        seconds: list[float] = []
        for number in range(edits):
            client.drain(0.05)
            text = f"if (threadIdx.x > {number + 2000}) return;\n"
            start = time.perf_counter()
            client.change(uri, edit(insert, text))
            await_hints(client, uri)
            seconds.append(time.perf_counter() - start)
            insert = span(place.line, 0, place.line + 1, 0)
            bare_s = min(bare_s, seconds_of(bare))
        client.leave()
        traces = [m["params"]["message"] for m in client.asked if m["method"] == "$/logTrace"]
    told = [re.findall(r"([\d.]+) ms", trace) for trace in traces[-len(seconds) :]]
    analyses_s = tuple(float(processor_ms) / 1e3 for _, processor_ms in told)
    lines = place.text.count("\n")
    return Latency(place.path, lines, place.launches, bare_s, open_s, tuple(seconds[1:]), analyses_s[1:])


def await_hints(client: Client, uri: str) -> None:
    """Until the server says that there are new hints, and they have arrived."""
    client.wait(refreshes)
    if not client.hints(uri):
        raise SystemExit(f"{uri}: no hints")


def refreshes(message: Message) -> bool:
    """Whether the server says that there are new hints."""
    return message.get("method") == "workspace/inlayHint/refresh"


def row(found: Latency, pause_ms: float | None, root: str) -> str:
    """One line of the table."""
    middle_s, worst_s = statistics.median(found.edits_s), max(found.edits_s)
    analysis_s = statistics.median(found.analyses_s)
    ratio = analysis_s / found.bare_s
    name = os.path.relpath(found.path, root)
    pause = "adaptive" if pause_ms is None else f"{pause_ms:.0f}"
    cells = (
        f"`{name}`",
        str(found.lines),
        str(found.launches),
        f"{1e3 * found.bare_s:.0f}",
        pause,
        f"{1e3 * analysis_s:.0f}",
        f"{1e3 * middle_s:.0f}",
        f"{1e3 * worst_s:.0f}",
        f"{1e3 * found.open_s:.0f}",
        f"{ratio:.1f}",
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure and print, or write the section of a document."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--lines", nargs="+", type=int, default=[100, 500, 1500], help="sizes of files")
    parser.add_argument("--files", type=int, default=3, help="files of each size")
    parser.add_argument("--edits", type=int, default=20, help="edits of each file; the first is not counted")
    parser.add_argument("--pause", type=float, default=PAUSE_MS, help="debounceMs; negative: adaptive")
    parser.add_argument("-o", "--output", type=Path, help="replace this script's section of a Markdown file")
    options = parser.parse_args()
    checkouts = [path.resolve() for path in options.checkouts]
    pause_ms = None if options.pause < 0 else options.pause
    suites = ", ".join(f"{checkout.name} {revision(checkout)}" for checkout in checkouts)
    root = os.path.commonpath([checkout.parent for checkout in checkouts])
    lines = [
        f"Python {platform.python_version()}, {version()}; {os.cpu_count()} cores, for which "
        f"{os.getloadavg()[0]:.1f} processes were waiting; {options.edits - 1} edits of each file. "
        f"Files of {suites}. Times in ms: of the processor for the bare parse, the analysis and their ratio, "
        "by the clock for the rest.",
        "",
        "| file | lines | launches | bare parse | pause | analysis | edit to hints | worst | open to hints "
        "| ratio |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for wanted in options.lines:
        for place in nearest(checkouts, wanted, options.files):
            with contextlib.suppress(BrokenPipeError):
                lines.append(row(measure(place, options.edits, pause_ms), pause_ms, root))
                print(lines[-1], file=sys.stderr, flush=True)
    publish(options.output, "lsp_latency", [*lines, ""])


if __name__ == "__main__":
    main()
