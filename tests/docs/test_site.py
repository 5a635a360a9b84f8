"""The site builds without a warning, and the pages point to what exists."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys

import pytest

from .pages import DOCS, PAGES, ROOT

SOURCES = ("analyzer", "models", "corpora", "tests", "tools", "docs", "editors", ".ci")
PACKAGES = {name: f"analyzer/wattslice/{name}" for name in ()}
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"`([\w.-]+/[\w./-]*|[\w-]+\.(?:py|toml|txt|cpp|lua|mjs))`")


def is_there(name: str) -> bool:
    """Whether a path as pages write it exists: from the root, or inside one of the packages."""
    folders = (ROOT, ROOT / "analyzer/wattslice", ROOT / "models/wattslice_models", ROOT / "docs")
    return any((folder / name).exists() for folder in folders)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_path_of_the_repository_in_a_page_exists(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    missing = [
        name for name in QUOTED.findall(text) if name.partition("/")[0] in SOURCES and not is_there(name)
    ]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_of_a_page_leads_to_a_file(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), target


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    missing = [
        page.relative_to(DOCS).as_posix()
        for page in DOCS.rglob("*.md")
        if page.relative_to(DOCS).as_posix() not in navigation
    ]
    assert missing == []


@pytest.mark.skipif(importlib.util.find_spec("material") is None, reason="mkdocs-material is not installed")
def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, ""), run.stderr
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"(?:src|href)=\"(?:https?:)?//[^\"]*\"", page) == []
