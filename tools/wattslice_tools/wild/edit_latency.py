"""How long after an edit the analysis of an open file is there, beside libclang's bare parse of that file.

    python -m wattslice_tools.wild.edit_latency FILE... [--edits 9] [--gpu v100]
        [-o docs/appendix/public-code.md]

Each file is opened as an editor would, then edited again and again: one character of a number in the body of
a kernel, one in host code, and a new line above the first kernel (after which all that follows has moved).
Each edit gives a text that was never seen before; the time is that from the text to the finished `Analysis`
in this process: CPU time, which is wall time on an idle machine. In turn with the edits, libclang parses the
same text: one clang_parseTranslationUnit2 with the prelude precompiled and the same include folders, no tree
visited. The table has medians, and the median of the ratios; of edits that take more than a second, one.
Memory is what opening and editing the file added to the process for good. Ratios mean more than times.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import re
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path

from msgspec import Struct

from wattslice.config.config import Config
from wattslice.config.gpu_choice import GpuChoice
from wattslice.frontend.cuda.clang.flags import FALLBACK_STUBS, KEEP_GOING, language_flags, user_flags
from wattslice.frontend.cuda.clang.libclang import version
from wattslice.frontend.cuda.clang.parse import prelude_pch, raw_parse
from wattslice.frontend.cuda.clang.session import parse_cuda
from wattslice.pipeline.files import read_program
from wattslice.pipeline.incremental import IncrementalAnalyzer
from wattslice_tools.wild.document import publish

SLOW_S = 1.0
"""Of edits that take longer, one is measured."""


class Latency(Struct, frozen=True):
    """Seconds of each edit of one kind, and of the bare parse of the same text beside it."""

    edits_s: tuple[float, ...]
    bare_s: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """Median of the edits' ratios to the parse beside them."""
        return statistics.median(edit / bare for edit, bare in zip(self.edits_s, self.bare_s, strict=True))


class Row(Struct, frozen=True):
    """One file; None where it has no place for that kind of edit. Memory in bytes."""

    path: Path
    lines: int
    launches: int
    open_s: float
    in_kernel: Latency | None
    in_host: Latency | None
    new_line: Latency
    held_bytes: int


