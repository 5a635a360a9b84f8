"""`tools/campaign` as a bare machine meets it: time limit, packages that travel, words where they do not."""

import os
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "campaign"
IMPORTED = """
import sys
import wattslice_tools.campaign.__main__, wattslice_tools.campaign.piece, wattslice_tools.campaign.planned
print(*{name.partition(".")[0] for name, module in sys.modules.items()
        if "site-packages" in (getattr(module, "__file__", None) or "")})
"""


@pytest.mark.slow
def test_what_a_piece_imports_travels() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True)
    (line,) = (line for line in SCRIPT.read_text().splitlines() if line.startswith("modules=("))
    packages = dict(word.split("=") for word in line.partition("(")[2].partition(")")[0].split())
    assert set(done.stdout.split()) & {"msgspec", "numpy", "pywt", "pynvml", "scipy", "click", "rich"} <= set(
        packages
    )
    assert "msgspec" in done.stdout
    known = packages_distributions()
    assert {name: known[name][0].lower() for name in packages} == {
        name: package.lower() for name, package in packages.items()
    }


def python_in(folder: Path, *, imports: bool = True, installs: bool = False, version: str = "3.12") -> Path:
    """A stand-in for Python: tells its calls in ``calls``, and never ends a piece by itself."""
    python = folder / "python"
    python.write_text(f"""#!/bin/sh
echo "$*" >> {folder}/calls
case "$*" in
*version_info*) echo {version}; [ {version} != 3.9 ] ;;
"- msgspec="*) [ {int(imports)} = 1 ] || [ -e {folder}/installed ] || printf 'msgspec\\nPyWavelets\\n' ;;
"-m pip download"*) echo "ERROR: no index" >&2; exit 1 ;;
"-m pip install"*) [ {int(installs)} = 1 ] || {{ echo "ERROR: is not a supported wheel"; exit 1; }}
    touch {folder}/installed ;;
*" merge "*) sleep 1; echo merged ;;
*"campaign "*piece*) sleep 200 ;;
esac
""")
    python.chmod(0o755)
    return python


def call(python: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHON": str(python), "WATTSLICE_PIECE_LIMIT_S": "0.3"}
    return subprocess.run(
        [str(SCRIPT), *words], env=environment, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.parametrize(
    "words", [("piece",), ("--folder", "piece", "piece", "--each", "1"), ("--folder=f", "piece")]
)
def test_the_time_limit_and_the_packages_hold_wherever_the_verb_stands(
    tmp_path: Path, words: tuple[str, ...]
):
    python = python_in(tmp_path, imports=False, installs=True)
    done = call(python, *words)
    assert done.returncode == 124, done.stderr
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls[-1] == f"-m wattslice_tools.campaign {' '.join(words)}"
    (installed,) = (line for line in calls if line.startswith("-m pip install"))
    assert installed.endswith("msgspec PyWavelets")


@pytest.mark.slow
def test_another_verb_has_the_packages_and_no_limit(tmp_path: Path):
    python = python_in(tmp_path, imports=False, installs=True)
    done = call(python, "merge", "piece-01.tar.gz")
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "merged\n")
    assert (tmp_path / "calls").read_text().endswith("-m wattslice_tools.campaign merge piece-01.tar.gz\n")


def test_wheels_that_do_not_fit_are_told_with_the_remedy(tmp_path: Path):
    done = call(python_in(tmp_path, imports=False), "--folder", "f", "piece")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "campaign: Python 3.12 of this machine lacks msgspec PyWavelets",
        "campaign: .wheels does not help: ERROR: is not a supported wheel",
        "campaign: for a piece: at home tools/campaign wheels 3.12, bring .wheels along, call this again",
        "campaign: at home: pip install -c constraints.txt -e '.[dev]'",
    ]
    assert "campaign.__main__" not in (tmp_path / "calls").read_text()


def test_an_old_python_is_told(tmp_path: Path):
    done = call(python_in(tmp_path, version="3.9"), "piece")
    assert done.returncode == 2
    assert "is no Python 3.11 or newer (3.9): say which with PYTHON=" in done.stderr


def test_wheels_that_cannot_be_fetched_are_told(tmp_path: Path):
    done = call(python_in(tmp_path), "--folder", "f", "wheels", "3.13")
    assert done.returncode == 2
    assert "no wheels for Python 3.13" in done.stderr
    assert "--python-version 3.13" in (tmp_path / "calls").read_text()
