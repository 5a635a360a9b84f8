"""Runs every program of the corpus at its small size on a CPU; its `main` compares with a reference, and the
interpreter leaves in memory what the compiled C++ of a kernel does.
"""

import subprocess
from pathlib import Path

import pytest

from wattslice.frontend.cuda.read import read_cuda
from wattslice.profiling.interpreter.launch import Allowance
from wattslice.profiling.interpreter.run import interpret
from wattslice_corpora.manifest import CorpusKernel, load_manifest
from wattslice_tools.cuda_on_cpu.toolchain import Toolchain

from .compiled import run
from .programs import each
from .snapshots import read_snapshots, replay

LAUNCHES = 4  # of each kernel, the first ones
EXCLUDED = {
    "bfsFrontier": "puts vertices into a queue in the order in which threads happen to come",
    "hookEdges": "which of several right trees it builds depends on the order of threads",
    "gemmTensor": "tensor cores are not interpreted",
}


@pytest.fixture(scope="module", params=each(load_manifest()))
def program(request: pytest.FixtureRequest) -> CorpusKernel:
    return request.param


@pytest.fixture(scope="module")
def executable(program: CorpusKernel, toolchain: Toolchain) -> Path:
    return toolchain.compile(program.file)


@pytest.mark.slow
def test_the_small_run_agrees_with_the_reference(program: CorpusKernel, executable: Path):
    # A missing barrier shows in one of the two orders in which the threads of a block take turns.
    for order in ("ascending", "descending"):
        status, output = run(executable, program.runs[0].arguments, order)
        assert status == 0, f"{order}: {output}"


@pytest.mark.slow
def test_the_reference_notices_when_a_kernel_does_nothing(program: CorpusKernel, executable: Path):
    for kernel in program.kernels:
        try:
            status, output = run(executable, program.runs[0].arguments, without=kernel)
        except subprocess.TimeoutExpired:  # main waits for what the kernel does
            continue
        assert status != 0, f"{kernel}: {output}"


@pytest.mark.slow
def test_memory_after_a_launch_is_that_of_the_compiled_kernel(
    program: CorpusKernel, executable: Path, tmp_path: Path
):
    status, output = run(
        executable,
        program.runs[0].arguments,
        more={"CUDA_ON_CPU_SNAPSHOTS": str(tmp_path), "CUDA_ON_CPU_SNAPSHOTS_PER_KERNEL": str(LAUNCHES)},
    )
    assert status == 0, output
    snapshots = read_snapshots(tmp_path)
    assert {snapshot.kernel for snapshot in snapshots} == set(program.kernels)
    parsed = read_cuda(program.file)
    for snapshot in snapshots:
        if snapshot.kernel in EXCLUDED:
            continue
        launch = replay(snapshot, parsed)
        assert snapshot.changes_memory
        interpret(launch.launch, launch.memory, Allowance(max_steps=20_000_000))
        assert list(launch.differences()) == [], snapshot.signature


def test_what_is_excluded_exists():
    kernels = {kernel for program in load_manifest() for kernel in program.kernels}
    assert set(EXCLUDED) <= kernels
