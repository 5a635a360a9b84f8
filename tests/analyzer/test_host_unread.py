"""Host code beside headers that are not installed, libraries, and more helpers than are read."""

from __future__ import annotations

import pytest

from wattslice.analysis import LaunchSource
from wattslice.frontend.cuda.read import read_cuda
from wattslice.frontend.parse_options import ParseOptions
from wattslice.frontend.project.runs import ProgramArguments
from wattslice.launches.launch import NO_OVERRIDES
from wattslice.launches.resolver import Neighbours, resolve_launches

from .geometry import GPU, launches, program

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


TOLD = """
#include <cstdlib>
#include <optional>
#include <tuple>
#include <vector>
__global__ void k(int n) {}
std::tuple<int, int> next();
int is_number(char *), looks_at(const char *), count();
int main(int argc, char **argv) {
    int n = 1;
    BODY
}
"""


@pytest.mark.parametrize(
    ("body", "told", "fix"),
    [
        (
            "is_number(argv[1]); n = atoi(argv[1]); k<<<n, 32>>>(1);",
            "'n' is perhaps set by is_number(), of which only a declaration was read; n assumed",
            "--set n=VALUE",
        ),
        (
            "is_number(argv[1]); n = std::strtol(argv[1], 0, 10); k<<<n, 32>>>(1);",
            "'n' is perhaps set by is_number(), of which only a declaration was read; n assumed",
            "--set n=VALUE",
        ),
        (
            "k<<<std::get<1>(next()), 32>>>(1);",
            "grid unknown: the result of next(); assumed",
            "--launch 'k=gx",
        ),
        ("int m; std::tie(n, m) = next(); k<<<m, 32>>>(1);", "'m' is the result of next()", "--set m=VALUE"),
        (
            "auto t = next(); n = std::get<0>(t); k<<<n, 32>>>(1);",
            "'n' is the result of next()",
            "--set n=VALUE",
        ),
        ("looks_at(argv[1]); n = 70000 - atoi(argv[1]); k<<<1, n>>>(1);", "the host code gives 69988", "--"),
        (
            "int at[99] = {1}; for (int x : at) { if (n > 5) break; n = count(); k<<<x, 32>>>(1); }",
            "('x' changes in a loop of unknown length)",
            "--",
        ),
        (
            "std::vector<int> v(99, 4); for (int x : v) { if (n > 5) break; n = count(); k<<<x, 32>>>(1); }",
            "('x' changes in a loop of unknown length)",
            "--",
        ),
        ("n = nothing_of_this(n)(3); k<<<n, 32>>>(1);", "a.cu, which could not be read; n", "--set n=VALUE"),
    ],
)
def test_why_a_number_is_unknown_names_what_the_source_has(tmp_path, body, told, fix) -> None:
    given = Neighbours(arguments=lambda main: ProgramArguments(("12",), "--args"))
    (launch,) = resolve_launches(program(tmp_path, TOLD.replace("BODY", body)), NO_OVERRIDES, GPU, given)
    messages = " ".join(one.message for one in launch.assumptions)
    assert told in messages
    assert launch.assumptions[0].fix.startswith(fix)
    assert "ws_" not in messages
    assert "__" not in messages


OF_TWO = """
__global__ void k(int n, int m) {}
int count(), there();
void one() { int n = 64; for (int i = 0; i < count(); i++) n *= 2; k<<<5, n>>>(n, 1); }
void two(int m) { int n = 64; if (there()) n = 3; k<<<m, n>>>(n, 2); }
"""


def test_a_launch_is_told_its_own_reason_not_that_of_a_namesake(tmp_path) -> None:
    first, second = launches(tmp_path, OF_TWO)
    assert [one.message.partition(";")[0] for one in first.assumptions if one.rule == "PW011"] == [
        "'n' changes in a loop of unknown length: the result of count()"
    ]
    assert {"m", "n"} == {one.name for one in second.assumed_variables}


OUT_OF_SIGHT = """
#include "missing.h"
#include <array>
#include <cstdio>
#include <tuple>
#include <utility>
__global__ void k(int n) {}
#define GRID_OF(w) dim3 g((w) / 2)
struct S { int n = 5, m = 6; static int of_all; };
static int own = 5, behind = 5;
int plain = 5;
extern int shared, *held;
int S::of_all = 5, shared = 5, *held = &behind;
struct App : lib::Base { App() { width = 5; } };
struct Other { static int blocks(int n) { return 5; } };
namespace detail { int blocks_of(int n) { return 5; } }
void declared();
int main() { BODY k<<<n, 32>>>(n); }
"""

