"""What an editor may say, and what of it counts."""

import re
from pathlib import Path

import pytest

from wattslice.config.options import ModelChoice
from wattslice.errors import WattsliceError
from wattslice.lsp.client_settings import KEYS, MIN_SHARE, NO_CLIENT_SETTINGS, read_client_settings, setup_for


def test_keys_in_either_spelling():
    given = {
        "coreMhz": 1200,
        "mem-mhz": 877,
        "set": ["n=1"],
        "minShare": 0.2,
        "debounceMs": 30,
        "codeLens": False,
    }
    settings, complaints = read_client_settings(given, None)
    assert complaints == ()
    assert (settings.choices.core_clock_mhz, settings.choices.memory_clock_mhz) == (1200.0, 877.0)
    assert (settings.choices.overrides, settings.min_share, settings.pause_s) == (("n=1",), 0.2, 0.03)
    assert not settings.code_lenses
    assert settings.inlay_hints


def test_nothing_said_and_what_is_the_editors_own():
    given = {
        "gpu": "",
        "model": None,
        "path": "/opt/wattslice",
        "trace.server": "off",
        "trace": {"server": "x"},
    }
    assert read_client_settings(given, None) == (NO_CLIENT_SETTINGS, ())
    assert NO_CLIENT_SETTINGS.min_share == MIN_SHARE


@pytest.mark.parametrize("value", [None, 3, "gpu", []])
def test_no_settings_at_all(value):
    assert read_client_settings(value, None) == (NO_CLIENT_SETTINGS, ())


def test_wrong_values_are_told_and_left_out():
    given = {"gpu": 3, "set": "n=1", "launch": [1], "minShare": 2, "inlayHints": "yes", "delta": True}
    settings, complaints = read_client_settings(given, None)
    assert settings == NO_CLIENT_SETTINGS
    assert len(complaints) == 6
    assert "wattslice.gpu: expected a text, found 3" in complaints


def test_the_editor_comes_before_the_file(tmp_path):
    toml = 'gpu = "h100"\nmodel = "energy"\nset = ["n=1", "m=2"]\ninclude = ["inc"]\n'
    (tmp_path / "wattslice.toml").write_text(toml)
    (tmp_path / "inc").mkdir()
    (tmp_path / "other").mkdir()
    given = {"gpu": "v100", "set": ["n=5"], "include": ["other"]}
    settings, _ = read_client_settings(given, tmp_path)
    config = setup_for(tmp_path / "not_there.cu", settings).config
    assert (config.gpu.gpu_id, config.prediction.model) == ("v100", ModelChoice.ENERGY)
    assert {(entry.name, entry.value) for entry in config.facts.overrides.settings} == {("n", 5), ("m", 2)}
    assert config.parse.include_dirs == (tmp_path / "inc", tmp_path / "other")


def test_every_key_is_documented():
    page = (Path(__file__).parents[3] / "docs" / "language-server.md").read_text(encoding="utf-8")
    table = page.partition("| key | |")[2].partition("\n\n")[0]
    documented = set(re.findall(r"`([a-z]+(?:[A-Z][a-z]*)*)`(?=[,\s]*(?:`|\|))", table))
    assert documented == {option.camel for option in KEYS}


def test_an_unknown_gpu_is_told():
    settings, _ = read_client_settings({"gpu": "v10"}, None)
    with pytest.raises(WattsliceError, match="unknown GPU 'v10'"):
        setup_for(Path("/nowhere/a.cu"), settings)
