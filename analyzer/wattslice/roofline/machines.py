"""Which rooflines a GPU has, one for each kind of arithmetic, and where their energies come from.

All energies of a GPU come from one source, the first that there is: the energy model trained on that very
GPU, from which the watts of kernels come as well; a fit to an intensity sweep on it; what Choi et al. 2013
publish of two machines; an energy model carried over from another GPU. Without any only time is known.

The roofs in time are the catalogue's peak rates at the clocks of the run, as the time model has them:
predicted times lie under them. Only the machines of the paper keep their own. Where an energy model gives the
energies, π0 is its static power with all SMs at work, ε_flop that of an FMA with its issue, halved, ε_mem
that of a byte on its way through DRAM, L2 and L1.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import cache

from msgspec import Struct

from wattslice.analysis import Precision
from wattslice.errors import WattsliceError
from wattslice.units import prefixed
from wattslice_corpora.published.choi2013 import MachineRow, choi2013_machines
from wattslice_models.energy import Case, Component, EnergyModel, NoEnergyModel
from wattslice_models.energy_roofline import EnergyRoofline, TimeRoofline
from wattslice_models.energy_roofline_fit import BestRates, SweepPrecision
from wattslice_models.execution_time import Clocks, core_clock_mhz, memory_clock_scale
from wattslice_models.gpu import Gpu, UnknownGpuError, load_gpu
from wattslice_models.roofline_store import ClockFit, stored_roofline
from wattslice_models.store import ModelFileError, energy_model


class Coefficients(Enum):
    """Where τ, ε and π0 come from; AUTO takes the first source that there is."""

    AUTO = "auto"
    FITTED = "fitted"
    PUBLISHED = "published"
    MODEL = "model"
    NONE = "none"


PUBLISHED_SOURCE = "Choi et al. 2013, Tables III and IV as recalled (docs/papers.md)"
_SAME_CLOCK = 0.03
_SWEEP_PRECISIONS = {Precision.FP32: SweepPrecision.SINGLE, Precision.FP64: SweepPrecision.DOUBLE}
_PUBLISHED_PRECISIONS = {"single": Precision.FP32, "double": Precision.FP64}


class Machine(Struct, frozen=True):
    """The roofs in one kind of arithmetic.

    `gpu_id`, `name`: of the GPU, or of the machine of a paper. `roofline`: an `EnergyRoofline` where the
    energies are known, else `no_energies` says why not. `source`: where they come from, in words; `doubts`:
    what not to believe of them. `power_limit_w` None: none, or none known.
    """

    gpu_id: str
    name: str
    precision: Precision
    roofline: TimeRoofline
    coefficients: Coefficients
    source: str
    power_limit_w: float | None
    no_energies: str = ""
    doubts: tuple[str, ...] = ()

    @property
    def energies(self) -> EnergyRoofline | None:
        """The roofline with its energies; None: `no_energies` says why they are unknown."""
        return self.roofline if isinstance(self.roofline, EnergyRoofline) else None


@cache
def _rows() -> tuple[MachineRow, ...]:
    return choi2013_machines()


def published_machines(name: str) -> tuple[Machine, ...]:
    """The machines of Choi et al. of that name, which may be that of a GPU of the catalogue."""
    wanted = _machine_name(name)
    return tuple(_published(row) for row in _rows() if row.machine == wanted)


def is_published_only(name: str) -> bool:
    """Whether it is a machine of the paper that the catalogue does not have: a processor, no GPU."""
    try:
        load_gpu(name)
    except UnknownGpuError:
        return bool(published_machines(name))
    except (OSError, ValueError):  # a file of the user's own, which others complain about
        return False
    return False


def machines_of(gpu: Gpu, clocks: Clocks, wanted: Coefficients = Coefficients.AUTO) -> tuple[Machine, ...]:
    """The machines of a GPU, in the order of `Precision`, those left out that it has no arithmetic for.

    A source that knows no energies of some kind of arithmetic leaves it a roof in time alone. Raises
    `WattsliceError` where the wanted coefficients do not exist, or not at these clocks.
    """
    if wanted is Coefficients.FITTED:
        return _wanted(_fitted(gpu, clocks))
    if wanted is Coefficients.PUBLISHED:
        return _wanted(_published_of(gpu, clocks))
    if wanted is Coefficients.NONE:
        return _by_model(gpu, clocks, NoEnergyModel(gpu.id, "--coefficients none"))
    model = _model(gpu)
    if wanted is Coefficients.MODEL:
        return _wanted(model.reason if isinstance(model, NoEnergyModel) else _by_model(gpu, clocks, model))
    if isinstance(model, NoEnergyModel) or model.case is Case.CARRIED_OVER:
        for better in (_fitted(gpu, clocks), _published_of(gpu, clocks)):
            if not isinstance(better, str):
                return better
    return _by_model(gpu, clocks, model)


def unusable_fit(gpu: Gpu) -> str:
    """Why a fit to a sweep of this GPU, which there is, makes no machine; empty where it does, or is none."""
    try:
        trained = stored_roofline(gpu.id)
    except ModelFileError as error:
        return str(error)
    if trained is None:
        return ""
    found = _fitted(gpu, Clocks(trained.reference.core_mhz))
    return found if isinstance(found, str) else ""


def _wanted(found: tuple[Machine, ...] | str) -> tuple[Machine, ...]:
    if isinstance(found, str):
        raise WattsliceError(f"--coefficients: {found}", remedy="leave the option out")
    return found


def _published_of(gpu: Gpu, clocks: Clocks) -> tuple[Machine, ...] | str:
    """Its machines in the paper, or why there are none."""
    machines = published_machines(gpu.id)
    if not machines:
        names = ", ".join(dict.fromkeys(row.machine for row in _rows()))
        return f"nothing is published of {gpu.id}: Choi et al. have {names}"
    if clocks != Clocks():
        return "what is published holds at the clocks of the paper, not at --core-mhz and --mem-mhz"
    return _with_time_roofs(machines, gpu, clocks, "the paper has them of fp32 and fp64 only")


def _fitted(gpu: Gpu, clocks: Clocks) -> tuple[Machine, ...] | str:
    """The machines of a fit to a sweep of this very GPU at these clocks, or why there are none.

    The fit is that of relative errors: it misses held-out energies by less than the paper's regression does.
    """
    try:
        trained = stored_roofline(gpu.id)
    except ModelFileError as error:
        return str(error)
    if trained is None:
        return f"no roofline was fitted to a sweep of {gpu.id} (docs/roofline.md)"
    nearest = trained.at(clocks.core_mhz)
    for option, asked, measured in (
        ("--core-mhz", clocks.core_mhz, nearest.core_mhz),
        ("--mem-mhz", clocks.memory_mhz, nearest.memory_mhz),
    ):
        if asked is not None and (measured is None or abs(asked / measured - 1.0) > _SAME_CLOCK):
            known = "unknown" if measured is None else f"{measured:g} MHz"
            return f"the sweep of {gpu.id} has no run near {option} {asked:g}: nearest {known}"
    fit = nearest.relative_fit
    found: list[Machine] = []
    for precision, sweep_precision in _SWEEP_PRECISIONS.items():
        roof = time_roofline(gpu, precision, clocks)
        if roof is None:
            continue
        try:
            roofline = fit.roofline(
                sweep_precision, gpu.power_limit_w, flop_time_s=roof.flop_time_s, byte_time_s=roof.byte_time_s
            )
        except ValueError as error:
            return f"the roofline fitted to a sweep of {gpu.id} is impossible: {error}"
        found.append(
            Machine(
                gpu_id=gpu.id,
                name=gpu.name,
                precision=precision,
                roofline=roofline,
                coefficients=Coefficients.FITTED,
                source=_fit_source(nearest),
                power_limit_w=gpu.power_limit_w,
                doubts=(_best_rates(fit.rates), *fit.doubts, *trained.caveats),
            )
        )
    return _with_time_roofs(found, gpu, clocks, "the sweep measured fp32 and fp64 only")


def _fit_source(nearest: ClockFit) -> str:
    at = "" if nearest.core_mhz is None else f" at {nearest.core_mhz:g} MHz"
    return f"fitted to an intensity sweep of this GPU{at}, its errors taken for equal shares of the energies"


def _best_rates(rates: BestRates) -> str:
    single, double = (prefixed(1.0 / rates.flop_time_s(one), "flop/s") for one in SweepPrecision)
    best = f"the best of the sweep: {single} in single, {double} in double precision"
    return f"{best}, {prefixed(rates.bytes_per_s, 'B/s')}; the roofs are the catalogue's"


def _with_time_roofs(known: Sequence[Machine], gpu: Gpu, clocks: Clocks, why: str) -> tuple[Machine, ...]:
    """The machines and, without energies, those of the kinds of arithmetic that they leave out."""
    by_precision = {machine.precision: machine for machine in known}
    others = _by_model(gpu, clocks, NoEnergyModel(gpu.id, why))
    return tuple(by_precision.get(one.precision, one) for one in others)


def _by_model(gpu: Gpu, clocks: Clocks, model: EnergyModel | NoEnergyModel) -> tuple[Machine, ...]:
    found: list[Machine] = []
    for precision in Precision:
        roof = time_roofline(gpu, precision, clocks)
        if roof is None:
            continue
        roofline, no_energies = model_roofline(model, roof, precision, gpu, clocks)
        known = isinstance(roofline, EnergyRoofline)
        found.append(
            Machine(
                gpu_id=gpu.id,
                name=gpu.name,
                precision=precision,
                roofline=roofline,
                coefficients=Coefficients.MODEL if known else Coefficients.NONE,
                source=_model_source(model) if known else "the catalogue's peaks; time alone",
                power_limit_w=gpu.power_limit_w,
                no_energies=no_energies,
                doubts=_doubts(model, precision),
            )
        )
    return tuple(found)


def _model(gpu: Gpu) -> EnergyModel | NoEnergyModel:
    try:
        return energy_model(gpu)
    except ModelFileError as error:  # left by another version of the program
        return NoEnergyModel(gpu.id, str(error))


def _model_source(model: EnergyModel | NoEnergyModel) -> str:
    if isinstance(model, NoEnergyModel) or model.case is not Case.CARRIED_OVER:
        return "the energy model of this GPU"
    return "the energy model carried over from measured boards"


def _doubts(model: EnergyModel | NoEnergyModel, precision: Precision) -> tuple[str, ...]:
    own = _COMPONENTS[precision]
    if isinstance(model, EnergyModel) and not any(
        one.fitted for one in model.energies if one.component is own
    ):
        return (f"energy of a flop ({precision.value}): seen by no training kernel, an order of magnitude",)
    return ()


def _machine_name(name: str) -> str:
    try:
        return load_gpu(name).id
    except (LookupError, OSError, ValueError):
        return name.lower()


def _published(row: MachineRow) -> Machine:
    return Machine(
        gpu_id=row.machine,
        name=row.name,
        precision=_PUBLISHED_PRECISIONS[row.precision],
        roofline=published_roofline(row),
        coefficients=Coefficients.PUBLISHED,
        source=PUBLISHED_SOURCE,
        power_limit_w=row.power_limit_w,
    )


def published_roofline(row: MachineRow) -> EnergyRoofline:
    """What the models compute with, of a row of the paper's tables."""
    return EnergyRoofline(
        flop_time_s=1.0 / row.peak_flops_per_s,
        byte_time_s=1.0 / row.bandwidth_bytes_per_s,
        flop_energy_j=row.flop_energy_j,
        byte_energy_j=row.byte_energy_j,
        constant_power_w=row.constant_power_w,
        power_limit_w=row.power_limit_w,
    )


