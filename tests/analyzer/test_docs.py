"""What docs/command-line.md promises is what the program does."""

import json
import re
from pathlib import Path

from wattslice.config import Options, make_config
from wattslice.report.json import render_json
from wattslice.settings import read_settings

from .samples import ANALYSIS

DOCUMENT = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")


def test_every_json_field_is_documented():
    def keys(value):
        if isinstance(value, dict):
            for key, entry in value.items():
                yield key
                if key not in ("counts_per_thread", "instructions_per_thread"):
                    yield from keys(entry)
        elif isinstance(value, list):
            for entry in value:
                yield from keys(entry)

    documented = set(re.findall(r"`(\w+)`", DOCUMENT))
    assert set(keys(json.loads(render_json(ANALYSIS)))) <= documented


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
