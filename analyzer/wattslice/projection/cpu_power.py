"""Watts of a CPU node, at work and idle, from the powers of its node kind (ESCAPE D3.5, section 5.3)."""

from __future__ import annotations

from wattslice.projection.workflow import CpuNode, CpuPower
from wattslice_models.node_energy import PartPower, PowerCoefficients, part_power_w


class ImpossiblePowerError(ValueError):
    """Coefficients make a negative power of the given ones; the message has the watts."""


def idle_power_w(cpu: CpuNode) -> float | None:
    """Package and memory without work; None: unknown."""
    if cpu.package_idle_w is None or cpu.memory_idle_w is None:
        return None
    return cpu.package_idle_w + cpu.memory_idle_w


def working_power_w(
    cpu: CpuNode,
    package: PowerCoefficients,
    memory: PowerCoefficients,
    cores: int | None,
    clock_mhz: float | None,
) -> float | str:
    """U E_pkg + S E_pkg,idle + X E_dram + Y E_dram,idle, or why it is unknown.

    Between two given numbers of cores the full power is interpolated, beyond them it is unknown.
    Raises `ImpossiblePowerError` where the coefficients make less than nothing of package or memory, or
    nothing of both.
    """
    if cores is None:
        return "the number of cores is not given"
    powers = [entry for entry in cpu.full if entry.clock_mhz in (None, clock_mhz)]
    full = _interpolated(powers, cores)
    if full is None:
        known = ", ".join(str(entry.cores) for entry in powers) or "none"
        at = "" if clock_mhz is None else f" at {clock_mhz:g} MHz"
        return f"full_power with {cores} cores{at} is not given (given: {known})"
    package_idle_w, memory_idle_w = cpu.package_idle_w, cpu.memory_idle_w
    if (package_idle_w is None and package.idle_share) or (memory_idle_w is None and memory.idle_share):
        return "package_idle_w and memory_idle_w are needed for it"
    package_w = part_power_w(PartPower(full[0], package_idle_w or 0.0), package)
    memory_w = part_power_w(PartPower(full[1], memory_idle_w or 0.0), memory)
    if package_w < 0 or memory_w < 0 or not package_w + memory_w:
        raise ImpossiblePowerError(f"{package_w:g} W of the package and {memory_w:g} W of memory at work")
    return package_w + memory_w


def _interpolated(powers: list[CpuPower], cores: int) -> tuple[float, float] | None:
    """Watts of package and memory under full load; None beyond the numbers of cores that are given."""
    below = max((entry for entry in powers if entry.cores <= cores), key=_cores, default=None)
    above = min((entry for entry in powers if entry.cores >= cores), key=_cores, default=None)
    if below is None or above is None:
        return None
    if below.cores == above.cores:
        return below.package_w, below.memory_w
    share = (cores - below.cores) / (above.cores - below.cores)
    return (
        below.package_w + share * (above.package_w - below.package_w),
        below.memory_w + share * (above.memory_w - below.memory_w),
    )


def _cores(entry: CpuPower) -> int:
    return entry.cores
