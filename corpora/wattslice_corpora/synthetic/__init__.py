"""Synthetic slices: CUDA kernels of a chosen density, memory space, saturation, operation and pattern."""

# What these modules define is what the package offers.
# ruff: noqa: F403

from wattslice_corpora.synthetic.grid import *
from wattslice_corpora.synthetic.plan import *
from wattslice_corpora.synthetic.source import *
from wattslice_corpora.synthetic.spec import *
from wattslice_corpora.synthetic.sweep import *
