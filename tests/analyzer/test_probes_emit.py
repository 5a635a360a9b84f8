"""Instrumented sources as text; that they count right is in test_probes_run.py and in the corpus's tests."""

import re
from pathlib import Path

import pytest

from wattslice.profiling.probes.counts import ProbeError, ProbeKind
from wattslice.profiling.probes.emit import emit_probes

EVERY_BRANCH = Path(__file__).parent / "probes" / "every_branch.cu"


def emitted(tmp_path, text, name="k.cu"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return emit_probes(path)


def program_of(source):
    """The lines of the program in an instrumented source."""
    file = source.file.replace("\\", "/")
    lines: list[str] = []
    is_header = True
    for line in source.text.splitlines():
        place = re.fullmatch(r'#line (\d+) "(.*)"', line)
        if place is None:
            lines += [] if is_header else [line]
        elif place[2] == file:  # what a header stands for has been one line
            is_header = False
            kept = int(place[1]) - 1
            lines = [*lines[:kept], *[""] * (kept - len(lines))]
        else:
            is_header = True
    return lines


def kernel(body, before=""):
    return f"{before}\n__global__ void k(int* a, int n) {{ int i = threadIdx.x; {body} }}\n"


def test_lines_keep_their_numbers():
    original = EVERY_BRANCH.read_text(encoding="utf-8").splitlines()
    changed = program_of(emit_probes(EVERY_BRANCH))
    for number, line in enumerate(original):
        if "{" not in line and "wattslice" not in changed[number] and "other.cuh" not in line:
            assert changed[number] == line
    assert changed[len(original) - 3].strip() == "cudaDeviceReset();"


@pytest.mark.parametrize(
    ("body", "kinds"),
    [
        ("if (i < n) a[i] = 0;", ["test"]),
        ("if (i < n) a[i] = 0; else if (i > 3) a[i] = 1; else a[i] = 2;", ["test", "test"]),
        ("for (int j = 0; j < n; ++j) a[j] = 0;", ["loop"]),
        ("for (;;) { if (a[i]) break; }", ["endless", "test"]),
        ("while (1) if (a[i]) break;", ["endless", "test"]),
        ("do { ++i; } while (i < n);", ["do"]),
        ("do { ++i; } while (0);", []),
        ("switch (a[i]) { case 1: case 2: a[i] = 0; default: a[i] = 1; }", ["switch"]),
        ("a[i] = i < n ? 1 : 2;", ["test"]),
        ("a[i] = i < n && n > 2;", ["logical"]),
        ("const int m = 3 > 2 ? 1 : 2; int few[m]; few[0] = i; a[0] = few[0];", []),
        ("if (sizeof(int) == 4) a[i] = 0;", []),
    ],
)
def test_what_is_counted(tmp_path, body, kinds):
    source = emitted(tmp_path, kernel(body))
    assert [probe.kind.value for probe in source.probes] == kinds
    assert source.not_probed == ()


@pytest.mark.parametrize(
    ("body", "before", "reason"),
    [
        ("SET(a[i])", "#define SET(x) if (x) x = 1;", "a macro writes it"),
        ("a[i] = PICK(i, n);", "#define PICK(x, y) ((x) < (y) ? 1 : 2)", "a macro writes it"),
        ("a[i] = larger(i, n);", "constexpr __device__ int larger(int x, int y) { return x > y ? x : y; }",
         "in a constexpr function, which the compiler may evaluate"),
        ("switch (a[i]) { case 1 ... 3: a[i] = 0; }", "", "a range of cases"),
        ("while (int left = a[i]) a[i] = left - 1;", "", "its condition declares a variable"),
        ("int two[2] = {1, 2}; for (int x : two) a[i] += x;", "", "a range-based for"),
    ],
)  # fmt: skip
def test_what_is_not_counted_is_said(tmp_path, body, before, reason):
    source = emitted(tmp_path, kernel(body, before))
    assert source.probes == ()
    assert [one.reason for one in source.not_probed] == [reason]


def test_headers_are_put_in_place(tmp_path):
    (tmp_path / "inc" / "deep").mkdir(parents=True)
    text = {
        "inc/h.cuh": '#pragma once\n#include "deep/d.cuh"\n__device__ int f(int i) { return i ? g(i) : 0; }',
        "inc/deep/d.cuh": '#include "plain.h"\n__device__ int g(int i) { if (i > kPlain) i = 1; return i;}\n',
        "inc/deep/plain.h": "const int kPlain = 3;\n",
        "k.cu": '// #include "inc/h.cuh"\n#include "inc/h.cuh"\n#include "inc/h.cuh"\n'
        "__global__ void k(int* a) { if (a[1]) a[0] = f(a[1]); }\n",
    }
    for name, content in text.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    source = emit_probes(tmp_path / "k.cu")
    assert source.not_probed == ()
    places = [(Path(probe.file).name, probe.line) for probe in source.probes]
    assert sorted(places) == [("d.cuh", 2), ("h.cuh", 3), ("k.cu", 4)]
    assert source.text.count("#ifndef WATTSLICE_PROBES_ONCE_1\n") == 2  # as often as it was included
    assert '#include "inc/deep/plain.h"' in source.text
    assert program_of(source)[3].startswith("__global__ void k")


@pytest.mark.slow
def test_a_header_that_no_line_names(tmp_path):
    (tmp_path / "h.cuh").write_text(
        "__device__ int f(int i) { if (i) return 1; return 0; }", encoding="utf-8"
    )
    text = '#define H "h.cuh"\n#include H\n__global__ void k(int* a) { a[0] = f(a[1]); }'
    source = emitted(tmp_path, text)
    assert [(Path(one.file).name, one.line, one.reason) for one in source.not_probed] == [
        ("h.cuh", 1, "in a file that no #include names as it is")
    ]


def test_host_code_is_left_alone(tmp_path):
    text = "int f(int x) { if (x) return 1; return 0; }\n" + kernel("a[i] = 0;")
    assert program_of(emitted(tmp_path, text))[0] == text.splitlines()[0]


def test_a_function_of_two_kernels_has_counters_for_each(tmp_path):
    text = """
__device__ int f(int i) { return i ? 1 : 0; }
__global__ void one(int* a) { a[0] = f(a[1]); }
__global__ void two(int* a) { a[0] = f(a[1]); }
"""
    source = emitted(tmp_path, text)
    assert source.probes[0].kernels == ("one", "two")
    assert source.text.count("wattslice_probes::kernel() = ") == 2


def test_comments_and_strings_are_no_code(tmp_path):
    body = 'if /* ( */ (i < n /* ) */ // ; )\n ) a[i] = \'"\'; const char* s = "? :"; a[0] = s[i] ? 1 : 0;'
    source = emitted(tmp_path, kernel(body))
    assert [probe.kind for probe in source.probes] == [ProbeKind.TEST, ProbeKind.TEST]
    assert "(i < n) ? true : false) /* ) */ // ; )" in source.text


def test_positions_are_those_of_the_analysis(tmp_path):
    (probe, inner) = emitted(tmp_path, kernel("\n  if (\n  i < n && a[i]) a[i] = 0;")).probes
    assert (probe.line, probe.column, inner.line, inner.column) == (3, 3, 4, 12)


def test_a_file_without_kernels(tmp_path):
    with pytest.raises(ProbeError, match="has no kernel"):
        emitted(tmp_path, "int main() { return 0; }")


def test_a_kernel_that_is_not_read_whole_may_call_everything(tmp_path):
    text = """
__device__ int f(int i) { return i ? 1 : 0; }
__global__ void one(int* a) { a[0] = f(a[1]); }
__global__ void two(int* a) { if (a[1]) goto end; { end: a[0] = 1; } }
"""
    assert emitted(tmp_path, text).probes[0].kernels == ("one", "two")


def test_a_kernel_that_a_macro_writes(tmp_path):
    text = """
#define KERNEL(name) __global__ void name(int* a) { a[0] = f(a[1]); }
__device__ int f(int i) { return i ? 1 : 0; }
KERNEL(one)
KERNEL(two)
"""
    with pytest.raises(ProbeError, match=r"k\.cu:4: a macro writes this function"):
        emitted(tmp_path, text)
