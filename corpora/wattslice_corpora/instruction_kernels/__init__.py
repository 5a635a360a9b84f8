"""PTX kernels for the energy of single instructions, and what the assembler makes of them."""

# What these modules define is what the package offers.
# ruff: noqa: F403

from wattslice_corpora.instruction_kernels.assembly import *
from wattslice_corpora.instruction_kernels.kernels import *
from wattslice_corpora.instruction_kernels.machine_code import *
from wattslice_corpora.instruction_kernels.operands import *
from wattslice_corpora.instruction_kernels.table import *
