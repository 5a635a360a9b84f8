"""The cache on the disk: the answers of an analysis, none out of date, no harm from a bad folder."""

import io
import multiprocessing
import os
import re
import subprocess
import zlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from msgspec import structs
from msgspec.structs import replace

from wattslice.analysis import Analysis
from wattslice.cli import main
from wattslice.config.config import Config, Execution, Options, make_config
from wattslice.config.gpu_choice import GpuChoice
from wattslice.frontend.parse_options import ParseOptions
from wattslice.pipeline import files as pipeline
from wattslice.pipeline.cache import keeper as run_key
from wattslice.pipeline.cache.folder import CacheError, CacheFolder
from wattslice.pipeline.cache.keeper import with_usable_cache
from wattslice.report.json import render_json
from wattslice.report.text import write_text
from wattslice_models import gpu as gpu_module
from wattslice_models.energy import EnergyModel
from wattslice_models.energy_power import EnergyPowerModel
from wattslice_models.gpu import load_gpu
from wattslice_models.store import Provenance, TrainedModel, energy_model, save
from wattslice_models.user_folder import user_models

KERNEL = """#include "cuda_runtime.h"
#include "scale.h"
#include "absent.h"
__global__ void scale(float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < STEPS; ++k)
    if (y[i] > 1) y[i] *= FACTOR;
}
void run(float *y, int n) { scale<<<n / 256, 256>>>(y, n); }
"""
CALLER = "void run(float*, int);\nint main() { run(0, 1 << 20); }\n"
NAME = "0" * 64


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """One CUDA file with a header, a header that is nowhere and a calling file; an empty cache."""
    folder = tmp_path / "tree" / "src"
    (folder / "include").mkdir(parents=True)
    (tmp_path / "tree" / ".git").mkdir()
    (tmp_path / "tree" / "elsewhere").mkdir()
    (folder / "k.cu").write_text(KERNEL)
    (folder / "scale.h").write_text("#define FACTOR 2.0f\n#define STEPS 8\n")
    (folder / "main.cpp").write_text(CALLER)
    return Config(
        files=(folder / "k.cu",),
        gpu=GpuChoice("v100_pcie"),
        parse=ParseOptions(include_dirs=(folder / "include",)),
        execution=Execution(cache=tmp_path / "cache"),
    )


