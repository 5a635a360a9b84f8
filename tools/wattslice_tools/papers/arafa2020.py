"""Arafa et al. 2020: energy per PTX instruction; its unit settled, its claims counted."""

from __future__ import annotations

from msgspec import Struct

from wattslice.ptx_energy.tables import (
    ADD_KERNEL_S,
    DIV_KERNEL_S,
    OPTIMIZED_INSTRUCTIONS,
    UNOPTIMIZED_INSTRUCTIONS,
    watt_step_j,
)
from wattslice_corpora.records import measurements_path, read_measurements, read_workloads, workloads_path
from wattslice_models.gpu import load_gpu
from wattslice_tools.papers.arafa2020_claims import claims, copies
from wattslice_tools.papers.arafa2020_table import GPUS, Row, cells, table_rows, value
from wattslice_tools.papers.markdown import table

UNITS = (("J", 1.0), ("mJ", 1e-3), ("µJ", 1e-6), ("nJ", 1e-9))
IDLE_W = (30.0, 41.0)
"""Idle watts of a TITAN V over its clocks: the catalogue's note, from gpuPTXModel's gpu_info."""
ADDITION: Row = ("Integer Arithmetic Instructions", "add / sub / min / max")
DIVISION: Row = ("Integer Arithmetic Instructions", "{u} div")


def arafa2020() -> tuple[str, ...]:
    """The paragraphs and tables of this paper."""
    return (
        "## Arafa et al. 2020: energy per PTX instruction",
        "Arafa Y, ElWazir A, ElKanishy A, et al. Verified Instruction-Level Energy Consumption Measurement "
        "for NVIDIA GPUs. ACM Computing Frontiers, 2020.",
        *_unit(),
        *_latencies(),
        *claims(),
        *copies(),
        *_resolution(),
        *_launch(),
        *_open_ends(),
    )


class Reading(Struct, frozen=True):
    """What the two kernels whose times are told may have been: how compiled, of how many instructions."""

    optimized: bool
    instructions: float

    def power_w(self, row: Row, unit_j: float) -> float:
        """Watts of a whole run above its overhead if the unit were `unit_j`; by MTSM on the TITAN V."""
        energy_j = value(row, "Volta", self.optimized, "MTSM") * unit_j * self.instructions
        return energy_j / TIMES_S[row]

    def possible(self, unit_j: float) -> bool:
        """Whether a TITAN V can have drawn what both kernels need.

        The energies are differences to a kernel without the instructions, E = P (T - t), with P between the
        watts of the idle board and its limit. That kernel is part of the addition's too, so t is at most
        0.28 s: next to nothing of the division's 13 s.
        """
        limit_w = load_gpu("titan_v").power_limit_w or 0.0
        least_w = IDLE_W[0] * (1 - ADD_KERNEL_S / DIV_KERNEL_S)
        return self.power_w(ADDITION, unit_j) <= limit_w and (
            least_w <= self.power_w(DIVISION, unit_j) <= limit_w
        )


READINGS = (
    Reading(True, OPTIMIZED_INSTRUCTIONS),
    Reading(False, OPTIMIZED_INSTRUCTIONS),
    Reading(False, UNOPTIMIZED_INSTRUCTIONS),
)
TIMES_S: dict[Row, float] = {ADDITION: ADD_KERNEL_S, DIVISION: DIV_KERNEL_S}


def shared_power() -> tuple[float, float]:
    """Watts P and overhead seconds t for which both kernels without optimisation fit: E = P (T - t)."""
    add_j, div_j = (
        value(row, "Volta", False, "MTSM") * 1e-6 * UNOPTIMIZED_INSTRUCTIONS for row in (ADDITION, DIVISION)
    )
    overhead_s = (div_j * ADD_KERNEL_S - add_j * DIV_KERNEL_S) / (div_j - add_j)
    return div_j / (DIV_KERNEL_S - overhead_s), overhead_s


