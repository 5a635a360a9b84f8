"""Runs every program of the corpus at its small size on a CPU; its `main` compares with a reference."""

import subprocess
from pathlib import Path

import pytest

from wattslice_corpora.manifest import CorpusKernel, load_manifest
from wattslice_tools.cuda_on_cpu.toolchain import Toolchain

from .compiled import run
from .programs import each

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=each(load_manifest()))
def program(request: pytest.FixtureRequest) -> CorpusKernel:
    return request.param


@pytest.fixture(scope="module")
def executable(program: CorpusKernel, toolchain: Toolchain) -> Path:
    return toolchain.compile(program.file)


def test_the_small_run_agrees_with_the_reference(program: CorpusKernel, executable: Path):
    # A missing barrier shows in one of the two orders in which the threads of a block take turns.
    for order in ("ascending", "descending"):
        status, output = run(executable, program.runs[0].arguments, order)
        assert status == 0, f"{order}: {output}"


def test_the_reference_notices_when_a_kernel_does_nothing(program: CorpusKernel, executable: Path):
    for kernel in program.kernels:
        try:
            status, output = run(executable, program.runs[0].arguments, without=kernel)
        except subprocess.TimeoutExpired:  # main waits for what the kernel does
            continue
        assert status != 0, f"{kernel}: {output}"
