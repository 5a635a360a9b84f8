"""`import wattslice`: instant, typed, and what docs/library.md says of it is true."""

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args, get_type_hints

import click
import pytest
from msgspec import Struct

import wattslice
from wattslice import api as library
from wattslice.api import FileOptions, TextOptions
from wattslice.commands.analyze import analyze as command
from wattslice.config.config import Options, make_config
from wattslice.pipeline.files import analyze_files
from wattslice.report.json import render_json

PAGE = Path(__file__).parents[2] / "docs" / "library.md"
SETTINGS_PAGE = PAGE.with_name("settings.md")
KERNEL = """#if defined(FAST) && WIDTH == 2
__global__ void k(float *y, int n) { for (int j = 0; j < n; ++j) y[j] += threadIdx.x; }
#endif
"""


def test_the_examples_of_the_documentation_run(tmp_path, monkeypatch):
    folder = tmp_path / "project" / "source"  # host code is looked for beside it, too: not in other tests
    folder.mkdir(parents=True)
    text = PAGE.read_text(encoding="utf-8")
    for name, content in re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", text, re.S):
        (folder / name).write_text(content)
    (folder / "wattslice.toml").write_text("")
    monkeypatch.chdir(folder)
    examples = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(examples) >= 6
    names: dict[str, object] = {}
    for example in examples:
        exec(compile(example, str(PAGE), "exec"), names)


def test_the_page_says_where_each_field_of_the_json_is():
    table = PAGE.read_text(encoding="utf-8").partition("| in JSON |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (`.*`) \| (`.*`) \|$", table, re.M)
    paths: dict[str, str] = {}
    for names, places in rows:
        paths |= zip(re.findall(r"`(.*?)`", names), re.findall(r"`(.*?)`", places), strict=True)
    analysis = wattslice.analyze_text("#define FAST\n#define WIDTH 2\n" + KERNEL, gpu="v100", launch="k=8:32")
    (kernel,) = analysis.kernels
    (told,) = json.loads(wattslice.to_json(analysis))["kernels"]
    assert set(paths) <= set(told)
    for name, value in told.items():
        found: object = kernel
        for part in (paths.get(name) or name).split("."):
            found = getattr(found, part)
        if isinstance(value, int | float | str):
            assert getattr(found, "value", found) == value


def test_every_option_of_the_command_line_is_there_and_documented():
    assert isinstance(command, click.Command)
    other = {"-I": "include", "-D": "define", "-p": "compile_commands", "--no-cache": "cache"}
    not_analysis = {"--format", "-o", "--help"}
    options = {name for parameter in command.params for name in parameter.opts if name.startswith("-")}
    options -= not_analysis
    wanted = {other.get(name, name.removeprefix("--").replace("-", "_")) for name in options}
    arguments = {*get_type_hints(FileOptions), *inspect.signature(wattslice.analyze).parameters} - {"options"}
    assert wanted <= arguments
    told = SETTINGS_PAGE.read_text(encoding="utf-8").partition("## All options")[2]
    rows = [row.split("|") for row in told.splitlines() if row.startswith("| ")]
    named = {name for row in rows[1:] for name in re.findall(r"`(\w+)`", row[4])}
    own = {name for name in arguments - named if f"`{name}` is" in PAGE.read_text(encoding="utf-8")}
    assert (named | own, own) == (arguments - {"paths"}, {"done"})


def test_it_is_the_analysis_of_the_command_line(tmp_path):
    path = tmp_path / "k.cu"
    path.write_text(KERNEL)
    (tmp_path / "wattslice.toml").write_text("")
    options = Options(
        paths=(path,),
        gpu="v100",
        overrides=("k.n=64",),
        launches=("k=8:32",),
        definitions=("FAST", "WIDTH=2"),
    )
    expected = analyze_files(make_config(options))
    done: list[Path] = []
    by_mapping = wattslice.analyze(
        path, gpu="v100", set={"k.n": 64}, launch="k=8:32", define={"FAST": None, "WIDTH": 2}, cache=False
    )
    by_texts = wattslice.analyze(
        [str(path), str(path)],
        gpu="v100",
        set=["k.n=64"],
        launch=["k=8:32"],
        define=["FAST", "WIDTH=2"],
        cache=tmp_path / "cache",
        jobs=2,
        done=done.append,
    )
    assert expected.kernels[0].power_w is not None
    assert render_json(expected) == wattslice.to_json(by_mapping) == wattslice.to_json(by_texts)
    as_text = wattslice.analyze_text(
        KERNEL, path, gpu="v100", set={"k.n": 64}, launch="k=8:32", define=("FAST", "WIDTH=2")
    )
    assert wattslice.to_json(as_text) == wattslice.to_json(expected)


