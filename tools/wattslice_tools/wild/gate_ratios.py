"""How far predicted ratios can be trusted: what `wattslice gate` knows of it, and its page of the docs.

    python -m wattslice_tools.wild.gate_ratios --data analyzer/wattslice/gate/ratio_trust.json
        -o docs/appendix/gate.md

For pairs of measured runs on one board at one clock: the predicted ratio of watts, joules and seconds against
the measured one. Two populations: variants of one microbenchmark, by models that were fitted without that
benchmark; and unrelated applications. Watts of the energy model are those of the joint model without the
application (as training stored them), its seconds those of the model that comes along, six parameters of
which were fitted to the board's runs; the regression comes along, fitted on microbenchmarks only. Runs whose
addresses could not be followed (`doubt`) are left out of the variants.

Each pair is turned so that an increase is predicted. Every program (variants) or board (applications) weighs
the same, however many pairs it gives. The share of true increases is made monotone in the predicted increase
(pool adjacent violators), for nothing else makes sense.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct, to_builtins
from msgspec.structs import replace

from wattslice.gate.ratio_trust import Curve, Kin, Knot, Quantity
from wattslice.gate.ratio_trust import curves as known_curves
from wattslice.training.examples import examples
from wattslice.training.tables import measured_tables
from wattslice_corpora.records import Use, measurements_path, sha256, workloads_path
from wattslice_models.contract import Example, PowerModel
from wattslice_models.energy_power import EnergyPowerModel
from wattslice_models.gpu import Gpu, load_gpu
from wattslice_models.joint_store import HeldOutRun, held_out_runs
from wattslice_models.learners import entry, learner
from wattslice_models.store import power_model
from wattslice_tools.wild.document import publish

VARIANTS_OF = ("v100_pcie", "quadro_rtx_8000")
APPLICATIONS_OF = ("v100_pcie", "quadro_rtx_8000", "gtx_1080_ti")
ENERGY = "energy"
MODELS = (ENERGY, "regression")
EDGES = (0.0, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)
"""Of |ln predicted ratio|."""
LEAST_PAIRS = 40


class Run(Struct, frozen=True):
    """One run: predicted and measured figures by quantity; NaN: not measured, or not predicted."""

    board: str
    program: str
    clocks: object
    predicted: dict[Quantity, float]
    measured: dict[Quantity, float]


def runs(gpu: Gpu, name: str, model: PowerModel, found: Sequence[Example]) -> Iterator[Run]:
    energy = model if isinstance(model, EnergyPowerModel) else power_model(gpu, "energy")
    for example in found:
        power_w = model.predict(example.subject).power_w
        if power_w is None:
            continue
        time_s = energy.time_s(example.subject) if isinstance(energy, EnergyPowerModel) else math.nan
        measured_s = example.time_s or math.nan
        yield Run(
            gpu.id,
            example.benchmark,
            example.subject.clocks,
            {Quantity.POWER: power_w, Quantity.TIME: time_s, Quantity.ENERGY: power_w * time_s},
            {
                Quantity.POWER: example.power_w,
                Quantity.TIME: measured_s,
                Quantity.ENERGY: example.power_w * measured_s,
            },
        )


def runs_held_out(gpu: Gpu, found: Sequence[Example]) -> Iterator[Run]:
    """By the joint model without the program and its siblings on any board; seconds of the board's model."""
    watts = {_key(one.gpu_id, one): one.application_w for one in held_out_runs()}
    model = power_model(gpu, ENERGY)
    assert model is not None  # of a measured board
    for run, example in zip(runs(gpu, ENERGY, model, found), found, strict=True):
        power_w, time_s = watts[_key(gpu.id, example)], run.predicted[Quantity.TIME]
        energy_j = power_w * time_s
        predicted = {Quantity.POWER: power_w, Quantity.TIME: time_s, Quantity.ENERGY: energy_j}
        yield replace(run, predicted=predicted)


def _key(gpu_id: str, one: Example | HeldOutRun) -> tuple[object, ...]:
    if isinstance(one, HeldOutRun):
        clocks: tuple[float | None, float | None] = (one.core_mhz, one.memory_mhz)
    else:
        clocks = (one.subject.clocks.core_mhz, one.subject.clocks.memory_mhz)
    return (gpu_id, one.dataset, one.benchmark, one.kernel, one.arguments, *clocks)


def variants(name: str) -> list[Run]:
    """Every microbenchmark run, by a model that was fitted without its benchmark."""
    found: list[Run] = []
    for gpu_id in VARIANTS_OF:
        gpu = load_gpu(gpu_id)
        training = examples(gpu, Use.TRAINING).examples
        for benchmark in dict.fromkeys(example.benchmark for example in training):
            own = [example for example in training if example.benchmark == benchmark and not example.doubt]
            if own:
                others = tuple(example for example in training if example.benchmark != benchmark)
                fitted = None if name == ENERGY else learner(entry(name)).fit(others)
                found += runs_held_out(gpu, own) if fitted is None else runs(gpu, name, fitted, own)
    return found


def applications(name: str) -> list[Run]:
    found: list[Run] = []
    for gpu_id in APPLICATIONS_OF:
        gpu = load_gpu(gpu_id)
        model = power_model(gpu, name)
        tested = examples(gpu, Use.TEST).examples
        if model is not None:
            found += runs_held_out(gpu, tested) if name == ENERGY else runs(gpu, name, model, tested)
    return found


