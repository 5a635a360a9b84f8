"""`wattslice calibrate`: readings of the user's board."""

from pathlib import Path

import pytest

from wattslice.api import analyze
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
    plain = calibrated(table, "kernel,power_w\nk.cu:add,40\n").readings[0].before_w
    near = calibrated(table, f"kernel,power_w\nk.cu:add,{0.8 * plain}\n")
    far = calibrated(table, f"kernel,power_w\nk.cu:add,{0.45 * plain}\n")
    assert near.doubts == ()
    (told,) = far.doubts
    assert f"W, and {plain:.0f} W predicted; it lies outside of the interval that results, " in told
    assert "were launch and settings these" in told


@pytest.mark.slow
def test_a_reading_outside_of_the_interval_that_results_is_told(table):
    """None of them is far off, but the kernel of the last disagrees with the others."""
    sizes = ",".join(f"n={1 << 24 << k}" for k in range(6)).split(",")
    plain = calibrated(table, SETTINGS + "".join(f"k.cu:add,40,{size}\n" for size in sizes)).readings
    rows = [f"k.cu:add,{one.before_w * 0.99},{size}" for one, size in zip(plain, sizes, strict=True)]
    agreeing = calibrated(table, SETTINGS + "\n".join(rows) + "\n")
    assert agreeing.doubts == ()
    rows[-1] = f"k.cu:add,{0.6 * plain[-1].before_w},{sizes[-1]}"
    found = calibrated(table, SETTINGS + "\n".join(rows) + "\n")
    *inside, odd = found.readings
    assert all(one.low_w <= one.measured_w <= one.high_w for one in inside)
    assert odd.measured_w < odd.low_w < odd.after_w < odd.high_w
    (told,) = found.doubts
    assert told.startswith(
        f"k.cu:add: {odd.measured_w:g} W, and {odd.before_w:.0f} W predicted; it lies outside"
    )
    assert f" {odd.low_w:.0f} to {odd.high_w:.0f} W" in told


def test_a_reading_is_held_against_what_a_launch_wants_not_what_the_limit_leaves(table):
    """Far more is wanted than the limit of 72 W: 72 W are as expected, a sixth less is not. It were, of a
    kernel that wants 72 W.
    """
    at_limit = calibrated(table, "kernel,power_w\nk.cu:scale,72\n")
    (one,) = at_limit.readings
    assert (one.before_w, one.after_w) == (72, 72)
    assert at_limit.trained.model.interval.low * one.after_w < 60 < one.low_w < one.measured_w < one.high_w
    assert at_limit.doubts == ()
    (told,) = calibrated(table, "kernel,power_w\nk.cu:scale,60\n").doubts
    assert "it lies outside of the interval that results" in told


@pytest.mark.slow
def test_readings_that_contradict_each_other_are_told(table):
    def doubts(first: float, second: float, name: str = "k.cu:add", more: str = ",,") -> tuple[str, ...]:
        head = "kernel,power_w,core_mhz,memory_mhz,launch\n"
        rows = f"k.cu:add,{first},,,\nk.cu:scale,72,,,\n{name},{second},{more}\n"
        return calibrated(table, head + rows).doubts

    plain = calibrated(table, "kernel,power_w\nk.cu:add,40\n").readings[0].before_w
    less, more = 0.88 * plain, plain
    assert doubts(less, more)[0] == (
        f"k.cu:add: the same was read with {less:g} W and {more:g} W (readings 1 and 3): does something vary "
        "that the table does not say, or is one of them a mistake?"
    )
    assert "(readings 3 and 1)" in doubts(more, less)[0]
    assert doubts(less, 1.09 * less) == ()
    # The same, said in other words; and what is not the same.
    assert len(doubts(less, more, "./k.cu:add", f"{L4.boost_clock_mhz:g},,add=65536:256")) == 1
    assert doubts(less, more, more="1500,,") == ()
    assert doubts(less, more, more=',,"add=1000:256"') == ()
    (table.parent / "other.cu").write_text(KERNELS)
    assert doubts(less, more, "other.cu:add") == ()