def _unit() -> tuple[str, ...]:
    rows = [
        (
            row[1],
            f"{TIMES_S[row]:g} s",
            "-O3" if reading.optimized else "-O0",
            f"{reading.instructions / 1e6:g} million",
            f"{value(row, 'Volta', reading.optimized, 'MTSM'):g}",
            *(_watts(reading.power_w(row, unit_j), reading.possible(unit_j)) for _, unit_j in UNITS),
        )
        for reading in READINGS
        for row in (ADDITION, DIVISION)
    ]
    power_w, overhead_s = shared_power()
    limit_w = load_gpu("titan_v").power_limit_w
    ratio_o0, ratio_o3 = (
        value(DIVISION, "Volta", one, "MTSM") / value(ADDITION, "Volta", one, "MTSM") for one in (False, True)
    )
    head = ("kernel", "time", "compiled", "instructions", "printed", *(f"if {name}" for name, _ in UNITS))
    return (
        "### The unit of Table I",
        "The table prints joules. The text tells how long two kernels ran on the TITAN V (section IV-A) "
        "and that they execute one million iterations of five instructions; the authors' published "
        "programs have five with optimisation and twenty without, and divide by 5 and by 20 million "
        "(NMSU-PEARL/GPUs-Energy at 14bc4b4). An energy per instruction in a unit u therefore means that "
        "the board drew `number × u × instructions ÷ time`:",
        table(head, rows),
        f"The board draws {IDLE_W[0]:g} to {IDLE_W[1]:g} W when idle and {limit_w:g} W at most. The "
        "energies are differences to a kernel without the instructions, `E = P (T - t)`, and t is less "
        f"than the addition's {ADD_KERNEL_S:g} s, so the division must come out between {IDLE_W[0]:g} and "
        f"{limit_w:g} W, or {ADD_KERNEL_S / DIV_KERNEL_S:.0%} below, and the addition at no more. Bold: "
        "both do. **The unit is the microjoule**, and the kernels of the text are those without "
        "optimisation, of 20 million instructions. Joules are megawatts, nanojoules milliwatts.",
        "Addition and division confirm each other: with 20 million instructions of -O0 both fit one power "
        f"and one overhead, P = {power_w:.1f} W and t = {1e3 * overhead_s:.0f} ms: an idle board, and "
        f"{1e3 * overhead_s:.0f} ns an iteration. The ratio of the energies is {ratio_o0:.1f} with -O0 and "
        f"{ratio_o3:.0f} with -O3, that of the times {DIV_KERNEL_S / ADD_KERNEL_S:.1f}, of which t must be "
        "taken off first.",
    )


def _watts(power_w: float, possible: bool) -> str:
    for factor, unit in ((1e6, "MW"), (1e3, "kW"), (1.0, "W"), (1e-3, "mW")):
        if power_w >= factor:
            text = f"{power_w / factor:.3g} {unit}"
            return f"**{text}**" if possible else text
    return f"{1e6 * power_w:.3g} µW"


def latency_clocks(row: Row, optimized: bool) -> float:
    """Clocks of the TITAN V at 1200 MHz that an energy stands for, at the watts of `shared_power`."""
    power_w, _ = shared_power()
    return value(row, "Volta", optimized, "MTSM") * 1e-6 / power_w * 1200e6


def _latencies() -> tuple[str, ...]:
    power_w, _ = shared_power()
    chosen = [
        ADDITION,
        ("Integer Arithmetic Instructions", "mul / mad"),
        DIVISION,
        ("Floating Single Precision Instructions", "mul / mad / fma"),
        ("Floating Single Precision Instructions", "div"),
        ("Double Precision Instructions", "add / sub / min / max"),
        ("Double Precision Instructions", "div"),
        ("Special Mathematical Instructions", "rcp"),
        ("Special Mathematical Instructions", "sin / cos"),
        ("Integer Intrinsic Instructions", "popc()"),
    ]
    rows = [
        (
            f"{row[0].removesuffix(' Instructions')}: {row[1]}",
            *(f"{latency_clocks(row, one):.1f}" for one in (True, False)),
        )
        for row in chosen
    ]
    below = [row for row in table_rows() if latency_clocks(row, True) < 1.0]
    names = ", ".join(f"{category.removesuffix(' Instructions')}: {name}" for category, name in below)
    return (
        "### What the energies are: latencies",
        f"The kernels run one thread, so the board is all but idle and draws about the same {power_w:.1f} W "
        "whatever the instruction. Energy over these watts is time; at the 1200 MHz of the text it is:",
        table(("TITAN V, MTSM", "clocks, -O3", "clocks, -O0"), rows),
        "Divisions, double precision and special functions look like latencies of dependent instructions. "
        f"{len(below)} of the {len(table_rows())} optimised rows are less than one clock ({names}), which no "
        "chain of dependent instructions takes: they ran in the shadow of the load and the store of the same "
        "iteration, or the compiler removed them. These numbers are no cost of an instruction.",
    )


