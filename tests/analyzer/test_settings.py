import os
from pathlib import Path

import pytest

from wattslice.cli import main
from wattslice.config.config import Options, make_config
from wattslice.config.settings import NO_SETTINGS, find_settings, read_settings
from wattslice.errors import WattsliceError


def written(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_every_key(tmp_path):
    path = written(
        tmp_path / "wattslice.toml",
        """
        gpu = "h100"
        model = "energy"
        method = "bdpm"
        delta = 0.1
        set = ["n=1"]
        launch = ["k=1:32"]
        include = ["inc"]
        define = ["A=1"]
        std = "c++17"
        compile-commands = "build"
        profile = "p.json"
        core-mhz = 1000
        mem-mhz = 900.5
        jobs = 2
        [gate]
        max-power = 200
        unknown = "warn"
        """,
    )
    settings = read_settings(path)
    assert settings is not None
    assert (settings.gpu, settings.model, settings.method, settings.delta) == ("h100", "energy", "bdpm", 0.1)
    assert (settings.overrides, settings.launches, settings.definitions) == (("n=1",), ("k=1:32",), ("A=1",))
    assert settings.include_directories == (tmp_path / "inc",)
    assert settings.compile_commands_directory == tmp_path / "build"
    assert settings.profile == tmp_path / "p.json"
    assert (settings.core_clock_mhz, settings.memory_clock_mhz, settings.jobs) == (1000.0, 900.5, 2)
    assert (settings.gate_max_power_w, settings.gate_unknown) == (200.0, "warn")


def test_found_upwards_and_the_nearest_counts(tmp_path):
    source = written(tmp_path / "a" / "b" / "k.cu", "")
    written(tmp_path / "pyproject.toml", '[tool.wattslice]\ngpu = "t4"\n')
    assert find_settings((source,)).gpu == "t4"
    written(tmp_path / "a" / "pyproject.toml", "[tool.other]\nx = 1\n")
    assert find_settings((source,)).gpu == "t4"
    written(tmp_path / "a" / "wattslice.toml", 'gpu = "l4"\n')
    assert find_settings((source,)).gpu == "l4"
    assert find_settings((source, tmp_path / "c.cu")).gpu == "t4"


def test_a_wattslice_toml_comes_before_a_pyproject_beside_it(tmp_path):
    written(tmp_path / "pyproject.toml", '[tool.wattslice]\ngpu = "t4"\n')
    written(tmp_path / "wattslice.toml", 'gpu = "l4"\n')
    assert find_settings((tmp_path,)).gpu == "l4"


def test_a_wattslice_toml_wants_no_table(tmp_path):
    path = written(tmp_path / "wattslice.toml", "[tool.wattslice]\ngpu = 'v100'")
    with pytest.raises(WattsliceError, match="this file wants no table") as caught:
        read_settings(path)
    assert "without a table" in str(caught.value.remedy)


def test_no_paths_no_settings():
    assert find_settings(()) is NO_SETTINGS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[tool.wattslice]\ngpus = 'x'",
            r"pyproject.toml:2: tool.wattslice.gpus: no such setting \(did you mean tool.wattslice.gpu",
        ),
        ("[tool.wattslice]\nmem_mhz = 1", "did you mean tool.wattslice.mem-mhz"),
        ("[tool.wattslice]\njobs = 1.5", "tool.wattslice.jobs: expected a whole number, found 1.5"),
        ("[tool.wattslice]\ndelta = true", "expected a number, found True"),
        ("[tool.wattslice]\nset = ['n=1', 2]", "expected a list of texts"),
        ("[tool.wattslice.gate]\nmax_power = 1", "did you mean tool.wattslice.gate.max-power"),
        ("[tool]\nwattslice = 3", "tool.wattslice: expected a table"),
        ("[tool.wattslice]\ngpu = ", "not valid TOML"),
    ],
)
def test_errors_name_file_and_key(tmp_path, text, message):
    with pytest.raises(WattsliceError, match=message):
        read_settings(written(tmp_path / "pyproject.toml", text))


