"""`wattslice roofline`: which coefficients it takes, where it places kernels, what it prints and draws."""

import json
import sys
from itertools import product
from pathlib import Path

import pytest
from msgspec.structs import replace

from wattslice.analysis import Precision
from wattslice.cli import main
from wattslice.config.config import Options, make_config
from wattslice.errors import WattsliceError
from wattslice.pipeline.files import analyze_files
from wattslice.report.roofline_picture import draw_rooflines
from wattslice.roofline.kernels import Bound, PowerSource, Rooflines, place_kernels, rooflines_of_gpu
from wattslice.roofline.machines import Coefficients, is_published_only, machines_of, published_machines
from wattslice_models.energy import Component, EnergyModel
from wattslice_models.execution_time import Clocks
from wattslice_models.gpu import load_gpu
from wattslice_models.roofline_store import save_roofline, stored_roofline
from wattslice_models.store import energy_model
from wattslice_models.user_folder import user_models

CODE = """
__global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void polynomial(const double *x, double *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double v = x[i], s = 0.0;
    for (int k = 0; k < 512; k++) s = s * v + 1.5;
    y[i] = s;
}
__global__ void copy(const int *x, int *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i];
}
int main() {
    const int n = 1 << 22;
    float *f; double *d; int *k;
    cudaMalloc(&f, 2 * n * sizeof(float));
    cudaMalloc(&d, 2 * n * sizeof(double));
    cudaMalloc(&k, 2 * n * sizeof(int));
    saxpy<<<n / 256, 256>>>(n, 2.0f, f, f + n);
    polynomial<<<n / 256, 256>>>(d, d + n);
    copy<<<n / 256, 256>>>(k, k + n);
}
"""
OWN = Clocks()
KERNELS = Path(__file__).parents[2] / "corpora" / "wattslice_corpora" / "kernels"


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("roofline") / "three.cu"
    path.write_text(CODE)
    return path