OF_MANY_FILES = {"paths", "jobs", "backend", "scheduler", "cache", "done"}
BRANCHY = """__global__ void walk(const int *key, float *out, float v) {
#ifdef FAST
  v += 1.0f;
#endif
  if (key[threadIdx.x] == 3) for (int j = 0; j < 100; ++j) v = v * 1.5f + 2.0f;
  out[threadIdx.x] = v;
}
int main() { walk<<<1000, 256>>>(0, 0, 1.0f); }
"""


@pytest.mark.parametrize(
    "options",
    [
        {"profile": "profile.json"},
        {"method": "bdpm", "delta": 0.9},
        {"dense_from": 1.0},
        {"compile_commands": "elsewhere"},
    ],
    ids=lambda options: " ".join(options),
)
def test_a_text_has_the_options_of_a_file(tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    Path("wattslice.toml").write_text("")
    Path("k.cu").write_text(BRANCHY)
    often = {"file": "k.cu", "line": 5, "arm": "then", "probability": 0.99}
    Path("profile.json").write_text(json.dumps({"schema_version": 1, "branches": [often]}))
    Path("elsewhere").mkdir()  # where nobody looks by himself
    entry = {"directory": str(tmp_path), "file": "k.cu", "arguments": ["nvcc", "-DFAST", "-c", "k.cu"]}
    Path("elsewhere/compile_commands.json").write_text(json.dumps([entry]))
    of_file = wattslice.to_json(wattslice.analyze("k.cu", gpu="v100", cache=False, **options))
    Path("k.cu").unlink()
    of_text = wattslice.to_json(wattslice.analyze_text(BRANCHY, "k.cu", gpu="v100", **options))
    assert of_text == of_file != wattslice.to_json(wattslice.analyze_text(BRANCHY, "k.cu", gpu="v100"))


def test_a_text_lacks_no_option():
    of_file, of_text = get_type_hints(FileOptions), get_type_hints(TextOptions)
    assert set(of_text) == set(of_file) - OF_MANY_FILES
    assert all(of_file[name] == of_text[name] for name in of_text)


def types_in(found: object) -> set[type]:
    """Ours among the types that a result of this type may hold, itself among them."""
    if not isinstance(found, type):
        return {one for part in get_args(found) for one in types_in(part)}
    own = {found} if found.__module__.startswith("wattslice") else set()
    parts = {*get_args(found)}
    if issubclass(found, Struct):
        parts |= set(get_type_hints(found).values())
        getters = [entry.fget for entry in vars(found).values() if isinstance(entry, property)]
        parts |= {get_type_hints(getter)["return"] for getter in getters}
    return own.union(*(types_in(part) for part in parts))


def test_every_type_of_a_result_is_offered_and_documented():
    wanted = types_in(wattslice.Analysis) | types_in(wattslice.Finding)
    assert {"Severity", "MemorySpace", "RooflinePoint", "Assumption"} <= {one.__name__ for one in wanted}
    text = PAGE.read_text(encoding="utf-8")
    for one in wanted:
        assert getattr(wattslice, one.__name__) is one
        assert f"`{one.__name__}`" in text


def test_settings_around_a_text_count(tmp_path):
    (tmp_path / "wattslice.toml").write_text('gpu = "h200"\n')
    found = wattslice.analyze_text("__global__ void k(float *y) { y[0] = 1; }", tmp_path / "none.cu")
    assert (found.gpu_id, found.gpu_source) == ("h200", "settings")


def test_errors_are_ours(tmp_path):
    with pytest.raises(wattslice.WattsliceError, match="no file to analyse"):
        wattslice.analyze([])
    with pytest.raises(wattslice.WattsliceError, match="no such file"):
        wattslice.analyze(tmp_path / "none.cu")
    with pytest.raises(wattslice.FrontendError, match="is empty"):
        wattslice.analyze_text("")
    with pytest.raises(AttributeError, match="no attribute 'analyse'"):
        _ = wattslice.analyse  # pyright: ignore


def test_what_the_command_line_tells_first_is_a_warning(tmp_path):
    (tmp_path / "k.cu").write_text("__global__ void k(float *y) { y[0] = 1; }")
    (tmp_path / "cache").write_text("no folder")
    with pytest.warns(UserWarning, match="not used as cache"):
        assert wattslice.analyze(tmp_path / "k.cu", cache=tmp_path / "cache").kernels


def test_everything_is_offered_and_nothing_is_loaded_before_it_is_used():
    assert set(dir(wattslice)) == {*library.__all__, "__version__"}
    code = (
        "import sys; before = set(sys.modules); import wattslice; new = set(sys.modules) - before;"
        "assert new == {'wattslice', 'wattslice.version'}, new;"
        "import wattslice as w; assert callable(w.analyze);"
        "assert 'numpy' not in sys.modules and 'click' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
