"""Kernels and functions that several files of a program launch and call."""

from __future__ import annotations

from pathlib import Path

import pytest

from wattslice.frontend.neighbours import definition_files, sharing_files
from wattslice.launches.launch import LaunchSource

from .test_programs_of_files import found_by

BODY = "{ x[threadIdx.x] = n; }"


def told(folder: Path, given: str, files: dict[str, str]) -> list[tuple[int, int | None, str]]:
    """Blocks of each launch, how often it is made, and its file."""
    return sorted(
        (one.grid[0], one.times, Path(one.file or one.kernel.span.file).name)
        for one in found_by(folder, given, files)
    )


EXPORTED = {
    "k.h": "__global__ void k(float *x, int n); void use(float *x);",
    "a.cu": f'#include "k.h"\n__global__ void k(float *x, int n) {BODY}\n'
    "int main() { float *x; k<<<16, 64>>>(x, 1); use(x); }",
    "b.cu": '#include "k.h"\nvoid use(float *x) { for (int i = 0; i < 3; i++) k<<<4, 32>>>(x, 2); }',
}
SHARED = {
    "k.cuh": f"template <class T> __global__ void k(T *x, int n) {BODY}\nvoid use(float *x);",
    "a.cu": '#include "k.cuh"\nint main() { float *x; k<<<16, 64>>>(x, 1); use(x); }',
    "b.cu": '#include "k.cuh"\nvoid use(float *x) { for (int i = 0; i < 3; i++) k<<<4, 32>>>(x, 2); }',
}
LIBRARY = {
    "k.h": "__global__ void k(float *x, int n); void use(float *x); void own(float *x);",
    "a.cu": f'#include "k.h"\n__global__ void k(float *x, int n) {BODY}\n'
    "void own(float *x) { k<<<16, 64>>>(x, 1); }",
    "b.cu": '#include "k.h"\nvoid use(float *x) { for (int i = 0; i < 3; i++) k<<<4, 32>>>(x, 2); }',
    "main.cpp": '#include "k.h"\nint main() { float *x; own(x); use(x); }',
}


@pytest.mark.parametrize(
    ("given", "files"),
    [("a.cu", EXPORTED), *((name, SHARED) for name in ("a.cu", "b.cu", "k.cuh")), ("a.cu", LIBRARY)],
)
def test_a_kernel_that_several_files_launch(tmp_path, given, files):
    assert told(tmp_path, given, files) == [(4, 3, "b.cu"), (16, 1, "a.cu")]


def test_launches_of_another_program_are_not_those_of_this_one(tmp_path):
    files = {**SHARED, "c.cu": '#include "k.cuh"\nint main() { float *x; k<<<8, 32>>>(x, 2); }'}
    assert told(tmp_path, "a.cu", files) == [(4, 3, "b.cu"), (16, 1, "a.cu")]


def test_a_kernel_of_that_name_in_another_file_is_another_one(tmp_path):
    own = f"static __global__ void k(float *x, int n) {BODY}\n"
    files = {
        "a.cu": f"{own}void use(float *);\nint main() {{ float *x; k<<<16, 64>>>(x, 1); use(x); }}",
        "b.cu": f"{own}void use(float *x) {{ k<<<4, 32>>>(x, 2); }}",
    }
    assert told(tmp_path, "a.cu", files) == [(16, 1, "a.cu")]


@pytest.mark.parametrize(
    "of", ["template <class T> __global__ void k(T *x, int n)", "__global__ void k(float *x, int n)"]
)
def test_a_launch_that_is_not_understood_is_of_the_kernel_beside_it(tmp_path, of):
    launch = "{ k<<<9, 64, 0, way.stream()>>>(x, 1); }"
    files = {
        "a.cu": f"__global__ void k(float *x, int n) {BODY}",
        "b.cuh": f"{of} {BODY}\ntemplate <class T> void run(T *x, missing::way &way) {launch}",
        "b.cu": '#include "b.cuh"\nint main() { float *x; missing::way way; run<float>(x, way); }',
    }
    ((launch, *none),) = [found_by(tmp_path, "a.cu", files)]
    assert not none
    assert launch.source is LaunchSource.ASSUMED
    assert "no launch in this file" in " ".join(a.message for a in launch.assumptions)


