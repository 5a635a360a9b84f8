"""The energy model: watts of a kernel from energies per operation and byte.

    P = S + R · (W / R)^γ, at most the board's power limit
    S = P_idle + P_memory · (memory clock / full) + P_active · s · v² f/f0
    W = Σ_c ε_c · v_c² · work_c / time

with ε_c ≥ 0, R the board's power limit, s the share of the chip whose clocks run (`clocked_share` as soon as
any SM works, the rest with the SMs that the warps wake), and v the core voltage relative to that at the boost
clock f0; v_c = v inside the chip's core domain, 1 for DRAM, which does not follow the core clock. ε_c depends
on whether the bits of the values toggle (`live_share`): one for live data, one for idle data. γ < 1: work
counts for less near the limit. It is the energy roofline of Choi et al. 2013 (E = W ε_flop + Q ε_mem + π0 T)
with more than two components, and dynamic power ∝ V² f as in every DVFS model. `joint` has the numbers.
"""

from __future__ import annotations

import math
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from wattslice_models.contract import Interval, may_reach
from wattslice_models.execution_time import (
    Clocks,
    Resource,
    TimeParameters,
    TimePrediction,
    Utilisation,
    core_clock_mhz,
    core_clock_range_mhz,
    memory_clock_scale,
    moved_bytes,
    predict_time,
)
from wattslice_models.gpu import Gpu
from wattslice_models.types import Held, Wanted
from wattslice_models.workload import PASS_BYTES, Workload


class Component(StrEnum):
    """What draws power; the values are the names in stored models and in reports."""

    IDLE = "idle"
    MEMORY_CLOCK = "memory clock"
    ACTIVE = "active SMs"
    FP32 = "fp32"
    FP64 = "fp64"
    FP16 = "fp16"
    INTEGER = "integer"
    INTEGER_MULTIPLY = "integer multiply"
    SPECIAL = "special"
    TENSOR = "tensor"
    ISSUE = "issue"
    SHARED = "shared memory"
    L1 = "L1"
    L2 = "L2"
    DRAM = "DRAM"


STATIC_COMPONENTS = (Component.IDLE, Component.MEMORY_CLOCK, Component.ACTIVE)
"""Components that do not depend on what the instructions are."""
DYNAMIC_COMPONENTS = tuple(component for component in Component if component not in STATIC_COMPONENTS)
"""Components with an energy per unit of work."""
CLOCK_HALVINGS = 12
"""Steps to the clock that the power limit allows: to less than 1 MHz."""
MULTIPLIERS = (Component.FP32, Component.FP64, Component.FP16, Component.INTEGER_MULTIPLY, Component.TENSOR)
"""Components whose energy follows the operands; the same units multiply fp32 and integers since Volta."""
VOLTAGE_BEND = 0.04
"""Width, in relative voltage, of the bend between the floor of the voltage and its rise."""


class Case(StrEnum):
    """What a model knows of the board it answers for; the values are for reports.

    Each has its own interval: what was measured of a board decides how far to trust its watts.
    """

    MEASURED = "measured board"
    CARRIED_OVER = "carried over"
    CALIBRATED = "calibrated"


class ComponentPower(Struct, frozen=True):
    """Average watts one component draws while the kernel runs."""

    component: Component
    power_w: float


class EnergyPrediction(Struct, frozen=True):
    """Watts, seconds and joules of one launch.

    `power_w` is the average board power, at most the board's limit; the interval is that of `wanted.shown`
    and may exceed the limit as far as sensors show boards to do. `limit_note`: what the limit did.
    `interval_source` says what the interval may claim. `energy_j` = power_w · time_s. `may_hit_power_limit`:
    see `may_reach`; None when the limit is unknown. `case`: what is known of the board.
    """

    power_w: float
    power_low_w: float
    power_high_w: float
    wanted: Wanted
    time_s: float
    energy_j: float
    limited_by: Resource
    utilisations: tuple[Utilisation, ...]
    components: tuple[ComponentPower, ...]
    may_hit_power_limit: bool | None
    interval_source: str
    case: Case
    in_trained_domain: bool
    notes: tuple[str, ...]
    limit_note: str = ""

    @property
    def told(self) -> tuple[str, ...]:
        """All notes."""
        return (*self.notes, self.limit_note) if self.limit_note else self.notes

    @property
    def static_power_w(self) -> float:
        """What the board draws whatever the operations are, before the limit."""
        return math.fsum(part.power_w for part in self.components if part.component in STATIC_COMPONENTS)


