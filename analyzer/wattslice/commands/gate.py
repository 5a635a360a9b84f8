"""`wattslice gate [--max-power W] [--baseline FILE] [--against REV] PATH...`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from wattslice.commands.analyze import no_kernels
from wattslice.commands.common import analysis_options, analyzed, configured, gate_options, options_from
from wattslice.commands.output import (
    CONTEXT,
    format_option,
    message,
    output_option,
    write_report,
    write_result,
)
from wattslice.commands.table import FAILED, FINDINGS, FINE
from wattslice.config.options import Place, is_silent, said_at
from wattslice.errors import WattsliceError
from wattslice.report.formats import FORMATS

if TYPE_CHECKING:
    from wattslice.analysis import Analysis
    from wattslice.config.budgets import Budget
    from wattslice.config.config import Config, Options
    from wattslice.gate.against import Comparison
    from wattslice.gate.baseline import Baseline, Made
    from wattslice.gate.changes import Policy
    from wattslice.gate.verdict import Compared


@click.command(context_settings=CONTEXT)
@analysis_options
@gate_options
@click.option(
    "--update-baseline", is_flag=True, help="Write the baseline instead.  [default: watts.baseline]"
)
@click.option("--against", metavar="REV", help="Compare with a git revision: main, HEAD~1, a commit.")
@format_option(*FORMATS)
@output_option
def gate(
    update_baseline: bool, against: str | None, report_format: str, output: Path | None, **values: object
) -> int:
    """Check kernels against budgets, a baseline or a git revision.

    Exit status 1 when a kernel is over a budget or significantly worse than before. A kernel whose power is
    unknown fails a budget as well, unless --unknown warn is given: unknown is not "below the budget".
    """
    from wattslice.commands.judging import judging_of
    from wattslice.config.config import merged, naming_settings
    from wattslice.config.settings import find_settings

    options = options_from(values)
    settings = find_settings(options.paths)
    said = merged(options, settings)
    with naming_settings(options, settings):
        budgets, unknown_policy, policy = judging_of(said)
    config = configured(options, report_format, settings)
    if update_baseline:
        _refuse_judging(options, {"--against": against, "--format": report_format != "text", "-o": output})
        return _update(config, said.gate_baseline)
    known = _baseline(said.gate_baseline, config)
    comparison = _comparison(options.paths, config, against)
    _require_a_yardstick(budgets, known, comparison)
    affected = None if comparison is None else _affected(config, comparison)
    analysis = analyzed(config) if affected is None or budgets or known is not None else affected
    if not analysis.files:
        message(f"no file changed against {against}: nothing to compare")
    compared = _against_baseline(known, analysis, policy)
    if comparison is not None and affected is not None:
        compared.append(_against(comparison, config, affected, policy))
    from wattslice.findings.findings import findings_of
    from wattslice.gate.verdict import judge
    from wattslice.report.text import write_verdict

    several = any(path.is_dir() for path in options.paths) and comparison is None
    verdict = judge(
        *(analysis, budgets, unknown_policy, compared), confidence=policy.confidence, tell_unmatched=several
    )
    is_empty = not analysis.kernels and not compared
    status = FAILED if is_empty else FINE if verdict.passed else FINDINGS
    if report_format == "text":
        write_result(lambda file: write_verdict(verdict, analysis, file), output)
        _tell_problems(analysis)
    else:
        suppressed = verdict.suppressed if FORMATS[report_format].tells_suppressed else ()
        findings = (*verdict.findings, *suppressed, *findings_of(analysis))
        write_report(report_format, analysis, findings, output, status)
    if is_empty:
        message(no_kernels(analysis))
    return status


def _require_a_yardstick(
    budgets: tuple[Budget, ...], baseline: object | None, comparison: object | None
) -> None:

    if not budgets and baseline is None and comparison is None:
        remedy = "--max-power W or gate.max-power in the settings, --baseline FILE, or --against REV"
        raise WattsliceError("gate needs a budget, a baseline or a revision", remedy=remedy)


def _refuse_judging(options: Options, others: dict[str, object]) -> None:
    """What has no effect beside --update-baseline should not look as if it had. Raises `WattsliceError`."""

    judging = (option for key, option in said_at(Place.GATE).items() if key != "gate.baseline")
    typed = {option.name: getattr(options, option.field) for option in judging}
    given = [name for name, value in (others | typed).items() if not is_silent(value)]
    if given:
        raise WattsliceError(
            f"--update-baseline judges nothing: it has no use for {', '.join(given)}",
            remedy="one run that judges, another that writes the baseline",
        )


def _update(config: Config, path: Path | None) -> int:
    from wattslice.gate.baseline import DEFAULT_NAME, made_with, write_baseline

    target = path or Path(DEFAULT_NAME)
    made = made_with(config)
    analysis = analyzed(config)
    _tell_problems(analysis)
    if not analysis.kernels:
        message(no_kernels(analysis))
        return FAILED
    written, kept = write_baseline(target, analysis, made)
    more = f", {kept} of other files kept" if kept else ""
    text = f"{target}: {written} launch{'es' * (written != 1)} on {config.gpu.gpu_id}{more}"
    write_result(text)
    return FINE


def _baseline(path: Path | None, config: Config) -> tuple[Baseline, Made] | None:
    if path is None:
        return None
    from wattslice.gate.baseline import check_comparable, made_with, read_baseline

    known, made = read_baseline(path), made_with(config)
    check_comparable(known, made)
    if known.made.version != made.version:
        message(f"{path} was made by wattslice {known.made.version}, this is {made.version}")
    return known, made


def _comparison(paths: tuple[Path, ...], config: Config, against: str | None) -> Comparison | None:
    if against is None:
        return None
    from wattslice.gate.against import plan

    return plan(paths, config, against)


def _affected(config: Config, comparison: Comparison) -> Analysis:
    """Today's state of the files whose kernels may differ from the revision's, and of no other."""
    from wattslice.launches.launch import NO_OVERRIDES

    if not comparison.now:
        return _nothing(config)
    facts = replace(config.facts, typed_overrides=NO_OVERRIDES)
    return _analyze_changed(replace(config, files=comparison.now, facts=facts))


def _analyze_changed(config: Config) -> Analysis:
    """Like `analyzed`, but a single unreadable file is a finding: it may be no worse than before."""
    from wattslice.ir import Diagnostic, Severity

    try:
        return analyzed(config)
    except WattsliceError as error:
        if len(config.files) != 1:
            raise
        file = str(config.files[0])
        diagnostic = Diagnostic("PW001", Severity.ERROR, file, error.line or 0, error.message)
        return replace(_nothing(config), files=(file,), diagnostics=(diagnostic,), unread=(file,))


def _nothing(config: Config) -> Analysis:
    """Of no file: none changed, or those that did are gone."""
    from wattslice.analysis import Analysis
    from wattslice_models.gpu import load_gpu

    gpu = load_gpu(config.gpu.gpu_id)
    return Analysis(gpu.id, gpu.name, config.gpu.source, (), (), ())


def _against_baseline(
    known: tuple[Baseline, Made] | None, analysis: Analysis, policy: Policy
) -> list[Compared]:
    if known is None:
        return []
    from wattslice.gate.baseline import baseline_records, records_of_files, shared_path
    from wattslice.gate.changes import Explanation, compare, with_losses
    from wattslice.gate.records import match

    baseline, _ = known
    new = baseline_records(analysis, baseline.path)
    old = records_of_files(baseline, analysis.files, new)
    about = f"against {baseline.path.name}"
    found = compare(
        match(old, new),
        policy,
        about,
        lambda record: record.analysis.source.place if record.analysis else ("", 0),
        lambda _pair, _quantity: Explanation(),
    )
    folder = baseline.path.resolve().parent
    return [with_losses(found, analysis, baseline.unread, lambda file: shared_path(file, folder), policy)]


def _against(comparison: Comparison, config: Config, affected: Analysis, policy: Policy) -> Compared:
    from wattslice.gate.against import compare_with

    found, notes = compare_with(comparison, config, affected, policy, _analyze_changed)
    for note in notes:
        message(note)
    return found


def _tell_problems(analysis: Analysis) -> None:
    """What the source withheld goes to stderr: a gate that passed should not hide what it rests on."""
    from wattslice.findings.findings import findings_of
    from wattslice.ir import Severity
    from wattslice.report.ci.gcc import finding_line

    for finding in findings_of(analysis):
        if finding.severity is not Severity.NOTE and finding.rule != "PW021":
            click.echo(finding_line(finding), err=True)
