"""Wang & Chen 2013: a power model from static program slices."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from wattslice_corpora.published.tables import table_rows

_TABLES = Path(__file__).parent / "wang2013"


class RegressionRow(Struct, frozen=True):
    """Wang & Chen 2013, Table 1: ``P = beta_0 Sa + beta_1 Ã^beta_2`` of one GPU, the first two in watts."""

    gpu: str
    beta_0_w: float
    beta_1_w: float
    beta_2: float


class SparseProgramRow(Struct, frozen=True):
    """Wang & Chen 2013, Table 2: one branch-sparse program on the GTX 280, as printed."""

    program: str
    description: str
    sm_saturation: float
    arithmetic_density: float
    printed_prediction_w: float
    measured_w: float


class DenseProgramRow(Struct, frozen=True):
    """Wang & Chen 2013, Table 3: one branch-dense program on the GTX 280, as printed.

    The table prints Sa from 0.3 to 0.8 where the text says that all five programs ran at Sa = 1.
    """

    program: str
    description: str
    sm_saturation: float
    arithmetic_density: float
    printed_bspm_w: float
    printed_bdpm_w: float
    measured_w: float


class RelativeErrorRow(Struct, frozen=True):
    """Wang & Chen 2013, Table 4: one relative error, a fraction (0.0422 for the 4.22 % printed)."""

    branch_class: str
    program: str
    gpu: str
    sm_saturation: float
    relative_error: float


def wang2013_tables() -> tuple[Path, ...]:
    """The files of the tables of Wang & Chen 2013, Table 1 first."""
    return tuple(sorted(_TABLES.glob("table*.csv")))


def wang2013_regressions(path: Path = _TABLES / "table1.csv") -> tuple[RegressionRow, ...]:
    """Table 1. Raises `PublishedTableError` with file and line for a damaged table."""
    return tuple(
        RegressionRow(
            gpu=row.text("gpu"),
            beta_0_w=row.number("beta0_x1_SM_saturation"),
            beta_1_w=row.number("beta1"),
            beta_2=row.number("beta2_exponent_of_x2_compute_density"),
        )
        for row in table_rows(path)
    )


def wang2013_sparse_programs(path: Path = _TABLES / "table2.csv") -> tuple[SparseProgramRow, ...]:
    """Table 2. Raises `PublishedTableError` with file and line for a damaged table."""
    return tuple(
        SparseProgramRow(
            program=row.text("program"),
            description=row.text("description"),
            sm_saturation=row.number("Sa_SM_saturation"),
            arithmetic_density=row.number("A_compute_density"),
            printed_prediction_w=row.number("predicted_w_printed"),
            measured_w=row.number("measured_w"),
        )
        for row in table_rows(path)
    )


def wang2013_dense_programs(path: Path = _TABLES / "table3.csv") -> tuple[DenseProgramRow, ...]:
    """Table 3. Raises `PublishedTableError` with file and line for a damaged table."""
    return tuple(
        DenseProgramRow(
            program=row.text("program"),
            description=row.text("description"),
            sm_saturation=row.number("Sa_SM_saturation"),
            arithmetic_density=row.number("A_compute_density"),
            printed_bspm_w=row.number("bspm_w"),
            printed_bdpm_w=row.number("bdpm_w"),
            measured_w=row.number("measured_w"),
        )
        for row in table_rows(path)
    )


def wang2013_relative_errors(path: Path = _TABLES / "table4.csv") -> tuple[RelativeErrorRow, ...]:
    """Table 4, one row per number. Raises `PublishedTableError` with file and line for a damaged table."""
    return tuple(
        RelativeErrorRow(
            branch_class=row.text("branch_class"),
            program=row.text("program"),
            gpu=gpu,
            sm_saturation=sm_saturation,
            relative_error=row.number(f"rel_err_pct_{gpu}_Sa{sm_saturation:.1f}") / 100,
        )
        for row in table_rows(path)
        for sm_saturation in (1.0, 0.8, 0.6)
        for gpu in ("GTX280", "GTX480")
    )
