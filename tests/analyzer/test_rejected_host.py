"""Host statements that clang rejects: what they may write is unknown, and no launch is lost silently."""

from __future__ import annotations

import pytest

from wattslice.analysis import LaunchSource
from wattslice.frontend.cuda.lowering.macros import Macros, tokens_of

from .geometry import launches

KERNEL = "__global__ void k(int n) {}\n"

WRITES = [
    "n = lost::size();",
    "n += lost::size();",
    "lost::read(&n);",
    "lost::read(n);",
    "lost::in >> n;",
    "lost::first = ++n, lost::second;",
    "lost::Thing t(n);",
    "lost::Thing t{3, n};",
    "{ lost::Thing t; t.get(n); }",
    "if (lost::Thing::ready()) n = 32;",
    "for (int i = 0; i < lost::Thing::count(); i++) n *= 2;",
    "n = lost::size(); { int n = 3; (void)n; }",
    "{ int n = 3; (void)n; } lost::read(&n);",
    "while (lost::Thing::more()) { n--; }",
    "switch (lost::Thing::kind()) { case 1: n = 32; }",
]


@pytest.mark.parametrize("statement", WRITES)
def test_what_a_rejected_statement_may_write_is_unknown(tmp_path, statement):
    (launch,) = launches(tmp_path, f"{KERNEL}int main() {{ int n = 64; {statement} k<<<4, n>>>(7); }}")
    assert launch.source is LaunchSource.ASSUMED
    assert launch.assumptions


READS = [
    "lost::write(n * 2);",
    "lost::out << n;",
    'printf("%d", lost::of(2), n);',
    "int m = lost::size();",
    "lost::write(lost::kind, n + 1);",
    "lost::first += static_cast<float>(n);",
    "lost::first[static_cast<size_t>(n) * n] = 1;",
    "cudaError_t e = cudaOfTomorrow(n); if (e) return 1;",
]


@pytest.mark.parametrize("statement", READS)
def test_what_a_rejected_statement_only_reads_stays_known(tmp_path, statement):
    text = f"#include <cstdio>\n{KERNEL}int main() {{ int n = 64; {statement} k<<<4, n>>>(n); }}"
    (launch,) = launches(tmp_path, text)
    assert (launch.block, launch.source, launch.arguments) == ((64, 1, 1), LaunchSource.HOST_CODE, (64,))


PLACES = [
    ("a global", "int n = 64;", "n = lost::size();"),
    ("behind a pointer", "int m = 64, *n_ = &m;", "*n_ = lost::size(); int n = m;"),
    ("a member", "struct S { int n; } s;", "s.n = 64; s.n = lost::size(); int n = s.n;"),
    ("an element", "int a[3];", "a[1] = 64; a[1] = lost::size(); int n = a[1];"),
    ("an array by an address in it", "int a[3];", "a[1] = 64; lost::read(a + 1, 2); int n = a[1];"),
    ("what lies ahead of a pointer", "int a[3];", "a[1] = 64; int *p = a; lost::read(p + 1); int n = a[1];"),
]


@pytest.mark.parametrize(("before", "body"), [pytest.param(*place[1:], id=place[0]) for place in PLACES])
def test_every_kind_of_place_is_forgotten(tmp_path, before, body):
    (launch,) = launches(tmp_path, f"{KERNEL}{before}\nint main() {{ {body} k<<<4, n>>>(7); }}")
    assert launch.source is LaunchSource.ASSUMED


def test_the_line_that_could_not_be_read_is_named(tmp_path):
    text = f"{KERNEL}int main() {{\n int n = 64;\n n = int::size();\n k<<<4, n>>>(n);\n}}"
    (launch,) = launches(tmp_path, text)
    assert "'n' is written on line 4 of a.cu, which could not be read" in launch.assumptions[0].message


