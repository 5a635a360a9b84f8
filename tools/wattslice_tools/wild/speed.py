"""How fast the analysis is beside the parser and the compiler, with its tail named, as Markdown.

    python -m wattslice_tools.wild.speed CHECKOUT... [--files 84] [--gpu v100] [--jobs 2] [--no-whole]
        [-o docs/appendix/speed.md]

The files: one of each checkout in turn, sorted, that `nvcc -ptx` compiles as they are and that hold a kernel.
For each of them, in one run: libclang's bare parse (the flags and include folders that our parse found,
prelude precompiled), the analysis in this process, `nvcc -ptx`, and processes of `wattslice analyze`: the
first on a machine (nothing kept, no precompiled prelude either), one whose file is not in the cache, as after
every edit, and one whose file is. Then the packages that the analyses spend their time in
(`time_by_package.py`), edits of the files of about 500 lines (`edit_latency.py`), `python -c pass`, `gpus`
and `explain`, the first time and again, and all `.cu` files of the checkouts in one run with `--jobs`, cold
and from the cache. Ratios are taken per file, of processor seconds and of seconds on the clock; nothing is
left out of median, 95th percentile and sum. What runs in this process is done once to warm up and measured
once, a process of a single file is measured once. Of a file whose first analysis takes more than two seconds,
that one counts, and its first process counts as the cold one too: both can only be dearer.
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
from typing import NamedTuple

from msgspec import Struct

from wattslice.analysis import KernelAnalysis
from wattslice.config.config import Config
from wattslice.config.gpu_choice import GpuChoice
from wattslice.errors import WattsliceError
from wattslice.frontend.cuda.clang.libclang import version
from wattslice.frontend.cuda.read import forget
from wattslice.pipeline.files import analyze_file
from wattslice_tools.wild import edit_latency, time_by_package
from wattslice_tools.wild.checkouts import cuda_files, revision
from wattslice_tools.wild.document import publish

ARCH = "sm_80"
_TAIL = 12
_MOST_WORKER_BYTES = 250e6
_STARTS = 15
_SLOW_S = 2.0
"""From here on nothing of a file is measured a second time."""
_EDITS = 5
_EDITED_LINES = 350, 750
_RESULTS = "WATTSLICE_CACHE"
_STARTER = """
import os, sys, time
nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
begin_s = time.perf_counter()
started = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=nowhere)
_, status, usage = os.wait4(started, 0)
wall_s = time.perf_counter() - begin_s
print(usage.ru_utime + usage.ru_stime, wall_s, usage.ru_maxrss, os.waitstatus_to_exitcode(status))
"""
"""Runs a command and prints its seconds of processors and on the clock, its peak memory, its exit status."""


class Cost(NamedTuple):
    """Seconds of processors and on the clock, peak of resident memory in bytes (0: not known), exit."""

    cpu_s: float
    wall_s: float
    peak_bytes: int = 0
    status: int = 0


class Times(Struct, frozen=True):
    """All that was measured of one file."""

    path: Path
    kernels: int
    bare: Cost
    analysis: Cost
    nvcc: Cost
    first: Cost
    cold: Cost
    cached: Cost


def measured(action: Callable[[], object]) -> Cost:
    """Once, in this process."""
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    action()
    return Cost(time.process_time() - cpu_s, time.perf_counter() - wall_s)


def run(command: list[str], cache: Path | None = None) -> Cost:
    """Runs a command to its end, its output dropped. Python keeps its bytecode, as it does by default.

    `cache`: where programs keep what they know; None: wattslice keeps no results.
    """
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", _RESULTS)}
    environment |= {_RESULTS: "off"} if cache is None else {"XDG_CACHE_HOME": str(cache)}
    # Of a small process: what is started takes over the peak of the process that starts it.
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _STARTER, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        check=True,
    )
    cpu_s, wall_s, peak, status = map(float, done.stdout.split())
    return Cost(cpu_s, wall_s, int(peak) * (1 if sys.platform == "darwin" else 1024), int(status))


def in_turn(checkouts: list[Path]) -> Iterator[Path]:
    """One file of each checkout after the other."""
    seen: set[str] = set()
    for row in zip_longest(*(cuda_files(checkout, seen) for checkout in checkouts)):
        yield from (path for path in row if path is not None)


def program() -> list[str]:
    """The installed command beside this Python, else the module."""
    beside = Path(sys.executable).with_name("wattslice")
    return [str(beside)] if beside.is_file() else [sys.executable, "-m", "wattslice"]


def measure(path: Path, gpu: str) -> Times | None:
    """All figures of one file; None when nvcc does not compile it or it holds no kernel."""
    config = Config(files=(path,), gpu=GpuChoice(gpu))
    analyze = [*program(), "analyze", "--gpu", gpu, "--format", "json", str(path)]
    with tempfile.TemporaryDirectory() as folder:
        nvcc = run(["nvcc", "-w", "-ptx", f"-arch={ARCH}", "-o", f"{folder}/out.ptx", str(path)])
        if nvcc.status != 0:
            return None
        kernels: list[KernelAnalysis] = []
        try:
            analysis = measured(lambda: kernels.extend(analyze_file(path, config).kernels))
        except WattsliceError:
            return None
        if not kernels:
            return None
        parse, text = edit_latency.bare_parse(path), path.read_bytes().decode("utf-8", "replace")
        parse(text)
        bare = measured(lambda: parse(text))
        is_slow = analysis.cpu_s > _SLOW_S
        if not is_slow:
            forget()  # a file that was just read would not be parsed again
            analysis = measured(lambda: analyze_file(path, config))
        cache = Path(folder, "cache")
        cold = first = run(analyze, cache)
        if not is_slow:
            forget_results(cache)
            cold = run(analyze, cache)
        cached = run(analyze, cache)
    return Times(path, len(kernels), bare, analysis, nvcc, first, cold, cached)


def forget_results(cache: Path) -> None:
    """What stays is known of the installation: the precompiled prelude and the digest of the program."""
    for entry in cache.glob("wattslice/results/*"):
        if not entry.name.startswith("program-"):
            entry.unlink()


class Ratio(NamedTuple):
    """One line of the table: which cost of a file is divided by which, and what it should be."""

    name: str
    aim: str
    of: str
    by: str
    is_better_high: bool = False


_RATIOS = (
    Ratio("analysis / bare parse, in process", "≤ 4 (p95 ≤ 15)", "analysis", "bare"),
    Ratio("`nvcc -ptx` / analysis in process", "≥ 10", "nvcc", "analysis", True),
    Ratio("`nvcc -ptx` / cold process", "≥ 1.5", "nvcc", "cold", True),
    Ratio("`nvcc -ptx` / first process on a machine", "–", "nvcc", "first", True),
)


def percentile(values: list[float], share: float) -> float:
    """The value below which that share of them lies, one of them."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def ratio_line(ratio: Ratio, times: list[Times], kind: str) -> str:
    """Median, the worse 5 %, and that of the sums."""

    def pick(t: Times, name: str) -> float:
        cost: Cost = getattr(t, name)
        return cost.cpu_s if kind == "CPU" else cost.wall_s

    each = [pick(t, ratio.of) / pick(t, ratio.by) for t in times]
    total = sum(pick(t, ratio.of) for t in times) / sum(pick(t, ratio.by) for t in times)
    tail = percentile(each, 0.05 if ratio.is_better_high else 0.95)
    return (
        f"| {ratio.name} | {kind} | {ratio.aim} | {statistics.median(each):.2f} | {tail:.2f} | {total:.2f} |"
    )


