"""What docs/command-line.md promises is what the program does."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from wattslice.analysis import Advice
from wattslice.config.config import Options, make_config
from wattslice.config.settings import read_settings
from wattslice.report.json import render_json

from .samples import ANALYSIS

DOCUMENT = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")


# Objects whose fields docs/counting.md and docs/instructions.md list.
ELSEWHERE = ("counts_per_thread", "instructions_per_thread")


def documented_fields(heading: str) -> dict[str, set[str]]:
    """The fields of the table under a heading; for one that is a list of objects, the fields of those."""
    rows = re.match(r"\n\|.*\n\|[-| ]+\|\n((?:\|.*\n)+)", DOCUMENT.split(heading, 1)[1])
    assert rows is not None
    found: dict[str, set[str]] = {}
    for row in rows[1].splitlines():
        first, *_, meaning = row.strip("|").split("|")
        for name in re.findall(r"`(\w+)`", first):
            found[name] = set(re.findall(r"`(\w+)`", meaning))
    return found


def assert_documented(value: dict[str, Any], documented: dict[str, set[str]]) -> None:
    assert set(value) == set(documented)
    for name, entries in value.items():
        if name not in (*ELSEWHERE, "kernels") and isinstance(entries, list) and isinstance(entries[0], dict):
            assert {key for entry in entries for key in entry} == documented[name], name


def test_every_json_field_is_documented_with_its_object():
    advice = Advice("PW041", 31, "moves 4.0 x the bytes it uses", "let lanes read neighbours")
    kernels = (replace(ANALYSIS.kernels[0], advice=(advice,)), *ANALYSIS.kernels[1:])
    document = json.loads(render_json(replace(ANALYSIS, kernels=kernels)))
    assert_documented(document, documented_fields("its meaning within a schema version.\n"))
    assert_documented(document["kernels"][0], documented_fields("Each entry of `kernels`:\n"))


def test_the_settings_example_works(tmp_path):
    (example,) = re.findall(r"```toml\n(.*?)```", DOCUMENT, flags=re.DOTALL)
    (profile,) = re.findall(r"```json\n(.*?)```", DOCUMENT, flags=re.DOTALL)
    (tmp_path / "pyproject.toml").write_text(example, encoding="utf-8")
    (tmp_path / "branches.json").write_text(profile, encoding="utf-8")
    (tmp_path / "src" / "include").mkdir(parents=True)
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "compile_commands.json").write_text("[]", encoding="utf-8")
    (tmp_path / "k.cu").write_text("", encoding="utf-8")
    settings = read_settings(tmp_path / "pyproject.toml")
    assert settings is not None
    assert None not in [getattr(settings, name) for name in settings.__slots__]
    config = make_config(Options(paths=(tmp_path / "k.cu",)))
    assert (config.gpu_id, config.gpu_source, config.jobs) == ("h100", "settings", 2)
    assert config.branch_profile is not None
