"""Random kernels do the same in the interpreter and as C++ that g++ compiled."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from wattslice import ir
from wattslice.frontend.cuda import read_cuda
from wattslice.interpreter import DeviceMemory, Launch, interpret
from wattslice.probes.cuda_on_cpu.toolchain import PLAIN, Toolchain, run

from .random_kernels import BLOCK, GRID, INPUTS, THREADS, program

KERNELS = 25
OUTPUTS = (
    ("oi", np.dtype(np.int32), THREADS),
    ("of", np.dtype(np.float32), THREADS),
    ("od", np.dtype(np.float64), THREADS),
    ("ol", np.dtype(np.int64), THREADS),
    ("counts", np.dtype(np.uint32), 16),
)


@pytest.fixture(scope="module")
def wrapping(tmp_path_factory: pytest.TempPathFactory) -> Toolchain:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("g++ is not on the PATH")
    return Toolchain.build(compiler, tmp_path_factory.mktemp("wrapping"), (*PLAIN, "-O0", "-fwrapv"))


def inputs(seed: int) -> list[NDArray[np.generic]]:
    draw = np.random.default_rng(seed)
    return [
        draw.integers(-50, 1000, INPUTS).astype(np.int32),
        draw.normal(0, 10, INPUTS).astype(np.float32),
        draw.normal(0, 1000, INPUTS),
        draw.integers(-(2**40), 2**40, INPUTS),
    ]


def interpreted(kernel: ir.Kernel, given_: list[NDArray[np.generic]]) -> dict[str, NDArray[np.generic]]:
    memory = DeviceMemory()
    addresses = [memory.allocate(name, a.view(np.uint8)) for name, a in zip("IFDL", given_, strict=True)]
    places = {n: memory.allocate(n, np.zeros(d.itemsize * c, np.uint8)) for n, d, c in OUTPUTS}
    interpret(Launch(kernel, (GRID, 1, 1), (BLOCK, 1, 1), 0, (*addresses, *places.values())), memory)
    return {n: memory.contents(places[n]).view(d) for n, d, _ in OUTPUTS}


def differences(seed: int, toolchain: Toolchain) -> list[str]:
    """What differs between the two, kernel by kernel."""
    folder = toolchain.directory
    path = folder / f"random{seed}.cu"
    path.write_text(program(seed, KERNELS), encoding="utf-8")
    given_ = inputs(seed)
    (folder / "in.bin").write_bytes(b"".join(a.tobytes() for a in given_))
    executable = toolchain.compile(path)
    status, output = run(executable, (str(folder / "in.bin"), str(folder / "out.bin")))
    assert status == 0, output
    data = (folder / "out.bin").read_bytes()
    found: list[str] = []
    at = 0
    for kernel in read_cuda(path).kernels:
        actual = interpreted(kernel, given_)
        for name, dtype, count in OUTPUTS:
            expected = np.frombuffer(data, dtype, count, at)
            at += expected.nbytes
            if not np.array_equal(actual[name], expected, equal_nan=dtype.kind == "f"):
                lane = int(np.flatnonzero(actual[name] != expected)[0])
                found.append(f"{path}: {kernel.name}: {name}[{lane}] {actual[name][lane]} not {expected[lane]}")
    return found


@settings(
    max_examples=1, deadline=None, derandomize=True, phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
@given(seed=st.integers(0, 2**32 - 1))
def test_random_kernels_do_the_same_as_compiled_ones(seed: int, wrapping: Toolchain):
    assert differences(seed, wrapping) == []


def test_the_random_kernels_differ_from_each_other():
    texts = [program(seed, 2) for seed in random.Random(1).sample(range(10**6), 3)]
    assert len(set(texts)) == 3
    assert Path(__file__).exists()
