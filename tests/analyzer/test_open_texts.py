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
