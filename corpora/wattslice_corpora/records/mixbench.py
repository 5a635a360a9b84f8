"""The intensity sweep in the public NV-DVFS-Benchmark, mixbench-cuda-ro: flops and bytes of each run.

``python -m wattslice_corpora.records.mixbench`` writes ``<gpu>_sweep.csv`` of every GPU of that set.

From the program (src/linux/mixbench-cuda-ro): 1024 blocks of 256 threads; a thread loads 4 times 8 elements,
each once, does `ratio` multiply-adds on each, and adds them up in pairs, 4 multiply-adds for 8 elements. It
stores nothing (a test that is never true keeps the sum alive). That is W = 4 (8 + 16 ratio) flops a thread,
the figure that the program itself prints, and Q = 32 elements a thread. DCGM's count of the cycles in which
memory moved data agrees with that Q (docs/appendix/roofline-fit.md).

Its sister mixbench-cuda-alt is no part of the sweep: it writes and reads the same few kilobytes of a block
again and again, and how many of those bytes reach DRAM depends on the L2 cache.
"""

from __future__ import annotations

import sys

from wattslice_corpora.records.measured import (
    MeasuredRow,
    measured_gpu_ids,
    measurements_path,
    read_measurements,
)
from wattslice_corpora.records.recipes import option
from wattslice_corpora.records.sweeps import FlopKind, SweepRow, sweep_path
from wattslice_corpora.records.tables import write_table

BENCHMARK = "mixbench-cuda-ro"
_THREADS = 1024 * 256
_ELEMENTS = 8
_TIMES = 4
_KINDS = {"benchmark_float": (FlopKind.SINGLE, 4), "benchmark_double": (FlopKind.DOUBLE, 8)}


def mixbench_sweep(measured: tuple[MeasuredRow, ...]) -> tuple[SweepRow, ...]:
    """The distinct runs of the sweep among `measured`, in the order in which they come."""
    runs = dict.fromkeys((row.benchmark, row.kernel, row.arguments) for row in measured)
    return tuple(
        _row(kernel, arguments)
        for benchmark, kernel, arguments in runs
        if benchmark == BENCHMARK and kernel in _KINDS
    )


def _row(kernel: str, arguments: str) -> SweepRow:
    precision, element_bytes = _KINDS[kernel]
    ratio = int(option(arguments, "ratio"))
    flops = _TIMES * (_ELEMENTS + 2 * _ELEMENTS * ratio)
    moved = _TIMES * _ELEMENTS * element_bytes
    return SweepRow(
        BENCHMARK, kernel, arguments, precision.value, float(_THREADS * flops), float(_THREADS * moved)
    )


def main() -> None:
    """Writes the tables, and says which."""
    for gpu_id in measured_gpu_ids():
        rows = mixbench_sweep(read_measurements(measurements_path(gpu_id)))
        if rows:
            path = sweep_path(gpu_id)
            comments = (
                f"the intensity sweep among the measured runs of {gpu_id}: flops and bytes of one launch",
                f"of {BENCHMARK} of https://github.com/blackjack2015/NV-DVFS-Benchmark, from its source; "
                "made by python -m wattslice_corpora.records.mixbench",
            )
            write_table(path, comments, SweepRow, rows)
            sys.stdout.write(f"{path.name}: {len(rows)} runs\n")


if __name__ == "__main__":
    main()
