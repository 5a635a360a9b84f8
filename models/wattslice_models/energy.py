"""The energy model: watts of a kernel from energies per operation and byte.

    P = P_idle + P_leakage · v + P_active · s · v² f/f_ref + Σ_c ε_c · v_c² · work_c / time

with ε_c ≥ 0, s the share of the chip whose clocks run (`clocked_share`), and v = V(f)/V(f_ref) the core
voltage relative to that at the reference clock; v_c = v inside the chip's core domain, 1 for DRAM, which
does not follow the core clock. ε_c depends on whether the bits of the values toggle (`live_share`): one for
live data, one for idle data. It is the energy roofline of Choi et al. 2013 (E = W ε_flop + Q ε_mem + π0 T)
with more than two components, and dynamic power ∝ V² f as in every DVFS model. V(f) is a floor up to a knee
and linear from there on.
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
    Utilisation,
    core_clock_mhz,
    core_clock_range_mhz,
    moved_bytes,
    predict_time,
)
from wattslice_models.gpu import Gpu
from wattslice_models.types import exceedance
from wattslice_models.workload import Workload


class Component(StrEnum):
    """What draws power; the values are the names in stored models and in reports."""

    IDLE = "idle"
    LEAKAGE = "leakage"
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


STATIC_COMPONENTS = (Component.IDLE, Component.LEAKAGE, Component.ACTIVE)
"""Components that do not depend on what the instructions are."""
SHARED_CLOCK_SHARE = 0.5
"""Share of P_active that runs as soon as any SM does: clocks of L2, crossbar and memory controllers.

An assumption: every training launch fills the chip, so that no fit can tell. SMs take about half of a die.
"""
CLOCK_HALVINGS = 12
"""Steps to the clock that the power limit allows: to less than 1 MHz."""
MULTIPLIERS = (Component.FP32, Component.INTEGER_MULTIPLY)
"""The same units make both since Volta; the integer multipliers of older chips are taken to be alike."""


class ComponentPower(Struct, frozen=True):
    """Average watts one component draws while the kernel runs."""

    component: Component
    power_w: float


class EnergyPrediction(Struct, frozen=True):
    """Watts, seconds and joules of one launch.

    `power_w` is the average board power, at most the board's limit, in [`power_low_w`, `power_high_w`];
    `interval_source` says what the interval may claim. `energy_j` = power_w · time_s. `may_hit_power_limit`:
    see `may_reach`; None when the limit is unknown. `transferred_from`: id of
    the GPU whose measurements the coefficients come from when it is not the one asked for, else empty.
    """

    power_w: float
    power_low_w: float
    power_high_w: float
    time_s: float
    energy_j: float
    limited_by: Resource
    utilisations: tuple[Utilisation, ...]
    components: tuple[ComponentPower, ...]
    may_hit_power_limit: bool | None
    interval_source: str
    transferred_from: str
    in_trained_domain: bool
    notes: tuple[str, ...]

    @property
    def static_power_w(self) -> float:
        """What the board draws whatever the operations are: idle, leakage, active SMs (before the limit)."""
        return math.fsum(part.power_w for part in self.components if part.component in STATIC_COMPONENTS)

    def exceedance(self, budget_w: float) -> float:
        """Probability that the measured watts exceed `budget_w`: see `wattslice_models.types.exceedance`."""
        return exceedance(budget_w, self.power_w, self.power_low_w, self.power_high_w)


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
        Component.SHARED: 128.0 * moved.shared_passes,
        Component.L1: moved.l1_bytes,
        Component.L2: moved.l2_bytes,
        Component.DRAM: moved.dram_bytes,
    }
    return tuple(ComponentWork(component, number) for component, number in work.items())


def clocked_share(active_sms: float) -> float:
    """The share of P_active that is drawn with the share `active_sms` of the SMs at work."""
    return SHARED_CLOCK_SHARE + (1.0 - SHARED_CLOCK_SHARE) * active_sms


def live_share(component: Component, workload: Workload) -> float:
    """The share of a component's work that toggles bits, in [0, 1]; 1 where that was never told apart."""
    if component in MULTIPLIERS:
        return workload.live_operands
    return workload.live_data if component is Component.DRAM else 1.0


