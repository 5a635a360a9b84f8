"""ESCAPE D3.5, 2018: energy of nodes and GPUs from printed powers and coefficients."""

from __future__ import annotations

import math
from statistics import stdev

from wattslice_corpora.published.escape2018_energy import (
    CoefficientRow,
    escape2018_bifft,
    escape2018_bifft_energy,
    escape2018_coefficients,
    escape2018_cpu_power,
    escape2018_gpu_power,
    escape2018_node_energy,
)
from wattslice_models.node_energy import (
    NodeEnergy,
    PartPower,
    PowerCoefficients,
    fit_power_coefficients,
    gpu_energy_j,
    node_energy,
    part_power_w,
)
from wattslice_tools.papers.markdown import magnitudes, mean, percent, relative_error, table


def escape2018_energy() -> tuple[str, ...]:
    """The paragraphs and tables on energy."""
    return (*_coefficients(), *_table_35(), *_table_36(), *_table_44())


def coefficients(number: int) -> tuple[PartPower[float], PowerCoefficients, tuple[CoefficientRow, ...]]:
    """Idle power, printed coefficients and rows with cores of Table 33, 34, 42 or 43."""
    idle, *rows = escape2018_coefficients(number)
    first = rows[0]
    if first.busy is None or first.idle is None:
        raise ValueError(f"Table {number} lacks its coefficients")
    return PartPower(idle.full_w, idle.full_w), PowerCoefficients(first.busy, first.idle), tuple(rows)


def fitted_coefficients(number: int) -> PowerCoefficients:
    """Least squares on the printed powers of Table 33, 34, 42 or 43."""
    idle, _, rows = coefficients(number)
    measured = [row.measured_w for row in rows if row.measured_w is not None]
    return fit_power_coefficients([row.full_w for row in rows], idle.idle_w, measured)


def spherical_node_energies() -> tuple[tuple[int, NodeEnergy[float], float, float, float, float], ...]:
    """Table 35: cores, energy of the model with the printed coefficients, and the four printed energies:
    package and memory modelled, package and memory measured.
    """
    package, memory = coefficients(33)[1], coefficients(34)[1]
    idle, *rows = escape2018_node_energy()
    found: list[tuple[int, NodeEnergy[float], float, float, float, float]] = []
    for row in rows:
        numbers = (
            row.time_s,
            row.package_modelled_j,
            row.memory_modelled_j,
            row.package_measured_j,
            row.memory_measured_j,
        )
        time_s, *joules = (number for number in numbers if number is not None)
        energy = node_energy(
            time_s,
            PartPower(row.package_w, idle.package_w),
            package,
            PartPower(row.memory_w, idle.memory_w),
            memory,
        )
        found.append((row.cores, energy, joules[0], joules[1], joules[2], joules[3]))
    return tuple(found)


def _coefficients() -> tuple[str, ...]:
    rows: list[tuple[str, ...]] = []
    for number, name in (
        (33, "SH, package"),
        (34, "SH, memory"),
        (42, "BiFFT, package"),
        (43, "BiFFT, memory"),
    ):
        idle, printed, powers = coefficients(number)
        fitted = fitted_coefficients(number)
        cells: list[str] = []
        for found in (printed, fitted):
            errors = [
                relative_error(part_power_w(PartPower(row.full_w, idle.idle_w), found), row.measured_w)
                for row in powers
                if row.measured_w is not None
            ]
            cells.append(f"{found.full_share:.4f}, {found.idle_share:.4f}")
            cells.append(", ".join(f"{error:+.1%}" for error in errors))
        rows.append((f"{number}: {name}", *cells))
    idle, printed, powers = coefficients(43)
    other_idle = coefficients(42)[0].idle_w
    watts = [part_power_w(PartPower(row.full_w, other_idle), printed) for row in powers]
    return (
        "### Tables 33, 34, 42, 43: power coefficients",
        "`U · E(f, n) + S · E(f, idle) = E_measured`, X and Y for memory; errors against the printed "
        "measured power, by number of cores:",
        table(("table", "printed", "errors", "least squares", "errors"), rows),
        "Only Table 42 prints the least-squares solution of its own rows. Table 43 fits with the package's "
        f"idle power ({other_idle:g} W) in the place of the memory's ({idle.idle_w:g} W): "
        + ", ".join(f"{one:.2f}" for one in watts)
        + " W beside the measured "
        + ", ".join(f"{row.measured_w:g}" for row in powers)
        + " W. The idle memory draws 1.37 W in Table 32 and 1.31 W in Tables 34 and 43.",
    )


