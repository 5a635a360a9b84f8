"""The changes of docs/contributing/: each applies to this tree, edits one place and does what it says.

CONTRIBUTING.md's table says what is renewed after each of them and which tests must pass then.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATCHES = ROOT / "docs" / "contributing"
SOURCES = ("analyzer", "models", "corpora", "tools")
BESIDE = ("tests", "docs", "pyproject.toml", "README.md", "CONTRIBUTING.md")
EDITED = {
    "gpu": [],  # the first one: what it renews is nothing of the others
    "builtin": ["analyzer/wattslice/ir/builtins.py"],
    "format": ["analyzer/wattslice/report/formats.py"],
    "loop-form": ["analyzer/wattslice/ir/loops.py"],
    "rule": [
        "analyzer/wattslice/findings/advice/launches.py",
        "analyzer/wattslice/findings/rules.toml",
        "tests/analyzer/test_advice_examples.py",
        "tools/wattslice_tools/rules_checked.csv",
    ],
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


@pytest.mark.slow
def test_each_test_fails_before_and_the_tests_of_each_table_pass_after(tmp_path: Path):
    for part in (*SOURCES, *BESIDE):  # compiled as they are here
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy2
        copy(ROOT / part, tmp_path / part)
    tests: dict[str, None] = {}
    for name in EDITED:
        (test,) = (new for old, new in headers(name) if old == "dev/null" and new.startswith("tests/"))
        tests[test] = None
        apply(name, tmp_path, "--include", test)
    status, said = run(f"pytest {' '.join(tests)}", tmp_path)
    assert status == 1, said
    assert {test for test in tests if f"FAILED {test}" not in said and f"ERROR {test}" not in said} == set()
    for name in EDITED:
        (test,) = (new for _, new in headers(name) if new in tests)
        apply(name, tmp_path, "--exclude", test)
        renewals, of_table = after(name)
        for command in renewals:
            status, said = run(command, tmp_path)
            assert status == 0, said
        tests |= dict.fromkeys(of_table)
    status, said = run(f"pytest {' '.join(tests)}", tmp_path)
    assert status == 0, said


def apply(name: str, folder: Path, *chosen: str) -> None:
    subprocess.run(["git", "apply", str(PATCHES / f"{name}.patch"), *chosen], cwd=folder, check=True)


def after(name: str) -> tuple[list[str], list[str]]:
    """The commands that renew pages, and the tests to run: the third and fourth cell of the change's row."""
    rows = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()
    (row,) = (row for row in rows if row.startswith("|") and f"`docs/contributing/{name}.patch`" in row)
    renew, tests = (re.findall("`(.*?)`", cell) for cell in row.split("|")[3:5])
    return renew, [test for words in tests for test in words.split()]


def run(command: str, folder: Path) -> tuple[int, str]:
    """The exit status of a command in a copy of the tree, and what it says."""
    words = shlex.split(command.removeprefix("python "))
    if words[0] == "pytest":
        words = ["-m", *words, "-q", "-n", "0", "-p", "no:cacheprovider"]
    paths = os.pathsep.join(str(folder / name) for name in SOURCES)
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr
