"""What docs/json.md and docs/settings.md promise is what the program does."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from wattslice.analysis import Advice
from wattslice.config.config import Options, make_config
from wattslice.config.rule_choices import rule_choices
from wattslice.config.settings import find_settings
from wattslice.report.json import render_json

from .samples import ANALYSIS

DOCS = Path(__file__).parents[2] / "docs"
JSON = (DOCS / "json.md").read_text(encoding="utf-8")


# Objects whose fields docs/counting.md and docs/instructions.md list.
ELSEWHERE = ("counts_per_thread", "instructions_per_thread")


def documented_fields(head: str) -> dict[str, set[str]]:
    """The fields of the table with this head; for one that is a list of objects, the fields of those."""
    rows = JSON.partition(f"{head}\n")[2].partition("\n\n")[0].splitlines()[1:]
    assert rows
    found: dict[str, set[str]] = {}
    for row in rows:
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
    assert_documented(document, documented_fields("| field | meaning |"))
    assert_documented(document["kernels"][0], documented_fields("| field | unit | meaning |"))


def test_the_settings_examples_work(tmp_path, monkeypatch):
    settings_page = (DOCS / "settings.md").read_text(encoding="utf-8")
    profile_page = (DOCS / "profiles.md").read_text(encoding="utf-8")
    project, users, rules = re.findall(r"```toml\n(.*?)```", settings_page, flags=re.DOTALL)
    (profile,) = re.findall(r'```json\n(\{"schema_version": 1,.*?)```', profile_page, flags=re.DOTALL)
    (tmp_path / "pyproject.toml").write_text(project, encoding="utf-8")
    (tmp_path / "branches.json").write_text(profile, encoding="utf-8")
    (tmp_path / "src" / "include").mkdir(parents=True)
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "compile_commands.json").write_text("[]", encoding="utf-8")
    (tmp_path / "k.cu").write_text("", encoding="utf-8")
    own = tmp_path / "config_home" / "wattslice"
    own.mkdir(parents=True)
    (own / "wattslice.toml").write_text(users, encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(own.parent))
    assert rule_choices(**{name: tuple(said) for name, said in tomllib.loads(rules).items()}).ignore
    settings = find_settings((tmp_path / "k.cu",))
    assert [name for name, said in msgspec.structs.asdict(settings).items() if said is None] == []
    config = make_config(Options(paths=(tmp_path / "k.cu",)))
    assert (config.gpu.gpu_id, config.gpu.source, config.execution.jobs) == ("h100", "settings", 2)
    assert config.facts.branch_profile is not None
