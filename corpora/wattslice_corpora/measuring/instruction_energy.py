"""From the powers of runs to the energy of an instruction: what the kernels with and without it differ by.

Energy of a launch = power x time of a launch, for every method of `power` (Arafa et al. 2020, eq. 2); energy
of an instruction = (with - without) / instructions of a launch (eq. 1).

The standard error comes from kernels that were measured more than once: their runs scatter by some share of
their energy, pooled over all of them (a few repeats of one kernel alone would say little), and that share is
applied to every kernel with and without instances. Rounding of the sensor is added.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable

from msgspec import Struct
from msgspec.structs import replace

from wattslice_corpora.instruction_kernels import Added
from wattslice_corpora.measuring.instruction_plan import Run, Study, Variant
from wattslice_corpora.measuring.journal import Entry
from wattslice_corpora.measuring.power import Method
from wattslice_corpora.records import MeasuredInstruction

RESOLVED = 2.0
"""A difference of fewer standard errors than that is no measurement."""

_STEPS_W = (1.0, 0.1, 0.01, 0.001)


class LaunchEnergy(Struct, frozen=True):
    """Joules of a launch of one kernel, one for each valid run; `time_s`: mean of a launch."""

    energies_j: tuple[float, ...]
    time_s: float

    @property
    def energy_j(self) -> float:
        """Mean of the runs."""
        return statistics.fmean(self.energies_j)


class Difference(Struct, frozen=True):
    """Joules of one instruction. `standard_error_j` None: nothing was measured twice; see `RESOLVED`."""

    energy_j: float
    standard_error_j: float | None
    time_s: float

    @property
    def fault(self) -> str:
        """Why it is no measurement; empty when it is one."""
        if self.standard_error_j is not None and self.energy_j < RESOLVED * self.standard_error_j:
            return (
                f"below what can be resolved: {self.energy_j:.2g} J with a standard error of "
                f"{self.standard_error_j:.2g} J"
            )
        return "" if self.energy_j > 0 else f"not above 0: {self.energy_j:.2g} J; nothing was measured twice"


def difference(
    with_instances: LaunchEnergy,
    without: LaunchEnergy,
    instructions: int,
    scatter: float | None,
    step_w: float,
) -> Difference:
    """Energy of one of the `instructions` by which the launches of two kernels differ.

    `scatter`: relative standard deviation of one run; None: not known. `step_w`: the sensor's rounding.
    """
    error_j = None
    if scatter is not None:
        sides = (with_instances, without)
        error_j = math.sqrt(
            sum((scatter * one.energy_j) ** 2 / len(one.energies_j) for one in sides)
            + sum((step_w * one.time_s) ** 2 / 12 for one in sides)
        )
    return Difference(
        energy_j=(with_instances.energy_j - without.energy_j) / instructions,
        standard_error_j=None if error_j is None else error_j / instructions,
        time_s=(with_instances.time_s - without.time_s) / instructions,
    )


def pooled_scatter(groups: Iterable[tuple[float, ...]]) -> float | None:
    """Relative standard deviation of one run, from groups of runs of one kernel each; None: all are alone."""
    squares, freedom = 0.0, 0
    for group in groups:
        mean = statistics.fmean(group)
        squares += sum((value / mean - 1) ** 2 for value in group)
        freedom += len(group) - 1
    return math.sqrt(squares / freedom) if freedom else None


def sensor_step_w(readings_w: Iterable[float]) -> float:
    """The coarsest decimal step of which all readings are multiples: boards round to W, 10 mW or mW."""
    readings = tuple(readings_w)
    for step in _STEPS_W:
        if all(abs(reading / step - round(reading / step)) < 1e-3 for reading in readings):
            return step
    return _STEPS_W[-1]


def instruction_rows(
    plan: tuple[Run, ...],
    versions: tuple[tuple[str, str], ...],
    entries: tuple[Entry, ...],
    sm_count: int,
    machine_code: Callable[[Study], Added | None],
) -> tuple[MeasuredInstruction, ...]:
    """A row for every method and every study of `plan` of which something was measured.

    `versions`: (name, version) of the configurations; an entry of another version does not count.
    """
    current = dict(versions)
    measured = {entry.name: entry for entry in entries if current.get(entry.name) == entry.version}
    runs = _Runs(measured)
    step_w = sensor_step_w(
        entry.powers.papi_w
        for entry in measured.values()
        if entry.powers is not None and entry.powers.papi_w is not None
    )
    idles_w = [entry.row.idle_power_w for entry in measured.values() if entry.row.idle_power_w is not None]
    idle_w = statistics.median(idles_w) if idles_w else None
    kernels = {(run.study.variant, run.study.stem(run.with_instances)) for run in plan}
    scatter = {
        (variant, method): pooled_scatter(
            found.energies_j
            for of_variant, stem in kernels
            if of_variant is variant and (found := runs.energy(variant, stem, method)) is not None
        )
        for variant in Variant
        for method in Method
    }
    return tuple(
        replace(
            _row(study, method, runs, scatter[study.variant, method], step_w, idle_w, sm_count),
            sass=str(machine_code(study) or ""),
        )
        for study in dict.fromkeys(run.study for run in plan if run.with_instances)
        if runs.any_of(study.variant, study.stem(True))
        for method in Method
    )


class _Runs:
    """The entries of a kernel."""

    def __init__(self, measured: dict[str, Entry]) -> None:
        self._of: dict[tuple[Variant, str], list[Entry]] = {}
        for name, entry in measured.items():
            variant, _, rest = name.partition("-")
            stem, _, _ = rest.rpartition("-")
            self._of.setdefault((Variant(variant), stem), []).append(entry)

    def any_of(self, variant: Variant, stem: str) -> bool:
        return (variant, stem) in self._of

    def valid(self, variant: Variant, stem: str) -> tuple[Entry, ...]:
        return tuple(entry for entry in self._of.get((variant, stem), ()) if entry.row.power_valid)

    def fault(self, variant: Variant, stem: str) -> str:
        """Why there is no valid run."""
        found = self._of.get((variant, stem))
        return f"not valid: {found[-1].row.reason}" if found else "not measured yet"

    def energy(self, variant: Variant, stem: str, method: Method) -> LaunchEnergy | None:
        """None without a valid run, or when the board lacks what the method takes."""
        energies_j: list[float] = []
        times_s: list[float] = []
        for entry in self.valid(variant, stem):
            power_w = None if entry.powers is None else entry.powers.by(method)
            if power_w is None or entry.row.time_s is None:
                continue
            energies_j.append(power_w * entry.row.time_s)
            times_s.append(entry.row.time_s)
        if not energies_j:
            return None
        return LaunchEnergy(tuple(energies_j), statistics.fmean(times_s))


def _row(
    study: Study,
    method: Method,
    runs: _Runs,
    scatter: float | None,
    step_w: float,
    idle_w: float | None,
    sm_count: int,
) -> MeasuredInstruction:
    variant, instruction = study.variant, study.instruction
    stem, other = study.stem(True), study.stem(False)
    ours, theirs = runs.energy(variant, stem, method), runs.energy(variant, other, method)
    valid = runs.valid(variant, stem)
    found: Difference | None = None
    if ours is not None and theirs is not None:
        found = difference(ours, theirs, _instructions(study, sm_count), scatter, step_w)
        reason = found.fault
    else:
        reason = _why(runs, variant, stem, other, method)
    believed = found if found is not None and not reason else None
    return MeasuredInstruction(
        instruction=instruction.name,
        category=instruction.category,
        table_row=instruction.table_row,
        optimized=study.optimized,
        variant=variant.value,
        method=method.value,
        energy_j=None if believed is None else believed.energy_j,
        standard_error_j=None if found is None else found.standard_error_j,
        above_idle_j=None
        if believed is None or idle_w is None or believed.time_s < 0  # by chance: it took no time
        else believed.energy_j - idle_w * believed.time_s,
        time_s=None if found is None else found.time_s,
        repeats=len(valid),
        sass="",
        core_mhz=_mean(entry.row.core_mhz for entry in valid),
        temperature_c=_mean(entry.row.temperature_c for entry in valid),
        idle_power_w=idle_w,
        board="",
        driver="",
        reason=" ".join(reason.split()),
    )


def _why(runs: _Runs, variant: Variant, stem: str, other: str, method: Method) -> str:
    if not runs.valid(variant, stem):
        return runs.fault(variant, stem)
    if not runs.valid(variant, other):
        return f"the kernel without it: {runs.fault(variant, other)}"
    return f"the board does not offer what {method.value} takes"


def _instructions(study: Study, sm_count: int) -> int:
    """How many a launch executes, over all threads."""
    variant, instruction = study.variant, study.instruction
    threads = variant.blocks(sm_count) * variant.threads_in_block
    together = instruction.name.count("+") + 1
    return variant.iterations * instruction.instances * together * threads


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
