"""C kernels: structure, types, addresses, launches from main, and errors with a line."""

from __future__ import annotations

import re

import pytest

from wattslice import ir
from wattslice.analysis import LaunchSource
from wattslice.counting.count import count
from wattslice.errors import FrontendError
from wattslice.frontend.c import read_c
from wattslice.launches.launch import NO_OVERRIDES
from wattslice.launches.resolver import resolve_launches
from wattslice_models.gpu import load_gpu


def read(tmp_path, text):
    path = tmp_path / "a.c"
    path.write_text(text)
    return read_c(path)


def nodes(program, kind):
    body = program.kernels[0].body
    found = []
    for stmt in ir.walk_statements(body):
        found.extend([stmt] if isinstance(stmt, kind) else [])
        for expr in ir.statement_expressions(stmt):
            found.extend(e for e in ir.walk_expressions(expr) if isinstance(e, kind))
    return found


STENCIL = """\
#include <stdio.h>
#define N 64
#define AT(i, j) a[(i)][(j)]  /* a comment
   over two lines */
typedef float real;
static inline real third(real x) { return x / 3; }
void jacobi(int steps, real a[N][N], real b[N][N])
{
  for (int t = 0; t < steps; t++)
    for (int i = 1; i < N - 1; i++)
#pragma unroll 4
      for (int j = 1; j < N - 1; j++)
        b[i][j] = third(AT(i, j - 1) + AT(i, j) + AT(i, j + 1));
}
real a[N][N], b[N][N];
int main(int argc, char **argv)
{
  int steps = 10;
  if (argc > 1) steps = atoi(argv[1]);
  jacobi(steps, a, b);
  return 0;
}
"""


def test_stencil(tmp_path):
    program = read(tmp_path, STENCIL)
    assert program.diagnostics == ()
    (kernel,) = program.kernels
    assert (kernel.name, kernel.span.line, kernel.body_is_complete, kernel.site_count) == (
        "jacobi",
        7,
        True,
        4,
    )
    loops = nodes(program, ir.Loop)
    assert [(loop.span.line, loop.unroll) for loop in loops] == [(9, None), (10, None), (12, 4)]
    assert [call.name for call in nodes(program, ir.InlinedCall)] == ["third"]
    store = next(n for n in nodes(program, ir.Assign) if isinstance(n.target, ir.MemoryPlace))
    outer, inner = store.target.address.pointer, store.target.address
    assert (outer.scale_bytes, inner.scale_bytes) == (256, 4)
    assert store.target.root is kernel.parameters[2]
    assert store.target.space is ir.MemorySpace.GLOBAL
    adds = [n for n in nodes(program, ir.Binary) if n.op is ir.BinaryOp.ADD and n.type is ir.FLOAT32]
    assert len(adds) == 2


def test_regions_are_dense(tmp_path):
    program = read(tmp_path, STENCIL)
    regions = [stmt.region for stmt in ir.walk_statements(program.kernels[0].body)]
    for loop in nodes(program, ir.Loop):
        regions += [loop.test_region, loop.step_region]
    assert sorted(regions) == list(range(program.kernels[0].region_count))


def test_arguments_come_from_main(tmp_path):
    (launch,) = resolve_launches(read(tmp_path, STENCIL), NO_OVERRIDES, load_gpu("v100"))
    assert (launch.grid, launch.block, launch.source) == ((1, 1, 1), (1, 1, 1), LaunchSource.HOST_CODE)
    assert (launch.arguments[0], launch.line) == (10, 20)


def test_without_main_one_thread_is_assumed(tmp_path):
    program = read(tmp_path, "void f(int n, double *x) { for (int i = 0; i < n; i++) x[i] *= 2; }\n")
    (launch,) = resolve_launches(program, NO_OVERRIDES, load_gpu("v100"))
    assert (launch.grid, launch.block, launch.source) == ((1, 1, 1), (1, 1, 1), LaunchSource.ASSUMED)
    assert [a.rule for a in launch.assumptions] == ["PW011"]


