"""Host code is read again only where that may say something else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from wattslice.frontend.cuda.read import read_cuda
from wattslice.launches.host_code import HostCode
from wattslice.launches.memory import Record
from wattslice_models.gpu import load_gpu

SOURCE = """__global__ void k(int* a) { a[0] = 1; }
int main(int argc, char** argv) {
  int n = 8, m = atoi(argv[1]);
  if (n < 5) n = m;
  k<<<n, 32>>>(0);
}
"""


@pytest.mark.parametrize(
    ("before", "pins", "grid", "is_again"),
    [
        ({}, {"nobody": 7}, 8, False),
        ({}, {"m": 7}, 8, True),  # nobody looked whether it would have been read
        ({"m": 7}, {"m": 3}, 8, False),
        ({}, {"n": 2}, 2, True),
        ({"n": 2}, {}, 8, True),
        ({"n": 2, "m": 7}, {"n": 3, "m": 7}, 3, True),
        ({"n": 2, "m": 7}, {"n": 2, "m": 3}, 2, True),
    ],
)
def test_a_reading_stands_for_others_of_what_it_does_not_ask(
    tmp_path: Path, before: Mapping[str, int], pins: Mapping[str, int], grid: int, is_again: bool
):
    path = tmp_path / "again.cu"
    path.write_text(SOURCE)
    host = HostCode(read_cuda(path), load_gpu("v100"))
    (first,) = host.launches(before)
    (second,) = host.launches(pins)
    assert isinstance(second.grid, Record)
    assert second.grid.cells[0] == grid
    assert (second is not first) is is_again