class VoltageCurve(Struct, frozen=True):
    """Core voltage relative to the one at `reference_mhz`: `floor` up to `knee_mhz`, from there linear to 1.

    Above the reference clock, the highest that was measured, it is taken not to rise any more.
    """

    floor: float
    knee_mhz: float
    reference_mhz: float

    def __post_init__(self) -> None:
        if not (0 < self.floor <= 1 and 0 < self.knee_mhz < self.reference_mhz):
            raise ValueError(f"not a rising voltage curve: {self}")

    def relative_voltage(self, core_mhz: float) -> float:
        """V(f) / V(f_ref), dimensionless."""
        rise = (core_mhz - self.knee_mhz) / (self.reference_mhz - self.knee_mhz)
        return self.floor + (1.0 - self.floor) * min(1.0, max(0.0, rise))


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

    `idle_w`, `leakage_w`, `active_w`: P_idle, P_leakage and P_active of the module's equation, for the whole
    board. `interval`: of measured / predicted watts. `measured_on`: id of the GPU measured.
    """

    gpu_id: str
    measured_on: str
    idle_w: float
    leakage_w: float
    active_w: float
    energies: tuple[ComponentEnergy, ...]
    voltage: VoltageCurve
    time: TimeParameters
    core_mhz_min: float
    core_mhz_max: float
    interval: Interval
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        energies = [joules for entry in self.energies for joules in (entry.energy_j, entry.idle_energy_j)]
        if not all(
            0 <= value < math.inf for value in (self.idle_w, self.leakage_w, self.active_w, *energies)
        ):
            raise ValueError("powers and energies must be finite and not negative")

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
        clocks, throttled = asked, ()
        if limit is not None and time_s is None and self._power_w(workload, gpu, asked) > limit:
            clocks = self._clocks_that_fit(workload, gpu, asked, limit)
            throttled = (
                f"{self._power_w(workload, gpu, asked):.0f} W at {core_clock_mhz(gpu, asked):.0f} MHz would "
                f"exceed the limit of {limit:g} W: watts and seconds are those at {clocks.core_mhz:.0f} MHz, "
                "the highest clock that it allows",
            )
        timing = predict_time(workload, gpu, clocks, self.time)
        seconds = timing.time_s if time_s is None else time_s
        components = self.component_powers(workload, gpu, clocks, seconds)
        power_w = math.fsum(component.power_w for component in components)
        notes, in_domain = self._doubts(components, power_w, core_clock_mhz(gpu, clocks))
        low_w, high_w = power_w * self.interval.low, power_w * self.interval.high
        reaches = None if limit is None else may_reach(limit, power_w, high_w) or bool(throttled)
        power_w, low_w, high_w = (
            value if limit is None else min(value, limit) for value in (power_w, low_w, high_w)
        )
        return EnergyPrediction(
            power_w=power_w,
            power_low_w=low_w,
            power_high_w=high_w,
            time_s=seconds,
            energy_j=power_w * seconds,
            limited_by=timing.limited_by,
            utilisations=timing.utilisations,
            components=components,
            may_hit_power_limit=reaches,
            interval_source=self.interval.source,
            transferred_from="" if self.measured_on == self.gpu_id else self.measured_on,
            in_trained_domain=in_domain,
            notes=(*timing.notes, *notes, *throttled),
        )

    def _power_w(self, workload: Workload, gpu: Gpu, clocks: Clocks) -> float:
        """Watts at these clocks, whatever the board's limit."""
        time_s = predict_time(workload, gpu, clocks, self.time).time_s
        return math.fsum(part.power_w for part in self.component_powers(workload, gpu, clocks, time_s))

    def _clocks_that_fit(self, workload: Workload, gpu: Gpu, asked: Clocks, limit_w: float) -> Clocks:
        """The highest core clock below the one asked for whose watts the limit allows; at least the lowest
        that such a board has."""
        low, high = core_clock_range_mhz(gpu)[0], core_clock_mhz(gpu, asked)
        low = min(low, high)
        for _ in range(CLOCK_HALVINGS):
            middle = 0.5 * (low + high)
            fits = self._power_w(workload, gpu, replace(asked, core_mhz=middle)) <= limit_w
            low, high = (middle, high) if fits else (low, middle)
        return replace(asked, core_mhz=low)

    def component_powers(
        self, workload: Workload, gpu: Gpu, clocks: Clocks, time_s: float
    ) -> tuple[ComponentPower, ...]:
        """Watts of every component over `time_s`, before the board's limit."""
        core_mhz = core_clock_mhz(gpu, clocks)
        voltage = self.voltage.relative_voltage(core_mhz)
        clocked = clocked_share(min(1.0, workload.blocks / gpu.sm_count))
        active = clocked * voltage**2 * core_mhz / self.voltage.reference_mhz
        energy = {
            entry.component: entry.mean_j(live_share(entry.component, workload)) for entry in self.energies
        }
        return (
            ComponentPower(Component.IDLE, self.idle_w),
            ComponentPower(Component.LEAKAGE, self.leakage_w * voltage),
            ComponentPower(Component.ACTIVE, self.active_w * active),
            *(
                ComponentPower(
                    work.component,
                    energy[work.component]
                    * (1.0 if work.component is Component.DRAM else voltage**2)
                    * work.number
                    / time_s,
                )
                for work in component_work(workload, gpu)
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