def test_variable_length_arrays_scale_by_a_product(tmp_path):
    text = "void f(int n, int m, double a[n][m]) { a[1][2] = 0; }\n"
    program = read(tmp_path, text)
    store = nodes(program, ir.Assign)[0]
    row = store.target.address.pointer
    assert row.scale_bytes == 8
    assert isinstance(row.index, ir.Binary)
    assert row.index.op is ir.BinaryOp.MUL


@pytest.mark.parametrize(
    ("statement", "scale_bytes", "multiplications"),
    [("b[1][2][3] = 0;", 8, 2), ("p[1][2] = 0;", 8, 1), ("double t[n][m]; t[1][2] = 0;", 8, 1)],
)
def test_strides_of_arrays_of_run_time_lengths(tmp_path, statement, scale_bytes, multiplications):
    text = f"void f(int n, int m, double b[4][n + 1][m], double (*p)[m]) {{ {statement} }}\n"
    program = read(tmp_path, text)
    assert program.diagnostics == ()
    outermost = nodes(program, ir.Assign)[-1].target.address
    while isinstance(outermost.pointer, ir.PointerOffset):
        outermost = outermost.pointer
    assert outermost.scale_bytes == scale_bytes
    assert outermost.index is not None
    products = [e for e in ir.walk_expressions(outermost.index) if isinstance(e, ir.Binary)]
    assert sum(product.op is ir.BinaryOp.MUL for product in products) == multiplications


@pytest.mark.parametrize("statement", ["double (*q)[m] = p + 1;", "p++;", "p += 2;", "*(*(p + 1) + 2) = 0;"])
def test_arithmetic_on_pointers_to_such_arrays_is_told(tmp_path, statement):
    program = read(tmp_path, f"void f(int n, int m, double (*p)[m]) {{ {statement} }}\n")
    assert ["run-time length" in entry.message for entry in program.diagnostics] == [True]
    assert not program.kernels[0].body_is_complete


def test_structs_unions_and_enums(tmp_path):
    text = """
    enum { FIRST = 3, SECOND };
    struct point { char tag; double x; union { int i; float f; } u; };
    int f(struct point *p, int k) {
      struct point q; q.x = p->x;
      switch (k) { case SECOND: return p->u.i; default: break; }
      return sizeof(struct point);
    }
    """
    program = read(tmp_path, text)
    assert program.diagnostics == ()
    loads = nodes(program, ir.Load)
    assert sorted(load.place.address.offset_bytes for load in loads) == [0, 8]
    assert nodes(program, ir.Switch)[0].cases[0].labels == (4,)
    assert 24 in [c.value for c in nodes(program, ir.Constant)]
    assigned = nodes(program, ir.Assign)[0].target
    assert (assigned.variable.name, assigned.path) == ("q", ("x",))


def test_mixed_arithmetic_is_converted(tmp_path):
    program = read(tmp_path, "double f(float x, int i, unsigned u) { return x * i + 1.0 + (i < u); }\n")
    types = {n.op: n.operand_type for n in nodes(program, ir.Binary)}
    assert types[ir.BinaryOp.MUL] == ir.FLOAT32
    assert types[ir.BinaryOp.ADD] == ir.FLOAT64
    assert types[ir.BinaryOp.LT] == ir.UINT32


def test_preprocessor(tmp_path):
    (tmp_path / "sizes.h").write_text("#ifndef S\n#define S\n#define ROWS 8\n#endif\n")
    text = """\
#include "sizes.h"
#include "sizes.h"
#if defined(ROWS) && ROWS * 2 > 15 && !defined(NOTHING)
#define CAT(a, b) a##b
#define MAX(a, b) ((a) > (b) ? \\
                   (a) : (b))
#elif 1
#error not here
#else
#error nor here
#endif
#ifdef NOTHING
this is skipped
#endif
int CAT(f, 1)(int x) { return MAX(x,
   ROWS); }
"""
    program = read(tmp_path, text)
    assert program.kernels[0].name == "f1"
    assert program.kernels[0].span.line == 15
    assert nodes(program, ir.Select)[0].otherwise.value == 8


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("#if 1\nint f(void);\n", 1, "unterminated conditional"),
        ("int a;\n#endif\n", 2, "#endif without #if"),
        ("#error no\n", 1, r"\(no\)"),
        ("#define F(x) F2(x)F2(x)\n#define F2(x) F3(x)F3(x)\n#if F(\n#endif\n", 3, "not understood as C"),
        ("void f(void) { int x = " + "(" * 10000 + "1" + ")" * 10000 + "; }", None, "nest more than"),
        ("", None, "is empty"),
    ],
)
def test_errors_have_a_place_and_a_remedy(tmp_path, text, line, message):
    with pytest.raises(FrontendError, match=message) as caught:
        read(tmp_path, text)
    assert caught.value.path == tmp_path / "a.c"
    assert line is None or caught.value.line == line
    assert caught.value.remedy


