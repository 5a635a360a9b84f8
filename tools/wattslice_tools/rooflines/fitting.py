"""Fits the energy roofline of one GPU to the intensity sweep among its measured runs, clock by clock."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import fmean, median

from msgspec import Struct
from msgspec.structs import replace

from wattslice.analysis import Precision
from wattslice.errors import WattsliceError
from wattslice.roofline.machines import time_roofline
from wattslice.training.examples import LeftOut, program_or_clock
from wattslice.training.tables import card_beside
from wattslice.training.training import provenance
from wattslice_corpora.records import (
    DataCard,
    MeasuredRow,
    SweepRow,
    Timed,
    Use,
    card_path,
    measurements_path,
    read_card,
    read_measurements,
    read_sweep,
    sha256,
    sweep_beside,
    sweep_path,
)
from wattslice_models.energy_roofline_fit import (
    EnergyRooflineFit,
    Errors,
    SweepError,
    SweepPoint,
    SweepPrecision,
    fit_energy_roofline,
)
from wattslice_models.execution_time import Clocks
from wattslice_models.gpu import Gpu
from wattslice_models.roofline_store import ClockFit, SweepResidual, TrainedRoofline
from wattslice_models.store import DataFile

FREE_CLOCK_SPREAD = 0.02
"""Runs whose clock the board chose belong together up to so far from their median."""
MOST_OF_PEAK = 1.1
"""A sweep that is faster than so many times the catalogue's peak is doubted."""
LEAST_OF_BANDWIDTH = 0.1
"""One whose runs never move more bytes than that share of the bandwidth, too."""
_REMEDY = (
    "measure a sweep: `wattslice measure --campaign --only roofline --out DIR`, then "
    "`python -m wattslice_tools.rooflines GPU --data DIR/measured.csv` in the checkout"
)
_IDLE_DATA = (
    "the programs computed on zeros and infinities, or on the same values in every thread: hardly a bit of "
    "the operands toggled, so that flops and bytes of real data cost more than the coefficients say"
)


class RooflineResult(Struct, frozen=True):
    """What one training found. `cards`: what is known of the data; `left_out`: runs that took no part."""

    gpu: Gpu
    trained: TrainedRoofline
    cards: tuple[DataCard, ...]
    left_out: tuple[LeftOut, ...]


class _Run(Struct, frozen=True):
    row: MeasuredRow
    point: SweepPoint


class _Source(Struct, frozen=True):
    measured: tuple[MeasuredRow, ...]
    sweep: tuple[SweepRow, ...]
    card: DataCard | None
    files: tuple[Path, ...]


def train_roofline(gpu: Gpu, files: tuple[Path, ...]) -> RooflineResult:
    """Fits to the committed sweep of `gpu`, or to those beside the user's `files`.

    Raises `WattsliceError` without a sweep that can be fitted, `RecordError`, ``OSError``, and
    `MissingPackageError` without scipy.
    """
    sources = [_of_file(path) for path in files] or [_committed(gpu)]
    left_out: Counter[tuple[str, str]] = Counter()
    runs = [run for source in sources for run in _runs(source, left_out)]
    fits: list[tuple[ClockFit, list[_Run]]] = []
    problems: list[str] = []
    for core_mhz, memory_mhz, group in _groups(runs, left_out):
        points = [run.point for run in group]
        try:
            both = fit_energy_roofline(points), fit_energy_roofline(points, Errors.RELATIVE)
        except SweepError as error:
            problems.append(f"at {_clock(core_mhz)} {error}")
            for run in group:
                left_out[run.row.benchmark, f"at {_clock(core_mhz)}: {error}"] += 1
            continue
        fits.append((ClockFit(core_mhz, memory_mhz, *both), group))
    if not fits:
        why = (
            "; ".join(problems) or "; ".join(reason for _, reason in left_out) or "no run of it was measured"
        )
        raise WattsliceError(f"no intensity sweep of {gpu.id} that can be fitted: {why}", remedy=_REMEDY)
    fits.sort(key=lambda pair: (-(pair[0].core_mhz or 0.0), -(pair[0].memory_mhz or 0.0)))
    clock_fits: list[ClockFit] = []
    residuals: list[SweepResidual] = []
    for one, group in fits:
        found = _residuals(one, group)
        error = _mean_error([(row.energy_j, row.held_out_energy_j) for row in found])
        relative = _mean_error([(row.energy_j, row.relative_held_out_energy_j) for row in found])
        clock_fits.append(replace(one, held_out_error=error, relative_held_out_error=relative))
        residuals += found
    used = [run.row for _, group in fits for run in group]
    cards = tuple(source.card for source in sources if source.card is not None)
    data = tuple(DataFile(path.name, sha256(path)) for source in sources for path in source.files)
    trained = TrainedRoofline(
        provenance((gpu.id,), 0, data, ("wattslice", "numpy", "scipy")),
        (*(fault for one in clock_fits for fault in _rate_faults(gpu, one)), *_caveats(used, cards)),
        tuple(clock_fits),
        tuple(residuals),
    )
    skipped = tuple(LeftOut(benchmark, number, why) for (benchmark, why), number in left_out.items())
    return RooflineResult(gpu, trained, cards, skipped)