GETS_BY_REFERENCE = [
    "S s; read(s); int n = s.n;",
    "S s; PARSE(s); int n = s.n;",
    "S s; lib::parse<S>(s); int n = s.n;",
    "S s; lib::Loader load; load(s); int n = s.n;",
    "dim3 g(5, 6); grid_of(g); int n = g.x;",
    "int2 g = make_int2(5, 6); grid_of(g); int n = g.x;",
    "std::array<int, 2> a{5, 6}; dims(a); int n = a[0];",
    "std::pair<int, int> p{5, 6}; dims(p); int n = p.first;",
    "std::tuple<int, int> p{5, 6}; dims(p); int n = std::get<0>(p);",
    'dim3 g(5); lib::File file; file.get("g", g); int n = g.x;',
]
ITS_OBJECT = [
    "lib::Options o; o.n = 5; o.parse(1); int n = o.n;",
    "lib::Options *o = new lib::Options; o->n = 5; o->parse(1); int n = o->n;",
    "App a; a.run(); int n = a.width;",
]
DROPPED = [
    "auto [w, h] = size(5); dim3 g((w + 15) / 16, h); int n = g.x;",
    "auto [w, h] = size(5); const dim3 g = {w, 1, 1}; int n = g.x;",
    "auto [w, h] = size(5); S s(w); int n = s.n;",
    "auto [w, h] = size(5); static int m = (w + 1) / 2; int n = m + 5;",
    "auto [w, h] = size(5); int n = 5; dim3 g(w, n++);",
    "auto [w, h] = size(5); GRID_OF(w); int n = g.x;",
]
OF_OTHER_FILES = [
    "declared(); int n = shared;",
    "undeclared(); int n = shared;",
    "undeclared(); int n = plain;",
    "declared(); int n = plain;",
    "declared(); int n = S::of_all;",
    "held = &behind; declared(); int n = behind;",
    "declared(); int n = *held;",
    "for (int i = 0; i < 9; i++) declared(); int n = shared;",
]
NAMESAKES = ["int n = blocks(64);", "int n = blocks_of(64);"]


@pytest.mark.parametrize("body", [*GETS_BY_REFERENCE, *ITS_OBJECT, *DROPPED, *OF_OTHER_FILES, *NAMESAKES])
def test_what_is_not_read_may_have_written_what_it_reaches(tmp_path, body) -> None:
    (launch,) = launches(tmp_path, OUT_OF_SIGHT.replace("BODY", body))
    assert launch.source is LaunchSource.ASSUMED


@pytest.mark.parametrize(
    ("body", "grid", "argument", "before"),
    [
        ("declared(&other); k<<<shared, 32>>>(shared + 1);", 5, 6, 5),
        ("shared = 7; declared(&other); declared(&other); k<<<shared, 32>>>(1);", 7, 1, 7),
        ("int n = 9; declared(&n); k<<<n, 32>>>(2);", 9, 2, 9),
        ("S s; declared(&s.n); k<<<s.n, 32>>>(s.m);", 6, 7, 6),
        ("declared(&other); k<<<3, 32>>>(shared);", 3, 5, 5),
        ("shared = 0; declared(&other); k<<<shared, 32>>>(1);", 1024, 1, None),
        ("char text[] = {'1', 0}; declared(text); int n = text[0]; k<<<n, 32>>>(1);", 1024, 1, None),
    ],
)
def test_what_is_perhaps_set_is_taken_to_be_what_it_was(tmp_path, body, grid, argument, before) -> None:
    text = "__global__ void k(int n) {}\nstruct S { int n = 6, m = 7; };\nvoid declared(void *);\n"
    (launch,) = launches(tmp_path, f"{text}int shared = 5; int main() {{ int other; {body} }}")
    known = {entry.name: entry.value for entry in launch.assumed_arguments}
    assert (launch.grid[0], known.get("n", launch.arguments[0])) == (grid, argument)
    assert launch.source is LaunchSource.ASSUMED or known
    told = str((launch.assumptions, launch.unknown_arguments))
    assert f"and {before} before" in told if before else "before" not in told


