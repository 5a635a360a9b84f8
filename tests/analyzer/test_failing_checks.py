"""Checks that end the program with the values that the host code gives."""

from __future__ import annotations

import pytest

from .geometry import launches

FAILING = [
    # what is tested, and what follows from it, is not what a check that ends the program does not let pass
    ("int n = 0, c; while ((c = getopt(argc, argv, \"n:\")) != -1) n = atoi(optarg);"
     " if (n <= 0) { puts(\"need n\"); return 1; } k<<<512, 64>>>(n);", (512, None, None)),
    ("int n = 0, c; char *f = 0; while ((c = getopt(argc, argv, \"n:f:\")) != -1)"
     " if (c == 'n') n = atoi(optarg); else f = optarg; if (f == 0 || n <= 1) usage(0); k<<<512, 64>>>(n);",
     (512, None, 1)),
    ("int n = 7, c; char *f = 0; while ((c = getopt(argc, argv, \"n:f:\")) != -1)"
     " if (c == 'n') n = atoi(optarg); else f = optarg; if (f == 0 || n <= 1) usage(0); k<<<512, 64>>>(n);",
     (512, 7, 1)),
    ("S s; s.n = -1; if (s.n < 0) exit(2); k<<<8, 64>>>(s.n);", (8, None, None)),
    ("int n = 0; int m = 2 * n + 3; if (!n) usage(0); k<<<8, 64>>>(m);", (8, None, None)),
    ("int n = 100; if (n % 3 != 0) return 1; k<<<8, 64>>>(7);", (8, 7, None)),
    ("int n = 5; if (n < 8) return 1; k<<<n, 64>>>(7);", (8, 7, None)),  # the nearest that passes
    ("int n = 100; assert(n % 3 == 0 && \"thirds\"); k<<<8, 64>>>(7);", (8, 7, None)),
    ("int n = 5; assert(n < 8); k<<<n, 64>>>(7);", (5, 7, 1)),
    ("int n = atoi(argv[1]); assert(n > 3); k<<<8, 64>>>(7);", (8, 7, 1)),
    ("int n = 6; assert(n++ > 3); k<<<n, 64>>>(7);", (7, 7, 1)),
    ("int n = 0; if (n == 0) n = 3; k<<<8, 64>>>(n);", (8, 3, 1)),  # no check
    ("int n = 9; if (n == 0) return 1; k<<<8, 64>>>(n);", (8, 9, 1)),  # passed
    ("for (int n = 0; n < 9; n++) { if (n < 2) continue; k<<<8, 64>>>(n); }", (8, 5, 7)),
    ("if (argc < 2) return 1; int n = argc > 1 ? atoi(argv[1]) : 0; k<<<8, 64>>>(n);", (8, None, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), FAILING)
def test_what_a_check_does_not_let_pass_is_unknown(tmp_path, body, expected):
    head = (
        "#include <cassert>\n#include <cstdio>\n#include <cstdlib>\n#include <unistd.h>\n"
        "struct S { int n; };\n"
        "__global__ void k(int n) {}\nvoid usage(int code) { puts(\"usage\"); if (code) exit(1); exit(2); }\n"
    )  # fmt: skip
    (launch,) = launches(tmp_path, f"{head}int main(int argc, char **argv) {{ {body} }}")
    assert (launch.grid[0], launch.arguments[0], launch.times) == expected