def _table_35() -> tuple[str, ...]:
    rows: list[tuple[str, ...]] = []
    to_model: list[float] = []
    to_measured: list[float] = []
    for (
        cores,
        energy,
        package_j,
        memory_j,
        package_measured_j,
        memory_measured_j,
    ) in spherical_node_energies():
        measured = package_measured_j + memory_measured_j
        to_measured.append(relative_error(energy.total_j, measured))
        to_model.append(abs(relative_error(measured, energy.total_j)))
        rows.append(
            (
                str(cores),
                f"{package_j:.2f} ({energy.package_j - package_j:+.2f})",
                f"{memory_j:.2f} ({energy.memory_j - memory_j:+.2f})",
                f"{measured:.1f}",
                percent(to_measured[-1]),
                f"{to_model[-1]:.2%}",
            )
        )
    return (
        "### Table 35: energy of spherical harmonics on an E5-2640v3",
        "`T · (U · E_pkg + S · E_pkg,idle)` and `T · (X · E_dram + Y · E_dram,idle)` with the coefficients "
        "printed in Tables 33 and 34 (not the equation of Section 5.2, which needs W and Q). Printed, and in "
        "brackets how much more the code gives, joules:",
        table(("cores", "package", "memory", "measured", "error", "error relative to the model"), rows),
        f"Printed: largest 7.7 %, least 0.6 %, mean 7.7 %, standard deviation 3.24 %. Relative to the model: "
        f"{magnitudes(to_model)}, standard deviation {stdev(to_model):.2%}; so largest and standard "
        "deviation are relative to the model, and the printed mean repeats the largest. Relative to the "
        f"measured energy: {magnitudes(to_measured)}, {stdev(to_measured):.2%}.",
    )


def _table_36() -> tuple[str, ...]:
    host_idle_w = escape2018_cpu_power()[0].package_w
    rows = [
        (
            gpu.gpu,
            f"{gpu.limit_w:g}",
            f"{gpu.average_w:g}",
            f"{gpu.share_of_limit:.2%}",
            f"{gpu.average_w / gpu.limit_w:.2%}",
            f"{gpu_energy_j(1.0, host_idle_w, gpu.average_w / gpu.limit_w, gpu.limit_w):.1f}",
        )
        for gpu in escape2018_gpu_power()
    ]
    return (
        "### Table 36: GPU power",
        "S is the average power over the limit; the unit printed, W/s, must be W. The caption names "
        "ACRANEB2, the text says BiFFT. Last column: `E_idle + S · P_limit` with the idle package of Table "
        f"32 ({host_idle_w:g} W).",
        table(("GPU", "limit / W", "average / W", "S printed", "S", "with the idle host / W"), rows),
    )


def _table_44() -> tuple[str, ...]:
    rows_44 = escape2018_bifft_energy()
    errors = [relative_error(row.modelled_j, row.measured_j) for row in rows_44]
    absolute = [abs(error) for error in errors]
    by_cores: list[tuple[str, ...]] = []
    for cores in dict.fromkeys(row.cores for row in rows_44):
        own = [percent(error) for row, error in zip(rows_44, errors, strict=True) if row.cores == cores]
        by_cores.append((str(cores), *own))
    one_core = [row.modelled_j for row in rows_44 if row.cores == 1]
    watts = [f"{joules / row.time_s:.1f}" for joules, row in zip(one_core, escape2018_bifft(38), strict=True)]
    cases = tuple(dict.fromkeys(row.case for row in rows_44))
    return (
        "### Table 44: energy of BiFFT, simulated against measured",
        table(("cores", *cases), by_cores),
        table(
            ("", "largest", "least", "mean", "standard deviation"),
            [
                ("printed", "6.08%", "0.23%", "8.59%", "2.81%"),
                (
                    "recomputed",
                    f"{max(absolute):.2%}",
                    f"{min(absolute):.2%}",
                    f"{mean(absolute):.2%} (signed {mean(errors):+.2%})",
                    f"{stdev(errors):.2%} (of the signed errors)",
                ),
            ],
        ),
        "A mean above the largest error is impossible. The simulated joules cannot be recomputed: their "
        "times are not printed, and those of Table 38 (one core) would need "
        + ", ".join(watts)
        + " W for the three cases, where Tables 42 and 43 give "
        + f"{_bifft_power_w():.1f} W.",
    )


def _bifft_power_w() -> float:
    """One core of BiFFT with the printed coefficients."""
    parts = (coefficients(42), coefficients(43))
    return math.fsum(
        part_power_w(PartPower(rows[0].full_w, idle.idle_w), printed) for idle, printed, rows in parts
    )
