import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from wattslice.config.options import Kind, Place, said_at
from wattslice.lsp.client_settings import KEYS, read_client_settings
from wattslice.version import __version__

_EXTENSION = Path(__file__).parents[3] / "editors" / "vscode"
_MANIFEST = _EXTENSION / "package.json"
_THE_EDITORS_OWN = {"path", "trace.server"}


def _declared() -> dict[str, dict[str, object]]:
    manifest = json.loads(_MANIFEST.read_text(encoding="utf-8"))
    properties = manifest["contributes"]["configuration"]["properties"]
    return {name.removeprefix("wattslice."): entry for name, entry in properties.items()}


def test_every_setting_of_the_server_can_be_set_in_vs_code_and_no_other() -> None:
    assert set(_declared()) - _THE_EDITORS_OWN == {option.camel for option in KEYS}


def test_what_vs_code_runs_gets_every_setting_that_is_an_option() -> None:
    script = (_EXTENSION / "src" / "settings.js").read_text(encoding="utf-8")
    given = re.findall(r'\["(\w+)", "(-[\w-]+)"\]', script)
    options = (option for option in said_at(Place.EDITOR).values() if Place.COMMAND in option.places)
    assert sorted(given) == sorted((option.camel, option.name) for option in options)


_TYPES: dict[Kind, object] = {
    Kind.TEXT: "string",
    Kind.PATH: "string",
    Kind.NUMBER: ["number", "null"],
    Kind.SWITCH: "boolean",
    Kind.TEXTS: "array",
    Kind.PATHS: "array",
}


def test_vs_code_knows_what_values_a_setting_has() -> None:
    for option in KEYS:
        entry = _declared()[option.camel]
        assert entry["type"] == _TYPES[option.kind]
        values = None if option.values is None else ["", *(member.value for member in option.values)]
        assert entry.get("enum") == values


def test_the_defaults_of_vs_code_say_nothing_that_the_server_would_not_assume() -> None:
    defaults = {name: entry["default"] for name, entry in _declared().items()}
    assert read_client_settings(defaults, None) == read_client_settings({}, None)


def test_the_extension_has_the_version_of_the_program() -> None:
    assert json.loads(_MANIFEST.read_text(encoding="utf-8"))["version"] == __version__


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_extension_passes_its_own_tests() -> None:
    tests = sorted(str(path) for path in (_EXTENSION / "test").glob("*.test.js"))
    done = subprocess.run(
        ["node", "--test", *tests], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout


def test_the_lock_file_names_no_registry() -> None:
    lock = json.loads((_EXTENSION / "package-lock.json").read_text(encoding="utf-8"))
    assert not [name for name, package in lock["packages"].items() if "resolved" in package]
    assert all("integrity" in package for name, package in lock["packages"].items() if name)