@pytest.mark.parametrize("data", [b"\x00\x01", b"int \xff;"])
def test_what_is_no_text(tmp_path, data):
    path = tmp_path / "a.c"
    path.write_bytes(data)
    with pytest.raises(FrontendError):
        read_c(path)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("if (a) goto in; { in: a = 2; }", "goto"),
        ("a = 1 +;", "expected expression"),
        ("undeclared = 1;", "undeclared identifier 'undeclared'"),
        ("unknown_function(1);", "call of 'unknown_function': body not found"),
        ("f();", "recursion"),
        ("a = ({ if (a) return 2; 1; });", "a jump leaves"),
    ],
)
def test_what_is_not_understood_is_a_diagnostic_and_the_rest_is_kept(tmp_path, body, message):
    program = read(tmp_path, "int f(void) {\n int a = 1;\n " + body + "\n return a;\n}\n")
    assert [d.line for d in program.diagnostics] == [3]
    assert re.search(message, program.diagnostics[0].message)
    assert nodes(program, ir.Return)


def test_statement_expressions_are_followed(tmp_path):
    program = read(tmp_path, "int f(int* p) { return ({ int a = p[1]; p[2] = a; a + 1; }); }\n")
    assert not program.diagnostics
    assert (len(nodes(program, ir.Load)), len(nodes(program, ir.Assign))) == (1, 1)


def test_missing_include_is_named(tmp_path):
    program = read(tmp_path, '#include "gone.h"\nint f(void) { return 1; }\n')
    assert [(d.line, "gone.h" in d.message) for d in program.diagnostics] == [(1, True)]


def test_an_error_outside_of_functions_is_told_beside_the_kernels(tmp_path):
    program = read(tmp_path, "#error no\nint f(void) { return 1; }\n")
    assert [(d.rule, d.line) for d in program.diagnostics] == [("PW001", 1)]
    assert [(kernel.name, kernel.body_is_complete) for kernel in program.kernels] == [("f", True)]


def test_headers_of_the_standard_library_and_old_style_definitions(tmp_path):
    headers = "stdio stdlib string math stdint inttypes stdbool assert limits float time sys/time unistd omp"
    text = "".join(f"#include <{name}.h>\n" for name in headers.split())
    body = """
    static struct timeval start;
    int add(a, b) int a; int b; { return a + b; }
    void f(double *restrict x, int n) {
      double *y = malloc(n * sizeof *y); bool b = true; struct timespec t;
      assert(x[0] > 0); fprintf(stderr, "%d", n); fflush(stdout); puts("");
      y[0] = fmod(x[1], M_PI) + fabsf(x[2]) + abs(n) + pow(x[0], 2) + INT_MAX + DBL_EPSILON;
      x[1] = b + add(n, 1); free(y); if (n < 0) exit(EXIT_FAILURE);
    }
    """
    program = read(tmp_path, text + body)
    assert program.diagnostics == ()
    assert [kernel.name for kernel in program.kernels] == ["f"]


def test_memory_of_c_is_global(tmp_path):
    text = """
    float table[10]; int limit = 4;
    void f(void) { float local[4]; for (int i = 0; i < limit; i++) local[i & 3] = table[i]; }
    """
    program = read(tmp_path, text)
    spaces = {load.place.space for load in nodes(program, ir.Load)}
    assert spaces == {ir.MemorySpace.GLOBAL}
    assert {variable.name: variable.space for variable in program.globals} == {
        "table": ir.MemorySpace.GLOBAL,
        "limit": ir.MemorySpace.GLOBAL,
    }
    assert nodes(program, ir.Assign)[0].target.space is ir.MemorySpace.GLOBAL
    (launch,) = resolve_launches(program, NO_OVERRIDES, load_gpu("v100"))
    assert [loop.trip_count for loop in count(launch).loops] == [None]


