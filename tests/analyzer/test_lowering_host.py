from wattslice import ir
from wattslice.launches.launch import NO_OVERRIDES
from wattslice.launches.resolver import resolve_launches
from wattslice_models.gpu import load_gpu

from .lowered import code, lower


def launches(program: ir.Program) -> list[ir.LaunchCall]:
    return [
        expr
        for function in program.functions
        for stmt in ir.walk_statements(function.body)
        for top in ir.statement_expressions(stmt)
        for expr in ir.walk_expressions(top)
        if isinstance(expr, ir.LaunchCall)
    ]


KERNEL = "__global__ void k(float* p, int n) { p[0] = n; }\n"


def test_functions_around_a_launch_are_kept_and_others_are_not(tmp_path):
    program = lower(
        tmp_path,
        KERNEL
        + """int divide(int a, int b) { return (a + b - 1) / b; }
             void unrelated(float* p) { p[0] = 1; }
             void run(float* p, int n = 100) { dim3 grid(divide(n, 32)); k<<<grid, 32, 64>>>(p, n); }
             int main() { run(0); }""",
    )
    assert {function.name for function in program.functions} == {"run", "main", "divide"}
    (launch,) = launches(program)
    (kernel,) = program.kernels
    assert launch.kernel == kernel.mangled_name
    run = next(function for function in program.functions if function.name == "run")
    assert code(run) == [
        "dim3 grid = dim3{u32(divide(n, 32)), 1, 1}",
        "k<<<grid, dim3{32, 1, 1}, 64>>>(p, n)",
    ]
    assert isinstance(run.default_arguments[1], ir.Constant)


def test_a_launch_of_an_instance_names_that_instance(tmp_path):
    program = lower(
        tmp_path,
        "template <class T> __global__ void k(T* p) { p[0] = 1; }\n"
        "void run(float* p, double* q) { k<<<1, 2>>>(p); auto f = k<double>; f<<<dim3(3, 4), 5>>>(q); }",
    )
    found = resolve_launches(program, NO_OVERRIDES, load_gpu("v100"))
    assert {(launch.kernel.mangled_name, launch.grid) for launch in found} == {
        ("_Z1kIfEvPT_", (1, 1, 1)),
        ("_Z1kIdEvPT_", (3, 4, 1)),
    }


def test_the_runtime_interface_launches_too(tmp_path):
    program = lower(
        tmp_path,
        KERNEL + "void run(float* p) { int n = 3; void* a[] = {&p, &n};"
        " cudaLaunchKernel((const void*)k, dim3(3), dim3(32), a, 16, 0); }",
    )
    (launch,) = launches(program)
    assert launch.kernel_name == "k"
    assert len(launch.arguments) == 2
    assert isinstance(launch.shared_bytes, ir.Constant | ir.Cast)


def test_globals_carry_their_initial_values(tmp_path):
    program = lower(tmp_path, "int size = 1 << 10;\n" + KERNEL + "int main() { k<<<size / 64, 64>>>(0, 1); }")
    (variable,) = program.globals
    assert isinstance(variable.initializer, ir.Constant)
    assert variable.initializer.value == 1024


def test_a_kernel_nobody_instantiates_is_read_with_float_and_told(tmp_path):
    program = lower(tmp_path, "template <class T> __global__ void k(T* p) { p[0] = p[1] * 2; }")
    (kernel,) = program.kernels
    assert code(kernel) == ["global:f32[(p + 0*4)] = (global:f32[(p + 1*4)] *:f32 2)"]
    assert [d.rule for d in program.diagnostics] == ["PW006"]


def test_launches_with_a_configuration_are_launches(tmp_path):
    text = """void run(float* p) {
      cudaLaunchConfig_t config = {}; config.gridDim = dim3(4, 2); config.blockDim = 64;
      cudaLaunchKernelEx(&config, k, p, 7); }"""
    program = lower(tmp_path, KERNEL + text)
    (launch,) = launches(program)
    assert launch.kernel_name == "k"
    assert isinstance(launch.grid, ir.Read)
    assert isinstance(launch.block, ir.Read)
    assert [launch.grid.place.path, launch.block.place.path] == [("gridDim",), ("blockDim",)]
    assert isinstance(launch.arguments[1], ir.Constant)


def test_what_only_prints_a_launch_launches_nothing(tmp_path):
    program = lower(
        tmp_path,
        KERNEL
        + """void tell() { printf("look for k <<<1, 2>>> here"); /* k<<<1, 2>>>(p, n) */ }
             void also() { tell(); }
             void run(float* p) { k<<<1, 32>>>(p, 5); }""",
    )
    assert [function.name for function in program.functions] == ["run"]


def test_what_works_on_floats_is_no_helper_but_what_leaves_a_size_behind(tmp_path):
    source = """int size, limit = 9;
        void reference(float a[4][4], int n) { for (int i = 0; i < n; i++) a[i][0] = size == limit; }
        void check(float *p, int n) { for (int i = 0; i < n; i++) p[i] = size; }
        void matrix(float a[4][4]) { size = 1024; }
        void vector(float *p) { read_number(&size); }
        void count(float *p) { ++size; }
        void run(float* p, float (*q)[4]) {
            reference(q, 4); check(p, 4); matrix(q); vector(p); count(p); k<<<size, 32>>>(p, 5);
        }"""
    program = lower(tmp_path, KERNEL + "void read_number(int *);\n" + source)
    assert {function.name for function in program.functions} == {"run", "matrix", "vector", "count"}