JUMPS = [
    "for (int i = 0; i < 9; i++) {{ n *= 2; if (i == 1) goto out; }} n = 3; out: {rejected} k<<<n, 32>>>(7);",
    "if (n == 1) {{ n = 4; goto out; }} {rejected} n = 3; out: k<<<n, 32>>>(7);",
    "{rejected} if (n == 1) {{ n = 4; goto out; }} n = 3; out: {{ k<<<n, 32>>>(7); }}",
    "up: n *= 2; {rejected} if (n < 4) goto up; k<<<n, 32>>>(7);",
]


@pytest.mark.parametrize("body", JUMPS)
@pytest.mark.parametrize("rejected", ["int::size();", "if (int::size()) return 1;", "v.nope(); ", ""])
def test_jumps_in_a_function_with_rejected_statements_are_followed(tmp_path, body, rejected):
    text = f"{KERNEL}struct V {{}}; int main() {{ V v; int n = 1; {body.format(rejected=rejected)} }}"
    (launch,) = launches(tmp_path, text)
    assert (launch.grid[0], launch.source) == (4, LaunchSource.HOST_CODE)


@pytest.mark.parametrize(
    "body",
    [
        "if (v.nope()) goto out; n = 3; out: k<<<n, 32>>>(7);",
        "for (auto x : v) goto out; n = 3; out: k<<<n, 32>>>(7);",
        "up: n *= 2; k<<<n, 32>>>(7); for (auto x : v) goto up;",
        "int::f(); goto in; n = 2; { in: n += 2; } k<<<n, 32>>>(7);",
        "if (n == 2) goto out; out: int z = int::f(&n); k<<<n, 32>>>(7);",
    ],
)
def test_what_a_rejected_jump_may_pass_over_or_repeat_is_unknown(tmp_path, body):
    text = f"{KERNEL}struct V {{}}; V take(int *); int main() {{ V v; int n = 1; {body} }}"
    (launch,) = launches(tmp_path, text)
    assert launch.source is LaunchSource.ASSUMED
    assert launch.block[0] == 32 or "goto" in launch.assumptions[0].message


def test_a_rejected_jump_to_a_label_that_follows_is_one_that_may_be_taken(tmp_path):
    body = "int n = 1; if (n > 5) return 1; for (auto x : v) goto out; n = 3; out: k<<<n, 32>>>(7);"
    (launch,) = launches(tmp_path, f"{KERNEL}struct V {{}}; int main() {{ V v; {body} }}")
    assert (launch.source, launch.block, launch.times) == (LaunchSource.ASSUMED, (32, 1, 1), 1)


def test_a_goto_that_is_not_followed_is_named(tmp_path):
    text = f"{KERNEL}int main() {{\n int n = 64;\n goto in;\n {{ in: k<<<4, n>>>(n); }} }}"
    (launch,) = launches(tmp_path, text)
    assert launch.times is None
    assert "decided by the goto on line 4 of a.cu, which is not followed" in launch.assumptions[0].message


LOST = [
    "k<<<4, lost::size()>>>(7);",
    "k<<<4, 64>>>(lost::a, 7);",
    "if (lost::Thing::on()) k<<<lost::x, 64>>>(7);",
]


@pytest.mark.parametrize("statement", LOST)
def test_a_launch_that_could_not_be_read_is_a_launch(tmp_path, statement):
    (launch,) = launches(tmp_path, f"{KERNEL}int main() {{ {statement} }}")
    assert (launch.source, launch.line) == (LaunchSource.ASSUMED, 2)
    assert "no launch" not in launch.assumptions[0].message


MACROS = {
    "one of a call": ("#define RUN(kern, g, ...) kern<<<g, 64>>>(__VA_ARGS__)", "RUN(k, std::widest(1), 7);"),
    "with the rest named": (
        "#define RUN(kern, g, rest...) kern<<<(g), 64>>>(7, ##rest)", "RUN(k, std::widest(1));"),
    "on several lines": ("#define RUN(g) \\\n  k<<<g, \\\n  64>>>(7)", "RUN(std::widest(1));"),
    "without brackets": ("#define LAUNCH k<<<std::widest(1), 64>>>(7)", "LAUNCH;"),
    "by way of another": (
        "#define INNER(kern, g) kern<<<g, 64>>>(7)\n#define RUN(g) do { INNER(k, g); } while (0)",
        "RUN(std::widest(1));"),
    "with joined names": ("#define RUN(a, b, g) a##b<<<g, 64>>>(7)", "RUN(, k, std::widest(1));"),
    "defined in two ways": (
        "#ifndef OLD\n#define RUN(g) k<<<g, 64>>>(7)\n#else\n#define RUN(g) old_launch(g)\n#endif",
        "RUN(std::widest(1));"),
    "which names itself": ("#define k(g) k<<<g, 64>>>(7)", "k(std::widest(1));"),
}  # fmt: skip


