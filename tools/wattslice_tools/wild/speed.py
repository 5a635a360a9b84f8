"""How fast the analysis is, as ratios within one run, and how much memory it takes, as Markdown.

    python -m wattslice_tools.wild.speed CHECKOUT... [--files 40] [--repeats 3] [--gpu v100]
        [-o docs/appendix/public-code.md]

Compared on the first files (one of each checkout in turn, sorted) that `nvcc -ptx -arch=sm_80` compiles as
they are: libclang's bare parse (one clang_parseTranslationUnit2 with our flags and the same include
folders, prelude precompiled and as text), our analysis in this process, and nvcc. Each figure is the least
of several repeats, each ratio is taken per file, and the table shows their median. Meaningful on an
otherwise idle machine only; ratios more so than times.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path

from msgspec import Struct

from wattslice.config.config import Config
from wattslice.config.gpu_choice import GpuChoice
from wattslice.frontend.cuda.clang.flags import (
    FALLBACK_STUBS,
    KEEP_GOING,
    PRELUDE,
    language_flags,
    user_flags,
)
from wattslice.frontend.cuda.clang.libclang import version
from wattslice.frontend.cuda.clang.parse import prelude_pch, raw_parse
from wattslice.frontend.cuda.clang.session import parse_cuda
from wattslice.frontend.parse_options import ParseOptions
from wattslice.pipeline.files import analyze_file
from wattslice_tools.wild.checkouts import cuda_files, revision
from wattslice_tools.wild.document import publish

ARCH = "sm_80"


class Times(Struct, frozen=True):
    """Seconds for one file; `tree_s` is parse_cuda: all parses, with header search and repairs."""

    path: Path
    kernels: int
    bare_s: float
    bare_text_s: float
    tree_s: float
    analysis_s: float
    nvcc_s: float


class Run(Struct, frozen=True):
    """One subprocess: wall time, peak resident memory of that process in bytes, exit status."""

    seconds: float
    peak_bytes: int
    status: int


def least(action: Callable[[], object], repeats: int) -> float:
    """The least wall time of several runs, in seconds."""
    found: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        found.append(time.perf_counter() - start)
    return min(found)


def run(command: list[str]) -> Run:
    """Runs a command to its end, its output dropped. Python keeps its bytecode, as it does by default."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    unit = 1 if sys.platform == "darwin" else 1024
    return Run(seconds, usage.ru_maxrss * unit, process.returncode)


def in_turn(checkouts: list[Path]) -> Iterator[Path]:
    """One file of each checkout after the other."""
    seen: set[str] = set()
    for row in zip_longest(*(cuda_files(checkout, seen) for checkout in checkouts)):
        yield from (path for path in row if path is not None)


def nvcc_command(path: Path, target: str) -> list[str]:
    """The compiler as a user would call it for PTX."""
    return ["nvcc", "-w", "-ptx", f"-arch={ARCH}", "-o", target, str(path)]


def bare_parses(path: Path) -> tuple[Callable[[], object], Callable[[], object]]:
    """libclang's bare parse of a file, with our prelude precompiled and as text."""
    options = ParseOptions()
    flags = (
        *language_flags(options.standard, options.gpu_arch),
        *user_flags(options, (*parse_cuda(path).recovered.found_includes, FALLBACK_STUBS)),
    )
    pch = prelude_pch(options.standard, options.gpu_arch)
    if pch is None:
        raise SystemExit("the prelude cannot be precompiled here")
    precompiled, as_text = (*flags, "-include-pch", str(pch)), (*flags, f"-include{PRELUDE}")
    return (
        lambda: raw_parse(path, precompiled, KEEP_GOING),
        lambda: raw_parse(path, as_text, KEEP_GOING),
    )


def measure(path: Path, gpu: str, repeats: int) -> Times | None:
    """All figures of one file; None when nvcc does not compile it or it holds no kernel."""
    with tempfile.TemporaryDirectory() as folder:
        command = nvcc_command(path, str(Path(folder) / "out.ptx"))
        first = run(command)
        if first.status != 0:
            return None
        config = Config(files=(path,), gpu=GpuChoice(gpu))
        kernels = len(analyze_file(path, config).kernels)
        if not kernels:
            return None
        nvcc_s = min(first.seconds, *(run(command).seconds for _ in range(repeats - 1)))
    precompiled, as_text = bare_parses(path)
    return Times(
        path,
        kernels,
        least(precompiled, repeats),
        least(as_text, repeats),
        least(lambda: parse_cuda(path), repeats),
        least(lambda: analyze_file(path, config), repeats),
        nvcc_s,
    )


def program() -> list[str]:
    """The installed command beside this Python, else the module."""
    beside = Path(sys.executable).with_name("wattslice")
    return [str(beside)] if beside.is_file() else [sys.executable, "-m", "wattslice"]


def ratio(values: list[float]) -> str:
    """Median, and the middle half."""
    if len(values) < 2:
        return f"{values[0]:.2f}"
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.2f} (middle half {low:.2f} to {high:.2f})"


