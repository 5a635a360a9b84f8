"""The finished analysis: everything a report may print, already computed; later stages fill these records."""

from __future__ import annotations

import math
from enum import Enum

from msgspec import Struct

from wattslice.config.rule_choices import RuleChoices
from wattslice.counting.profile import LoopTrips, ProbabilitySource
from wattslice.frontend.project.runs import ProgramArguments
from wattslice.ir import Diagnostic, MemorySpace, Severity
from wattslice.ir.operation_counts import OperationCounts
from wattslice.launches.launch import Assumption, LaunchSource
from wattslice.workload.instructions.kinds import InstructionCount
from wattslice_models.energy_roofline import EnergyRoofline, TimeRoofline
from wattslice_models.program_power import SubSlice
from wattslice_models.types import Wanted


class Precision(Enum):
    """The kinds of arithmetic with a roof of their own."""

    FP32 = "fp32"
    FP64 = "fp64"
    FP16 = "fp16"
    TENSOR = "tensor cores"


class RooflinePoint(Struct, frozen=True):
    """A place in the pictures: flops per byte of DRAM, flops per second, watts (None: unknown)."""

    intensity: float
    flops_per_s: float
    power_w: float | None


class Roofline(Struct, frozen=True):
    """One launch and the roofs above it.

    `flops`: of all precisions, per launch, special functions left out; `precision`: that which takes longest
    at its peak. `dram_bytes` per launch. `machine`: an `EnergyRoofline` where the energies are known, else
    `no_power_line` says why they are not; `source`: where they come from. `point` None: `no_point` says why.
    """

    precision: Precision
    flops: float
    dram_bytes: float
    machine: EnergyRoofline | TimeRoofline  # both, for what reads kept results by these types
    power_limit_w: float | None
    point: RooflinePoint | None
    no_point: str = ""
    no_power_line: str = ""
    source: str = ""

    @property
    def energies(self) -> EnergyRoofline | None:
        """The machine with its energies; None: `no_power_line` says why they are unknown."""
        return self.machine if isinstance(self.machine, EnergyRoofline) else None

    def at(self, intensity: float) -> RooflinePoint:
        """The roofs over `intensity` > 0.

        As in the paper the limit caps the watts alone: predicted times know nothing of throttling either.
        """
        energies = self.energies
        power_w = None if energies is None else energies.power_w(intensity)
        return RooflinePoint(intensity, self.machine.without_limit().flops_per_s(intensity), power_w)

    def curve(self, low: float, high: float, samples: int = 96) -> tuple[RooflinePoint, ...]:
        """The roofs from `low` to `high` flops per byte at equal ratios, the corner at B_τ among them."""
        step = math.log(high / low) / samples
        places = {low * math.exp(step * number) for number in range(samples + 1)}
        if low < self.machine.time_balance < high:
            places.add(self.machine.time_balance)
        return tuple(self.at(place) for place in sorted(places))


class Suppression(Struct, frozen=True):
    """`rules` are not told of line `line` of `file`, for the stated `reason`; lines count from 1.

    `comment_line`: where it is written. `file` is spelt as findings spell it.
    """

    file: str
    line: int
    comment_line: int
    rules: tuple[str, ...]
    reason: str


class SourceText(Struct, frozen=True):
    """A source file as it was analysed: its lines (index 0 is line 1) without their ends."""

    file: str
    lines: tuple[str, ...]


class BranchClass(Enum):
    """Branch-sparse or branch-dense (Wang & Chen 2013, section 4)."""

    SPARSE = "sparse"
    DENSE = "dense"


class SliceAnalysis(Struct, frozen=True):
    """One slice of a kernel with its features and its watts.

    `length` |C_i| (Def. 5), `arithmetic_density` Ã = N_a / N_mem (2), None when N_mem is 0;
    `compute_ops` N_a, `memory_ops_weighted` N_mem (1), both per thread. `power_w`: watts of the board while
    the slice runs, for `time_share` of the kernel's time; `average_power_w`: what it adds to the kernel's
    watts, `share_of_power` of them. None: unknown; `power_w` also of a slice that never runs.
    `sub_slices`: its statements by the path they stand on, with how probably control takes it (Def. 7).
    """

    memory_space: MemorySpace
    variables: tuple[str, ...]
    lines: tuple[int, ...]
    length: float
    arithmetic_density: float | None
    compute_ops: float
    memory_ops_weighted: float
    probability: float
    power_w: float | None
    share_of_power: float | None
    sub_slices: tuple[SubSlice, ...] = ()
    time_share: float | None = None
    average_power_w: float | None = None

    @property
    def never_runs(self) -> bool:
        """Whether nothing of it is executed, so that the board draws no watts while it runs."""
        return self.power_w is None and self.time_share == 0.0


