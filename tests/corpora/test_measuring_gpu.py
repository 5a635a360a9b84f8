"""The whole way from a `.cu` file to a row, on a stand-in for the GPU (fake_gpu/).

nvcc builds, the loop repeats, NVML is asked through nvidia-ml-py; only the board behind them is played.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable
from ctypes.util import find_library
from pathlib import Path

import pytest

from wattslice.cli import main
from wattslice_corpora.records import read_instructions, read_measurements, read_sweep

HERE = Path(__file__).parent
FAKE_GPU = HERE / "fake_gpu"
NVCC = shutil.which("nvcc")
GXX = shutil.which("g++")

pytestmark = pytest.mark.skipif(GXX is None, reason="g++ is not on the PATH")
slow_with_nvcc = [
    pytest.mark.slow,
    pytest.mark.nvcc,
    pytest.mark.skipif(NVCC is None, reason="nvcc is not on the PATH"),
]

PROGRAM = """
#include <type_traits>
extern "C" __global__ void f(float* a) { a[0] = 1.0f; }
template <int N> __global__ typename std::enable_if<(N > 0), void>::type bounded(float* a) { a[0] = N; }
template <class T> __global__ auto deduced(T* a) -> decltype(a[0] = T(1), void()) { a[0] = T(1); }
namespace first { __global__ void step(float* a) { a[0] = 1.0f; } }
namespace v2 {
struct Body { float x; };
__global__ void step(Body* a) { a[0].x = 1.0f; }
}
namespace { __global__ void hidden(float* a) { a[0] = 1.0f; } }
template <class T> __global__ void scale(T* a, T x) { a[threadIdx.x] *= x; }
__global__ void fill(float* a) { a[threadIdx.x] = 1.0f; }
int main() {
    float* a;
    cudaMalloc(&a, 1024);
    fill<<<1, 256>>>(a);
    first::step<<<3, 32>>>(a);
    v2::step<<<4, 32>>>((v2::Body*)a);
    hidden<<<5, 32>>>(a);
    f<<<6, 32>>>(a);
    bounded<3><<<7, 32>>>(a);
    deduced<float><<<8, 32>>>(a);
    for (int i = 0; i < 3; ++i) scale<float><<<dim3(2, 3), dim3(32, 2), 64>>>(a, 2.0f);
    return cudaDeviceSynchronize() != cudaSuccess;
}
"""

BENCH = """
import json, sys
from msgspec.structs import asdict
from pathlib import Path
from wattslice_corpora.measuring.bench import Configuration, GpuBench, Timing, measured_row
from wattslice_corpora.measuring.builder import Builder, find_nvcc
from wattslice_corpora.measuring.errors import ConfigurationError
from wattslice_corpora.measuring.nvml import NvmlSensor
from wattslice_corpora.measuring.power import power_of
from wattslice_corpora.measuring.program import Choice

folder, library, source, kernels, occurrence, window_s = sys.argv[1:]
builder = Builder(find_nvcc(), Path(folder), "sm_90", ("-cudart", "none", library))
bench = GpuBench(NvmlSensor(), builder, Timing(0.3, 0.3, float(window_s), start_limit_s=1.0))
for kernel in kernels.split("; "):
    configuration = Configuration("t", "1", "fake", "t", Path(source), Choice(kernel, int(occurrence)))
    try:
        measured = bench.measure(configuration)
        print(json.dumps(asdict(measured_row(configuration, measured, power_of(measured.trace)))))
    except ConfigurationError as error:
        print(json.dumps({"error": str(error)}))
bench.close()
"""


@pytest.fixture(scope="session")
def fake_gpu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the stand-ins for both driver libraries."""
    folder = tmp_path_factory.mktemp("fake-gpu")
    assert GXX is not None
    for library, code in (("libcuda.so.1", "driver.cpp"), ("libnvidia-ml.so.1", "nvml.cpp")):
        command = [GXX, "-shared", "-fPIC", "-O1", "-o", str(folder / library), str(FAKE_GPU / code)]
        subprocess.run(command, check=True)
    return folder


