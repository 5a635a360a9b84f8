"""What the tables of public code count of one file."""

import pytest

from wattslice_tools.wild.file_facts import FileQuestion, examine

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