class LineHeat(Struct, frozen=True):
    """What one source line draws: watts, and its share of the kernel's power above idle.

    `file` may be a header when a device function of another file was inlined.
    """

    file: str
    line: int
    power_w: float
    share: float
    text: str


class ArmAnalysis(Struct, frozen=True):
    """One arm of a branch and what it does to the watts.

    `probability` that a visit of the branch takes it, from `probability_low` to `probability_high`.
    `power_w`: what the operations in it draw (arms nested in it included), and `share_of_power` of what all
    operations of the kernel draw, as for lines; None when the power is unknown.
    `kernel_low_w`, `kernel_high_w`: the kernel's watts over the interval of the probability; None for an arm
    that is known, or too small to matter. `file`: empty for the kernel's own. `column` (from 1) goes with
    `line`; `visits` of the branch per thread. `leaves`: it ends in a break, return or continue.
    """

    line: int
    arm: str  # "then", "else", "case 3", "default"
    probability: float
    probability_low: float
    probability_high: float
    source: ProbabilitySource
    power_w: float | None = None
    share_of_power: float | None = None
    kernel_low_w: float | None = None
    kernel_high_w: float | None = None
    file: str = ""
    column: int = 0
    visits: float = 0.0
    leaves: bool = False


class MethodWatts(Struct, frozen=True):
    """The kernel's power by each method (`methods.py`), whichever was chosen; None: unknown."""

    bspm_w: float | None = None
    bdpm_w: float | None = None
    expected_w: float | None = None


class ProfileUse(Struct, frozen=True):
    """The profile that was used: the name of its `file`, how many `branches` of the kernel it knows."""

    file: str
    branches: int
    data_sets: int


class Advice(Struct, frozen=True):
    """A place in the source that costs power, and what is at stake there per launch of the kernel.

    `power_w` and `energy_j`: how much lower the kernel's mean power and its energy would be without
    it, by the same model; either may be negative (faster code draws more watts), None when it cannot
    be told. Of a hot line (PW040): what it draws. `file`: empty for the kernel's own. `severity`:
    WARNING for what is certain and costly, else NOTE. `also_lines`: further lines of the file that it holds
    for and that share in what is at stake; `message` is about `line`, and `told` names them all.
    """

    rule: str
    line: int
    message: str
    fix: str
    power_w: float | None = None
    energy_j: float | None = None
    file: str = ""
    severity: Severity = Severity.WARNING
    also_lines: tuple[int, ...] = ()

    @property
    def told(self) -> str:
        """The message with the further lines."""
        return self.message + also_in(self.also_lines)


def also_in(lines: tuple[int, ...]) -> str:
    """`; also in lines 14, 17`"""
    return f"; also in {lines_told(lines)}" if lines else ""


def lines_told(lines: tuple[int, ...]) -> str:
    """`line 14`, `lines 14, 17`, the first six"""
    shown = ", ".join(map(str, lines[:6])) + (", …" if len(lines) > 6 else "")
    return f"line{'s' * (len(lines) > 1)} {shown}"


class KernelSource(Struct, frozen=True):
    """A kernel in the source. `ptx_file`: that it was read from; empty for kernels of sources. `fast_math`:
    where it is said that it is compiled with `--use_fast_math` (`Makefile:23`); empty: it is not.
    """

    qualified_name: str
    mangled_name: str
    file: str
    line: int
    end_line: int
    ptx_file: str = ""
    fast_math: str = ""

    @property
    def place(self) -> tuple[str, int]:
        """File and line."""
        return self.file, self.line

    @property
    def lines(self) -> range:
        """Those of its text."""
        return range(self.line, self.end_line + 1)


