"""Calls of functions that another file defines, which nobody read: no other function of that name is run."""

from pathlib import Path

import pytest

from wattslice.frontend.cuda.read import read_cuda
from wattslice.frontend.parse_options import ParseOptions
from wattslice.launches.launch import NO_OVERRIDES
from wattslice.launches.resolver import resolve_launches
from wattslice_models.gpu import load_gpu

# What is declared, what is defined, and the call of the latter: with 5 blocks, that of the former with 500.
PROGRAMS = {
    "namespaces": (
        "namespace cpu { void go(int n); }",
        "namespace gpu { void go(int n) { RUN } }",
        "gpu::go(5); cpu::go(500);",
    ),
    "free_function": ("namespace cpu { void go(int n); }", "void go(int n) { RUN }", "go(5); cpu::go(500);"),
    "method": ("struct V { void go(int n); };", "void go(int n) { RUN }", "go(5); V v; v.go(500);"),
    "static_method": ("struct V { static void go(int n); };", "void go(int n) { RUN }", "go(5); V::go(500);"),
    "alias": (
        "namespace cpu { void go(int n); } namespace at = cpu;",
        "namespace gpu { void go(int n) { RUN } }",
        "gpu::go(5); at::go(500);",
    ),
    "classes": (
        "struct A { int n; }; void go(const A &a, int n);",
        "struct B { int n; }; void go(const B &b, int n) { RUN }",
        "A a; B b; go(b, 5); go(a, 500);",
    ),
    "pointers": (
        "struct A; void go(A *a, int n);",
        "struct B { int n; }; void go(B *b, int n) { RUN }",
        "B b; A *a = 0; go(&b, 5); go(a, 500);",
    ),
    "tags": (
        "struct A {}; void go(A, int n);",
        "struct B {}; void go(B, int n) { RUN }",
        "go(B(), 5); go(A(), 500);",
    ),
    "enumerations": (
        "enum class A { a }; void go(A, int n);",
        "enum class B { b }; void go(B, int n) { RUN }",
        "go(B::b, 5); go(A::a, 500);",
    ),
    "templates": (
        "struct A; struct B; template <class T> void go(int n); template <> void go<A>(int n);",
        "template <> void go<B>(int n) { RUN }",
        "go<B>(5); go<A>(500);",
    ),
    "class_templates": (
        "struct A; struct B; template <class T> struct S { static void go(int n); };"
        " template <> void S<A>::go(int n);",
        "template <> void S<B>::go(int n) { RUN }",
        "S<B>::go(5); S<A>::go(500);",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_function_that_is_only_declared_runs_no_namesake(name: str):
    declared, defined, calls = PROGRAMS[name]
    text = f"__global__ void k(int n) {{}}\n{declared}\n{defined.replace('RUN', 'k<<<n, 32>>>(n);')}\n"
    read = read_cuda(Path("a.cu"), ParseOptions(), f"{text}int main() {{ {calls} }}\n".encode())
    (launch,) = resolve_launches(read, NO_OVERRIDES, load_gpu("v100"))
    assert (launch.grid, launch.times) == ((5, 1, 1), 1)
