"""`--data`: what arrays hold is told in every report, and idle values draw less."""

import json
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from wattslice.analysis import KernelAnalysis
from wattslice.cli import main
from wattslice.counting.count import count
from wattslice.frontend.cuda.read import read_cuda
from wattslice.launches.data import data_of, parse_data
from wattslice.launches.launch import ArrayData, DataKind, Overrides
from wattslice.launches.overrides import OverrideError
from wattslice.launches.resolver import resolve_launches
from wattslice.report.data_words import data_words
from wattslice.workload.launch_work import launch_work, residency
from wattslice_models.gpu import load_gpu

from .samples import MATMUL, changed

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


SET = SOURCE.replace(
    "  scale<<<",
    "  float *a; double *b;\n  cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 8);\n"
    "  cudaMemset(a, 0, n * 4);\n  scale<<<n / 256, 256>>>(n, a, b);\n  scale<<<",
)
"""A launch on zeros (line 11), then one on live values."""
ZEROS = "x zeros (cudaMemset in line 11)"


@pytest.fixture
def reported(tmp_path, capsys):
    def report(source, command, *words):
        path = tmp_path / "scale.cu"
        path.write_text(source)
        main([command, str(path), "--gpu", "v100_pcie", *words])
        return capsys.readouterr().out

    return report


GATE = ("gate", "--max-power", "300", "--no-cache")


@pytest.mark.parametrize("words", [(), ("--data", "zeros"), ("--data", "constant")])
@pytest.mark.parametrize(
    "command",
    [
        GATE,
        (*GATE, "--format", "github"),
        (*GATE, "--format", "gcc"),
        ("annotate",),
        ("analyze", "--format", "html"),
        ("sweep", "-D", "A=1,2", "--jobs", "1"),
        ("roofline", "--no-cache"),
    ],
    ids=" ".join,
)
def test_reports_say_what_is_assumed(reported, command, words):
    kind = words[-1] if words else "live"
    text = reported(SOURCE, *command, *words)
    assert f"data {kind}" in text
    assert not any(f"data {other.value}" in text for other in DataKind if other.value != kind)


def test_the_gate_says_which_launches_hold_something_else(reported):
    text = reported(SET, *GATE)
    assert f"data live; scale: live, {ZEROS}" in " ".join(text.split())
    assert "launches: 2 (data live, other in 1 launch)" in reported(SET, *GATE, "--format", "github")
    assert "scale: live" not in reported(SET, *GATE, "--data", "live")


def test_machines_read_it_of_each_launch(reported):
    suites = ElementTree.fromstring(reported(SET, *GATE, "--format", "junit"))
    told = {one.get("name"): one.get("value") for one in suites.iter("property")}
    assert (told["scale: data"], told["scale (launch 2): data"]) == (f"live, {ZEROS}", "live")
    (run,) = json.loads(reported(SET, *GATE, "--format", "sarif"))["runs"]
    assert [one["data"] for one in run["properties"]["kernels"]] == [f"live, {ZEROS}", "live"]
    placed = json.loads(reported(SET, "roofline", "--no-cache", "--format", "json"))["kernels"]
    assert [one["data"] for one in placed] == [f"live, {ZEROS}", "live"]
    variant, _ = json.loads(reported(SET, "sweep", "-D", "A=1,2", "--jobs", "1", "--format", "json"))[
        "variants"
    ]
    assert [one["data"] for one in variant["launches"]] == [f"live, {ZEROS}", "live"]


def held(name: str, data: str) -> KernelAnalysis:
    return changed(MATMUL, name=name, launch={"data": data})


def test_words_for_many_launches():
    live, others = [held("k", "live")] * 5, [held(f"k{n}", "zeros") for n in range(5)]
    assert data_words([]) == ""
    assert data_words([*live, *others[:4]]) == "data live; k0: zeros; k1: zeros; k2: zeros; and 1 more"
    assert data_words([*live, *others[:3]]) == "data live; k0: zeros; k1: zeros; k2: zeros"
    assert data_words([*live, others[0], others[0]]) == "data live; k0: zeros"
    assert data_words([*live, *others[:2]], named=False) == "data live, other in 2 launches"


def test_annotated_launches_say_where_they_differ(reported):
    text = " ".join(reported(SET, "annotate").split())
    assert "data live · the lines share" in text
    assert "also scale <<<262144, 256>>>" in text
    assert f"· data live, {ZEROS}" in text
