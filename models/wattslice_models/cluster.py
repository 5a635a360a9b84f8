"""One component of a workflow on N nodes: ESCAPE deliverable D3.5, 2018, sections 4.3 and 5.6.

The work W and the traffic Q are divided equally, W/n and Q/n on each of n nodes; the nodes are alike, so that
the slowest (T_multinode = max T_i) is any of them, and E_multi is the sum over them:

    T = F + (T_1 - F) * (s + (1 - s) / n)        s: share that only one node can do, 0 in the paper
                                                 F: what every node spends anyway, 0 in the paper
    T_multinode = T + T_comm, or max(T, T_comm) when communication is hidden behind computation
    E_multi = P * W + P_wait * (n * T_multinode - W),    W = n * F + T_1 - F

The node-seconds of work W are T_1 however many nodes share them, but for F; the rest of the n * T_multinode
is waiting for the network or for the serial part. Without any of these, the energy is that of one node: the
paper's finding that energy-to-solution stays while time-to-solution falls. Everything takes numpy arrays.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Array = NDArray[np.float64]


class OneNode(Struct, frozen=True):
    """A component on one node of some kind. `power_w`: that node at work, `idle_power_w`: without work.

    The power has an interval; all three are NaN when it is unknown. `idle_power_w` NaN: unknown. `fixed_s` of
    `time_s` every node spends, however small its share of the work (launching kernels).
    """

    time_s: float
    power_w: float
    power_low_w: float
    power_high_w: float
    idle_power_w: float
    fixed_s: float = 0.0

    @property
    def energy_j(self) -> float:
        """Energy on this one node without communication."""
        return self.time_s * self.power_w


class ComponentRuns(Struct, frozen=True):
    """Ways to run one component, in arrays of one length. All times in s, energies in J, powers in W.

    `compute_s`, `communication_s` are the parts of `time_s` before any overlap. `highest_power_w` of all
    nodes in the phase that draws most: all at work, one doing the serial share, all waiting for the network.
    `idle_power_w` is that of one node, and `machine` says which components could take turns on the same
    nodes: equal numbers could.
    """

    nodes: Array
    compute_s: Array
    communication_s: Array
    time_s: Array
    energy_j: Array
    energy_low_j: Array
    energy_high_j: Array
    highest_power_w: Array
    idle_power_w: Array
    machine: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.nodes)


def on_nodes(
    alone: OneNode,
    nodes: Array,
    *,
    serial_share: float = 0.0,
    communication_s: Array | None = None,
    overlapped: bool = False,
    waits_busy: bool = False,
    machine: int = 0,
) -> ComponentRuns:
    """The component on each of these numbers of nodes; arrays of the shape of `nodes`.

    `communication_s`: of the busiest node, None for none. `overlapped`: hidden behind computation.
    `waits_busy`: a waiting node draws as much as a working one (it polls), else its idle power.
    Raises ``ValueError`` for a serial share outside of 0 to 1 and for less than one node.
    """
    if not 0 <= serial_share <= 1:
        raise ValueError(f"a serial share of {serial_share}: must be from 0 to 1")
    if nodes.size and nodes.min() < 1:
        raise ValueError("a component runs on at least one node")
    divided_s = alone.time_s - alone.fixed_s
    compute_s = alone.fixed_s + divided_s * (serial_share + (1 - serial_share) / nodes)
    work_s = nodes * alone.fixed_s + divided_s
    exchange_s = np.zeros_like(nodes) if communication_s is None else communication_s
    time_s = np.maximum(compute_s, exchange_s) if overlapped else compute_s + exchange_s
    # Rounding must not make a waiting time of less than nothing.
    waiting_s = np.maximum(nodes * time_s - work_s, 0.0)

    def energy_j(power_w: float) -> Array:
        wait_w = power_w if waits_busy else alone.idle_power_w
        # What is not waited for needs no idle power to be known.
        return power_w * work_s + np.where(waiting_s > 0, wait_w * waiting_s, 0.0)

    wait_w = alone.power_w if waits_busy else alone.idle_power_w
    together = alone.fixed_s > 0 or serial_share < 1
    phases_w = (
        np.where(together, nodes * alone.power_w, 0.0),
        np.where(serial_share > 0, alone.power_w + np.where(nodes > 1, wait_w * (nodes - 1), 0.0), 0.0),
        np.where(time_s > compute_s, nodes * wait_w, 0.0),
    )
    return ComponentRuns(
        nodes=nodes,
        compute_s=compute_s,
        communication_s=exchange_s,
        time_s=time_s,
        energy_j=energy_j(alone.power_w),
        energy_low_j=energy_j(alone.power_low_w),
        energy_high_j=energy_j(alone.power_high_w),
        highest_power_w=np.maximum.reduce(phases_w),
        idle_power_w=np.full_like(nodes, alone.idle_power_w),
        machine=np.full(nodes.shape, machine, dtype=np.int64),
    )


def joined(parts: list[ComponentRuns]) -> ComponentRuns:
    """The ways of several node kinds one after the other. Raises ``ValueError`` for none at all."""
    if not parts:
        raise ValueError("no way to run the component")

    def together(name: str) -> Array:
        return np.concatenate([getattr(part, name) for part in parts])

    return ComponentRuns(
        nodes=together("nodes"),
        compute_s=together("compute_s"),
        communication_s=together("communication_s"),
        time_s=together("time_s"),
        energy_j=together("energy_j"),
        energy_low_j=together("energy_low_j"),
        energy_high_j=together("energy_high_j"),
        highest_power_w=together("highest_power_w"),
        idle_power_w=together("idle_power_w"),
        machine=np.concatenate([part.machine for part in parts]),
    )
