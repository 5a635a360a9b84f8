"""Energy of one node after ESCAPE D3.5 (2018), Section 5: average powers times the time of a program.

What the paper prints in joules are joules a second. `node_energy` is what reproduces Table 35.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Generic, overload

import numpy as np
from msgspec import Struct

from wattslice_models.quantity import Array, Quantity, Values


class PartPower(Struct, Generic[Values], frozen=True):
    """Watts of one part of a node, package or memory: under a stress test at this clock and number of cores
    (E(f, n) of Table 32), and idle (E(f, idle)).
    """

    full_w: Values
    idle_w: Values


class PowerCoefficients(Struct, frozen=True):
    """How much of both a program draws, Section 5.3: U and S of a package, X and Y of memory.

    Found by regression, so either may be negative. Raises ``ValueError`` for non-finite numbers.
    """

    full_share: float
    """U or X"""
    idle_share: float
    """S or Y"""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.full_share) and math.isfinite(self.idle_share)):
            raise ValueError(f"coefficients {self.full_share}, {self.idle_share}: must be finite")


class NodeEnergy(Struct, Generic[Values], frozen=True):
    """Joules of one node for one program."""

    package_j: Values
    memory_j: Values

    @property
    def total_j(self) -> Values:
        """Package and memory together."""
        return self.package_j + self.memory_j


def part_power_w(power: PartPower[Values], coefficients: PowerCoefficients) -> Values:
    """U E(f, n) + S E(f, idle): average watts of package or memory (Section 5.3)."""
    return power.full_w * coefficients.full_share + power.idle_w * coefficients.idle_share


def node_energy(
    time_s: Values,
    package: PartPower[Values],
    package_coefficients: PowerCoefficients,
    memory: PartPower[Values],
    memory_coefficients: PowerCoefficients,
) -> NodeEnergy[Values]:
    """T (U E_pkg + S E_pkg,idle) and T (X E_dram + Y E_dram,idle): the model columns of Table 35."""
    return NodeEnergy(
        package_j=time_s * part_power_w(package, package_coefficients),
        memory_j=time_s * part_power_w(memory, memory_coefficients),
    )


@overload
def gpu_energy_j(  # pyright: ignore[reportOverlappingOverload]
    time_s: float, host_idle_w: float, share: float, power_limit_w: float
) -> float: ...
@overload
def gpu_energy_j(
    time_s: Quantity, host_idle_w: Quantity, share: Quantity, power_limit_w: Quantity
) -> Array: ...
def gpu_energy_j(
    time_s: Quantity, host_idle_w: Quantity, share: Quantity, power_limit_w: Quantity
) -> Quantity:
    """E = T (E_pkg,idle + S P_limit), Section 5.5: an idle host and a GPU at `share` of its power limit."""
    return time_s * (host_idle_w + share * power_limit_w)


def fit_power_coefficients(
    full_w: Sequence[float], idle_w: float, measured_w: Sequence[float]
) -> PowerCoefficients:
    """Least squares of U full + S idle = measured over numbers of cores (Section 5.3).

    Raises ``ValueError`` for fewer than two runs, different numbers of both, or a `full_w` that does not
    vary: the two shares could then not be told apart.
    """
    if len(full_w) != len(measured_w) or len(full_w) < 2:
        raise ValueError(f"{len(full_w)} full and {len(measured_w)} measured powers: two of each at least")
    matrix = np.column_stack([np.asarray(full_w, float), np.full(len(full_w), idle_w)])
    solution, _, rank, _ = np.linalg.lstsq(matrix, np.asarray(measured_w, float), rcond=None)
    if rank < 2:
        raise ValueError("full and idle power do not vary independently: nothing tells U from S")
    return PowerCoefficients(float(solution[0]), float(solution[1]))
