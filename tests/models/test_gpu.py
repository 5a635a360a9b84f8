import re
import subprocess
import sys
from pathlib import Path

import pytest

from wattslice_models.gpu import (
    Gpu,
    GpuFileError,
    UnknownGpuError,
    architecture_names,
    gpu_ids,
    gpu_text,
    gpus,
    load_architecture,
    load_gpu,
    read_gpu,
)

GPU_FILES = Path(sys.modules[Gpu.__module__].__file__ or "").parent / "gpus"
V100 = (GPU_FILES / "v100.toml").read_text(encoding="utf-8")

# Single-precision TFLOP/s as vendors announced them: an independent check of lanes x SMs x clock.
ANNOUNCED_TFLOPS = {
    "k20m": 3.52, "k40": 5.05, "v100_pcie": 14.1, "t4": 8.1, "a100_pcie": 19.5,
    "gtx_titan_x": 6.7, "p100": 10.6, "gtx_1080_ti": 11.3, "titan_xp": 12.1, "titan_v": 14.9,
    "v100": 15.7, "titan_rtx": 16.3, "quadro_rtx_8000": 16.3, "rtx_2060_super": 7.2, "rtx_2070_super": 9.1,
    "a100": 19.5, "rtx_3090": 35.6, "a10": 31.2, "rtx_a4000": 19.2, "rtx_a6000": 38.7, "h100": 66.9,
    "h200": 66.9, "p100_pcie": 9.5, "a40": 37.4, "l40": 90.5, "h100_pcie": 51.2, "h100_nvl": 60.3,
    "rtx_a5000": 27.8, "rtx_3080": 29.8, "rtx_4000_ada": 26.7, "rtx_pro_6000": 126.0, "t4g": 8.1,
    "quadro_rtx_5000": 11.2, "rtx_4080": 48.7, "rtx_4090": 82.6, "l4": 30.3, "l40s": 91.6, "rtx_5090": 104.8,
}  # fmt: skip

TRANSFERS_PER_CLOCK = {
    "GDDR5": 4, "GDDR5X": 8, "GDDR6": 8, "GDDR6X": 16, "GDDR7": 16, "HBM2": 2, "HBM2e": 2, "HBM3": 2
}  # fmt: skip


@pytest.fixture(params=gpu_ids())
def gpu(request: pytest.FixtureRequest) -> Gpu:
    return load_gpu(request.param)


def test_there_are_the_gpus_the_measurements_and_papers_need() -> None:
    needed = {
        "c870",
        "gtx260",
        "gtx280",
        "gtx480",
        "gtx_titan_x",
        "gtx_1080_ti",
        "v100",
        "quadro_rtx_8000",
        "h200",
    }
    assert needed <= set(gpu_ids())
    assert len(gpus()) == len(gpu_ids()) >= 49


def test_every_number_has_a_source(gpu: Gpu) -> None:
    words = {"id", "name", "aliases", "chip", "architecture", "compute_capability", "notes", "memory_type"}
    numbers = set(Gpu.__struct_fields__) - words - {"sources", "board_id", "design_power_w"}
    assert {entry.field for entry in gpu.sources} == numbers
    assert all(len(entry.source) > 3 for entry in gpu.sources)


def test_file_name_is_the_id(gpu: Gpu) -> None:
    assert (GPU_FILES / f"{gpu.id}.toml").is_file()


def test_limits_are_consistent(gpu: Gpu) -> None:
    assert gpu.max_threads_per_sm == gpu.max_warps_per_sm * gpu.warp_size
    assert gpu.registers_per_sm % gpu.register_allocation_unit == 0
    reserved = gpu.shared_memory_reserved_bytes_per_block
    if gpu.compute_capability >= (7, 0):
        assert gpu.shared_memory_optin_bytes_per_block + reserved == gpu.shared_memory_bytes_per_sm
    assert gpu.shared_memory_optin_bytes_per_block <= gpu.shared_memory_bytes_per_sm
    assert gpu.base_clock_mhz is None or gpu.base_clock_mhz <= gpu.boost_clock_mhz


