"""Many files at once: time and memory by jobs, cache and cluster, and whether all of them say the same.

    python -m wattslice_tools.wild.many_files CHECKOUT... [--every 1] [--gpu v100]
        [-o docs/appendix/public-code.md]

Every run is a process of its own, `wattslice analyze` with all `.cu` files of the checkouts (`--every N`:
each N-th, sorted). Processor time is that of the process and of those it began, so without the workers of a
dask cluster; memory is that of all of them together, sampled, and of the cluster. The clock on the wall means
something on an otherwise idle machine only.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

from msgspec import Struct

from wattslice_tools.wild.checkouts import revision
from wattslice_tools.wild.document import publish

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_SAMPLE_S = 0.2


class Run(Struct, frozen=True):
    """One run: what it was, seconds on the clock and of processors, its memory, and what it said."""

    name: str
    seconds: float
    cpu_s: float
    peak_bytes: int
    status: int
    digest: str
    document: dict[str, Any]


def processes_below(root: int) -> set[int]:
    """A process and all that it began, as /proc tells."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found = {root}
    grown = True
    while grown:
        below = {pid for pid, parent in parents.items() if parent in found} - found
        found |= below
        grown = bool(below)
    return found


def resident_bytes(pids: set[int]) -> int:
    """Resident memory of processes; what they share counts as often as they are."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES
    return total


class Sampler(threading.Thread):
    """Watches the memory of processes until it is told to stop."""

    def __init__(self, roots: list[int]) -> None:
        super().__init__(daemon=True)
        self.roots = roots
        self.peak_bytes = 0
        self.is_over = threading.Event()

    def run(self) -> None:
        """Sample."""
        while not self.is_over.wait(_SAMPLE_S):
            pids = set[int]().union(*(processes_below(root) for root in self.roots))
            self.peak_bytes = max(self.peak_bytes, resident_bytes(pids))


def analyse(name: str, files: list[Path], options: list[str], also: tuple[int, ...] = ()) -> Run:
    """One `wattslice analyze`; `also`: processes whose memory counts too."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "out.json"
        command = [sys.executable, "-m", "wattslice", "analyze", "--format", "json", "-o", str(target)]
        begin = time.perf_counter()
        process = subprocess.Popen([*command, *options, *map(str, files)], stderr=subprocess.DEVNULL)
        sampler = Sampler([process.pid, *also])
        sampler.start()
        _, ended, usage = os.wait4(process.pid, 0)
        status = process.returncode = os.waitstatus_to_exitcode(ended)
        seconds = time.perf_counter() - begin
        sampler.is_over.set()
        sampler.join()
        data = target.read_bytes() if target.exists() else b"{}"
    cpu_s, digest = usage.ru_utime + usage.ru_stime, hashlib.sha256(data).hexdigest()
    run = Run(name, seconds, cpu_s, sampler.peak_bytes, status, digest, json.loads(data))
    print(f"{name}: {seconds:.1f} s, {run.peak_bytes / 1e6:.0f} MB, status {status}", file=sys.stderr)
    return run


@contextlib.contextmanager
def dask_cluster(workers: int) -> Generator[tuple[str, int]]:
    """A scheduler and workers in processes of their own: its address, and the process that holds them."""
    code = (
        "import sys, logging\n"
        "from distributed import LocalCluster\n"
        "if __name__ == '__main__':\n"
        f"    cluster = LocalCluster(n_workers={workers}, threads_per_worker=1, dashboard_address=None,\n"
        "                           silence_logs=logging.CRITICAL)\n"
        "    print(cluster.scheduler_address, flush=True)\n"
        "    sys.stdin.read()\n"
        "    cluster.close()\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "cluster.py"
        script.write_text(code)
        process = subprocess.Popen(
            [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process.pid
        finally:
            process.communicate("")


def all_runs(files: list[Path], gpu: str) -> list[Run]:
    """Every way to analyse them, one after the other."""
    one, two = ["--gpu", gpu, "--jobs", "1"], ["--gpu", gpu, "--jobs", "2"]
    with tempfile.TemporaryDirectory() as folder:
        cache = ["--cache", folder]
        runs = [
            analyse("`--jobs 1 --no-cache`", files, [*one, "--no-cache"]),
            analyse("`--jobs 2`, empty cache", files, [*two, *cache]),
            analyse("`--jobs 2`, full cache", files, [*two, *cache]),
            analyse("`--jobs 1`, full cache", files, [*one, *cache]),
        ]
    with dask_cluster(2) as (address, pid):
        dask = ["--gpu", gpu, "--no-cache", "--backend", "dask", "--scheduler", address]
        runs.append(analyse("`--backend dask`, two workers, `--no-cache`", files, dask, (pid,)))
    return runs


def differences(left: Run, right: Run) -> list[str]:
    """What is in one of two reports and not in the other, a line for each."""
    if left.digest == right.digest:
        return []
    found = [f"{right.name} differs from {left.name}"]
    for part in ("kernels", "diagnostics"):
        ours, theirs = (
            {json.dumps(entry, sort_keys=True) for entry in run.document.get(part, ())}
            for run in (left, right)
        )
        found += [
            f"{sign} {text[:500]}"
            for sign, texts in (("-", ours - theirs), ("+", theirs - ours))
            for text in texts
        ]
    return found


def lines(runs: list[Run], files: list[Path], checkouts: list[Path]) -> list[str]:
    """The section of the document."""
    first = runs[0].document
    rules = Counter(entry["rule"] for entry in first["diagnostics"])
    known = sum(kernel["power_w"] is not None for kernel in first["kernels"])
    load, _, _ = os.getloadavg()
    same = "equal to the letter" if len({run.digest for run in runs}) == 1 else "NOT EQUAL"
    return [
        f"{len(files)} `.cu` files of {', '.join(f'{one.name} {revision(one)}' for one in checkouts)}, "
        f"{len(first['kernels'])} launches, {known} of them with watts; "
        f"{os.cpu_count()} cores, load {load:.1f} at the end.",
        "",
        "| `wattslice analyze` | wall time | per file | processor time | per file | memory of all |",
        "|---|---|---|---|---|---|",
        *(
            f"| {run.name} | {run.seconds:.1f} s | {1e3 * run.seconds / len(files):.0f} ms "
            f"| {run.cpu_s:.1f} s | {1e3 * run.cpu_s / len(files):.0f} ms | {run.peak_bytes / 1e6:.0f} MB |"
            for run in runs
        ),
        "",
        f"Internal errors and lost processes (PW099): {rules['PW099']}. JSON of all runs: {same}.",
        "",
    ]


def main() -> None:
    """Measure and print, or write the section of a document. Exit status 1 when two runs differ."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", type=Path, nargs="+")
    parser.add_argument("--every", type=int, default=1, help="take each N-th file")
    parser.add_argument("--gpu", default="v100")
    parser.add_argument("-o", "--output", type=Path, help="replace this script's section of a Markdown file")
    options = parser.parse_args()
    files = sorted(file for one in options.checkouts for file in one.rglob("*.cu"))[:: options.every]
    if not files:
        raise SystemExit("no .cu file in any of the checkouts")
    runs = all_runs(files, options.gpu)
    publish(options.output, "many_files", lines(runs, files, options.checkouts))
    for entry in runs[0].document["diagnostics"]:
        if entry["rule"] == "PW099":
            print(f"{entry['file']}:{entry['line']}: {entry['message']}", file=sys.stderr)
    if differing := [line for run in runs[1:] for line in differences(runs[0], run)]:
        raise SystemExit("\n".join(("the runs do not say the same:", *differing)))


if __name__ == "__main__":
    main()