def _resolution() -> tuple[str, ...]:
    below = [c for c in cells() if c.value * 1e-6 < watt_step_j(optimized=c.optimized)]
    steps = [f"{1e9 * watt_step_j(optimized=one):.0f} nJ" for one in (True, False)]
    of_gpu = ", ".join(f"{name} {sum(c.gpu == name for c in below)}" for name in GPUS.values())
    return (
        "### What the sensor could see",
        "The authors' programs divide the sensor's milliwatts by 1000 as integers, so watts are whole and "
        f"rounded down. One watt over the {ADD_KERNEL_S:g} s of the addition is {steps[0]} per instruction "
        f"with -O3 and {steps[1]} with -O0. {len(below)} of the {len(cells())} numbers are below that step "
        f"({of_gpu}): one reading more or less makes as much. `wattslice instructions` marks these, too.",
    )


class FullLaunch(Struct, frozen=True):
    """A measured launch, its single-precision multiply-adds, and whose energies they might be priced with."""

    gpu_id: str
    energies_of: str
    core_mhz: float
    time_s: float
    power_w: float
    multiply_adds: float

    def absurd_w(self, optimized: bool) -> float:
        """Watts if every multiply-add took the energy printed for one thread alone; nothing else counted."""
        row = ("Floating Single Precision Instructions", "mul / mad / fma")
        energy_j = value(row, self.energies_of, optimized, "MTSM") * 1e-6
        return self.multiply_adds * energy_j / self.time_s

    @property
    def measured_j(self) -> float:
        """Joules of the whole launch, everything that it does, for each multiply-add."""
        return self.power_w * self.time_s / self.multiply_adds


def full_launches() -> tuple[FullLaunch, ...]:
    """The matrix product of 2048 x 2048 on a GPU of the table and one like another, at the highest clock."""
    return (_product("gtx_1080_ti", "matrixMulShared", "Pascal"), _product("v100_pcie", "matrixMul", "Volta"))


def _product(gpu_id: str, benchmark: str, energies_of: str) -> FullLaunch:
    runs = [
        (row.core_mhz, row.memory_mhz or 0.0, row.time_s, row.power_w, row.arguments)
        for row in read_measurements(measurements_path(gpu_id))
        if row.benchmark == benchmark and row.power_valid and row.core_mhz and row.time_s and row.power_w
    ]
    core_mhz, _, time_s, power_w, arguments = max(runs)
    work = next(
        row
        for row in read_workloads(workloads_path(gpu_id))
        if (row.benchmark, row.arguments) == (benchmark, arguments)
    )
    multiply_adds = work.fp32 * work.blocks * work.threads_per_block
    return FullLaunch(gpu_id, energies_of, core_mhz, time_s, power_w, multiply_adds)


def _launch() -> tuple[str, ...]:
    rows = [
        (
            load_gpu(one.gpu_id).name,
            one.energies_of,
            f"{one.core_mhz:.0f}",
            f"{one.multiply_adds:.3g}",
            f"{1e3 * one.time_s:.2f} ms",
            f"{one.power_w:.0f} W",
            f"{1e12 * one.measured_j:.0f} pJ",
            *(f"{one.absurd_w(optimized) / 1e3:,.1f} kW" for optimized in (True, False)),
        )
        for one in full_launches()
    ]
    return (
        "### Why threads times energy is not the energy of a launch",
        "The matrix product of 2048 × 2048, measured (public data of Hong Kong Baptist University), and what "
        "its multiply-adds alone would draw if each took the energy that the table has for `fma`:",
        table(
            (
                "measured on",
                "energies of",
                "MHz",
                "multiply-adds",
                "time",
                "measured",
                "for each",
                "threads × energy, -O3",
                "-O0",
            ),
            rows,
        ),
        '"For each": the joules of the whole launch, its loads included, over the multiply-adds. Thousands '
        "of threads share the idle power that each of the table's numbers contains in full, and wait at the "
        "same time. No factor mends that: divided by its watts a number of the table is a latency, and a "
        "latency says neither how many instructions a clock completes nor what they take above idle.",
    )


def _open_ends() -> tuple[str, ...]:
    return (
        "### Where the paper contradicts itself, and what the code does",
        table(
            ("place", "contradiction", "code"),
            [
                ("Table I", "joules", "microjoules"),
                ("III-A, VI", "without optimisation is `-O1` once, `-O0` elsewhere", "`-O0`"),
                (
                    "III, Fig. 3",
                    "five instructions an iteration; the published kernels without optimisation have twenty",
                    "does not matter once divided",
                ),
                (
                    "VI",
                    "the GTX TITAN X has 3584 cores at 151 MHz; the board has 3072 at 1000 MHz",
                    "the catalogue's",
                ),
                (
                    "rows `sub`, `min`, `or`, `mad`, `cos`, ...",
                    "one row for several mnemonics; the published kernels run the first or one of them",
                    "holds for all that the row names, in the forms that were run",
                ),
            ],
        ),
    )