def test_what_one_variable_was_before_is_not_assumed_for_another_of_its_name(tmp_path) -> None:
    text = "#include <cstdlib>\n__global__ void k(int n) {}\n__global__ void k2(int n) {}\n"
    text += "void declared(int *);\nvoid f() { int n = 9; declared(&n); k<<<1, 32>>>(n); }\n"
    text += "int main(int argc, char **argv) { f(); int n = atoi(argv[1]); k2<<<1, 32>>>(n); }"
    one, two = launches(tmp_path, text)
    assert not any(entry.value == 9 for entry in (*one.assumed_arguments, *two.assumed_arguments))


def test_a_library_that_is_missing_sets_no_variable_of_the_program(tmp_path) -> None:
    text = OUT_OF_SIGHT.replace('"missing.h"', "<missing.h>")
    (launch,) = launches(tmp_path, text.replace("BODY", 'set_locale(0, ""); int n = shared;'))
    assert (launch.grid[0], launch.source) == (5, LaunchSource.HOST_CODE)


@pytest.mark.parametrize(
    "body",
    [
        "declared(); undeclared(); int n = own;",
        "cuCtxSynchronize(); eglSwapBuffers(0, 1); int n = shared;",
        "const dim3 g(5, 6); show(g); int n = g.x;",
        "S s; read(s.m + 1); int n = s.n;",
        'printf("%d", shared); int n = shared;',
        "dim3 g(5); int n = g.x;",
        "S s; static S t; static int z; int n = s.n + z;",
        "int n = Other::blocks(64);",
        "int n = detail::blocks_of(64);",
    ],
)
def test_what_it_does_not_reach_is_kept(tmp_path, body) -> None:
    (launch,) = launches(tmp_path, OUT_OF_SIGHT.replace("BODY", body))
    assert (launch.source, launch.grid) == (LaunchSource.HOST_CODE, (5, 1, 1))


@pytest.mark.parametrize(
    ("folder", "source"), [("one", LaunchSource.ASSUMED), ("one/two/three", LaunchSource.HOST_CODE)]
)
def test_a_library_in_a_folder_far_away_does_not_write_what_the_program_shares(
    tmp_path, folder, source
) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "lib.h").write_text("void declared();\n")
    text = '#include "lib.h"\n__global__ void k(int n) {}\nextern int shared;\nint shared = 5;\n'
    text += "int main() { declared(); k<<<shared, 32>>>(7); }\n"
    options = ParseOptions(include_dirs=(tmp_path / "lib",))
    read = read_cuda(tmp_path / folder / "a.cu", options, text.encode())
    (launch,) = resolve_launches(read, NO_OVERRIDES, GPU)
    assert launch.source is source


CUT = """
#include <memory>
__global__ void k(int n) {{}}
int n = 4;
struct Pair {{ int &x; }};
struct Own {{ int v = 4; int *p = &v; void set(); int get() const; int read() {{ return v; }} }};
struct At {{ int *where; int operator<(int by) const {{ *where = by; return 1; }} }};
void inner() {{ n = 7; }}
void outer() {{ inner(); }}
{function} {{ {body} }}
int main() {{ int a = 4; Own o; At at{{&a}}; {call}; k<<<{said}, 32>>>(1); }}
"""