def test_somebody_elses_broken_pyproject_is_not_our_business(tmp_path):
    assert read_settings(written(tmp_path / "pyproject.toml", "[tool.black\n")) is None


def test_a_byte_order_mark_is_no_part_of_a_key(tmp_path):
    path = tmp_path / "wattslice.toml"
    path.write_bytes(b"\xef\xbb\xbfgpu = 't4'\n")
    found = read_settings(path)
    assert found is not None
    assert found.gpu == "t4"


@pytest.fixture(autouse=True)
def config_home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config_home"))


def users_settings(tmp_path, text):
    return written(tmp_path / "config_home" / "wattslice" / "wattslice.toml", text)


@pytest.mark.parametrize(
    ("entry", "remedy"),
    [
        ('backend = "dask"', "give --backend, or say it in "),
        ('scheduler = "tcp://203.0.113.1:8786"', "give --scheduler, or say it in "),
        ('cache = "/tmp"', "give --cache, or say it in "),
        ("cache-mib = 1", "(say it in "),
    ],
)
@pytest.mark.parametrize("name", ["wattslice.toml", "pyproject.toml"])
def test_settings_beside_sources_choose_nothing_that_connects_or_writes(tmp_path, name, entry, remedy):
    prefix = "[tool.wattslice]\n" if name == "pyproject.toml" else "# ours\n"
    path = written(tmp_path / name, f"{prefix}jobs = 1\n{entry}\n")
    key = entry.partition(" ")[0]
    with pytest.raises(WattsliceError) as told:
        find_settings((tmp_path,))
    assert f"{path}:3: " in str(told.value)
    assert f"{key}: not for settings beside sources" in str(told.value)
    assert f"{remedy}{tmp_path / 'config_home' / 'wattslice' / 'wattslice.toml'}" in str(told.value)
    path.unlink()
    users_settings(tmp_path, entry)
    assert getattr(find_settings((tmp_path,)), key.replace("-", "_")) is not None


def test_a_baseline_stays_in_the_folder_of_the_settings(tmp_path):
    here, inside, link = tmp_path / "repository", "ci/watts.baseline", "link"
    outside = written(tmp_path / "secret", "")
    (here / "sub").mkdir(parents=True)
    (here / link).symlink_to(outside)
    for baseline in (inside, str(here / inside), "sub/../x", ".."):
        path = written(here / "wattslice.toml", f'[gate]\n\nbaseline = "{baseline}"\n')
        if baseline != "..":
            assert find_settings((here,)).gate_baseline == here / baseline
    for baseline in ("../secret", str(outside), link, ".."):
        path = written(here / "wattslice.toml", f'[gate]\n\nbaseline = "{baseline}"\n')
        with pytest.raises(WattsliceError, match=rf"{path}:3: gate.baseline: .* lies outside .*--baseline"):
            find_settings((here,))
    path.unlink()
    users_settings(tmp_path, f'[gate]\nbaseline = "{outside}"\n')
    assert find_settings((here,)).gate_baseline == outside


def test_the_users_own_settings_say_what_the_others_do_not(tmp_path):
    own = users_settings(tmp_path, 'gpu = "l4"\ndelta = 0.1\nset = ["n=1"]\njobs = 10000\n')
    found = find_settings((tmp_path,))
    assert (found.gpu, found.delta, found.overrides, found.path) == ("l4", 0.1, ("n=1",), None)
    path = written(tmp_path / "wattslice.toml", 'gpu = "t4"\nset = ["n=2"]\n')
    found = find_settings((tmp_path,))
    assert (found.gpu, found.delta, found.overrides) == ("t4", 0.1, ("n=2",))
    assert (found.file_of("gpu"), found.file_of("delta")) == (path, own)
    assert find_settings(()).gpu == "l4"
    own.write_text('gpus = "l4"')
    with pytest.raises(WattsliceError, match=str(own)):
        find_settings((tmp_path,))
    own.write_text('gpu = "nothing"')
    (tmp_path / "k.cu").write_text("")
    path.unlink()
    with pytest.raises(WattsliceError, match=rf"{own}:1: unknown GPU"):
        make_config(Options(paths=(tmp_path / "k.cu",)))


