"""The changes of docs/contributing/: each applies to this tree, edits one place and does what it says."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATCHES = ROOT / "docs" / "contributing"
SOURCES = ("analyzer", "models", "corpora")
EDITED = {
    "builtin": ["analyzer/wattslice/ir/builtins.py"],
    "format": ["analyzer/wattslice/report/formats.py"],
    "gpu": [],
    "loop-form": ["analyzer/wattslice/ir/loops.py"],
    "rule": ["analyzer/wattslice/findings/advice/launches.py", "analyzer/wattslice/findings/rules.toml"],
}
"""The files that each change edits; the others that it touches are new."""


def headers(name: str) -> list[tuple[str, str]]:
    """Old and new path of every file of a patch."""
    lines = (PATCHES / f"{name}.patch").read_text(encoding="utf-8").splitlines()
    paths = [line[4:].split("/", 1)[-1] for line in lines if line.startswith(("--- ", "+++ "))]
    return list(zip(paths[::2], paths[1::2], strict=True))


def test_every_patch_is_listed():
    assert sorted(path.stem for path in PATCHES.glob("*.patch")) == sorted(EDITED)


@pytest.mark.parametrize("name", EDITED)
def test_it_edits_one_place(name):
    assert [new for old, new in headers(name) if old != "dev/null"] == EDITED[name]


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """The sources, for one patch after the other; compiled as they are here."""
    folder = tmp_path_factory.mktemp("tree")
    for name in SOURCES:
        shutil.copytree(ROOT / name, folder / name)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", EDITED)
def test_its_test_fails_before_and_passes_after(name, tree):
    (test,) = (new for _old, new in headers(name) if new.startswith("tests/"))
    apply = ["git", "apply", str(PATCHES / f"{name}.patch")]
    subprocess.run([*apply, "--include", test], cwd=tree, check=True)
    try:
        assert run(test, tree) == 1
        subprocess.run([*apply, "--exclude", test], cwd=tree, check=True)
        assert run(test, tree) == 0
        subprocess.run([*apply, "--reverse", "--exclude", test], cwd=tree, check=True)
    finally:
        (tree / test).unlink()


def run(test: str, folder: Path) -> int:
    """The exit status of pytest on one file, with the sources of a folder."""
    paths = os.pathsep.join(str(folder / name) for name in SOURCES)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
    return subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": paths}).returncode