@pytest.fixture(scope="session")
def runtime(fake_gpu: Path) -> None:
    """What programs are linked with, libfake.a in the same folder."""
    assert NVCC is not None
    command = [NVCC, "-O1", "-lib", "-o", str(fake_gpu / "libfake.a"), str(FAKE_GPU / "cudart.cpp")]
    subprocess.run(command, check=True)


def environment(fake_gpu: Path, **fakes: str) -> dict[str, str]:
    return {
        **os.environ,
        "LD_LIBRARY_PATH": str(fake_gpu),
        "FAKE_GPU_STATE": str(fake_gpu / f"state-{os.getpid()}"),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        **fakes,
    }


def python(fake_gpu: Path, code: str, *arguments: str, **fakes: str) -> subprocess.CompletedProcess[str]:
    """Runs `code` in a process that sees the stand-ins."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        env=environment(fake_gpu, **fakes),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def started(fake_gpu: Path, code: str, *arguments: str) -> subprocess.Popen[bytes]:
    """The same, without waiting for its end."""
    command = [sys.executable, "-W", "error", "-c", code, *arguments]
    return subprocess.Popen(command, env=environment(fake_gpu))


def child_of(parent: int, name: str) -> int:
    """The process that `parent` started and whose name begins with `name`, once it is there."""
    deadline_s = time.monotonic() + 300
    while time.monotonic() < deadline_s:
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                pid, command, _, its_parent, *_ = path.read_text().split()
                if command.startswith(f"({name}") and int(its_parent) == parent:
                    return int(pid)
        time.sleep(0.02)
    raise AssertionError(f"{parent} started no {name}")


def measure(
    fake_gpu: Path, kernel: str, occurrence: int = 0, window_s: float = 2.1, **fakes: str
) -> dict[str, object]:
    (row,) = measured(fake_gpu, (kernel,), occurrence, window_s, **fakes)
    return row


def measured(
    fake_gpu: Path, kernels: Iterable[str], occurrence: int, window_s: float, **fakes: str
) -> list[dict[str, object]]:
    """A row of each kernel, one after the other."""
    source = fake_gpu / "t.cu"
    source.write_text(PROGRAM)
    library = str(fake_gpu / "libfake.a")
    chosen = ("; ".join(kernels), str(occurrence), str(window_s))
    done = python(fake_gpu, BENCH, str(fake_gpu / "build"), library, str(source), *chosen, **fakes)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


COMMAND = "import sys; from wattslice.cli import main; sys.exit(main())"

ONCE = (
    "import sys; from wattslice.cli import main\n"
    "from wattslice_corpora.measuring import instruction_plan\n"
    "instruction_plan.REPEATS = 1; sys.exit(main())"
)
"""The same, every kernel with instances once: three runs for one instruction."""


def wattslice(fake_gpu: Path, *arguments: str, **fakes: str) -> subprocess.CompletedProcess[str]:
    """``wattslice measure`` on a program of two kernels, linked with the stand-in."""
    source = fake_gpu / "t.cu"
    source.write_text(PROGRAM)
    flags = ("--nvcc-flags", f"-cudart none {fake_gpu / 'libfake.a'}", "--window", "2.1", "--warmup", "0.3")
    return python(fake_gpu, COMMAND, "measure", *arguments, *flags, **fakes)


def sensor_says(fake_gpu: Path, **fakes: str) -> subprocess.CompletedProcess[str]:
    code = (
        "import json; from msgspec.structs import asdict\n"
        "from wattslice_corpora.measuring.nvml import NvmlSensor\n"
        "from wattslice_corpora.measuring.sensor import SensorError\n"
        "sensor = NvmlSensor()\n"
        "try: reading = asdict(sensor.read()); reading['throttle'] = reading['throttle'].name\n"
        "except SensorError as error: reading = {'error': str(error)}\n"
        "print(json.dumps({'board': asdict(sensor.board()), 'reading': reading})); sensor.close()"
    )
    return python(fake_gpu, code, **fakes)


@pytest.mark.slow
def test_nvml_is_read_field_by_field(fake_gpu: Path):
    said = json.loads(sensor_says(fake_gpu).stdout)
    assert said["board"] == {
        "name": "Fake GPU",
        "uuid": "GPU-0123abcd-fake",
        "pci_bus_id": "00000000:1B:00.0",
        "driver": "580.00",
        "cuda": "13.0",
        "power_limit_w": 700.0,
    }
    reading = said["reading"]
    assert reading["instant_w"] == pytest.approx(70.0, abs=2.0)
    assert reading["memory_w"] == pytest.approx(0.2 * reading["average_w"], rel=0.01)
    assert reading["energy_j"] > 0
    assert (reading["core_mhz"], reading["memory_mhz"], reading["temperature_c"]) == (1980.0, 3201.0, 40.0)
    assert reading["throttle"] == "IDLE"


def test_a_board_without_the_power_fields_is_read_the_old_way(fake_gpu: Path):
    reading = json.loads(sensor_says(fake_gpu, FAKE_SENSOR="old").stdout)["reading"]
    assert reading["instant_w"] is None
    assert reading["memory_w"] is None
    assert reading["average_w"] == pytest.approx(70.0, abs=2.0)
    assert reading["energy_j"] > 0


def test_a_lost_board_is_a_sensor_error(fake_gpu: Path):
    assert "lost" in json.loads(sensor_says(fake_gpu, FAKE_SENSOR="lost").stdout)["reading"]["error"].lower()


def test_a_gpu_number_that_is_not_there_is_told(fake_gpu: Path):
    code = "from wattslice_corpora.measuring.nvml import NvmlSensor; NvmlSensor(3)"
    assert "MeasureError: no GPU number 3: this machine has 1" in python(fake_gpu, code).stderr


@pytest.mark.usefixtures("runtime")
class TestProgram:
    pytestmark = slow_with_nvcc

    def test_the_chosen_launch_is_repeated_and_its_power_read(self, fake_gpu: Path):
        row = measure(fake_gpu, "scale", 1)
        assert (row["power_valid"], row["reason"]) == (True, "")
        assert row["power_w"] == pytest.approx(300.0, rel=0.02)
        assert row["time_s"] == pytest.approx(100e-6, rel=0.01)
        assert row["idle_power_w"] == pytest.approx(70.0, abs=2.0)
        assert (row["kernel"], row["grid"], row["block"]) == ("scale", [2, 3, 1], [32, 2, 1])
        assert row["shared_bytes"] == 64
        assert row["launches"] == pytest.approx(21000, rel=0.02)

    def test_a_kernel_is_found_by_its_name(self, fake_gpu: Path):
        blocks = {
            "first::step": 3,
            "v2::step": 4,
            "step": 3,
            "hidden": 5,
            "(anonymous namespace)::hidden": 5,
            "scale<float>": 2,
            "f": 6,
            "bounded": 7,
            "deduced<float>": 8,
        }
        rows = measured(fake_gpu, blocks, 0, 0.1)
        found = [(row["kernel"], row["grid"]) for row in rows]
        assert found == [(name, [x, 3 if x == 2 else 1, 1]) for name, x in blocks.items()]

    def test_a_file_that_the_source_includes_makes_another_program(self, fake_gpu: Path, tmp_path: Path):
        source, part = tmp_path / "t.cu", tmp_path / "part.inl"
        source.write_text('#include "part.inl"\nint main() { k<<<BLOCKS, 32>>>(); }\n')
        grids: list[object] = []
        for blocks in (5, 66):
            part.write_text(f"#define BLOCKS {blocks}\n__global__ void k() {{}}\n")
            arguments = (str(tmp_path / "build"), str(fake_gpu / "libfake.a"), str(source), "k", "0", "0.1")
            grids.append(json.loads(python(fake_gpu, BENCH, *arguments).stdout)["grid"][0])
        assert grids == [5, 66]

    def test_the_type_of_a_parameter_is_no_name(self, fake_gpu: Path):
        said = str(measure(fake_gpu, "Body", window_s=0.1)["error"])
        namespaces = "fill, first::step, v2::step, (anonymous namespace)::hidden"
        assert f"it launches {namespaces}, f, bounded<3>, deduced<float>, scale<float>" in said

    def test_the_program_dies_with_whoever_measures(self, fake_gpu: Path):
        source = fake_gpu / "spin.cu"
        source.write_text("int main() { for (;;) {} }\n")
        arguments = (str(fake_gpu / "build"), str(fake_gpu / "libfake.a"), str(source), "k", "0", "1")
        with started(fake_gpu, BENCH, *arguments) as process:
            child = child_of(process.pid, "spin")
            process.kill()
            deadline_s = time.monotonic() + 300
            while Path(f"/proc/{child}").exists() and time.monotonic() < deadline_s:
                time.sleep(0.05)
            assert not Path(f"/proc/{child}").exists()

    def test_another_gpu_than_the_one_read_is_told(self, fake_gpu: Path):
        source = fake_gpu / "t.cu"
        source.write_text(PROGRAM)
        arguments = (str(fake_gpu / "build"), str(fake_gpu / "libfake.a"), str(source), "fill", "0", "0.1")
        done = python(fake_gpu, BENCH, *arguments, FAKE_BUS="0000:1C:00.0")
        assert "MeasureError: the program ran on GPU 0000:1C:00.0" in done.stderr

    def test_launches_that_cannot_be_captured_are_queued_one_by_one(self, fake_gpu: Path):
        row = measure(fake_gpu, "fill", FAKE_NO_CAPTURE="1")
        assert row["power_w"] == pytest.approx(300.0, rel=0.02)

    def test_a_kernel_that_is_never_launched_is_told(self, fake_gpu: Path):
        assert "ended without launching kernel 'nobody' for the first time" in str(
            measure(fake_gpu, "nobody")["error"]
        )
        assert "for the 4th time" in str(measure(fake_gpu, "scale", 3)["error"])

    def test_a_program_that_crashes_is_told(self, fake_gpu: Path):
        assert "killed by signal 11" in str(measure(fake_gpu, "scale", FAKE_CRASH="1")["error"])

    def test_a_dead_sensor_spoils_the_row(self, fake_gpu: Path):
        row = measure(fake_gpu, "scale", FAKE_SENSOR="dead")
        assert row["power_valid"] is False
        assert "the sensor never moved" in str(row["reason"])

    def test_a_board_slowed_by_heat_spoils_the_row(self, fake_gpu: Path):
        row = measure(fake_gpu, "scale", FAKE_SENSOR="throttled")
        assert row["throttled"] is True
        assert "heat slowed the clocks" in str(row["reason"])

    def test_a_program_that_does_not_compile_names_the_error(self, fake_gpu: Path):
        source = fake_gpu / "bad.cu"
        source.write_text("__global__ void k() { nonsense; }\nint main() { k<<<1, 1>>>(); }\n")
        done = python(
            fake_gpu, BENCH, str(fake_gpu / "build"), str(fake_gpu / "libfake.a"), str(source), "k", "0", "1"
        )
        assert "does not build" in json.loads(done.stdout)["error"]
        assert 'identifier "nonsense" is undefined' in json.loads(done.stdout)["error"]

    def test_a_program_that_hangs_is_killed(self, fake_gpu: Path):
        code = (
            "import sys; from pathlib import Path\n"
            "from wattslice_corpora.measuring.builder import Builder, find_nvcc\n"
            "from wattslice_corpora.measuring.program import Command, launches\n"
            "flags = ('-cudart', 'none', sys.argv[2])\n"
            "program = Builder(find_nvcc(), Path(sys.argv[1]), 'sm_90', flags).build(Path(sys.argv[3]))\n"
            "launches(Command(program), limit_s=1.0)"
        )
        source = fake_gpu / "spin.cu"
        source.write_text("int main() { for (;;) {} }\n")
        arguments = (str(fake_gpu / "build"), str(fake_gpu / "libfake.a"), str(source))
        assert "no end in sight, killed" in python(fake_gpu, code, *arguments).stderr

    def test_a_launch_that_hangs_is_killed(self, fake_gpu: Path):
        said = str(measure(fake_gpu, "fill", window_s=0.1, FAKE_HANG="1")["error"])
        assert "no end in sight, killed" in said

    def test_the_command_measures_every_kernel_of_a_program(self, fake_gpu: Path):
        done = wattslice(fake_gpu, str(fake_gpu / "t.cu"))
        assert (done.returncode, done.stdout.count("100 µs")) == (0, 8), done.stderr
        assert "Fake GPU · driver 580.00 · limit 700 W" in done.stdout
        assert "fill" in done.stdout
        assert "<<<(2, 3), (32, 2)>>>" in done.stdout

    def test_the_command_keeps_rows_and_does_not_measure_twice(self, fake_gpu: Path, tmp_path: Path):
        arguments = (str(fake_gpu / "t.cu"), "--kernel", "scale", "--out", str(tmp_path), "--format", "csv")
        first = wattslice(fake_gpu, *arguments)
        again = wattslice(fake_gpu, *arguments)
        assert first.stdout == again.stdout == (tmp_path / "measured.csv").read_text()
        assert "1 configurations measured before, going on" in again.stderr
        assert len(read_measurements(tmp_path / "measured.csv")) == 1
        assert len(list((tmp_path / "traces").iterdir())) == 1

    def test_the_intensity_sweep_can_be_measured_alone(self, fake_gpu: Path, tmp_path: Path):
        words = ("--campaign", "--only", "roofline", "--out", str(tmp_path), "--time-budget", "0")
        done = wattslice(fake_gpu, *words)
        assert "nothing measured: the time budget is too short" in done.stderr
        rows = read_sweep(tmp_path / "measured_sweep.csv")
        assert {f"{row.benchmark}.cu" for row in rows} == {
            path.name for path in (tmp_path / "sources").iterdir()
        }
        assert 'key = "sweep-' in (tmp_path / "card.toml").read_text()

    def test_the_method_of_the_rows_can_be_chosen(self, fake_gpu: Path):
        arguments = (str(fake_gpu / "t.cu"), "--kernel", "scale", "--format", "csv", "--method", "papi")
        header, row = wattslice(fake_gpu, *arguments).stdout.splitlines()[-2:]
        assert dict(zip(header.split(","), row.split(","), strict=False))["benchmark"] == "t"
        assert ",PAPI,true," in row

    def test_the_energy_of_an_instruction_is_measured_once_and_kept(self, fake_gpu: Path, tmp_path: Path):
        """Kernels take 0.1 s for a MiB of machine code, at 300 W: what the instances add to it is theirs."""
        chosen = ("--only", "div.rn.f32", "--variant", "latency", "--optimization", "3")
        arguments = ("measure", "--instructions", "--out", str(tmp_path), *chosen)
        flags = (
            "--nvcc-flags",
            f"-cudart none {fake_gpu / 'libfake.a'}",
            "--window",
            "2.1",
            "--warmup",
            "0.1",
        )
        done = python(fake_gpu, ONCE, *arguments, *flags, FAKE_US_PER_KB="100")
        assert done.returncode == 0, done.stderr
        assert re.search(r"div\.rn\.f32 +latency +-O3 .* ± ", done.stdout)
        table = tmp_path / "instructions.csv"
        rows = {row.method: row for row in read_instructions(table)}
        sizes = {
            path.stem.startswith("without"): path.stat().st_size
            for path in (tmp_path / "kernels").glob("*.cubin")
        }
        truth_s = (sizes[False] - sizes[True]) / 1024 * 100e-6 / (65536 * 16)
        for method in ("energy counter", "MTSM", "SMA", "PAPI"):
            assert rows[method].energy_j == pytest.approx(300.0 * truth_s, rel=0.03)
            assert rows[method].time_s == pytest.approx(truth_s, rel=0.01)
        assert (rows["MTSM"].board, rows["MTSM"].driver) == ("Fake GPU", "580.00")
        card = tomllib.loads((tmp_path / "card.toml").read_text())
        assert card["board"] == "Fake GPU, power limit 700 W"
        before = table.read_bytes()
        again = python(fake_gpu, ONCE, *arguments, *flags)
        assert "3 configurations measured before, going on" in again.stderr
        assert table.read_bytes() == before

    def test_rows_that_are_not_valid_end_with_status_2(self, fake_gpu: Path):
        done = wattslice(fake_gpu, str(fake_gpu / "t.cu"), "--kernel", "scale", FAKE_SENSOR="dead")
        assert done.returncode == 2
        assert "not valid: scale: the sensor never moved" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give either a FILE.cu, --campaign or --instructions"),
        (("--campaign", "--instructions"), "give either a FILE.cu, --campaign or --instructions"),
        (("--instructions",), "--instructions needs --out DIR"),
        (("--instructions", "--out", "d", "--only", "nope"), "'nope': no such instruction"),
        (("a.cu", "--variant", "latency"), "--optimization and --variant are for --instructions"),
        (("a.cu", "--window", "nan"), "'nan' is no number of seconds from 0 to 86400"),
        (("a.cu", "--window", "1e30"), "'1e30' is no number of seconds"),
        (("a.cu", "--time-budget", "-1"), "'-1' is no number of seconds"),
        (("a.cu", "--campaign"), "give either a FILE.cu, --campaign or --instructions"),
        (("--campaign",), "--campaign needs --out DIR"),
        (("--campaign", "--occurrence", "1", "--out", "d"), "--kernel and --occurrence are for a FILE.cu"),
        (("--instructions", "--kernel", "k", "--out", "d"), "--kernel and --occurrence are for a FILE.cu"),
        (("--instructions", "--method", "mtsm", "--out", "d"), "--method is not for --instructions"),
        (("a.cu", "--only", "roofline"), "--only is for --campaign or --instructions"),
        (("--campaign", "--out", "d", "--only", "div*"), "of a campaign, 'roofline' can be measured alone"),
        (("nobody.cu",), "nobody.cu: no such file"),
    ],
)
def test_wrong_use_is_told(arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]):
    assert main(["measure", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.skipif(find_library("nvidia-ml") is not None, reason="this machine has an NVIDIA driver")
def test_a_machine_without_a_gpu_is_told(tmp_path: Path):
    source = tmp_path / "t.cu"
    source.write_text(PROGRAM)
    done = python(tmp_path, COMMAND, "measure", str(source))
    assert (done.returncode, done.stdout) == (2, "")
    assert "only be measured on a machine with an NVIDIA GPU" in done.stderr


@pytest.mark.parametrize("package", ["pywt", "pynvml"])
def test_a_missing_package_names_the_extra(tmp_path, capsys, monkeypatch, package):
    (tmp_path / "k.cu").write_text("int main() {}\n")
    found = {"pywt": "found"} if package != "pywt" else {}
    monkeypatch.setattr("importlib.util.find_spec", found.get)
    monkeypatch.setitem(sys.modules, package, None)
    assert main(["measure", str(tmp_path / "k.cu")]) == 2
    assert "pip install '.[measure]' in the checkout" in capsys.readouterr().err
