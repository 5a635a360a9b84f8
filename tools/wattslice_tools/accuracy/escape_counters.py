"""The quantities of ESCAPE's Table 8 from the source beside what nvprof counted of the same launches."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from wattslice.training.examples import workload_of
from wattslice_corpora.counters import CounterRow, counters_path, read_counters
from wattslice_corpora.records import read_workloads, workloads_path
from wattslice_models.escape_time import KernelCharacteristics
from wattslice_models.gpu import Gpu
from wattslice_tools.accuracy.escape_workloads import workload_characteristics


class CountedKernel(Struct, frozen=True):
    """One launch: its counters, and its characteristics from the source, per launched thread."""

    counters: CounterRow
    threads: int
    found: KernelCharacteristics
    doubt: str


def counted_kernels(gpu: Gpu) -> Iterator[CountedKernel]:
    """The launches of `gpu` that have counters and features of the same grid and block."""
    workloads = {
        (row.benchmark, row.kernel, row.arguments): row
        for row in read_workloads(workloads_path(gpu.id))
        if row.launched_kernel == row.kernel
    }
    for counters in read_counters(counters_path(gpu.id)):
        row = workloads.get((counters.benchmark, counters.kernel, counters.arguments))
        if row is None:
            continue
        work = workload_of(row)
        counted = _product(counters.grid), _product(counters.block)
        if counted == (work.blocks, work.threads_per_block):
            # How many instructions go through in a clock plays no part in what is compared.
            yield CountedKernel(counters, work.threads, workload_characteristics(work, 1.0), row.doubt)


def counted_rows(gpu: Gpu) -> Iterator[str]:
    """Markdown: the inactive share, and counts over those of nvprof."""
    yield "| program | P_i | nvprof | I_e | i_i | i_f | i_d |"
    yield "|---|---|---|---|---|---|---|"
    for one in counted_kernels(gpu):
        counters, found = one.counters, one.found
        cells = (
            f"{counters.benchmark}{' *' if one.doubt else ''}",
            f"{found.inactive_share:.0%}",
            f"{1 - counters.warp_execution_efficiency:.0%}",
            _ratio(found.warp_instructions * one.threads, counters.inst_executed),
            _ratio(found.integer_instructions * one.threads, counters.inst_integer),
            _ratio(found.single_instructions * one.threads, counters.inst_fp_32),
            _ratio(found.double_instructions * one.threads, counters.inst_fp_64),
        )
        yield f"| {' | '.join(cells)} |"


def _ratio(found: float, counted: float) -> str:
    return f"{found / counted:.2f}" if counted else ""


def _product(three: tuple[int, int, int]) -> int:
    return three[0] * three[1] * three[2]
