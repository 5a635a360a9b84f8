"""The example of each rule that advises, put into a kernel: the rule tells of it."""

import re

import pytest

from wattslice.findings.rules import RULES

from .advised import advised

KERNEL = """
DECLARED
__device__ void even(float &x) { for (int i = 0; i < 99; ++i) x = x * 1.5f + i; }
__device__ void odd(float &x) { for (int i = 0; i < 99; ++i) x = x * 2.5f - i; }
__global__ void k(float *c, float *a, float *b, float *y, const int *label, int n, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0, *x = b;
    { BODY }
    c[i] = sum;
}
int main() {
    float *a, *b, *c, *y;
    int *label;
    cudaMalloc(&a, 1 << 26), cudaMalloc(&b, 1 << 26), cudaMalloc(&c, 1 << 26), cudaMalloc(&y, 1 << 26);
    cudaMalloc(&label, 1 << 12);
    k<<<16384, THREADS>>>(c, a, b, y, label, 512, 1000);
}
"""
BODIES = {
    "PW040": "int row = i >> 10;\nint column = i & 1023;\nif (row < n)\nfor (int k = 0;\nk < n;\n++k)\n{0}\n",
    "PW041": "int row = threadIdx.x, column = blockIdx.x; float *in = a, *out = c; {0}",
    "PW042": "{0} tile[i / 32 % 32][i % 32] = a[i]; __syncthreads();"
    "for (int k = 0; k < 32; ++k) { float x; {1} sum += x; }",
    "PW044": "{0} tile[threadIdx.x] = a[i]; __syncthreads();"
    "for (int k = 0; k < n; ++k) i = label[i & 1023]; sum = tile[i & 31]; c = y;",
    "PW045": "for (int k = 0; k < n; ++k) { {0} }",
    "PW047": "for (int k = 0; k < n; ++k) { float x = a[k], y = sum; {0} sum += d; }",
    "PW048": "float norm = a[i]; {0}",
    "PW049": "for (int k = 0; k < 9; ++k) { i += k; {0} sum += row ^ column; }",
    "PW050": "float x = a[i]; {0} sum = x;",
    "PW051": "{0} for (int i = 0; i < n; ++i) { float distance = a[i]; {1} } sum = best[label[i]];",
    "PW052": "float *total = c; {0}",
    "PW053": "{0}",
    "PW054": "{0}",
    "PW055": "float x; {1} c[i & 255] = x; return;",
}
THREADS = {"PW044": "32"}
ELSEWHERE = {"PW043", "PW046"}  # examples of a launch, and of a command


def pieces_of(example: str) -> list[str]:
    code = example.partition("   //")[0]
    return [part.strip().removesuffix(";") for part in re.split(r"\.\.\.|;  ", code) if part.strip()]


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if rule.check and rule.id not in ELSEWHERE], ids=lambda rule: rule.id
)
def test_examples_are_told(tmp_path, rule):
    body = BODIES[rule.id]
    for number, piece in enumerate(pieces_of(rule.example)):
        body = body.replace(f"{{{number}}}", f"{piece};")
    declared = "" if "{0}" in BODIES[rule.id] else f"{pieces_of(rule.example)[0]};"
    source = KERNEL.replace("DECLARED", declared).replace("BODY", body)
    assert rule.id in advised(tmp_path, source.replace("THREADS", THREADS.get(rule.id, "256")))