def file_lines(times: list[Times]) -> list[str]:
    """The part about single files."""

    def row(name: str, pick: Callable[[Times], Cost]) -> str:
        cells: list[str] = []
        for values in ([pick(t).cpu_s for t in times], [pick(t).wall_s for t in times]):
            found = statistics.median(values), percentile(values, 0.95)
            cells += [f"{1e3 * value:.1f}" for value in found] + [f"{sum(values):.1f} s"]
        return f"| {name} | {' | '.join(cells)} |"

    def tail_line(t: Times) -> str:
        figures = (t.bare.cpu_s, t.analysis.cpu_s, t.nvcc.cpu_s, t.cold.cpu_s)
        cells = " | ".join(f"{1e3 * value:.0f}" for value in figures)
        return (
            f"| `{'/'.join(t.path.parts[-3:])}` | {cells} | {t.analysis.cpu_s / t.bare.cpu_s:.0f} "
            f"| {t.cold.peak_bytes / 1e6:.0f} |"
        )

    slowest = sorted(times, key=lambda t: -t.analysis.cpu_s / t.bare.cpu_s)[:_TAIL]
    large = [t for t in times if t.cold.peak_bytes > _MOST_WORKER_BYTES]
    share = sum(t.analysis.cpu_s for t in slowest) / sum(t.analysis.cpu_s for t in times)
    return [
        f"{len(times)} files with {sum(t.kernels for t in times)} analysed launches, in ms (sums in s). Of "
        f"{sum(t.first is t.cold for t in times)} files that take more than {_SLOW_S:g} s the first analysis "
        "counts as the one in process, and the first process as the cold one:",
        "",
        "| per file | CPU, median | p95 | sum | wall, median | p95 | sum |",
        "|---|---|---|---|---|---|---|",
        row("libclang's bare parse, prelude precompiled", lambda t: t.bare),
        row("analysis in process, from path to watts", lambda t: t.analysis),
        row(f"`nvcc -ptx -arch={ARCH}`", lambda t: t.nvcc),
        row("first process on a machine", lambda t: t.first),
        row("cold process: file not in the cache", lambda t: t.cold),
        row("process, file in the cache", lambda t: t.cached),
        "",
        "| ratio, per file | of | aim | median | worst 5 % | of the sums |",
        "|---|---|---|---|---|---|",
        *(ratio_line(ratio, times, kind) for ratio in _RATIOS for kind in ("CPU", "wall")),
        "",
        f"The {len(slowest)} files with the most analysis per parse have {share:.0%} of its time, in ms:",
        "",
        "| file | bare | analysis | nvcc | cold process | analysis / bare | peak, MB |",
        "|---|---|---|---|---|---|---|",
        *(tail_line(t) for t in slowest),
        "",
        f"Over {_MOST_WORKER_BYTES / 1e6:.0f} MB in a process of its own: {len(large)} of {len(times)} files"
        + ("." if not large else ": " + ", ".join(f"`{t.path.name}`" for t in large) + "."),
        "",
    ]


