"""Where more nodes stop paying: each way to run a component by itself, over its numbers of nodes.

ESCAPE D3.5 calls it the balance point, where communication takes longer than computation, and leaves it to
future work (section 6.1.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from wattslice.projection.projection import ProjectedComponent


@dataclass(frozen=True, slots=True)
class Scaling:
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
