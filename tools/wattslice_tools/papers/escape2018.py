"""ESCAPE D3.5, 2018: run times of weather kernels on GPUs, and what is wrong in the paper.

The rest: `escape2018_nodes`, `escape2018_energy`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec import Struct

from wattslice_corpora.published.escape2018 import (
    VerificationRow,
    escape2018_gpus,
    escape2018_kernels,
    escape2018_roofline,
    escape2018_tables,
    escape2018_verification,
)
from wattslice_corpora.published.escape2018_cpu import escape2018_loop_memory, escape2018_loop_work
from wattslice_corpora.published.tables import table_source
from wattslice_models.escape_time import PUBLISHED_CELLS_FACTOR, GpuTime, gpu_time, kernels_time_s
from wattslice_tools.papers.escape2018_energy import escape2018_energy
from wattslice_tools.papers.escape2018_inputs import acraneb2, published_gpu, published_kernel
from wattslice_tools.papers.escape2018_nodes import escape2018_nodes
from wattslice_tools.papers.escape2018_rooflines import contradictory_cells, escape2018_rooflines
from wattslice_tools.papers.markdown import mean, percent, relative_error, rms, table, worst

_CAPTION_ERRORS = {12: 0.08, 13: 0.15, 14: 0.23, 15: 0.07, 16: 0.15, 17: 0.23}
"""The "square error" that the caption of each table prints."""
_OF_ALL = "Dwarf"


def escape2018() -> tuple[str, ...]:
    """The paragraphs and tables of this paper."""
    return (
        "## ESCAPE D3.5, 2018: weather kernels on GPUs, CPUs and many nodes",
        f"{table_source(escape2018_tables()[0]).split('; ')[0]}.",
        *_table_10(),
        *escape2018_rooflines(),
        *_traffic(),
        *_tables_12_to_17(),
        *_tables_18_to_20(),
        *escape2018_nodes(),
        *escape2018_energy(),
        *_contradictions(),
    )


class RecomputedTime(Struct, frozen=True):
    """A row of Tables 12 to 17 beside Table 11 evaluated for it, with N as stated and doubled."""

    printed: VerificationRow
    stated: GpuTime[float]
    doubled: GpuTime[float]


def recomputed_times(number: int) -> Iterator[RecomputedTime]:
    """The kernels of Table `number`, 12 to 17, without the row of their sum."""
    kernels = {row.kernel: published_kernel(row) for row in escape2018_kernels()}
    gpus = {row.gpu: published_gpu(row) for row in escape2018_gpus()}
    for row in escape2018_verification(number):
        if row.kernel != _OF_ALL:
            kernel, gpu, cells = kernels[row.kernel], gpus[row.gpu], domain_cells(row.domain)
            doubled = gpu_time(kernel, gpu, PUBLISHED_CELLS_FACTOR * cells)
            yield RecomputedTime(row, gpu_time(kernel, gpu, cells), doubled)


def domain_cells(domain: str) -> float:
    """N of a domain printed as ``200x200x80``."""
    return float(math.prod(int(part) for part in domain.split("x")))


def dwarf_time_s(gpu_name: str, domain: str) -> float:
    """Table 11, N doubled, over all kernels of Table 9: what Tables 18 to 20 print as T sim."""
    gpu = next(published_gpu(row) for row in escape2018_gpus() if row.gpu == gpu_name)
    cells = PUBLISHED_CELLS_FACTOR * domain_cells(domain)
    return kernels_time_s(acraneb2(), gpu, cells)


def _table_10() -> tuple[str, ...]:
    rows: list[tuple[str, ...]] = []
    for gpu in escape2018_gpus():
        per_clock = gpu.sm_count * gpu.core_clock_hz
        derived = (
            (2 * gpu.double_per_clock_per_sm * per_clock, gpu.peak_double_flop_per_s),
            (2 * gpu.single_per_clock_per_sm * per_clock, gpu.peak_single_flop_per_s),
            (gpu.integer_per_clock_per_sm * per_clock, gpu.peak_integer_op_per_s),
            (2 * gpu.memory_clock_hz * gpu.memory_bus_bits / 8, gpu.memory_bandwidth_bytes_per_s),
        )
        cells = (f"{printed:.3g} ({percent(relative_error(found, printed))})" for found, printed in derived)
        rows.append((gpu.gpu, *cells))
    return (
        "### Table 10: peaks of the GPUs",
        "Printed, and by how much the printed clock, SMs and rates give more or less: `O = 2 · rate · SM · "
        "C_G` for floating point, once for integers, `G_max = 2 · C_M · bits / 8`.",
        table(("GPU", "double / FLOP/s", "single / FLOP/s", "integer / OP/s", "memory / B/s"), rows),
        "The multiplications hold. The rates of the 2070-q do not fit its chip: a Fermi SM has 32 lanes, not "
        "192, which makes 1.03 TFLOP/s of the 6.17, and its double rate is half the single one. The code "
        "uses what is printed.",
    )


def _traffic() -> tuple[str, ...]:
    rows: list[tuple[str, ...]] = []
    lines = [{row.name: row for row in escape2018_roofline(number)} for number in (1, 2, 3)]
    cells = domain_cells("200x200x80")
    for kernel in escape2018_kernels():
        requested = kernel.requested_bytes * cells
        ratios = (f"{found[kernel.kernel].traffic_bytes / requested:.3f}" for found in lines)
        rows.append((_short(kernel.kernel), *ratios))
    return (
        "### Tables 1 to 3: traffic Q over `G_ravgn · N` of Table 9",
        table(("kernel", "GeForce 970", "Tesla K20m", "Tesla 2070-q"), rows),
        "Two wherever the three GPUs agree, and N is the printed 3.2 million cells: whatever N the "
        "characteristics were divided by, it was not that one. The times below show the same factor. W of "
        "these tables counts a multiply-add twice and cannot be had from Table 9, which counts instructions.",
    )


def _tables_12_to_17() -> tuple[str, ...]:
    summary: list[tuple[str, ...]] = []
    for number, caption in _CAPTION_ERRORS.items():
        found = tuple(recomputed_times(number))
        whole = next(row for row in escape2018_verification(number) if row.kernel == _OF_ALL)
        errors = [relative_error(one.doubled.total_s, one.printed.measured_s) for one in found]
        printed_errors = [relative_error(one.printed.modelled_s, one.printed.measured_s) for one in found]
        total = math.fsum(one.doubled.total_s for one in found)
        summary.append(
            (
                f"{number}: {whole.gpu}, {whole.domain}",
                worst([relative_error(one.stated.total_s, one.printed.modelled_s) for one in found]),
                worst([relative_error(one.doubled.total_s, one.printed.modelled_s) for one in found]),
                f"{caption:.0%}",
                f"{rms(printed_errors):.1%}",
                f"{rms(errors):.1%}",
                percent(relative_error(whole.modelled_s, whole.measured_s)),
                percent(relative_error(total, whole.measured_s)),
            )
        )
    factors = _fermi_factors()
    return (
        "### Tables 12 to 17: Table 11 from Tables 9 and 10",
        'The column headed "Total" is the modelled time (it is compute, transfer and inactive together), '
        'the one headed "Simulated" the measured one: the printed difference is Total / Simulated − 1, and '
        "Tables 18 to 20 print the same numbers as T sim and T prof. With N as stated, Table 11 gives half "
        f"of every printed time; with N times {PUBLISHED_CELLS_FACTOR:g} it gives them.",
        "The transfer times of the two kernels above G_e = 40 % on the 2070-q would need G_e times "
        f"{min(factors):.3f} to {max(factors):.3f} there, not the two thirds of the text; nothing printed "
        "says why.",
        "Worst difference from the printed time over the seven kernels, and the root mean "
        'square of their errors against the measured time (the captions\' "square error"):',
        table(
            (
                "table",
                "N as stated",
                "N doubled",
                "caption",
                "printed times",
                "recomputed",
                "dwarf, printed",
                "dwarf, recomputed",
            ),
            summary,
        ),
    )


def _fermi_factors() -> tuple[float, ...]:
    """What G_e of 40 % or more must be multiplied by on the 2070-q for the printed transfer times."""
    kernels = {row.kernel: published_kernel(row) for row in escape2018_kernels()}
    fermi = next(gpu for gpu in map(published_gpu, escape2018_gpus()) if gpu.architecture == "fermi")
    return tuple(
        one.doubled.transfer_s / one.printed.transfer_s * fermi.transfer_efficiency(efficiency) / efficiency
        for number in (14, 17)
        for one in recomputed_times(number)
        if (efficiency := kernels[one.printed.kernel].memory_efficiency) >= 0.4
    )


def _tables_18_to_20() -> tuple[str, ...]:
    modelled = [escape2018_roofline(number) for number in (18, 19, 20)]
    measured = [{row.name: row for row in escape2018_roofline(number)} for number in (4, 5, 6)]
    rows: list[tuple[str, ...]] = []
    for sizes in zip(*modelled, strict=True):
        cells: list[str] = []
        for row, others in zip(sizes, measured, strict=True):
            found = dwarf_time_s(row.gpu, row.name)
            cells.append(f"{row.time_s:.3g} ({percent(relative_error(found, row.time_s))})")
            cells.append(percent(relative_error(found, others[row.name].time_s)))
        rows.append((sizes[0].name, *cells))
    differences = [
        abs(relative_error(dwarf_time_s(row.gpu, row.name), row.time_s)) for gpu in modelled for row in gpu
    ]
    gpus = [column for gpu in modelled for column in (f"{gpu[0].gpu} / s", "error")]
    return (
        "### Tables 18 to 20: the whole dwarf by size of the domain",
        "T sim as printed (in brackets: Table 11, N doubled, relative to it), and the error of Table 11 "
        "against the measured time. The model is proportional to N, the machine is not: small domains do not "
        "fill a GPU.",
        table(("domain", *gpus), rows),
        f"Largest difference from the printed T sim {max(differences):.2%}, mean {mean(differences):.2%}.",
    )


def _contradictions() -> tuple[str, ...]:
    part = escape2018_loop_memory()[0]
    work = next(row for row in escape2018_loop_work() if row.loop == "leinv->dgemm_315")
    return (
        "### Where the paper contradicts itself, and what the code does",
        table(
            ("place", "contradiction", "code"),
            [
                (
                    "Tables 1 to 3, 12 to 14",
                    'rooflines "based on real benchmarks", with the modelled times as T',
                    "read as modelled; measured are those of Tables 4 to 6",
                ),
                *(("Tables 4 to 6", cell, "as printed") for cell in contradictory_cells()),
                (
                    "Tables 9 to 17",
                    "Table 11 with the stated N gives half of every printed time, `G_ravgn · N` half of Q",
                    "Table 11 as printed; N doubled, by name, where the printed characteristics are used",
                ),
                (
                    "Tables 12 to 17",
                    '"Total" heads the modelled time, "Simulated" the measured one',
                    "read that way",
                ),
                ("Tables 12 to 17", '"square error"', "the root mean square of the seven differences"),
                ("Table 8", "`G_e` names both the efficiency and the requested bytes", "two fields"),
                ("Table 10", "192 lanes an SM on a Fermi", "as printed"),
                (
                    "Tables 23, 24",
                    f"the same loop moves {part.bytes_per_iteration:g} bytes an iteration and "
                    f"{part.memory_bytes:.3g} in all, or {work.bytes_per_iteration:g} and "
                    f"{work.traffic_bytes:.3g}",
                    "Table 24, which the model uses",
                ),
                (
                    "Section 5.2, Table 35",
                    "the equation with W and Q is not what the table uses",
                    "both, as functions of their own",
                ),
                (
                    "Tables 33, 34, 43",
                    "coefficients are not the regression that the text states",
                    "as printed",
                ),
                ("Section 5.4, Table 44", "means that cannot be", "recomputed"),
                ("Table 36", "W/s; caption and text name different programs", "W"),
                ("Table 37", "L1 of 2 cores printed as 24.,2", "unknown"),
                ("list of tables", "numbers from 32 on are one ahead of the body", "those of the body"),
            ],
        ),
    )


def _short(kernel: str) -> str:
    return kernel.removeprefix("acraneb_transt3_")