def edit_lines(times: list[Times], gpu: str) -> list[str]:
    """The part about an editor: from an edit to the hints, in files of about 500 lines."""
    rows: list[edit_latency.Row] = []
    for path in (t.path for t in times):
        is_of_that_size = _EDITED_LINES[0] <= path.read_bytes().count(b"\n") <= _EDITED_LINES[1]
        row = edit_latency.measure(path, gpu, _EDITS) if is_of_that_size else None
        if row is not None:
            rows.append(row)
    if not rows:
        return []
    head = (
        "From an edit to the finished analysis where the file is open (as in `wattslice lsp`): files of "
        f"{_EDITED_LINES[0]} to {_EDITED_LINES[1]} lines, medians of {_EDITS} edits (one where it takes more "
        f"than {edit_latency.SLOW_S:g} s), CPU. "
        "Aim: ≤ 4× the bare parse, < 100 ms."
    )
    return [head, "", *edit_latency.table(rows), ""]


def start_lines(times: list[Times], gpu: str) -> list[str]:
    """The part about starting: medians of repeats."""

    def median(command: list[str], cache: Path | None = None) -> Cost:
        run(command, cache)
        found = [run(command, cache) for _ in range(_STARTS)]
        return Cost(statistics.median(c.cpu_s for c in found), statistics.median(c.wall_s for c in found))

    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        bare = median([sys.executable, "-c", "pass"])
        file = str(times[0].path)
        rows = [
            ("`wattslice --help`", "–", median([*program(), "--help"])),
            (
                "`wattslice analyze FILE`, full cache",
                "≤ 6",
                median([*program(), "analyze", "--gpu", gpu, file], cache),
            ),
        ]
        for name in ("gpus", "explain"):
            rows += [
                (f"`wattslice {name}`, not kept", "–", median([*program(), name])),
                (f"`wattslice {name}`, kept", "≤ 5", median([*program(), name], cache)),
            ]
    return [
        f"`python -c pass`: {1e3 * bare.cpu_s:.1f} ms of CPU, {1e3 * bare.wall_s:.1f} ms on the clock; "
        f"medians of {_STARTS}.",
        "",
        "| process | CPU, ms | wall, ms | aim | CPU / `pass` | wall / `pass` |",
        "|---|---|---|---|---|---|",
        *(
            f"| {name} | {1e3 * cost.cpu_s:.0f} | {1e3 * cost.wall_s:.0f} | {aim} "
            f"| {cost.cpu_s / bare.cpu_s:.1f} | {cost.wall_s / bare.wall_s:.1f} |"
            for name, aim, cost in rows
        ),
        "",
    ]


