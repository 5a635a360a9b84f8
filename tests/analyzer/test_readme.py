"""The README shows what the program prints; `pytest --update-golden` rewrites the sample."""

import io
import re
from pathlib import Path

import pytest

from wattslice.config.config import Options, make_config
from wattslice.pipeline.files import analyze_files
from wattslice.report.text import write_text

ROOT = Path(__file__).parents[2]
SAMPLE = re.compile(
    r"(<!-- sample: wattslice analyze (\S+) -->\n```\n)(.*?)(```\n<!-- end of sample -->)", re.S
)


def test_the_sample_is_what_the_first_command_prints(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
):
    monkeypatch.chdir(ROOT)
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    found = SAMPLE.search(text)
    assert found is not None
    printed = io.StringIO()
    write_text(analyze_files(make_config(Options(paths=(Path(found[2]),)))), printed)
    if request.config.getoption("--update-golden"):
        renewed = text[: found.start(3)] + printed.getvalue() + text[found.end(3) :]
        readme.write_text(renewed, encoding="utf-8")
    else:
        assert printed.getvalue() == found[3]


def test_every_file_the_readme_points_to_exists():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / target).exists(), target
