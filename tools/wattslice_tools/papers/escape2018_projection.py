"""ESCAPE D3.5, 2018: projections of workflows onto many nodes (Figures 28 to 30)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from wattslice.projection.projection import Configuration, Projection, project_workflow
from wattslice.projection.reader import read_workflow
from wattslice.projection.workflow import Component, Workflow
from wattslice_tools.papers.escape2018_energy import coefficients
from wattslice_tools.papers.markdown import table

_WORKFLOWS = "corpora/wattslice_corpora/workflows"
_ITERATIONS = 100
"""Of BiFFT, in one of its benchmark runs (section 6.1.2)."""


def escape2018_projection() -> tuple[str, ...]:
    """The paragraphs and tables."""
    return (
        "## ESCAPE D3.5 2018: projections of workflows (Figures 28 to 30)",
        "The figures' points are not printed as numbers: what is compared here is what the text says of them."
        f" The workflows are `bifft.toml` and `alaro.toml` in `{_WORKFLOWS}`; `wattslice project` shows them"
        " whole. Their comments say which figures the paper prints and which are ours: above all the powers"
        " of both CPUs (those of the E5-2640v3, Table 35) and the idle powers of the GPUs (10 and 20 W: only"
        " their ratio is printed).",
        *_figure_28(),
        *_figures_29_and_30(),
    )


def _figure_28() -> tuple[str, ...]:
    stated = _workflow("bifft.toml")
    projection = project_workflow(stated)
    entries = _all(projection)
    rows = [
        (str(entry.parts[0].nodes), str(entry.parts[0].cores), f"{entry.time_s:.1f}", f"{entry.energy_j:.0f}")
        for entry in entries
    ]
    one_core_j = [_joules(entry) for entry in entries if entry.parts[0].cores == 1]
    spread = (max(one_core_j) - min(one_core_j)) / min(one_core_j)
    return (
        "### Figure 28: BiFFT on nodes with an E5-2697v3",
        table(("nodes", "cores", "time / s", "energy / J"), rows),
        _verdicts(
            (
                "8 nodes with 1 core are best in time and in energy",
                _eight_nodes_with_one_core(projection),
                "by any of the three objectives",
            ),
            (
                "energy remains more or less the same with the number of nodes",
                spread < 0.01,
                f"without communication it differs by {100 * spread:.2g} %",
            ),
            (
                "more cores take more energy and more time",
                all(
                    _joules(more) > _joules(one) and more.time_s > one.time_s for one, more in _pairs(entries)
                ),
                "the time is Table 39's, not a model's",
            ),
        ),
        _with_coefficients(stated, projection),
    )


def _eight_nodes_with_one_core(projection: Projection) -> bool:
    best = [projection.configuration(index) for _, index in projection.best if index is not None]
    return all((entry.parts[0].nodes, entry.parts[0].cores) == (8, 1) for entry in best)


def _with_coefficients(stated: Workflow, used: Projection) -> str:
    """What Figure 28 would be with the power coefficients that are printed for BiFFT on another CPU."""
    (bifft,) = stated.components
    printed = replace(bifft, package=coefficients(42)[1], memory=coefficients(43)[1])
    other = project_workflow(replace(stated, components=(printed,)))
    full, found = (
        next(_joules(entry) / entry.time_s for entry in _all(one) if entry.parts[0].cores == 1)
        for one in (used, other)
    )
    lowest, lowest_other = (min(map(_joules, _all(one))) for one in (used, other))
    same = _eight_nodes_with_one_core(other) and all(
        _joules(more) > _joules(one) for one, more in _pairs(_all(other))
    )
    return (
        "The power coefficients that Tables 42 and 43 print for BiFFT are not used: found on another CPU ("
        f"idle package {coefficients(42)[0].idle_w:g} W), they make {found:.1f} W of one core of the "
        f"Xeon, whose full load with one core is {full:.1f} W. With them the least energy would be "
        f"{lowest_other / 1e3:.3g} kJ instead of {lowest / 1e3:.3g} kJ; what the paper says of the figure "
        f"{'holds with either' if same else 'would not hold'}."
    )


def _figures_29_and_30() -> tuple[str, ...]:
    stated = _workflow("alaro.toml")
    parts: list[str] = [
        "### Figures 29 and 30: BiFFT on CPU nodes and ACRANEB2 on a GPU",
        "Section 6.2 says that a time step calls BiFFT and ACRANEB2 once each. Table 11 gives ACRANEB2 about"
        f" ten seconds, and one of the {_ITERATIONS} iterations of Table 38 takes BiFFT about one: so read,"
        " the GPU hardly ever waits. The paper's conclusion rests on a GPU that waits for long. So both"
        " readings are computed: one iteration of BiFFT for a call of ACRANEB2, and its whole benchmark run.",
    ]
    for iterations in (1, _ITERATIONS):
        projection = project_workflow(_with_iterations(stated, iterations))
        parts += _reading(projection, iterations)
    return tuple(parts)


def _reading(projection: Projection, iterations: int) -> tuple[str, ...]:
    entries = [
        entry for entry in _all(projection) if entry.parts[0].cores == 1 and entry.energy_j is not None
    ]
    kinds = list(dict.fromkeys(_kinds(entry) for entry in entries))
    counts = sorted({entry.parts[0].nodes for entry in entries})
    by = {(_kinds(entry), entry.parts[0].nodes): entry for entry in entries}
    rows = [
        (
            " + ".join(kind),
            *(f"{by[kind, count].time_s:.2f} s, {_joules(by[kind, count]):.0f} J" for count in counts),
        )
        for kind in kinds
    ]
    gtx_saves = {
        count: _joules(by[("haswell", "k20"), count]) - _joules(by[("haswell", "gtx970"), count])
        for count in counts
    }
    saves = list(gtx_saves.values())
    alone = {
        entry.parts[1].node: (entry.parts[1].time_s, entry.parts[1].energy_j or 0.0) for entry in entries
    }
    fastest = min(entries, key=lambda entry: entry.time_s)
    frugal = min(entries, key=_joules)
    said = "; ".join(f"{count} nodes {joules:+.0f} J" for count, joules in gtx_saves.items())
    return (
        f"With {iterations} iteration{'s' * (iterations > 1)} of BiFFT for one call of ACRANEB2:",
        table(("nodes of", *(f"{count} CPU node{'s' * (count > 1)}" for count in counts)), rows),
        _verdicts(
            (
                "ACRANEB2 alone takes about the same time on the GPUs, and least energy on the K20",
                alone["k20"][1] < alone["gtx970"][1] and alone["k20"][0] < 1.1 * alone["gtx970"][0],
                "; ".join(
                    f"{node} {time_s:.1f} s, {energy_j:.0f} J" for node, (time_s, energy_j) in alone.items()
                ),
            ),
            (
                "with BiFFT it takes less energy on the GTX 970 than on the K20, above all on few nodes",
                all(value > 0 for value in saves) and saves == sorted(saves, reverse=True),
                f"saved by the GTX 970 (Haswell): {said}; the idle powers decide",
            ),
            (
                "Skylake and GTX 970 minimise both time and energy",
                _kinds(fastest) == _kinds(frugal) == ("skylake", "gtx970"),
                f"fastest: {_told(fastest)}; least energy: {_told(frugal)}",
            ),
        ),
    )


def _workflow(name: str) -> Workflow:
    import wattslice_corpora

    return read_workflow(Path(wattslice_corpora.__file__).parent / "workflows" / name)


def _with_iterations(workflow: Workflow, iterations: int) -> Workflow:
    bifft, *others = workflow.components
    more: Component = replace(
        bifft,
        measured=tuple(replace(entry, time_s=entry.time_s * iterations) for entry in bifft.measured),
        loops=tuple(
            replace(
                loop, work_flop=loop.work_flop * iterations, traffic_bytes=loop.traffic_bytes * iterations
            )
            for loop in bifft.loops
        ),
    )
    return replace(workflow, components=(more, *others))


def _all(projection: Projection) -> list[Configuration]:
    return [projection.configuration(index) for index in range(len(projection.outcomes))]


def _pairs(entries: Sequence[Configuration]) -> list[tuple[Configuration, Configuration]]:
    """The same number of nodes with one core and with more."""
    ones = {entry.parts[0].nodes: entry for entry in entries if entry.parts[0].cores == 1}
    return [(ones[entry.parts[0].nodes], entry) for entry in entries if entry.parts[0].cores != 1]


def _kinds(entry: Configuration) -> tuple[str, ...]:
    return tuple(part.node for part in entry.parts)


def _told(entry: Configuration) -> str:
    return f"{' + '.join(_kinds(entry))}, {entry.parts[0].nodes} nodes"


def _joules(entry: Configuration) -> float:
    """The energy of a configuration whose energy is known."""
    assert entry.energy_j is not None
    return entry.energy_j


def _verdicts(*statements: tuple[str, bool, str]) -> str:
    rows = [(said, "yes" if holds else "NO", found) for said, holds, found in statements]
    return table(("the paper says", "reproduced", "found"), rows)