class NoEnergyModel(Struct, frozen=True):
    """No energy model for a GPU, and why."""

    gpu_id: str
    reason: str


class ComponentWork(Struct, frozen=True):
    """Work of one launch in one component: thread instructions, warp issue slots (`ISSUE`) or bytes."""

    component: Component
    number: float


def component_work(workload: Workload, gpu: Gpu) -> tuple[ComponentWork, ...]:
    """What one launch does in each component that has an energy per unit of work, in a fixed order."""
    threads, warps = workload.threads, workload.warps
    done, moved = workload.instructions, moved_bytes(workload, gpu)
    per_warp = workload.issue_slots_per_warp
    work = {
        Component.FP32: threads * done.fp32,
        Component.FP64: threads * done.fp64,
        Component.FP16: threads * done.fp16,
        Component.INTEGER: threads * max(0.0, done.integer - done.integer_multiply),
        Component.INTEGER_MULTIPLY: threads * done.integer_multiply,
        Component.SPECIAL: threads * done.special,
        Component.TENSOR: threads * done.tensor,
        Component.ISSUE: warps * per_warp,
        # Of constant memory, which has no energy of its own, each address is like a pass.
        Component.SHARED: PASS_BYTES * (moved.shared_passes + warps * workload.constant_requests),
        Component.L1: moved.l1_bytes,
        Component.L2: moved.l2_bytes,
        Component.DRAM: moved.dram_bytes,
    }
    return tuple(ComponentWork(component, number) for component, number in work.items())


def live_share(component: Component, workload: Workload) -> float:
    """The share of a component's work that toggles bits, in [0, 1]; 1 where that was never told apart."""
    if component in MULTIPLIERS:
        return workload.live_operands
    return workload.live_data if component is Component.DRAM else 1.0


def awake_share(timing: TimePrediction, workload: Workload, gpu: Gpu) -> float:
    """How much of the SMs a launch wakes, in (0, 1]: SMs with a block, each by the warps that it holds.

    As many warps as a dependent instruction waits clocks, for each scheduler, keep all of them issuing:
    further ones wake nothing. Schedulers, register files and shared memory without warps are not clocked.
    """
    chip = gpu.architecture
    issuing = chip.warp_instructions_per_clock_per_sm * chip.dependent_issue_cycles
    # An SM with a block holds all of its warps.
    enough = max(workload.warps_per_block, min(issuing, gpu.max_warps_per_sm))
    return min(1.0, timing.held_warps_per_sm / enough)


class VoltageCurve(Struct, frozen=True):
    """Core voltage relative to that at `reference_mhz`: a `floor`, from which it bends into a straight rise.

    `slope`: relative rise of the voltage over that of the clock. Below the floor the clock falls alone.
    """

    floor: float
    slope: float
    reference_mhz: float

    def __post_init__(self) -> None:
        if not (0 < self.floor < 1 and 0 <= self.slope < math.inf and 0 < self.reference_mhz < math.inf):
            raise ValueError(f"not a rising voltage curve: {self}")

    def relative_voltage(self, core_mhz: float) -> float:
        """V(f) / V(f_ref), dimensionless."""
        above = 1.0 + self.slope * (core_mhz / self.reference_mhz - 1.0) - self.floor
        bent = max(above, 0.0) + VOLTAGE_BEND * math.log1p(math.exp(-abs(above) / VOLTAGE_BEND))
        return self.floor + bent