def test_a_stranger_has_no_thousand_processes_started(tmp_path):
    written(tmp_path / "k.cu", "")
    path = written(tmp_path / "wattslice.toml", "jobs = 100000\n")
    options = Options(paths=(tmp_path / "k.cu",))
    assert make_config(options).execution.jobs == 4 * (os.cpu_count() or 1)
    path.unlink()
    users_settings(tmp_path, "jobs = 100000\n")
    assert make_config(options).execution.jobs == 100_000


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a = " + "[" * 100_000, "nested too deeply"),
        ("jobs = " + "1" * 5_000, "not valid TOML"),
        ("a" + ".a" * 50_000 + " = 1", "nested too deeply"),
    ],
)
def test_hostile_settings_are_refused(tmp_path, text, reason):
    written(tmp_path / "wattslice.toml", text)
    with pytest.raises(WattsliceError, match=reason):
        find_settings((tmp_path,))


def test_settings_that_never_end_are_not_read(tmp_path):
    path = tmp_path / "wattslice.toml"
    path.symlink_to("/dev/zero")
    with pytest.raises(WattsliceError, match="no regular file"):
        find_settings((tmp_path,))
    path.unlink()
    os.mkfifo(path)
    for name in ("/dev/zero", path):
        with pytest.raises(WattsliceError, match="no regular file"):
            read_settings(Path(name))
    path.unlink()
    with path.open("wb") as file:
        file.truncate(10 << 30)
    with pytest.raises(WattsliceError, match="larger than 1 MiB"):
        find_settings((tmp_path,))


@pytest.mark.parametrize("name", ["wattslice.toml", "pyproject.toml"])
def test_a_pipe_in_place_of_settings_is_refused_and_not_passed_over(tmp_path, name):
    os.mkfifo(tmp_path / name)
    (tmp_path / "k.cu").write_text("")
    with pytest.raises(WattsliceError, match=f"{name}: cannot read the settings"):
        find_settings((tmp_path / "k.cu",))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[gate]\ntolerance = 5", "wattslice.toml:2: gate.tolerance: 5.0 is no share below 1"),
        ('\n[gate]\nconfidence = "20%"', "wattslice.toml:3: gate.confidence: 0.2 is no confidence"),
        ('[gate]\nfail-on = ["joules"]', "wattslice.toml:2: gate.fail-on: unknown value 'joules'"),
        ('[gate]\nunknown = "no"', "wattslice.toml:2: gate.unknown: unknown value 'no'"),
        ("gate.max-power = -3", "wattslice.toml:1: gate.max-power: -3 is not a budget"),
        ('\nprofile = "none.json"', "directory (`wattslice profile` makes one; named by profile"),
        ('\nprofile = "bad.json"', "bad.json:1: not valid JSON"),
        ('\nprofile = "bad.json"', "(named by profile in FOLDER/wattslice.toml:2)"),
        ('\ngpu = "none.toml"', "(give the TOML file of a GPU; named by gpu in FOLDER/wattslice.toml:2)"),
        ('\ngpu = "v10"', "wattslice.toml:2: unknown GPU 'v10'"),
    ],
)
def test_all_that_settings_say_is_checked_by_every_command(tmp_path, monkeypatch, capsys, text, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.cu").write_text("__global__ void k(float *x) { x[threadIdx.x] *= 2; }\n")
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "wattslice.toml").write_text(text)
    for command in ("analyze", "annotate"):
        assert main([command, "a.cu"]) == 2
        assert told.replace("FOLDER", str(tmp_path)) in capsys.readouterr().err
