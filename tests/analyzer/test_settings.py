import pytest

from wattslice.config.settings import NO_SETTINGS, SettingsError, find_settings, read_settings


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


def test_no_paths_no_settings():
    assert find_settings(()) is NO_SETTINGS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[tool.wattslice]\ngpus = 'x'",
            r"pyproject.toml: tool.wattslice.gpus: no such setting \(did you mean tool.wattslice.gpu",
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
    with pytest.raises(SettingsError, match=message):
        read_settings(written(tmp_path / "pyproject.toml", text))


def test_somebody_elses_broken_pyproject_is_not_our_business(tmp_path):
    assert read_settings(written(tmp_path / "pyproject.toml", "[tool.black\n")) is None


def test_a_byte_order_mark_is_no_part_of_a_key(tmp_path):
    path = tmp_path / "wattslice.toml"
    path.write_bytes(b"\xef\xbb\xbfgpu = 't4'\n")
    found = read_settings(path)
    assert found is not None
    assert found.gpu == "t4"