@pytest.mark.parametrize(
    ("own", "other"), [("k<<<3, 32>>>(1)", "go(5); go(6)"), ("go(3)", "k<<<5, 32>>>(1); k<<<6, 32>>>(1)")]
)
def test_what_only_one_of_the_files_that_have_it_calls_is_told_once(tmp_path, own, other):
    header = "template <class T> __global__ void k(T n) {}\nstatic void go(int n) { k<<<n, 32>>>(n); }\n"
    files = {
        "k.cuh": f"{header}void two();",
        "a.cu": f'#include "k.cuh"\nint main() {{ {own}; two(); }}',
        "b.cu": f'#include "k.cuh"\nvoid two() {{ {other}; }}',
    }
    found = found_by(tmp_path, "a.cu", files)
    assert sorted((one.grid[0], one.times) for one in found) == [(3, 1), (5, 1), (6, 1)]


def test_files_with_a_main_or_a_definition_of_their_own_are_not_read(tmp_path):
    main = "void go(int); __global__ void k(int);\nint main() { go(1); k<<<1, 32>>>(1); }"
    own = "static void go(int n) {}\nvoid two() { go(1); }"
    files = {"a.cu": GO, "b.cpp": "void go(int); void two() { go(8); }", "main.cu": main, "own.cpp": own}
    found_by(tmp_path, "a.cu", files)
    assert sharing_files(tmp_path / "a.cu", frozenset({"go", "k"})) == (tmp_path / "b.cpp",)


def test_launches_of_a_program_in_another_folder_are_not_of_this_one(tmp_path):
    body = "template <class T> __global__ void k(T *x, int n) {}\n"
    files = {
        "a/k.cuh": body,
        "a/a.cu": '#include "k.cuh"\nvoid go(float *x, int n) { k<<<n, 32>>>(x, n); }',
        "a/main.cpp": "void go(float *, int); int main() { float *x; go(x, 3); }",
        "b/k.cuh": body,
        "b/main.cu": '#include "k.cuh"\nint main() { float *x; k<<<9, 32>>>(x, 1); }',
        "b/b.cu": '#include "k.cuh"\nvoid use(float *x) { k<<<8, 32>>>(x, 1); }',
    }
    assert told(tmp_path, "a/a.cu", files) == [(3, 1, "a.cu")]


def test_a_variable_of_the_name_is_no_call(tmp_path):
    files = {
        "a.cu": "__global__ void k() {}\nvoid go() { k<<<4, 32>>>(); }",
        "b.cu": "__global__ void j() {}\nvoid set(int *);\nint main() { int go; set(&go); j<<<1, 32>>>(); }",
    }
    assert told(tmp_path, "a.cu", files) == [(4, 1, "a.cu")]


def test_what_a_file_of_the_program_includes_is_not_read_by_itself_as_well(tmp_path):
    go = '#include "k.cu"\nstatic void go(int n) { k<<<n, 32>>>(n); }\nstatic void run(int n) { go(n); }'
    files = {"k.cu": "__global__ void k(int n) {}", "go.cu": go}
    files["main.cu"] = '#include "go.cu"\nint main() { run(5); }'
    assert told(tmp_path, "k.cu", files) == [(5, 1, "go.cu")]


def test_a_file_that_is_included_is_launched_by_that_too(tmp_path):
    kernels = f"__global__ void k(float *x, int n) {BODY}\n"
    kernels += "static void go(float *x, int n) { k<<<n, 32>>>(x, n); }"
    main = '#include "kernels.cu"\nint main() { float *x; go(x, 3); go(x, 3); k<<<5, 32>>>(x, 1); }'
    assert told(tmp_path, "kernels.cu", {"kernels.cu": kernels, "main.cu": main}) == [
        (3, 2, "kernels.cu"),
        (5, 1, "main.cu"),
    ]


