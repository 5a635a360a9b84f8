"""Measured runs of kernels: the rows, where they come from, how they were made, our features of the kernels.

`tables` reads and writes typed CSV, `measured` is the one schema of measured runs, `cards` says what is known
of them, `recipes` how public programs were run, `workloads` and `slices` what our analyzer found in their
source, `utilisation` what counters of the GPU saw, and `sweeps` which runs are an intensity sweep.
"""

# What these modules define is what the package offers.
# ruff: noqa: F403

from wattslice_corpora.records.cards import *
from wattslice_corpora.records.instructions import *
from wattslice_corpora.records.measured import *
from wattslice_corpora.records.recipes import *
from wattslice_corpora.records.slices import *
from wattslice_corpora.records.sweeps import *
from wattslice_corpora.records.tables import *
from wattslice_corpora.records.utilisation import *
from wattslice_corpora.records.workloads import *