def file_lines(times: list[Times]) -> list[str]:
    """The part about single files."""

    def median_ms(pick: Callable[[Times], float]) -> str:
        return f"{1e3 * statistics.median(pick(t) for t in times):.1f} ms"

    ratios = (
        ("analysis / bare parse, prelude precompiled", "≤ 2.5", [t.analysis_s / t.bare_s for t in times]),
        ("analysis / bare parse, prelude as text", "≤ 2.5", [t.analysis_s / t.bare_text_s for t in times]),
        ("our parse / bare parse, prelude precompiled", "–", [t.tree_s / t.bare_s for t in times]),
        ("nvcc / analysis", "≥ 10", [t.nvcc_s / t.analysis_s for t in times]),
    )
    return [
        f"{len(times)} files with {sum(t.kernels for t in times)} analysed launches.",
        "",
        "| per file | median |",
        "|---|---|",
        f"| libclang's bare parse, prelude precompiled | {median_ms(lambda t: t.bare_s)} |",
        f"| libclang's bare parse, prelude as text | {median_ms(lambda t: t.bare_text_s)} |",
        f"| our parse with header search and repairs | {median_ms(lambda t: t.tree_s)} |",
        f"| our analysis, from path to watts | {median_ms(lambda t: t.analysis_s)} |",
        f"| `nvcc -ptx -arch={ARCH}` | {median_ms(lambda t: t.nvcc_s)} |",
        "",
        "| ratio | aim | median |",
        "|---|---|---|",
        *(f"| {name} | {aim} | {ratio(values)} |" for name, aim, values in ratios),
    ]


def process_lines(sample: list[Path], gpu: str, repeats: int, suite: Path) -> list[str]:
    """The part about whole processes: start, memory, several processes."""
    run([*program(), "--help"])  # leaves its bytecode
    help_s = min(run([*program(), "--help"]).seconds for _ in range(5 * repeats))
    pass_s = min(run([sys.executable, "-c", "pass"]).seconds for _ in range(5 * repeats))
    analyze = [*program(), "analyze", "--gpu", gpu, "--format", "json"]
    run([*analyze, str(sample[0])])
    singles = [
        min((run([*analyze, str(path)]) for _ in range(2)), key=lambda r: r.seconds) for path in sample
    ]
    with tempfile.TemporaryDirectory() as folder:
        commands = [nvcc_command(path, str(Path(folder) / "out.ptx")) for path in sample]
        compiled = [min(run(command).seconds for _ in range(2)) for command in commands]
    one, two = (
        min((run([*analyze, str(suite), "--jobs", jobs]) for _ in range(2)), key=lambda r: r.seconds)
        for jobs in ("1", "2")
    )
    if bad := [r for r in (*singles, one, two) if r.status != 0]:
        raise SystemExit(f"wattslice analyze ended with status {bad[0].status}")
    quickest = [c / s.seconds for c, s in zip(compiled, singles, strict=True)]
    peak = max(r.peak_bytes for r in singles)
    return [
        f"| `wattslice --help` / `python -c pass` | ≤ 4 | {help_s / pass_s:.2f} ({1e3 * help_s:.0f} ms) |",
        f"| nvcc / `wattslice analyze FILE`, processes, {len(sample)} files | – | {ratio(quickest)} |",
        f"| `--jobs 1` / `--jobs 2` on {suite.name} | – | {one.seconds / two.seconds:.2f} "
        f"({one.seconds:.1f} s and {two.seconds:.1f} s) |",
        f"| peak memory, one file a process, most of {len(sample)} | ≤ 300 MB | {peak / 1e6:.0f} MB |",
        f"| peak memory, {suite.name} in one process | ≤ 300 MB | {one.peak_bytes / 1e6:.0f} MB |",
        "",
    ]


def setting_lines(checkouts: list[Path], repeats: int) -> list[str]:
    """With what it was measured."""
    nvcc = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    release = next((line.strip() for line in nvcc.splitlines() if "release" in line), "nvcc")
    suites = ", ".join(f"{checkout.name} {revision(checkout)}" for checkout in checkouts)
    return [
        f"Python {platform.python_version()}, {version()}, nvcc: {release}; {os.cpu_count()} cores; "
        f"least of {repeats} repeats. Files of {suites}.",
        "",
    ]


def main() -> None:
    """Measure and print, or write the section of a document."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--files", type=int, default=40, help="files to compare on")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--gpu", default="v100")
    parser.add_argument(
        "--suite", type=Path, help="folder for --jobs and memory; default: the first checkout"
    )
    parser.add_argument("--each", action="store_true", help="a line per file, on stderr")
    parser.add_argument("-o", "--output", type=Path, help="replace this script's section of a Markdown file")
    options = parser.parse_args()
    if shutil.which("nvcc") is None:
        raise SystemExit("nvcc is not on the PATH: it is what the analysis is compared with")
    times: list[Times] = []
    for path in in_turn(options.checkouts):
        found = measure(path, options.gpu, max(2, options.repeats))
        if found is not None:
            times.append(found)
            if options.each:
                print(f"{1e3 * found.bare_s:8.1f} {1e3 * found.tree_s:8.1f} {1e3 * found.analysis_s:8.1f} "
                      f"{1e3 * found.nvcc_s:8.1f} ms  {path}", file=sys.stderr, flush=True)  # fmt: skip
        if len(times) == options.files:
            break
    if not times:
        raise SystemExit("nvcc compiles none of these files as they are")
    sample = [t.path for t in times[:: max(1, len(times) // 8)]][:8]
    lines = [
        *setting_lines(options.checkouts, max(2, options.repeats)),
        *file_lines(times),
        *process_lines(sample, options.gpu, options.repeats, options.suite or options.checkouts[0]),
    ]
    publish(options.output, "speed", lines)


if __name__ == "__main__":
    main()
