"""Launch geometry: grid, block, shared memory and arguments of every kernel, read from the host code."""

from wattslice.geometry.overrides import OverrideError, check_overrides, parse_overrides
from wattslice.geometry.resolver import resolve_launches
from wattslice.geometry.types import (
    NO_OVERRIDES,
    ConstantValue,
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
    "ConstantValue",
    "Dim3",
    "KernelLaunch",
    "LaunchOverride",
    "MemberValue",
    "NamedValue",
    "OverrideError",
    "Overrides",
    "Setting",
    "check_overrides",
    "parse_overrides",
    "resolve_launches",
]
