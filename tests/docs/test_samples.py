"""What the documentation shows is what the commands print; `pytest --update-golden` renews it.

A comment before a block of code says where the block comes from:

- ``sample: wattslice ...``: what the command prints in the root of the repository;
- ``file: NAME``: the block is written into a folder of the page's own;
- ``run: wattslice ... [| grep TEXT]``: what the command prints there (a block is optional);
- ``watch: FILE: OLD => NEW``: what `wattslice watch src` prints of an edit of a copy of that file;
- ``python: NAME``: what a program there prints;
- ``show: NAME``: what a file there holds;
- ``change: NAME: OLD => NEW`` and ``git: WORDS``: what happens there before the next command.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from wattslice.cli import main

from .pages import BEGIN, END, PAGES, README, ROOT, error_table

STEP = re.compile(
    r"<!-- (file|run|sample|watch|python|show|change|git): (.*?) -->\n(?:```\w*\n(.*?)```\n)?", re.DOTALL
)
TIME = re.compile(r"\d[\d.]* (ms|µs|s)\b")
LONG = ("roofline.md", "examples.md", "sweep.md")  # their commands take most of a second
WITH_STEPS = [page for page in PAGES if STEP.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=[pytest.mark.slow] if page.name in LONG else [])
        for page in WITH_STEPS
    ],
)
def test_a_page_shows_what_happens(page, monkeypatch, tmp_path, capsys, request):
    text = page.read_text(encoding="utf-8")
    renewed, end = "", 0
    for step in STEP.finditer(text):
        kind, argument, block = step.groups()
        monkeypatch.chdir(ROOT if kind == "sample" else tmp_path)
        shown = (
            watched(argument, monkeypatch, capsys)
            if kind == "watch"
            else happens(kind, argument, block, capsys)
        )
        if block is None or shown is None:
            continue
        if comparable(argument, shown) == comparable(argument, block):
            continue
        assert request.config.getoption("--update-golden"), f"{argument}\n{shown}"
        renewed += text[end : step.start(3)] + shown
        end = step.end(3)
    if request.config.getoption("--update-golden"):
        page.write_text(renewed + text[end:], encoding="utf-8")


def happens(kind: str, argument: str, block: str | None, capsys: pytest.CaptureFixture[str]) -> str | None:
    """Does what a step says; what the block behind it should show, or None."""
    if kind in ("run", "sample"):
        command, _, pattern = argument.partition(" | grep ")
        assert main(shlex.split(command)[1:]) in (0, 1), argument
        lines = capsys.readouterr().out.splitlines()
        return "".join(f"{line.rstrip()}\n" for line in lines if pattern in line)
    if kind == "python":
        return subprocess.run([sys.executable, argument], check=True, capture_output=True, text=True).stdout
    if kind == "show":
        return Path(argument).read_text(encoding="utf-8")
    if kind == "change":
        name, old, new = re.split(r": | => ", argument, maxsplit=2)
        text = Path(name).read_text(encoding="utf-8")
        assert old in text
        Path(name).write_text(text.replace(old, new), encoding="utf-8")
    elif kind == "git":
        author = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *author, *shlex.split(argument)], check=True, capture_output=True)
    else:
        assert block is not None
        Path(argument).write_text(block, encoding="utf-8")
    return None


def watched(argument: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """What `watch` prints until its second look, with an edit before the first."""
    name, *change = argument.split(": ", maxsplit=1)
    folder = Path("src")
    folder.mkdir()
    shutil.copy(ROOT / name, folder)
    waits = iter((lambda: happens("change", f"{folder / Path(name).name}: {change[0]}", None, capsys),))

    def wait(_seconds: float) -> None:
        edit = next(waits, None)
        if edit is None:
            raise KeyboardInterrupt
        edit()

    monkeypatch.setattr("wattslice.commands.watch.time.sleep", wait)
    assert main(["watch", str(folder)]) == 0
    shown = capsys.readouterr()
    return shown.err + shown.out


def comparable(command: str, text: str) -> list[str]:
    """Lines; of `profile`, without its times, which differ from run to run, and the blanks around them."""
    if not command.startswith("wattslice profile"):
        return text.splitlines()
    return [" ".join(TIME.sub("TIME", line).split()) for line in text.splitlines()]


def test_the_readme_and_the_page_on_accuracy_have_the_errors_of_the_appendix(request):
    found = [page for page in PAGES if BEGIN in page.read_text(encoding="utf-8")]
    assert README in found
    for page in found:
        text = page.read_text(encoding="utf-8")
        before, _, rest = text.partition(BEGIN)
        shown, mark, after = rest.partition(END)
        assert mark
        if request.config.getoption("--update-golden"):
            page.write_text(f"{before}{BEGIN}\n\n{error_table()}\n\n{END}{after}", encoding="utf-8")
        else:
            assert shown.strip() == error_table(), "run pytest --update-golden tests/docs"