def whole_lines(checkouts: list[Path], gpu: str, jobs: int) -> list[str]:
    """The part about all files of all checkouts in one run."""
    analyze = [
        *program(),
        "analyze",
        "--gpu",
        gpu,
        "--format",
        "json",
        "--jobs",
        str(jobs),
        *map(str, checkouts),
    ]
    files = sum(len(list(checkout.rglob("*.cu"))) for checkout in checkouts)
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            (name, aim, run(analyze, Path(folder)))
            for name, aim in (("empty cache", "≤ 40"), ("full cache", "≤ 2"))
        ]
    return [
        f"All {files} `.cu` files of the checkouts in one run with `--jobs {jobs}`:",
        "",
        "| run | wall, s | CPU, s | wall per file, ms | aim |",
        "|---|---|---|---|---|",
        *(
            f"| {name} | {cost.wall_s:.1f} | {cost.cpu_s:.1f} | {1e3 * cost.wall_s / files:.1f} | {aim} |"
            for name, aim, cost in rows
        ),
        "",
    ]


def setting_lines(checkouts: list[Path]) -> list[str]:
    """With what it was measured."""
    nvcc = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    release = next((line.strip() for line in nvcc.splitlines() if "release" in line), "nvcc")
    suites = ", ".join(f"{checkout.name} {revision(checkout)}" for checkout in checkouts)
    load, _, _ = os.getloadavg()
    return [
        f"wattslice {revision(Path(__file__).parent)}, Python {platform.python_version()}, {version()}, "
        f"nvcc: {release}; {os.cpu_count()} cores, load {load:.1f} at the end. Files of {suites}.",
        "",
    ]


def main() -> None:
    """Measure and print, or write the section of a document."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--files", type=int, default=84, help="files to compare on")
    parser.add_argument("--gpu", default="v100")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--no-whole", action="store_true", help="without the run over all files")
    parser.add_argument("-o", "--output", type=Path, help="replace this script's section of a Markdown file")
    options = parser.parse_args()
    if shutil.which("nvcc") is None:
        raise SystemExit("nvcc is not on the PATH: it is what the analysis is compared with")
    times: list[Times] = []
    for path in in_turn(options.checkouts):
        found = measure(path, options.gpu)
        if found is not None:
            times.append(found)
            print(f"{1e3 * found.analysis.cpu_s:8.0f} ms  {path}", file=sys.stderr, flush=True)
        if len(times) == options.files:
            break
    if not times:
        raise SystemExit("nvcc compiles none of these files as they are")
    lines = [
        *file_lines(times),
        *time_by_package.lines([t.path for t in times], options.gpu),
        *edit_lines(times, options.gpu),
        *start_lines(times, options.gpu),
        *([] if options.no_whole else whole_lines(options.checkouts, options.gpu, options.jobs)),
    ]
    publish(options.output, "speed", [*setting_lines(options.checkouts), *lines])


if __name__ == "__main__":
    main()
