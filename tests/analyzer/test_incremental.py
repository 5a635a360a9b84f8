"""Re-analysis of edited texts: always what a fresh analysis of the same text says."""

from __future__ import annotations

from pathlib import Path

import pytest

from wattslice.config import Config
from wattslice.incremental import CancelledError, IncrementalAnalyzer
from wattslice.pipeline import analyze_files

SAXPY = """\
__global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
int main() { float *x, *y; saxpy<<<4096, 256>>>(1 << 20, 2.0f, x, y); }
"""


def test_the_text_counts_and_not_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "saxpy.cu"
    path.write_text(SAXPY, encoding="utf-8")
    config = Config((path,), "v100")
    edited = SAXPY.replace("4096, 256", "16, 128")
    (kernel,) = IncrementalAnalyzer(config).analyze(path, edited).kernels
    assert (kernel.grid, kernel.block) == ((16, 1, 1), (128, 1, 1))
    path.write_text(edited, encoding="utf-8")
    assert analyze_files(config).kernels == (kernel,)


@pytest.mark.parametrize("name", ["new.cu", "new.c"])
def test_a_file_that_was_never_saved(tmp_path: Path, name: str) -> None:
    text = SAXPY if name.endswith(".cu") else "void f(float *a) { for (int i = 0; i < 9; i++) a[i] += 1; }\n"
    path = tmp_path / name
    found = IncrementalAnalyzer(Config((path,), "v100")).analyze(path, text)
    path.write_text(text, encoding="utf-8")
    assert found.kernels
    assert found == analyze_files(Config((path,), "v100"))


def test_the_fragment_of_another_file_is_read_from_memory(tmp_path: Path) -> None:
    path = tmp_path / "body.cu"
    path.write_text("", encoding="utf-8")
    whole = '#define REAL float\n#define STEP 2\n#include "body.cu"\n'
    (tmp_path / "whole.cu").write_text(whole, encoding="utf-8")
    text = "__global__ void k(REAL *x) { x[threadIdx.x * STEP] += STEP; }\n"
    (kernel,) = IncrementalAnalyzer(Config((path,), "v100")).analyze(path, text).kernels
    assert kernel.power_w is not None


def test_a_cancelled_analysis_ends(tmp_path: Path) -> None:
    path = tmp_path / "saxpy.cu"
    with pytest.raises(CancelledError):
        IncrementalAnalyzer(Config((path,), "v100")).analyze(path, SAXPY, lambda: True)
