"""`wattslice calibrate`: readings of the user's board."""

from pathlib import Path

import pytest

from wattslice.cli import main
from wattslice.errors import WattsliceError
from wattslice.training.calibration import Calibration, calibration
from wattslice_models.energy import Case, EnergyModel
from wattslice_models.energy_power import EnergyPowerModel
from wattslice_models.execution_time import nvidia_smi_memory_mhz
from wattslice_models.gpu import load_gpu
from wattslice_models.joint import Effect
from wattslice_models.store import energy_model
from wattslice_models.user_folder import user_models

L4 = load_gpu("l4")
AWAKE = f"{L4.boost_clock_mhz:g},{nvidia_smi_memory_mhz(L4):g}"
IDLE = "kernel,power_w,core_mhz,memory_mhz\n"
SETTINGS = "kernel,power_w,settings\n"
KERNELS = """
__global__ void add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
__global__ void scale(float* a, float f, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 200; k++) f = f * f + 1.0f;
    if (i < n) a[i] *= f;
}
int main() {
    int n = 1 << 24;
    float *a, *b, *c;
    add<<<n / 256, 256>>>(a, b, c, n);
    scale<<<n / 256, 256>>>(a, 2.0f, n);
}
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "k.cu").write_text(KERNELS)
    return tmp_path / "readings.csv"


def calibrated(table: Path, text: str) -> Calibration:
    table.write_text(text)
    return calibration(table, L4)


def values(found: Calibration) -> dict[Effect, float]:
    return {entry.effect: entry.value for entry in found.after}


def test_one_reading_pulls_its_kernel_half_way_at_most(table):
    told = calibrated(table, "kernel,power_w\nk.cu:add,50\n")
    (one,) = told.readings
    low = calibrated(table, f"kernel,power_w\nk.cu:add,{0.7 * one.before_w}\n").readings[0]
    assert low.measured_w < low.after_w < low.before_w
    assert low.before_w - low.after_w < 0.7 * (low.before_w - low.measured_w)
    model = told.trained.model
    assert isinstance(model, EnergyPowerModel)
    without = energy_model(L4)
    assert isinstance(without, EnergyModel)
    assert model.model.case is Case.CALIBRATED
    assert model.interval.low <= without.interval.low
    assert model.interval.high >= without.interval.high
    assert "fewer than 5 programs" in model.interval.source


def test_a_reading_far_from_its_prediction_is_told(table):
    plain = calibrated(table, "kernel,power_w\nk.cu:scale,40\n").readings[0].before_w
    near = calibrated(table, f"kernel,power_w\nk.cu:scale,{0.6 * plain}\n")
    far = calibrated(table, f"kernel,power_w\nk.cu:scale,{0.45 * plain}\n")
    assert near.doubts == ()
    (told,) = far.doubts
    assert f"W, and {plain:.0f} W predicted: were launch and settings these" in told


def test_an_idle_board_tells_of_static_watts_alone(table):
    idle = calibrated(table, f"kernel,power_w,core_mhz,memory_mhz\nidle,30,{AWAKE}\n")
    assert values(idle)[Effect.STATIC] > 0
    assert values(idle)[Effect.LEVEL] == pytest.approx(0.0, abs=1e-9)


def test_a_sleeping_board_is_known_by_its_clocks(table):
    """At the lowest clocks a third of the watts is what is expected, and moves little."""
    awake = calibrated(table, f"{IDLE}idle,25,{AWAKE}\n").readings[0]
    (asleep,) = calibrated(table, f"{IDLE}idle,9,210,405\n").readings
    assert asleep.before_w < 0.5 * awake.before_w
    assert abs(asleep.after_w - asleep.before_w) < 4.0


def test_a_launch_that_is_a_guess_is_told(table):
    (table.parent / "alone.cu").write_text(KERNELS.partition("int main")[0])
    found = calibrated(table, "kernel,power_w\nalone.cu:add,40\n")
    assert "alone.cu:add: how it is launched is assumed: say it with launch and settings" in found.doubts


def test_columns_that_say_nothing_are_told(table):
    found = calibrated(table, "kernel,power_w,corr_mhz\nk.cu:add,50,1200\n")
    assert [told.split(";")[0] for told in found.doubts] == ["column 'corr_mhz' is passed over"]
    assert calibrated(table, "# mine\nkernel,power_w,core_mhz\nk.cu:add,50,1200\n").doubts == ()


def test_a_reading_is_of_the_launch_that_was_told(table):
    plain = calibrated(table, "kernel,power_w\nk.cu:scale,60\n").readings[0]
    small = calibrated(table, 'kernel,power_w,launch\nk.cu:scale,60,"scale=4:64"\n').readings[0]
    assert small.before_w < 0.8 * plain.before_w


def test_the_model_is_kept_and_used(table, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    table.write_text(f"kernel,power_w,core_mhz,memory_mhz\nidle,25,{AWAKE}\nk.cu:add,35,,\nk.cu:scale,38,,\n")
    assert main(["calibrate", str(table), "--gpu", "l4"]) == 0
    out = capsys.readouterr().out
    assert (user_models() / "l4" / "energy.json").is_file()
    assert "k.cu:add" in out
    assert "memory inside the chip" in out
    assert "times the prediction" in " ".join(out.split())
    model = energy_model(L4)
    assert isinstance(model, EnergyModel)
    assert model.case is Case.CALIBRATED
    assert main(["analyze", str(tmp_path / "k.cu"), "--gpu", "l4"]) == 0
    assert "calibrated by readings of this board" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("text", "gpu", "told"),
    [
        ("kernel,power_w\nk.cu,50\n", "l4", "which kernel was read.*write k.cu:NAME; kernels: add, scale"),
        ("kernel,power_w\nidle,-1\n", "l4", "watts and clocks must be positive"),
        (
            "kernel,power_w\nidle,1e9\n",
            "l4",
            "idle: 1e.09 W: an idle L4 cannot draw more than some 72 W; correct",
        ),
        ("kernel,power_w\nidle,100\n", "l4", "idle: 100 W: an idle L4 cannot draw more than some 72 W"),
        ("kernel,power_w\nidle,0.1\n", "l4", "csv:2: idle: 0.1 W: an idle L4 cannot draw less than some 1 W"),
        (
            "# mine\nkernel,power_w\nk.cu:scale,30\nk.cu:add,51000\n",
            "l4",
            "csv:4: k.cu:add: 51000 W: the L4 cannot draw .* milliwatts, 51 W.; correct or remove this row",
        ),
        (
            "kernel,power_w\nk.cu:add,3\n",
            "l4",
            "csv:2: k.cu:add: 3 W: a L4 that runs a kernel cannot draw less than some 4 W",
        ),
        ("kernel,power_w,core_mhz\nk.cu,30,99999\n", "l4", "core_mhz 99999: the L4 runs at .* MHz"),
        ("kernel,power_w,memory_mhz\nk.cu,30,7\n", "l4", "memory_mhz 7: the L4 runs at .* MHz"),
        (
            "kernel,power_w\nidle,25\n",
            "l4",
            "csv:2: idle: an idle board lowers its clocks: say core_mhz and mem",
        ),
        ("kernel,power_w,core_mhz\nidle,25,2040\n", "l4", "csv:2: idle: an idle board lowers its clocks"),
        (
            f"{IDLE}k.cu:add,40,,\nidle,9,{AWAKE}\n",
            "l4",
            "csv:3: idle: 9 W, and .* predicted at these clocks: does the board sleep",
        ),
        (f"{IDLE}idle,71,{AWAKE}\n", "l4", "csv:2: idle: 71 W, and .* predicted at these clocks: does the"),
        (f"{SETTINGS}k.cu:add,40,blah\n", "l4", "csv:2: --set 'blah' cannot be read"),
        (f"{SETTINGS}k.cu:add,40,m=4\n", "l4", "csv:2: no variable 'm' in the analysed files"),
        (f"{SETTINGS}k.cu:add,40,sub.n=4\n", "l4", "csv:2: no kernel .sub. in the"),
        (
            f"kernel,power_w,core_mhz,memory_mhz,settings\nidle,25,{AWAKE},n=4\n",
            "l4",
            "csv:2: idle: an idle board has no launch and no settings",
        ),
        (
            'kernel,power_w,launch\nk.cu:add,40,"sub=4:64"\n',
            "l4",
            "csv:2: no kernel 'sub' in the analysed files",
        ),
        ("kernel,watts\nidle,50\n", "l4", "without column power_w"),
        ("kernel,power_w\n", "l4", "no reading in this table"),
        ("kernel,power_w\nidle,50\n", "gtx580", "fermi chips differ too much"),
    ],
)
def test_what_is_wrong_is_told(table, text, gpu, told):
    table.write_text(text)
    with pytest.raises(WattsliceError, match=told):
        calibration(table, load_gpu(gpu))
