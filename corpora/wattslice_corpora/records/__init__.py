"""Measured runs of kernels: the rows, where they come from, how they were made, our features of the kernels.

`tables` reads and writes typed CSV, `measured` is the one schema of measured runs, `cards` says what is known
of them, `recipes` how public programs were run, `workloads` and `slices` what our analyzer found in their
source, `utilisation` what counters of the GPU saw, and `sweeps` which runs are an intensity sweep.
"""

from wattslice_corpora.records.cards import (
    CoreClock,
    DataCard,
    DataSet,
    IdlePower,
    InvalidRows,
    Timed,
    Use,
    card_path,
    read_card,
)
from wattslice_corpora.records.instructions import MeasuredInstruction, read_instructions
from wattslice_corpora.records.measured import (
    MEASUREMENT_DIRECTORY,
    MeasuredRow,
    measured_fault,
    measured_gpu_ids,
    measurements_path,
    read_measurements,
)
from wattslice_corpora.records.recipes import (
    UNKNOWN_DATA,
    ArrayBytes,
    BenchmarkRecipe,
    LaunchRecipe,
    LiveShare,
    ParameterValue,
    Recipes,
    WithoutRecipe,
    option,
    read_recipes,
    recipes_path,
)
from wattslice_corpora.records.slices import SliceRow, read_slices, slices_path
from wattslice_corpora.records.sweeps import FlopKind, SweepRow, read_sweep, sweep_beside, sweep_path
from wattslice_corpora.records.tables import (
    Dim3,
    RecordError,
    read_table,
    sha256,
    table_text,
    write_table,
    write_text,
)
from wattslice_corpora.records.utilisation import UtilisationRow, read_utilisation, utilisation_path
from wattslice_corpora.records.workloads import WorkloadRow, read_workloads, workloads_path

__all__ = [
    "MEASUREMENT_DIRECTORY",
    "UNKNOWN_DATA",
    "ArrayBytes",
    "BenchmarkRecipe",
    "CoreClock",
    "DataCard",
    "DataSet",
    "Dim3",
    "FlopKind",
    "IdlePower",
    "InvalidRows",
    "LaunchRecipe",
    "LiveShare",
    "MeasuredInstruction",
    "MeasuredRow",
    "ParameterValue",
    "Recipes",
    "RecordError",
    "SliceRow",
    "SweepRow",
    "Timed",
    "Use",
    "UtilisationRow",
    "WithoutRecipe",
    "WorkloadRow",
    "card_path",
    "measured_fault",
    "measured_gpu_ids",
    "measurements_path",
    "option",
    "read_card",
    "read_instructions",
    "read_measurements",
    "read_recipes",
    "read_slices",
    "read_sweep",
    "read_table",
    "read_utilisation",
    "read_workloads",
    "recipes_path",
    "sha256",
    "slices_path",
    "sweep_beside",
    "sweep_path",
    "table_text",
    "utilisation_path",
    "workloads_path",
    "write_table",
    "write_text",
]
