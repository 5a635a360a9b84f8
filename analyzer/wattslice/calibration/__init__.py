"""Fits energy models to public measurements: ``python -m wattslice.calibration --help``.

`measured` turns a public table of watts into the project's own, `features` analyses the kernels in a checkout
of their sources, `training` joins both into the rows that `wattslice_models.energy_fit` takes, `evaluation`
compares predictions with what was measured, and `document` writes that down.
"""