@pytest.mark.parametrize(
    ("function", "body", "call", "said", "grid"),
    [
        ("void f(int &x)", "x = 7;", "f(a)", "a", None),
        ("void f(int &x)", "x <<= 1;", "f(a)", "a", None),
        ("void f(int *x)", "*x = 7;", "f(&a)", "a", None),
        ("void f(const int &x)", "n = x;", "f(a)", "a", 4),
        ("void f(const int &x)", "n = x;", "f(a)", "n", None),
        ("void f(const At &x)", "*x.where = 7;", "f(at)", "a", None),
        ("int f(const At &x)", "return x < 7;", "f(at)", "a", None),
        ("void f(const std::shared_ptr<int> &x)", "*x = 7;",
         "auto s = std::make_shared<int>(4); f(s)", "*s", None),
        ("void f(int x)", "outer();", "f(a)", "n", None),
        ("int f(int x)", "if (x == 4) return x; else return x <= 3;", "f(a)", "n", 4),
        ("int &f(int &x)", "return x;", "f(a) = 7", "a", None),
        ("int &f(int &x)", "return x;", "int &r = f(a); a = 4; r = 7", "a", None),
        ("Pair f(int &x)", "return {x};", "Pair p = f(a); p.x = 7", "a", None),
        ("void Own::set()", "v = 7;", "o.set()", "o.v", None),
        ("int Own::get() const", "*p = 7; return v;", "o.get()", "o.v", None),
        ("int f(int x)", "return x;", "a = f(a)", "a", None),
    ],
)  # fmt: skip
def test_a_function_beyond_those_that_are_followed_may_write(
    monkeypatch, tmp_path, function, body, call, said, grid
) -> None:
    """The value is lost of what it gets and of what is at file scope, but for formulas of numbers."""
    monkeypatch.setattr("wattslice.frontend.cuda.lowering.host._MOST_FUNCTIONS", 1)
    (launch,) = launches(tmp_path, CUT.format(function=function, body=body, call=call, said=said))
    known = launch.grid[0] if launch.source is LaunchSource.HOST_CODE else None
    assert known == grid


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("template <class T> struct T1 { static int n; }; template <class T> int T1<T>::n = 4;"
         "void set() { T1<int>::n = 9; }", "set(); k<<<T1<int>::n, 32>>>(1);"),
        ("template <int N> int of = 4; void set() { of<3> = 9; }", "set(); k<<<of<3>, 32>>>(1);"),
        ("int f(int x) { if (x > 3) throw 4; return 2; }",
         "int a = 3; try { a = f(5); a = 8; } catch (int) {} k<<<a, 32>>>(1);"),
        ("int f(int x) { if (x > 3) throw 4; return 2; } int g(int x) { return f(x); }",
         "int a = 3, b = 4; try { b = g(5); a = 8; } catch (int) {} k<<<a, 32>>>(1);"),
        ("int *hold; void keep(int &x) { hold = &x; } void set() { *hold = 9; }",
         "int a = 4; keep(a); a = 5; set(); k<<<a, 32>>>(1);"),
        ("struct K { int *p; void keep(int *x) { p = x; } void set() { *p = 9; } };",
         "int a = 4; K o; o.keep(&a); a = 5; o.set(); k<<<a, 32>>>(1);"),
    ],
)  # fmt: skip
def test_what_a_function_beyond_those_may_come_to(monkeypatch, tmp_path, head, body) -> None:
    """It writes static variables of templates, keeps addresses, throws."""
    monkeypatch.setattr("wattslice.frontend.cuda.lowering.host._MOST_FUNCTIONS", 1)
    (launch,) = launches(tmp_path, f"__global__ void k(int n) {{}}\n{head}\nint main() {{ {body} }}")
    assert launch.source is LaunchSource.ASSUMED


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("void go() { k<<<4, 32>>>(1); } void twice() { go(); go(); }", "go(); twice();"),
        ("void go() { k<<<4, 32>>>(1); } void once() { go(); } void twice() { once(); once(); }", "twice();"),
        ("struct B { virtual void go() { k<<<4, 32>>>(1); } }; void twice(B &b) { b.go(); b.go(); }",
         "B b; b.go(); twice(b);"),
        ("int go() { k<<<4, 32>>>(1); return 3; } int f(int a, int b = go()) { return a + b; }",
         "f(2); f(2); go();"),
    ],
)  # fmt: skip
def test_how_often_functions_beyond_those_launch_is_unknown(monkeypatch, tmp_path, head, body) -> None:
    monkeypatch.setattr("wattslice.frontend.cuda.lowering.host._MOST_FUNCTIONS", 1)
    (launch,) = launches(tmp_path, f"__global__ void k(int n) {{}}\n{head}\nint main() {{ {body} }}")
    assert (launch.grid[0], launch.times) == (4, None)


