"""The pictures of terminals show what the commands print today."""

from __future__ import annotations

import importlib.util

import pytest

from .pages import DOCS, ROOT

PICTURES = DOCS / "pictures"


@pytest.mark.parametrize("name", ["report", "annotate-terminal"])
def test_a_terminal_picture_is_up_to_date(name, monkeypatch, tmp_path):
    specification = importlib.util.spec_from_file_location("draw", PICTURES / "draw.py")
    assert specification is not None
    assert specification.loader is not None
    draw = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(draw)
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(draw, "HERE", tmp_path)
    draw.terminal(*draw.TERMINALS[name])
    drawn = (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
    assert drawn == (PICTURES / f"{name}.svg").read_text(encoding="utf-8"), "run docs/pictures/draw.py"
    assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "").replace(
        "https://www.textualize.io", ""
    )
