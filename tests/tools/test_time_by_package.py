"""Where the time of analyses goes, by package."""

from __future__ import annotations

import signal

import pytest

from wattslice_tools.wild import time_by_package

KERNEL = """
__global__ void k(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = sinf(a[i]);
}
int main(int argc, char **argv) { k<<<1000, 256>>>(0, atoi(argv[1])); }
"""


@pytest.mark.slow
def test_all_time_goes_to_packages_that_an_analysis_runs_through(tmp_path):
    file = tmp_path / "k.cu"
    file.write_text(KERNEL)
    before = signal.getsignal(signal.SIGPROF)
    found = time_by_package.shares([file] * 20, "v100")
    assert sum(found.values()) == pytest.approx(1)
    assert found["frontend/cuda/clang"] > 0.02
    assert found["counting"] > 0.02
    assert "ir" not in found
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert signal.getsignal(signal.SIGPROF) == before


def test_the_page_says_what_would_be_left_without_the_largest(monkeypatch):
    found = {"counting": 0.5, "launches": 0.25, "power": 0.249, "lsp": 0.001}

    def shares(*_):
        return found

    monkeypatch.setattr(time_by_package, "shares", shares)
    text = "\n".join(time_by_package.lines([], "v100"))
    assert "| `power` | 24.9% |" in text
    assert "lsp" not in text
    assert "Were the first two free, 25% of the time would be left." in text