def resident_bytes() -> int:
    """Memory of this process."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def seconds(action: Callable[[], object]) -> float:
    """CPU time of one run, which is its wall time where nobody else wants the core."""
    start = time.process_time()
    action()
    return time.process_time() - start


def bare_parse(path: Path) -> Callable[[str], object]:
    """One call into libclang for texts of this file, with the flags that our own parse found for it."""
    unit = parse_cuda(path)
    options, found = unit.options, unit.recovered.found_includes
    flags = (
        *language_flags(options.standard, options.gpu_arch),
        *user_flags(options, (*found, FALLBACK_STUBS)),
    )
    pch = prelude_pch(options.standard, options.gpu_arch)
    if pch is None:
        raise SystemExit("the prelude cannot be precompiled here")
    flags = (*flags, "-include-pch", str(pch))
    return lambda text: raw_parse(path, flags, KEEP_GOING, ((path, text.encode()),))


_DIGITS = re.compile(r"(?<![\w.])\d+(?![\w.])")


def with_other_number(text: str, first_line: int, last_line: int) -> Iterator[str]:
    """Texts with one number between the lines made another, again and again; in a remark where none is."""
    lines = text.split("\n")
    places = [(n, m) for n in range(first_line, last_line - 1) for m in _DIGITS.finditer(lines[n])]
    number, match = places[len(places) // 2] if places else (None, None)
    for value in range(2, 10_000):
        if number is None or match is None:
            changed = lines[first_line] + f"  // {value}"
            yield "\n".join([*lines[:first_line], changed, *lines[first_line + 1 :]])
        else:
            line = lines[number]
            changed = line[: match.start()] + str(value) + line[match.end() :]
            yield "\n".join([*lines[:number], changed, *lines[number + 1 :]])


def with_new_lines(text: str, above_line: int) -> Iterator[str]:
    """Texts with one, two, three ... empty lines above a line."""
    lines = text.split("\n")
    for number in range(1, 10_000):
        yield "\n".join([*lines[: above_line - 1], *[""] * number, *lines[above_line - 1 :]])


def measure(path: Path, gpu: str, edits: int) -> Row | None:
    """All figures of one file; None when it holds no kernel."""
    text = path.read_bytes().decode("utf-8", "replace")
    config = Config((path,), GpuChoice(gpu))
    program = read_program(path, config)
    kernels = [kernel for kernel in program.kernels if kernel.span.file == str(path)]
    if not kernels:
        return None
    kernel = max(kernels, key=lambda kernel: kernel.span.line)
    hosts = [f for f in program.functions if f.span.file == str(path)]
    host = next((f for f in hosts if f.name == "main"), hosts[-1] if hosts else None)
    bare = bare_parse(path)
    IncrementalAnalyzer(config).analyze(path, text)  # modules imported, tables read
    before = resident_bytes()
    analyzer = IncrementalAnalyzer(config)
    launches = 0

    def open_file() -> None:
        nonlocal launches
        launches = len(analyzer.analyze(path, text).kernels)

    def latency(texts: Iterator[str]) -> Latency:
        first_s = seconds(partial(analyzer.analyze, path, next(texts)))
        pairs = [
            (seconds(partial(analyzer.analyze, path, new)), seconds(partial(bare, new)))
            for new in islice(texts, edits if first_s < SLOW_S else 1)
        ]
        return Latency(tuple(edit for edit, _ in pairs), tuple(parse for _, parse in pairs))

    open_s = seconds(open_file)
    in_kernel = latency(with_other_number(text, kernel.span.line, kernel.span.end_line))
    in_host = None if host is None else latency(with_other_number(text, host.span.line, host.span.end_line))
    new_line = latency(with_new_lines(text, min(kernel.span.line for kernel in kernels)))
    held = resident_bytes() - before
    return Row(path, text.count("\n") + 1, launches, open_s, in_kernel, in_host, new_line, held)


def table(rows: list[Row]) -> list[str]:
    """The figures as Markdown."""

    def cell(latency: Latency | None) -> str:
        if latency is None:
            return "–"
        return f"{1e3 * statistics.median(latency.edits_s):.0f} ms, {latency.ratio:.1f}×"

    lines = [
        "| file | lines | launches | bare parse | opened | in a kernel | in host code | new line | held |",
        "|---" * 9 + "|",
    ]
    for row in rows:
        bare_ms = 1e3 * statistics.median(row.new_line.bare_s)
        name = f"{row.path.parent.name}/{row.path.name}"
        lines.append(
            f"| `{name}` | {row.lines} | {row.launches} | {bare_ms:.1f} ms | "
            f"{1e3 * row.open_s:.0f} ms | "
            f"{cell(row.in_kernel)} | {cell(row.in_host)} | {cell(row.new_line)} | "
            f"{row.held_bytes / 2**20:.0f} MB |"
        )
    for name, pick in (("in a kernel", "in_kernel"), ("in host code", "in_host"), ("a new line", "new_line")):
        found: list[Latency] = [latency for row in rows if (latency := getattr(row, pick)) is not None]
        medians = [statistics.median(latency.edits_s) for latency in found]
        within = sum(median_s < 0.150 for median_s in medians)
        lines += [
            "",
            f"Edit {name}: median of the files {1e3 * statistics.median(medians):.0f} ms, "
            f"{statistics.median(latency.ratio for latency in found):.1f}× the bare parse; "
            f"{within} of {len(found)} files under 150 ms.",
        ]
    return lines


def main() -> None:
    """Measures and prints, or puts the table in the document."""
    parser = argparse.ArgumentParser(description="Measures the time from an edit to its analysis.")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--edits", type=int, default=9)
    parser.add_argument("--gpu", default="v100")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    rows = [row for path in options.files if (row := measure(path, options.gpu, options.edits)) is not None]
    rows.sort(key=lambda row: row.lines)
    machine = f"Python {platform.python_version()}, {version()}; {os.cpu_count()} cores"
    head = f"{machine}; medians of {options.edits} edits; CPU time."
    publish(options.output, "edit_latency", [head, "", *table(rows)])


if __name__ == "__main__":
    main()
