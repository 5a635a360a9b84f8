"""Launch geometry: grid, block, shared memory and arguments of every kernel, read from the host code."""

from wattslice.geometry.types import (
    NO_OVERRIDES,
    Dim3,
    KernelLaunch,
    LaunchOverride,
    MemberValue,
    NamedValue,
    Overrides,
    Setting,
)

__all__ = [
    "NO_OVERRIDES",
    "Dim3",
    "KernelLaunch",
    "LaunchOverride",
    "MemberValue",
    "NamedValue",
    "Overrides",
    "Setting",
]
