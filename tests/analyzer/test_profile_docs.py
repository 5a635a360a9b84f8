"""docs/profiles.md shows what the program prints; `pytest --update-golden` rewrites it."""

import re
import shlex
from pathlib import Path

import pytest

from wattslice.cli import main
from wattslice.config.config import Options, make_config
from wattslice.findings.findings import findings_of
from wattslice.pipeline.files import analyze_files
from wattslice.report.ci.gcc import render_gcc

DOCUMENT = Path(__file__).parents[2] / "docs" / "profiles.md"
STEP = re.compile(r"<!-- (file|run|show|change|findings): (.*?) -->(?:\n```\w*\n(.*?)```\n)?", re.DOTALL)
TIME = re.compile(r"\d[\d.]* (ms|µs|s)\b")


def test_the_document_shows_what_happens(monkeypatch, tmp_path, capsys, request):
    monkeypatch.chdir(tmp_path)
    text = DOCUMENT.read_text(encoding="utf-8")
    renewed, end = "", 0
    for step in STEP.finditer(text):
        kind, argument, block = step.groups()
        shown = block
        if kind == "file":
            Path(argument).write_text(block, encoding="utf-8")
        elif kind == "run":
            assert main(shlex.split(argument)[1:]) == 0
            shown = capsys.readouterr().out.rstrip("\n") + "\n"
        elif kind == "show":
            shown = Path(argument).read_text(encoding="utf-8")
        elif kind == "change":
            name, old, new = re.split(r": | => ", argument, maxsplit=2)
            Path(name).write_text(Path(name).read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
        else:
            shown = findings(shlex.split(argument))
        if block is not None and shown is not None:
            if not request.config.getoption("--update-golden"):
                assert without_times(block) == without_times(shown), argument
            renewed += text[end : step.start(3)] + shown
            end = step.end(3)
    if request.config.getoption("--update-golden"):
        DOCUMENT.write_text(renewed + text[end:], encoding="utf-8")


def without_times(text: str) -> list[str]:
    """Lines without what differs from run to run, and without the blanks that line up columns."""
    return [" ".join(TIME.sub("TIME", line).split()) for line in text.splitlines()]


def findings(words: list[str]) -> str:
    """What `analyze` says about the profile, as a compiler would print it."""
    file, profile = Path(words[2]), Path(words[words.index("--profile") + 1])
    analysis = analyze_files(make_config(Options(paths=(file,), gpu="v100", profile=profile)))
    lines = render_gcc(analysis, findings_of(analysis)).splitlines()
    return "".join(f"{line}\n" for line in lines if "PW018" in line)


@pytest.mark.parametrize("name", ["profiles.md", "command-line.md"])
def test_links_lead_somewhere(name):
    text = (DOCUMENT.parent / name).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)", text):
        assert (DOCUMENT.parent / target).exists(), target
