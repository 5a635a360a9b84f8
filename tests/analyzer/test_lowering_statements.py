from pathlib import Path

import pytest

from wattslice import ir

from .lowered import code, kernel_of, lower


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("for (int i = 0; i < n; i++)", "for test (i <:i32 n); step i += 1"),
        ("for (; n > 0; n >>= 1)", "for test (n >:i32 0); step n >>=:i32 1"),
        ("for (int i = n; i; )", "for test bool(i); step"),
        ("for (;; n++)", "for test ; step n += 1"),
        ("for (;;)", "for test ; step"),
        ("for (; n;)", "for test bool(n); step"),
        ("while (n > 2)", "while test (n >:i32 2); step"),
        ("#pragma unroll 4\nfor (int i = 0; i < n; i++)", "for test (i <:i32 n); step i += 1 unroll 4"),
        ("#pragma unroll\nfor (int i = 0; i < n; i++)", "for test (i <:i32 n); step i += 1 unroll 0"),
        ("#pragma unroll K\nfor (int i = 0; i < n; i++)", "for test (i <:i32 n); step i += 1 unroll 8"),
    ],
)
def test_loop_headers(tmp_path, header, expected):
    kernel = kernel_of(tmp_path, f"\n{header}\n {{ p[0] = 1; if (p[1] > 0) break; }}", before="#define K 8")
    assert kernel.body_is_complete
    loops = [line.replace("r: ", " ") for line in code(kernel) if line.startswith(("for", "while"))]
    assert [" ".join(line.split()) for line in loops] == [expected]


def test_a_loop_out_of_a_macro_is_read_all_the_same(tmp_path):
    kernel = kernel_of(
        tmp_path, "REPEAT(i, n) p[i] = 1;", before="#define REPEAT(i, n) for (int i = 0; i < (n); i++)"
    )
    loop = next(stmt for stmt in kernel.body.statements if isinstance(stmt, ir.Loop))
    assert loop.condition is not None
    assert loop.step is not None
    assert len(loop.init) == 1


def test_do_while_switch_and_fallthrough(tmp_path):
    body = """do { n--; if (n == 7) continue; } while (n > 0);
      switch (n & 3) { case 0: p[0] = 1; case 1: p[1] = 1; break;
      case 2: case 3: return; default: p[2] = 1; }"""
    kernel = kernel_of(tmp_path, body)
    loop, switch = kernel.body.statements
    assert isinstance(loop, ir.Loop)
    assert loop.kind is ir.LoopKind.DO
    assert isinstance(switch, ir.Switch)
    assert [case.labels for case in switch.cases] == [(0,), (1,), (2, 3), (None,)]
    assert isinstance(switch.cases[1].body.statements[-1], ir.Break)
    assert not any(isinstance(s, ir.Break) for s in switch.cases[0].body.statements)


def test_declarations_in_conditions_and_ranges(tmp_path):
    kernel = kernel_of(
        tmp_path, "if (int m = n; m > 3) p[0] = m; float a[3] = {1, 2, 3}; for (float x : a) p[1] += x;"
    )
    assert kernel.body_is_complete
    assert "if (m >:i32 3)" in code(kernel)
    assert "f32 x = local:f32[(&a + __index*4)]" in code(kernel)


def test_what_cannot_be_read_is_told_and_the_rest_is_kept(tmp_path):
    program = lower(
        tmp_path,
        "__global__ void bad(float* p) {\n\n  p[0] = 1;\n  if (p[3]) goto in;\n  { in: p[1] = 2; }\n}\n"
        "__global__ void good(float* p) { p[0] = 1; }\n",
    )
    bad, good = program.kernels
    assert (bad.body_is_complete, good.body_is_complete) == (False, True)
    assert [(d.rule, d.line) for d in program.diagnostics] == [("PW006", 4)]
    assert len(code(bad)) == 3


def test_an_error_in_a_kernel_is_a_hole_with_its_line(tmp_path):
    program = lower(tmp_path, "__global__ void k(float* p) {\n  p[0] = 1;\n  p.x = 2;\n  p[2] = 3;\n}\n")
    (kernel,) = program.kernels
    assert not kernel.body_is_complete
    assert {(d.rule, d.line) for d in program.diagnostics} >= {("PW001", 3)}
    assert "global:f32[(p + 2*4)] = 3.0" in code(kernel)


def test_the_pragma_and_the_error_of_a_header_are_read_from_the_header(tmp_path):
    (tmp_path / "device.h").write_text(
        "// a line that shifts everything\n__device__ void f(int* a) {\n#pragma unroll 6\n"
        "  for (int i = 0; i < 9; i++) a[i] = i;\n}\n__device__ void g(int* a) { a[0] = a.x; }\n"
    )
    kernels = "__global__ void fine(int* a) { f(a); }\n__global__ void holed(int* a) { g(a); }\n"
    program = lower(tmp_path, '#include "device.h"\n' + kernels)
    assert any(line.endswith("unroll 6") for line in code(program.kernels[0]))
    assert [kernel.body_is_complete for kernel in program.kernels] == [True, False]
    assert {(d.rule, Path(d.file).name, d.line) for d in program.diagnostics} == {("PW001", "device.h", 6)}


def test_assert_and_printf_cost_what_their_arguments_do(tmp_path):
    kernel = kernel_of(tmp_path, 'assert(n > 3); printf("%d", n);', before="#include <assert.h>")
    assert code(kernel) == ["assert{}((n >:i32 3))", "printf{}('%d', n)"]


def test_structured_bindings_name_the_parts_of_their_object(tmp_path):
    before = "struct Q { float a; int b; };"
    body = "Q q{p[0], 3}; auto& [x, y] = q; x = 5; auto [u, v] = q; "
    body += "int t[2] = {1, n}; auto [r, s] = t; p[1] = x + v + s;"
    kernel = kernel_of(tmp_path, body, before=before)
    assert kernel.body_is_complete
    assert code(kernel)[1:3] == ["q.a = 5.0", "Q [u, v] = q"]
    assert code(kernel)[-1].endswith("((q.a +:f32 f32([u, v].b)) +:f32 f32(s))")


def test_initialisers_in_the_class_belong_to_its_constructors(tmp_path):
    before = """struct D { float a = 2.0f; int n{3}; int width : 4; };
    struct U { float a = 1.5f, b = 2.5f; __device__ U() : b(7.0f) {} };"""
    kernel = kernel_of(tmp_path, "D d; U u; p[0] = d.a + d.n + u.a + u.b;", before=before)
    assert code(kernel)[0] == "D d = D{2.0, 3}"
    assert [line for line in code(kernel) if line.startswith("U.")] == ["U.a = 1.5", "U.b = 7.0"]


def test_ranges_over_std_array_are_counted_loops(tmp_path):
    body = "std::array<float, 4> a; a[n] = p[0]; float s = 0; for (float x : a) s += x; p[1] = s;"
    kernel = kernel_of(tmp_path, body, before="#include <array>")
    assert kernel.body_is_complete
    assert any("__index <:i64 4" in line for line in code(kernel))
