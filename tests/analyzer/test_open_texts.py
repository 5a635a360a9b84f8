"""Texts that an editor holds and has not saved, read in place of their files."""

import os

from wattslice.frontend.inputs import file_bytes, reading_open_texts
from wattslice.frontend.source_files import SourceFiles, look_again, mentions


def test_what_an_open_text_includes_is_forgotten_with_it(tmp_path):
    path = tmp_path / "a.cu"
    path.write_text("// saved\n")
    for old in (path, tmp_path):
        os.utime(old, (1, 1))

    def includers() -> tuple[object, ...]:
        look_again()
        return SourceFiles(tmp_path, tmp_path / "asked.cu", b"").includers_of("x.h")

    assert includers() == ()
    with reading_open_texts(((path.resolve(), b'#include "x.h"\n'),)):
        assert file_bytes(path) == b'#include "x.h"\n'
        assert includers() == (path,)
    assert file_bytes(path) == b"// saved\n"
    assert includers() == ()


def test_whether_a_source_has_a_word(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.cuh").write_text("__global__ void scale2(float *x) {}\n")
    assert mentions(tmp_path, "scale2")
    assert not mentions(tmp_path, "scale")


def test_a_repository_is_listed_downwards_without_links_and_what_tools_keep_there(tmp_path):
    folders = ("", "b/", "b/c/", "a/", ".git/", "node_modules/x/")
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "one.h").write_text("")
    (tmp_path / "b/linked.h").symlink_to(tmp_path / "one.h")
    (tmp_path / "elsewhere.h").symlink_to(tmp_path / "a", target_is_directory=True)
    (tmp_path / "a" / "round").symlink_to(tmp_path)
    files = SourceFiles(tmp_path, tmp_path / "k.cu", b"")
    assert files.named("one.h") == tuple(tmp_path / folder / "one.h" for folder in ("", "a", "b", "b/c"))
    assert files.named("linked.h") == (tmp_path / "b/linked.h",)
    assert files.named("elsewhere.h") == ()