class ComponentEnergy(Struct, frozen=True):
    """Joules per unit of work (see `ComponentWork`) at the reference voltage.

    `energy_j`: on live data; `idle_energy_j`: on data of which hardly a bit toggles (`live_share`).
    `fitted` False: no training kernel does such work, the energy is an order of magnitude.
    """

    component: Component
    energy_j: float
    idle_energy_j: float
    fitted: bool

    def scaled(self, factor: float) -> ComponentEnergy:
        """The same component where everything takes `factor` times the energy."""
        return replace(self, energy_j=factor * self.energy_j, idle_energy_j=factor * self.idle_energy_j)

    def mean_j(self, live: float) -> float:
        """Joules per unit of work of which the share `live` is on live data."""
        return live * self.energy_j + (1.0 - live) * self.idle_energy_j


class EnergyModel(Struct, frozen=True):
    """Watts of any `Workload` on the GPU `gpu_id`.

    `idle_w`, `memory_clock_w`, `active_w`, `clocked_share`: P_idle, P_memory, P_active and the least s of the
    module's equation, for the whole board. `reference_w`, `concavity`: R and γ. `interval`: of measured /
    predicted watts; `doubted`: that of workloads with a `doubt`. `sensor_peak`: how far above the limit
    sensors show this board, as a ratio, at least 1.
    """

    gpu_id: str
    case: Case
    idle_w: float
    memory_clock_w: float
    active_w: float
    clocked_share: float
    reference_w: float
    concavity: float
    energies: tuple[ComponentEnergy, ...]
    voltage: VoltageCurve
    time: TimeParameters
    core_mhz_min: float
    core_mhz_max: float
    interval: Interval
    doubted: Interval
    sensor_peak: float
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        energies = [joules for entry in self.energies for joules in (entry.energy_j, entry.idle_energy_j)]
        if not all(
            0 <= value < math.inf
            for value in (self.idle_w, self.memory_clock_w, self.active_w, self.clocked_share, *energies)
        ):
            raise ValueError("powers and energies must be finite and not negative")
        if not (0 < self.concavity <= 1 and 0 < self.reference_w < math.inf and self.sensor_peak >= 1):
            raise ValueError("no energy model has such a concavity, reference or sensor peak")

    def predict(
        self, workload: Workload, gpu: Gpu, clocks: Clocks | None = None, time_s: float | None = None
    ) -> EnergyPrediction:
        """Watts, seconds and joules of one launch, all at one clock: the one asked for (else the boost
        clock), or where its watts exceed the board's limit the highest that the limit allows.

        `time_s` replaces the predicted time (a measured one); watts are then clipped at the limit.

        Raises ``ValueError`` for another GPU than the model's and for a time that is not positive.
        """
        if gpu.id != self.gpu_id:
            raise ValueError(f"a model of {self.gpu_id} cannot speak for {gpu.id}")
        if time_s is not None and not 0 < time_s < math.inf:
            raise ValueError(f"a kernel cannot take {time_s} s")
        asked = clocks or Clocks()
        limit = gpu.power_limit_w
        clocks, limit_note, wanted_w = asked, "", 0.0
        timing, seconds, components, power_w = self._drawn(workload, gpu, asked, time_s)
        if limit is not None and time_s is None and power_w > limit:
            clocks, wanted_w = self._clocks_that_fit(workload, gpu, asked, limit), power_w
            limit_note = (
                f"{wanted_w:.0f} W at {core_clock_mhz(gpu, asked):.0f} MHz would "
                f"exceed the limit of {limit:g} W: watts and seconds are those at {clocks.core_mhz:.0f} MHz, "
                "the highest clock that it allows"
            )
            timing, seconds, components, power_w = self._drawn(workload, gpu, clocks)
        notes, in_domain = self._doubts(components, power_w, core_clock_mhz(gpu, clocks))
        interval = self.doubted if workload.doubt else self.interval
        held = None if limit is None else Held(limit, limit * self.sensor_peak)
        wanted = Wanted(1.0, interval.low, interval.high, held).times(max(power_w, wanted_w))
        reaches = None
        if limit is not None:
            power_w = min(power_w, limit)
            reaches = may_reach(limit, wanted.power_w, wanted.high_w)
        low_w, high_w = wanted.shown
        return EnergyPrediction(
            power_w=power_w,
            power_low_w=low_w,
            power_high_w=high_w,
            wanted=wanted,
            time_s=seconds,
            energy_j=power_w * seconds,
            limited_by=timing.limited_by,
            utilisations=timing.utilisations,
            components=components,
            may_hit_power_limit=reaches,
            interval_source=interval.source,
            case=self.case,
            in_trained_domain=in_domain,
            notes=(*timing.notes, *notes),
            limit_note=limit_note,
        )

    def _drawn(
        self, workload: Workload, gpu: Gpu, clocks: Clocks, time_s: float | None = None
    ) -> tuple[TimePrediction, float, tuple[ComponentPower, ...], float]:
        """Time predicted, seconds taken (`time_s`, if measured), components and watts at these clocks,
        whatever the board's limit.
        """
        timing = predict_time(workload, gpu, clocks, self.time)
        seconds = timing.time_s if time_s is None else time_s
        components = self.component_powers(workload, gpu, clocks, timing, seconds)
        return timing, seconds, components, math.fsum(part.power_w for part in components)

    def _clocks_that_fit(self, workload: Workload, gpu: Gpu, asked: Clocks, limit_w: float) -> Clocks:
        """The highest core clock below the one asked for whose watts the limit allows; at least the lowest
        that such a board has."""
        low, high = core_clock_range_mhz(gpu)[0], core_clock_mhz(gpu, asked)
        low = min(low, high)
        for _ in range(CLOCK_HALVINGS):
            middle = 0.5 * (low + high)
            fits = self._drawn(workload, gpu, replace(asked, core_mhz=middle))[-1] <= limit_w
            low, high = (middle, high) if fits else (low, middle)
        return replace(asked, core_mhz=low)

    def component_powers(
        self, workload: Workload, gpu: Gpu, clocks: Clocks, timing: TimePrediction, time_s: float
    ) -> tuple[ComponentPower, ...]:
        """Watts of every component over `time_s`, before the board's limit; `timing` as predicted."""
        core_mhz = core_clock_mhz(gpu, clocks)
        voltage = self.voltage.relative_voltage(core_mhz)
        awake = awake_share(timing, workload, gpu)
        clocked = self.clocked_share + (1.0 - self.clocked_share) * awake
        energy = {
            entry.component: entry.mean_j(live_share(entry.component, workload)) for entry in self.energies
        }
        work_w = [
            energy[work.component]
            * (1.0 if work.component is Component.DRAM else voltage**2)
            * work.number
            / time_s
            for work in component_work(workload, gpu)
        ]
        total = math.fsum(work_w) / self.reference_w
        counted = total ** (self.concavity - 1.0) if total > 0 else 1.0
        return (
            ComponentPower(Component.IDLE, self.idle_w),
            ComponentPower(Component.MEMORY_CLOCK, self.memory_clock_w * memory_clock_scale(gpu, clocks)),
            ComponentPower(
                Component.ACTIVE, self.active_w * clocked * voltage**2 * core_mhz / self.voltage.reference_mhz
            ),
            *(
                ComponentPower(component, counted * watts)
                for component, watts in zip(DYNAMIC_COMPONENTS, work_w, strict=True)
            ),
        )

    def _doubts(
        self, components: tuple[ComponentPower, ...], power_w: float, core_mhz: float
    ) -> tuple[tuple[str, ...], bool]:
        """What takes this prediction out of the domain the model was trained in."""
        notes = list(self.board_notes(core_mhz))
        outside = not self.core_mhz_min <= core_mhz <= self.core_mhz_max
        presumed = {entry.component for entry in self.energies if not entry.fitted}
        for part in components:
            if part.component in presumed and part.power_w > 0.05 * power_w:
                outside = True
                notes.append(f"energy of {part.component} not seen by any training kernel: presumed")
        return tuple(notes), not outside

    def board_notes(self, core_mhz: float) -> tuple[str, ...]:
        """What every prediction of this model at this clock has to tell, whatever the kernel."""
        if self.core_mhz_min <= core_mhz <= self.core_mhz_max:
            return self.notes
        measured = f"{self.core_mhz_min:g} to {self.core_mhz_max:g} MHz"
        return (*self.notes, f"{core_mhz:g} MHz lies outside the measured clocks, {measured}")
