"""Cache-aware roofline of a CPU after ESCAPE D3.5 (2018), Sections 4.3 and 6.1.2: how long a loop takes.

A loop runs at a share of what the CPU can do at a clock and a number of cores: of its flop/s, and of the
bandwidths of all four levels of memory, whose shares add up. Work and transfers overlap perfectly, loops
follow one another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Generic, cast, overload

import numpy as np
from msgspec import Struct

from wattslice_models.quantity import Array, Quantity, Values


class CpuRates(Struct, Generic[Values], frozen=True):
    """A CPU at one clock and number of cores (Tables 25 to 29, 37), or arrays of such states of one shape."""

    flop_per_s: Values
    """P(f, n)"""
    l1_bytes_per_s: Values
    l2_bytes_per_s: Values
    l3_bytes_per_s: Values
    dram_bytes_per_s: Values


class LoopCoefficients(Struct, frozen=True):
    """Tables 30, 40, 41: shares of the CPU's rates that one loop reaches.

    ``None`` for a flop share: the loop computes nothing, it only moves data. Raises ``ValueError`` for
    negative and non-finite shares, and where no level of memory has one.
    """

    l1_share: float
    """V"""
    l2_share: float
    """X"""
    l3_share: float
    """Y"""
    dram_share: float
    """Z"""
    flop_share: float | None = None
    """U"""
    flop_offset_per_s: float = 0.0
    """S of Table 41, flop/s: the rate that a regression finds at no peak at all; may be negative."""

    def __post_init__(self) -> None:
        memory = (self.l1_share, self.l2_share, self.l3_share, self.dram_share)
        for share in (*memory, 0.0 if self.flop_share is None else self.flop_share):
            if not 0 <= share < math.inf:
                raise ValueError(f"a share of {share}: must be finite and not negative")
        if not math.isfinite(self.flop_offset_per_s):
            raise ValueError(f"a flop rate of {self.flop_offset_per_s}: must be finite")
        if not any(memory):
            raise ValueError("no level of memory has a share: the loop could not move a byte")


class Loop(Struct, frozen=True):
    """A loop of a program: its work, its traffic through all levels of memory, and its coefficients.

    Raises ``ValueError`` for work without a flop share.
    """

    name: str
    work_flop: float
    """W"""
    traffic_bytes: float
    """Q"""
    coefficients: LoopCoefficients

    def __post_init__(self) -> None:
        if self.work_flop and self.coefficients.flop_share is None:
            raise ValueError(f"{self.name}: {self.work_flop:g} flop, but no share of the CPU's flop/s")

    def divided(self, parts: int) -> Loop:
        """What one of `parts` nodes does: W/n and Q/n (Table 31)."""
        return Loop(self.name, self.work_flop / parts, self.traffic_bytes / parts, self.coefficients)


def loop_bytes_per_s(rates: CpuRates[Values], coefficients: LoopCoefficients) -> Values:
    """L1 V + L2 X + L3 Y + DRAM Z: the bandwidth of a loop; T_mop is its inverse (Section 4.3)."""
    return (
        rates.l1_bytes_per_s * coefficients.l1_share
        + rates.l2_bytes_per_s * coefficients.l2_share
        + rates.l3_bytes_per_s * coefficients.l3_share
        + rates.dram_bytes_per_s * coefficients.dram_share
    )


def loop_flop_per_s(rates: CpuRates[Values], coefficients: LoopCoefficients) -> Values:
    """P U + S: the flop rate of a loop (Table 41; S is 0 in Table 30); T_flop is its inverse.

    Raises ``ValueError`` for a loop that computes nothing.
    """
    if coefficients.flop_share is None:
        raise ValueError("the loop has no share of the CPU's flop/s: it computes nothing")
    return rates.flop_per_s * coefficients.flop_share + coefficients.flop_offset_per_s


@overload
def loop_time_s(  # pyright: ignore[reportOverlappingOverload]
    work_flop: float, traffic_bytes: float, rates: CpuRates[float], coefficients: LoopCoefficients
) -> float: ...
@overload
def loop_time_s(
    work_flop: Quantity, traffic_bytes: Quantity, rates: CpuRates[Any], coefficients: LoopCoefficients
) -> Array: ...
def loop_time_s(
    work_flop: Quantity, traffic_bytes: Quantity, rates: CpuRates[Any], coefficients: LoopCoefficients
) -> Quantity:
    """T_func = max(W T_flop, Q T_mop): arithmetic and transfers overlap perfectly.

    Work and rates may be arrays; they broadcast. A loop without a flop share must have no work: its work is
    not looked at (`Loop` checks). Raises ``ValueError`` for work at a flop rate that is not above 0, which a
    negative S can make of it.
    """
    transfer_s = traffic_bytes / loop_bytes_per_s(rates, coefficients)
    if coefficients.flop_share is None:
        return transfer_s
    works, rate = np.asarray(work_flop), np.asarray(loop_flop_per_s(rates, coefficients))
    if ((works > 0) & (rate <= 0)).any():
        raise ValueError(f"P U + S = {rate.min():g} flop/s: not above 0")
    # Without work the rate may be anything.
    return np.maximum(works / np.where(rate > 0, rate, np.inf), transfer_s)


def loops_time_s(loops: Sequence[Loop], rates: CpuRates[Values]) -> Values:
    """T: loops one after the other on one node.

    Raises ``ValueError`` without any, and as `loop_time_s`, with the name of the loop.
    """
    if not loops:
        raise ValueError("no loops: nothing to time")
    first, *others = (_loop_s(loop, rates) for loop in loops)
    for seconds in others:
        first = first + seconds
    return first


def _loop_s(loop: Loop, rates: CpuRates[Values]) -> Values:
    try:
        return cast("Values", loop_time_s(loop.work_flop, loop.traffic_bytes, rates, loop.coefficients))
    except ValueError as error:
        raise ValueError(f"{loop.name}: {error}") from None
