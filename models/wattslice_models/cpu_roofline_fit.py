"""Shares of a CPU's rates that a loop reaches, from its measured rates. Needs scipy.

ESCAPE D3.5 (2018) finds the shares of the four bandwidths by linear programming (Sections 4.3, 6.1.2), and
those of the flop rate by linear programming where it is U alone (Section 4.3) and by linear regression where
it is U and S (Section 6.1.2). It does not say what the linear program minimises: here the sum of absolute
deviations, over shares that are not negative.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize  # pyright: ignore[reportMissingTypeStubs]

from wattslice_models.cpu_roofline import CpuRates, LoopCoefficients
from wattslice_models.quantity import Array

_scipy: Any = optimize  # scipy has no types


def fit_loop(
    rates: CpuRates[Array],
    bytes_per_s: Array,
    flop_per_s: Array | None = None,
    *,
    with_offset: bool = False,
) -> LoopCoefficients:
    """The coefficients of one loop from what it measured at several states (f, n) of the CPU.

    `bytes_per_s` (R), `flop_per_s` (M), and the fields of `rates`: shape (states,). `with_offset`: P U + S
    = M by least squares, as for BiFFT, else P U = M by linear programming, as for spherical harmonics.
    Raises ``ValueError`` for fewer than two states, and where all that is measured is zero.
    """
    columns = (rates.l1_bytes_per_s, rates.l2_bytes_per_s, rates.l3_bytes_per_s, rates.dram_bytes_per_s)
    l1, l2, l3, dram = _least_absolute(np.column_stack(columns), bytes_per_s)
    share, offset = None, 0.0
    if flop_per_s is not None:
        peak = rates.flop_per_s
        if with_offset:
            share, offset = (float(value) for value in np.polyfit(peak, flop_per_s, 1))
        else:
            (share,) = _least_absolute(peak[:, None], flop_per_s)
    return LoopCoefficients(l1, l2, l3, dram, share, offset)


def _least_absolute(matrix: Array, target: Array) -> tuple[float, ...]:
    """Minimises the sum of |matrix · x - target| over x ≥ 0: a linear program with one bound per row."""
    rows, unknowns = matrix.shape
    if rows < 2:
        raise ValueError(f"{rows} states: two at least")
    unit = float(np.abs(target).max())
    if not unit > 0:
        raise ValueError("all measured rates are zero")
    scaled, wanted, identity = matrix / unit, target / unit, np.eye(rows)
    found = _scipy.linprog(
        np.concatenate([np.zeros(unknowns), np.ones(rows)]),
        A_ub=np.block([[scaled, -identity], [-scaled, -identity]]),
        b_ub=np.concatenate([wanted, -wanted]),
    )
    if not found.success:
        raise ValueError(f"no shares found: {found.message}")
    return tuple(float(value) for value in found.x[:unknowns])