_COMPONENTS = {
    Precision.FP32: Component.FP32,
    Precision.FP64: Component.FP64,
    Precision.FP16: Component.FP16,
    Precision.TENSOR: Component.TENSOR,
}
_LANES = 32


def time_roofline(gpu: Gpu, precision: Precision, clocks: Clocks) -> TimeRoofline | None:
    """The catalogue's peak (an FMA is two flops) and bandwidth; None: no such arithmetic, or unknown."""
    rate = {
        Precision.FP32: gpu.fp32_fma_per_clock_per_sm,
        Precision.FP64: gpu.fp64_fma_per_clock_per_sm,
        Precision.FP16: gpu.fp16_vector_fma_per_clock_per_sm,
        Precision.TENSOR: gpu.tensor_fp16_dense_fma_per_clock_per_sm,
    }[precision]
    if not rate:
        return None
    peak_flops_per_s = 2e6 * rate * gpu.sm_count * core_clock_mhz(gpu, clocks)
    bandwidth_bytes_per_s = gpu.memory_bandwidth_bytes_per_s * memory_clock_scale(gpu, clocks)
    return TimeRoofline(1.0 / peak_flops_per_s, 1.0 / bandwidth_bytes_per_s)


def model_roofline(
    model: EnergyModel | NoEnergyModel, roof: TimeRoofline, precision: Precision, gpu: Gpu, clocks: Clocks
) -> tuple[TimeRoofline, str]:
    """`roof` with the energies of an energy model; the same roof and the reason where there are none."""
    if isinstance(model, NoEnergyModel):
        return roof, model.reason
    static_w, flop_j, byte_j = _powers(model, precision, gpu, clocks)
    try:
        return EnergyRoofline(
            roof.flop_time_s, roof.byte_time_s, flop_j, byte_j, static_w, gpu.power_limit_w
        ), ""
    except ValueError as error:
        return roof, f"the energy model makes no power line: {error}"


