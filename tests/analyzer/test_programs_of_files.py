"""Programs of several files: what is told of one file is what a run of the whole program does."""

from __future__ import annotations

from pathlib import Path

import pytest

from wattslice.config.config import Options, make_config
from wattslice.frontend.cuda.read import read_cuda
from wattslice.launches.launch import NO_OVERRIDES, KernelLaunch
from wattslice.launches.resolver import resolve_launches
from wattslice.pipeline.files import neighbours_of
from wattslice.pipeline.incremental import IncrementalAnalyzer
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


@pytest.mark.parametrize(
    "text",
    [
        "template <class T> int many(double); template <class T> int many(float) { return 50; }",
        "template <class T> int many(double); template <> int many<float>(double) { return 50; }"
        "template <> int many<int>(double);",
    ],
)
def test_a_template_that_was_not_read_is_not_another_one_of_its_name(tmp_path, text):
    text += "__global__ void k() {} int main() { k<<<many<int>(1.0), 32>>>(); }"
    (found,) = found_by(tmp_path, "a.cu", {"a.cu": text})
    assert "the result of many()" in str(found.assumptions)


@pytest.mark.parametrize(
    ("head", "read", "only_declared", "call"),
    [
        ("", "namespace gpu { int many(int) BODY }", "namespace cpu { int many(int) BODY }", "cpu::many(1)"),
        ("", "int many(int) BODY", "namespace cpu { int many(int) BODY }", "cpu::many(1)"),
        ("", "namespace gpu { int many(int) BODY }", "int many(int) BODY", "::many(1)"),
        ("struct A {}; struct B {};", "int many(A *) BODY", "int many(B *) BODY", "many((B *)0)"),
        ("struct A {}; struct B {};", "int many(A) BODY", "int many(B) BODY", "many(B())"),
        ("enum class A {}; enum class B {};", "int many(A) BODY", "int many(B) BODY", "many(B())"),
        ("struct M { static int many(int); };", "int many(int) BODY", "int M::many(int) BODY", "M::many(1)"),
        (
            "template <int N> struct M { static int many(int); };",
            "template <> int M<2>::many(int) BODY",
            "template <> int M<3>::many(int) BODY",
            "M<3>::many(1)",
        ),
    ],
)
def test_a_call_is_only_of_the_function_whose_whole_name_it_has(tmp_path, head, read, only_declared, call):
    declared = only_declared.replace(" BODY", ";")
    text = f"{head} {read.replace('BODY', '{ return 50; }')} {declared}\n__global__ void k() {{}}\n"
    text += f"int main() {{ k<<<{call}, 32>>>(); }}"
    (found,) = found_by(tmp_path, "a.cu", {"a.cu": text})
    assert "the result of many()" in str(found.assumptions)
    defined = only_declared.replace("BODY", "{ return 20; }")
    files = {"b.cu": text, "lib/many.cpp": f"{head} {declared} {defined}"}
    (found,) = found_by(tmp_path, "b.cu", files)
    assert (found.grid[0], found.assumptions) == (20, ())


@pytest.mark.parametrize(
    "call", ["gpu::many<int>(1)", "gpu::M<int>::many(1)", "gpu::M<gpu::M<int>>().size(1)"]
)
def test_an_instance_of_a_template_is_of_its_namespace(tmp_path, call):
    pattern = """namespace gpu {
    template <class T> int many(T n) { return 50; }
    template <class T> struct M { static int many(T n) { return 50; } int size(int n) { return 50; } }; }"""
    for called, grid in ((call, 50), (call.replace("gpu::", "cpu::"), None)):
        text = pattern + pattern.replace("gpu", "cpu").replace("{ return 50; }", ";")
        text += f"\n__global__ void k() {{}} int main() {{ k<<<{called}, 32>>>(); }}"
        (found,) = found_by(tmp_path, "a.cu", {"a.cu": text})
        assert grid == (None if found.assumptions else found.grid[0])