def _committed(gpu: Gpu) -> _Source:
    measured, sweep, card = measurements_path(gpu.id), sweep_path(gpu.id), card_path(gpu.id)
    for path in (measured, sweep, card):
        if not path.is_file():
            raise WattsliceError(
                f"nobody has measured an intensity sweep of {gpu.id}: there is no {path.name}", remedy=_REMEDY
            )
    return _Source(read_measurements(measured), read_sweep(sweep), read_card(card), (measured, sweep))


def _of_file(path: Path) -> _Source:
    measured = read_measurements(path)
    sweep = sweep_beside(path)
    if not sweep.is_file():
        raise WattsliceError(
            f"a table without an intensity sweep: no {sweep.name}, with flops and bytes of its runs, lies "
            "beside it",
            path=path,
            remedy=_REMEDY,
        )
    return _Source(measured, read_sweep(sweep), card_beside(path), (path, sweep))


def _runs(source: _Source, left_out: Counter[tuple[str, str]]) -> list[_Run]:
    known = {row.run: row for row in source.sweep}
    found: list[_Run] = []
    for row in source.measured:
        entry = known.get((row.benchmark, row.kernel, row.arguments))
        if entry is None:
            continue
        dataset = None if source.card is None else source.card.dataset(row.dataset)
        if dataset is not None and dataset.use is Use.TEST:
            continue
        timed = None if dataset is None else dataset.timed
        reason = _unfit(row, timed)
        if reason:
            left_out[program_or_clock(row), reason] += 1
            continue
        assert row.time_s is not None  # else unfit
        assert row.power_w is not None
        energy_j = row.energy_j or row.power_w * row.time_s
        precision = SweepPrecision(entry.precision)
        found.append(
            _Run(row, SweepPoint(precision, entry.work_flop, entry.traffic_bytes, row.time_s, energy_j))
        )
    return found


def _unfit(row: MeasuredRow, timed: Timed | None) -> str:
    """Why a run can be no point of a sweep, else empty."""
    if not row.power_valid:
        return row.reason
    if row.time_s is None or timed is Timed.RUN:
        return "the time of one launch is not told"
    if row.capped:
        return "the power limit throttled it, which the model without a limit does not have"
    return ""


def _groups(
    runs: list[_Run], left_out: Counter[tuple[str, str]]
) -> list[tuple[float | None, float | None, list[_Run]]]:
    """Runs by pair of clocks; where the board chose the clocks, those near their median together."""
    groups: dict[tuple[float | None, float | None], list[_Run]] = {}
    for run in runs:
        groups.setdefault((run.row.core_mhz, run.row.memory_mhz), []).append(run)
    if any(_can_be_fitted(group) for group in groups.values()) or None in {core for core, _ in groups}:
        return [(core, memory, group) for (core, memory), group in groups.items()]
    cores = [run.row.core_mhz for run in runs if run.row.core_mhz is not None]
    memories = [run.row.memory_mhz for run in runs if run.row.memory_mhz is not None]
    if not cores:
        return []
    core_mhz = median(cores)
    near: list[_Run] = []
    for run in runs:
        if run.row.core_mhz is not None and abs(run.row.core_mhz / core_mhz - 1.0) <= FREE_CLOCK_SPREAD:
            near.append(run)
        else:
            reason = f"its clock is more than {FREE_CLOCK_SPREAD:.0%} from the median of {core_mhz:g} MHz"
            left_out[run.row.benchmark, reason] += 1
    return [(core_mhz, median(memories) if memories else None, near)]