@pytest.fixture
def analysed(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were analysed and not found in the cache."""
    original = pipeline.analyze_file
    files: list[Path] = []

    def analyze_file(path, config, source=None):
        files.append(path)
        return original(path, config, source)

    monkeypatch.setattr(pipeline, "analyze_file", analyze_file)
    return files


def printed(analysis: Analysis) -> str:
    text = io.StringIO()
    write_text(analysis, text)
    return render_json(analysis) + text.getvalue()


def entries(config: Config) -> list[Path]:
    assert config.execution.cache is not None
    return [path for path in (config.execution.cache / "results").iterdir() if path.name.isalnum()]


def test_the_second_run_analyses_nothing_and_says_the_same(config, analysed):
    first = pipeline.analyze_files(config)
    assert analysed == [*config.files]
    second = pipeline.analyze_files(config)
    assert analysed == [*config.files]
    assert second == first
    assert (
        printed(second)
        == printed(first)
        == printed(pipeline.analyze_files(replace(config, execution=Execution())))
    )


@pytest.mark.slow
@pytest.mark.parametrize("gpu", ["v100", "gtx280"])
def test_all_that_a_result_can_hold_reads_back_exactly(tmp_path, analysed, gpu):
    files = tuple(sorted((Path(__file__).parent / "hand_counted").glob("[bc]*.cu")))
    config = Config(files=files, gpu=GpuChoice(gpu), execution=Execution(cache=tmp_path))
    first = pipeline.analyze_files(config)
    analysed.clear()
    second = pipeline.analyze_files(config)
    assert analysed == []
    assert second == first
    assert printed(second) == printed(first)


def edit(config: Config, name: str, text: str) -> None:
    (config.files[0].parent / name).write_text(text)


def retrain(_config: Config) -> None:
    model = energy_model(load_gpu("v100_pcie"))
    assert isinstance(model, EnergyModel)
    trained = TrainedModel("energy", Provenance(("v100_pcie",), 1, (), ()), EnergyPowerModel(model), ())
    save(user_models() / "v100_pcie", trained)


CHANGES: dict[str, Callable[[Config], object]] = {
    "source": lambda c: edit(c, "k.cu", KERNEL.replace("> 1", "> 2")),
    "header": lambda c: edit(c, "scale.h", "#define FACTOR 2.0\n#define STEPS 8\n"),
    "header appears beside": lambda c: edit(c, "absent.h", "#define NOTHING\n"),
    "header appears in -I": lambda c: edit(c, "include/absent.h", "#define NOTHING\n"),
    "header appears far away": lambda c: edit(c, "../elsewhere/absent.h", "#define NOTHING\n"),
    "header hides one of ours": lambda c: edit(c, "cuda_runtime.h", "#error not ours\n"),
    "caller": lambda c: edit(c, "main.cpp", CALLER.replace("1 << 20", "1 << 10")),
    "another caller": lambda c: edit(c, "another.cpp", CALLER.replace("1 << 20", "1 << 12")),
    "another launch": lambda c: edit(
        c, "more.cu", "__global__ void scale(float*, int);\nvoid more() { scale<<<2, 32>>>(0, 1); }\n"
    ),
    "caller goes": lambda c: (c.files[0].parent / "main.cpp").unlink(),
    "repository": lambda c: (c.files[0].parent / ".git").mkdir(),
    "coefficients": retrain,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_whatever_an_analysis_sees_makes_it_anew(config, analysed, change):
    pipeline.analyze_files(config)
    change(config)
    analysed.clear()
    again = pipeline.analyze_files(config)
    assert analysed == [*config.files]
    assert again == pipeline.analyze_files(replace(config, execution=Execution()))


@pytest.mark.parametrize(
    "change",
    [
        {"gpu": "h200"},
        {"definitions": ("N=1",)},
        {"overrides": ("n=3",)},
        {"launches": ("scale=1:32",)},
        {"language_standard": "c++14"},
        {"model": "wavelet"},
        {"method": "bdpm"},
        {"delta": 0.2},
        {"dense_from": 0.5},
        {"core_clock_mhz": 1000.0},
        {"compile_commands_directory": True},
        {"profile": True},
    ],
    ids=lambda change: next(iter(change)),
)
def test_options_make_it_anew(config, analysed, change, tmp_path):
    (tmp_path / "compile_commands.json").write_text("[]")
    profile = tmp_path / "profile.json"
    branch = '{"file": "k.cu", "line": 6, "arm": "then", "probability": 0.25}'
    profile.write_text(f'{{"schema_version": 1, "branches": [{branch}]}}')
    given = {"compile_commands_directory": tmp_path, "profile": profile}
    options = Options(paths=config.files, cache=config.execution.cache, gpu="v100")
    changed = structs.replace(options, **{name: given.get(name, value) for name, value in change.items()})
    pipeline.analyze_files(make_config(options))
    analysed.clear()
    first = pipeline.analyze_files(make_config(changed))
    assert analysed == [*config.files]
    assert pipeline.analyze_files(make_config(changed)) == first
    assert analysed == [*config.files]
    for name in change:
        if name in given:  # a file that is named by an option counts with its content
            text = profile.read_text().replace("0.25", "0.75") if name == "profile" else "[{}]"
            (profile if name == "profile" else tmp_path / "compile_commands.json").write_text(text)
            pipeline.analyze_files(make_config(changed))
            assert analysed == [*config.files, *config.files]


def test_another_program_makes_it_anew(config, analysed, monkeypatch):
    pipeline.analyze_files(config)

    def another(_: Execution) -> str:
        return "another version"

    monkeypatch.setattr(run_key, "kept_program_digest", another)
    pipeline.analyze_files(config)
    assert analysed == [*config.files, *config.files]


@pytest.mark.parametrize("variable", ["CPATH", "CPLUS_INCLUDE_PATH"])
def test_include_paths_of_the_environment_say_nothing(config, monkeypatch, tmp_path, variable):
    edit(config, "k.cu", KERNEL.replace('"absent.h"', "<hidden_steps.h>").replace("STEPS", "MANY"))
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "hidden_steps.h").write_text("#define MANY 64\n")
    expected = pipeline.analyze_files(replace(config, execution=Execution()))
    monkeypatch.setenv(variable, str(tmp_path / "env"))
    assert pipeline.analyze_files(replace(config, execution=Execution())) == expected
    told = subprocess.run(["/bin/sh", "-c", f"echo ${variable}"], capture_output=True, text=True, check=True)
    assert told.stdout == f"{tmp_path / 'env'}\n"


def test_times_of_files_say_nothing(config, analysed):
    pipeline.analyze_files(config)
    for path in config.files[0].parent.iterdir():
        os.utime(path, (1, 1))
    pipeline.analyze_files(config)
    assert analysed == [*config.files]


def rewritten(entry: Path, change: tuple[str, str]) -> bytes:
    """An entry that somebody edited, its checksum renewed."""
    content = entry.read_bytes()
    begin = content.index(b"\n") + 1
    text = zlib.decompress(content[begin + 32 :]).decode()
    assert change[0] in text
    body = zlib.compress(text.replace(*change).encode())
    return content[:begin] + sha256(body).digest() + body


def renumbered(entry: Path, name: str, value: str) -> bytes:
    """An entry whose first number of that name is another one, its checksum renewed."""
    begin = entry.read_bytes().index(b"\n") + 1
    text = zlib.decompress(entry.read_bytes()[begin + 32 :]).decode()
    found = re.search(rf'"{name}":[0-9.e+-]+', text)
    assert found is not None
    return rewritten(entry, (found[0], f'"{name}":{value}'))


IMPOSSIBLE = (
    ("power_w", "-1.0"),
    ("power_w", "1e999"),
    ("power_w", "NaN"),
    ("time_s", "-1e-9"),
    ("energy_j", "-Infinity"),
    ("probability", "1.5"),
    ("occupancy", "2.0"),
    ("registers_per_thread", "-1"),
)
SPOILS: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-9]),
    "corrupted": lambda path: path.write_bytes(path.read_bytes()[:-1] + bytes([path.read_bytes()[-1] ^ 1])),
    "pickle": lambda path: path.write_bytes(b"\x80\x04cos\nsystem\n(S'false'\ntR."),
    "unknown entry": lambda path: path.write_bytes(rewritten(path, ('"names":', '"more":1,"names":'))),
    "wrong type": lambda path: path.write_bytes(rewritten(path, ('"end_line":8', '"end_line":"8"'))),
    "of another file": lambda path: path.write_bytes(rewritten(path, (path.name, NAME))),
    **{
        f"{name} {value}": lambda path, name=name, value=value: path.write_bytes(
            renumbered(path, name, value)
        )
        for name, value in IMPOSSIBLE
    },
}


@pytest.mark.parametrize("spoil", SPOILS.values(), ids=SPOILS)
def test_a_spoilt_entry_is_none_and_gets_replaced(config, analysed, spoil):
    first = pipeline.analyze_files(config)
    (entry,) = entries(config)
    good = entry.read_bytes()
    spoil(entry)
    analysed.clear()
    assert pipeline.analyze_files(config) == first
    assert analysed == [*config.files]
    assert entry.read_bytes() == good


def test_what_another_try_may_change_is_not_kept(config, analysed, monkeypatch):
    def fail(*_):
        raise MemoryError

    with monkeypatch.context() as broken:
        broken.setattr(pipeline, "analyze_launch", fail)
        assert "PW099" in {entry.rule for entry in pipeline.analyze_files(config).diagnostics}
    assert entries(config) == []
    assert pipeline.analyze_files(config).kernels[0].power_w is not None


def test_a_parse_that_the_clock_cut_short_is_not_kept(config, monkeypatch):
    edit(config, "k.cu", KERNEL.replace("FACTOR", "UNKNOWN"))
    with monkeypatch.context() as slow:
        slow.setattr("wattslice.frontend.cuda.clang.session._REPAIR_BUDGET_S", 0.0)
        pipeline.analyze_files(config)
    assert entries(config) == []


def test_an_include_that_macros_name_is_not_kept(config):
    edit(config, "k.cu", KERNEL.replace('#include "absent.h"', '#define NAME "absent.h"\n#include NAME'))
    pipeline.analyze_files(config)
    assert entries(config) == []


def test_the_file_of_a_gpu_counts(config, analysed, tmp_path):
    gpu = tmp_path / "my.toml"
    text = (Path(gpu_module.__file__).parent / "gpus" / "v100.toml").read_text()
    gpu.write_text(text)
    mine = replace(config, gpu=GpuChoice(str(gpu)))
    pipeline.analyze_files(mine)
    gpu_module.load_gpu.cache_clear()  # another process reads it anew
    gpu.write_text(text.replace("value = 80,", "value = 84,"))
    pipeline.analyze_files(mine)
    assert analysed == [*config.files, *config.files]


def test_a_folder_that_is_not_ours_alone_is_not_used(config, monkeypatch):
    options = Options(paths=config.files, cache=config.execution.cache, gpu="v100")
    assert with_usable_cache(make_config(options)).notes == ()
    assert config.execution.cache is not None
    with monkeypatch.context() as other:
        other.setattr(os, "geteuid", lambda: os.getuid() + 1)
        found = with_usable_cache(make_config(options))
        assert found.execution.cache is None
        assert "not used as cache: it belongs to another user" in found.notes[0]
    for folder in (config.execution.cache, config.execution.cache / "results"):
        for mode, who in ((0o777, "everybody"), (0o770, "its group")):
            folder.chmod(mode)
            assert f"{who} may write to it" in with_usable_cache(make_config(options)).notes[0]
            folder.chmod(0o700)
    (config.execution.cache / "results").rmdir()
    (config.execution.cache / "results").symlink_to(config.files[0].parent)
    assert with_usable_cache(make_config(options)).execution.cache is None
    assert pipeline.analyze_files(config).kernels[0].power_w is not None
    assert len(list(config.files[0].parent.iterdir())) == 4


def test_symbolic_links_inside_are_not_followed(tmp_path):
    folder = CacheFolder(tmp_path / "cache")
    secret = tmp_path / "secret"
    secret.write_bytes(b"x")
    link = tmp_path / "cache" / "results" / NAME
    link.symlink_to(secret)
    assert folder.read(NAME) is None
    folder.write(NAME, b"new")
    assert (secret.read_bytes(), folder.read(NAME)) == (b"x", b"new")
    assert not link.is_symlink()
    folder.close()


def test_a_full_disk_costs_the_entry_only(config, monkeypatch):
    def full(*_args, **_named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert pipeline.analyze_files(config).kernels[0].power_w is not None
    assert config.execution.cache is not None
    assert list((config.execution.cache / "results").iterdir()) == []


def test_a_path_that_is_no_folder_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheError, match="not used as cache"):
        CacheFolder(tmp_path / "file")


def test_the_command_tells_and_clears(config, capsys, monkeypatch):
    pipeline.analyze_files(config)
    assert main(["cache", "--cache", str(config.execution.cache)]) == 0
    assert capsys.readouterr().out.startswith(f"{config.execution.cache}: 1 results kept, 0.0 MiB")
    monkeypatch.setenv("WATTSLICE_CACHE", str(config.execution.cache))
    assert main(["cache", "--clear"]) == 0
    assert entries(config) == []
    monkeypatch.setenv("WATTSLICE_CACHE", "off")
    assert main(["cache"]) == 0
    assert "1 results removed" in capsys.readouterr().out


def test_what_was_longest_not_used_goes_first(tmp_path):
    folder = CacheFolder(tmp_path, limit_bytes=1000)
    names = [f"{number:064x}" for number in range(6)]
    for age, name in enumerate(names):
        folder.write(name, bytes(100))
        os.utime(tmp_path / "results" / name, (age, age))
    folder.trim()
    assert folder.usage().entries == 6
    assert folder.read(names[0]) is not None  # used now
    for number in range(6, 11):
        folder.write(f"{number:064x}", bytes(100))
    folder.trim()
    assert folder.usage().size_bytes <= 1000
    assert folder.read(names[0]) is not None
    assert [folder.read(name) is None for name in names[1:4]] == [True, True, True]
    assert folder.clear().entries == 8
    assert folder.usage().entries == 0
    folder.close()


def test_short_runs_keep_the_bound_too(tmp_path):
    for number in range(300):  # each a run of one file
        folder = CacheFolder(tmp_path, limit_bytes=5000)
        folder.write(sha256(bytes([number % 256, number // 256])).hexdigest(), bytes(100))
        size_bytes = folder.usage().size_bytes
        folder.close()
        assert size_bytes < 2 * 5000


def test_asking_makes_no_folder_and_reads_the_settings(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WATTSLICE_CACHE", str(tmp_path / "other"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config_home"))
    users = tmp_path / "config_home" / "wattslice"
    users.mkdir(parents=True)
    (users / "wattslice.toml").write_text(f'cache = "{tmp_path / "mine"}"\n')
    for words in (["cache"], ["cache", "--clear"]):
        assert main(words) == 0
        assert capsys.readouterr().out.startswith(f"{tmp_path / 'mine'}: 0 results")
    assert [path.name for path in tmp_path.iterdir()] == ["config_home"]
    folder = CacheFolder(tmp_path / "mine")
    folder.write(NAME, b"x")
    assert main(["cache", "--clear"]) == 0
    assert "1 results removed" in capsys.readouterr().out
    assert folder.usage().entries == 0
    folder.close()
    assert main(["cache", "--cache", str(users / "wattslice.toml")]) == 2
    assert "not used as cache" in capsys.readouterr().err


def write_often(path: Path, letter: bytes) -> None:
    folder = CacheFolder(path)
    for _ in range(300):
        folder.write(NAME, letter * 50_000)
    folder.close()


@pytest.mark.slow
def test_writers_at_once_leave_one_whole_entry(tmp_path):
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=write_often, args=(tmp_path, letter)) for letter in (b"a", b"b")]
    folder = CacheFolder(tmp_path)
    for writer in writers:
        writer.start()
    seen: set[bytes | None] = set()
    while any(writer.is_alive() for writer in writers):
        seen.add(folder.read(NAME))
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert seen <= {None, b"a" * 50_000, b"b" * 50_000}
    assert [path.name for path in (tmp_path / "results").iterdir()] == [NAME]
    folder.close()
