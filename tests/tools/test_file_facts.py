"""What the tables of public code count of one file."""

import pytest

from wattslice_tools.wild.file_facts import FileQuestion, examine
from wattslice_tools.wild.isolated import Outcome
from wattslice_tools.wild.suites import Suite, report

PROGRAM = """#include <stdlib.h>
__global__ void k(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }
int main(int argc, char **argv) { float *x; cudaMalloc(&x, 1 << 20); k<<<SIZE, 128>>>(x); }
"""


@pytest.mark.parametrize(("size", "is_read"), [("64", True), ("atoi(argv[1])", True), ("rand()", False)])
def test_a_launch_is_read_from_host_code_with_the_arguments_of_a_run(tmp_path, size, is_read):
    path = tmp_path / "k.cu"
    path.write_text(PROGRAM.replace("SIZE", size))
    (tmp_path / "Makefile").write_text("k: k.cu\n\tnvcc -o k k.cu\nrun: k\n\t./k 64\n")
    (kernel,) = examine(FileQuestion(path, "v100")).kernels
    assert kernel.geometry_read == is_read


@pytest.mark.parametrize(("size", "why"), [("64", ""), ("rand()", "value of parameter 'n' unknown")])
def test_sizes_are_known_where_no_parameter_is_assumed(tmp_path, size, why):
    text = "#include <stdlib.h>\n__global__ void k(float *x, int n, int m) { for (; n; n--) x[n] = 1; }\n"
    path = tmp_path / "k.cu"
    path.write_text(f"{text}int main() {{ float *x; k<<<4, 128>>>(x, {size}, rand()); }}\n")
    facts = examine(FileQuestion(path, "v100"))
    (kernel,) = facts.kernels
    suite = Suite("one", "")
    suite.take("one/k.cu", Outcome(facts))
    assert kernel.geometry_read
    assert (kernel.all_known, suite.all_known, kernel.why_not_all_known) == (not why, not why, why)
    assert sum(suite.causes["sizes"].numbers.values()) == bool(why)
    assert "| geometry and sizes read |" in "\n".join(report([suite], "v100"))


@pytest.mark.parametrize(
    ("before", "size", "computed"),
    [
        ("for (int i = 0; i < argc; i++)", "n", True),  # how often says nothing about grid and block
        ("", "n", True),
        ("", "read()", False),
    ],
)
def test_a_geometry_is_computed_where_the_values_of_variables_settle_it(tmp_path, before, size, computed):
    path = tmp_path / "k.cu"
    path.write_text(
        "int read();\n__global__ void k(float *x) { x[threadIdx.x] = 1; }\n"
        f"int main(int argc, char **argv) {{ float *x; int n = read(); {before} k<<<{size}, 128>>>(x); }}\n"
    )
    (kernel,) = examine(FileQuestion(path, "v100")).kernels
    assert (kernel.geometry_read, kernel.geometry_computed) == (False, computed)


@pytest.mark.parametrize(
    ("loop", "why"),
    [
        (
            "int m = (blockIdx.x * 2654435761u >> 12) % 2000 == 7 ? 900 : 2; for (int j = 0; j < m; j++)",
            "blocks",
        ),
        ("for (int j = 0; j < 9; j++) if (x[j] < 0) break; else", "leaving the loop here depends on data"),
    ],
)
def test_why_the_trips_of_a_loop_are_unknown(tmp_path, loop, why):
    path = tmp_path / "k.cu"
    launch = "int main() { float *x; k<<<200000, 256>>>(x); }"
    path.write_text(f"__global__ void k(float *x) {{\n{loop} x[j] = 1; }}\n{launch}\n")
    (kernel,) = examine(FileQuestion(path, "v100")).kernels
    ((line, known, said),) = [(one.line, one.known, one.why) for one in kernel.loops]
    assert (line, known) == (2, False)
    assert said.startswith(why)
