"""Fits energy models to public measurements: ``python -m wattslice.calibration --help``.

`measured` turns a public table of watts into the project's own, `dcgm` one of counters; `checkout` finds out
what a checkout of public sources holds and `features` analyses its kernels; `training` joins both into the rows
that `wattslice_models.energy_fit` takes, `evaluation` compares predictions with what was measured, and
`document` writes that down.
"""
