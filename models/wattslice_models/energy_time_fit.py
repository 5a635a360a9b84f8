"""Fits the time parameters of a GPU to measured seconds. Needs numpy and scipy."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy import optimize  # pyright: ignore[reportMissingTypeStubs]

from wattslice_models.energy_rows import TimedRow
from wattslice_models.execution_time import DEFAULT_TIME_PARAMETERS, TimeParameters, predict_time
from wattslice_models.gpu import Gpu
from wattslice_models.time_limits import FITTED_TIME_PARAMETERS, time_limits

_scipy: Any = optimize  # scipy has no types


def fit_time(rows: tuple[TimedRow, ...], gpu: Gpu) -> TimeParameters:
    """Time parameters that make the logarithms of predicted and measured times agree best.

    Cauchy's loss: some programs take twice the time that any parameters explain (mixbench on doubles), and
    must not bend the others.
    """
    names = FITTED_TIME_PARAMETERS
    known = set(TimeParameters.__struct_fields__)
    assert set(names) <= known, f"not a time parameter: {set(names) - known}"
    start = np.array([getattr(DEFAULT_TIME_PARAMETERS, name) for name in names])
    limits = [time_limits(name) for name in names]
    lower, upper = (np.log(np.array(ends) / start) for ends in zip(*limits, strict=True))

    def parameters(logs: NDArray[np.float64]) -> TimeParameters:
        values = {name: float(value) for name, value in zip(names, start * np.exp(logs), strict=True)}
        return replace(DEFAULT_TIME_PARAMETERS, **values)

    def errors(logs: NDArray[np.float64]) -> NDArray[np.float64]:
        trial = parameters(logs)
        return np.array(
            [
                np.log(
                    sum(
                        launch.repeat
                        * predict_time(launch.workload, gpu, row.example.subject.clocks, trial).time_s
                        for launch in row.example.subject.launches
                    )
                    / row.time_s
                )
                for row in rows
            ]
        )

    found = _scipy.least_squares(
        errors,
        np.zeros(len(names)),
        bounds=(lower, upper),
        loss="cauchy",
        f_scale=0.1,
        diff_step=0.02,
        max_nfev=40,
    )
    return parameters(cast("NDArray[np.float64]", found.x))