def test_one_compute_capability_has_one_set_of_limits() -> None:
    limits: dict[tuple[int, int], tuple[int, ...]] = {}
    for gpu in gpus():
        found = (
            gpu.max_threads_per_sm,
            gpu.max_blocks_per_sm,
            gpu.registers_per_sm,
            gpu.shared_memory_bytes_per_sm,
            gpu.max_registers_per_thread,
            gpu.register_allocation_unit,
        )
        assert limits.setdefault(gpu.compute_capability, found) == found, gpu.id


@pytest.mark.parametrize(("gpu_id", "tflops"), ANNOUNCED_TFLOPS.items())
def test_peak_single_precision_is_what_was_announced(gpu_id: str, tflops: float) -> None:
    assert load_gpu(gpu_id).peak_fp32_flops_per_s == pytest.approx(tflops * 1e12, rel=0.01)


@pytest.mark.parametrize(("gpu_id", "tflops"), [("v100", 7.8), ("h200", 33.5), ("gtx480", 0.1681)])
def test_peak_double_precision_is_what_was_announced(gpu_id: str, tflops: float) -> None:
    gpu = load_gpu(gpu_id)
    assert gpu.fp64_fma_per_clock_per_sm is not None
    share = gpu.fp64_fma_per_clock_per_sm / gpu.fp32_fma_per_clock_per_sm
    assert share * gpu.peak_fp32_flops_per_s == pytest.approx(tflops * 1e12, rel=0.01)


def test_bandwidth_is_bus_times_clock_where_the_clock_is_known() -> None:
    known = [gpu for gpu in gpus() if gpu.memory_clock_mhz is not None]
    assert len(known) >= 10
    for gpu in known:
        assert gpu.memory_clock_mhz is not None
        transfers_per_s = gpu.memory_clock_mhz * 1e6 * TRANSFERS_PER_CLOCK[gpu.memory_type]
        expected = transfers_per_s * gpu.memory_bus_bits / 8
        assert gpu.memory_bandwidth_bytes_per_s == pytest.approx(expected, rel=0.005), gpu.id


def test_unknown_stays_unknown_with_a_reason() -> None:
    gpu = load_gpu("rtx_3090")
    assert gpu.fp16_vector_fma_per_clock_per_sm is None
    assert "conflict" in gpu.source_of("fp16_vector_fma_per_clock_per_sm")


@pytest.mark.parametrize(
    ("spelling", "gpu_id"),
    [
        ("V100", "v100"),
        ("Tesla V100-SXM2-16GB", "v100"),
        ("NVIDIA A100-SXM4-40GB", "a100"),
        ("NVIDIA H200", "h200"),
        ("GeForce GTX 1080 Ti", "gtx_1080_ti"),
        ("NVIDIA TITAN X (Pascal)", "titan_x_pascal"),
    ],
)
def test_names_as_drivers_print_them(spelling: str, gpu_id: str) -> None:
    assert load_gpu(spelling).id == gpu_id


def test_no_two_gpus_share_a_name() -> None:
    for gpu in gpus():
        for spelling in (gpu.name, *gpu.aliases):
            assert load_gpu(spelling).id == gpu.id