def test_a_launcher_that_is_a_template_is_called_in_its_namespace(tmp_path):
    text = """__global__ void k() {} namespace cpu { template <class T> void go(T *x, int n); }
    namespace gpu { template <class T> void go(T *x, int n) { k<<<n, 32>>>(); } } float *x;
    """
    for call, times in (("gpu::go(x, 50)", 1), ("cpu::go(x, 50)", None)):
        (found,) = found_by(tmp_path, "a.cu", {"a.cu": text + f"int main() {{ {call}; }}"})
        assert found.times == times


def test_what_nothing_declares_is_joined_by_its_name(tmp_path):
    files = {
        "a.cu": '__global__ void k() {}\nextern "C" void go(long n, float *x) { k<<<n, 32>>>(); }',
        "main.c": "int main() { int n = 5; float *x; go(n, x); return 0; }",
    }
    (found,) = found_by(tmp_path, "a.cu", files)
    assert (found.grid[0], found.assumptions) == (5, ())


@pytest.mark.parametrize(
    ("header", "blocks"),
    [
        ("static int n = 2; static void set(int v) { n = v; }", 2),
        ("namespace { int n = 2; void set(int v) { n = v; } }", 2),
        ("static int &at() { static int n = 2; return n; }\n#define n at()\n"
         "static void set(int v) { at() = v; }", 2),
        ("inline int &at() { static int n = 2; return n; }\n#define n at()\n"
         "inline void set(int v) { at() = v; }", 9),
        ("inline int n = 2; inline void set(int v) { n = v; }", 9),
    ],
)  # fmt: skip
@pytest.mark.parametrize("given", ["a.cu", "b.cu"])
@pytest.mark.parametrize("name", ["n.h", "n.cu"])
def test_what_is_static_in_a_header_is_one_for_each_file(tmp_path, header, blocks, given, name):
    files = {
        name: f"#pragma once\n{header}\nvoid use(float *x, int m);",
        "a.cu": f'#include "{name}"\n__global__ void k(float *x) {{}}\n'
        "int main() { float *x; set(9); k<<<n, 32>>>(x); use(x, 5); }",
        "b.cu": f'#include "{name}"\n__global__ void kb(float *x) {{}}\n'
        "void use(float *x, int m) { kb<<<n, m>>>(x); set(4); }",
    }
    (found,) = found_by(tmp_path, given, files)
    assert (found.grid[0], found.times) == (9 if given == "a.cu" else blocks, 1)


INCLUDED = (
    "__global__ void k(float *x) {}\nstatic int n = 2;\nBEFORE void go(float *x, int m) { k<<<n, m>>>(x); }"
)
RUN = "int main() { float *x; n = 3; go(x, 32); go(x, 32); }"


@pytest.mark.parametrize("before", ["static", "inline", ""])
@pytest.mark.parametrize("name", ["k.cuh", "k.cu"])
@pytest.mark.parametrize("between", ["", "step.cu"])
def test_what_a_file_has_is_read_as_it_is_where_that_is_included(tmp_path, before, name, between):
    files = {
        name: INCLUDED.replace("BEFORE", before),
        between or "unused.h": f'#include "{name}"\n',
        "main.cu": f'#include "{between or name}"\n{RUN}',
    }
    (found,) = found_by(tmp_path, name, files)
    assert (found.grid[0], found.block[0], found.times) == (3, 32, 2)


def test_a_launcher_that_is_included_itself_is_read_where_that_is(tmp_path):
    files = {
        "k.cu": "static __global__ void k(float *x) {}",
        "go.cu": '#include "k.cu"\nstatic int n = 2;\nstatic void go(int m) { float *x; k<<<n, m>>>(x); }',
        "main.cu": '#include "go.cu"\nint main(int argc, char **argv) { n = 3; go(32); go(32); }',
    }
    (found,) = found_by(tmp_path, "k.cu", files)
    assert (found.grid[0], found.block[0], found.times) == (3, 32, 2)


