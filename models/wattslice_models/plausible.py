"""Whether a reading of watts can be one of a board."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from wattslice_models.energy import NoEnergyModel
from wattslice_models.gpu import Gpu
from wattslice_models.joint import energy_model_of
from wattslice_models.joint_store import joint_model

MOST_OF_LIMIT = 2.0
"""No sensor shows a board above its power limit by more; the public sets reach 1.3."""
LEAST_OF_STATIC, LEAST_OF_IDLE = 0.25, 0.05
"""Of the watts of a board whose units do nothing at full clocks: of one that runs a kernel (the public sets
reach down to 0.5, at the lowest clocks), of an idle one, which lowers the clock of its memory, too.
"""
FAR_OFF = 2.0
"""Ratio of a reading to its prediction from which on one of them is rather a mistake: 90 % are within 1.3."""
TWICE_FAR_APART = 1.1
"""Ratio of two readings of one thing, watts or seconds, from which on one of them is rather a mistake."""
SENSOR_ERROR = 1.05
"""`nvmlDeviceGetPowerUsage`: readings are within 5 % of the draw. NVML says so of Fermi and Kepler; for later
boards it is assumed.
"""


def impossible_watts(power_w: float, gpu: Gpu, *, is_idle: bool = False) -> str:
    """Why no such board can have had that reading, of a kernel or idle; empty when it can."""
    model = energy_model_of(joint_model(), gpu)
    known = None if isinstance(model, NoEnergyModel) else model
    limit_w = gpu.power_limit_w or (known.reference_w if known else None)
    static_w = known.idle_w + known.memory_clock_w if known else 0.0
    least_w = (LEAST_OF_IDLE if is_idle else LEAST_OF_STATIC) * static_w
    if power_w < least_w:
        what = f"an idle {gpu.name}" if is_idle else f"a {gpu.name} that runs a kernel"
        return f"{power_w:g} W: {what} cannot draw less than some {least_w:.0f} W"
    most_w = None if limit_w is None else (1.0 if is_idle else MOST_OF_LIMIT) * limit_w
    if most_w is None or power_w <= most_w:
        return ""
    what = f"an idle {gpu.name}" if is_idle else f"the {gpu.name}"
    looks = f"; are they milliwatts, {power_w / 1e3:g} W?" if least_w <= power_w / 1e3 <= most_w else ""
    return f"{power_w:g} W: {what} cannot draw more than some {most_w:.0f} W{looks}"


def is_far_off(measured_w: float, predicted_w: float) -> bool:
    """Whether a reading and its prediction can hardly be of the same launch."""
    return not 1.0 / FAR_OFF <= measured_w / predicted_w <= FAR_OFF


def beyond_sensors(power_w: float, gpu: Gpu, peak: float) -> str:
    """Why sensors show no such watts at the limit of `gpu`; empty when they may. The real limit differs then,
    and answers would be cut at the wrong one. `peak`: how far above its limit such boards were seen.
    """
    limit_w = gpu.power_limit_w
    if limit_w is None or power_w <= (most_w := limit_w * peak * SENSOR_ERROR):
        return ""
    return (
        f"{power_w:g} W: sensors show no more than some {most_w:.0f} W of the {gpu.name} at its limit of "
        f"{limit_w:g} W"
    )


ABOVE_LIMIT = "sensors may show so much, predictions end at the limit"
REAL_LIMIT = "give the board's real limit: --gpu FILE with power_limit_w"


def contradictions(readings: Sequence[tuple[Hashable, float]]) -> tuple[tuple[int, int], ...]:
    """Of each thing that was read several times with figures that lie far apart the places of its least and
    of its greatest reading. `readings`: what was read, and its watts or seconds.
    """
    alike: dict[Hashable, list[int]] = {}
    for place, (thing, _) in enumerate(readings):
        alike.setdefault(thing, []).append(place)

    def figure(place: int) -> float:
        return readings[place][1]

    pairs = ((min(places, key=figure), max(places, key=figure)) for places in alike.values())
    return tuple((low, high) for low, high in pairs if figure(high) > TWICE_FAR_APART * figure(low))
