"""A projection as tables in the terminal and as JSON."""

from __future__ import annotations

import json
from typing import TextIO

from rich.table import Table
from rich.text import Text

from wattslice.projection.projection import Configuration, Part, Projection
from wattslice.report.terminal import make_console, plain_table, print_stripped
from wattslice.units import UNKNOWN, energy, prefixed, printable, printable_json, three_digits, time
from wattslice.version import __version__
from wattslice_models.frozen_json import encoded
from wattslice_models.pareto import Objective

_NAMES = {
    Objective.ENERGY: "least energy",
    Objective.TIME: "least time",
    Objective.DELAY_PRODUCT: "least energy × delay",
}
_KEPT = {True: "", False: "  (over a limit)", None: "  (unknown whether within the limits)"}
_MOST_FRONT_ROWS = 20


def write_projection(projection: Projection, everything: bool, file: TextIO) -> None:
    """Print the best by each objective, the Pareto front (`everything`: all configurations), what is unknown
    and what is assumed.
    """
    workflow = projection.workflow
    console = make_console(file)
    number = len(projection.outcomes)
    heading = Text.assemble(
        (printable(workflow.name), "bold"),
        f"  {workflow.steps} step{'s' * (workflow.steps > 1)}, {number} configuration{'s' * (number > 1)}"
        f"{_limits(projection)}",
    )
    parts: list[Text | Table] = [heading, Text(), _best_table(projection)]
    front = projection.front
    shown = front if everything else front[:_MOST_FRONT_ROWS]
    if front:
        within = " within the limits" if projection.has_limits else ""
        title = f"Pareto front{within}: {len(front)} of {number}, fastest first"
        parts += [Text(), Text(title, "bold"), _table(projection, shown)]
    else:
        parts += [Text(), Text(f"No Pareto front: {why_none(projection, energy_needed=True)}", "bold")]
    if len(shown) < len(front):
        parts.append(Text(f"and {len(front) - len(shown)} more (--all)", "dim"))
    if everything:
        rest = sorted(set(range(number)) - set(front), key=lambda index: projection.outcomes.time_s[index])
        if rest:
            title = f"The other {len(rest)}, fastest first"
            parts += [Text(), Text(title, "bold"), _table(projection, rest)]
    scaling = _scaling_table(projection)
    if scaling is not None:
        parts += [Text(), Text("Where more nodes stop paying", "bold"), scaling]
    for title, texts in (("Unknown", projection.problems), ("Assumed", projection.assumptions)):
        if texts:
            parts += [Text(), Text(title, "bold"), *(Text(f"  {printable(text)}") for text in texts)]
    print_stripped(console, *parts)


def _limits(projection: Projection) -> str:
    limits = projection.workflow.limits
    told = [
        f"{name} {figure}"
        for name, figure in (
            ("deadline", limits.deadline_s and time(limits.deadline_s)),
            ("energy budget", limits.energy_budget_j and energy(limits.energy_budget_j)),
            ("power budget", limits.power_budget_w and _power(limits.power_budget_w)),
        )
        if figure
    ]
    kept = int(projection.within_limits.sum())
    unknown = f" ({projection.unknown_limits} unknown)" if projection.unknown_limits else ""
    return f", {kept}{unknown} within {', '.join(told)}" if told else ""


def why_none(projection: Projection, *, energy_needed: bool) -> str:
    """Why no configuration is best or on the front; `energy_needed`: one of unknown energy cannot be."""
    if projection.within_limits.any():
        if not energy_needed:
            return "no time is known"
        whose = " of those that keep the limits" if projection.has_limits else ""
        return f"no energy is known{whose}"
    unknown = projection.unknown_limits
    return "no configuration " + (
        f"is known to keep the limits ({unknown} of unknown energy or power)"
        if unknown
        else "keeps the limits"
    )


def _best_table(projection: Projection) -> Table:
    table = _columns("", "time", "energy", "average", "E × T", "configuration")
    for objective, index in projection.best:
        name = Text(("→ " if objective is projection.workflow.objective else "  ") + _NAMES[objective])
        if index is None:
            table.add_row(name, *4 * ("–",), Text("none", "dim"))
        else:
            table.add_row(name, *_figures(projection.configuration(index)))
    return table