def _can_be_fitted(group: list[_Run]) -> bool:
    try:
        fit_energy_roofline([run.point for run in group])
    except SweepError:
        return False
    return True


def _residuals(one: ClockFit, group: list[_Run]) -> list[SweepResidual]:
    points = [run.point for run in group]
    held_out = _held_out(points, Errors.ALIKE)
    relative = _held_out(points, Errors.RELATIVE)
    return [
        SweepResidual(
            run.row.dataset,
            run.row.benchmark,
            run.row.kernel,
            run.row.arguments,
            run.row.core_mhz,
            run.row.memory_mhz,
            run.point.precision,
            run.point.work_flop,
            run.point.traffic_bytes,
            run.point.time_s,
            run.point.energy_j,
            _energy(one.fit, run.point),
            held_out[number],
            _energy(one.relative_fit, run.point),
            relative[number],
        )
        for number, run in enumerate(group)
    ]


def _held_out(points: list[SweepPoint], errors: Errors) -> list[float | None]:
    """The energy of each run by a fit to the others; None where they cannot be fitted."""
    found: list[float | None] = []
    for number, point in enumerate(points):
        try:
            found.append(_energy(fit_energy_roofline(points[:number] + points[number + 1 :], errors), point))
        except SweepError:
            found.append(None)
    return found


def _mean_error(pairs: list[tuple[float, float | None]]) -> float | None:
    """Mean relative error of (measured, predicted); None where one was not predicted."""
    errors = [abs(predicted / measured - 1.0) for measured, predicted in pairs if predicted is not None]
    return fmean(errors) if len(errors) == len(pairs) else None


def _energy(fit: EnergyRooflineFit, point: SweepPoint) -> float:
    return fit.energy_j(point.precision, point.work_flop, point.traffic_bytes, point.time_s)


def _caveats(rows: list[MeasuredRow], cards: tuple[DataCard, ...]) -> tuple[str, ...]:
    keys = {row.dataset for row in rows}
    faults = [
        fault
        for card in cards
        for dataset in card.datasets
        if dataset.key in keys
        for fault in (f"power is the {dataset.power_definition}", *dataset.faults)
    ]
    idle = [_IDLE_DATA] if rows and all(row.input == "zeros" for row in rows) else []
    return tuple(dict.fromkeys((*idle, *faults)))


def _rate_faults(gpu: Gpu, one: ClockFit) -> tuple[str, ...]:
    """What the best rates of a sweep, beside those of the catalogue, say against its being of this GPU."""
    rates, at = one.fit.rates, _clock(one.core_mhz)
    pairs = [("memory moved", "GB/s", rates.bytes_per_s, gpu.memory_bandwidth_bytes_per_s)]
    for precision, own in ((SweepPrecision.SINGLE, Precision.FP32), (SweepPrecision.DOUBLE, Precision.FP64)):
        if (roof := time_roofline(gpu, own, Clocks(one.core_mhz))) is not None:
            rate = 1.0 / rates.flop_time_s(precision)
            pairs.append((f"{precision} precision ran", "GFLOP/s", rate, roof.peak_flops_per_s))
    found: list[str] = []
    for what, unit, rate, peak in pairs:
        best = f"at {at} {what} at best {1e-9 * rate:.3g} {unit} where the catalogue has {1e-9 * peak:.3g}"
        if rate > MOST_OF_PEAK * peak:
            found.append(f"{best}: these are not runs of a {gpu.name}, or their work is not what is told")
        elif what.startswith("memory") and rate < LEAST_OF_BANDWIDTH * peak:
            found.append(f"{best}: no run is bound by memory, or its bytes are not what is told")
    return tuple(found)


def _clock(core_mhz: float | None) -> str:
    return "an unknown clock" if core_mhz is None else f"{core_mhz:g} MHz"
