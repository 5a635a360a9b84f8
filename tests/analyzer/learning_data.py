"""A campaign's folder without a GPU: made-up watts of kernels whose sources lie beside the table."""

import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from wattslice_corpora.records import MeasuredRow, write_table

SOURCE = """
__global__ void work(int rounds, const float *x, float *y) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a = x[i];
    for (int k = 0; k < {rounds}; k++) a = a * a + 0.5f;
    y[i] = a;
}}
int main() {{
    float *x, *y;
    cudaMalloc(&x, 4000000);
    cudaMalloc(&y, 4000000);
    work<<<{blocks}, 256>>>(3, x, y);
}}
"""
CARD = """
board = "a board"
chip = "GH100"
driver = ""
"""
DATASET = """
[[dataset]]
key = "{key}"
use = "{use}"
timed = "kernel"
recipes = ""
repository = ""
path = ""
commit = ""
licence = "ours"
measured_by = "nobody"
measured_in = ""
protocol = "made up"
power_definition = "made up"
faults = ["not a measurement"]
"""


def row(benchmark: str, core_mhz: float, power_w: float, time_s: float | None, dataset: str) -> MeasuredRow:
    """A valid row of kernel `work`."""
    cells: Any = dict.fromkeys(MeasuredRow.__struct_fields__)
    cells.update(
        dataset=dataset,
        benchmark=benchmark,
        kernel="work",
        arguments="",
        input="random",
        core_mhz=core_mhz,
        memory_mhz=3201.0,
        time_s=time_s,
        power_w=power_w,
        method="made up",
        power_valid=True,
        reason="",
    )
    return MeasuredRow(**cells)


def campaign(folder: Path, time_s: float | None = 1e-4) -> Path:
    """Five training slices and three test kernels at two clocks; the path of the table."""
    (folder / "sources").mkdir(parents=True)
    rows: list[MeasuredRow] = []
    for number in range(8):
        name, rounds, blocks = f"slice{number}", 4 * 3**number % 1000 + 4, 1000 + 500 * number
        text = SOURCE.format(rounds=rounds, blocks=blocks)
        (folder / "sources" / f"{name}.cu").write_text(text)
        for core_mhz in (1000.0, 1980.0):
            power_w = (100.0 + 60.0 * rounds**0.2) * (0.5 + 0.5 * core_mhz / 1980.0)
            dataset = "slices-x" if number < 5 else "kernels-x"
            made = row(name, core_mhz, power_w, time_s, dataset)
            rows.append(replace(made, grid=(blocks, 1, 1), block=(256, 1, 1), shared_bytes=0))
    table = folder / "measured.csv"
    write_table(table, ("made up",), MeasuredRow, tuple(rows))
    datasets = [DATASET.format(key="slices-x", use="training"), DATASET.format(key="kernels-x", use="test")]
    (folder / "card.toml").write_text("".join([CARD, *datasets]))
    return table


@pytest.fixture
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """`train` draws six, which takes longer than all the rest; without matplotlib it says so and goes on."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