def test_an_unknown_gpu_names_its_neighbours() -> None:
    with pytest.raises(UnknownGpuError, match=r"unknown GPU 'rtx 2060'.*rtx_2060_super") as caught:
        load_gpu("rtx 2060")
    assert caught.value.close_matches[0] == "rtx_2060_super"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('chip = "GV100"', "", "missing chip"),
        ('architecture = "volta"', 'architecture = "vulta"', "architecture: cannot be 'vulta'"),
        ("compute_capability = [7, 0]", "compute_capability = 7.0", "compute_capability: cannot be 7.0"),
        (
            "sm_count = { value = 80",
            "sm_cuont = { value = 80",
            r"\[multiprocessor\] sm_cuont: .*mean sm_count",
        ),
        ("sm_count = { value = 80", "sm_count = { value = 80.5", "sm_count: expected"),
        ("sm_count = { value = 80", 'sm_count = { unknown = "lost" } #', "sm_count: expected"),
        ("sm_count = { value = 80", "sm_count = { value = true", "sm_count: expected"),
        ("sm_count = { value = 80, source =", "sm_count = 80 #", "sm_count: expected"),
        ("boost_clock_mhz = { value = 1530", "boost_clock_mhz = { value = nan", "boost_clock_mhz: expected"),
        ("[clocks]", "[clocks]\nsm_count = { value = 1, source = 'again' }", "given twice"),
        ("[clocks]", "[clocks", "not valid TOML"),
        ("[multiprocessor]", "surprise = 1\n[multiprocessor]", "surprise: no such entry"),
    ],
)
def test_a_damaged_file_names_the_entry(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in V100
    path = tmp_path / "mine.toml"
    path.write_text(V100.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(GpuFileError, match=message) as caught:
        read_gpu(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("sm_count", "0", r"sm_count: must be more than 0, found 0$"),
        ("warp_size", "-32", "warp_size: must be more than 0, found -32"),
        ("fp32_fma_per_clock_per_sm", "0.0", "fp32_fma_per_clock_per_sm: must be more than 0"),
        ("base_clock_mhz", "0", "base_clock_mhz: must be more than 0, found 0, or write { unknown"),
        ("fp64_fma_per_clock_per_sm", "-1", "fp64_fma_per_clock_per_sm: must be 0 or more"),
        ("idle_power_w", "-1", "idle_power_w: must be 0 or more"),
    ],
)
def test_a_number_that_no_gpu_has_is_refused(tmp_path: Path, field: str, value: str, message: str) -> None:
    changed, times = re.subn(rf"(?m)^{field} = .*$", f'{field} = {{ value = {value}, source = "x" }}', V100)
    assert times == 1
    (tmp_path / "mine.toml").write_text(changed)
    with pytest.raises(GpuFileError, match=message):
        read_gpu(tmp_path / "mine.toml")


def test_a_new_gpu_is_a_new_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(V100.replace('id = "v100"', 'id = "mine"').replace("value = 80,", "value = 40,"))
    mine = read_gpu(path)
    assert (mine.id, mine.sm_count, mine.architecture.name) == ("mine", 40, "volta")


NEW_ARCHITECTURE = (
    "[architecture]\n"
    + (GPU_FILES / "architectures" / "hopper.toml")
    .read_text(encoding="utf-8")
    .replace('name = "hopper"\ngeneration = 9', 'name = "rubin"\ngeneration = 11')
    + '[architecture.chips.GV100]\ntexture_units_per_sm = { value = 8, source = "x" }\n'
)


def of_new_architecture(path: Path, described: str = NEW_ARCHITECTURE) -> Path:
    own = V100.replace('id = "v100"', 'id = "mine"').replace('architecture = "volta"\n', "")
    path.write_text(own + described, encoding="utf-8")
    return path


def test_a_new_architecture_is_described_in_the_same_file(tmp_path: Path) -> None:
    found = read_gpu(of_new_architecture(tmp_path / "mine.toml")).architecture
    assert (found.name, found.generation, found.dependent_issue_cycles) == ("rubin", 11, 4.0)
    assert found.texture_units_per_sm == 8.0  # of this chip


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("dependent_issue_cycles", "dependent_cycles", "dependent_cycles: .*mean dependent_issue"),
        ('name = "rubin"\n', "", r"\[architecture\] name: cannot be None"),
        ("generation = 11", "generation = true", r"\[architecture\] generation: cannot be True"),
        ("dependent_issue_cycles = { value = 4", "dependent_issue_cycles = { value = 0", "more than 0"),
        ("has_one_integer_pipe = { value = false", "has_one_integer_pipe = { value = 1", "expected .*bool"),
        ("is_like_measured =", "# is_like_measured =", "missing is_like_measured"),
        ("[architecture.chips.GV100]\ntexture_units_per_sm", "[architecture.chips]\nGV100", "no such number"),
    ],
)
def test_a_damaged_architecture_names_the_entry(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in NEW_ARCHITECTURE
    with pytest.raises(GpuFileError, match=message):
        read_gpu(of_new_architecture(tmp_path / "mine.toml", NEW_ARCHITECTURE.replace(old, new, 1)))


@pytest.mark.parametrize("name", architecture_names())
def test_every_fact_of_an_architecture_has_a_source(name: str) -> None:
    found = load_architecture(name)
    facts = set(found.__struct_fields__) - {"name", "generation", "sources"}
    assert found.name == name
    assert {entry.field for entry in found.sources} == facts
    assert all(len(entry.source) > 3 for entry in found.sources)


def test_generations_are_in_the_order_of_compute_capabilities() -> None:
    generations = [gpu.architecture.generation for gpu in gpus() if gpu.architecture.name != "ada"]
    assert generations == sorted(generations)  # Ada is 8.9, between Ampere's 8.6 and Hopper


def test_a_chip_may_differ_from_its_generation() -> None:
    gp100, gp102 = load_gpu("p100").architecture, load_gpu("titan_xp").architecture
    assert (gp100.l1_keeps_global_loads, gp102.l1_keeps_global_loads) == (True, False)
    assert gp100.warp_instructions_per_clock_per_sm * 2 == gp102.warp_instructions_per_clock_per_sm


def test_loading_needs_no_heavy_import() -> None:
    code = "import sys, wattslice_models.gpu as gpu; gpu.load_gpu('v100'); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


CAPPED = """extends = "h100"
id = "h100_capped"
name = "H100 behind a cap"
[board]
power_limit_w = { value = 500, source = "nvidia-smi -q -d POWER" }
"""


def test_a_gpu_file_may_extend_one_of_the_catalogue(tmp_path: Path):
    path = tmp_path / "capped.toml"
    path.write_text(CAPPED)
    found, whole = read_gpu(path), load_gpu("h100")
    assert (found.id, found.power_limit_w, found.aliases) == ("h100_capped", 500, ())
    assert (found.sm_count, found.architecture, found.l2_bytes) == (
        whole.sm_count,
        whole.architecture,
        whole.l2_bytes,
    )
    assert (found.board_id, found.design_power_w) == ("h100", 700)
    path.write_text(CAPPED + '[multiprocessor]\nsm_count = { value = 99, source = "x" }\n')
    other = read_gpu(path)
    assert (other.board_id, other.design_power_w) == ("h100_capped", 500)
    path.write_text(CAPPED.replace('"h100"', '"h1000"', 1))
    with pytest.raises(GpuFileError, match="did you mean"):
        read_gpu(path)
    path.write_text('extends = "h100"\n')
    with pytest.raises(GpuFileError, match="id and name of its own missing"):
        read_gpu(path)


def test_all_that_is_wrong_with_a_file_is_told_at_once(tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'extends = "h100"\nname = 7\nsm_count = 12\nextra = 1\n[board]\n'
        'power_limit_w = 500\nidle_power_w = { value = -1, source = "x" }\npower_limits_w = 3\n'
    )
    with pytest.raises(GpuFileError) as caught:
        read_gpu(path)
    expected = 'expected { value = <int>, source = "..." }'
    assert [fault.replace("<float>", "<int>") for fault in caught.value.faults] == [
        "extends h100: id of its own missing",
        "name: cannot be 7",
        f'[board] power_limit_w: {expected} or {{ unknown = "why" }}, found 500',
        '[board] idle_power_w: must be 0 or more, found -1, or write { unknown = "why" }',
        "[board] power_limits_w: no such number (did you mean power_limit_w?)",
        "sm_count: write it into a table, such as [board]",
        "extra: no such entry",
    ]


def test_an_entry_in_the_wrong_table_is_told_the_right_one(tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'extends = "h100"\nid = "mine"\nname = "Mine"\n[board]\nsm_count = { value = 99, source = "x" }\n'
    )
    with pytest.raises(GpuFileError) as caught:
        read_gpu(path)
    assert caught.value.faults == ("[board] sm_count: belongs into [multiprocessor], as in h100",)


@pytest.mark.parametrize("name", ["../../mine", "/etc", "", "a b", "a\\u001b[31m", "."])
def test_an_id_is_no_path(tmp_path: Path, name: str):
    path = tmp_path / "mine.toml"
    path.write_text(f'extends = "h100"\nid = "{name}"\nname = "Mine"\n')
    with pytest.raises(GpuFileError, match=r"id: cannot be .*expected letters, digits, _ and -"):
        read_gpu(path)


def test_the_file_of_a_gpu_reads_as_that_gpu(tmp_path: Path):
    path = tmp_path / "same.toml"
    path.write_text(gpu_text("H100 SXM"))
    assert read_gpu(path) == load_gpu("h100")