@pytest.mark.parametrize(("macro", "statement"), [pytest.param(*MACROS[case], id=case) for case in MACROS])
def test_a_launch_of_a_macro_that_could_not_be_read_is_a_launch(tmp_path, macro, statement):
    (launch,) = launches(tmp_path, f"#include <numeric>\n{KERNEL}{macro}\nint main() {{\n {statement} }}")
    assert launch.source is LaunchSource.ASSUMED
    assert "could not be read" in launch.assumptions[0].message


def test_a_launch_of_a_header_s_macro_that_could_not_be_read_is_one_more(tmp_path):
    (tmp_path / "run.h").write_text("#define RUN(kern, g) kern<<<g, 64>>>(7)\n")
    text = (
        f'#include <numeric>\n#include "run.h"\n{KERNEL}int main() {{ RUN(k, 4); RUN(k, std::widest(1)); }}'
    )
    first, second = launches(tmp_path, text)
    assert (first.grid[0], first.source, first.times) == (4, LaunchSource.HOST_CODE, 1)
    assert (second.source, second.times) == (LaunchSource.ASSUMED, 1)


def test_what_a_macro_writes_that_could_not_be_read_is_unknown(tmp_path):
    macros = "#define SET n = std::widest(1)\n#define KEPT(n) std::write((n) + 1)\n"
    body = "int n = 4, m = 64; SET; KEPT(m); k<<<n, m>>>(m);"
    (launch,) = launches(tmp_path, f"#include <numeric>\n{KERNEL}{macros}int main() {{ {body} }}")
    assert launch.source is LaunchSource.ASSUMED
    assert (launch.block[0], launch.arguments) == (64, (64,))


def test_what_a_macro_with_two_definitions_may_write_is_unknown(tmp_path):
    macros = "#ifdef OLD\n#define USE(n) std::write(&n)\n#else\n#define USE(n) std::write(n + 1)\n#endif\n"
    body = "int m = 64; USE(m); k<<<4, m>>>(m);"
    (launch,) = launches(tmp_path, f"#include <numeric>\n{KERNEL}{macros}int main() {{ {body} }}")
    assert launch.source is LaunchSource.ASSUMED


def test_macros_that_multiply_end():
    lines = "\n".join(f"#define A{n}(x) A{n + 1}(x) A{n + 1}(x)" for n in range(200))
    macros = Macros([lines.encode()])
    assert 200 < len(macros.expanded(tokens_of("A0(1)"))) < 1 << 16


def test_launches_in_arms_of_a_rejected_condition_are_read(tmp_path):
    text = f"{KERNEL}int main() {{ if (lost::Thing::on()) k<<<4, 64>>>(7); else k<<<8, 32>>>(9); }}"
    assert [(launch.grid[0], launch.arguments) for launch in launches(tmp_path, text)] == [
        (4, (7,)),
        (8, (9,)),
    ]


@pytest.mark.parametrize(
    "body",
    [
        "for (int one : lost::all) if (one == n) return 9; return 5;",
        "for (int i = 0; i < 3; i++) if (i == n - 62) return table[i]; return 5;",
        "for (int one : table) { if (one == n) return 9; } return 5;",
        "for (int i = 0; i < n; i++) { lost::first(i) ? break : 0; if (i == 5) return 4; } return 5;",
        "while (true) { if (n > 90) continue; return lost::all; } return 5;",
    ],
)
def test_a_rejected_statement_may_leave_its_function(tmp_path, body):
    text = f"{KERNEL}constexpr lost::Table table{{1, 2}}; int found(int n) {{ {body} }}"
    (launch,) = launches(tmp_path, f"{text} int main() {{ k<<<found(64), 32>>>(7); }}")
    assert launch.source is LaunchSource.ASSUMED


