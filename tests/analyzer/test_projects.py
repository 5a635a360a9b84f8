# pyright: reportOptionalMemberAccess=false
# What is missing fails the test.

"""Projects as their users have them (`tests/projects`), analysed without any option."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from wattslice import analyze
from wattslice.analysis import LaunchSource

PROJECTS = Path(__file__).parents[1] / "projects"


def only_kernel(path):
    analysis = analyze(path, gpu="v100", cache=False)
    (kernel,) = analysis.kernels
    assert [entry for entry in analysis.diagnostics if entry.rule in ("PW001", "PW002", "PW099")] == []
    return kernel


@pytest.fixture
def project(tmp_path):
    """A copy of a project in a repository of its own: what lies around this one is none of its business."""

    def copied(name):
        folder = tmp_path / name
        shutil.copytree(PROJECTS / name, folder)
        (folder / ".git").mkdir()
        return folder

    return copied


@pytest.mark.parametrize("what", ["", "kernels.cu"])
def test_a_makefile(project, what):
    kernel = only_kernel(project("makefile") / what)
    assert (kernel.launch.grid, kernel.launch.block) == ((128, 128, 1), (16, 16, 1))  # 2048 / TILE
    assert kernel.launch.source is LaunchSource.ARGUMENTS
    given = kernel.launch.program_arguments
    assert (given.text, given.source) == ("2048 --repeat 100", "run target, Makefile:16")
    assert kernel.resources.shared_bytes_per_block == 16 * 17 * 4  # TILE of the flags
    assert kernel.work.counts_per_thread.global_load == 1  # n is the same in the kernel
    assert kernel.assumptions == ()


@pytest.mark.parametrize("what", ["", "src/step.cu"])
def test_cmake(project, what):
    kernel = only_kernel(project("cmake") / what)
    assert (kernel.launch.grid, kernel.launch.block) == ((7813, 1, 1), (128, 1, 1))  # 1 000 000 cells by 128
    assert kernel.launch.source is LaunchSource.ARGUMENTS
    given = kernel.launch.program_arguments
    assert (given.text, given.source) == ("--cells 1000000 --threads=128", "add_test, CMakeLists.txt:9")
    assert [loop.trip_count for loop in kernel.loops] == [9]  # RADIUS of the flags
    assert kernel.assumptions == ()  # steps is defined in another file


def test_the_header_of_a_folder(tmp_path):
    (tmp_path / "alone.cuh").write_text("__global__ void a(float *x) { x[threadIdx.x] = 1; }\n")
    (tmp_path / "shared.cuh").write_text("__global__ void b(float *x) { x[threadIdx.x] = 2; }\n")
    (tmp_path / "plain.cuh").write_text("__device__ float c() { return 1; }\n")
    (tmp_path / "main.cu").write_text('#include "shared.cuh"\nint main() { b<<<3, 64>>>(0); }\n')
    analysis = analyze(tmp_path, gpu="v100", cache=False)
    assert [Path(file).name for file in analysis.files] == ["alone.cuh", "main.cu"]
    told = {kernel.name: (kernel.launch.grid, kernel.launch.source) for kernel in analysis.kernels}
    assert told["b"] == ((3, 1, 1), LaunchSource.HOST_CODE)
    assert told["a"][1] is LaunchSource.ASSUMED


def test_sizes_of_another_file(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "k.cu").write_text(
        "extern int cells;\nint blocks(int n);\n"
        "__global__ void k(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }\n"
        "void run() { k<<<blocks(cells), 128>>>(0, cells); }\n"
    )
    (tmp_path / "main.cpp").write_text(
        "#include <stdlib.h>\nint cells;\nvoid run();\n"
        "int main(int argc, char **argv) { cells = 5000; run(); return 0; }\n"
    )
    (tmp_path / "sizes.cpp").write_text("int blocks(int n) { return (n + 127) / 128; }\n")
    kernel = only_kernel(tmp_path / "k.cu")
    assert (kernel.launch.grid, kernel.launch.source) == ((40, 1, 1), LaunchSource.HOST_CODE)
    assert kernel.assumptions == ()


@pytest.mark.parametrize("around", ["BODY", "namespace cfg { BODY }", "namespace cfg {\nBODY\n}"])
def test_a_constant_that_another_file_gives_a_value(tmp_path, around):
    (tmp_path / ".git").mkdir()
    name = "cfg::n" if "cfg" in around else "n"
    (tmp_path / "k.cu").write_text(
        around.replace("BODY", "extern const int n;")
        + "\n__global__ void k(float *x) { x[threadIdx.x] = 1; }\n"
        + f"int main() {{ k<<<{name}, 128>>>(0); }}\n"
    )
    (tmp_path / "sizes.cu").write_text(around.replace("BODY", "extern const int n = 7;"))
    kernel = only_kernel(tmp_path / "k.cu")
    assert (kernel.launch.grid, kernel.launch.source) == ((7, 1, 1), LaunchSource.HOST_CODE)


@pytest.mark.parametrize("what", ["", "gate_kernel.cu"])
def test_a_pytorch_extension(project, what):
    kernel = only_kernel(project("extension") / what)
    assert kernel.source.qualified_name == "gate_kernel<float>"
    assert (kernel.launch.grid, kernel.launch.block) == ((4, 1024, 1), (256, 1, 1))
    assert {entry.fix for entry in kernel.assumptions} == {
        "--set input.size0=VALUE",
        "--set input.size1=VALUE",
    }
    # the accessors have the sizes that the grid was computed from: all threads are inside, rows contiguous
    assert (kernel.work.counts_per_thread.global_load, kernel.work.counts_per_thread.global_store) == (2, 1)


def test_sizes_of_an_extension_that_are_set(project):
    analysis = analyze(
        project("extension"), gpu="v100", cache=False, set=["input.size0=32", "input.size1=300"]
    )
    (kernel,) = analysis.kernels
    assert (kernel.launch.grid, kernel.launch.source) == ((2, 32, 1), LaunchSource.HOST_CODE)
    assert kernel.assumptions == ()
    assert kernel.work.counts_per_thread.global_store == pytest.approx(300 / 512)


PRIVATE = {
    "static int own(int v) { return v NUMBER; }": "own(60)",
    "namespace { int own(int v) { return v NUMBER; } }": "own(60)",
    "namespace { struct Own { int at(int v) const { return v NUMBER; } }; }": "Own().at(60)",
    "static int state = 60; static void set(int v) { state = v NUMBER; }": "(set(60), state)",
    "static int own() { static int held = 60 NUMBER; return held++; }": "own()",
    "template <class T> static T own(T v) { return v NUMBER; }": "own(60)",
    "namespace { struct Own { int at() const { return 60 NUMBER; } }; }": "ask(Own())",
    "static int declared(int v) { return v NUMBER; }": "declared(60)",
}


@pytest.mark.parametrize("main_is_cu", [False, True])
@pytest.mark.parametrize("own", PRIVATE)
def test_functions_of_one_name_that_each_file_has_for_itself(tmp_path, own, main_is_cu):
    (tmp_path / ".git").mkdir()
    (tmp_path / "ask.h").write_text(
        "static int declared(int v);\ntemplate <class T> int ask(T one) { return one.at(); }\n"
    )
    head, call = '#include "ask.h"\n' + own + "\n", PRIVATE[own]
    (tmp_path / "k.cu").write_text(
        head.replace("NUMBER", "+ 1")
        + "__global__ void k(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }\n"
        + f"int other();\nvoid run(int n) {{ k<<<{call}, n>>>(0, n); k<<<other(), 64>>>(0, n); }}\n"
    )
    (tmp_path / "b.cpp").write_text(head.replace("NUMBER", "* 3") + f"int other() {{ return {call}; }}\n")
    (tmp_path / ("main.cu" if main_is_cu else "main.cpp")).write_text(
        head.replace("NUMBER", "+ 7") + f"void run(int);\nint main() {{ run({call}); return 0; }}\n"
    )
    told = [kernel.launch for kernel in analyze(tmp_path, gpu="v100", cache=False).kernels]
    assert {(*launch.grid, *launch.block) for launch in told} == {(61, 1, 1, 67, 1, 1), (180, 1, 1, 64, 1, 1)}
    assert {launch.source for launch in told} == {LaunchSource.HOST_CODE}


def test_a_function_that_another_file_has_for_itself_is_not_called(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "k.cu").write_text(
        "static int twice(int v) { return v + 1; }\nint size_of(int v);\n"
        "__global__ void k(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }\n"
        "int main() { k<<<size_of(7), twice(4)>>>(0, 5); return 0; }\n"
    )
    (tmp_path / "b.cpp").write_text("int twice(int v);\nint size_of(int v) { return twice(v); }\n")
    kernel = only_kernel(tmp_path / "k.cu")
    assert (kernel.launch.source, kernel.launch.block) == (LaunchSource.ASSUMED, (5, 1, 1))
    assert "the result of twice()" in kernel.assumptions[0].message


def test_an_overload_that_no_file_defines(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "k.cu").write_text(
        "unsigned f(unsigned);\nint f(float);\n__global__ void k(float *x) { x[threadIdx.x] = 1; }\n"
        "int main() { k<<<f(3.5f), 64>>>(0); k<<<f(3u), 32>>>(0); return 0; }\n"
    )
    (tmp_path / "b.cpp").write_text("unsigned f(unsigned v) { return v * 2; }\n")
    told = {k.launch.block[0]: k.launch for k in analyze(tmp_path, gpu="v100", cache=False).kernels}
    assert (told[32].grid, told[32].source) == ((6, 1, 1), LaunchSource.HOST_CODE)
    assert told[64].source is LaunchSource.ASSUMED


@pytest.mark.parametrize("folder", [".", "away"])
def test_a_file_that_is_included_by_another_path(tmp_path, monkeypatch, folder):
    (tmp_path / ".git").mkdir()
    (tmp_path / "away").mkdir()
    (tmp_path / "k.cu").write_text(
        "__global__ void k(float *x) { x[threadIdx.x] = 1; }\nstatic int half(int n) { return n / 2; }\n"
        "static void run(int n) { k<<<half(n), 32>>>(0); }\n"
    )
    (tmp_path / folder / "main.cu").write_text(
        f'#include "{"../" * (folder == "away")}k.cu"\nint main() {{ run(20); return 0; }}\n'
    )
    monkeypatch.chdir(tmp_path)
    kernel = only_kernel("k.cu")
    assert (kernel.launch.grid, kernel.launch.source) == ((10, 1, 1), LaunchSource.HOST_CODE)
