"""Synthetic slices: CUDA kernels of a chosen density, memory space, saturation, operation and pattern."""

from wattslice_corpora.synthetic.grid import AccessWeights, default_grid
from wattslice_corpora.synthetic.plan import Plan, plan
from wattslice_corpora.synthetic.source import KERNEL_NAME, source
from wattslice_corpora.synthetic.spec import InputData, OperationKind, Pattern, SliceSpec, Space, SpecError
from wattslice_corpora.synthetic.sweep import SweepSlice, intensity_sweep

__all__ = [
    "KERNEL_NAME",
    "AccessWeights",
    "InputData",
    "OperationKind",
    "Pattern",
    "Plan",
    "SliceSpec",
    "Space",
    "SpecError",
    "SweepSlice",
    "default_grid",
    "intensity_sweep",
    "plan",
    "source",
]