GO = "__global__ void k(int n) {}\nvoid go(int n) { k<<<n, 32>>>(n); }"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"main.cpp": "void go(int); int main() { go(4); go(8); go(8); }"}, [(4, 1), (8, 2)]),
        ({"main.cpp": "void go(int); void two(); int main() { go(4); two(); }",
          "two.cpp": "void go(int); void two() { go(8); go(8); }"}, [(4, 1), (8, 2)]),
        ({"main.cpp": "void two(); int main() { two(); }",
          "two.cpp": "void go(int); void two() { go(4); go(8); go(8); }"}, [(4, 1), (8, 2)]),
    ],
)  # fmt: skip
def test_every_call_of_a_wrapper_is_told(tmp_path, files, expected):
    found = found_by(tmp_path, "a.cu", {"a.cu": GO, **files})
    assert sorted((one.grid[0], one.times) for one in found) == expected


def test_every_call_of_a_wrapper_in_another_file_is_told(tmp_path):
    files = {
        "a.cu": "__global__ void k(int n) {}",
        "go.cu": "__global__ void k(int n);\nvoid go(int n) { k<<<n, 32>>>(n); }",
        "main.cpp": "void go(int); int main() { go(4); go(8); go(8); }",
    }
    found = found_by(tmp_path, "a.cu", files)
    assert sorted((one.grid[0], one.times) for one in found) == [(4, 1), (8, 2)]


@pytest.mark.parametrize("between", [0, 1, 3])
def test_own_call_of_a_wrapper_and_those_of_another_file(tmp_path, between):
    files = {"a.cu": f"{GO}\nvoid two0();\nint main() {{ go(4); two0(); }}"}
    for n in range(between):
        files[f"b{n}.cpp"] = f"void two{n + 1}(); void two{n}() {{ two{n + 1}(); }}"
    files["c.cpp"] = f"void go(int); void two{between}() {{ go(8); go(8); }}"
    found = found_by(tmp_path, "a.cu", files)
    assert sorted((one.grid[0], one.times) for one in found) == [(4, 1), (8, 2)]


def test_how_often_a_wrapper_is_called_its_callers_say(tmp_path):
    files = {
        "a.cu": "__global__ void k() {}\nvoid go() { k<<<4, 32>>>(); }",
        "main.cpp": "void go(); int main() { for (int i = 0; i < 3; i++) go(); }",
    }
    assert told(tmp_path, "a.cu", files) == [(4, 3, "a.cu")]


CONFIGURED = (
    "void configure(); BEFORE int n = 1; __global__ void k() {}\nint main() { configure(); k<<<n, 32>>>(); }"
)


