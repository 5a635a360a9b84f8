"""`wattslice gate --max-power W PATH...`"""

from __future__ import annotations

import math

import click

from wattslice.analysis import Analysis
from wattslice.cli import FAILED, FINDINGS, FINE
from wattslice.commands.analyze import no_kernels
from wattslice.commands.common import CONTEXT, analysis_options, analyzed, message, options_from, write_result
from wattslice.config import ConfigError, make_config
from wattslice.findings import findings_of
from wattslice.gate import UnknownPolicy, judge
from wattslice.ir import Severity
from wattslice.report.gcc import finding_line
from wattslice.report.verdict import write_verdict
from wattslice.settings import Settings, find_settings


@click.command(context_settings=CONTEXT)
@analysis_options
@click.option("--max-power", "max_power_w", type=float, metavar="W", help="Budget per kernel in watts.")
@click.option("--unknown", metavar="fail|warn", help="A kernel of unknown power fails the gate, or warns.")
def gate(max_power_w: float | None, unknown: str | None, **values: object) -> int:
    """Check every kernel's predicted power against a budget.

    Exit status 1 when a kernel is over it. A kernel whose power is unknown fails the gate as well, unless
    --unknown warn is given: unknown is not "below the budget".
    """
    options = options_from(values)
    settings = find_settings(options.paths)
    budget_w = _budget(max_power_w, settings)
    policy = _policy(unknown or settings.gate_unknown)
    config = make_config(options, settings)
    for note in config.notes:
        message(note)
    analysis = analyzed(config)
    verdict = judge(analysis, budget_w, policy)
    write_result(lambda file: write_verdict(verdict, analysis, file), None)
    _tell_problems(analysis)
    if not analysis.kernels:
        message(no_kernels(analysis))
        return FAILED
    return FINE if verdict.passed else FINDINGS


def _budget(option: float | None, settings: Settings) -> float:
    budget_w = settings.gate_max_power_w if option is None else option
    if budget_w is None:
        raise ConfigError("gate needs a budget", remedy="--max-power W, or gate.max-power in the settings")
    if not (math.isfinite(budget_w) and budget_w > 0):
        raise ConfigError(f"--max-power: {budget_w:g} is not a budget", remedy="a positive number of watts")
    return budget_w


def _policy(value: str | None) -> UnknownPolicy:
    known = [policy.value for policy in UnknownPolicy]
    if value is not None and value not in known:
        raise ConfigError(f"--unknown: unknown value {value!r}", remedy=f"one of {', '.join(known)}")
    return UnknownPolicy.FAIL if value is None else UnknownPolicy(value)


def _tell_problems(analysis: Analysis) -> None:
    """What the source withheld goes to stderr: a gate that passed should not hide what it rests on."""
    for finding in findings_of(analysis):
        if finding.severity is not Severity.NOTE and finding.rule != "PW021":
            click.echo(finding_line(finding), err=True)