def test_launches_of_a_program_are_read_where_another_includes_it(tmp_path):
    files = {
        "a.cu": "__global__ void k() {} __global__ void j() {}\n"
        "static void go() { k<<<3, 32>>>(); }\nint main() { go(); }",
        "test.cu": '#define main other\n#include "a.cu"\n#undef main\nint main() { go(); j<<<2, 32>>>(); }',
    }
    assert ("k", 3) in {(one.kernel.name, one.grid[0]) for one in found_by(tmp_path, "a.cu", files)}


def test_a_file_that_lacks_types_alone_keeps_its_launches(tmp_path):
    files = {
        "k.cu": "__global__ void k(real *x) {}\nvoid go(real *x, int m) { k<<<3, m>>>(x); }\n"
        "void both(int *y) { go(y, 32); }",
        "main.cu": '#define real float\n#include "k.cu"\nint main() { int *y; both(y); }',
    }
    (found,) = found_by(tmp_path, "k.cu", files)
    assert (found.grid[0], found.block[0], found.times, found.file) == (3, 32, 1, "")


def test_what_two_files_include_is_there_once(tmp_path):
    files = {
        "go.h": "#pragma once\n__global__ void k(int n);\nvoid other();\n"
        "inline void go(int n) { k<<<n, 32>>>(n); }",
        "a.cu": '#include "go.h"\n__global__ void k(int n) {}\nint many();\n'
        "int main() { go(many()); other(); }",
        "b.cu": '#include "go.h"\nint many() { return 3; }\nvoid other() { go(5); }',
    }
    found = found_by(tmp_path, "a.cu", files)
    assert {(one.grid[0], one.times) for one in found} == {(3, 1), (5, 1)}


def test_each_main_calls_what_they_share(tmp_path):
    files = {
        "k.cu": "__global__ void k(int n) {}\nvoid go(int n) { k<<<n, 32>>>(n); }",
        "a.cpp": "void go(int n); int main() { go(3); }",
        "b.cpp": "void go(int n); int main() { go(5); }",
    }
    assert {one.grid[0] for one in found_by(tmp_path, "k.cu", files)} == {3, 5}


def test_what_the_files_of_a_program_have_by_the_same_name_is_of_each(tmp_path):
    files = {
        "k.cu": "__global__ void k(int n) {}\nstatic __global__ void j(int n) {}",
        "main.cu": "__global__ void k(int n);\nextern int blocks;\nstatic __global__ void j(int n) {}\n"
        "int main() { k<<<blocks, 32>>>(1); j<<<5, 64>>>(1); }",
        "blocks.cpp": "int blocks = 7;",
    }
    k, j = found_by(tmp_path, "k.cu", files)
    assert (k.grid[0], k.times, j.line) == (7, 1, None)


REGISTERED = """#include <cstdio>
#include <vector>
__device__ int sink;
__global__ void k(int n) { sink = n; }
std::vector<int> all;
struct Registered { Registered(int i) { all.push_back(i); } };
static Registered one(3), two(4);
int main() {
  int n = 8;
  FILE *file = fopen("absent.cfg", "r");
  if (file) fscanf(file, "%d", &n);
  k<<<1, 64>>>(n);
  for (int i : all) k<<<i, 32>>>(all.size());
}
"""


@pytest.mark.parametrize("is_linked", [False, True])
def test_what_is_done_before_main_is_done_once_however_the_file_is_named(tmp_path, monkeypatch, is_linked):
    """The file is read again for `sink`, which it defines: by the name it was given as before."""
    (tmp_path / "own").mkdir()
    (tmp_path / "link").symlink_to("own")
    monkeypatch.chdir(tmp_path / "own")
    path = tmp_path / "link" / "a.cu" if is_linked else Path("a.cu")
    told = found_by(path.parent, path.name, {"a.cu": REGISTERED})
    assert [(one.grid[0], one.times, one.arguments) for one in told] == [
        (1, 1, (None,)),
        (3, 1, (2,)),
        (4, 1, (2,)),
    ]
    config = make_config(Options(paths=(path,), gpu="v100", no_cache=True))
    found = IncrementalAnalyzer(config).analyze(path, REGISTERED)
    assert [kernel.launch.times for kernel in found.kernels] == [1, 1, 1]
