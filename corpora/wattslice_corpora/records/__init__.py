"""Measured runs of kernels: the rows, where they come from, how they were made, our features of the kernels.

`tables` reads and writes typed CSV, `measured` is the one schema of measured runs, `cards` says what is known
of them, `recipes` how public programs were run, and `workloads` what our analyzer found in their source.
"""

from wattslice_corpora.records.cards import DataCard, DataSet, InvalidRows, Use, card_path, read_card
from wattslice_corpora.records.measured import (
    MEASUREMENT_DIRECTORY,
    MeasuredRow,
    measured_fault,
    measured_gpu_ids,
    measurements_path,
    read_measurements,
)
from wattslice_corpora.records.recipes import (
    BenchmarkRecipe,
    LaunchRecipe,
    ParameterValue,
    Recipes,
    WithoutSource,
    option,
    read_recipes,
    recipes_path,
)
from wattslice_corpora.records.tables import Dim3, RecordError, read_table, sha256, write_table
from wattslice_corpora.records.workloads import WorkloadRow, read_workloads, workloads_path

__all__ = [
    "MEASUREMENT_DIRECTORY",
    "BenchmarkRecipe",
    "DataCard",
    "DataSet",
    "Dim3",
    "InvalidRows",
    "LaunchRecipe",
    "MeasuredRow",
    "ParameterValue",
    "Recipes",
    "RecordError",
    "Use",
    "WithoutSource",
    "WorkloadRow",
    "card_path",
    "measured_fault",
    "measured_gpu_ids",
    "measurements_path",
    "option",
    "read_card",
    "read_measurements",
    "read_recipes",
    "read_table",
    "read_workloads",
    "recipes_path",
    "sha256",
    "workloads_path",
    "write_table",
]