def trips(tmp_path, text):
    (launch,) = resolve_launches(read(tmp_path, text), NO_OVERRIDES, load_gpu("v100"))
    return [loop.trip_count for loop in count(launch).loops]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("i < (unsigned char)300", 44),
        ("i < (unsigned)-1 / 1000000000u", 4),
        ("i < -4294967286u", 10),
        ("i < (signed char)0x85 + 130", 7),
        ("i < (_Bool)300 + (_Bool)0.5", 2),
        ("i < 0xffffffff / 1000000000", 4),
        ("i < 0xffffffffffffffff >> 60", 15),
        ("i < FEW", 44),
        ("i < MANY / 1000000000", 5),
        ("i < sizeof(length) / sizeof(length[0])", 12),
        ("i < sizeof(sign)", 7),
    ],
)
def test_constants_are_what_their_type_holds(tmp_path, condition, expected):
    text = f"""
    const unsigned char FEW = 300;
    const unsigned long MANY = 5000000000;
    enum {{ TWELVE = 3 > 2 && (1 || 1 / 0) ? 6 << 1 : 0, SEVEN = ~-8 }};
    char length[TWELVE];
    char sign[!0 == 1 ? SEVEN : 0];
    void f(double *x) {{ for (long i = 0; i < 99 && {condition}; i++) x[i] = 0; }}
    """
    assert trips(tmp_path, text) == [expected]


def test_what_no_integer_can_be_made_of_is_read_as_a_conversion(tmp_path):
    program = read(tmp_path, "int f(int i) { return i < (int)1e999; }\n")
    assert program.diagnostics == ()
    assert [cast.type for cast in nodes(program, ir.Cast)] == [ir.INT32]


def test_a_case_label_has_the_type_of_the_selector(tmp_path):
    program = read(tmp_path, "int f(unsigned u) { switch (u) { case -1: return 1; } return 0; }\n")
    assert nodes(program, ir.Switch)[0].cases[0].labels == (4294967295,)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("defined(N) && (64 % N == 0)", False),
        ("!defined(N) || 64 / N", True),
        ("defined(N) ? 64 / N : 1", True),
        ("9007199254740993 / 1 == 9007199254740993", True),
        ("-7 / 2 == -3 && -7 % 2 == -1", True),
        ("-1 > 0u", True),
        ("-1 > 0", False),
        ("0u - 1 == 18446744073709551615u", True),
        ("(1 << 63) < 0 && ~0 == -1 && +010 == 8", True),
        ("0 && (1 << 64)", False),
    ],
)
def test_conditions_are_arithmetic_in_64_bits(tmp_path, condition, holds):
    program = read(tmp_path, f"#if {condition}\nint yes(void);\nint yes(void) {{ return 1; }}\n#else\n"
                             "int no(void) { return 0; }\n#endif\n")  # fmt: skip
    assert program.kernels[0].name == ("yes" if holds else "no")


@pytest.mark.parametrize("condition", ["64 % N", "1 || ", "0 2", "1)", "(1"])
def test_a_condition_without_a_value_is_told(tmp_path, condition):
    with pytest.raises(FrontendError, match="not understood as C") as caught:
        read(tmp_path, f"\n#if {condition}\n#endif\n")
    assert caught.value.line == 2


def test_conditions_in_regions_switched_off_are_not_evaluated(tmp_path):
    text = """
    #if 0
    #if 0
    #elif 1 / 0
    int wrong(void) { return 0; }
    #else
    int wrong_too(void) { return 0; }
    #endif
    #elif 1
    int right(void) { return 1; }
    #elif 1 / 0
    #endif
    """
    assert [kernel.name for kernel in read(tmp_path, text).kernels] == ["right"]
