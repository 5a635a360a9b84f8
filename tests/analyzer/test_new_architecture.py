"""A GPU of an architecture that no code names is one TOML file, analysed end to end."""

import json
from pathlib import Path

import pytest

from wattslice.cli import main
from wattslice_models import gpu as gpu_module

GPU_FILES = Path(gpu_module.__file__).parent / "gpus"
SAXPY = """__global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
int main() { saxpy<<<4096, 256>>>(1 << 20, 2.0f, 0, 0); }
"""


def replaced(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


def analyzed(folder: Path, capsys, xmad: str = "false", like_measured: str = "true"):
    board = replaced(
        (GPU_FILES / "h100.toml").read_text(encoding="utf-8"),
        ('id = "h100"', 'id = "r100"'),
        ('chip = "GH100"', 'chip = "GR100"'),
        ('architecture = "hopper"\n', ""),
        ("compute_capability = [9, 0]", "compute_capability = [13, 0]"),
    )
    architecture = replaced(
        (GPU_FILES / "architectures" / "hopper.toml").read_text(encoding="utf-8"),
        ('name = "hopper"\ngeneration = 9', 'name = "rubin"\ngeneration = 11'),
        ("multiplies_16_bits = { value = false", f"multiplies_16_bits = {{ value = {xmad}"),
        ("is_like_measured = { value = true", f"is_like_measured = {{ value = {like_measured}"),
    )
    path = folder / f"{xmad}-{like_measured}.toml"
    path.write_text(f"{board}[architecture]\n{architecture}", encoding="utf-8")
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
