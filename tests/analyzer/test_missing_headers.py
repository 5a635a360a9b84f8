"""What a header that is not there may say: loops of its macros, its types, launches that it makes."""

from __future__ import annotations

import pytest

from wattslice import analyze_text
from wattslice.launches.launch import LaunchSource

from .geometry import launches, program

HEAD = '#include "absent.h"\n__global__ void k(float *a, int n) {}\n'


@pytest.mark.parametrize(
    ("body", "times", "why"),
    [
        ("FOR_RANGE(i, 10) { k<<<8, 32>>>(0, 7); }", None, "the result of FOR_RANGE()"),
        ('TIMED("x")\n{ k<<<8, 32>>>(0, 7); }', None, "the result of TIMED()"),
        ("REPEAT(4, k<<<8, 32>>>(0, 7));", None, "the result of REPEAT()"),
        ("REP(i, 10) k<<<8, 32>>>(0, 7);", None, "the result of REP()"),
        ("REP(i, f(g(h(2)))) // ten\n  /* times */ k<<<8, 32>>>(0, 7);", None, "the result of REP()"),
        ("for (int t = 0; t < 3; t++) REP(i, 4) k<<<8, 32>>>(0, 7);", None, "the result of REP()"),
        ("REP(i, 2) for (int t = 0; t < 3; t++) k<<<8, 32>>>(0, 7);", None, "the result of REP()"),
        ("REP(i, 2) f(i); k<<<8, 32>>>(0, 7);", 1, ""),
        ("f(1); { k<<<8, 32>>>(0, 7); }", 1, ""),
        ("if (f(1)) g(2); { k<<<8, 32>>>(0, 7); }", 1, ""),
        ("for (int i = 0; i < 3; i++) { k<<<8, 32>>>(0, 7); }", 3, ""),
    ],
)
def test_how_often_a_macro_of_a_missing_header_runs_is_unknown(tmp_path, body, times, why):
    (launch,) = launches(tmp_path, f"{HEAD}int main() {{ {body} }}")
    assert (launch.grid[0], launch.block[0], launch.times) == (8, 32, times)
    assert launch.times_unknown.endswith(why)


def test_a_kernel_that_a_macro_of_a_missing_header_is_given_is_told_so(tmp_path):
    (launch,) = launches(tmp_path, f"{HEAD}int main() {{\n  KERNEL_LAUNCH(k, 8, 32, 0, 7);\n}}")
    assert "no launch is read: line 4 gives it to KERNEL_LAUNCH()" in launch.assumptions[0].message


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("idx_t n = (idx_t)70000; k<<<8, 32>>>(0, n);", ["idx_t assumed int"]),
        ("small_t n = 250; k<<<8, 32>>>(0, n);", ["small_t assumed int"]),
        (
            "k<<<8, 32, sizeof(real_t) * 32>>>(0, 7);",
            ["dynamic shared memory of k unknown: the size of a type"],
        ),
        (
            "struct P { real_t x, y; }; k<<<8, 32, sizeof(P)>>>(0, 7);",
            ["dynamic shared memory of k unknown: the size of a type"],
        ),
        ("handle_t h; init(&h); k<<<8, 32, sizeof(int)>>>(0, 7);", []),
    ],
)
def test_types_of_a_missing_header_are_told(tmp_path, body, told):
    (launch,) = launches(tmp_path, f"{HEAD}int main() {{ {body} }}")
    messages = [one.message for one in launch.assumptions if one.rule == "PW011"]
    assert len(messages) == len(told)
    assert all(message.startswith(begin) for message, begin in zip(messages, told, strict=True))
    assert not told or "dynamic" in told[0] or "absent.h, which may declare it, was not found" in messages[0]


@pytest.mark.parametrize(
    "header", ["sm_61_intrinsics.h", "device_types.h", "library_types.h", "nvToolsExtCuda.h"]
)
def test_headers_of_the_toolkit_are_known(tmp_path, header):
    read = program(
        tmp_path, f"#include <{header}>\n__global__ void k(int *a) {{ a[0] = __dp4a(a[1], a[2], 0); }}"
    )
    assert read.diagnostics == ()


@pytest.mark.parametrize(
    "body",
    [
        "Config o = {64}; k<<<o.n, 32>>>(0, 7);",
        "Config o{64, 2}; k<<<o.n, 32>>>(0, 7);",
        "auto o = Config{64}; k<<<o.n, 32>>>(0, 7);",
        "lib::Config o = {64}; k<<<o.n, 32>>>(0, 7);",
        "lib::Config c = {7}, o = {64}; k<<<o.n, 32>>>(0, 7);",
    ],
)
def test_what_a_class_of_a_missing_header_makes_of_values_in_braces_is_unknown(tmp_path, body):
    (launch,) = launches(tmp_path, f"{HEAD}int main() {{ {body} }}")
    assert [one.name.partition(".")[0] for one in launch.assumed_variables] == ["o"]
    assert launch.source is LaunchSource.ASSUMED


@pytest.mark.parametrize(
    ("body", "known"),
    [
        ('spdlog::info("n={}", n);', 8),
        ('fmt::print("n={} {}", n, m);', 8),
        ('LOG_DEBUG("n", n);', None),
        ('scn::input("{}", n);', None),
        ("info(n);", None),
        ('spdlog::info("n={}", n); n = 9;', 9),
    ],
)
def test_what_is_logged_stays_as_it_is(tmp_path, body, known):
    text = f"{HEAD}int m;\nint main() {{ int n = 8; m = 32; {body} k<<<n, m>>>(0, 7); }}"
    (launch,) = launches(tmp_path, text)
    assert known is None or (launch.grid[0], launch.block[0], launch.source) == (
        known,
        32,
        LaunchSource.HOST_CODE,
    )
    assert (launch.source is LaunchSource.ASSUMED) is (known is None)


def test_what_is_said_of_a_line_names_what_nothing_declares():
    text = "__global__ void k(float *x) { x[0] = b[0]; }\nint main() { k<<<1, 32>>>(nullptr); }"
    (told,) = (one.message for one in analyze_text(text).diagnostics if one.rule == "PW001")
    assert told.endswith("(nothing declares 'b')")
