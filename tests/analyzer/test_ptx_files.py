"""What a PTX file names is opened only where it is a source near it, and only once it is known to end."""

import os
from pathlib import Path

import pytest

from wattslice.config.config import Options, make_config
from wattslice.findings.quoting import Quoter
from wattslice.frontend.ptx.lowering.context import MAX_BYTES, named_files
from wattslice.frontend.ptx.syntax.syntax import SourceFile
from wattslice.gate.against import Dependencies
from wattslice.pipeline.files import analyze_file

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
KERNEL = (
    ".visible .entry k(.param .u64 p) {\n.reg .b64 %rd<2>;\n.loc 1 1 1\nld.param.u64 %rd1, [p];\nret;\n}\n"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the PTX lies; `elsewhere` is a neighbour, `here` the working folder."""
    for name in ("made", "elsewhere", "here"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "made"


def found(written: str, folder: Path) -> str | None:
    """The path that is told; None where it must not be opened."""
    named = named_files([SourceFile(1, written)], folder / "k.ptx")
    return None if 1 in named[1] else named[0][1]


def test_a_source_outside_is_not_opened(folder: Path):
    secret = folder.parent / "elsewhere" / "secret.cu"
    secret.write_text("secret\n")
    assert found(str(secret), folder) is None
    (folder / "link.cu").symlink_to(secret)
    assert found("link.cu", folder) is None
    assert found("../elsewhere/secret.cu", folder) is None
    (folder.parent / ".git").mkdir()
    assert found(str(secret), folder) == str(secret)


def test_only_regular_sources_of_a_bounded_size_are_opened(folder: Path):
    os.mkfifo(folder / "pipe.cu")
    (folder / "notes.txt").write_text("notes\n")
    with (folder / "huge.cu").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    names = ("/etc/passwd", "/dev/zero", "pipe.cu", "notes.txt", "huge.cu", "", "..")
    assert [found(name, folder) for name in names] == [None] * len(names)
    long = "x" * 5000 + ".cu"
    assert found(long, folder) == str(folder / long)


def test_a_relative_path_is_taken_from_the_folder_of_the_ptx(folder: Path):
    (folder.parent / "here" / "k.cu").write_text("other\n")
    assert found("k.cu", folder) == str(folder / "k.cu")
    (folder / "k.cu").write_text("own\n")
    assert found("k.cu", folder) == found("/gone/k.cu", folder) == str(folder / "k.cu")


@pytest.mark.parametrize("written", ["/etc/passwd", "x" * 5000])
def test_an_analysis_tells_lines_of_the_ptx_instead(folder: Path, written: str):
    path = folder / "k.ptx"
    path.write_text(f'{HEAD}{KERNEL}.file 1 "{written}"\n')
    config = make_config(Options(paths=(path,), gpu="v100", no_cache=True))
    result = analyze_file(path, config)
    assert {kernel.source.file for kernel in result.kernels} <= {str(path), str(folder / written)}
    if written == "/etc/passwd":
        assert [(kernel.source.file, kernel.source.line) for kernel in result.kernels] == [(str(path), 4)]
        (note,) = (entry for entry in result.diagnostics if entry.rule == "PW061")
        assert "not opened: '/etc/passwd'" in note.message


def test_pipes_are_not_quoted(folder: Path):
    os.mkfifo(folder / "pipe.cu")
    assert Quoter("", ()).line(str(folder / "pipe.cu"), 1) == ""


def test_a_path_of_the_work_tree_is_one_of_the_revision(folder: Path):
    then = folder / "then"
    then.mkdir()
    for place in (folder, then):
        (place / "k.cu").write_text("\n")
    named = named_files([SourceFile(1, str(folder / "k.cu"))], then / "k.ptx", (folder, then))
    assert named[0][1] == str(then / "k.cu")


def test_a_ptx_file_depends_on_its_sources_and_their_callers():
    texts = {
        "a/k.ptx": b'.version 8.0\n\t.file\t1 "/top/b/k.cu"\n.file 2 "/usr/include/stdio.h"\n',
        "b/k.cu": b'#include "k.h"\n__global__ void k(int n) { }\n',
        "b/k.h": b"",
        "b/main.cpp": b"int main() { k(1); }",
        "c/other.ptx": b'.file 1 "k.h"\n',
    }
    known = Dependencies(texts, (), lambda path: (texts[path],), "/top")
    assert known.closure(["a/k.ptx"]) == {"a/k.ptx", "b/k.cu", "b/k.h"}
    assert known.callers("a/k.ptx") == ["b/main.cpp"]
    assert known.closure(["c/other.ptx"]) == {"c/other.ptx"}
