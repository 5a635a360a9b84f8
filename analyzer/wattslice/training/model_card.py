"""The model card in Markdown: what models were trained on, how they were judged, what they are worth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wattslice.training.examples import LeftOut
from wattslice.training.judging import Judgement, judge_held_out
from wattslice.training.training import MOST_FOLDS, TrainedEntry, TrainingData, TrainingResult
from wattslice_models.energy import Component
from wattslice_models.energy_power import EnergyPowerModel
from wattslice_models.learners import ENTRIES, GENERAL, MEANS, entry
from wattslice_models.trained_regression import Coefficient, TrainedRegression
from wattslice_models.wavelet_network import WaveletModel
from wattslice_models.worth import HeldOutWatts, worth

TABLE_HEAD = (
    "| Model | runs | MAPE | median | worst | Spearman | in the 90 % interval |",
    "|---|---|---|---|---|---|---|",
)


def model_card(result: TrainingResult, pictures: Sequence[str], *, choice_is_new: bool = True) -> str:
    """The card of everything that one `wattslice train` learnt; `pictures`: files beside it.

    `choice_is_new`: whether this training chose what ``--model auto`` takes.
    """
    data = result.data
    name = ", ".join(f"{gpu.name} (`{gpu.id}`)" for gpu in data.gpus)
    lines = [
        f"# Power models of the {name}",
        "",
        _choice(result, choice_is_new=choice_is_new),
        "",
        "| Candidate | mean error, benchmark by benchmark | |",
        "|---|---|---|",
        *(
            f"| {entry(one.name).title} | {_percent(one.error)} | {one.reason} |"
            for one in result.choice.candidates
        ),
        "",
        "## Data",
        "",
        *_data(data),
        "",
        "## Protocol",
        "",
        *_protocol(data),
        "",
        *TABLE_HEAD,
        *(
            judgement_line(one.entry.title, judge_held_out(one.held_out), _loses_to(result, one))
            for one in result.entries
        ),
        "",
        *_beside_means(result),
        *(f"![{picture}]({picture})" for picture in pictures),
        "",
        "## Models",
        "",
    ]
    for one in result.entries:
        lines += _model(one)
    lines += ["## Made with", "", f"Seed {result.entries[0].trained.provenance.seed}.", ""]
    provenance = result.entries[0].trained.provenance
    lines += [f"- {entry.package} {entry.version}" for entry in provenance.versions]
    lines += [f"- `{entry.name}`, SHA-256 `{entry.sha256}`" for entry in provenance.data]
    return "\n".join([*lines, ""])


def _choice(result: TrainingResult, *, choice_is_new: bool) -> str:
    if not choice_is_new:
        alone = len(result.entries) == 1
        why = "One model, trained on its own" if alone else "No model that knows of a kernel could be trained"
        return f"{why}: what `--model auto` takes was not chosen here.{_warning(result)}"
    chosen = f"`--model auto` takes **{entry(result.choice.name).title}**: {result.choice.reason}."
    if result.choice.by_rule:
        told = "No run of a test set took part, though the rule was made in sight of one (decision 0005)."
    else:
        told = "Nothing of a test set took part in the choice."
    return f"{chosen} {told}{_warning(result)}"


def judgement_line(title: str, found: Judgement, loses_to: Sequence[str] = ()) -> str:
    """A row of `TABLE_HEAD`; `loses_to`: titles of the means that beat it."""
    title = f"{title}, **loses to the {' and the '.join(loses_to)}**" if loses_to else title
    if found.errors is None:
        return f"| {title} | 0 | – | – | – | – | – |"
    runs = f"{found.errors.runs}" + (f" ({found.silent} unknown)" if found.silent else "")
    rank = "–" if found.errors.spearman is None else f"{found.errors.spearman:.2f}"
    coverage = "–" if found.coverage is None else f"{found.coverage:.0%}"
    return (
        f"| {title} | {runs} | {found.errors.mean:.1%} | {found.errors.median:.1%} | "
        f"{found.errors.worst:.1%} | {rank} | {coverage} |"
    )


def left_out_lines(left_out: Iterable[LeftOut]) -> list[str]:
    """What could not serve, runs of equal reason together."""
    by_reason: dict[str, list[LeftOut]] = {}
    for one in left_out:
        by_reason.setdefault(one.reason, []).append(one)
    lines: list[str] = []
    for reason, entries in by_reason.items():
        names = list(dict.fromkeys(entry.benchmark for entry in entries))
        shown = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
        runs = sum(entry.runs for entry in entries)
        lines.append(f"- {runs} runs ({shown}): {reason}.")
    return lines


def _protocol(data: TrainingData) -> list[str]:
    if len(data.gpus) > 1:
        return [
            "Every GPU is predicted by a model that never saw it: the model answers for GPUs never measured. "
            "The interval holds 90 % of the held-out runs, each GPU with equal weight; the last column asks "
            "how often an interval made of the *other* benchmarks holds the runs of one."
        ]
    return [
        "Every benchmark is predicted by a model that never saw it (benchmarks leave one at a time, or in "
        f"{MOST_FOLDS} parts when there are more). The interval of a model holds 90 % of its held-out runs, "
        "each benchmark with equal weight; the last column asks how often an interval made of the *other* "
        "benchmarks holds the runs of one. It *loses* by the mean error benchmark by benchmark, above."
    ]


def _beside_means(result: TrainingResult) -> list[str]:
    """Of models that were trained without the means: how far those are off over the same runs."""
    several = len(result.data.gpus) > 1
    asked = "boards that it never saw" if several else "benchmarks that it never saw"
    lines: list[str] = []
    for one in () if any(one.entry.name in MEANS for one in result.entries) else result.entries:
        runs = [
            HeldOutWatts(
                (example.subject.gpu.id, example.dataset),
                (example.subject.clocks.core_mhz, example.subject.clocks.memory_mhz),
                example.power_w,
                predicted_w,
            )
            for example, predicted_w in ((part.example, part.prediction.power_w) for part in one.held_out)
            if predicted_w is not None
        ]
        if runs:
            learnt = "means are those of the runs themselves, every data set of a board with equal weight"
            lines += [f"{worth(GENERAL, one.entry.name, asked, learnt, runs).told}.", ""]
    return lines


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _loses_to(result: TrainingResult, one: TrainedEntry) -> list[str]:
    errors = {entry.name: entry.error for entry in result.choice.candidates}
    own = errors.get(one.entry.name)
    if own is None or one.entry.name in MEANS:
        return []
    found: list[str] = []
    for known in ENTRIES:
        error = errors.get(known.name) if known.name in MEANS else None
        if error is not None and error < own:
            found.append(known.title)
    return found


def _warning(result: TrainingResult) -> str:
    """What has to be said of a choice that is no better than knowing nothing of a kernel."""
    chosen = next((one for one in result.entries if one.entry.name == result.choice.name), None)
    loses_to = [] if chosen is None else _loses_to(result, chosen)
    return f" **It loses to the {' and the '.join(loses_to)}.**" if loses_to else ""


def _data(data: TrainingData) -> list[str]:
    benchmarks = dict.fromkeys(example.benchmark for example in data.examples)
    shown = ", ".join(list(benchmarks)[:8]) + (" and more" if len(benchmarks) > 8 else "")
    core = [example.subject.clocks.core_mhz for example in data.examples]
    clocks = sorted({mhz for mhz in core if mhz is not None})
    watts = [example.power_w for example in data.examples]
    lines = [
        f"{len(data.examples)} runs of {len(benchmarks)} benchmarks ({shown}), {min(watts):.0f} to "
        f"{max(watts):.0f} W"
        + (f", at {len(clocks)} core clocks from {clocks[0]:g} to {clocks[-1]:g} MHz." if clocks else "."),
        "",
    ]
    keys = dict.fromkeys(example.dataset for example in data.examples)
    for card in data.cards:
        for dataset in card.datasets:
            if dataset.key in keys:
                lines += [
                    f"- `{dataset.key}`: {dataset.protocol}. Measured by {dataset.measured_by}. "
                    f"Watts: {dataset.power_definition}.",
                    *(f"  - Known fault: {fault}." for fault in dataset.faults),
                ]
    if len(keys) > len(data.gpus):
        lines.append(f"- {len(keys)} data sets were fitted as if one board had measured them.")
    return [*lines, *left_out_lines(data.left_out)]


def _model(one: TrainedEntry) -> list[str]:
    interval = one.trained.model.interval
    lines = [
        f"### {one.entry.title[0].upper()}{one.entry.title[1:]} (`{one.entry.name}.json`)",
        "",
        f"Interval: {interval.low:.2f} to {interval.high:.2f} times the prediction ({interval.source}).",
        "",
    ]
    if one.passed_over:
        lines += ["Not learnt from:", "", *left_out_lines(one.passed_over), ""]
    if isinstance(one.trained.model, EnergyPowerModel):
        lines += _energy_coefficients(one.trained.model)
    if isinstance(one.trained.model, TrainedRegression):
        lines += _regression_coefficients(one.trained.model)
    if isinstance(one.trained.model, WaveletModel):
        lines += wavelet_training(one.trained.model)
    return lines


def wavelet_training(model: WaveletModel) -> list[str]:
    """How long a network learnt, and how near that brought it to what it did not see."""
    return [
        f"{len(model.wavelons)} wavelons after {model.training_steps} steps of training: where benchmarks "
        f"held out were missed least, by {model.held_out_error:.3f} of the logarithm.",
        "",
    ]


def _regression_coefficients(model: TrainedRegression) -> list[str]:
    domain = model.domain
    lines = [
        "P = β0·Sa + β1·Ã^β2 at each pair of clocks, with 95 % confidence intervals. Domain: "
        f"Ã {domain.density_min:.3g} to {domain.density_max:.3g}, "
        f"Sa {domain.saturation_min:.3g} to {domain.saturation_max:.3g}.",
        "",
        "| core MHz | memory MHz | β0, W | β1, W | β2 | residuals independent | normal |",
        "|---|---|---|---|---|---|---|",
    ]
    for clock in model.clocks:
        memory = "–" if clock.memory_mhz is None else f"{clock.memory_mhz:.0f}"
        found = clock.diagnostics
        lines.append(
            f"| {clock.core_mhz:.0f} | {memory} | {_coefficient(clock.beta_0_w)} "
            f"| {_coefficient(clock.beta_1_w)} | {_coefficient(clock.beta_2)} "
            f"| {_verdict(found.independent)} ({found.durbin_watson}; {found.sign_runs}) "
            f"| {_verdict(found.normal)} ({found.normality}) |"
        )
    return [*lines, ""]


def _coefficient(found: Coefficient) -> str:
    if found.low is None or found.high is None:
        return f"{found.value:.3g} (at its bound)"
    return f"{found.value:.3g} [{found.low:.3g}, {found.high:.3g}]"


def _verdict(holds: bool | None) -> str:
    return "unknown" if holds is None else "yes" if holds else "no"


def _energy_coefficients(found: EnergyPowerModel) -> list[str]:
    model = found.model
    return [
        f"Idle {model.idle_w:.1f} W, memory clock {model.memory_clock_w:.1f} W, active SMs "
        f"{model.active_w:.1f} W at {model.voltage.reference_mhz:g} MHz, {model.clocked_share:.0%} of it "
        f"without busy SMs; relative voltage {model.voltage.floor:.2f} at least, rising by "
        f"{model.voltage.slope:.2f} of the clock; work counts to the power {model.concavity:.2f} of its "
        f"share of {model.reference_w:g} W. Domain: {model.core_mhz_min:g} to {model.core_mhz_max:g} MHz, "
        "kernels of components that are seen.",
        "",
        "| Component | energy on live values, pJ | on idle ones | |",
        "|---|---|---|---|",
        *(
            f"| {entry.component} | {entry.energy_j * 1e12:.2f} per {_unit(entry.component)} | "
            f"{entry.idle_energy_j * 1e12:.2f} | {'seen' if entry.fitted else 'presumed'} |"
            for entry in model.energies
        ),
        "",
    ]


def _unit(component: Component) -> str:
    if component in (Component.SHARED, Component.L1, Component.L2, Component.DRAM):
        return "byte"
    return "warp instruction" if component is Component.ISSUE else "thread instruction"
