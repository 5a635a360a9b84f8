"""A GPU of an architecture that no code names is one TOML file, analysed end to end."""

import json
from pathlib import Path

import pytest

from wattslice.cli import main
from wattslice_models import gpu as gpu_module

H100 = Path(gpu_module.__file__).parent / "gpus" / "h100.toml"
ARCHITECTURE = """
[architecture]
name = "rubin"
generation = 11
warp_instructions_per_clock_per_sm = { value = 4, source = "assumed" }
texture_units_per_sm = { value = 4, source = "assumed" }
dependent_issue_cycles = { value = 4, source = "assumed" }
has_one_integer_pipe = { value = false, source = "assumed" }
multiplies_16_bits = { value = %s, source = "assumed" }
l1_keeps_global_loads = { value = true, source = "assumed" }
allocates_registers_per_block = { value = false, source = "assumed" }
is_like_measured = { value = %s, source = "assumed" }
shared_latency_cycles = { value = 23, source = "assumed" }
l1_latency_cycles = { value = 33, source = "assumed" }
l2_latency_cycles = { value = 211, source = "assumed" }
dram_latency_ns = { value = 256, source = "assumed" }
shared_bytes_per_clock_per_sm = { value = 128, source = "assumed" }
l1_bytes_per_clock_per_sm = { value = 125, source = "assumed" }
l2_bytes_per_clock_per_sm = { value = 35.5, source = "assumed" }
dram_efficiency = { value = 0.9, source = "assumed" }
block_dispatch_cycles = { value = 1.5, source = "assumed" }
"""
SAXPY = """__global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
int main() { saxpy<<<4096, 256>>>(1 << 20, 2.0f, 0, 0); }
"""


def analyzed(folder: Path, capsys, xmad: str = "false", like_measured: str = "true"):
    own = H100.read_text(encoding="utf-8")
    for old, new in (
        ('id = "h100"', 'id = "r100"'),
        ('chip = "GH100"', 'chip = "GR100"'),
        ('architecture = "hopper"\n', ""),
        ("compute_capability = [9, 0]", "compute_capability = [13, 0]"),
    ):
        assert old in own
        own = own.replace(old, new)
    path = folder / f"{xmad}-{like_measured}.toml"
    path.write_text(own + ARCHITECTURE % (xmad, like_measured), encoding="utf-8")
    (folder / "saxpy.cu").write_text(SAXPY)
    files = [str(folder / "saxpy.cu"), "--gpu", str(path)]
    assert main(["analyze", *files, "--no-cache", "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def kernel(tmp_path, capsys):
    document = analyzed(tmp_path, capsys)
    assert document["gpu"] == "r100"
    (kernel,) = document["kernels"]
    return kernel


def test_it_has_watts_seconds_and_joules(kernel):
    assert kernel["power_w"] > 0
    assert kernel["time_s"] > 0
    assert kernel["energy_j"] == pytest.approx(kernel["power_w"] * kernel["time_s"])
    assert kernel["occupancy"] == 1.0


def test_what_the_file_says_of_the_architecture_decides(kernel, tmp_path, capsys):
    (other,) = analyzed(tmp_path, capsys, xmad="true")["kernels"]
    assert sum(other["instructions_per_thread"].values()) > sum(kernel["instructions_per_thread"].values())
    (strange,) = analyzed(tmp_path, capsys, like_measured="false")["kernels"]
    assert strange["power_w"] is None
