"""What each file of a checkout costs `wattslice analyze`: seconds of the processor and memory, dearest first.

    python -m wattslice_tools.wild.file_costs CHECKOUT... [--most-s 5] [--most-mb 500] [--rows 20]
        [--kept FOLDER] [--against FOLDER] [--gpu v100] [-o docs/appendix/public-code.md]

Every file is analysed alone, without the cache, in a process that is forked after the imports: seconds are
those of the analysis, the imports' are printed beside them. Of files with the same content, one is taken.
With `--kept` the answers stay in a folder, with `--against` files with another answer than there are named.
The exit status is 1 when a file is dearer than the limits or answers differ.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import sys
import tempfile
from collections.abc import Sequence
from filecmp import cmp
from pathlib import Path

from msgspec import Struct

from wattslice.cli import main as wattslice
from wattslice_tools.wild.checkouts import cuda_files, revision
from wattslice_tools.wild.document import publish

_KIB = 1 if sys.platform == "darwin" else 1024
_LIMIT_S = 120
"""Seconds of the processor after which a file is given up."""


class Cost(Struct, frozen=True):
    """Of one file: seconds of the processor, peak resident memory in bytes, exit status of the process."""

    path: Path
    cpu_s: float
    peak_bytes: int
    status: int


class Limits(Struct, frozen=True):
    """What no file should take: seconds of the processor, megabytes."""

    cpu_s: float
    megabytes: float

    def takes_longer(self, cost: Cost) -> bool:
        return cost.cpu_s > self.cpu_s

    def takes_more(self, cost: Cost) -> bool:
        return cost.peak_bytes > self.megabytes * 1e6


def cost_of(path: Path, gpu: str, answer: Path) -> Cost:
    """Analyse one file in a child of this process, from the folder it lies in; the JSON goes to `answer`."""
    child = os.fork()
    if not child:
        os.chdir(path.parent)
        resource.setrlimit(resource.RLIMIT_CPU, (_LIMIT_S, _LIMIT_S))
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 2)
        command = ["analyze", "--no-cache", "--jobs", "1", "--gpu", gpu, "--format", "json"]
        os._exit(wattslice([*command, "-o", str(answer), path.name]))
    _, status, usage = os.wait4(child, 0)
    return Cost(
        path, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * _KIB, os.waitstatus_to_exitcode(status)
    )


def _import(gpu: str) -> None:
    """Have everything imported that the analysis of a file imports."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "empty.cu"
        path.write_text("__global__ void set(int *x) { x[threadIdx.x] = 1; }\n")
        wattslice(["analyze", "--no-cache", "--gpu", gpu, "-o", os.devnull, str(path)])


def lines(costs: Sequence[Cost], checkouts: Sequence[Path], limits: Limits, rows: int) -> list[str]:
    """The section of the document."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    seconds = [cost.cpu_s for cost in costs]
    names = ", ".join(f"{checkout.name} {revision(checkout)}" for checkout in checkouts)
    return [
        f"{len(costs)} `.cu` files of {names}. Processor time of a file: median "
        f"{statistics.median(seconds):.2f} s, most {max(seconds):.1f} s; "
        f"{sum(limits.takes_longer(cost) for cost in costs)} above {limits.cpu_s:g} s, "
        f"{sum(limits.takes_more(cost) for cost in costs)} above {limits.megabytes:g} MB. To each process "
        f"comes the start of Python and its imports, {own.ru_utime + own.ru_stime:.1f} s.",
        "",
        "| dearest files | processor time | memory |",
        "|---|---|---|",
        *(
            f"| `{_name(cost.path, checkouts)}` | {cost.cpu_s:.1f} s | {cost.peak_bytes / 1e6:.0f} MB |"
            for cost in sorted(costs, key=lambda cost: -cost.cpu_s)[:rows]
        ),
        "",
    ]


def _name(path: Path, checkouts: Sequence[Path]) -> str:
    (checkout,) = (one for one in checkouts if path.is_relative_to(one))
    return str(path.relative_to(checkout.parent))


def main() -> int:
    """Print the table, or write the section of a document."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", type=Path, nargs="+")
    parser.add_argument("--most-s", type=float, default=5)
    parser.add_argument("--most-mb", type=float, default=500)
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--kept", type=Path, help="folder that the answers stay in")
    parser.add_argument("--against", type=Path, help="folder of earlier answers")
    parser.add_argument("--gpu", default="v100")
    parser.add_argument("-o", "--output", type=Path, help="replace this script's section of a Markdown file")
    options = parser.parse_args()
    checkouts = [checkout.resolve() for checkout in options.checkouts]
    kept: Path = (options.kept or Path(os.devnull)).resolve()
    seen: set[str] = set()
    _import(options.gpu)
    costs: list[Cost] = []
    differing: list[str] = []
    for path in (path for checkout in checkouts for path in cuda_files(checkout, seen)):
        name = _name(path, checkouts).replace("/", "_") + ".json"
        answer = kept if options.kept is None else kept / name
        costs.append(cost_of(path, options.gpu, answer))
        if options.against is not None and not _is_same(answer, options.against / name):
            differing.append(name)
    limits = Limits(options.most_s, options.most_mb)
    publish(options.output, "file_costs", lines(costs, checkouts, limits, options.rows))
    if differing:
        print("\n".join(f"another answer: {name}" for name in differing), file=sys.stderr)
    return int(bool(differing) or any(limits.takes_longer(cost) or limits.takes_more(cost) for cost in costs))


def _is_same(answer: Path, before: Path) -> bool:
    return answer.is_file() and before.is_file() and cmp(answer, before, shallow=False)


if __name__ == "__main__":
    sys.exit(main())