def test_idle_readings_that_contradict_each_other_are_told(table):
    found = calibrated(table, f"{IDLE}idle,20,{AWAKE}\nidle,25,{AWAKE}\n").doubts
    assert any(
        one.startswith("idle: the same was read with 20 W and 25 W (readings 1 and 2)") for one in found
    )
    assert not any(
        "the same" in one for one in calibrated(table, f"{IDLE}idle,20,{AWAKE}\nidle,9,210,405\n").doubts
    )


def test_a_reading_above_the_limit_is_told_and_beyond_the_sensor_refused(table):
    """72 W, of which sensors show 1.01 times as much, to within 5 %."""
    told = (
        "k.cu:scale: 76 W lie above the board's limit of 72 W: sensors may show so much, predictions end at"
    )
    assert any(one.startswith(told) for one in calibrated(table, "kernel,power_w\nk.cu:scale,76\n").doubts)
    assert calibrated(table, "kernel,power_w\nk.cu:scale,72\n").doubts == ()
    refused = "k.cu:scale: 77 W: sensors show no more than some 76 W of the L4 at its limit of 72 W; give the"
    with pytest.raises(WattsliceError, match=refused):
        calibrated(table, "kernel,power_w\nk.cu:scale,77\n")


ZEROS = """
#include <cstdlib>
__global__ void add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i] * WEIGHT;
}
int main(int argc, char** argv) {
    int n = atoi(argv[1]);
    float *a, *b, *c;
    cudaMalloc(&a, 4 * n); cudaMalloc(&b, 4 * n); cudaMalloc(&c, 4 * n);
    cudaMemset(a, 0, 4 * n);
    add<<<(n + 255) / 256, 256>>>(a, b, c, n);
}
"""
MAKE = "k: k.cu\n\tnvcc -DWEIGHT=3 -o k k.cu\nrun: k\n\t./k 50000000\n"


def test_a_reading_is_of_what_analyze_says_of_the_kernel(table):
    """The program's arguments and macros of the Makefile, arrays that are set to zero."""
    (table.parent / "k.cu").write_text(ZEROS)
    (table.parent / "Makefile").write_text(MAKE)
    (known,) = analyze([table.parent / "k.cu"], gpu="l4").kernels
    assert (known.launch.grid[0], known.launch.data) == (
        -(-50000000 // 256),
        "live, a zeros (cudaMemset in line 11)",
    )
    found = calibrated(table, f"kernel,power_w\nk.cu,{known.power_w}\n")
    assert found.readings[0].before_w == pytest.approx(known.power_w, rel=1e-5)
    assert found.doubts == ()


def test_launches_count_as_often_as_they_are_made(table):
    source = (
        KERNELS.partition("int main")[0]
        + """int main() {
        float *a, *b, *c;
        add<<<1 << 16, 256>>>(a, b, c, 1 << 24);
        for (int k = 0; k < TIMES; k++) add<<<1, 32>>>(a, b, c, 32);
    }"""
    )

    def before_w(times: int) -> float:
        (table.parent / "k.cu").write_text(source.replace("TIMES", str(times)))
        return calibrated(table, "kernel,power_w\nk.cu:add,40\n").readings[0].before_w

    assert before_w(1000) < 0.8 * before_w(1)


def test_a_kernel_that_was_not_read_as_it_stands_is_told(table):
    (table.parent / "k.cu").write_text('#include "missing.h"\n' + KERNELS)
    found = calibrated(table, "kernel,power_w\nk.cu:add,65\n")
    assert any("missing.h" in one and one.startswith("k.cu:add: ") for one in found.doubts)


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
    found = calibrated(table, "kernel,power_w,corr_mhz\nk.cu:add,65,1200\n")
    assert [told.split(";")[0] for told in found.doubts] == ["column 'corr_mhz' is passed over"]
    assert calibrated(table, "# mine\nkernel,power_w,core_mhz\nk.cu:add,60,1200\n").doubts == ()


def test_a_table_of_a_spreadsheet_is_read(table):
    table.write_bytes("\ufeffpower_w,kernel\r\n65,k.cu:add\r\n".encode())
    assert calibration(table, L4).doubts == ()


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
