from pathlib import Path

import pytest

from wattslice.commands.analyze import analyze
from wattslice.commands.gate import gate
from wattslice.config.config import Config, Options, Prediction, make_config
from wattslice.config.gpu_choice import choose_gpu, gpus_of_this_machine
from wattslice.config.options import MethodChoice, ModelChoice
from wattslice.config.settings import NO_SETTINGS, Settings
from wattslice.config.sources import source_files
from wattslice.errors import WattsliceError
from wattslice_models.gpu import load_gpu


@pytest.fixture
def kernel(tmp_path):
    path = tmp_path / "k.cu"
    path.write_text("__global__ void k() {}\n", encoding="utf-8")
    return path


def config(kernel, settings=NO_SETTINGS, **options) -> Config:
    return make_config(Options(paths=(kernel,), **options), settings)


def test_defaults_and_frozen(kernel):
    plain = config(kernel)
    assert plain.files == (kernel,)
    assert (plain.prediction.model, plain.prediction.method) == (ModelChoice.AUTO, MethodChoice.AUTO)
    assert plain.execution.jobs == 1
    with pytest.raises(AttributeError, match="immutable"):
        plain.keep_sources = True  # type: ignore[misc]


def test_an_option_comes_before_a_setting(kernel):
    settings = Settings(
        gpu="t4",
        model="energy",
        delta=0.3,
        dense_from=0.4,
        overrides=("n=1", "m=2"),
        jobs=4,
        definitions=("A",),
    )
    merged = config(kernel, settings, gpu="h100", delta=0.0, overrides=("n=3",), definitions=("B=2",))
    assert (merged.gpu.gpu_id, merged.gpu.source) == ("h100", "--gpu")
    assert merged.prediction == Prediction(ModelChoice.ENERGY, branch_threshold=0.0, dense_from=0.4)
    assert merged.execution.jobs == 4
    assert {(entry.name, entry.value) for entry in merged.facts.overrides.settings} == {("m", 2), ("n", 3)}
    assert merged.parse.defines == ("A", "B=2")
    assert config(kernel, settings).gpu.source == "settings"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gpu": "v10"}, "unknown GPU 'v10'.*v100"),
        ({"model": "enery"}, "--model: unknown value 'enery'.*did you mean energy"),
        ({"method": "x"}, "--method.*auto, bspm, bdpm, expected"),
        ({"dense_from": 0.0}, "--dense-from"),
        ({"dense_from": float("nan")}, "--dense-from"),
        ({"delta": 1.0}, "--delta"),
        ({"delta": float("nan")}, "--delta"),
        ({"jobs": -1}, "--jobs"),
        ({"core_clock_mhz": -1.0}, "--core-mhz"),
        ({"memory_clock_mhz": float("inf")}, "--mem-mhz"),
        ({"core_clock_mhz": 99999.0}, r"--core-mhz: no .*V100.* runs at 99999 MHz \(76 to 3060 MHz\)"),
        ({"core_clock_mhz": 1e-3}, "--core-mhz: no .* runs at 0.001 MHz"),
        ({"memory_clock_mhz": 99999.0}, "--mem-mhz: no .* runs at 99999 MHz"),
        ({"language_standard": "17"}, "--std"),
        ({"language_standard": "c++99"}, r"--std: 'c\+\+99' is no standard .*c\+\+17.*c\+\+26"),
        ({"language_standard": "c11"}, r"--std: c11 is C, and .*\.cu is read as C\+\+"),
        ({"definitions": ("1X",)}, "-D"),
        ({"overrides": ("n=1", "n=2")}, "contradictory"),
        ({"launches": ("k",)}, "--launch"),
    ],
)
def test_impossible_values_name_the_option(kernel, options, message):
    with pytest.raises(WattsliceError, match=message):
        config(kernel, **options)


