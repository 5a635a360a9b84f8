"""The projection of a workflow: every configuration, those worth a choice, and what it all rests on."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from wattslice.errors import WattsliceError
from wattslice.projection.assumptions import assumptions_of
from wattslice.projection.kernels import Analyses, caching_analyses
from wattslice.projection.ways import Way, ways_of
from wattslice.projection.workflow import Component, Workflow, setting_words
from wattslice_models.cluster import ComponentRuns, joined, on_nodes
from wattslice_models.communication import communication_time_s
from wattslice_models.pareto import NO_LIMITS, Objective, best, exceeding, keeping, pareto_front
from wattslice_models.workflow_energy import Outcomes, configurations, workflow_outcomes

MOST_CONFIGURATIONS = 1_000_000


class ProjectedComponent(Struct, frozen=True):
    """A component's ways on one node and, from each, its runs on all its node counts: way after way."""

    component: Component
    ways: tuple[Way, ...]
    runs: ComponentRuns

    def way(self, run: int) -> Way:
        """The way that a run goes."""
        return self.ways[run // self.runs_per_way]

    @property
    def runs_per_way(self) -> int:
        """How many numbers of nodes every way is tried on."""
        return len(self.component.node_counts)


class Part(Struct, frozen=True):
    """One component in one configuration; its energy is without that of idle nodes. None: unknown."""

    component: str
    node: str
    nodes: int
    cores: int | None
    clock_mhz: float | None
    gpus: int | None
    source: str
    time_s: float
    compute_s: float
    communication_s: float
    energy_j: float | None

    @property
    def label(self) -> str:
        """`8 x haswell, 1 core, 2600 MHz`"""
        words = setting_words(self.cores, self.clock_mhz, self.gpus)
        return ", ".join((f"{self.nodes} × {self.node}", *words))


class Configuration(Struct, frozen=True):
    """One way to run the whole workflow. None: unknown, and `Projection.problems` say why.

    `energy_low_j`, `energy_high_j` carry the intervals of the powers; `idle_j` of the energy is drawn by
    nodes that wait for the other components; `highest_power_w` is that of the phase that draws most.
    `keeps_limits` None: not known to be over one, but a figure that one bounds is unknown.
    """

    time_s: float
    energy_j: float | None
    energy_low_j: float | None
    energy_high_j: float | None
    idle_j: float | None
    average_power_w: float | None
    highest_power_w: float | None
    energy_delay_js: float | None
    keeps_limits: bool | None
    parts: tuple[Part, ...]


class Projection(Struct, frozen=True):
    """The result; `front` and the values of `best` are indices of configurations, fastest first.

    The front is that of the configurations that keep the limits; `over_limits` are known to exceed one.
    `best` has None for an objective that no configuration within the limits has a value of. `problems`: what
    is unknown and why; `assumptions`: what the figures take for granted.
    """

    workflow: Workflow
    components: tuple[ProjectedComponent, ...]
    outcomes: Outcomes
    within_limits: NDArray[np.bool_]
    over_limits: NDArray[np.bool_]
    front: tuple[int, ...]
    best: tuple[tuple[Objective, int | None], ...]
    scaling: tuple[Scaling, ...]
    problems: tuple[str, ...]
    assumptions: tuple[str, ...]

    @property
    def chosen(self) -> int | None:
        """The best configuration under the workflow's objective."""
        return dict(self.best)[self.workflow.objective]

    @property
    def has_limits(self) -> bool:
        """Whether the workflow bounds time, energy or power."""
        return self.workflow.limits != NO_LIMITS

    @property
    def unknown_limits(self) -> int:
        """How many configurations may or may not keep the limits: what one bounds is unknown."""
        return int((~self.within_limits & ~self.over_limits).sum())

    def configuration(self, index: int) -> Configuration:
        """One of the configurations."""
        outcomes = self.outcomes

        def known(values: NDArray[np.float64]) -> float | None:
            return _known(float(values[index]))

        time_s, energy_j = float(outcomes.time_s[index]), float(outcomes.energy_j[index])
        return Configuration(
            time_s=time_s,
            energy_j=_known(energy_j),
            energy_low_j=known(outcomes.energy_low_j),
            energy_high_j=known(outcomes.energy_high_j),
            idle_j=known(outcomes.idle_j),
            average_power_w=_known(energy_j / time_s),
            highest_power_w=known(outcomes.highest_power_w),
            energy_delay_js=_known(energy_j * time_s),
            keeps_limits=True if self.within_limits[index] else False if self.over_limits[index] else None,
            parts=tuple(
                _part(component, int(run))
                for component, run in zip(self.components, outcomes.choice[index], strict=True)
            ),
        )


def project_workflow(workflow: Workflow, analyses: Analyses | None = None) -> Projection:
    """Project every configuration. `analyses`: where analyses of kernels come from, None: made here.

    Raises `WattsliceError` for a component that runs nowhere, a kernel that is not in its source, and more
    than `MOST_CONFIGURATIONS`.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # what is too large becomes unknown
        return _project(workflow, analyses or caching_analyses())


def _project(workflow: Workflow, analyses: Analyses) -> Projection:
    components: list[ProjectedComponent] = []
    problems: list[str] = []
    idle_problems: dict[str, str] = {}
    assumed: list[str] = []
    for component in workflow.components:
        found = ways_of(component, workflow, analyses)
        components.append(_projected(component, tuple(found.ways), workflow))
        problems += found.problems
        idle_problems |= found.idle_problems
        assumed += found.assumed
    number = configurations([component.runs for component in components])
    if number > MOST_CONFIGURATIONS:
        raise WattsliceError(
            f"{number} configurations are more than {MOST_CONFIGURATIONS}",
            path=workflow.path,
            remedy="give fewer node counts, cores, clocks or node kinds",
        )
    outcomes = workflow_outcomes(
        [component.runs for component in components],
        overlap=workflow.overlap,
        share_nodes=workflow.share_nodes,
    )
    waiting = _unknown_by_waiting(components, outcomes)
    problems += [text for node, text in idle_problems.items() if node in waiting]
    kept = keeping(outcomes, workflow.limits)
    return Projection(
        workflow=workflow,
        components=tuple(components),
        outcomes=outcomes,
        within_limits=kept,
        over_limits=exceeding(outcomes, workflow.limits),
        front=tuple(pareto_front(np.where(kept, outcomes.time_s, np.nan), outcomes.energy_j).tolist()),
        best=tuple((objective, best(outcomes, objective, workflow.limits)) for objective in Objective),
        scaling=tuple(entry for component in components for entry in scaling_of(component)),
        problems=tuple(dict.fromkeys(problems)),
        assumptions=assumptions_of(workflow, [component.ways for component in components], assumed),
    )


def _unknown_by_waiting(components: Sequence[ProjectedComponent], outcomes: Outcomes) -> set[str]:
    """Node kinds whose unknown idle power makes the energy or the power of a configuration unknown."""
    unknown = np.isnan(outcomes.energy_j) | np.isnan(outcomes.highest_power_w)
    found: set[str] = set()
    for number, component in enumerate(components):
        runs = component.runs
        draws = np.repeat([isfinite(way.alone.power_w) for way in component.ways], component.runs_per_way)
        blamed = np.flatnonzero(draws & np.isnan(runs.idle_power_w))
        found |= {component.way(run).node for run in np.intersect1d(blamed, outcomes.choice[unknown, number])}
    return found


def _projected(component: Component, ways: tuple[Way, ...], workflow: Workflow) -> ProjectedComponent:
    nodes = np.array(component.node_counts, dtype=np.float64)
    communication_s = None
    if workflow.network is not None and component.exchanges:
        exchanges_s = communication_time_s(component.exchanges, workflow.network, nodes)
        communication_s = workflow.steps * exchanges_s
    kinds = [node.name for node in workflow.nodes]
    runs = [
        on_nodes(
            way.alone,
            nodes,
            serial_share=component.serial_share,
            communication_s=communication_s,
            overlapped=workflow.hides_communication,
            waits_busy=workflow.waits_busy,
            # The same machine: a node kind with as many GPUs per node.
            machine=kinds.index(way.node) + len(kinds) * (way.gpus or 0),
        )
        for way in ways
    ]
    return ProjectedComponent(component, ways, joined(runs))


def _known(value: float) -> float | None:
    return value if isfinite(value) else None


def _part(component: ProjectedComponent, run: int) -> Part:
    way, runs = component.way(run), component.runs
    energy_j = float(runs.energy_j[run])
    return Part(
        component=component.component.name,
        node=way.node,
        nodes=int(runs.nodes[run]),
        cores=way.cores,
        clock_mhz=way.clock_mhz,
        gpus=way.gpus,
        source=way.source,
        time_s=float(runs.time_s[run]),
        compute_s=float(runs.compute_s[run]),
        communication_s=float(runs.communication_s[run]),
        energy_j=_known(energy_j),
    )


class Scaling(Struct, frozen=True):
    """One way to run one component, among the numbers of nodes that were tried.

    `fastest_nodes`: the fewest that are as fast as any; `speedup` and `energy_ratio` there over the fewest
    nodes, the latter None when an energy is unknown. `communication_from`: the fewest nodes on which
    communication takes at least as long as computation, None: on none.
    """

    component: str
    setting: str
    fewest_nodes: int
    fastest_nodes: int
    fastest_time_s: float
    speedup: float
    energy_ratio: float | None
    communication_from: int | None


def scaling_of(component: ProjectedComponent) -> tuple[Scaling, ...]:
    """One for each way, in their order; none for a component that was tried on one number of nodes."""
    counts = component.runs_per_way
    if counts < 2:
        return ()
    runs = component.runs
    found: list[Scaling] = []
    for number, way in enumerate(component.ways):
        here = slice(number * counts, (number + 1) * counts)
        nodes, time_s, energy_j = runs.nodes[here], runs.time_s[here], runs.energy_j[here]
        fastest = int(np.argmax(time_s <= time_s.min() * (1 + 1e-9)))
        exceeded = np.flatnonzero(runs.communication_s[here] >= runs.compute_s[here])
        ratio = float(energy_j[fastest] / energy_j[0])
        found.append(
            Scaling(
                component=component.component.name,
                setting=way.setting,
                fewest_nodes=int(nodes[0]),
                fastest_nodes=int(nodes[fastest]),
                fastest_time_s=float(time_s[fastest]),
                speedup=float(time_s[0] / time_s[fastest]),
                energy_ratio=ratio if isfinite(ratio) else None,
                communication_from=int(nodes[exceeded[0]]) if exceeded.size else None,
            )
        )
    return tuple(found)