def curve(name: str, kin: Kin, quantity: Quantity, found: Sequence[Run]) -> Curve | None:
    """Bins of the predicted increase with the share of true increases and the spread of the error."""
    pairs: list[tuple[float, float, str]] = []
    by_state: dict[object, list[Run]] = defaultdict(list)
    for run in found:
        by_state[run.board, run.clocks, run.program if kin is Kin.VARIANTS else ""].append(run)
    for same in by_state.values():
        for one, other in itertools.combinations(same, 2):
            predicted = math.log(one.predicted[quantity] / other.predicted[quantity])
            measured = math.log(one.measured[quantity] / other.measured[quantity])
            if math.isnan(predicted + measured) or predicted == 0:
                continue
            sign = math.copysign(1.0, predicted)
            group = f"{one.board} {one.program}" if kin is Kin.VARIANTS else one.board
            pairs.append((sign * predicted, sign * measured, group))
    if len(pairs) < LEAST_PAIRS:
        return None
    groups = [group for *_, group in pairs]
    numbers = {group: groups.count(group) for group in set(groups)}
    weights = np.array([1.0 / numbers[group] for group in groups])
    predicted, measured = (np.array([pair[k] for pair in pairs]) for k in (0, 1))
    error, worse = measured - predicted, measured > 0
    bins: list[tuple[float, np.ndarray]] = []
    for low, high in zip(EDGES, (*EDGES[1:], math.inf), strict=True):
        inside = (predicted >= low) & (predicted < high)
        if bins and inside.sum() < LEAST_PAIRS:
            bins[-1] = (bins[-1][0], bins[-1][1] | inside)
        else:
            bins.append((low, inside))
    shares = monotone([(float(weights[i] @ worse[i] / weights[i].sum()), weights[i].sum()) for _, i in bins])
    return Curve(
        name,
        kin,
        quantity,
        tuple(
            Knot(
                low,
                round(share, 4),
                round(quantile(error[inside], weights[inside], 0.05), 4),
                round(quantile(error[inside], weights[inside], 0.95), 4),
                int(inside.sum()),
            )
            for (low, inside), share in zip(bins, shares, strict=True)
        ),
    )


def monotone(values: Sequence[tuple[float, float]]) -> list[float]:
    """The non-decreasing values nearest to (value, weight) in the mean square."""
    blocks: list[list[float]] = []
    for value, weight in values:
        blocks.append([value, weight, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            last, before = blocks.pop(), blocks.pop()
            weight = last[1] + before[1]
            blocks.append([(last[0] * last[1] + before[0] * before[1]) / weight, weight, last[2] + before[2]])
    return [value for value, _, number in blocks for _ in range(int(number))]


def quantile(values: np.ndarray, weights: np.ndarray, share: float) -> float:
    order = np.argsort(values)
    passed = np.cumsum(weights[order]) / weights.sum()
    return float(values[order][np.searchsorted(passed, share)])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, metavar="JSON", help="where to write the curves")
    parser.add_argument("-o", "--output", type=Path, metavar="MD", help="whose section to renew")
    parser.add_argument("--table-only", action="store_true", help="take the curves from the data file")
    options = parser.parse_args(arguments)
    if options.table_only:
        publish(options.output, "gate_ratios", table(known_curves()))
        return
    curves: list[Curve] = []
    for name in MODELS:
        for kin, found in ((Kin.VARIANTS, variants(name)), (Kin.PROGRAMS, applications(name))):
            curves += filter(None, (curve(name, kin, quantity, found) for quantity in Quantity))
    boards = sorted({*VARIANTS_OF, *APPLICATIONS_OF})
    document = {
        "schema_version": 1,
        "made_by": "tools/wattslice_tools/wild/gate_ratios.py",
        "tables": [
            {"name": path.name, "sha256": sha256(path)}
            for gpu_id in boards
            for path in (measurements_path(gpu_id), workloads_path(gpu_id))
        ],
        "sources": sorted(
            {
                f"{one.repository} {one.path} at {one.commit}"
                for gpu_id in boards
                for card in [measured_tables(gpu_id).card]
                if card is not None
                for one in card.datasets
            }
        ),
        "curves": [to_builtins(one, enc_hook=float) for one in curves],
    }
    options.data.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    publish(options.output, "gate_ratios", table(curves))


def table(curves: Sequence[Curve]) -> list[str]:
    kinds = {Kin.VARIANTS: "variants of one program", Kin.PROGRAMS: "unrelated programs"}
    shown = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
    lines = [
        "| Model | Pairs of | Quantity | Pairs | "
        + " | ".join(f"+{math.expm1(x):.0%}" for x in shown)
        + " | 90 % from |",
        "|---|---|---|---|" + "---|" * (len(shown) + 1),
    ]
    for one in curves:
        number = sum(knot.pairs for knot in one.knots)
        start = one.significant_from(0.9)
        cells = [f"{one.at(x + 1e-9).p_worse:.0%}" for x in shown]
        lines.append(
            f"| {one.model} | {kinds[one.kin]} | {one.quantity} | {number} | "
            + " | ".join(cells)
            + f" | {'never' if start is None else f'+{start:.0%}'} |"
        )
    return [*lines, ""]


if __name__ == "__main__":
    main()
