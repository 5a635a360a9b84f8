"""Goldens: `pytest --update-golden` rewrites them; a missing golden fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the files in tests/golden")


@pytest.fixture(autouse=True)
def nothing_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What somebody has trained or analysed on this machine is no business of the tests."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data_home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config_home"))
    monkeypatch.delenv("COLUMNS", raising=False)  # tables are as wide as it says
    monkeypatch.setenv("WATTSLICE_CACHE", "off")  # what breaks us on purpose must not be answered from it


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)` compares text with the file `name` in tests/golden, line by line."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"no golden {name}: look at the output, then run pytest --update-golden"
        assert text.splitlines() == path.read_text(encoding="utf-8").splitlines()

    return compare