def test_what_a_rejected_lambda_returns_leaves_nothing(tmp_path):
    body = "lost::each([&](int i) { return i + 1; }); k<<<4, 32>>>(7);"
    (launch,) = launches(tmp_path, f"{KERNEL}int main() {{ {body} }}")
    assert (launch.grid[0], launch.times) == (4, 1)


def test_what_throws_does_not_come_back(tmp_path):
    text = f"{KERNEL}int main(int c, char **v) {{ int n = 64; if (c > 9) {{ n = 3; throw 1; }}"
    text += " k<<<4, n>>>(n); }"
    (launch,) = launches(tmp_path, text)
    assert (launch.block, launch.source) == ((64, 1, 1), LaunchSource.HOST_CODE)


def test_a_macro_without_a_semicolon_ends_where_it_is_called(tmp_path):
    text = f"""#define RANGE(name) {{ lost_t range = {{0}}; range.name = name; lost_push(&range); }}
    {KERNEL}int main() {{
        int n = 64;
        RANGE("first")
        while (n > 32) {{
            k<<<4, n>>>(n);
            n -= 16;
        }}
        RANGE("second")
        for (int i = 0; i < 3; i++) k<<<8, n>>>(n);
    }}"""
    found = launches(tmp_path, text)
    assert [(one.grid[0], one.block[0], one.times) for one in found] == [(4, 64, 1), (4, 48, 1), (8, 32, 3)]
    assert {one.source for one in found} == {LaunchSource.HOST_CODE}


UNKNOWN = "auto n = lost.size();"
SHIFTED = [
    ("k<<<n, 64, 128>>>(7);", (None, 64, 128)),
    ("k<<<8, n, 128>>>(7);", (8, None, 128)),
    ("k<<<n, 64>>>(7);", (None, 64, 0)),
    ("k<<<8, n>>>(7);", (8, None, 0)),
    ("L(n, 64, 128);", (None, 64, 128)),
    ("L(8, 64, 128);", (8, 64, 128)),
]


@pytest.mark.parametrize(("launch", "truth"), SHIFTED)
def test_a_dropped_argument_of_a_launch_is_unknown_and_the_others_keep_their_places(tmp_path, launch, truth):
    text = f"#define L(...) k<<<__VA_ARGS__>>>(7)\n{KERNEL}int main() {{ {UNKNOWN} {launch} }}"
    (found,) = launches(tmp_path, text)
    grid, block, shared = truth
    assert (found.source is LaunchSource.HOST_CODE) is (None not in truth)
    assert grid is None or found.grid == (grid, 1, 1)
    assert block is None or found.block == (block, 1, 1)
    assert found.dynamic_shared_bytes == shared


def test_a_dropped_call_of_a_function_of_the_program_runs_it(tmp_path):
    helper = "static int total = 3; void add(int w) { total += 2; }"
    text = f"{KERNEL}{helper}\nint main() {{ {UNKNOWN} add(n); k<<<total, 32>>>(7); }}"
    (launch,) = launches(tmp_path, text)
    assert (launch.grid, launch.source) == ((5, 1, 1), LaunchSource.HOST_CODE)


LAUNCHING = [
    ("run(4, 3); run(n, 3);", [(2, 3, True), (None, 3, False)]),
    ("run(4, 3); ns::run(n, 3);", [(2, 3, True), (None, 5, False)]),
    ("run(n, 9);", [(None, 9, False)]),
    ("run(4, 3); other<int>(n);", [(2, 3, True), (None, 4, False)]),
    ("S().go(n);", [(None, 6, False)]),
]


