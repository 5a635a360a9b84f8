"""Programs of several files: what is told of one file is what a run of the whole program does."""

from __future__ import annotations

from pathlib import Path

import pytest

from wattslice.config.config import Options, make_config
from wattslice.frontend.cuda.read import read_cuda
from wattslice.launches.launch import NO_OVERRIDES, KernelLaunch
from wattslice.launches.resolver import resolve_launches
from wattslice.pipeline.files import neighbours_of
from wattslice_models.gpu import load_gpu


def found_by(folder: Path, given: str, files: dict[str, str]) -> tuple[KernelLaunch, ...]:
    """The launches that are told of the file `given`."""
    (folder / ".git").mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    path = folder / given
    around = neighbours_of(path, make_config(Options(paths=(path,), gpu="v100", no_cache=True)))
    return resolve_launches(read_cuda(path), NO_OVERRIDES, load_gpu("v100"), around)


@pytest.mark.parametrize(
    ("read", "only_declared", "call"),
    [
        ("int many(long)", "int many(int)", "many(+1)"),
        ("int many(unsigned)", "int many(int)", "many(+1)"),
        ("int many(float *)", "int many(int *)", "many(y)"),
        ("int many(float)", "int many(float *)", "many(x)"),
        ("int many(float *)", "int many(float *, int)", "many(x, 1)"),
    ],
)
def test_a_call_is_not_of_another_overload(tmp_path, read, only_declared, call):
    text = f"{read} {{ return 50; }} {only_declared};\n__global__ void k() {{}}\n"
    text += f"int main() {{ float *x; int *y; k<<<{call}, 32>>>(); }}"
    (found,) = found_by(tmp_path, "a.cu", {"a.cu": text})
    assert "the result of many()" in str(found.assumptions)
    files = {"b.cu": text, "lib/many.cpp": f"{only_declared} {{ return 20; }}"}
    (found,) = found_by(tmp_path, "b.cu", files)
    assert (found.grid[0], found.assumptions) == (20, ())


def test_a_template_that_was_not_read_is_not_another_one_of_its_name(tmp_path):
    text = """template <class T> int many(double); template <class T> int many(float) { return 50; }
    __global__ void k() {} int main() { k<<<many<int>(1.0), 32>>>(); }"""
    (found,) = found_by(tmp_path, "a.cu", {"a.cu": text})
    assert "the result of many()" in str(found.assumptions)


def test_what_nothing_declares_is_joined_by_its_name(tmp_path):
    files = {
        "a.cu": '__global__ void k() {}\nextern "C" void go(long n, float *x) { k<<<n, 32>>>(); }',
        "main.c": "int main() { int n = 5; float *x; go(n, x); return 0; }",
    }
    (found,) = found_by(tmp_path, "a.cu", files)
    assert (found.grid[0], found.assumptions) == (5, ())