@pytest.mark.parametrize(
    "files",
    [
        {"b.cpp": "extern int n; void configure() { n = 8; }"},
        {"b.cpp": "extern int m, n; void own() { n = 8; }",
         "c.cpp": "void own(); extern int n; void configure() { if (n) own(); }"},
        {"n.h": "extern int n;", "b.cpp": '#include "n.h"\nvoid configure() { n = 8; }'},
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("launch", "expected"),
    [("k<<<n, 32>>>()", (8, 1)), ("for (int i = 0; i < n; i++) k<<<3, 32>>>()", (3, 8))],
)
def test_what_another_file_sets_is_read_there(tmp_path, files, launch, expected):
    text = CONFIGURED.replace("BEFORE", "").replace("k<<<n, 32>>>()", launch)
    files = {**files, "a.cu": ('#include "n.h"\n' if "n.h" in files else "") + text}
    assert told(tmp_path, "a.cu", files) == [(*expected, "a.cu")]


def test_a_function_of_a_library_sets_nothing_of_the_program(tmp_path):
    text = CONFIGURED.replace("BEFORE", "extern int n;").replace(
        "{ configure();", "{ cudaDeviceSynchronize();"
    )
    (found,) = found_by(tmp_path, "a.cu", {"a.cu": text})
    assert (found.grid[0], found.assumptions) == (1, ())


@pytest.mark.parametrize(
    ("header", "before"),
    [("struct C { static int n; };", "int C::n = 1;"), ("struct C { inline static int n = 1; };", "")],
)
def test_a_static_member_may_be_set_by_another_file(tmp_path, header, before):
    text = f'#include "c.h"\nvoid configure(); {before}\n__global__ void k() {{}}\n'
    files = {"c.h": header, "a.cu": f"{text}int main() {{ configure(); k<<<C::n, 32>>>(); }}"}
    (found,) = found_by(tmp_path, "a.cu", files)
    assert "'n' is perhaps set by configure()" in str(found.assumptions)
    files["b.cpp"] = '#include "c.h"\nvoid configure() { C::n = 8; }'
    assert told(tmp_path, "a.cu", files) == [(8, 1, "a.cu")]


def test_what_main_sets_before_it_calls_is_read_there(tmp_path):
    files = {
        "a.cu": "int n = 1; __global__ void k() {}\nvoid run() { k<<<n, 32>>>(); }",
        "main.cpp": "extern int n; void run(); int main() { n = 8; run(); n = 4; run(); }",
    }
    assert told(tmp_path, "a.cu", files) == [(4, 1, "a.cu"), (8, 1, "a.cu")]


@pytest.mark.parametrize(
    ("before", "source"),
    [
        ("extern int n;", "'n' is perhaps set by configure()"),
        ("", "'n' is perhaps set by configure(), whose text was not read, and 1 before; n assumed 1"),
        ("static", ""),
        ("extern const int n; const", ""),
    ],
)
def test_a_function_that_is_not_read_may_set_what_it_can_name(tmp_path, before, source):
    (found,) = found_by(tmp_path, "a.cu", {"a.cu": CONFIGURED.replace("BEFORE", before)})
    messages = " ".join(one.message for one in found.assumptions)
    assert source in messages
    assert bool(messages) == bool(source)


def test_a_size_that_was_0_before_it_may_be_set_is_not_likely_0(tmp_path):
    text = CONFIGURED.replace("BEFORE", "").replace("n = 1;", "n = 0;")
    assert "n = 0;" in text
    (found,) = found_by(tmp_path, "a.cu", {"a.cu": text})
    told = " ".join(one.message for one in found.assumptions)
    assert "whose text was not read; n assumed 1024" in told


def test_what_a_function_that_a_header_declares_may_set_is_looked_for(tmp_path):
    text = CONFIGURED.replace("BEFORE", "")
    files = {"a.cu": text.replace("void configure();", '#include "c.h"\n', 1), "c.h": "void configure();"}
    (found,) = found_by(tmp_path, "a.cu", files)
    assert (found.grid[0], found.assumptions) == (1, ())


def test_what_may_set_a_variable_is_looked_for_wherever_it_is_called(tmp_path):
    files = {
        "a.cu": "void log_line();\nint n = 1; __global__ void k() {}\nstatic void report() { log_line(); }\n"
        "int main() { report(); k<<<n, 32>>>(); }",
        "b.cpp": "void set_n(int); void log_line() {} void other() { set_n(3); }",
    }
    (found,) = found_by(tmp_path, "a.cu", files)
    assert (found.grid[0], found.assumptions) == (1, ())
    files["b.cpp"] = "extern int n; void log_line() { n = 8; }"
    assert told(tmp_path, "a.cu", files) == [(8, 1, "a.cu")]


@pytest.mark.parametrize(
    ("body", "n"), [("Timer t;", 4), ("{ Timer t; }", 6), ("", 1), ("Timer *t = new Timer;", 4)]
)
def test_what_makes_and_destroys_an_object_in_another_file_sets_variables(tmp_path, body, n):
    files = {
        "t.h": "extern int n; struct Timer { Timer(); ~Timer(); };",
        "a.cu": '#include "t.h"\nint n = 1; __global__ void k() {}\n'
        + f"int main() {{ {body} k<<<n, 32>>>(); }}",
    }
    (found,) = found_by(tmp_path, "a.cu", files)
    assert ("'n' is perhaps set by" in str(found.assumptions)) == (n != 1)
    files["b.cpp"] = '#include "t.h"\nTimer::Timer() { n = 4; } Timer::~Timer() { n += 2; }'
    assert told(tmp_path, "a.cu", files) == [(n, 1, "a.cu")]


@pytest.mark.parametrize(
    ("kept", "called"), [("void (*f)(int) = go", "f(8)"), ("void (*f[2])(int) = {0, go}", "f[1](8)")]
)
def test_a_function_that_a_variable_holds_is_called_by_another_file(tmp_path, kept, called):
    files = {
        "a.cu": "__global__ void k() {}\nint n = 1; static void go(int v) { n = v; k<<<v / 2, 32>>>(); }\n"
        f"{kept}; void run(); int main() {{ run(); k<<<n, 32>>>(); }}"
    }
    two, one = found_by(tmp_path, "a.cu", files)
    assert (one.grid[0], one.source) == (1, LaunchSource.ASSUMED)
    assert "'n' is set in go(), of which not every call is followed, and 1 before" in str(one.assumptions)
    assert two.times is None
    files["b.cpp"] = f"extern {kept.partition(' =')[0]}; void run() {{ {called}; }}"
    assert told(tmp_path, "a.cu", files) == [(4, 1, "a.cu"), (8, 1, "a.cu")]


@pytest.mark.parametrize(
    ("header", "own", "call", "other"),
    [
        (
            "struct B { virtual void go(int) = 0; }; void run(B *);",
            "struct T : B { void go(int n) override { k<<<n, 32>>>(); } };",
            "T t; t.go(1); run(&t);",
            "void run(B *b) { b->go(7); }",
        ),
        (
            "__global__ void k(); inline void go(int n) { k<<<n, 32>>>(); } void run();",
            "",
            "go(1); run();",
            "void run() { go(7); }",
        ),
    ],
)
def test_a_function_of_no_file_alone_is_called_by_others(tmp_path, header, own, call, other):
    files = {
        "h.h": f"#pragma once\n{header}",
        "a.cu": f'__global__ void k() {{}}\n#include "h.h"\n{own}\nint main() {{ {call} }}',
        "b.cu": f'#include "h.h"\n{other}',
    }
    assert [one[:2] for one in told(tmp_path, "a.cu", files)] == [(1, 1), (7, 1)]


def test_more_files_than_one_answer_names_are_looked_for(tmp_path):
    numbers = range(5)
    declared = "extern int n; " + "".join(f"void f{i}(); extern int m{i}; " for i in numbers)
    body = "".join(f"f{i}(); n += m{i}; " for i in numbers)
    files = {
        "a.h": declared,
        "a.cu": '#include "a.h"\nint n = 1; __global__ void k() {}\n'
        f"int main() {{ {body}k<<<n, 32>>>(); }}",
    }
    for i in numbers:
        files[f"b{i}.cpp"] = f'#include "a.h"\nint m{i} = 1; void f{i}() {{ n += {10**i}; }}'
    assert told(tmp_path, "a.cu", files) == [(11117, 1, "a.cu")]


def test_a_function_of_the_file_that_another_calls_sets_its_variable(tmp_path):
    files = {
        "a.cu": "void init(int); int n = 1; void set_n(int v) { n = v; }\n__global__ void k() {}\n"
        "int main() { init(8); k<<<n, 32>>>(); }",
        "b.cpp": "extern int n; void set_n(int); void init(int v) { n = v; set_n(n / 2); }",
    }
    assert told(tmp_path, "a.cu", files) == [(4, 1, "a.cu")]


KERNEL = f"__global__ void k(float *x, int n) {BODY}"
OF_A_FILE = [
    ("int n = 64, b = 32;\nvoid set_up(int v) { n = v; b = 256; }", "n / b, b"),
    ("static int n = 64, b = 32;\nvoid set_up(int v) { n = v; b = 256; }", "n / b, b"),
    ("namespace { int n = 64, b = 32; }\nvoid set_up(int v) { n = v; b = 256; }", "n / b, b"),
    ("static int n = 64;\nint &size() { return n; }\nvoid set_up(int v) { size() = v; }", "n / 256, 256"),
]


@pytest.mark.parametrize(("own", "geometry"), OF_A_FILE)
def test_variables_of_a_file_are_set_by_whoever_calls_its_functions(tmp_path, own, geometry):
    files = {
        "a.cu": f"{KERNEL}\n{own}\nvoid step() {{ k<<<{geometry}>>>(0, n); }}",
        "main.cpp": "void set_up(int); void step();\nint main() { set_up(8192); step(); }",
    }
    (launch,) = found_by(tmp_path, "a.cu", files)
    assert (launch.grid, launch.block, launch.times) == ((32, 1, 1), (256, 1, 1), 1)
    assert launch.source is LaunchSource.HOST_CODE


@pytest.mark.parametrize(("own", "geometry"), OF_A_FILE[:3])
def test_variables_of_a_library_may_have_been_set_before(tmp_path, own, geometry):
    files = {"a.cu": f"{KERNEL}\n{own}\nvoid step() {{ k<<<{geometry}>>>(0, n); }}"}
    (launch,) = found_by(tmp_path, "a.cu", files)
    assert launch.source is LaunchSource.ASSUMED
    assert any("perhaps set in set_up()" in one.message for one in launch.assumptions)


GETTER = "SCOPE int &size() { static int n = 64; return n; }"


@pytest.mark.parametrize(
    ("scope", "calls", "why"),
    [
        ("", "set_up(); k<<<size(), 32>>>(0, 1);", "set by set_up(), whose text was not read, and 64 before"),
        ("inline", "set_up(); k<<<size(), 32>>>(0, 1);", "set by set_up(), whose text was not read"),
        ("", "size() = 96; set_up(); k<<<size(), 32>>>(0, 1);", "was not read, and 96 before"),
        ("static", "set_up(); k<<<size(), 32>>>(0, 1);", ""),
        ("", "k<<<size(), 32>>>(0, 1); set_up();", ""),
    ],
)
def test_what_a_function_gives_out_may_be_set_by_another_file(tmp_path, scope, calls, why):
    getter = GETTER.replace("SCOPE", scope)
    text = f"{KERNEL}\nvoid set_up();\n{getter}\nint main() {{ {calls} }}"
    (launch,) = found_by(tmp_path, "a.cu", {"a.cu": text})
    told = " ".join(one.message for one in launch.assumptions)
    assert (launch.grid[0], why in told, bool(told)) == (96 if "96" in calls else 64, True, bool(why))


def test_what_a_function_gives_out_may_be_set_by_another_function_of_a_library(tmp_path):
    own = f"{GETTER.replace('SCOPE', '')}\nvoid set_up(int v) {{ size() = v; }}"
    files = {"a.cu": f"{KERNEL}\n{own}\nvoid step() {{ k<<<size(), 256>>>(0, 1); }}"}
    (launch,) = found_by(tmp_path, "a.cu", files)
    assert launch.source is LaunchSource.ASSUMED
    assert any("perhaps set in set_up()" in one.message for one in launch.assumptions)


@pytest.mark.parametrize("name", ["cuda_blocks", "global_blocks", "blocks"])
def test_a_function_named_like_those_of_a_library_is_looked_for(tmp_path, name):
    files = {
        "k.h": f"int {name}(int n);",
        "k.cu": f'extern "C" {{\n#include "k.h"\n}}\n__global__ void k(float *x, int n) {BODY}\n'
        f"int main() {{ float *x; k<<<{name}(640), 64>>>(x, 640); }}",
        "z.c": f'#include "k.h"\nint {name}(int n) {{ return n / 64; }}',
    }
    assert told(tmp_path, "k.cu", files) == [(10, 1, "k.cu")]


def test_files_that_define_what_a_file_names_are_read_before_others(tmp_path):
    (tmp_path / "k.cu").write_text("void k() { last(); }")
    for name in ("a", "b", "c", "last"):
        (tmp_path / f"{name}.cpp").write_text(f"void {name}() {{}}")
    found = definition_files(tmp_path / "k.cu", frozenset(("a", "b", "c", "last")))
    assert [file.stem for file in found] == ["last", "a", "b"]
