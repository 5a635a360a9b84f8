"""Communication between the nodes of a component: bytes and messages of the busiest node, and their time.

    T_comm = (messages * latency + T_single * (Q_in + Q_out)) * exchanges

ESCAPE deliverable D3.5, 2018, section 4.3, with T_single the inverse of the bandwidth; the latency of a
message is added here (0: exactly the paper's equation). The paper names the patterns but prints no volumes
for them: those of `busiest_node` are ours. Everything takes numpy arrays of node counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Pattern(StrEnum):
    """Who exchanges with whom; `busiest_node` says what `Exchange.data_bytes` is for each."""

    INBOUND = "inbound"
    OUTBOUND = "outbound"
    ALL_TO_ALL = "all-to-all"
    ONE_TO_ALL = "one-to-all"
    ALL_TO_ONE = "all-to-one"
    BROADCAST = "broadcast"
    HALO = "halo"


class Network(Struct, frozen=True):
    """Latency of one message in seconds, bandwidth of one node's connection in bytes/s (inf: free of charge).

    Raises ``ValueError`` for a negative latency and a bandwidth that is not positive.
    """

    latency_s: float
    bandwidth_bytes_per_s: float

    def __post_init__(self) -> None:
        if not (self.latency_s >= 0 and math.isfinite(self.latency_s)):
            raise ValueError(f"a latency of {self.latency_s} s: must be 0 or more")
        if not self.bandwidth_bytes_per_s > 0:
            raise ValueError(f"a bandwidth of {self.bandwidth_bytes_per_s} bytes/s: must be positive")


class Exchange(Struct, frozen=True):
    """One exchange of a component, `count` times (the paper's *iters*).

    `data_bytes` of all nodes together, for HALO of all six faces of the domain; `dimensions` (1 to 3): along
    how many axes it is cut.
    Raises ``ValueError`` for a negative quantity or another number of dimensions.
    """

    pattern: Pattern
    data_bytes: float
    count: float = 1.0
    dimensions: int = 2

    def __post_init__(self) -> None:
        if not (self.data_bytes >= 0 and self.count >= 0):
            raise ValueError("bytes and counts of an exchange must be 0 or more")
        if self.dimensions not in (1, 2, 3):
            raise ValueError(f"a domain cut along {self.dimensions} axes: must be 1, 2 or 3")


class NodeTraffic(Struct, frozen=True):
    """What one node does in one exchange: bytes received Q_in and sent Q_out, messages of both ways."""

    received_bytes: Array
    sent_bytes: Array
    messages: Array


def busiest_node(exchange: Exchange, nodes: Array) -> NodeTraffic:
    """What the busiest of n nodes does in one exchange of D bytes. Arrays of the shape of `nodes`.

    ==========  =======================================================  ========================  ========
    pattern     what D is                                                busiest node: bytes       messages
    ==========  =======================================================  ========================  ========
    inbound     what enters from outside, divided among the nodes        D/n in                    1
    outbound    what leaves, divided among the nodes                     D/n out                   1
    all-to-all  what is redistributed, every node's part among all       D(n-1)/n² in and out      2(n-1)
    one-to-all  what one node deals out, a part to each                  D(n-1)/n out              n-1
    all-to-one  what one node collects, a part from each                 D(n-1)/n in               n-1
    broadcast   what one node sends, all of it to each of the others     D(n-1) out                n-1
    halo        the surface of the undivided domain, cut along d axes    D·(d/3)·n^(-(d-1)/d)      4d
                                                                         in and out
    ==========  =======================================================  ========================  ========

    A halo is that of a cube with edge L: D stands for its six faces, 6 L². Cut along d axes, a node inside
    has two faces across each, of L² n^(-(d-1)/d): slabs 2 L², pencils 4 L²/√n, cubes 6 L²/n^(2/3).

    One node alone exchanges only what enters and leaves.
    """
    data, others = exchange.data_bytes, nodes - 1.0
    zero = np.zeros_like(nodes)
    match exchange.pattern:
        case Pattern.INBOUND:
            return NodeTraffic(data / nodes, zero, np.ones_like(nodes))
        case Pattern.OUTBOUND:
            return NodeTraffic(zero, data / nodes, np.ones_like(nodes))
        case Pattern.ALL_TO_ALL:
            part = data * others / nodes**2
            return NodeTraffic(part, part, 2.0 * others)
        case Pattern.ONE_TO_ALL:
            return NodeTraffic(zero, data * others / nodes, others)
        case Pattern.ALL_TO_ONE:
            return NodeTraffic(data * others / nodes, zero, others)
        case Pattern.BROADCAST:
            return NodeTraffic(zero, data * others, others)
        case Pattern.HALO:
            axes = exchange.dimensions
            surface = np.where(nodes > 1, data * axes / 3.0 * nodes ** (-(axes - 1.0) / axes), 0.0)
            return NodeTraffic(surface, surface, np.where(nodes > 1, 4.0 * axes, 0.0))


def communication_time_s(exchanges: Sequence[Exchange], network: Network, nodes: Array) -> Array:
    """Seconds that the busiest node spends in all these exchanges; the shape of `nodes`."""
    time_s = np.zeros_like(nodes)
    for exchange in exchanges:
        traffic = busiest_node(exchange, nodes)
        moved_s = (traffic.received_bytes + traffic.sent_bytes) / network.bandwidth_bytes_per_s
        time_s = time_s + exchange.count * (traffic.messages * network.latency_s + moved_s)
    return time_s
