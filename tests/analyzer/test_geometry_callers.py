"""Launches wrapped in a .cu file whose sizes stand in the files that call the wrappers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from wattslice import ir
from wattslice.analysis import LaunchSource
from wattslice.cli import main
from wattslice.counting.count import count
from wattslice.frontend.cuda.clang import session
from wattslice.frontend.cuda.lowering import host
from wattslice.frontend.cuda.read import forget, read_caller, read_callers, read_cuda, read_definitions
from wattslice.frontend.inputs import recorded
from wattslice.frontend.neighbours import caller_files, definition_files
from wattslice.frontend.parse_options import DEFAULT_C_STANDARD, ParseOptions
from wattslice.launches import linking
from wattslice.launches.launch import NO_OVERRIDES, KernelLaunch
from wattslice.launches.resolver import Neighbours, resolve_launches
from wattslice_models.gpu import load_gpu

from .ir_dump import dump

KERNEL = """
__global__ void scale(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; x[i] *= 2; }
extern "C" void runScale(float *x, int n, int threads)
{
    dim3 block(threads);
    dim3 grid((n + block.x - 1) / block.x);
    scale<<<grid, block>>>(x, n);
}
"""
MAIN = """
extern "C" void runScale(float *x, int n, int threads);
int main(int argc, char **argv)
{
    int n = 1 << 20;
    if (argc > 1) n = atoi(argv[1]);
    runScale(0, n, 128);
    return 0;
}
"""


def test_sizes_come_from_the_file_beside(tmp_path):
    path = tmp_path / "scale.cu"
    path.write_text(KERNEL)
    gpu = load_gpu("v100")
    (alone,) = resolve_launches(read_cuda(path), NO_OVERRIDES, gpu)
    assert (alone.source, alone.assumptions[0].fix) == (LaunchSource.ASSUMED, "--set n=VALUE")
    (tmp_path / "main.cpp").write_text(MAIN)
    (launch,) = resolve_launches(read_cuda(path), NO_OVERRIDES, gpu, Neighbours(partial(read_callers, path)))
    assert (launch.grid, launch.block, launch.source) == ((8192, 1, 1), (128, 1, 1), LaunchSource.HOST_CODE)
    assert launch.arguments == (None, 1 << 20)
    assert launch.line == 7


@pytest.mark.slow
def test_what_is_assumed_of_a_file_beside_is_set_by_its_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    kernel = "struct Size { int n; }; __global__ void k(int n) {} void run(int n) { k<<<n, 32>>>(n); }"
    Path("k.cu").write_text(kernel)
    body = "int blocks = atoi(argv[1]); run(blocks); Size s; s.n = atoi(argv[2]); run(s.n);"
    head = "#include <cstdlib>\nstruct Size { int n; }; void run(int n);"
    Path("main.cpp").write_text(f"{head} int main(int argc, char **argv) {{ {body} }}")
    command = ["analyze", "k.cu", "--gpu", "v100"]
    assert main(command) == 0
    assert "--set blocks=VALUE" in capsys.readouterr().out
    assert main([*command, "--set", "blocks=20", "--set", "s.n=30"]) == 0
    told = capsys.readouterr().out
    assert "<<<30, 32>>>  host code" in told
    assert "<<<20, 32>>>" in told  # an alike launch
    assert main([*command, "--set", "blocs=20"]) == 2
    assert "did you mean blocks" in capsys.readouterr().err


def test_a_file_beside_is_parsed_once_for_all_and_again_when_it_has_changed(tmp_path, monkeypatch):
    parsed: list[str] = []
    once = 0
    plain = session.raw_parse

    def parse(path: Path, *rest: Any) -> object:
        parsed.append(path.name)
        return plain(path, *rest)

    monkeypatch.setattr(session, "raw_parse", parse)
    (tmp_path / "scale.cu").write_text(KERNEL)
    (tmp_path / "header.h").write_text("const int size = 1 << 10;")
    main = tmp_path / "main.cu"
    main.write_text('#include "header.h"\n' + MAIN.replace("1 << 20", "size"))
    for file in (main, tmp_path / "header.h"):
        os.utime(file, (1, 1))  # of a file that is as young as a tick of the clock nobody knows
    for name in (*"abcd", "scale"):
        (found,) = read_callers(tmp_path / f"{name}.cu", frozenset({"runScale"}))[:1]
        assert found.file == str(main)
        once = once or len(parsed)
    assert read_cuda(main).file == str(main)
    assert len(parsed) == once
    with recorded() as recording:
        read_callers(tmp_path / "scale.cu", frozenset({"runScale"}))
    assert recording.inputs is not None
    assert {Path(text.path).name for text in recording.inputs.texts} >= {"main.cu", "header.h"}
    (tmp_path / "header.h").write_text("const int size = 1 << 12;")
    os.utime(tmp_path / "header.h", (2, 2))
    read_callers(tmp_path / "scale.cu", frozenset({"runScale"}))
    assert len(parsed) > once
    for number in range(6):  # no more than the last few are kept
        (tmp_path / f"other{number}.cu").write_text(f"void runScale(int); void f() {{ runScale({number}); }}")
        read_caller(tmp_path / f"other{number}.cu", frozenset({"runScale"}))
    before = parsed.count("main.cu")
    read_caller(main, frozenset({"runScale"}))
    assert parsed.count("main.cu") > before


@pytest.mark.parametrize(
    ("text", "is_there"),
    [
        ("int size = 4;", True),
        ("extern int size;", False),
        ('extern "C" int size[4] = {1};', True),
        ("  static const unsigned\n int *size;", True),
        ("return size;", False),
        ("use(size, 4);", False),
        ("size(a, b) int a; float b; {", True),
        ("int resize() {", False),
        ("void f() { other(); }\nint size(int a, int b) const {", True),
        ("int " + 90 * "a" + " size = 4;", False),
        ("static unsigned\n      size = 4;", True),
        ("a size;\nint x;\nint\nsize\n(int n)\n{", True),
        ("Table t{3, 96}; int size{9};", True),
        ("int a = 1; Table::size() : n(1) {}", True),
        ("namespace x { int size = 4; }", True),
        ("void f() { g(); size(1); if (x) {} }", False),
    ],
)
def test_definitions_are_found_by_their_text(tmp_path, text, is_there):
    (tmp_path / "other.cu").write_text(text)
    found = definition_files(tmp_path / "asks.cu", frozenset({"size", "unused"}))
    assert [path.name for path in found] == ["other.cu"] * is_there


def test_c_is_read_as_older_c_only_where_newer_has_errors(tmp_path, monkeypatch):
    standards: list[str] = []
    parse = session.parse_cuda

    def noted(path, options):
        standards.append(options.standard)
        return parse(path, options)

    monkeypatch.setattr(session, "parse_cuda", noted)
    calls = "int f(int n) { runScale(0, n, 128); return n; }\n"
    for name, text in (("both.c", calls), ("new.c", f"int class = 1;\n{calls}")):
        (tmp_path / name).write_text(f"void runScale(float *x, int n, int threads);\n{text}")
        os.utime(tmp_path / name, (1e9, 1e9))
        read_caller(tmp_path / name, frozenset({"runScale"}))
    plain = ParseOptions().standard
    assert standards == [plain, plain, DEFAULT_C_STANDARD]
    for name in ("both.c", "new.c"):
        program = read_caller(tmp_path / name, frozenset({"nobody"})).program
        assert program is not None
        assert not program.functions
    assert len(standards) == 3  # parsed once for all who ask


def test_which_files_are_read(tmp_path):
    (tmp_path / "kernels").mkdir()
    path = tmp_path / "kernels" / "scale.cu"
    path.write_text(KERNEL)
    for name in ("main.cpp", "helper.c", "other.cpp", "notes.txt", "kernels/near.cc"):
        (tmp_path / name).write_text("void f() { runScale(0, 1, 2); }\n")
    (tmp_path / "main.cpp").write_text(MAIN)
    (tmp_path / "unrelated.cpp").write_text("int main() { return 0; }\n")
    found = caller_files(path, frozenset({"runScale"}))
    assert [file.name for file in found] == ["main.cpp", "near.cc", "helper.c", "other.cpp"]
    assert caller_files(path, frozenset()) == ()
    (tmp_path / ".git").mkdir()
    assert [file.name for file in caller_files(path, frozenset({"runScale"}))] == [
        "main.cpp",
        "near.cc",
        "helper.c",
        "other.cpp",
    ]
    (tmp_path / "kernels" / ".git").touch()  # of a submodule it is a file
    assert [file.name for file in caller_files(path, frozenset({"runScale"}))] == ["near.cc"]


def test_callers_two_folders_above_what_they_call_are_found_last(tmp_path):
    path = tmp_path / "lib" / "util" / "scale.cu"
    path.parent.mkdir(parents=True)
    path.write_text(KERNEL)
    (tmp_path / "main.cpp").write_text(MAIN)
    assert caller_files(path, frozenset({"runScale"})) == (tmp_path / "main.cpp",)
    (tmp_path / "own.cpp").write_text("void runScale(float *x, int n, int t)\n{\n}\n")
    own = frozenset({"runScale"})
    assert tmp_path / "main.cpp" not in caller_files(path, own)  # of another program
    (tmp_path / "own.cpp").rename(tmp_path / "lib" / "own.cpp")  # near to both: of the same program
    assert caller_files(path, own) == (tmp_path / "main.cpp",)
    (tmp_path / "lib" / ".git").mkdir()
    assert tmp_path / "main.cpp" not in caller_files(path, own)


def test_a_loop_of_links_beside_it_harms_nothing(tmp_path):
    path = tmp_path / "scale.cu"
    path.write_text(KERNEL)
    (tmp_path / ".git").mkdir()
    (tmp_path / "loop.cpp").symlink_to("loop.cpp")
    (tmp_path / "gone.h").symlink_to("gone.h")
    path.write_text('#include "gone.h"\n' + KERNEL)
    (launch,) = resolve_launches(
        read_cuda(path), NO_OVERRIDES, load_gpu("v100"), Neighbours(partial(read_callers, path))
    )
    assert launch.source is LaunchSource.ASSUMED


def test_a_program_with_a_function_of_that_name_calls_its_own(tmp_path):
    path = tmp_path / "scale.cu"
    path.write_text(KERNEL)
    (tmp_path / "main.cpp").write_text(MAIN)
    (tmp_path / "before.cpp").write_text(f"void runScale(float *x, int n, int t)\n{{\n}}\n{MAIN}")
    assert [file.name for file in caller_files(path, frozenset({"runScale"}))] == ["main.cpp"]


def test_what_nothing_calls_is_told_apart_from_callers_elsewhere(tmp_path):
    path = tmp_path / "scale.cu"
    other = "__global__ void other() {}\nint main() { other<<<1, 32>>>(); }"
    for rest, reason in (("", "whose callers are not in this file"), (other, "which nothing that was read")):
        path.write_text(KERNEL + rest)
        launch, *_ = resolve_launches(read_cuda(path), NO_OVERRIDES, load_gpu("v100"))
        assert reason in launch.assumptions[0].message


def test_vectors_are_arguments(tmp_path):
    path = tmp_path / "sum.cu"
    path.write_text(
        "__global__ void sum(uint3 g, float *x) { for (unsigned j = 0; j < g.z; ++j) x[threadIdx.x] += j; }\n"
        "int main() { float *x; uint3 g = make_uint3(1, 2, 7); sum<<<1, 32>>>(g, x); }\n"
    )
    (launch,) = resolve_launches(read_cuda(path), NO_OVERRIDES, load_gpu("v100"))
    (loop,) = count(launch).loops
    assert loop.trip_count == 7


def resolved(folder: Path, name: str, **files: str) -> KernelLaunch:
    """The only launch of `name`.cu; the words are files of this text, `_h` and `_cpp` their suffixes."""
    (folder / ".git").mkdir()  # nothing of what lies beside
    for file, text in files.items():
        stem, _, suffix = file.rpartition("_")
        (folder / f"{stem}.{suffix}").write_text(text)
    path = folder / f"{name}.cu"
    around = Neighbours(partial(read_callers, path), definitions=lambda sought: read_definitions(*sought))
    (launch,) = resolve_launches(read_cuda(path), NO_OVERRIDES, load_gpu("v100"), around)
    return launch


@pytest.mark.parametrize(
    "definitions",
    [
        "Table table = {3, 96};\nint glob = 9;\nConf::Conf() : blocks(12) { threads = 64; }\n",
        "Table table{3, 96}; int glob{9}; Conf::Conf() : blocks(12), threads(64) {}\n",
        "int a() { return 1; } Conf::Conf() : blocks(12), threads(64) {} Table table{3, 96}; int glob{9};\n",
    ],
)
@pytest.mark.parametrize(
    ("launch", "geometry"),
    [
        ("Conf c; k<<<c.blocks, c.threads>>>(x);", (12, 64)),
        ("k<<<table.blocks, table.threads>>>(x);", (3, 96)),
        ("k<<<glob, table.threads>>>(x);", (9, 96)),
    ],
)
def test_what_a_file_beside_defines(tmp_path, launch, geometry, definitions):
    head = "struct Conf { int blocks, threads; Conf(); };\nstruct Table { int blocks, threads; };\n"
    found = resolved(
        tmp_path,
        "k",
        conf_h=f"{head}extern Table table; extern int glob;\n",
        conf_cpp=f'#include "conf.h"\n{definitions}',
        k_cu=f'#include "conf.h"\n__global__ void k(float *x) {{}}\nint main() {{ float *x; {launch} }}\n',
    )
    assert (found.grid[0], found.block[0], found.source) == (*geometry, LaunchSource.HOST_CODE)


def test_a_file_beside_is_read_where_only_the_number_of_launches_depends_on_it(tmp_path):
    main = "int main() { int n = 3; if (wanted()) count(&n); for (int i = 0; i < n; i++) k<<<4, 32>>>(7); }"
    found = resolved(
        tmp_path,
        "k",
        beside_cpp="int wanted() { return 1; }\nvoid count(int *n) { *n = 9; }\n",
        k_cu=f"int wanted();\nvoid count(int *n);\n__global__ void k(int n) {{}}\n{main}\n",
    )
    assert (found.times, found.source) == (9, LaunchSource.HOST_CODE)


def test_what_is_defined_below_the_folder_of_main(tmp_path):
    (tmp_path / ".git").mkdir()
    for folder in ("kernels", "util/num"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "kernels/k.cu").write_text(GO)
    (tmp_path / "util/num/num.c").write_text("int twice(int n) { return 2 * n; }\n")
    (tmp_path / "main.c").write_text("int twice(int); void go(int); int main() { go(twice(7)); }\n")
    path = tmp_path / "kernels/k.cu"
    around = Neighbours(partial(read_callers, path), definitions=lambda sought: read_definitions(*sought))
    (launch,) = resolve_launches(read_cuda(path), NO_OVERRIDES, load_gpu("v100"), around)
    assert (launch.grid[0], launch.source) == (14, LaunchSource.HOST_CODE)


@pytest.mark.parametrize("call", ["", "void go();"])
def test_small_tables_and_names_in_capitals_are_joined_without_a_header(tmp_path, call):
    launch = "float *x; k<<<SIZES[2], N / 64>>>(x, TABLE[1].n);"
    body = f"void go() {{ {launch} }}" if call else f"int main() {{ {launch} }}"
    other = "struct Size { int n; }; int N = 4096; extern const int SIZES[3] = {1, 2, 8};\n"
    other += "Size TABLE[2] = {{5}, {6}}; extern const int LARGE[999] = {7};\n"
    found = resolved(
        tmp_path,
        "k",
        k_cu="struct Size { int n; }; extern int N; extern const int SIZES[3]; extern Size TABLE[2];\n"
        f"__global__ void k(float *x, int n) {{}}\n{body}\n",
        other_cpp=f"{other}{call} {'int main() { go(); }' if call else ''}\n",
    )
    assert (found.grid[0], found.block[0], found.arguments) == (8, 64, (None, 6))


def launches_beside(folder: Path, **files: str) -> list[tuple[int, int | None, str, str]]:
    """Of k.cu, beside files of this text: blocks of each launch, how many there are, what is not known."""
    (folder / ".git").mkdir()
    for file, text in files.items():
        stem, _, suffix = file.rpartition("_")
        (folder / f"{stem}.{suffix}").write_text(text)
    path = folder / "k.cu"
    around = Neighbours(partial(read_callers, path), definitions=lambda sought: read_definitions(*sought))
    found = resolve_launches(read_cuda(path), NO_OVERRIDES, load_gpu("v100"), around)
    return [
        (one.grid[0], one.times, one.times_unknown, one.assumptions[0].message if one.assumptions else "")
        for one in found
    ]


GO = "__global__ void k(int n) {} void go(int n) { k<<<n, 64>>>(n); }\n"
CALLS = "void go(int); int main() { for (int i = 0; i < TIMES; i++) go(SIZE); }\n"


def calls(times: int, size: int) -> str:
    return CALLS.replace("TIMES", str(times)).replace("SIZE", str(size))


@pytest.mark.parametrize("other", ["void go(int n) {}", "void go(int n);", "static void go(int n) {}"])
def test_a_name_is_defined_once_in_a_program(tmp_path, other):
    text = calls(5, 8).replace("void go(int);", other)
    (found,) = launches_beside(tmp_path, k_cu=GO, other_cpp=text)
    if other.endswith(";"):
        assert found == (8, 5, "", "")
    else:
        assert "'n' is a parameter of go(), w" in found[3]


def test_in_c_too_a_file_may_have_a_function_of_that_name_for_itself(tmp_path):
    main = "static void go(int n) {} int main() { go(8); }"
    (found,) = launches_beside(tmp_path, k_cu=GO.replace("void go", 'extern "C" void go'), main_c=main)
    assert "'n' is a parameter of go(), wh" in found[3]


def test_functions_that_each_file_has_for_itself_are_no_definitions_of_one(tmp_path):
    own = "static int half(int n) { return n / 2; }\n"
    main = own + "void go(int); int main() { go(half(8)); }"
    kernel = own + GO.replace("<<<n", "<<<half(n)")
    assert launches_beside(tmp_path, k_cu=kernel, main_cpp=main) == [(2, 1, "", "")]


def test_the_programs_that_call_it_are_named(tmp_path):
    found = launches_beside(tmp_path, k_cu=GO, one_cpp=calls(3, 4), two_cpp=calls(5, 8))
    told = "the programs of one.cpp and two.cpp launch it, each in its own way"
    assert found == [(4, None, told, ""), (8, None, told, "")]


@pytest.mark.parametrize(("programs", "times"), [(4, 3), (5, None), (7, None)])
def test_of_many_programs_some_are_not_read(tmp_path, programs, times):
    files = {f"m{number}_cpp": calls(3, 4) for number in range(programs)}
    ((blocks, found, told, _),) = launches_beside(tmp_path, k_cu=GO, **files)
    assert (blocks, found) == (4, times)
    assert told == ("" if times else "of the programs that launch it no more than 5 are read")


@pytest.mark.parametrize(
    "files",
    [
        {"k_cu": GO + "void f() { go(2); } void g() { go(4); go(4); }"},
        {
            "k_cu": GO,
            "f_cpp": "void go(int); void f() { go(2); }",
            "g_cpp": "void go(int); void g() { go(4); }",
        },
        {
            "k_cu": GO,
            "a_cpp": "void go(int); void g() { go(2); }",
            "b_cpp": "void go(int); void g() { go(4); }",
            "main_cpp": "void g(); int main() { g(); g(); }",
        },
    ],
)
def test_of_entries_that_launch_it_differently_all_are_told(tmp_path, files):
    found = launches_beside(tmp_path, **files)
    told = "g() launches it otherwise than other functions that nothing here calls"
    assert found == [(2, None, told, ""), (4, None, told, "")]


def test_entries_that_launch_it_alike_are_one(tmp_path):
    text = GO + "void f() { go(2); } void g() { go(2); } void h() { k<<<9, 64>>>(7); }"
    assert launches_beside(tmp_path, k_cu=text) == [(2, 1, "", ""), (9, 1, "", "")]


@pytest.mark.parametrize(
    ("one", "two", "is_known"),
    [
        ("int N = 4; extern const int T[2] = {1, 2};", "int N = 5; extern const int T[2] = {1, 3};", False),
        ("int N = 4;", "int N = 4; extern const int T[2] = {1, 2};", True),
        ("int N = 4; extern const int T[2] = {1, 2};", "int size = 5; int N = 9;", True),
    ],
)
def test_what_several_files_define_differently_is_not_picked(tmp_path, one, two, is_known):
    text = "extern int N; extern const int T[2]; int size = 3; __global__ void k(int n) {}\n"
    text += "int main() { k<<<N * size * T[1], 64>>>(N); }"
    (found,) = launches_beside(tmp_path, k_cu=text, one_cpp=one, two_cpp=two)
    if is_known:
        assert found == (24, 1, "", "")
    else:
        assert "'N' is defined in one.cpp and in two.cpp" in found[3]


def test_a_function_of_several_files_is_not_picked(tmp_path):
    text = "int blocks(); __global__ void k(int n) {} int main() { k<<<blocks(), 64>>>(1); }"
    blocks = "int blocks() { return 3; }"
    (found,) = launches_beside(tmp_path, k_cu=text, one_cpp=blocks, two_cpp=blocks.replace("3", "5"))
    assert "the result of blocks(), defined in one.cpp and in two.cpp" in found[3]


def test_what_no_file_defines_is_not_said_to_be_never_assigned(tmp_path):
    text = (
        "struct Table { int blocks; }; extern Table table; extern int glob;\n__global__ void k(float *x) {}\n"
    )
    main = "int main() { float *x; k<<<table.blocks, glob>>>(x); }\n"
    found = resolved(tmp_path, "k", k_cu=text + main)
    told = " ".join(one.message for one in found.assumptions)
    assert "'table.blocks' is given no value in the host code that is followed" in told
    assert "'glob' is given no value in the host code that is followed" in told
    assert "never assigned" not in told


ENGINE_H = """
template <class T> class Engine {
public:
    Engine(unsigned n, unsigned threads);
    void operator()(T *x);
private:
    unsigned m_n, m_threads;
};
"""
ENGINE = """
#include "engine.h"
__global__ void scale(float *x, int n) {}
template <class T> Engine<T>::Engine(unsigned n, unsigned threads) : m_n(n), m_threads(threads) {}
template <class T> void Engine<T>::operator()(T *x)
{
    scale<<<m_n / m_threads, m_threads>>>(x, m_n);
}
template class Engine<float>;
"""
ENGINE_MAIN = """
#include "engine.h"
int main() { Engine<float> engine(1 << 16, 64); engine(0); }
"""


def test_a_function_call_operator_is_found_by_its_class(tmp_path):
    launch = resolved(tmp_path, "engine", engine_h=ENGINE_H, engine_cu=ENGINE, main_cpp=ENGINE_MAIN)
    assert (launch.grid, launch.block, launch.arguments) == ((1024, 1, 1), (64, 1, 1), (None, 1 << 16))
    assert launch.source is LaunchSource.HOST_CODE


def test_a_constructor_of_a_third_file_is_followed(tmp_path):
    made, ran = ENGINE.split("template <class T> void")
    rest = f'#include "engine.h"\n__global__ void scale(float *x, int n) {{}}\ntemplate <class T> void{ran}'
    made = made.replace("__global__ void scale(float *x, int n) {}\n", "") + "template class Engine<float>;"
    files = {"engine_h": ENGINE_H, "engine_cu": rest, "made_cpp": made, "main_cpp": ENGINE_MAIN}
    assert resolved(tmp_path, "engine", **files).grid == (1024, 1, 1)


def test_a_call_that_stands_in_a_header_of_a_header(tmp_path):
    declared = 'extern "C" void runScale(float *x, int n, int threads);\n'
    inner = declared + "struct Runner { int n; void run() { runScale(0, n, 128); } };\n"
    main = '#include "outer.h"\nint main() { Runner runner; runner.n = 1 << 20; runner.run(); }\n'
    files = {"scale_cu": KERNEL, "inner_h": inner, "outer_h": '#include "inner.h"\n', "main_cpp": main}
    launch = resolved(tmp_path, "scale", **files)
    assert (launch.grid, launch.arguments[1]) == ((8192, 1, 1), 1 << 20)


def test_a_declaration_in_a_header_is_no_call(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "scale.h").write_text('extern "C" void runScale(float *x, int n, int threads);\n')
    (tmp_path / "other.cpp").write_text('#include "scale.h"\nint other() { return 1; }\n')
    (tmp_path / "scale.cu").write_text(KERNEL)
    assert caller_files(tmp_path / "scale.cu", frozenset({"runScale"})) == ()


def test_what_callers_call_back_in_the_file_itself_is_followed(tmp_path):
    keep = 'extern "C" void keep(int *n) { cudaMemcpyToSymbol(0, n, 4); }\n'
    main = MAIN.replace("int main", 'extern "C" void keep(int *n);\nint main').replace(
        "runScale(0", "keep(&n); runScale(0"
    )
    launch = resolved(tmp_path, "scale", scale_cu=KERNEL + keep, main_cpp=main)
    assert (launch.grid, launch.source) == ((8192, 1, 1), LaunchSource.HOST_CODE)


def test_host_code_is_lowered_once_for_all_who_ask_for_the_same(tmp_path):
    path = tmp_path / "main.cu"
    path.write_text(MAIN)
    os.utime(path, (1e9, 1e9))
    names = frozenset(("runScale",))
    with recorded() as first:
        program = read_caller(path, names).program
    with recorded() as again:
        assert read_caller(path, names).program is program
    assert again.inputs == first.inputs
    assert read_caller(path, frozenset(("other",))).program is not program
    path.write_text(MAIN.replace("128", "256"))
    assert read_caller(path, names).program not in (None, program)


ASKED_FOR_TWO = """
static int base() { return 4; }
static int used = base(), behind = 5, *where = &behind;
void runOne(int n);
void runTwo(int n, int m);
static int fewer(int n) { return n / 16; }
void first() { runOne(used); }
void second() { auto twice = [](auto n) { return 2 * n; }; runTwo(twice(*where), 1); }
void both() { runOne(fewer(100)); runTwo(fewer(200), 1); }
void runThree(int n);
void third() { runThree(*where); }
"""


def test_a_function_is_lowered_once_for_all_who_ask_and_each_gets_what_nobody_else_has_asked_for(tmp_path):
    path = tmp_path / "main.cpp"
    path.write_text(ASKED_FOR_TWO)
    os.utime(path, (1e9, 1e9))
    asked = ("runOne",), ("runTwo",), ("runThree",), ("runOne", "runTwo"), ("fewer",)
    questions = [*map(frozenset, asked)]

    def answers() -> Iterator[ir.Program]:
        for names in questions:
            program = read_caller(path, names).program
            assert program is not None
            yield program

    def shown(program: ir.Program) -> tuple[str, list[str]]:
        return dump(program), [variable.name for variable in program.globals]

    together, alone = list(answers()), list[tuple[str, list[str]]]()
    for names in questions:
        forget()
        program = read_caller(path, names).program
        assert program is not None
        alone.append(shown(program))
    assert list(map(shown, together)) == alone
    assert alone[1][1] == ["behind", "where", "used"]
    one, two, *_ = ({function.name: function for function in program.functions} for program in together)
    assert one["both"] is two["both"]
    assert ("first" in two, "second" in one) == (False, False)


def test_the_host_code_of_a_file_is_lowered_once_for_itself_and_those_who_ask(tmp_path):
    path = tmp_path / "main.cu"
    launching = "__global__ void k() {}\nvoid both();\nvoid fourth() { k<<<1, 1>>>(); both(); }"
    told = "void runFour();\nvoid fifth() { runFour(); /* AT_DISPATCH_ALL_TYPES */ }"  # if it is asked for
    path.write_text(f"{launching}\n{told}\n{ASKED_FOR_TWO}")
    os.utime(path, (1e9, 1e9))
    names = frozenset(("runOne",))
    alone = read_caller(path, names).program
    forget()
    own, asked = read_cuda(path), read_caller(path, names).program
    read_caller(path, frozenset(("runFour",)))
    assert alone is not None
    assert asked is not None
    assert dump(asked) == dump(alone)
    assert [variable.name for variable in asked.globals] == [variable.name for variable in alone.globals]
    one, two = ({function.name: function for function in each.functions} for each in (own, asked))
    assert one["both"] is two["both"]
    assert read_cuda(path).diagnostics == own.diagnostics == ()


def test_where_functions_stand_is_looked_up_once_a_file(tmp_path, monkeypatch):
    asked: list[str] = []

    def noted(written: str) -> Path:
        asked.append(written)
        return Path(written).resolve()

    path = tmp_path / "main.cu"
    path.write_text(KERNEL + "".join(f"void f{n}() {{ runScale(0, {n}, 2); }}\n" for n in range(9)))
    program = read_cuda(path)
    monkeypatch.setattr(linking, "file_of", noted)
    assert linking.beside(program, (program,)) == [program]
    assert asked == [str(path)] * 2
    elsewhere = replace(program, file=str(tmp_path / "x" / "main.cu"))
    assert linking.beside(program, (elsewhere,)) == []


def test_an_instance_that_is_made_is_no_call(tmp_path):
    made = '#include "run.h"\ntemplate void run<float>(int n);\ntemplate void\nrun<int>(int);\n'
    path = tmp_path / "made.cu"
    for name in ("made.cu", "other.cu"):
        (tmp_path / name).write_text(made)
    (tmp_path / "called.cpp").write_text(
        f"{made}template <class T> void f(T x) {{ x.template run<int>(4); }}"
    )
    (tmp_path / "plain.cpp").write_text(f"{made}template<int N> void f() {{ run<float>(N); }}")
    found = caller_files(path, frozenset({"run"}))
    assert [file.name for file in found] == ["called.cpp", "plain.cpp"]


def test_what_a_reading_that_broke_off_has_lowered_is_not_used_again(tmp_path, monkeypatch):
    path = tmp_path / "main.cpp"
    path.write_text(ASKED_FOR_TWO)
    os.utime(path, (1e9, 1e9))
    before = read_caller(path, frozenset(("runOne",))).program

    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(host, "lower_host_function", broken)
        with pytest.raises(KeyboardInterrupt):
            read_caller(path, frozenset(("runTwo",)))
    after = read_caller(path, frozenset(("runTwo",))).program
    assert before is not None
    assert after is not None
    assert not set(before.functions) & set(after.functions)


def test_a_file_is_parsed_once_although_its_host_code_asks_about_it(tmp_path, monkeypatch):
    parsed: list[Path] = []
    plain = session.parse_cuda

    def noted(path, *arguments):
        parsed.append(path)
        return plain(path, *arguments)

    monkeypatch.setattr(session, "parse_cuda", noted)
    path = tmp_path / "k.cu"
    path.write_text("__global__ void k(int n) {}\nint size = 1;\nint main() { k<<<1, 64>>>(size); }\n")
    os.utime(path, (1e9, 1e9))
    assert len(read_cuda(path).kernels) == 1
    assert read_caller(path, frozenset(("size",))).program is not None
    assert parsed == [path]
    assert len(read_cuda(path, source=path.read_bytes()).kernels) == 1  # from memory: nothing is remembered
    assert parsed == [path, path]


def test_a_caller_beside_counts_before_those_of_other_programs(tmp_path):
    for name, text in {
        "one/k.cu": "__global__ void k(int n) {}\nvoid go(int n) { k<<<n, 64>>>(n); }\n",
        "one/draw.cpp": "void go(int n);\nvoid draw(int n) { go(n); }\n",
        "one/app.cpp": "void draw(int n);\nvoid show() { draw(4); }\n",
        "other/main.cpp": "void draw(int n);\nint main() { draw(9); }\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".git").mkdir()
    path = tmp_path / "one" / "k.cu"
    around = Neighbours(partial(read_callers, path))
    (launch,) = resolve_launches(read_cuda(path), NO_OVERRIDES, load_gpu("v100"), around)
    assert (launch.grid, launch.source) == ((4, 1, 1), LaunchSource.HOST_CODE)
    (tmp_path / "one" / "app.cpp").unlink()
    (launch,) = resolve_launches(read_cuda(path), NO_OVERRIDES, load_gpu("v100"), around)
    assert (launch.grid, launch.source) == ((9, 1, 1), LaunchSource.HOST_CODE)


@pytest.mark.parametrize(
    ("body", "asks"),
    [
        ("", False),
        ("int argv_of = 3;", False),
        ("int n = argc;", True),
        ("while (argc--) ;", True),
        ("argv += 1;", True),
        ("int *p = &argc;", True),
        ("auto f = [&] { return argc; }; int m = f();", True),
    ],
)
def test_arguments_are_looked_for_only_where_main_looks_at_them(tmp_path, body, asks):
    path = tmp_path / "k.cu"
    path.write_text(
        "__global__ void k(float *x) { x[threadIdx.x] = 1.0f; }\n"
        f"int main(int argc, char **argv) {{ float *x; {body} k<<<4, 32>>>(x); }}\n"
    )
    asked: list[Path] = []
    around = Neighbours(arguments=lambda main: asked.append(main))
    resolve_launches(read_cuda(path), NO_OVERRIDES, load_gpu("v100"), around)
    assert bool(asked) is asks


def test_definitions_of_the_c_library_are_not_looked_for(tmp_path):
    path = tmp_path / "k.cu"
    path.write_text(
        "#include <cstdlib>\nint rows(int n);\n"
        "__global__ void k(float *x, int n) { x[threadIdx.x] = n; }\n"
        "int main(int argc, char **argv) { float *x; k<<<rows(atoi(argv[1])), 32>>>(x, atoi(argv[2])); }\n"
    )
    asked: list[frozenset[str]] = []

    def definitions(sought: tuple[Path, frozenset[str]]) -> tuple[()]:
        asked.append(sought[1])
        return ()

    resolve_launches(read_cuda(path), NO_OVERRIDES, load_gpu("v100"), Neighbours(definitions=definitions))
    assert asked == [frozenset({"rows"})]
