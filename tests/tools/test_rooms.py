"""`python -m wattslice_tools.rooms`: imports of a package as a picture, and the way of a value through it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from wattslice_tools.rooms import PACKAGE, circles, drawn, ordered, read_house, told

DOCS = Path(__file__).parents[2] / "docs"
FILES = {
    "__init__.py": "from house.top import begin\n",
    "top.py": "import house.middle.first\n\n\ndef begin():\n    from house.middle import second\n",
    "middle/__init__.py": "from .first import name\n",
    "middle/first.py": "from .second import name\n",
    "middle/second.py": "import typing\n\nif typing.TYPE_CHECKING:\n    from house.middle import first\n",
    "low.py": "import json\n",
}


@pytest.fixture
def house(tmp_path):
    folder = tmp_path / "house"
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
    return folder


def test_what_modules_import_wherever_it_stands(house):
    found = read_house(house)
    assert found.imports == {
        "top": {"middle.first", "middle.second"},
        "middle": {"middle.first"},
        "middle.first": {"middle.second"},
        "middle.second": {"middle.first"},
        "low": set(),
    }
    assert found.rooms == {"top": 5, "middle": 6, "low": 1}
    assert found.arrows == {("top", "middle"): 2}
    assert circles(found.imports) == [{"middle.first", "middle.second"}]
    assert told(found).splitlines() == [
        "5 modules, 12 lines, 2 modules at the root",
        "3 rooms, 1 arrows between them, 0 of these back up",
        "1 circles of modules",
    ]


def test_an_arrow_that_must_run_up_is_told_and_drawn_at_the_left(house):
    (house / "low.py").write_text("import house.top\n")
    (house / "middle" / "third.py").write_text("import house.low\n")
    found = read_house(house)
    assert "4 rooms" not in told(found)
    assert "3 arrows between them, 1 of these back up" in told(found)
    picture = drawn(found)
    assert picture.count('class="up"') == 1
    assert picture.count('class="down"') == 2
    assert picture.count('class="ring"') == 1  # middle, whose modules import each other
    assert ordered({"a": 1, "b": 1, "c": 1}, {("c", "a"), ("a", "b")}) == ["c", "a", "b"]


@pytest.mark.slow
def test_the_analyzer_has_no_circle_and_no_arrow_up():
    found = read_house(PACKAGE)
    assert circles(found.imports) == []
    assert 0 < sum(path.suffix == ".py" for path in PACKAGE.iterdir()) <= 12
    assert len(found.lines) <= 380
    assert re.search(r", 0 of these back up$", told(found), re.MULTILINE)
    picture = (DOCS / "pictures" / "rooms.svg").read_text(encoding="utf-8")
    assert drawn(found) == picture, "run python -m wattslice_tools.rooms -o docs/pictures/rooms.svg"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wattslice.config.config:Config", "wattslice.launches.launch:KernelLaunch"])
def test_the_way_is_the_one_that_the_page_tells(kind):
    """In a process of its own: whoever looks on at every call is slow in one that has run other tests."""
    words = ["analyze", "corpora/wattslice_corpora/kernels/wang2013/transpose.cu", "--gpu", "v100"]
    command = [sys.executable, "-m", "wattslice_tools.rooms", "--way", kind, "--", *words]
    done = subprocess.run(command, cwd=DOCS.parent, capture_output=True, text=True, check=True)
    head, _, way = done.stdout.splitlines()[-1].partition(": ")
    rooms = way.split()
    assert head == f"{len(set(rooms))} rooms, {len(rooms) - len(set(rooms))} returns"
    page = " ".join((DOCS / "how-a-run-works.md").read_text(encoding="utf-8").split())
    assert f"`{' → '.join(rooms)}`" in page