@pytest.fixture
def swept(monkeypatch, tmp_path) -> Path:
    """The user's own fit for a GPU whose energy model is carried over."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    fit = stored_roofline("v100_pcie")
    assert fit is not None
    return save_roofline(user_models() / "titan_v", fit)


@pytest.fixture(autouse=True)
def _no_models_of_the_user(monkeypatch, tmp_path_factory):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))


def placed(source, gpu, only=None):
    config = make_config(Options(paths=(source,), gpu=gpu, no_cache=True))
    shown = rooflines_of_gpu(config, Coefficients.AUTO, only, analyze_files(config))
    return {kernel.name: kernel for kernel in shown.kernels or ()}


def run(capsys, *words: str) -> tuple[int, str, str]:
    status = main(["roofline", *words])
    told = capsys.readouterr()
    return status, told.out, told.err


def test_the_paper_answers_for_its_gpu_the_energy_model_for_others():
    gtx580 = machines_of(load_gpu("gtx580"), OWN)
    assert {machine.coefficients for machine in gtx580} == {Coefficients.PUBLISHED}
    assert gtx580[0].energies is not None
    assert gtx580[0].energies.flop_energy_j == pytest.approx(99.7e-12)
    v100 = machines_of(load_gpu("v100"), OWN)
    assert {machine.coefficients for machine in v100} == {Coefficients.MODEL}
    assert [machine.precision for machine in v100] == list(Precision)


def test_published_coefficients_hold_at_the_clocks_of_the_paper_only():
    slow = machines_of(load_gpu("gtx580"), Clocks(core_mhz=800.0))
    assert {machine.coefficients for machine in slow} == {Coefficients.NONE}
    with pytest.raises(WattsliceError, match="clocks of the paper"):
        machines_of(load_gpu("gtx580"), Clocks(core_mhz=800.0), Coefficients.PUBLISHED)


def test_a_gpu_without_energies_has_a_time_roof_and_a_reason():
    machine = machines_of(load_gpu("gtx480"), OWN)[0]
    assert machine.energies is None
    assert machine.roofline.time_balance == pytest.approx(7.58, abs=0.01)
    assert "fermi chips differ" in machine.no_energies


def test_lines_and_points_come_from_the_energy_model_of_this_very_gpu(source):
    gpu = load_gpu("quadro_rtx_8000")
    machines = machines_of(gpu, OWN)
    assert {machine.source for machine in machines} == {"the energy model of this GPU"}
    config = make_config(Options(paths=(source,), gpu=gpu.id, no_cache=True))
    for kernel in analyze_files(config).kernels:  # the page and the library take the same
        assert kernel.roofline is not None
        assert kernel.roofline.machine in [machine.roofline for machine in machines]


def test_a_sweep_of_this_gpu_comes_before_a_model_carried_over(swept):
    machines = machines_of(load_gpu("titan_v"), OWN)
    assert [machine.coefficients for machine in machines] == [
        Coefficients.FITTED,
        Coefficients.FITTED,
        Coefficients.NONE,
        Coefficients.NONE,
    ]
    assert {machine.no_energies for machine in machines[2:]} == {"the sweep measured fp32 and fp64 only"}


def test_a_fit_has_the_roofs_of_the_catalogue_and_tells_its_own_rates():
    gpu = load_gpu("quadro_rtx_8000")
    fitted, plain = (machines_of(gpu, OWN, one) for one in (Coefficients.FITTED, Coefficients.NONE))
    fit = stored_roofline(gpu.id)
    assert fit is not None
    assert fitted[1].energies is not None
    assert fitted[1].energies.flop_energy_j == fit.reference.relative_fit.double_flop_energy_j.value
    assert [one.roofline.peak_flops_per_s for one in fitted] == [
        one.roofline.peak_flops_per_s for one in plain
    ]
    assert fitted[0].roofline.byte_time_s == plain[0].roofline.byte_time_s
    assert "at 1710 MHz" in fitted[0].source
    assert "equal shares" in fitted[0].source  # `relative_fit`, which does not weight runs alike
    assert any("572 GB/s" in doubt for doubt in fitted[0].doubts)
    assert any("toggled" in doubt for doubt in fitted[0].doubts)


@pytest.mark.parametrize(
    ("gpu", "folder"), list(product(("quadro_rtx_8000", "gtx580"), ("linear_algebra", "wang2013")))
)
@pytest.mark.slow
def test_no_kernel_of_the_corpus_lies_above_its_roof(gpu, folder):
    config = make_config(Options(paths=(KERNELS / folder,), gpu=gpu, no_cache=True))
    analysis = analyze_files(config)
    for wanted in (Coefficients.AUTO, Coefficients.FITTED):
        if wanted is Coefficients.FITTED and stored_roofline(gpu) is None:
            continue
        shares = [
            kernel.share_of_roof for kernel in rooflines_of_gpu(config, wanted, None, analysis).kernels or ()
        ]
        assert 0.5 < max(share for share in shares if share is not None) <= 1.0


@pytest.mark.slow
def test_a_kernel_at_the_power_limit_lies_on_its_lines(capsys):
    gpu, name, slower = "gtx580", "gemmTensor", 1.27
    path = KERNELS / "linear_algebra/gemm_tensor.cu"
    config = make_config(Options(paths=(path,), gpu=gpu, no_cache=True))
    shown = rooflines_of_gpu(config, Coefficients.AUTO, None, analyze_files(config))
    (kernel,) = (one for one in shown.kernels or () if one.name == name)
    assert kernel.slowdown == pytest.approx(slower, abs=0.01)
    assert replace(kernel, power_w=0.99 * (kernel.power_w or 0.0)).slowdown is None  # not at the limit
    assert kernel.machine is not None
    assert kernel.machine.energies is not None
    assert kernel.intensity is not None
    assert kernel.flops_per_j == pytest.approx(kernel.machine.energies.flops_per_j(kernel.intensity))
    assert (kernel.flops_per_s or 0.0) <= kernel.machine.energies.flops_per_s(kernel.intensity) * (1 + 1e-9)
    out = run(capsys, str(path), "--gpu", gpu, "--no-cache")[1]
    assert "†" in next(line for line in out.splitlines() if f" {name} " in line)
    assert f"taken to run {slower:.2f} times as long" in " ".join(out.replace("up to ", "").split())


def test_the_table_tells_what_the_limit_leaves(capsys):
    out = run(capsys, "--gpu", "gtx580")[1]
    rows = {line.strip().split("  ")[0]: line.split() for line in out.splitlines()}
    assert rows["peak under the limit"][4:6] == ["1.22", "Tflop/s"]
    assert rows["best efficiency under it"][4:6] == ["5.02", "Gflop/J"]


def test_a_fit_that_cannot_be_used_is_told(capsys, swept):
    swept.write_text("{}")
    out = " ".join(run(capsys, "--gpu", "titan_v")[1].split())
    assert "the energy model carried over from" in out
    assert "a fit to a sweep of this GPU is left out:" in out


def test_a_fit_holds_near_its_clocks():
    gpu = load_gpu("v100_pcie")
    near = machines_of(gpu, Clocks(core_mhz=950.0), Coefficients.FITTED)[0]
    assert "at 945 MHz" in near.source
    with pytest.raises(WattsliceError, match=r"no run near --core-mhz 900: nearest 945 MHz"):
        machines_of(gpu, Clocks(core_mhz=900.0), Coefficients.FITTED)


def test_presumed_energies_are_told(monkeypatch):
    def presumed(gpu):
        model = energy_model(gpu)
        assert isinstance(model, EnergyModel)
        unseen = (replace(one, fitted=one.component is not Component.TENSOR) for one in model.energies)
        return replace(model, energies=tuple(unseen))

    monkeypatch.setattr("wattslice.roofline.machines.energy_model", presumed)
    tensor = next(one for one in machines_of(load_gpu("v100"), OWN) if one.precision is Precision.TENSOR)
    assert any("order of magnitude" in doubt for doubt in tensor.doubts)


@pytest.mark.parametrize(
    ("gpu", "wanted", "why"),
    [
        ("gtx480", Coefficients.MODEL, "fermi chips differ"),
        ("gtx480", Coefficients.PUBLISHED, "nothing is published of gtx480"),
        ("gtx480", Coefficients.FITTED, "no roofline was fitted"),
    ],
)
def test_wanted_coefficients_that_do_not_exist_are_refused(gpu, wanted, why):
    with pytest.raises(WattsliceError, match=why):
        machines_of(load_gpu(gpu), OWN, wanted)


def test_the_processor_of_the_paper_is_no_gpu():
    assert is_published_only("i7-950")
    assert not is_published_only("gtx580")
    assert not is_published_only("nonsense")
    assert [machine.precision for machine in published_machines("i7-950")] == [Precision.FP32, Precision.FP64]


def test_kernels_lie_under_the_roofs_of_their_own_arithmetic(source):
    kernels = placed(source, "v100")
    saxpy, polynomial, copy = kernels["saxpy"], kernels["polynomial"], kernels["copy"]
    assert saxpy.precision is Precision.FP32
    assert saxpy.intensity == pytest.approx(2 / 12)
    assert (saxpy.time_bound, saxpy.energy_bound) == (Bound.MEMORY, Bound.MEMORY)
    assert polynomial.precision is Precision.FP64
    assert polynomial.intensity == pytest.approx(64.0)
    assert (polynomial.time_bound, polynomial.energy_bound) == (Bound.COMPUTE, Bound.COMPUTE)
    for kernel in (saxpy, polynomial):
        assert kernel.machine is not None
        assert kernel.flops_per_s is not None
        assert kernel.intensity is not None
        assert kernel.power_w is not None
        roof = kernel.machine.roofline.without_limit().flops_per_s(kernel.intensity)
        assert kernel.share_of_roof == pytest.approx(kernel.flops_per_s / roof)
        assert 0.5 < kernel.flops_per_s / roof < 1.0
        assert kernel.flops_per_j == pytest.approx(kernel.flops_per_s / kernel.power_w)
        assert kernel.power_source is PowerSource.MODEL
    assert copy.machine is None
    assert copy.intensity is None
    assert "no floating-point operations" in copy.why


def test_where_no_power_model_knows_watts_the_roofline_tells_them(source):
    saxpy = placed(source, "gtx580")["saxpy"]
    assert saxpy.power_source is PowerSource.ROOFLINE
    assert saxpy.machine is not None
    assert saxpy.machine.energies is not None
    assert saxpy.flops is not None
    assert saxpy.dram_bytes is not None
    assert saxpy.time_s is not None
    assert saxpy.power_w == pytest.approx(
        122.0 + (saxpy.flops * 99.7e-12 + saxpy.dram_bytes * 513e-12) / saxpy.time_s
    )


def test_a_kernel_of_other_arithmetic_has_no_place_and_is_told_why(source):
    polynomial = placed(source, "v100", Precision.FP32)["polynomial"]
    assert polynomial.machine is None
    assert polynomial.share_of_roof is None
    assert polynomial.why == "its arithmetic is mostly fp64, the roofs are fp32"


def test_a_launch_that_cannot_run_is_listed_without_figures(source):
    config = make_config(Options(paths=(source,), gpu="v100", no_cache=True))
    analysis = analyze_files(config)
    kernel = replace(analysis.kernels[0], roofline=None, time_s=None)
    (found,) = place_kernels(replace(analysis, kernels=(kernel,)), machines_of(load_gpu("v100"), OWN))
    assert (found.flops, found.flops_per_s, found.power_w) == (None, None, None)
    assert "cannot run" in found.why


def test_json_tells_unknown_as_null_with_its_reason(capsys, source):
    status, out, _ = run(capsys, str(source), "--gpu", "gtx480", "--format", "json", "--no-cache")
    document = json.loads(out)
    assert status == 0
    assert [roof["precision"] for roof in document["rooflines"]] == ["fp32", "fp64"]
    assert document["rooflines"][0]["race_to_halt"] is None
    assert "fermi" in document["rooflines"][0]["energies_unknown_because"]
    assert [kernel["energy_bound"] for kernel in document["kernels"]] == [None, None, None]
    assert document["kernels"][0]["time_bound"] == "memory"
    alone = json.loads(run(capsys, "--gpu", "v100", "--format", "json")[1])
    assert alone["kernels"] is None
    assert alone["rooflines"][0]["race_to_halt"] is True


def test_the_table_of_the_papers_processor(capsys):
    status, out, err = run(capsys, "--gpu", "i7-950")
    assert (status, err) == (0, "")
    assert "4.16 flop/B" in out
    assert "2.09 flop/B" in out
    assert "as recalled" in out
    assert [line.split()[-1] for line in out.splitlines() if "power limit" in line] == ["–"]


@pytest.mark.slow
def test_pictures_have_all_panels_and_the_same_bytes_twice(capsys, source, tmp_path):
    svg, png, again = tmp_path / "a.svg", tmp_path / "a.png", tmp_path / "b.SVG"
    words = [str(source), "--gpu", "v100", "--no-cache", "-o", str(svg), "-o", str(png)]
    assert run(capsys, *words)[0] == 0
    assert png.read_bytes().startswith(b"\x89PNG")
    assert run(capsys, str(source), "--gpu", "v100", "--no-cache", "-o", str(again))[0] == 0
    assert svg.read_bytes() == again.read_bytes()
    assert svg.read_text().count('id="axes_') == 3


@pytest.mark.slow
def test_the_legend_has_room_for_what_it_tells(source, monkeypatch):
    config = make_config(Options(paths=(source,), gpu="v100", no_cache=True))
    shown = rooflines_of_gpu(config, Coefficients.AUTO, None, analyze_files(config))
    kernel = next(one for one in shown.kernels or () if one.intensity)
    machines = machines_of(load_gpu("v100"), OWN)
    crowd = replace(kernel, machine=machines[0])
    crowded = replace(shown, machines=machines, kernels=(crowd,) * 70)
    figures = []

    def drawn(draw, inches, paths):
        from matplotlib.figure import Figure

        figure = Figure(figsize=inches, layout="constrained")
        draw(figure)
        figures.append(figure)

    monkeypatch.setattr("wattslice.report.roofline_picture.save_picture", drawn)
    draw_rooflines(crowded)
    (legend,) = figures[0].legends
    assert "more, see the table" in legend.get_texts()[-1].get_text()
    assert legend.get_window_extent().y0 >= 0.0


def test_two_constant_powers_have_one_label(monkeypatch):
    single, double = machines_of(load_gpu("gtx580"), OWN)
    assert double.energies is not None
    other = replace(double, roofline=replace(double.energies, constant_power_w=124.0))
    words = []

    def drawn(draw, inches, paths):
        from matplotlib.figure import Figure

        figure = Figure(figsize=inches, layout="constrained")
        draw(figure)
        words.extend(text.get_text() for text in figure.axes[2].texts)

    monkeypatch.setattr("wattslice.report.roofline_picture.save_picture", drawn)
    draw_rooflines(Rooflines((single, other), "--gpu"))
    assert [one for one in words if "constant" in one] == ["constant power 122 and 124 W"]


@pytest.mark.parametrize("columns", ["80", "100"])
def test_kernels_of_one_name_can_be_told_apart(capsys, monkeypatch, tmp_path, columns):
    for name in ("first", "second"):
        (tmp_path / f"{name}.cu").write_text(CODE)
    monkeypatch.setenv("COLUMNS", columns)
    out = run(capsys, str(tmp_path), "--gpu", "v100", "--no-cache")[1]
    assert [f"{name}.cu:2" in out for name in ("first", "second")] == [True, True]
    assert max(map(len, out.splitlines())) <= int(columns)


@pytest.mark.slow
def test_a_time_roof_alone_is_drawn_too(capsys, source, tmp_path):
    path = tmp_path / "time.svg"
    assert run(capsys, str(source), "--gpu", "gtx480", "--no-cache", "-o", str(path))[0] == 0
    assert path.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--gpu", "v100", "-o", "x.pdf"], "ends in .svg or .png"),
        (["--gpu", "v100", "--precision", "fp8"], "one of 'fp32', 'fp64', 'fp16', 'tensor'"),
        (["--gpu", "gtx480", "--precision", "tensor"], "no peak of it is known of GeForce GTX 480"),
        (["--gpu", "v100", "--coefficients", "x"], "one of 'auto', 'fitted', 'published', 'model', 'none'"),
        (["--gpu", "i7-950", __file__], "is a processor"),
        (["--gpu", "i7-950", "--core-mhz", "900"], "--core-mhz is about GPUs of the catalogue"),
        (["--gpu", "i7-950", "--coefficients", "model"], "i7-950 is known as published only"),
        (["--gpu", "i7-950", "--model", "foo"], "--model is about kernels"),
        (["--gpu", "v100", "--launch", "k=1:1"], "--launch is about kernels (give a file"),
        (["--gpu", "v100", "--set", "n=1"], "--set is about kernels"),
        (["--gpu", "nonsense"], "unknown GPU"),
        (["--gpu", "v100", "--core-mhz", "9999"], "no Tesla V100"),
        (["--gpu", "v100", "-o", "no/such/folder/x.svg"], "no/such/folder/x.svg: cannot be written"),
        (["--gpu", "v100", "missing.cu"], "missing.cu"),
    ],
)
def test_bad_input_has_a_clear_error_and_status_2(capsys, words, why):
    status, out, err = run(capsys, *words)
    assert (status, out) == (2, "")
    assert why in err
    assert "Traceback" not in err


def test_without_files_the_settings_of_the_current_folder_hold(capsys, monkeypatch, tmp_path):
    (tmp_path / "wattslice.toml").write_text('gpu = "t4"\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert "Tesla T4  t4, from the settings" in run(capsys)[1]
    assert "Tesla T4" not in run(capsys, "--gpu", "v100")[1]


def test_without_matplotlib_the_remedy_is_told(capsys, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    status, out, err = run(capsys, "--gpu", "v100", "-o", str(tmp_path / "x.svg"))
    assert (status, out) == (2, "")
    assert "pip install '.[report]' in the checkout" in err


def test_a_file_without_kernels_fails_and_the_roofs_are_still_shown(capsys, tmp_path):
    path = tmp_path / "empty.cu"
    path.write_text("int main() { return 0; }\n")
    status, out, err = run(capsys, str(path), "--gpu", "v100", "--no-cache")
    assert status == 2
    assert "time balance" in out
    assert "no kernel found" in err


def test_the_fields_of_the_documentation_are_there(capsys, monkeypatch):
    root = Path(__file__).parents[2]
    monkeypatch.chdir(root)
    text = (root / "docs" / "roofline.md").read_text(encoding="utf-8")
    file = "corpora/wattslice_corpora/kernels/wang2013/black_scholes.cu"
    document = json.loads(run(capsys, "--gpu", "v100", "--no-cache", "--format", "json", file)[1])
    for name in (*document, *document["rooflines"][0], *document["kernels"][0]):
        assert f"`{name}`" in text, name