def _scaling_table(projection: Projection) -> Table | None:
    """The ways that the best and the front go, each by itself."""
    wanted: set[tuple[str, str]] = set()
    for index in {*projection.front[:_MOST_FRONT_ROWS], *(index for _, index in projection.best)} - {None}:
        runs = zip(projection.components, projection.outcomes.choice[index].tolist(), strict=True)
        wanted |= {(component.component.name, component.way(run).setting) for component, run in runs}
    shown = [entry for entry in projection.scaling if (entry.component, entry.setting) in wanted]
    if not shown:
        return None
    figures = ("fastest with", "speed-up", "energy", "communication ≥ computation")
    table = plain_table(("  component", "on"), figures)
    for entry in shown:
        ratio, start = entry.energy_ratio, entry.communication_from
        table.add_row(
            f"  {printable(entry.component)}",
            printable(entry.setting),
            f"{entry.fastest_nodes} node{'s' * (entry.fastest_nodes > 1)}",
            f"{three_digits(entry.speedup)} ×",
            UNKNOWN if ratio is None else f"{three_digits(ratio)} ×",
            "–" if start is None else f"from {start} nodes",
        )
    return table


def _table(projection: Projection, indices: list[int] | tuple[int, ...]) -> Table:
    table = _columns("", "time", "energy", "average", "E × T", "configuration")
    for index in indices:
        table.add_row(
            "  " + ("→" if index == projection.chosen else " "), *_figures(projection.configuration(index))
        )
    return table


def _columns(*headings: str) -> Table:
    table = plain_table((), ())
    for heading in headings:
        number = heading in ("time", "average", "E × T")
        table.add_column(
            heading, justify="right" if number else "left", no_wrap=heading != headings[-1], overflow="fold"
        )
    return table


def _figures(entry: Configuration) -> tuple[str, str, str, str, str]:
    product = UNKNOWN if entry.energy_delay_js is None else prefixed(entry.energy_delay_js, "J·s")
    several = len(entry.parts) > 1
    lines = [f"{part.component}: {part.label}" if several else part.label for part in entry.parts]
    label = "\n".join(map(printable, lines)) + _KEPT[entry.keeps_limits]
    return time(entry.time_s), _energy(entry), _power(entry.average_power_w), product, label


def _power(power_w: float | None) -> str:
    return UNKNOWN if power_w is None else prefixed(power_w, "W")


def _energy(entry: Configuration) -> str:
    """The energy, with its interval where it has one."""
    low_j, high_j = entry.energy_low_j, entry.energy_high_j
    if entry.energy_j is None or low_j is None or high_j is None or high_j - low_j <= 1e-9 * high_j:
        return energy(entry.energy_j)
    low, high = energy(low_j), energy(high_j)
    if low.split()[-1] == high.split()[-1]:
        low = low.split()[0]
    return f"{energy(entry.energy_j)} ({low}–{high})"


def projection_json(projection: Projection, everything: bool) -> str:
    """One object; docs/project.md lists its keys. `everything`: with all configurations."""
    workflow = projection.workflow
    document: dict[str, object] = {
        "schema_version": 1,
        "tool": "wattslice",
        "tool_version": __version__,
        "workflow": workflow.name,
        "steps": workflow.steps,
        "overlap": workflow.overlap,
        "objective": workflow.objective.value,
        "limits": encoded(workflow.limits),
        "configuration_count": len(projection.outcomes),
        "within_limits_count": int(projection.within_limits.sum()),
        "unknown_limits_count": projection.unknown_limits,
        "best": {
            objective.value: None if index is None else encoded(projection.configuration(index))
            for objective, index in projection.best
        },
        "pareto_front": [encoded(projection.configuration(index)) for index in projection.front],
        "scaling": [encoded(entry) for entry in projection.scaling],
        "unknown": list(projection.problems),
        "assumptions": list(projection.assumptions),
    }
    text = printable_json(json.dumps(document, indent=2, ensure_ascii=False))
    if not everything:
        return f"{text}\n"
    # One line each: there may be a million.
    lines = (_line(projection.configuration(index)) for index in range(len(projection.outcomes)))
    return text.removesuffix("\n}") + ',\n  "configurations": [\n    ' + ",\n    ".join(lines) + "\n  ]\n}\n"


_PARTS = Part.__struct_fields__
_CONFIGURATION = Configuration.__struct_fields__


def _line(entry: Configuration) -> str:
    """As `encoded` and `json.dumps`, in a tenth of their time."""
    plain: dict[str, object] = {name: getattr(entry, name) for name in _CONFIGURATION}
    plain["parts"] = [{name: getattr(part, name) for name in _PARTS} for part in entry.parts]
    return printable_json(json.dumps(plain, ensure_ascii=False))
