"""Synthetic slices: CUDA kernels of a chosen density, memory space, saturation, operation and pattern."""

from wattslice_corpora.synthetic.grid import AccessWeights, default_grid
from wattslice_corpora.synthetic.plan import Plan, plan
from wattslice_corpora.synthetic.source import KERNEL_NAME, source
from wattslice_corpora.synthetic.spec import InputData, OperationKind, Pattern, SliceSpec, Space, SpecError

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
    "default_grid",
    "plan",
    "source",
]