@pytest.mark.parametrize(
    ("setting", "words", "message"),
    [
        ('model = "enery"', [], "{file}:2: model: unknown value 'enery'"),
        ('model = "enery"', ["--model", "wave"], "--model: unknown value 'wave'"),
        ("core-mhz = 9000", [], "{file}:2: core-mhz: no Tesla V100 SXM2 16GB runs at 9000 MHz"),
        ('include = ["none"]', ["-I", "."], "{file}:2: include: no such folder: {folder}/none"),
        ('define = ["A"]', ["-D", "1X"], "-D: '1X' is not NAME"),
        ('data = ["x=odd"]', ["--data", "x=zeros"], "{file}:2: data: 'x=odd': 'odd' is none of"),
        ('severity = ["PW041=bad"]', ["--severity", "PW042=note"], "{file}:2: severity: 'PW041=bad'"),
        ('ignore = ["PW999"]', [], "{file}:2: ignore: no rule has an id like PW999"),
        ('ignore = ["PW041"]', ["--select", "PW999"], "--select: no rule has an id like PW999"),
        ("gate.tolerance = 5", [], "{file}:2: gate.tolerance: 5.0 is no share below 1"),
        ("gate.tolerance = 5", ["--tolerance", "7"], "--tolerance: '7' is no share below 1"),
        ('gate.unknown = "x"', [], "{file}:2: gate.unknown: unknown value 'x'"),
    ],
)
def test_errors_of_settings_name_the_file_and_the_key(
    kernel: Path, setting: str, words: list[str], message: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(kernel.parent)
    file = kernel.parent / "wattslice.toml"
    file.write_text(f'gpu = "v100"\n{setting}\n', encoding="utf-8")
    command, limits = (gate, ["--max-power", "900"]) if "gate." in setting else (analyze, [])
    with pytest.raises(WattsliceError) as caught:
        command.main([str(kernel), *limits, *words], standalone_mode=False)
    assert str(caught.value).startswith(message.format(file=file, folder=kernel.parent))


def test_a_memory_clock_of_the_specification_sheet_is_told_apart(kernel):
    assert config(kernel, gpu="quadro_rtx_8000", memory_clock_mhz=7000.0).notes == ()
    assert config(kernel, gpu="quadro_rtx_8000", memory_clock_mhz=405.0).notes == ()
    (note,) = config(kernel, gpu="quadro_rtx_8000", memory_clock_mhz=1750.0).notes
    assert "--mem-mhz counts as nvidia-smi does: 1750 MHz are 25% of the Quadro RTX 8000's 7000" in note


def test_folders_must_exist(kernel, tmp_path):
    with pytest.raises(WattsliceError, match="-I: no such folder"):
        config(kernel, include_directories=(tmp_path / "none",))
    with pytest.raises(WattsliceError, match=r"no compile_commands\.json"):
        config(kernel, compile_commands_directory=tmp_path)


def test_a_folder_stands_for_its_cu_files_sorted_each_once(tmp_path):
    for name in ("b.cu", "a/z.cu", "a/y.cu", "host.c", ".hidden/x.cu", "n.cuh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    found = source_files((tmp_path / "b.cu", tmp_path, tmp_path / "host.c"))
    assert [path.name for path in found] == ["b.cu", "y.cu", "z.cu", "host.c"]


@pytest.mark.parametrize(
    ("name", "message"), [("none.cu", "no such file"), (".", "no .cu file in this folder")]
)
def test_nothing_to_analyse(tmp_path, name, message):
    with pytest.raises(WattsliceError, match=message):
        source_files((tmp_path / name,))


def driver(tmp_path, *models):
    for index, model in enumerate(models):
        folder = tmp_path / f"0000:{index:02x}:00.0"
        folder.mkdir()
        (folder / "information").write_text(f"Model: \t\t {model}\nIRQ:   \t\t 42\n", encoding="utf-8")
    return tmp_path


def test_gpu_of_this_machine(tmp_path):
    folder = driver(tmp_path, "NVIDIA Unheard-of 9000", "Tesla V100-SXM2-16GB")
    assert gpus_of_this_machine(folder) == ("NVIDIA Unheard-of 9000", "Tesla V100-SXM2-16GB")
    choice = choose_gpu(None, None, driver_folder=folder)
    assert (choice.gpu_id, choice.source) == ("v100", "this machine")
    assert choose_gpu("t4", None, driver_folder=folder).source == "--gpu"
    assert choose_gpu(None, "t4", driver_folder=folder).source == "settings"


def test_a_gpu_nobody_knows_is_passed_over_aloud(tmp_path):
    choice = choose_gpu(None, None, driver_folder=driver(tmp_path, "Unheard-of 9000"))
    assert (choice.gpu_id, choice.source, choice.passed_over) == ("v100", "default", "Unheard-of 9000")
    assert choose_gpu(None, None, driver_folder=tmp_path / "none").passed_over == ""


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("wattslice.toml", 'set = ["a=1", "b"]', r"wattslice.toml:1: set: 'b' cannot be read \(write NAME="),
        ("wattslice.toml", 'set = ["a=1", "a=2"]', "wattslice.toml:1: set: contradictory: a=1 and a=2"),
        ("wattslice.toml", 'launch = ["k=0:1"]', "wattslice.toml:1: launch: 'k=0:1'"),
        (
            "pyproject.toml",
            '[tool.wattslice]\nset = ["]"]',
            "pyproject.toml:2: tool.wattslice.set: ']' cannot",
        ),
    ],
)
def test_an_entry_that_cannot_be_read_is_told_with_its_file_and_key(kernel, name, text, message):
    (kernel.parent / name).write_text(text, encoding="utf-8")
    with pytest.raises(WattsliceError, match=message) as caught:
        make_config(Options(paths=(kernel,)))
    assert "--" not in str(caught.value).partition(name)[2]


def test_a_gpu_file_of_the_settings_lies_beside_them(tmp_path, monkeypatch):
    (tmp_path / "wattslice.toml").write_text('gpu = "mine.toml"\n')
    (tmp_path / "mine.toml").write_text('extends = "h100"\nid = "mine"\nname = "Mine"\n')
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    chosen = choose_gpu(None, "mine.toml", tmp_path / "wattslice.toml")
    assert chosen.source == "settings"
    assert load_gpu(chosen.gpu_id).name == "Mine"