class Launch(Struct, frozen=True):
    """How a kernel is launched. `line` and `file` of the launch in the host code: None without one, empty for
    the kernel's own file. `program_arguments`: of a launch that is another one without them. `times`: how
    often a run of the program makes it; None when unknown, for the reason `times_unknown`. `data`: what
    arrays hold: of all, then of those that are otherwise.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    source: LaunchSource
    line: int | None
    file: str = ""
    program_arguments: ProgramArguments | None = None
    times: int | None = None
    times_unknown: str = ""
    data: str = "live"


class Resources(Struct, frozen=True):
    """What a launch takes of the SMs, and how much of them it fills: shares of 1."""

    shared_bytes_per_block: int
    registers_per_thread: int
    sm_saturation: float
    occupancy: float


class Work(Struct, frozen=True):
    """What a launch executes, per thread; `amounts` as in `VariantWork`, of all threads."""

    counts_per_thread: OperationCounts
    instructions_per_thread: tuple[InstructionCount, ...] = ()
    bytes_per_thread: float | None = None
    amounts: tuple[float, ...] = ()


class Power(Struct, frozen=True):
    """Watts of the board, and the ends of their 90 % interval.

    `static_w`: what the board draws whatever the operations are (idle, memory, clocks); with the hot lines it
    is `power_w`. None: nothing tells it apart, and the lines have it all. `wanted`: the watts before the
    board's limit bounds them, None where nothing did.
    """

    power_w: float
    low_w: float
    high_w: float
    static_w: float | None = None
    may_hit_limit: bool | None = None
    wanted: Wanted | None = None

    @property
    def unlimited(self) -> Wanted:
        """The watts before the board's limit bounds them."""
        return self.wanted or Wanted(self.power_w, self.low_w, self.high_w)


class Basis(Struct, frozen=True):
    """What the figures of a launch go by. `variants`: measured ones of the kernel that correct them."""

    model: str = "none"
    method: str = "none"
    branch_class: BranchClass | None = None
    methods: MethodWatts = MethodWatts()
    profile: ProfileUse | None = None
    variants: int | None = None


class KernelAnalysis(Struct, frozen=True):
    """One launch of one kernel. What is unknown is None (or empty), and a diagnostic says why."""

    name: str
    source: KernelSource
    launch: Launch
    power_limit_w: float | None
    resources: Resources | None = None
    work: Work | None = None
    power: Power | None = None
    time_s: float | None = None
    energy_j: float | None = None
    limited_by: str | None = None
    basis: Basis = Basis()
    slices: tuple[SliceAnalysis, ...] = ()
    hot_lines: tuple[LineHeat, ...] = ()
    loops: tuple[LoopTrips, ...] = ()
    arms: tuple[ArmAnalysis, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    advice: tuple[Advice, ...] = ()
    roofline: Roofline | None = None

    @property
    def power_w(self) -> float | None:
        """The watts themselves."""
        return None if self.power is None else self.power.power_w

    def exceedance(self, budget_w: float) -> float | None:
        """Probability that the measured watts exceed `budget_w` (`Wanted.exceedance`); None when unknown."""
        return None if self.power is None else self.power.unlimited.exceedance(budget_w)

    @property
    def limit_exceedance(self) -> float | None:
        """Probability that the launch would exceed the board's power limit if that did not hold it back."""
        if self.power is None or self.power_limit_w is None:
            return None
        return self.power.unlimited.beyond(self.power_limit_w)


class Analysis(Struct, frozen=True):
    """The result of one run over one or several files, in the order the files were given.

    `sources`: the files themselves and others that kernels heat, where they were asked to be kept. `unread`:
    those of `files` that gave no kernel although something could not be read (a diagnostic is an error).
    `unmatched_settings`: what to tell of entries of `set` for variables that their kernels do not have.
    `rules`: which findings are told.
    """

    gpu_id: str
    gpu_name: str
    gpu_source: str  # "--gpu", "settings", "this machine", "default"
    files: tuple[str, ...]
    kernels: tuple[KernelAnalysis, ...]
    diagnostics: tuple[Diagnostic, ...]
    suppressions: tuple[Suppression, ...] = ()
    sources: tuple[SourceText, ...] = ()
    unread: tuple[str, ...] = ()
    unmatched_settings: tuple[str, ...] = ()
    rules: RuleChoices = RuleChoices()