def test_a_function_beyond_those_may_end_the_program(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("wattslice.frontend.cuda.lowering.host._MOST_FUNCTIONS", 1)
    head = "#include <cstdlib>\n__global__ void k(int n) {}\nvoid usage(int x) { exit(1); }\n"
    (launch,) = launches(tmp_path, f"{head}int main() {{ usage(3); k<<<4, 32>>>(1); }}")
    assert (launch.times, launch.times_unknown) == (
        None,
        "the host code does not come to it with the values read or assumed",
    )


@pytest.mark.parametrize("most", [2, 3])
def test_a_constructor_beyond_those_writes_statics_of_functions_that_are_followed(
    monkeypatch, tmp_path, most
) -> None:
    monkeypatch.setattr("wattslice.frontend.cuda.lowering.host._MOST_FUNCTIONS", most)
    head = "struct C { static int &n() { static int v = 3; return v; } C() { n()++; } };"
    head += "void set() { C a, b; }"
    body = "int a = C::n(); set(); k<<<C::n(), 32>>>(a);"
    (launch,) = launches(tmp_path, f"__global__ void k(int n) {{}}\n{head}\nint main() {{ {body} }}")
    assert (launch.source, launch.arguments) == (LaunchSource.ASSUMED, (3,))


def test_long_functions_are_followed(tmp_path) -> None:
    blank = "\n" * 200
    head = f"__global__ void k(int n) {{}}\nvoid f(int &x) {{ {blank} x = 7; }}\n"
    (launch,) = launches(tmp_path, f"{head}int main() {{ int a = 4; f(a); k<<<a, 32>>>(1); }}")
    assert (launch.grid[0], launch.source) == (7, LaunchSource.HOST_CODE)


def test_entry_points_of_a_library_meet_what_others_set(tmp_path) -> None:
    head = "__global__ void k(int n) {}\nint n = 4, m = 5;\nvoid set(int x) { n = x; }\n"
    (launch,) = launches(tmp_path, f"{head}void go() {{ m = 6; k<<<m, 32>>>(n); }}")
    assert (launch.grid[0], launch.arguments) == (6, (None,))


@pytest.mark.parametrize("made", ["std::weak_ptr<Own> w = s;", "std::weak_ptr<Own> w; w = s;"])
def test_what_a_weak_pointer_leads_to_may_be_written(tmp_path, made) -> None:
    head = "#include <memory>\n__global__ void k(int n) {}\nstruct Own { int v = 6; };\n"
    body = f"auto s = std::make_shared<Own>(); {made} if (auto l = w.lock()) l->v++; k<<<s->v, 32>>>(1);"
    (launch,) = launches(tmp_path, f"{head}int main() {{ {body} }}")
    assert launch.source is LaunchSource.ASSUMED


POINTED = """
#include <array>
#include <memory>
#include <vector>
struct S { int n; };
struct Net { std::vector<std::shared_ptr<S>> v; };
typedef std::array<S *, 1> Four;
void shared(const std::vector<std::shared_ptr<S>> &v);
void plain(std::vector<S *> v);
void four(const Four &v);
void whole(const Net &net);
void sizes(const std::vector<int> &v);
__global__ void k(int n) {}
"""


@pytest.mark.parametrize(
    ("body", "is_known"),
    [
        ("std::vector<std::shared_ptr<S>> v{std::make_shared<S>(S{7})}; shared(v);k<<<v[0]->n, 32>>>(1);", 0),
        ("std::vector<S *> v{new S{7}}; plain(v); k<<<v[0]->n, 32>>>(1);", 0),
        ("Four v = {new S{7}}; four(v); k<<<v[0]->n, 32>>>(1);", 0),
        ("Net a; a.v.push_back(std::make_shared<S>(S{7})); whole(a); k<<<a.v[0]->n, 32>>>(1);", 0),
        ("std::vector<int> v{7}; sizes(v); k<<<v[0], 32>>>(1);", 1),
        ("int n = 7; int &r = n; lost::Op f(r); f(); k<<<n, 32>>>(1);", 0),
        ("S s[1] = {{7}}; auto &r = s[0].n; lost::Op f(r); f(); k<<<s[0].n, 32>>>(1);", 0),
        ("std::vector<S> s{S{7}}; for (auto &r : s) { lost::Op f(r); f(); } k<<<s[0].n, 32>>>(1);", 0),
        ("S s[1] = {{7}}; for (auto &r : s) { lost::Op f(r); f(); } k<<<s[0].n, 32>>>(1);", 0),
        ("int n = 7, m = 8; int &r = m; lost::Op f(r); f(); k<<<n, 32>>>(1);", 1),
    ],
)
def test_what_is_behind_elements_and_references_may_be_written(tmp_path, body: str, is_known: int) -> None:
    (launch,) = launches(tmp_path, f"{POINTED} int main() {{ {body} }}")
    assert (launch.source is LaunchSource.HOST_CODE) is bool(is_known)
    assert launch.grid == (7, 1, 1) or not is_known