@pytest.mark.parametrize(("body", "truth"), LAUNCHING)
def test_what_a_dropped_call_launches_is_told(tmp_path, body, truth):
    helpers = """void run(int n, int m) { k<<<n / 2, 32>>>(m); }
    namespace ns { void run(int n, int) { k<<<n, 32>>>(5); } }
    template <class T> void other(T n) { k<<<n, 32>>>(4); }
    struct S { void go(int n) { k<<<n, 32>>>(6); } };
    """
    found = launches(tmp_path, f"{KERNEL}{helpers}\nint main() {{ {UNKNOWN} {body} }}")
    known = [one for one in found if one.source is LaunchSource.HOST_CODE]
    assert [one.grid[0] for one in known] == [grid for grid, _, is_known in truth if is_known]
    told = {one.arguments[0] for one in found if one.source is LaunchSource.ASSUMED}
    assert {argument for _, argument, is_known in truth if not is_known} <= told


def test_which_overload_a_dropped_call_runs_is_not_known(tmp_path):
    text = f"{KERNEL}void run(int n) {{ k<<<4, 32>>>(1); }} void run(float n) {{ k<<<8, 32>>>(2); }}\n"
    found = launches(tmp_path, f"{text}int main() {{ {UNKNOWN} run(n); }}")
    assert {(one.grid[0], one.times) for one in found} == {(4, None), (8, None)}


def test_a_dropped_call_of_a_static_method_has_no_object(tmp_path):
    text = f"{KERNEL}struct S {{ static void go(int n, int m) {{ k<<<m, 32>>>(n); }} }};\n"
    found = launches(tmp_path, f"{text}int main() {{ {UNKNOWN} S::go(7, 4); S::go(n, 6); }}")
    assert {(one.grid[0], one.source) for one in found} == {(n, LaunchSource.HOST_CODE) for n in (4, 6)}


def test_a_dropped_call_in_a_loop_may_run_any_number_of_times(tmp_path):
    text = f"{KERNEL}void run(int n) {{ k<<<n, 32>>>(4); }}\n"
    text += f"int main() {{ {UNKNOWN} while (lost::more()) run(n); }}"
    (launch,) = launches(tmp_path, text)
    assert (launch.times, launch.source) == (None, LaunchSource.ASSUMED)


def test_a_dropped_check_of_a_library_passes(tmp_path):
    check = "int failed = 0; void check(int s) { if (s) failed = 1; }"
    text = f"{KERNEL}{check}\n"
    text += f"int main() {{ {UNKNOWN} check(cudaMemset(0, 0, n)); k<<<4 + failed, 32>>>(7); }}"
    (launch,) = launches(tmp_path, text)
    assert (launch.grid, launch.source, launch.times) == ((4, 1, 1), LaunchSource.HOST_CODE, 1)


def test_a_launch_in_a_lambda_that_was_read_is_no_second_one_of_a_statement_that_was_not(tmp_path):
    source = """template <class T> __global__ void k(T *x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }
void f(float *x, int n) {
  [&] { auto type = ::lost::type_of(x);
    switch (n) { case 1: return ([&] { k<float><<<4, 32>>>(x, 7); })(); } }();
}"""
    (found,) = launches(tmp_path, source)
    assert (found.grid, found.block, found.source) == ((4, 1, 1), (32, 1, 1), LaunchSource.HOST_CODE)


def test_a_call_in_a_lambda_that_was_read_is_no_second_one_of_a_statement_that_was_not(tmp_path):
    source = f"""{KERNEL}void go(int n) {{ k<<<n, 32>>>(7); }}
void f(int n) {{
  [&] {{ auto type = ::lost::type_of(n);
    switch (n) {{ case 1: return ([&] {{ go(4); }})(); }} }}();
}}"""
    (found,) = launches(tmp_path, source)
    assert (found.grid, found.source) == ((4, 1, 1), LaunchSource.HOST_CODE)


def test_a_launch_in_a_lambda_of_a_statement_that_was_not_read_is_told(tmp_path):
    source = """template <class T> __global__ void k(T *x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }
void f(float *x, int n) { lost::run([&] { k<float><<<4, 32>>>(x, 7); }); }"""
    (found,) = launches(tmp_path, source)
    assert found.line == 2
