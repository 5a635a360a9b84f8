# ruff: noqa: E501 - each kernel stands on one line
"""What a kernel does wrong is told with its line and thread, within the budget, and never as a traceback."""

import time
from pathlib import Path

import numpy as np
import pytest

from wattslice.profiling.interpreter.errors import InterpreterError
from wattslice.profiling.interpreter.launch import Allowance, Launch
from wattslice.profiling.interpreter.machine import DeviceMemory
from wattslice.profiling.interpreter.run import interpret

from .interpreted import body, run_kernel
from .lowered import lower

ENDLESS = "step budget of 5000 spent"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("while (true) out[0] = 1;", ENDLESS),
        ("for (;;) {}", ENDLESS),
        ("for (int i = 0; i < 10; --i) if (i > 100) break;", ENDLESS),
        ("while (atomicCAS(out, 0, 1) != 0) {} atomicExch(out, 0);", ENDLESS),
        ("if (t == 0) { while (atomicAdd(out, 0) == 0) {} } else atomicAdd(out, 1);", ENDLESS),
        ("out[t + 1] = t;", r"out of bounds of 'out' \(128 bytes\): 4 bytes at offset 128, index 32, by block \(0, 0, 0\) thread \(31, 0, 0\)"),
        ("out[t] = out[t - 1];", r"offset -4, index -1, by .* thread \(0, 0, 0\)"),
        ("if (t == 9) out[1 << 28] = 3;", r"'out' .*index 268435456, by .* thread \(9, 0, 0\)"),
        ("out[1LL << 40] = 3;", r"belongs to no object|out of bounds"),
        ("__shared__ int s[8]; s[t] = 1;", r"out of bounds of 's' \(32 bytes\).*thread \(8, 0, 0\)"),
        ("int a[4]; a[t] = 1; out[t] = a[0];", r"out of bounds of 'a' \(16 bytes\).*thread \(4, 0, 0\)"),
        ("__shared__ int s[8]; int* p = s - 1; *p = 1;", r"out of bounds of 's'.*offset -4"),
        ("int* p = nullptr; if (t == 3) *p = 1;", r"null pointer .*thread \(3, 0, 0\)"),
        ("int* p = nullptr; out[t] = p[t];", r"null pointer"),
        ("int* p; out[t] = *p;", r"never given a value"),
        ("*(int*)((char*)out + t) = 1;", r"misaligned access to 'out': 4 bytes at offset 1 by .*thread \(1, 0, 0\)"),
        ("*(int4*)(out + 1) = make_int4(1, 2, 3, 4);", r"misaligned access to 'out': 16 bytes at offset 4"),
        ("atomicAdd(out + 40, 1);", r"out of bounds of 'out'"),
        ("if (t < 16) __syncthreads();", r"deadlocked barrier: 16 threads wait here .*thread \(16, 0, 0\)"),
        ("for (int i = 0; i < t; ++i) __syncthreads();", r"deadlocked barrier: 31 threads"),
        ("out[t] = t / (t - 5);", r"integer division by zero in .*thread \(5, 0, 0\)"),
        ("out[t] = 7u % (unsigned)t;", r"integer division by zero in .*thread \(0, 0, 0\)"),
        ("assert(t < 30);", r"assertion failed in .*thread \(30, 0, 0\)"),
        ("if (t == 2) __trap();", r"'__trap' reached by .*thread \(2, 0, 0\)"),
        ("char big[1 << 28]; big[t] = 1; out[t] = big[t];", r"'big': 268435456 for each thread"),
        ("asm volatile(\"bfind.u32 %0, %1;\" : \"=r\"(out[t]) : \"r\"(t));", r"asm bfind"),
        ("if (t > 40) asm volatile(\"bfind.u32 %0, %1;\" : \"=r\"(out[t]) : \"r\"(t)); out[99] = 1;", r"index 99"),
        ("struct { int a : 3; int b : 5; } s; s.b = t; out[t] = s.b;", "'bit-field' is not interpreted"),
        ("out[t] = unknown(t);", r"call of 'unknown': body not found"),
        ("out[t] = deep(t + 1);", r"call of 'deep': recursion"),
        ("if (t) goto in; { in: out[t] = 1; }", r"goto is not followed into a block"),
        ("int (*f)(int) = t & 1 ? unknown : deep; out[t] = f(t);", r"'f': a call through a pointer is not followed"),
        ("const int n = 4; const int* p = &n; out[t] = *p;", r"address of an object that is not known here"),
    ],
)  # fmt: skip
def test_hostile_kernels(tmp_path: Path, text: str, message: str):
    before = "__device__ int unknown(int);\n__device__ int deep(int x) { return x ? deep(x - 1) + 1 : deep(x + 2); }"
    start = time.process_time()
    with pytest.raises(InterpreterError, match=message) as caught:
        run_kernel(
            tmp_path,
            body(text, "int* out", before),
            np.zeros(32, np.int32),
            allowance=Allowance(max_steps=5_000),
        )
    assert caught.value.line in (2, 3, 4)
    assert caught.value.path == tmp_path / "test.cu"
    assert caught.value.remedy
    assert time.process_time() - start < 10