def _powers(model: EnergyModel, precision: Precision, gpu: Gpu, clocks: Clocks) -> tuple[float, float, float]:
    """π0 in W, ε_flop in J per flop, ε_mem in J per byte.

    Work counts for less near the board's limit (`EnergyModel.concavity`): the energies are those of work that
    draws half of it.
    """
    core_mhz = core_clock_mhz(gpu, clocks)
    voltage = model.voltage.relative_voltage(core_mhz)
    counted = 0.5 ** (model.concavity - 1.0)
    energy = {entry.component: counted * entry.energy_j * voltage**2 for entry in model.energies}
    dram_j = next((one.energy_j for one in model.energies if one.component is Component.DRAM), 0.0)
    static_w = model.idle_w + model.memory_clock_w * memory_clock_scale(gpu, clocks)
    static_w += model.active_w * voltage**2 * core_mhz / model.voltage.reference_mhz
    fma_j = energy.get(_COMPONENTS[precision], 0.0)
    if precision is not Precision.TENSOR:  # one instruction of a warp makes thousands of those
        fma_j += energy.get(Component.ISSUE, 0.0) / _LANES
    byte_j = counted * dram_j + energy.get(Component.L2, 0.0) + energy.get(Component.L1, 0.0)
    return static_w, fma_j / 2.0, byte_j
