"""One table of options: a row more in it arrives wherever an option may be said."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import click
import msgspec
import pytest

import wattslice
from wattslice.api import FileOptions, TextOptions
from wattslice.commands.analyze import analyze, annotate
from wattslice.commands.gate import gate
from wattslice.commands.judging import judging_of
from wattslice.commands.roofline import roofline
from wattslice.config import options as table
from wattslice.config.config import Options, make_config
from wattslice.config.options import OPTIONS, Choices, Kind, Option, Place, before, said_at
from wattslice.config.settings import find_settings
from wattslice.errors import WattsliceError
from wattslice.lsp.client_settings import KEYS, read_client_settings
from wattslice_tools.options_page import MARKERS, options_table

ROOT = Path(__file__).parents[2]
SAMPLES = {
    Kind.TEXT: "text",
    Kind.NUMBER: 0.25,
    Kind.WHOLE: 3,
    Kind.SHARE: "5%",
    Kind.PATH: "folder",
    Kind.TEXTS: ["a=1"],
    Kind.PATHS: ["folder"],
    Kind.BUDGETS: [{"max-power": 3}],
}


def ids(option: Option) -> str:
    return option.key


def parameters(command: object) -> dict[str, click.Parameter]:
    assert isinstance(command, click.Command)
    return {parameter.name or "": parameter for parameter in command.params}


@pytest.mark.parametrize("option", OPTIONS, ids=ids)
def test_on_the_command_line(option):
    for command in (analyze, annotate, roofline, gate):
        found = parameters(command).get(option.field)
        if Place.COMMAND in option.places or (command is gate and Place.GATE in option.places):
            assert isinstance(found, click.Option)
            assert (found.opts, found.help, found.multiple) == ([option.name], option.help, option.adds)
        else:
            assert found is None


@pytest.mark.parametrize("option", said_at(Place.BESIDE | Place.USER).values(), ids=ids)
def test_in_settings(option, tmp_path, monkeypatch):
    table, _, key = option.key.rpartition(".")
    text = f"[{table}]\n" if table else ""
    value = json.dumps(SAMPLES[option.kind]).replace('{"max-power": 3}', "{max-power = 3}")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    (tmp_path / "user" / "wattslice").mkdir(parents=True)
    beside, own = tmp_path / "wattslice.toml", tmp_path / "user" / "wattslice" / "wattslice.toml"
    for path, place in ((beside, Place.BESIDE), (own, Place.USER)):
        path.write_text(f"{text}{key} = {value}\n")
        if place in option.places:
            assert getattr(find_settings((tmp_path,)), option.field) not in (None, ())
            path.write_text(f"{text}{key} = 1979-05-27\n")
            with pytest.raises(WattsliceError, match=f"{re.escape(option.key)}: expected a"):
                find_settings((tmp_path,))
        else:
            with pytest.raises(WattsliceError, match="not for settings beside sources"):
                find_settings((tmp_path,))
        path.unlink()


@pytest.mark.parametrize("option", said_at(Place.EDITOR).values(), ids=ids)
def test_in_an_editor(option):
    for key in (option.key, option.camel):
        settings, complaints = read_client_settings({key: SAMPLES[option.kind]}, Path("/root"))
        assert complaints == ()
        assert getattr(settings.choices, option.field) not in (None, ())
    assert len(read_client_settings({option.camel: {"a": 1}}, None)[1]) == 1
    assert option in KEYS


def test_in_an_editor_only_what_may_be_said_there():
    given = {
        option.key: SAMPLES.get(option.kind, True) for option in OPTIONS if Place.EDITOR not in option.places
    }
    assert read_client_settings(given, None) == read_client_settings({}, None)


def test_in_the_library():
    for place, kind in ((Place.FILES, FileOptions), (Place.TEXT, TextOptions)):
        assert set(get_type_hints(kind)) == {option.argument for option in said_at(place).values()}
    for option in said_at(Place.FILES).values():
        if option.values is not None:
            hint = str(get_type_hints(FileOptions)[option.argument])
            assert all(f"'{member.value}'" in hint for member in option.values)
    for wrong in ({"colour": 3}, {"cache": True}, {"jobs": 2}):
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            wattslice.analyze_text("", **wrong)  # pyright: ignore


def test_names_say_what_values_there_are():
    for option in OPTIONS:
        if option.values is not None:
            assert all(str(member.value) in option.help for member in option.values)


def test_what_help_and_pages_call_the_default_counts(tmp_path):
    """The value that `help` names, given, makes the run that silence makes."""
    defaults = {option.field: option.help.partition("[default: ")[2].removesuffix("]") for option in OPTIONS}
    for name in ("delta", "dense_from", "jobs", "backend", "cache_mib", "gate_tolerance", "gate_confidence"):
        said = defaults[name]
        value = json.loads(said) if said.replace(".", "").isdigit() else said
        assert of_run(tmp_path, **{name: value}) == of_run(tmp_path)
    for page, text in (
        ("branches", f"From {table.DENSE_FROM:g} on"),
        ("branches", f"`--delta`, {table.DELTA:g} by default"),
        ("glossary", f"more than {table.DENSE_FROM * 100:g} % of"),
        ("settings", f"\ndelta = {table.DELTA:g} "),
        ("settings", f"\ndense-from = {table.DENSE_FROM:g} "),
        ("ci", f"(`--tolerance`, {table.TOLERANCE * 100:g} %)"),
        ("ci", f"(`--confidence`, {table.CONFIDENCE * 100:g} %)"),
    ):
        assert text in (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"), (page, text)


def of_run(folder: Path, **said: object) -> tuple[object, ...]:
    (folder / "a.cu").touch()
    (folder / "wattslice.toml").touch()
    options = msgspec.convert({"paths": [folder / "a.cu"], **said}, Options)
    config = make_config(options)
    return config.prediction, config.execution, judging_of(options)


def test_first_before_then():
    first = Choices(gpu="a", delta=0.0, overrides=("n=3",), definitions=("B",), gate_fail_on=("time",))
    then = Choices(
        gpu="b", delta=0.5, model="m", overrides=("n=1", "m=2"), definitions=("A",), gate_fail_on=("power",)
    )
    found = before(first, then)
    assert (found["gpu"], found["delta"], found["model"]) == ("a", 0.0, "m")
    assert (found["overrides"], found["definitions"]) == (("m=2", "n=3"), ("A", "B"))
    assert found["gate_fail_on"] == ("time",)


ONE_ROW = """    volts: Annotated[float | None, Option("board-volts", "V", "Voltage of the board.")] = None
"""
ARRIVES = """
import sys, types
from pathlib import Path

