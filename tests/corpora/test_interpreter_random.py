"""Random kernels do the same in the interpreter and as C++ that g++ compiled."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from wattslice import ir
from wattslice.frontend.cuda.read import read_cuda
from wattslice.profiling.interpreter.launch import Launch
from wattslice.profiling.interpreter.machine import DeviceMemory
from wattslice.profiling.interpreter.run import interpret
from wattslice_tools.cuda_on_cpu.toolchain import Toolchain

from .compiled import run
from .random_kernels import GRID, INPUTS, block_of, program

Dtype = np.dtype[Any]

KERNELS = 8  # in one program: compiling costs more than running


def outputs(block: int) -> tuple[tuple[str, Dtype, int], ...]:
    """Name, type and length of the arrays that a kernel writes."""
    threads = GRID * block
    return (
        ("oi", np.dtype(np.int32), threads),
        ("of", np.dtype(np.float32), threads),
        ("od", np.dtype(np.float64), threads),
        ("ol", np.dtype(np.int64), threads),
        ("counts", np.dtype(np.uint32), 16),
    )


def inputs(seed: int) -> list[NDArray[Any]]:
    draw = np.random.default_rng(seed)
    return [
        draw.integers(-50, 1000, INPUTS).astype(np.int32),
        draw.normal(0, 10, INPUTS).astype(np.float32),
        draw.normal(0, 1000, INPUTS),
        draw.integers(-(2**40), 2**40, INPUTS),
    ]


def interpreted(kernel: ir.Kernel, given_: list[NDArray[Any]], block: int) -> dict[str, NDArray[Any]]:
    memory = DeviceMemory()
    addresses = [memory.allocate(name, a.view(np.uint8)) for name, a in zip("IFDL", given_, strict=True)]
    places = {n: memory.allocate(n, np.zeros(d.itemsize * c, np.uint8)) for n, d, c in outputs(block)}
    interpret(Launch(kernel, (GRID, 1, 1), (block, 1, 1), 0, (*addresses, *places.values())), memory)
    return {n: memory.contents(places[n]).view(d) for n, d, _ in outputs(block)}


def differences(seed: int, toolchain: Toolchain, kernels: int = KERNELS) -> list[str]:
    """What differs between the two, kernel by kernel."""
    folder = toolchain.directory
    path = folder / f"random{seed}.cu"
    path.write_text(program(seed, kernels), encoding="utf-8")
    given_ = inputs(seed)
    (folder / "in.bin").write_bytes(b"".join(a.tobytes() for a in given_))
    executable = toolchain.compile(path)
    status, output = run(executable, (str(folder / "in.bin"), str(folder / "out.bin")))
    assert status == 0, output
    data = (folder / "out.bin").read_bytes()
    found: list[str] = []
    at = 0
    for kernel in read_cuda(path).kernels:
        actual = interpreted(kernel, given_, block_of(seed))
        for name, dtype, count in outputs(block_of(seed)):
            expected = np.frombuffer(data, dtype, count, at)
            at += expected.nbytes
            if not np.array_equal(actual[name], expected, equal_nan=dtype.kind == "f"):
                lane = int(np.flatnonzero(actual[name] != expected)[0])
                found.append(
                    f"{path}: {kernel.name}: {name}[{lane}] {actual[name][lane]} not {expected[lane]}"
                )
    return found


@pytest.mark.slow
@settings(max_examples=settings().max_examples // 50, phases=(Phase.generate,))
@given(seed=st.integers(1, 2**32 - 1))
def test_random_kernels_do_the_same_as_compiled_ones(seed: int, toolchain: Toolchain):
    assert differences(seed, toolchain) == []


def test_the_random_kernels_differ_from_each_other():
    texts = [program(seed, 2) for seed in random.Random(1).sample(range(10**6), 3)]
    assert len(set(texts)) == 3
