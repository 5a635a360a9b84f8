"""`--data`: what arrays hold is told in every report, and idle values draw less."""

import json

import pytest
from msgspec.structs import replace

from wattslice.cli import main
from wattslice.counting.count import count
from wattslice.frontend.cuda.read import read_cuda
from wattslice.launches.data import data_of, parse_data
from wattslice.launches.launch import ArrayData, DataKind, Overrides
from wattslice.launches.overrides import OverrideError
from wattslice.launches.resolver import resolve_launches
from wattslice.workload.launch_work import launch_work, residency
from wattslice_models.gpu import load_gpu

SOURCE = """
__global__ void scale(int n, const float *x, double *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
int main() {
  float *x; double *y; int n = 1 << 26;
  cudaMalloc(&x, n * 4); cudaMalloc(&y, n * 8);
  scale<<<n / 256, 256>>>(n, x, y);
}
"""


@pytest.fixture
def analyzed(tmp_path, capsys):
    path = tmp_path / "scale.cu"
    path.write_text(SOURCE)

    def analyze(*words):
        assert main(["analyze", str(path), "--gpu", "v100_pcie", "--format", "json", *words]) == 0
        (kernel,) = json.loads(capsys.readouterr().out)["kernels"]
        return kernel

    return analyze


def test_the_default_is_live_and_said(analyzed):
    assert analyzed()["data"] == "live"
    assert analyzed() == analyzed("--data", "live")


def test_idle_values_draw_less_and_take_as_long(analyzed):
    live, zeros, constant = (analyzed("--data", kind) for kind in ("live", "zeros", "constant"))
    assert zeros["power_w"] < 0.9 * live["power_w"]
    assert zeros["time_s"] == live["time_s"]
    assert (constant["power_w"], constant["data"]) == (zeros["power_w"], "constant")


def test_arrays_count_by_the_bytes_that_they_move(analyzed):
    """y has twice the bytes of x; only loads bring operands, and x is all that is loaded."""
    live, of_x, of_y, both = (
        analyzed(*words)["power_w"]
        for words in (
            (),
            ("--data", "x=zeros"),
            ("--data", "scale.y=zeros"),
            ("--data", "zeros", "--data", "x=constant"),
        )
    )
    assert both < of_x < live
    assert both < of_y < live
    assert analyzed("--data", "zeros")["power_w"] == both
    assert analyzed("--data", "x=zeros")["data"] == "live, x zeros"


def test_operands_come_from_what_is_loaded(tmp_path):
    """x has 4 of 12 bytes of DRAM and all that is loaded."""
    path = tmp_path / "scale.cu"
    path.write_text(SOURCE)
    gpu = load_gpu("v100_pcie")
    (launch,) = resolve_launches(read_cuda(path), Overrides(), gpu)

    def shares(*texts: str) -> tuple[float, float]:
        told = replace(launch, data=data_of(launch.kernel, parse_data(texts)))
        work = launch_work(told, residency(told, gpu), count(told)).workload
        assert work is not None
        return work.live_operands, work.live_data

    assert shares() == (1.0, 1.0)
    assert shares("x=zeros") == pytest.approx((0.0, 2 / 3))
    assert shares("y=zeros") == pytest.approx((1.0, 1 / 3))
    assert shares("zeros", "x=live") == pytest.approx((1.0, 1 / 3))
    assert shares("zeros", "x=constant") == (0.0, 0.0)


def test_a_kind_of_another_kernel_is_none_of_this_one(tmp_path, capsys):
    path = tmp_path / "two.cu"
    path.write_text(SOURCE + SOURCE.split("int main")[0].replace("scale", "other"))
    words = ["analyze", str(path), "--gpu", "v100_pcie", "--format", "json", "--data", "other.x=zeros"]
    assert main(words) == 0
    told = {kernel["name"]: kernel["data"] for kernel in json.loads(capsys.readouterr().out)["kernels"]}
    assert told == {"scale": "live", "other": "live, x zeros"}


def test_what_is_said_of_nothing_is_an_error(tmp_path, capsys):
    path = tmp_path / "scale.cu"
    path.write_text(SOURCE)
    assert main(["analyze", str(path), "--data", "z=zeros"]) == 2
    assert "--data: no array 'z' in the analysed files" in capsys.readouterr().err


def test_texts():
    found = parse_data(["zeros", "k.a=live", "a=constant", "zeros", "a=zeros"])
    assert found == (
        ArrayData(None, None, DataKind.ZEROS),
        ArrayData("k", "a", DataKind.LIVE),
        ArrayData(None, "a", DataKind.ZEROS),
    )
    for text in ("warm", "a=", "=zeros", "a b=zeros", "k.=zeros"):
        with pytest.raises(OverrideError, match="--data"):
            parse_data([text])
