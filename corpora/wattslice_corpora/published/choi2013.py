"""Choi et al. 2013: a roofline model of energy.

The paper itself was not at hand: the files say of every table and number whether it was read or recalled.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from wattslice_corpora.published.tables import PublishedRow, PublishedTableError, table_rows

_TABLES = Path(__file__).parent / "choi2013"
SINGLE, DOUBLE = "single", "double"


class MachineRow(Struct, frozen=True):
    """One machine in one precision: what `EnergyRoofline` of the models takes, and its names.

    `power_limit_w` None: none is given.
    """

    machine: str
    name: str
    precision: str
    peak_flops_per_s: float
    bandwidth_bytes_per_s: float
    flop_energy_j: float
    byte_energy_j: float
    constant_power_w: float
    power_limit_w: float | None


class FigureLabel(Struct, frozen=True):
    """A number printed into a figure, as printed: flops per byte, or watts per watt of the flops (2b).

    `decimals`: how many are printed. `read`: "slides", where the authors show the figure again, or
    "recalled".
    """

    figure: str
    machine: str
    precision: str
    quantity: str
    printed: float
    decimals: int
    read: str


def choi2013_tables() -> tuple[Path, ...]:
    """The files of the tables, Table II first, the figures last."""
    return (*sorted(_TABLES.glob("table*.csv")), _TABLES / "figures.csv")


def choi2013_fermi(path: Path = _TABLES / "table2.csv") -> MachineRow:
    """Table II: the machine of Figure 2. Raises `PublishedTableError` for a damaged table."""
    row = _only(path, tuple(table_rows(path)))
    return MachineRow(
        machine=row.text("machine"),
        name="NVIDIA Fermi, Table II",
        precision=DOUBLE,
        peak_flops_per_s=1e9 * row.number("peak_gflops"),
        bandwidth_bytes_per_s=1e9 * row.number("bandwidth_gb_per_s"),
        flop_energy_j=1e-12 * row.number("flop_energy_pj"),
        byte_energy_j=1e-12 * row.number("byte_energy_pj"),
        constant_power_w=row.number("constant_power_w"),
        power_limit_w=None,
    )


def choi2013_machines(
    peaks: Path = _TABLES / "table3.csv", fitted: Path = _TABLES / "table4.csv"
) -> tuple[MachineRow, ...]:
    """Tables III and IV together, each machine in single, then in double precision.

    Raises `PublishedTableError` for damaged tables, also for a machine that only one of them has.
    """
    energies = {row.text("machine"): row for row in table_rows(fitted)}
    machines: list[MachineRow] = []
    for row in table_rows(peaks):
        costs = energies.pop(row.text("machine"), None)
        if costs is None:
            raise PublishedTableError(peaks, row.line, f"{row.text('machine')} is not in {fitted.name}")
        machines += [_machine(row, costs, precision) for precision in (SINGLE, DOUBLE)]
    for name, costs in energies.items():
        raise PublishedTableError(fitted, costs.line, f"{name} is not in {peaks.name}")
    return tuple(machines)


def choi2013_figures(path: Path = _TABLES / "figures.csv") -> tuple[FigureLabel, ...]:
    """The numbers printed into the figures. Raises `PublishedTableError` for a damaged table."""
    return tuple(
        FigureLabel(
            figure=row.text("figure"),
            machine=row.text("machine"),
            precision=row.text("precision"),
            quantity=row.text("quantity"),
            printed=row.number("printed"),
            decimals=len(row.text("printed").partition(".")[2]),
            read=row.text("read"),
        )
        for row in table_rows(path)
    )


def _machine(peaks: PublishedRow, costs: PublishedRow, precision: str) -> MachineRow:
    return MachineRow(
        machine=peaks.text("machine"),
        name=peaks.text("name"),
        precision=precision,
        peak_flops_per_s=1e9 * peaks.number(f"peak_{precision}_gflops"),
        bandwidth_bytes_per_s=1e9 * peaks.number("bandwidth_gb_per_s"),
        flop_energy_j=1e-12 * costs.number(f"flop_energy_{precision}_pj"),
        byte_energy_j=1e-12 * costs.number("byte_energy_pj"),
        constant_power_w=costs.number("constant_power_w"),
        power_limit_w=peaks.maybe("power_limit_w"),
    )


def _only(path: Path, rows: tuple[PublishedRow, ...]) -> PublishedRow:
    if len(rows) != 1:
        raise PublishedTableError(path, 1, f"one row expected, not {len(rows)}")
    return rows[0]