def test_exited_threads_count_as_arrived(tmp_path: Path):
    text = body("if (t >= 20) return; __syncthreads(); out[t] = __syncthreads_count(1);", "int* out")
    out = run_kernel(tmp_path, text, np.zeros(32, np.int32)).arrays[0]
    assert out.tolist() == [20] * 20 + [0] * 12


def test_a_block_of_a_batch_may_take_another_way(tmp_path: Path):
    text = body(
        "if (blockIdx.x & 1) { __syncthreads(); out[t] = 1; } else { out[t] = 2; __syncthreads(); }",
        "int* out",
    )
    out = run_kernel(tmp_path, text, np.zeros(96, np.int32), grid=3).arrays[0]
    assert out.tolist() == [2] * 32 + [1] * 32 + [2] * 32


@pytest.mark.slow
def test_gigantic_grids_and_blocks(tmp_path: Path):
    text = body("if (t == 0) *out = 1;", "int* out")
    zero = np.zeros(1, np.int32)
    with pytest.raises(InterpreterError, match="step budget"):
        run_kernel(tmp_path, text, zero, grid=2**31 - 1, block=1024)
    with pytest.raises(InterpreterError, match="more than any GPU launches"):
        run_kernel(tmp_path, text, zero, block=1025)
    with pytest.raises(InterpreterError, match="empty grid"):
        run_kernel(tmp_path, text, zero, block=(0, 1, 1))


def test_memory_beyond_the_budget(tmp_path: Path):
    text = body("*out = 1;", "int* out")
    with pytest.raises(
        InterpreterError, match="4000 bytes of global memory are more than the budget of 1000"
    ):
        run_kernel(tmp_path, text, np.zeros(1000, np.int32), allowance=Allowance(100, 1000))
    with pytest.raises(InterpreterError, match="shared memory"):
        run_kernel(
            tmp_path,
            body("extern __shared__ int s[]; s[t] = 1;"),
            np.zeros(1, np.int32),
            1,
            shared_bytes=1 << 20,
        )


def test_arguments_that_do_not_fit(tmp_path: Path):
    (kernel,) = lower(tmp_path, body("*out = n;")).kernels
    for arguments, message in (
        ((), "takes 2 arguments, not 0"),
        ((np.zeros(8, np.uint8), 1), "takes a number"),
    ):
        with pytest.raises(InterpreterError, match=message):
            interpret(Launch(kernel, (1, 1, 1), (1, 1, 1), 0, arguments), DeviceMemory())


def test_an_internal_error_is_told_like_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object) -> None:
        raise ValueError("shapes do not match")

    monkeypatch.setattr("wattslice.profiling.interpreter.run._run_blocks", broken)
    with pytest.raises(InterpreterError, match="internal error in kernel 'k': ValueError: shapes") as caught:
        run_kernel(tmp_path, body("*out = 1;", "int* out"), np.zeros(1, np.int32))
    assert caught.value.line == 2