text = Path(PATH).read_text().replace(ANCHOR, ROW + ANCHOR, 1)
module = types.ModuleType("wattslice.config.options")
sys.modules["wattslice.config.options"] = module
exec(compile(text, PATH, "exec"), vars(module))

from wattslice.cli import main
from wattslice.config.settings import read_settings
from wattslice.config.config import Options, merged
from wattslice.api import _options
from wattslice.lsp.client_settings import read_client_settings
from wattslice_tools.options_page import options_table

assert main(["analyze", "--help"]) == 0 and main(["gate", "--help"]) == 0
settings = read_settings(Path(sys.argv[1]))
assert settings.volts == 0.9
assert merged(Options(paths=(), volts=1.1), settings).volts == 1.1
assert read_client_settings({"boardVolts": 1.2}, None)[0].choices.volts == 1.2
assert _options("f", module.Place.TEXT, (), {"board_volts": 1.0}).volts == 1.0
assert "| `--board-volts V` |" in options_table()
"""


def test_a_row_more_arrives_everywhere(tmp_path):
    settings = tmp_path / "wattslice.toml"
    settings.write_text("board-volts = 0.9\n")
    path = str(table.__file__)
    anchor = "    jobs: Annotated["
    code = ARRIVES.replace("PATH)", f"{path!r})").replace("PATH,", f"{path!r},")
    code = code.replace("ANCHOR", repr(anchor)).replace("ROW", repr(ONE_ROW))
    done = subprocess.run(
        [sys.executable, "-c", code, str(settings)], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("--board-volts V") == 2


def test_the_table_of_the_documentation_is_this_one():
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    begin, end = MARKERS
    assert page.partition(begin)[2].partition(end)[0].strip() == options_table()
