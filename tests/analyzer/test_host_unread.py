"""Host code beside headers that are not installed, libraries, and more helpers than are read."""

from __future__ import annotations

import pytest

from wattslice.analysis import LaunchSource

from .geometry import launches

MISSING = """
#include <missing.h>
#include <vector>
struct App {
    missing::Buffer<int, missing::COUNT> buffer;
    int w, h;
    int z;
    void run();
};
__global__ void k(int w, int h, int z) {}
void App::run() { w = 3; h = 5; z = 7; k<<<h, 128>>>(w, h, z); }
int main() { App app; app.run(); }
"""


def test_members_behind_one_of_an_unknown_type_are_kept_apart(tmp_path) -> None:
    (launch,) = launches(tmp_path, MISSING)
    assert launch.grid == (5, 1, 1)
    assert launch.arguments == (3, 5, 7)


SIZE = """
#include <vector>
__global__ void k(int n) {}
static int calls = 0;
int size(const int &v) { calls += 5; return v; }
int main() {
    std::vector<int> v(2);
    int n = v.size() + calls;
    k<<<1, 32>>>(n);
    k<<<2, 32>>>(size(4));
}
"""


def test_a_method_of_the_library_is_no_function_of_that_name(tmp_path) -> None:
    first, second = launches(tmp_path, SIZE)
    assert first.arguments == (2,)
    assert second.arguments == (4,)


def with_helpers(number: int) -> str:
    far = "\n".join(f"int far{i}(int x) {{ return x + {i}; }}" for i in range(number))
    chain = " + ".join(f"far{i}(n)" for i in range(number))
    return f"""
__global__ void k(int n) {{}}
struct App {{
    int n;
    float data;
    {far}
    int a_many() {{ return {chain}; }}
    void z_note(float *where) {{ *where = 1; n += 1; }}
    void run() {{ z_note(&data); k<<<n, 32>>>(n); }}
}};
int main() {{ App app; app.n = 4; app.a_many(); app.run(); }}
"""


def test_methods_near_the_launch_are_read_before_those_far_away(tmp_path) -> None:
    """160 functions of a program are read at most; a method that writes its object is one of them."""
    (launch,) = launches(tmp_path, with_helpers(170))
    assert launch.grid == (5, 1, 1)


@pytest.mark.parametrize(
    ("statement", "times"),
    [
        ("k<<<unknown_size, 32>>>(7);", 1),
        ("for (auto &[name, size] : unknown_sizes) k<<<size, 32>>>(7);", None),
        ("if (rand()) k<<<unknown_size, 32>>>(7);", None),
    ],
)
def test_how_often_a_statement_that_is_not_read_launches(tmp_path, statement, times) -> None:
    head = "#include <cstdlib>\n#include <map>\n__global__ void k(int n) {}\n"
    body = f"int n = 4; std::map<int, int> sizes{{{{1, 2}}, {{3, 4}}}}; {statement}"
    (launch,) = launches(tmp_path, f"{head}int main() {{ {body} }}")
    assert (launch.source, launch.times) == (LaunchSource.ASSUMED, times)


@pytest.mark.parametrize(
    "text",
    [
        '#define REAL double\nextern "C" REAL go(int n) { k<<<n, 32>>>(5); return 1; }',
        "#define API static\nAPI void go(int n) { k<<<n, 32>>>(5); }",
        "#define END }\nvoid go(int n) { k<<<n, 32>>>(5); END",
        "#define START void go(int n) {\n#define END }\nSTART k<<<n, 32>>>(5); END",
        "#define DEFINE(name) void name(int n) { k<<<n, 32>>>(5); }\nDEFINE(go)",
    ],
)
def test_a_function_that_begins_or_ends_in_a_macro_is_read(tmp_path, text) -> None:
    (launch,) = launches(tmp_path, f"__global__ void k(int n) {{}}\n{text}\nint main() {{ go(7); }}\n")
    assert (launch.grid[0], launch.source) == (7, LaunchSource.HOST_CODE)


def test_what_is_dropped_in_a_function_that_begins_in_a_macro_is_lost(tmp_path) -> None:
    text = "#define REAL double\nREAL go() { int a = 1; a = lost::value; k<<<a, 32>>>(5); return 1; }"
    (launch,) = launches(tmp_path, f"__global__ void k(int n) {{}}\n{text}\nint main() {{ go(); }}\n")
    assert launch.source is LaunchSource.ASSUMED
    body = "int a = 1; goto in; { in: a *= 2; } k<<<a, 32>>>(5); return 1;"
    text = f"#define REAL double\nREAL go() {{ {body} }}"
    (launch,) = launches(tmp_path, f"__global__ void k(int n) {{}}\n{text}\nint main() {{ go(); }}\n")
    assert launch.source is LaunchSource.ASSUMED


LONG = "int s = i; for (int j = 0; j < 14; j++) { " + "s = s * 3 + j; s ^= i; " * 40 + "}"
REASONS = [
    ("a member that nobody declares", "auto *u = made(); int n = int(u->of->sizes[2] / sizeof(int));",
     "'n' is the result of line 7 of a.cu, which could not be read"),
    ("a word as a number", "int e, u = strtol(argv[1], 0, 10); frexpf(u, &e); int n = e;",
     "'u' is given on the command line"),
    ("memory without a name",
     "int *p = (int *)malloc(40), m = elsewhere(p); for (int i = 0; i < m; i++) p[1] = i; int n = p[1];",
     "'n' unknown, 'memory of malloc()' changes in a loop of unknown length: the result of elsewhere()"),
    ("a loop that takes too many steps",
     f"int n = 0; for (int i = 0; i < 9; i++) {{ {LONG} if (s > 5) n++; }}",
     "'n' changes in a loop for which too few steps are left"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "reason"), [r[1:] for r in REASONS], ids=[r[0] for r in REASONS])
def test_why_a_number_is_unknown(tmp_path, code, reason) -> None:
    text = f"""#include <missing.h>
    #include <cmath>
    #include <cstdlib>
    int elsewhere(int *);
    __global__ void k(int n) {{}}
    int main(int argc, char **argv) {{
        {code} k<<<1, 32>>>(n);
    }}"""
    (launch,) = launches(tmp_path, text)
    assert [unknown.reason for unknown in launch.unknown_arguments] == [reason]
