"""What is said of an address that data decide."""

from __future__ import annotations

import pytest

from wattslice import analyze

GATHER = """
__global__ void k(const float *t, const int *ix, float *o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  o[i] = t[INDEX];
}
float *given();
int main() { float *o, *t; int *ix; cudaMalloc(&o, 4 << 20); cudaMalloc(&ix, 4 << 20); MAKE;
  k<<<4096, 256>>>(t, ix, o, 1 << 20); }
"""
OWN = "taken to touch a sector of its own"


@pytest.mark.parametrize(
    ("make", "index", "told"),
    [
        ("cudaMalloc(&t, 1 << 20)", "ix[i]", f"{OWN}, anywhere in its 1048576 bytes"),
        ("cudaMalloc(&t, 1 << 30)", "ix[i] % n", f"{OWN}, anywhere in 4194304 of its bytes"),
        ("t = given()", "ix[i]", f"{OWN}; the size of the array is unknown"),
        (
            "t = given()",
            "ix[i] % n",
            f"{OWN}, anywhere in the 4194304 bytes that its index may name; the size of the array is unknown",
        ),
    ],
)
def test_bytes_that_an_index_may_name_are_not_called_those_of_the_array(tmp_path, make, index, told):
    file = tmp_path / "k.cu"
    file.write_text(GATHER.replace("MAKE", make).replace("INDEX", index))
    (kernel,) = analyze(file, gpu="v100").kernels
    (message,) = (one.message for one in kernel.assumptions if one.rule == "PW016")
    assert message.endswith(told)
